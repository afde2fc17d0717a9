#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016 # for the shell inside to expand
# shellcheck disable=SC2154 # bats sets stderr
#
# What a command can be, see and reach. Nothing may be weaker for a later command, for one
# in the background or for one with a terminal than for the first.
load helpers

setup_file() { build_programs self watcher keyring; }

setup() {
	ws_setup
	new_session
}

# self_of FILE [OPTION...]: what a command of the session finds itself to be
self_of() {
	local file=$1
	shift
	ws exec "$@" "$ID" -- /tmp/self --env >"$file"
}

# fact FILE KEY: a value in it
fact() { sed -n "s/^$2:[[:space:]]*//p" "$1"; }

# same_as_first FILE: but for what a terminal brings
same_as_first() {
	diff <(grep -v '^env: TERM$' "$T/first") <(tr -d '\r' <"$1" | grep -v '^env: TERM$')
}

# ---- every command alike ----

@test "the first command has no capability, no new privileges and no descriptor but 0, 1, 2" {
	local key
	put_program self
	ws stop "$ID"
	self_of "$T/first"
	for key in CapInh CapPrm CapEff CapBnd CapAmb; do
		[ "$(fact "$T/first" "$key")" = 0000000000000000 ]
	done
	[ "$(fact "$T/first" NoNewPrivs)" = 1 ]
	[ "$(fact "$T/first" no_new_privs)" = 1 ]
	[ "$(fact "$T/first" fds)" = "0 1 2" ]
	[ "$(fact "$T/first" Uid | xargs)" = "$(id -u) $(id -u) $(id -u) $(id -u)" ]
	[ "$(fact "$T/first" Gid | xargs)" = "$(id -g) $(id -g) $(id -g) $(id -g)" ]
}

@test "the first command has namespaces of its own, but for those the spec leaves open" {
	local name
	put_program self
	self_of "$T/first"
	for name in user mnt pid ipc net; do
		[ -n "$(fact "$T/first" "$name")" ]
		[ "$(fact "$T/first" "$name")" != "$(readlink "/proc/self/ns/$name")" ]
	done
	for name in uts cgroup; do
		[ "$(fact "$T/first" "$name")" = "$(readlink "/proc/self/ns/$name")" ]
	done
}

@test "the first command has clean signals, umask, limits and a raised OOM score" {
	put_program self
	(
		umask 077
		trap '' INT TERM PIPE USR1
		ws exec "$ID" -- /tmp/self >"$T/first"
	)
	[ "$(fact "$T/first" SigBlk)" = 0000000000000000 ]
	[ "$(fact "$T/first" SigIgn)" = 0000000000000000 ]
	[ "$(fact "$T/first" 'rlimit 4')" = "1 1" ]
	[ "$(fact "$T/first" umask)" = 022 ]
	[ "$(fact "$T/first" oom_score_adj)" -gt "$(cat /proc/self/oom_score_adj)" ]
}

@test "the second and the hundredth command are confined as the first" {
	local i
	put_program self
	ws stop "$ID"
	self_of "$T/first"
	self_of "$T/second"
	same_as_first "$T/second"
	for i in $(seq 3 99); do
		in_session true
	done
	self_of "$T/hundredth"
	same_as_first "$T/hundredth"
}

@test "a background command is confined as the first" {
	put_program self
	self_of "$T/first"
	ws exec -d --exec-id back "$ID" -- /tmp/self --env
	ws wait "$ID" back
	ws logs "$ID" back >"$T/back"
	same_as_first "$T/back"
}

@test "a command with a terminal is confined as the first" {
	put_program self
	self_of "$T/first"
	ws_pty exec -t "$ID" -- /tmp/self --env >"$T/pty"
	same_as_first "$T/pty"
}

@test "a command with stdin, one with a timeout and one from a process file are confined as the first" {
	put_program self
	self_of "$T/first"
	echo data | self_of "$T/stdin" -i
	same_as_first "$T/stdin"
	self_of "$T/timeout" --timeout 30
	same_as_first "$T/timeout"
	jq -n '{args: ["/tmp/self", "--env"]}' >"$T/process.json"
	ws exec -p "$T/process.json" "$ID" >"$T/process"
	same_as_first "$T/process"
}

@test "64 commands at once are each confined as the first" {
	local i pids=()
	put_program self
	self_of "$T/first"
	ws stop "$ID"
	for i in $(seq 64); do
		ws_bg "self$i" exec "$ID" -- /tmp/self --env
		pids+=("$BG")
	done
	for i in $(seq 64); do
		wait "${pids[i - 1]}"
		# another sandbox, other namespaces; all the rest is the same
		diff <(grep -v ':\[' "$T/first") <(grep -v ':\[' "$T/self$i.out")
	done
	[ "$(cat "$T"/self*.out | grep -c '^user:')" -eq 64 ]
	[ "$(cat "$T"/self*.out | grep '^user:' | sort -u | wc -l)" -eq 1 ]
}

