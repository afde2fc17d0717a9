#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016 # for the shell inside to expand
# shellcheck disable=SC2154 # bats sets stderr
load helpers

setup() {
	ws_setup
	need_userns
	spec "$ROOT/wsiso.json" "$SPEC_OPEN" '{"linger_s": 10}'
	mkdir "$T/in" "$T/out"
	echo document >"$T/in/doc"
}

# root_is_empty: nothing of any run is left in the state folder
root_is_empty() { [ -z "$(find "$ROOT/tmp" "$ROOT/trash" "$ROOT/sessions" -mindepth 1 2>/dev/null)" ]; }

# refuses WORDS ARGS...: run refuses, says so, and nothing ran
refuses() {
	local words=$1
	shift
	rm -f "$T/out/ran"
	run --separate-stderr ws run --rw "$T/out:/out" "$@" -- touch /out/ran
	[ "$status" -eq 125 ] || { echo "status $status: $*" && return 1; }
	[[ "$stderr" == "wsiso: run: "*"$words"* ]] || { echo "$*: $stderr" && return 1; }
	[ ! -e "$T/out/ran" ]
}

# ---- one command ----

@test "run runs a command without a session, with its output and status, and leaves nothing" {
	run --separate-stderr ws run -- sh -c 'echo out; echo err >&2; exit 7'
	[ "$status" -eq 7 ]
	[ "$output" = out ]
	[ "$stderr" = err ]
	root_is_empty
	[ -z "$(ws list -q)" ]
}

@test "HOME and /tmp are empty and its own, and there is no workspace" {
	[ "$(ws run -- sh -c 'pwd; find ~ /tmp -mindepth 1 | wc -l' | xargs)" = "/home/$(id -un) 0" ]
	refute ws run -- test -e /workspace
	ws run -- sh -c 'echo x >~/kept && echo x >/tmp/kept'
	[ "$(ws run -- sh -c 'find ~ /tmp -type f | wc -l')" = 0 ]
}

@test "a command that is not there, or cannot be run, is 127 and 126, and nothing of it stays" {
	expect_status 127 ws run -- /no/such/command
	expect_status 126 ws run -- /etc/passwd
	expect_status 125 ws run --
	expect_status 125 ws run --cwd /nowhere -- true
	root_is_empty
}

@test "the statuses of a signal and of a timeout are those of exec" {
	expect_status 143 ws run -- sh -c 'kill -TERM $$'
	expect_status 124 ws run --timeout 0.3 --kill-after 1 -- sleep 60
	[ "$(kind_of run --timeout nonsense -- true)" = usage ]
}

@test "what the command leaves in the background ends with it" {
	ws run -- sh -c 'sleep 1000 & setsid sleep 1001 & (setsid sh -c "trap \"\" TERM HUP; sleep 1002; sleep 1003" &) ; sleep 0.2'
	[ -z "$(tagged_pids)" ]
	root_is_empty
}

@test "after a kill -9 of wsiso all of it is asked to end, then ended, and swept by the next call" {
	local pid
	ws_bg one run --kill-after 1 -- sh -c 'trap "" TERM; setsid sleep 1000 & sleep 1000 & echo on; wait; sleep 1000'
	pid=$BG
	wait_for 10 grep -q on "$T/one.out"
	[ "$(tagged_named sleep | wc -l)" -ge 2 ]
	kill -KILL "$pid"
	wait_for 10 nothing_runs
	ws run -- true
	root_is_empty
}

nothing_runs() { [ -z "$(tagged_named sleep)" ] && [ -z "$(tagged_named wsiso-init)" ]; }

@test "while a killed wsiso's sandbox still ends nobody takes its folder away" {
	ws_bg one run --kill-after 4 -- sh -c 'trap "" TERM; echo on; while :; do sleep 0.1; done'
	wait_for 10 grep -q on "$T/one.out"
	kill -KILL "$BG"
	sleep 0.3
	ws run -- true
	[ -n "$(find "$ROOT/tmp" -mindepth 1 -maxdepth 1)" ]
	wait_for 15 no_process_left
	ws run -- true
	root_is_empty
}

@test "killed at any moment, with or without a name, it leaves no process and no folder" {
	local i pid args
	for i in $(seq "$(long 24 400)"); do
		args=()
		[ $((i % 2)) -eq 0 ] || args=(--id "n$((i % 3))")
		ws_bg one run --kill-after 0.2 "${args[@]}" -- sh -c 'sleep 1000 & setsid sleep 1000 & wait'
		pid=$BG
		sleep "0.0$((RANDOM % 90 + 10))"
		kill -KILL "$pid" 2>/dev/null || true
		wait "$pid" || true
	done
	wait_for 20 no_process_left
	ws run -- true
	[ -z "$(find "$ROOT/tmp" "$ROOT/trash" -mindepth 1)" ]
	for i in $(ws list -q); do
		ws run --id "$i" -- true
	done
}

@test "a command cannot reach its keeper, and so cannot outlive wsiso" {
	scopes || skip "this kernel's Landlock cannot scope signals"
	ws_bg one run --kill-after 1 -- bash -c 'trap "" TERM
		for p in /proc/[0-9]*; do p=${p#/proc/}; [ "$p" = $$ ] || kill -KILL "$p"; done; echo tried
		exec sleep 1000'
	wait_for 10 grep -q tried "$T/one.out"
	[ -n "$(tagged_named wsiso-shepherd)" ]
	grep -q 'Operation not permitted' "$T/one.err"
	kill -KILL "$BG"
	wait_for 10 no_process_left
}

scopes() { ws check --json | jq -e '.items[]? // .[] | select(.id == "landlock") | .detail | test("keeps signals")' >/dev/null; }

@test "a signal goes to the command, and a second TERM ends all" {
	ws_bg one run -- sh -c 'trap "echo got; exit 9" TERM; echo on; while :; do sleep 0.1; done'
	wait_for 10 grep -q on "$T/one.out"
	kill -TERM "$BG"
	expect_status 9 wait "$BG"
	grep -q got "$T/one.out"
	ws_bg two run --kill-after 1 -- sh -c 'trap "" TERM; echo on; while :; do sleep 0.1; done'
	wait_for 10 grep -q on "$T/two.out"
	kill -TERM "$BG"
	sleep 0.3 # two of a kind that are pending are one
	kill -TERM "$BG"
	expect_status 137 wait "$BG"
	root_is_empty
}

@test "--with-parent ends it with the one who called" {
	local parent
	bash -c '"$0" --root "$1" run --kill-after 1 --with-parent -- sh -c "echo on; sleep 1000" >"$2" & wait' \
		"$WSISO" "$ROOT" "$T/out1" 3>&- &
	parent=$!
	wait_for 10 grep -q on "$T/out1"
	kill -KILL "$parent"
	wait_for 10 no_process_left
}

@test "stdin and stdout are byte by byte what was sent" {
	head -c 3000000 /dev/urandom >"$T/bytes"
	ws run -i -- cat <"$T/bytes" >"$T/back" 2>"$T/err"
	cmp "$T/bytes" "$T/back"
	[ ! -s "$T/err" ]
	[ "$(echo x | ws run -- cat)" = "" ]
}

@test "-t gives a terminal" {
	[[ "$(ws_pty run -t -- sh -c 'tty; test -t 0 && test -t 1 && echo terminal')" == *terminal* ]]
}

@test "many at once do not meet" {
	local i pids=() n=$((SLOW > 1 ? 3 : 8))
	for i in $(seq $n); do
		ws run -- sh -c 'echo $0 >/tmp/x; sleep 0.2; cat /tmp/x; ls /tmp | wc -l' "$i" >"$T/o$i" 3>&- &
		pids+=($!)
	done
	wait "${pids[@]}"
	for i in $(seq $n); do
		[ "$(xargs <"$T/o$i")" = "$i 1" ]
	done
	root_is_empty
}

# ---- confinement ----

# facts: what /proc says of a command's confinement, and its descriptors
FACTS='grep -E "^(Cap|NoNewPrivs|Seccomp|Sig(Blk|Ign|Cgt)|Uid|Gid|Umask|Groups)" /proc/self/status
	ls /proc/self/fd | xargs; cat /proc/self/limits; cat /proc/self/oom_score_adj'

@test "a run's command is confined as a session's" {
	new_session
	ws exec "$ID" -- bash -c "$FACTS" >"$T/exec"
	ws run -- bash -c "$FACTS" >"$T/run"
	diff "$T/exec" "$T/run"
	ws run --id named -- bash -c "$FACTS" >"$T/named"
	diff "$T/exec" "$T/named"
}

@test "no host process is seen, and the command is no host's child" {
	ws run -- sh -c 'cat /proc/[0-9]*/comm' >"$T/seen"
	grep -qx wsiso-init "$T/seen"
	refute grep -vxE 'cat|sh|wsiso-(init|shepherd)' "$T/seen"
}

@test "with a shared network no abstract socket of the host's is reached, as it is from a session" {
	scopes || skip "this kernel's Landlock cannot scope sockets"
	local name="ws-test-$$-$RANDOM" talk
	"$PYTHON" - "$name" <<-'EOF' >"$T/server" 3>&- &
		import socket, sys
		s = socket.socket(socket.AF_UNIX)
		s.bind("\0" + sys.argv[1]); s.listen(8); print("on", flush=True)
		s.settimeout(60)
		while True:
		    c, _ = s.accept(); c.sendall(b"host\n"); c.close()
	EOF
	echo $! >"$T/server.pid"
	wait_for 10 grep -q on "$T/server"
	talk="import socket; s = socket.socket(socket.AF_UNIX); s.connect('\\0$name'); print(s.recv(9))"
	new_session "$ID" '{"sandbox": {"unshare_net": false}}'
	[ "$(ws exec "$ID" -- python3 -c "$talk")" = "b'host\\n'" ]
	spec "$T/shared.json" "$SPEC_OPEN" '{"sandbox": {"unshare_net": false}}'
	run ws run --spec "$T/shared.json" -- python3 -c "$talk"
	[ "$status" -eq 1 ]
	[[ "$output" == *"PermissionError"* ]]
	kill "$(cat "$T/server.pid")"
}

@test "within a run processes signal, trace and talk to each other" {
	ws run -- python3 -c '
import os, signal, socket, subprocess, time
s = socket.socket(socket.AF_UNIX); s.bind("\0inside"); s.listen(1)
p = subprocess.Popen(["python3", "-c", "import socket,time; c = socket.socket(socket.AF_UNIX); c.connect(\"\\0inside\"); c.sendall(b\"hi\"); time.sleep(60)"])
assert s.accept()[0].recv(2) == b"hi"
open("/proc/%d/environ" % p.pid).read()
p.send_signal(signal.SIGKILL)
assert p.wait() == -9'
}

@test "F045: a sandbox inside works while the filter only records, and is refused under enforce" {
	local nested
	nested=("$(real_bwrap)" --ro-bind / / --dev /dev --unshare-user --unshare-ipc --unshare-net true)
	spec "$T/s.json" '{"sandbox": {"seccomp": "enforce"}}'
	refute ws run --spec "$T/s.json" -- "${nested[@]}" 2>/dev/null
	refute ws run --profile worker -- "${nested[@]}" 2>/dev/null
	may_nest || cannot_run "AppArmor lets nothing that bwrap starts make namespaces"
	ws run -- "${nested[@]}"
	ws run --profile agent -- "${nested[@]}"
}

@test "the started line tells profile and scopes, and is as the schema says" {
	ws run --status-file "$T/status" -- true
	matches_schema exec-status "$T/status" --lines
	[ "$(jq -r 'select(.type == "started") | .profile' "$T/status")" = tool ]
	[ "$(jq -r 'select(.type == "started") | .network' "$T/status")" = isolate ]
	[ "$(jq -c 'select(.type == "exited") | .status' "$T/status")" = 0 ]
	if scopes; then
		[ "$(jq -c 'select(.type == "started") | .landlock.scopes' "$T/status")" = \
			'["abstract_unix_socket","signal"]' ]
	fi
	new_session
	ws exec --status-file "$T/status" "$ID" -- true
	[ "$(jq -c 'select(.type == "started") | .landlock.scopes' "$T/status")" = '[]' ]
}

@test "what fails before the command is told on the status descriptor too" {
	run ws run --status-file "$T/status" --ro "$T/none:/mnt/x" -- true
	[ "$status" -eq 125 ]
	matches_schema exec-status "$T/status" --lines
	[ "$(jq -r .kind "$T/status")" = spec-invalid ]
}

# ---- what it is shown ----

@test "--ro shows a file or folder that cannot be written, --rw one that can" {
	ws run --ro "$T/in:/in" --ro "$T/in/doc:/mnt/one" --rw "$T/out:/out" -- sh -c '
		cp /in/doc /out/copy && cat /mnt/one >>/out/copy
		for f in /in/doc /in/new /mnt/one; do ! sh -c "echo x >$f" 2>/dev/null || exit 9; done
		! rm -f /in/doc 2>/dev/null && ! mv /mnt/one /out/ 2>/dev/null'
	[ "$(cat "$T/out/copy")" = "document
document" ]
	[ "$(ls "$T/in")" = doc ]
}

@test "without a place inside it is where it is on the host, if that is free there" {
	[ "$(ws run --ro /usr/share/doc:/doc -- ls /doc | wc -l)" -gt 0 ]
	refuses "nothing can be bound at '$T/in': it would lie in '/var/tmp'" --ro "$T/in"
	[[ "$stderr" == *"hint: "*"such as /mnt/in"* ]]
	(cd "$T" && ws run --ro ./in//:/mnt/in/ -- cat /mnt/in/doc) | grep -qx document
}

@test "a read-only folder may have a writable one below it, and no other way round" {
	mkdir "$T/in/sub"
	ws run --rw "$T/in/sub:/p/sub" --ro "$T/in:/p" -- sh -c 'echo x >/p/sub/f && ! echo x >/p/f' 2>/dev/null
	[ -e "$T/in/sub/f" ]
	refuses "it would lie in '/out'" --ro "$T/in:/out/in"
}

@test "no command gets the host's own folders, HOME or the state folder" {
	local dir
	for dir in / /proc /proc/1 /sys/kernel /dev /dev/shm /run; do
		refuses "cannot be bound" --ro "$dir:/mnt/x"
	done
	refuses "your home folder" --ro "$HOME:/mnt/x"
	refuses "your home folder" --ro "$(dirname "$HOME"):/mnt/x"
	refuses "state folder" --ro "$ROOT:/mnt/x"
	mkdir -p "$ROOT/sessions/x/upper"
	refuses "state folder" --ro "$ROOT/sessions/x/upper:/mnt/x"
	refuses "state folder" --ro "$ROOT/wsiso.json:/mnt/x"
	refuses "state folder" --ro "$T:/mnt/x"
	rm -r "$ROOT/sessions"
	mkfifo "$T/fifo"
	refuses "neither a folder nor a regular file" --ro "$T/fifo:/mnt/x"
	refuses "No such file" --ro "$T/none:/mnt/x"
}

@test "a command gets to write to nothing but a folder of the caller's" {
	local dir
	for dir in /etc /usr/share /var /tmp /home /boot; do
		refuses "cannot be bound writable" --rw "$dir:/mnt/x"
	done
	refuses "belongs to another user" --rw /mnt:/mnt/x
	refuses "it is no folder" --rw "$T/in/doc:/mnt/x"
	refuses "your home folder" --rw "$HOME:/mnt/x"
	refuses "state folder" --rw "$T:/mnt/x"
}

@test "no target covers or lies in what is wsiso's own" {
	local target
	for target in /proc /dev /usr /usr/bin /bin /etc /etc/passwd /run /run/wsiso /run/wsiso/init /tmp /tmp/x \
		/home "/home/$(id -un)" "/home/$(id -un)/x" /var /var/tmp/x /lib/x; do
		refuses "nothing can be bound at '$target'" --ro "$T/in:$target"
	done
	refuses "would cover everything" --ro "$T/in:/"
	refuses "no '..'" --ro "$T/in:/mnt/../usr"
	refuses "no '..'" --ro "$T/in/../in:/mnt/x"
	refuses "the target of" --ro "$T/in:/mnt/x" --ro "$T/out:/mnt/x" ||
		[[ "$stderr" == *"'/mnt/x'"* ]]
	refuses "names no source" --ro ":/mnt/x"
	mkdir "$T/gone"
	cd "$T/gone"
	rmdir "$T/gone"
	refuses "find 'x'" --ro x:/mnt/x
	cd /
}

@test "what a command left in its output folder leads no later run anywhere" {
	mkdir "$T/secret"
	echo secret >"$T/secret/key"
	ws run --rw "$T/out:/out" -- ln -s "$T/secret" /out/link
	refuses "symbolic link that is not root's" --ro "$T/out/link:/mnt/x"
	refuses "symbolic link that is not root's" --rw "$T/out/link:/mnt/x"
	refuses "symbolic link that is not root's" --ro "$T/out/link/key:/mnt/x"
	# one that root alone could make is followed
	[ "$(ws run --ro /bin/sh:/mnt/sh -- sh -c 'test -x /mnt/sh && echo there')" = there ]
}

@test "an output folder full of traps harms neither wsiso nor the next run" {
	ws run --rw "$T/out:/out" -- python3 -c '
import os
os.chdir("/out")
os.mkfifo("fifo"); os.symlink("/etc/passwd", "passwd"); os.symlink("loop", "loop")
os.symlink("/run/wsiso", "wsiso")
open("suid", "w").write("#!/bin/sh\n"); os.chmod("suid", 0o6755)
os.mkdir("none", 0); os.mkdir(b"\xff\n\x1b[31m")
for name in ("null", "zero"):
    try: os.mknod(name, 0o20666, os.makedev(1, 3)); raise SystemExit("a device")
    except PermissionError: pass
for i in range(300):
    os.mkdir("deep"); os.chdir("deep")'
	[ ! -c "$T/out/null" ]
	[ "$(ws run --rw "$T/out:/out" -- sh -c 'test -p /out/fifo && ./suid 2>/dev/null; echo on')" = on ]
	# and inside nothing gains by a setuid bit or a device
	ws run --rw "$T/out:/out" -- grep -E ' /out ' /proc/self/mountinfo | grep -q 'nosuid,nodev'
	root_is_empty
}

@test "everything below what is shown read-only is read-only" {
	ws run --ro "$T/in:/mnt/in" -- awk '$5 ~ "^/mnt" && $6 !~ "^ro" { bad = 1 } END { exit bad }' /proc/self/mountinfo
}

# ---- the spec ----

@test "--spec gives the options, and what is for sessions alone is refused" {
	spec "$T/s.json" "$SPEC_OPEN" '{"sandbox": {"hostname": "inside"}, "limits": {"open_files": 64}}'
	[ "$(ws run --spec "$T/s.json" -- sh -c 'hostname; ulimit -n' | xargs)" = "inside 64" ]
	[ "$(ws run --spec - -- hostname <"$T/s.json")" = inside ]
	refuses "cannot both have standard input" --spec - -i
	spec "$T/s.json" "$SPEC_OPEN" "$(repo_spec "$T/app")"
	refuses "'repos' is for sessions" --spec "$T/s.json"
	spec "$T/s.json" "$SPEC_OPEN" '{"mode": "host_readonly"}'
	refuses "\"host_readonly\" is for sessions" --spec "$T/s.json"
	spec "$T/s.json" "$SPEC_OPEN" '{"enabled": false}'
	refuses "switched off" --spec "$T/s.json"
	spec "$T/s.json" "$SPEC_OPEN" '{"sandbox": {"unshare_nett": true}}'
	refuses "did you mean" --spec "$T/s.json"
}

@test "binds of the spec are there as those of the options" {
	spec "$T/s.json" "$SPEC_OPEN" "$(jq -n --arg dir "$T/in" '{binds: [{source: $dir, target: "/mnt/in"}]}')"
	[ "$(ws run --spec "$T/s.json" -- cat /mnt/in/doc)" = document ]
	refuses "'/mnt/in'" --spec "$T/s.json" --ro "$T/out:/mnt/in"
}

@test "--network only tightens" {
	spec "$T/s.json" "$SPEC_OPEN" '{"sandbox": {"unshare_net": false}}'
	ws run --spec "$T/s.json" --status-file "$T/status" -- true
	[ "$(jq -r 'select(.type == "started").network' "$T/status")" = share ]
	ws run --spec "$T/s.json" --network share -- true
	ws run --spec "$T/s.json" --network isolate --status-file "$T/status" -- true
	[ "$(jq -r 'select(.type == "started").network' "$T/status")" = isolate ]
	refuses "spec and profile isolate it" --network share
	refuses "is no network" --network none
}

@test "--dry-run makes nothing, and what it prints can be run by hand" {
	ws run --dry-run --ro "$T/in:/in" -- cat /in/doc >"$T/plan"
	grep -q 'cat /in/doc' "$T/plan"
	root_is_empty
	sed -i 's|/bin/sh |/bin/cat /in/doc |' "$T/plan"
	[ "$(bash "$T/plan")" = document ]
	ws run --dry-run --json --id named --ro "$T/in:/in" -- true |
		jq -e '.sandbox.mounts[] | select(.kind == "ro-bind-fd" and .target == "/in")' >/dev/null
	root_is_empty
}

# ---- with a name ----

@test "--id keeps HOME, and nothing else" {
	ws run --id keeper -- sh -c 'echo mine >~/file; echo x >/tmp/file'
	[ "$(ws run --id keeper -- sh -c 'cat ~/file; ls /tmp | wc -l' | xargs)" = "mine 0" ]
	[ "$(ws run --id other -- sh -c 'ls -A ~ | wc -l')" = 0 ]
	[ "$(ws list -q | xargs)" = "keeper other" ]
	spec "$T/s.json" "$SPEC_OPEN" '{"persistent_home": false}'
	[ "$(ws run --id keeper --spec "$T/s.json" -- sh -c 'ls -A ~ | wc -l')" = 0 ]
	ws delete keeper
	[ "$(ws run --id keeper -- sh -c 'ls -A ~ | wc -l')" = 0 ]
}

@test "with a name it is in list, state and ps while it runs, and kill and stop end it" {
	ws_bg one run --id server -- sh -c 'echo on; exec sleep 1000'
	wait_for 10 grep -q on "$T/one.out"
	[ "$(state_of server)" = running ]
	[ "$(state_of server .wsiso.kind)" = run ]
	ws state server >"$T/state"
	matches_schema state "$T/state"
	ws list --json >"$T/list"
	matches_schema list "$T/list"
	[ "$(ws ps --json server | jq -r '.[].command' | xargs)" = "sleep 1000" ]
	ws kill server TERM
	expect_status 143 wait "$BG"
	[ "$(state_of server)" = stopped ]
	ws_bg two run --id server -- sh -c 'echo on; exec sleep 1000'
	wait_for 10 grep -q on "$T/two.out"
	ws stop -t 1 server
	expect_status 143 wait "$BG" || expect_status 137 wait "$BG"
	[ -z "$(sandbox_pids server)" ]
}

@test "one of a name at a time" {
	ws_bg one run --id server -- sh -c 'echo on; sleep 1000'
	wait_for 10 grep -q on "$T/one.out"
	[ "$(kind_of run --id server -- true)" = session-busy ]
	expect_status 3 ws delete server
	ws delete -f server
	wait "$BG" || true
	[ -z "$(ws list -q)" ]
}

@test "a name is a session's or a run's, not both" {
	new_session
	[ "$(kind_of run --id "$ID" -- true)" = session-exists ]
	ws run --id server -- true
	[ "$(kind_of create server --spec "$T/$ID.json")" = session-exists ]
	run --separate-stderr ws exec server -- true
	[ "$status" -eq 125 ]
	[[ "$stderr" == *"'server' is no session"*"hint: wsiso run --id server"* ]]
	refute ws update server --network share
	[ "$(kind_of diff server)" = usage ]
	[ "$(kind_of ls server:/tmp)" = usage ]
	mkdir -p "$ROOT/sessions/bare"
	spec "$ROOT/sessions/bare/config.json" "$SPEC_OPEN"
	refuses "is there, but is no run's" --id bare
	refuses "is no session id" --id ../x
}

@test "in the background it needs a name, and then logs, wait and stop know it" {
	refuses "--detach needs a name" -d
	ws run -d --id job --exec-id first -- sh -c 'echo working; sleep 0.5; echo done; exit 5'
	[ "$(ws wait job first)" = 5 ]
	[ "$(ws logs job first | xargs)" = "working done" ]
	wait_for 5 has_no_sandbox job
	ws run -d --id job --exec-id second -- sleep 1000
	[ "$(ws ps --json job | jq -r '.[].exec')" = second ]
	ws stop -t 1 job
	wait_for 5 has_no_sandbox job
}