@test "PID 1 itself has no capability and no new privileges" {
	in_session true
	grep '^Cap' "/proc/$(init_pid)/status" | grep -v $'\t0000000000000000$' | refute grep .
	[ "$(awk '/^NoNewPrivs/ { print $2 }' "/proc/$(init_pid)/status")" = 1 ]
}

@test "wsiso's process of a command inside has no capability and no new privileges while it runs" {
	local pid count=0
	ws exec -d "$ID" -- sleep 60
	for pid in $(sandbox_pids); do
		grep '^Cap' "/proc/$pid/status" | grep -v $'\t0000000000000000$' | refute grep .
		[ "$(awk '/^NoNewPrivs/ { print $2 }' "/proc/$pid/status")" = 1 ]
		count=$((count + 1))
	done
	[ "$count" -ge 3 ]
}

# ---- the host is out of reach ----

@test "no process of the host is seen, and none can be signalled" {
	sleep 300 3>&- &
	local victim=$! shown
	[ "$(in_session sh -c 'ls -d /proc/[0-9]* | wc -l')" -le 6 ]
	shown=$(in_session sh -c 'cat /proc/[0-9]*/cmdline | tr "\0" " "')
	[[ "$shown" == *cmdline* ]]
	[[ "$shown" != *"sleep 300"* ]]
	in_session sh -c 'kill -KILL -1' || true
	kill -0 "$victim"
	kill "$victim"
	[ "$(in_session echo works)" = works ]
}

@test "no file of the host is seen but system folders" {
	local canary
	canary=canary-$TAG
	touch "$T/$canary" "$ROOT/$canary"
	touch "/tmp/$canary" "/dev/shm/$canary"
	run in_session sh -c 'ls / | xargs; find / -xdev -name "canary-*" 2>/dev/null
		find /home /tmp /var /run /dev /etc -name "canary-*" 2>/dev/null'
	rm -f "/tmp/$canary" "/dev/shm/$canary"
	[ "$status" -eq 0 ] || [ "$status" -eq 1 ]
	[ "${#lines[@]}" -eq 1 ]
	[ "$(tr ' ' '\n' <<<"${lines[0]}" | grep -vx -e bin -e dev -e etc -e home -e 'lib.*' -e proc \
		-e run -e sbin -e tmp -e usr -e var -e workspace)" = "" ]
}

@test "the homes of the host, its /var, /root, /sys and its users' secrets are not there" {
	local path
	for path in /root /sys/kernel /boot /var/log /var/lib /srv /mnt /opt /etc/shadow /etc/ssh \
		/etc/sudoers "/home/$(id -un)/.ssh"; do
		refute in_session test -e "$path"
	done
	[ "$(in_session ls -A /home)" = "$(id -un)" ]
	refute in_session grep -q ':/home/[^:]*:.*wsi-other' /etc/passwd
	[ "$(in_session awk -F: -v uid="$(id -u)" '$3 == uid { print $1 }' /etc/passwd)" = "$(id -un)" ]
}

@test "another session and the state folder are not seen" {
	new_session other
	ws exec other -- sh -c 'touch secret-of-other ~/secret-of-other /tmp/secret-of-other'
	[ -e "$ROOT/sessions/other/upper/app/secret-of-other" ]
	run in_session sh -c 'find / -name "secret-of-other" 2>/dev/null
		find / -name state.json -o -name wsiso.json -o -name config.json 2>/dev/null | grep -v ^/usr'
	[ -z "$output" ]
	refute in_session test -e "$ROOT"
	refute in_session test -e "$T"
}

@test "the network is a loopback of its own" {
	local port
	"$PYTHON" -c '
import socket, sys, time
s = socket.create_server(("127.0.0.1", 0))
a = socket.socket(socket.AF_UNIX)
a.bind("\0wsiso-test-" + sys.argv[2])
a.listen()
open(sys.argv[1], "w").write(str(s.getsockname()[1]))
time.sleep(60)' "$T/port" "$TAG" 3>&- &
	local server=$!
	wait_for 10 test -s "$T/port"
	port=$(cat "$T/port")
	bash -c ": </dev/tcp/127.0.0.1/$port"
	refute in_session bash -c ": </dev/tcp/127.0.0.1/$port"
	[ "$(in_session /usr/bin/python3 -c '
import socket, sys
s = socket.socket(socket.AF_UNIX)
try:
    s.connect("\0wsiso-test-" + sys.argv[1])
    print("connected")
except OSError:
    print("refused")' "$TAG")" = refused ]
	[ "$(in_session awk 'NR > 2 { print $1 }' /proc/net/dev)" = lo: ]
	kill "$server"
}

@test "the keyring of whoever calls wsiso is out of reach" {
	local key=$T/key
	put_program keyring
	run "$BATS_FILE_TMPDIR/keyring" give "$key" sh -c '"$0" take "$1" "$(cat "$1.serial")"' \
		"$BATS_FILE_TMPDIR/keyring" "$key"
	[ "$status" -ne 77 ] || cannot_run "this kernel has no keyrings"
	[[ "$output" == *"found: session keyring"* ]] # outside: the probe can find it
	run timeout 60 "$BATS_FILE_TMPDIR/keyring" give "$key" sh -c \
		'"$WSISO" --root "$0" exec "$1" -- /tmp/keyring take "$2" "$(cat "$2.serial")"' \
		"$ROOT" "$ID" "$key"
	[ "$output" = looked ]
	ws stop "$ID"
	run timeout 60 "$BATS_FILE_TMPDIR/keyring" give "$key" sh -c \
		'"$WSISO" --root "$0" exec "$1" -- /tmp/keyring take "$2" "$(cat "$2.serial")"' \
		"$ROOT" "$ID" "$key"
	[ "$output" = looked ]
	[ -z "$(in_session cat /proc/keys)" ]
}

@test "no command line and no environment inside shows a host path or a secret" {
	local shown
	SECRET=s3cr3t-$TAG ws exec -d -e SECRET "$ID" -- sh -c 'exec sleep 60'
	ws exec -d -e "OTHER=s3cr3t-$TAG" "$ID" -- sh -c 'exec sleep 60'
	shown=$(in_session sh -c 'cat /proc/[0-9]*/cmdline | tr "\0" "\n"')
	[[ "$shown" == *sleep* ]]
	[[ "$shown" != *"$T"* ]]
	[[ "$shown" != *s3cr3t* ]]
	[[ "$shown" != *"$WSISO"* ]]
	[ -z "$(in_session sh -c 'cat /proc/1/environ 2>/dev/null')" ]
	in_session env >"$T/env"
	grep -q ^HOME= "$T/env"
	refute grep -F "$T" "$T/env"
	tr '\0' '\n' <"/proc/$(init_pid)/cmdline" >"$T/cmdline"
	[ -s "$T/cmdline" ]
	refute grep -F -e "$T" -e s3cr3t "$T/cmdline"
}

@test "PID 1 can be neither traced, read nor killed, nor its descriptors be reached" {
	local what
	in_session true
	for what in environ maps mem auxv; do
		refute in_session sh -c "head -c 1 /proc/1/$what >/dev/null 2>&1"
	done
	for what in fd root/ cwd/ map_files; do
		refute in_session sh -c "ls /proc/1/$what >/dev/null 2>&1"
	done
	refute in_session readlink /proc/1/exe
	refute in_session readlink /proc/1/fd/4
	in_session sh -c 'kill -KILL 1; kill -STOP 1; kill -TERM 1' || true
	has_sandbox
	[ "$(in_session echo works)" = works ]
}

# ---- on the way in ----

# watch_out NAME: a hostile watcher in the session, which says in $T/NAME.out what it saw
watch_out() {
	in_session test -e /tmp/watcher || put_program watcher
	printf '%s\n' "s3cr3t-$TAG" "$T" "$WSISO" | ws exec -i "$ID" -- sh -c 'cat >/tmp/words'
	ws_bg "$1" exec "$ID" -- /tmp/watcher /tmp/stop /tmp/words
	wait_for 20 grep -q watching "$T/$1.out"
}

@test "who enters can be neither traced nor read, and shows no secret and no host path" {
	local i
	watch_out watcher
	watch_out watcher2
	for i in $(seq "$(long 40 400)"); do
		SECRET=s3cr3t-$TAG ws exec -e SECRET "$ID" -- true
		if [ $((i % 10)) -eq 0 ]; then
			SECRET=s3cr3t-$TAG ws exec -d -e SECRET "$ID" -- true >/dev/null
			SECRET=s3cr3t-$TAG ws_pty exec -t -e SECRET "$ID" -- true
			echo x | ws exec -i -e "SECRET=s3cr3t-$TAG" "$ID" -- cat >/dev/null
		fi
	done
	cat "$T/watcher.out"
	refute grep violation "$T/watcher.out" "$T/watcher2.out"
	# what is there it does find, and it did meet those it was to attack
	in_session sh -c 'sleep 0.5; :' "s3cr3t-$TAG"
	in_session touch /tmp/stop
	wait
	grep -q "violation: command line .*s3cr3t-$TAG" "$T/watcher.out"
	[ "$(awk '/^tries/ { print $4 }' "$T/watcher.out")" -ge 10 ]
}

@test "no payload gets at the host's wsiso through /proc/self/exe" {
	local before i
	before=$(sha256sum <"$WSISO")
	in_session sh -c 'ln -s /proc/self/exe /tmp/link
		printf "#!/proc/self/exe\n" >/tmp/script; chmod 755 /tmp/script
		printf "#!/tmp/link enter\n" >/tmp/script2; chmod 755 /tmp/script2
		ln -s /proc/thread-self/exe /tmp/link2'
	watch_out watcher
	for i in /tmp/link /tmp/script /tmp/script2 /tmp/link2 /proc/self/exe /proc/1/exe; do
		ws exec --timeout 5 "$ID" -- "$i" >"$T/out" 2>&1 || true
		refute grep -i -e 'usage: wsiso' "$T/out"
		ws exec --timeout 5 "$ID" -- "$i" --version >"$T/out" 2>&1 || true
		refute grep -F "$("$WSISO" --version)" "$T/out"
	done
	in_session touch /tmp/stop
	wait
	cat "$T/watcher.out"
	refute grep violation "$T/watcher.out"
	[ "$(sha256sum <"$WSISO")" = "$before" ]
}

# ---- stdio is never the caller's own ----

@test "a file given as stdin can be read by the command, but not written" {
	printf 'precious\n' >"$T/file"
	run ws exec -i "$ID" -- sh -c 'cat; echo EVIL >/proc/self/fd/0; echo EVIL >/dev/stdin
		: >/proc/self/fd/0; exit 0' <"$T/file"
	[[ "$output" == precious* ]]
	[ "$(cat "$T/file")" = precious ]
	exec 8<>"$T/file"
	ws exec -i "$ID" -- sh -c 'cat >/dev/null; echo EVIL >&0; echo EVIL >/proc/self/fd/0; exit 0' <&8 || true
	exec 8>&-
	[ "$(cat "$T/file")" = precious ]
}

@test "what stands in a file given as stdout or stderr can be neither read, truncated nor overwritten" {
	printf 'before\n' >"$T/out"
	printf 'before\n' >"$T/err"
	ws exec "$ID" -- sh -c 'for fd in 1 2; do
			: >/proc/self/fd/$fd; cat </proc/self/fd/$fd & sleep 0.1; kill $!
		done
		truncate -s 0 /proc/self/fd/1; truncate -s 0 /dev/stderr
		echo out; echo err >&2' >>"$T/out" 2>>"$T/err" || true
	[ "$(head -n 1 "$T/out")" = before ]
	[ "$(tail -n 1 "$T/out")" = out ]
	[ "$(head -n 1 "$T/err")" = before ]
	[ "$(tail -n 1 "$T/err")" = err ]
}

@test "a folder given as stdin is refused" {
	local got=0
	ws exec -i "$ID" -- sh -c 'touch /tmp/ran; ls /proc/self/fd/0/' <"$T" >"$T/out" 2>"$T/err" || got=$?
	[ "$got" -eq 125 ]
	[ ! -s "$T/out" ]
	refute_in_session "$ID" /tmp/ran
}

@test "the command holds no terminal, file or socket of the caller" {
	in_session sh -c 'for fd in 0 1 2; do readlink /proc/self/fd/$fd; done' >"$T/fds" 2>"$T/err"
	[ "$(sed 's/:.*//' "$T/fds" | xargs)" = "/dev/null pipe pipe" ]
	ws_pty exec "$ID" -- sh -c 'for fd in 0 1 2; do readlink /proc/self/fd/$fd; done; tty; : </dev/tty' \
		>"$T/fds" || true
	grep -q '^pipe:' "$T/fds"
	grep -q 'not a tty' "$T/fds"
	refute grep -q '^/dev/pts' "$T/fds"
}

@test "the payload can reach neither status fd, status file, pid file nor log" {
	ws --log "$T/log" exec --status-fd 7 --status-file "$T/status" --pid-file "$T/pid" "$ID" -- \
		sh -c 'ls /proc/self/fd /proc/$PPID/fd; echo forged >&7; echo end' \
		7>"$T/fd7" >"$T/out" 2>"$T/err"
	[ -s "$T/fd7" ]
	refute grep -q forged "$T/fd7"
	[ "$(tail -n 1 "$T/out")" = end ]
	refute grep -qx 7 "$T/out"
}

# ---- what is read-only ----

@test "nothing can be written but /workspace, HOME, /tmp and /dev/shm" {
	local path
	run in_session sh -c 'for d in / /run /run/* /dev /etc /usr /usr/bin /usr/lib /bin /lib /home \
			/var /proc /proc/sys /workspace/.. /run/wsiso/*; do
			if touch "$d/written" 2>/dev/null || mkdir "$d/made" 2>/dev/null; then echo "$d"; fi
		done
		for f in /etc/passwd /etc/hosts /etc/group /run/wsiso/init; do
			if true 2>/dev/null >>"$f"; then echo "$f"; fi
		done; echo end'
	[ "$output" = end ]
	for path in /workspace /workspace/app '~' /tmp /dev/shm; do
		in_session sh -c "touch $path/written"
	done
}

@test "every mount is read-only, but those that are for writing" {
	in_session cat /proc/self/mountinfo >"$T/mounts"
	[ "$(wc -l <"$T/mounts")" -gt 5 ]
	[ "$(awk '$6 !~ /^ro(,|$)/ { print $5 }' "$T/mounts" | sort -u | grep -vx -e /workspace -e /tmp \
		-e "/home/$(id -un)" -e /proc -e '/dev/[a-z]*' )" = "" ]
	grep -q ' /run ' "$T/mounts"
}

@test "no mount has a peer or a master outside" {
	in_session cat /proc/self/mountinfo >"$T/mounts"
	[ "$(wc -l <"$T/mounts")" -gt 5 ]
	refute grep -e 'shared:' -e 'master:' "$T/mounts"
}

@test "/run/wsiso can be neither renamed, removed nor hidden" {
	run in_session sh -c 'mv /run/wsiso /run/gone; mv /run /gone; rm -rf /run/wsiso; rm -f /run/wsiso/init
		ln -sf /bin/true /run/wsiso/init; mv /run/wsiso/init /run/wsiso/old; chmod 000 /run/wsiso/init
		exit 0' 2>/dev/null
	in_session test -x /run/wsiso/init
	[ "$(in_session echo works)" = works ]
}

@test "a nested user namespace gets no mount changed, opened or hidden for others" {
	in_session unshare -Ur true || cannot_run "no nested user namespace here"
	run in_session unshare -Urm sh -c 'for d in / /usr /etc /run /run/wsiso/init /dev; do
			mount -o remount,rw,bind "$d" 2>/dev/null && echo "remounted $d"
			umount "$d" 2>/dev/null && echo "unmounted $d"
		done
		touch /usr/written 2>/dev/null && echo written; mount -t tmpfs none /run/wsiso 2>/dev/null; echo end'
	[ "$output" = end ]
	[ "$(in_session echo works)" = works ]
}

@test "no sysctl can be written, nor another switch of the kernel" {
	in_session bash -c 'n=0
		while read -r f; do
			n=$((n + 1))
			if { : >>"$f"; } 2>/dev/null; then echo "$f"; fi
		done < <(find /proc/sys /proc/irq /proc/bus /proc/acpi /proc/fs -type f 2>/dev/null
			ls -d /proc/sysrq-trigger /proc/timer_list /proc/kcore 2>/dev/null)
		echo "tried $n"' >"$T/out"
	[ "$(tail -n 1 "$T/out" | tr -dc 0-9)" -gt 100 ]
	# those of namespaces that the session owns, alone, are its own business
	refute grep -v -e '^tried' -e '^/proc/sys/net/' -e '^/proc/sys/user/' -e '^/proc/sys/fs/mqueue/' \
		-e '^/proc/sys/kernel/\(shm\|msg\|sem\|auto_msgmni\|hostname\|domainname\|ns_last_pid\|pid_max\)' "$T/out"
}

@test "/dev has no device of the host but the harmless ones" {
	[ "$(in_session sh -c 'for f in $(find /dev ! -path "/dev/pts*" ! -type l); do
			if [ -c "$f" ] || [ -b "$f" ]; then echo "$f"; fi
		done' | sort | xargs)" = "/dev/full /dev/null /dev/random /dev/tty /dev/urandom /dev/zero" ]
}

@test "a setuid program gives nothing" {
	run in_session sh -c 'for f in $(find /usr/bin -perm -4000); do echo "$f"; done'
	[ -n "$output" ] || cannot_run "no setuid program in /usr/bin"
	[ "$(in_session sh -c 'cp /usr/bin/id /tmp/id; chmod 4755 /tmp/id; /tmp/id -u')" = "$(id -u)" ]
	refute in_session su -c true
}
