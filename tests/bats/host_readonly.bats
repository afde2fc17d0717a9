#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016 # for the shell inside to expand
# shellcheck disable=SC2154 # bats sets stderr
# shellcheck disable=SC2030,SC2031 # each test has its own LAUNCH
#
# Mode host_readonly, as an ordinary user sees it. What needs root to set up is in
# root/host_readonly.bats.
load helpers

setup() {
	ws_setup
	export HOME=$T/home
	LAUNCH=$HOME/project
	mkdir -p "$LAUNCH/d"
	printf 'one\n' >"$LAUNCH/f"
	printf 'deep\n' >"$LAUNCH/d/g"
}

# host_session [ID [JSON...]]: one that works in $LAUNCH
host_session() {
	local id=${1:-$ID}
	[ $# -eq 0 ] || shift
	need_userns
	spec "$T/$id.json" '{"mode": "host_readonly"}' \
		"$(jq -n --arg dir "$LAUNCH" '{host_readonly: {launch_dir: $dir}}')" "$@"
	ws create "$id" --spec "$T/$id.json"
}

secret() {
	mkdir -p "$(dirname "$1")"
	printf 'SECRET\n' >"$1"
}

# no file inside below DIR holds a secret
no_secret_below() {
	local found
	found=$(in_session sh -c 'grep -rl SECRET "$1" 2>/dev/null' - "$1") || true
	[ -z "$found" ] || {
		echo "found: $found"
		return 1
	}
}

# ---- what is there, and cannot be written ----

@test "the host is there at its own paths, and nothing of it can be written" {
	host_session
	mkdir "$T/mine"
	in_session test -e "$T/mine"
	[ "$(in_session cat /etc/hostname)" = "$(cat /etc/hostname)" ]
	run in_session sh -c 'for d in / /usr /etc /var/tmp "$HOME" /proc /sys /run /dev "$1"; do
		! touch "$d/wsiso-test" 2>/dev/null || echo "$d"; done' - "$T/mine"
	[ "$status" -eq 0 ]
	[ -z "$output" ]
	refute in_session test -e /workspace
	[ "$(in_session sh -c 'echo "$HOME"')" = "$HOME" ]
}

@test "no mount inside is writable but the few that are meant to be" {
	host_session
	run in_session sh -c 'awk "\$6 !~ /^ro(,|\$)/ { print \$5 }" /proc/self/mountinfo | sort -u'
	[ "$status" -eq 0 ]
	while read -r target; do
		case $target in
		/tmp | /dev/* | "$LAUNCH") ;;
		*) in_session sh -c '! touch "$1/x" 2>/dev/null' - "$target" ;;
		esac
	done <<<"$output"
}

@test "commands work in launch_dir, which by default is the caller's folder" {
	need_userns
	spec "$T/s.json" '{"mode": "host_readonly"}'
	cd "$LAUNCH"
	ws create "$ID" --spec "$T/s.json"
	cd /
	[ "$(in_session pwd)" = "$LAUNCH" ]
	[ "$(ws exec --cwd d "$ID" -- cat g)" = deep ]
	[ "$(ws state "$ID" | jq -r .wsiso.launch_dir)" = "$LAUNCH" ]
	[ "$(ws state "$ID" | jq -r .wsiso.mode)" = host_readonly ]
}

@test "what is written in launch_dir stays in the session, outlives its sandbox, and goes with it" {
	host_session
	in_session sh -c 'echo two >>f; echo new >new; rm d/g'
	[ "$(cat "$LAUNCH/f")" = one ]
	[ ! -e "$LAUNCH/new" ] && [ -e "$LAUNCH/d/g" ]
	ws stop "$ID"
	[ "$(in_session cat f new)" = "$(printf 'one\ntwo\nnew')" ]
	refute in_session test -e d/g
	ws delete -f "$ID"
	[ "$(cat "$LAUNCH/f")" = one ]
	host_session
	[ "$(in_session cat f)" = one ]
}

@test "scratch_overlay false: launch_dir is as read-only as the rest" {
	host_session "$ID" '{"host_readonly": {"scratch_overlay": false}}'
	[ "$(in_session cat f)" = one ]
	refute in_session touch x
}

@test "F012: a launch_dir that holds the state folder, or lies in it, is refused before anything is made" {
	local dir
	for dir in "$T" "$ROOT" "$ROOT/sessions" /proc /run /dev/shm /tmp "$T/absent" "$T/home/project/f"; do
		spec "$T/s.json" "$(jq -n --arg dir "$dir" \
			'{mode: "host_readonly", host_readonly: {launch_dir: $dir}}')"
		[ "$(kind_of create "$ID" --spec "$T/s.json")" = spec-invalid ]
		[ ! -e "$ROOT/sessions/$ID" ]
	done
	spec "$T/s.json" "$(jq -n --arg dir "$T" \
		'{mode: "host_readonly", host_readonly: {launch_dir: $dir}}')"
	run --separate-stderr ws create "$ID" --spec "$T/s.json"
	[[ $stderr == *"the state folder is in it"*"hint:"* ]]
}

@test "/tmp is the session's own, and the host's is at /tmp/host" {
	local mine
	mine=$(mktemp -d /tmp/ws-host.XXXXXX)
	echo here >"$mine/f"
	host_session
	[ "$(in_session cat "/tmp/host/${mine#/tmp/}/f")" = here ]
	refute in_session test -e "$mine"
	refute in_session touch "/tmp/host/${mine#/tmp/}/x"
	in_session touch /tmp/own
	[ ! -e /tmp/own ]
	host_session t '{"host_readonly": {"expose_host_tmp": false}}'
	refute ws exec t -- test -e /tmp/host
	rm -r "$mine"
}

@test "a launch_dir below /tmp works, and what is masked in it stays so" {
	LAUNCH=$(mktemp -d /tmp/ws-host.XXXXXX)
	echo one >"$LAUNCH/f"
	secret "$LAUNCH/hidden/k"
	host_session "$ID" "$(jq -n --arg p "$LAUNCH/hidden" '{host_readonly: {mask: [$p]}}')"
	in_session sh -c 'echo two >>f'
	[ "$(in_session cat f | wc -l)" -eq 2 ]
	no_secret_below "$LAUNCH"
	no_secret_below "/tmp/host/${LAUNCH#/tmp/}"
	ws delete -f "$ID"
	host_session "$ID" "$(jq -n --arg p "$LAUNCH/hidden" \
		'{host_readonly: {mask: [$p], scratch_overlay: false}}')"
	[ "$(in_session cat f)" = one ]
	no_secret_below "$LAUNCH"
	ws delete -f "$ID"
	rm -r "$LAUNCH"
}

# ---- credentials ----

@test "credentials below HOME are not there, and what lies beside them is" {
	local path
	for path in .ssh/id_ed25519 .gnupg/private-keys-v1.d/k .aws/credentials .config/gcloud/db \
		.azure/t .kube/config .docker/config.json .netrc .npmrc .pypirc .git-credentials \
		.config/gh/hosts.yml .config/hub .cargo/credentials.toml .password-store/a.gpg \
		.local/share/keyrings/login .mozilla/firefox/k .config/chromium/Default/Cookies \
		.bash_history .zsh_history .python_history .psql_history .codumentor/workspaces/x; do
		secret "$HOME/$path"
	done
	mkdir -p "$HOME/.cargo/bin" "$HOME/.config/app"
	echo fine | tee "$HOME/.cargo/bin/tool" "$HOME/.config/app/c" >"$HOME/notes"
	ln -s notes "$HOME/link"
	host_session
	no_secret_below "$HOME"
	for path in notes link .cargo/bin/tool .config/app/c; do
		[ "$(in_session cat "$HOME/$path")" = fine ]
	done
}

@test "a credential that comes, or is written anew, while the sandbox lives does not appear" {
	secret "$HOME/.netrc"
	mkdir "$HOME/.config"
	host_session
	in_session true
	secret "$HOME/.aws/credentials"
	secret "$HOME/.config/gh/hosts.yml"
	secret "$HOME/.new"
	mv "$HOME/.new" "$HOME/.netrc"
	kill -0 "$(ws state "$ID" | jq .pid)"
	no_secret_below "$HOME"
}

@test "where a credential is a link, what it leads to is hidden, too" {
	secret "$T/elsewhere/keys/id"
	secret "$T/elsewhere/rc"
	echo fine >"$T/elsewhere/other"
	ln -s "$T/elsewhere/keys" "$HOME/.ssh"
	ln -s "$T/elsewhere/rc" "$HOME/.netrc"
	host_session
	no_secret_below "$HOME"
	no_secret_below "$T/elsewhere"
	[ "$(in_session cat "$T/elsewhere/other")" = fine ]
}

@test "mask hides folders, files and what they are links to, inside launch_dir as well" {
	secret "$T/a/k"
	secret "$T/b"
	secret "$LAUNCH/.env"
	secret "$LAUNCH/d/keys/k"
	secret "$HOME/sub/k"
	ln -s "$T/a" "$T/link"
	host_session "$ID" "$(jq -n --arg t "$T" --arg l "$LAUNCH" --arg h "$HOME" \
		'{host_readonly: {mask: [$t + "/link", $t + "/b", $l + "/.env", $l + "/d/keys", $h + "/sub"]}}')"
	no_secret_below "$T/a"
	no_secret_below "$T/b"
	no_secret_below "$LAUNCH"
	no_secret_below "$HOME"
	in_session sh -c 'mkdir -p d/more && echo x >d/more/x'
	# nor by moving, removing or writing over what hides it
	in_session sh -c 'mv .env e; mv d/keys k; rm -rf d/keys .env; mv d e; true' 2>/dev/null
	no_secret_below "$LAUNCH"
	ws stop "$ID"
	no_secret_below "$LAUNCH"
}

@test "a mask that is not there is warned about" {
	need_userns
	spec "$T/s.json" "$(jq -n --arg d "$LAUNCH" --arg m "$T/absent" \
		'{mode: "host_readonly", host_readonly: {launch_dir: $d, mask: [$m]}}')"
	run --separate-stderr ws create "$ID" --spec "$T/s.json"
	[ "$status" -eq 0 ]
	[[ $stderr == *"'$T/absent' is not there"* ]]
}

@test "launch_dir HOME: what there is of credentials is hidden, the rest can be written" {
	secret "$HOME/.ssh/id"
	secret "$HOME/.config/gh/hosts.yml"
	secret "$HOME/.netrc"
	echo fine >"$HOME/.config/app"
	LAUNCH=$HOME
	host_session
	no_secret_below "$HOME"
	[ "$(in_session cat .config/app)" = fine ]
	in_session sh -c 'echo x >new && cat new'
	[ ! -e "$HOME/new" ]
}

@test "a launch_dir that is hidden, or in something hidden, is refused" {
	local dir
	mkdir -p "$HOME/.ssh/deep" "$T/m/deep"
	for dir in "$HOME/.ssh" "$HOME/.ssh/deep" "$T/m" "$T/m/deep"; do
		spec "$T/s.json" "$(jq -n --arg dir "$dir" --arg m "$T/m" \
			'{mode: "host_readonly", host_readonly: {launch_dir: $dir, mask: [$m]}}')"
		[ "$(kind_of create "$ID" --spec "$T/s.json")" = spec-invalid ]
		[ ! -e "$ROOT/sessions/$ID" ]
	done
}

@test "the state folder, with the sessions of others, is hidden" {
	host_session other
	ws exec other -- sh -c 'echo SECRET >s'
	host_session
	no_secret_below "$ROOT"
	[ -z "$(in_session ls -A "$ROOT")" ]
}

@test "a HOME with more entries than can be shown one by one is refused, not shown" {
	mkdir "$HOME/many"
	(cd "$HOME" && seq 1 1001 | xargs touch)
	spec "$T/s.json" "$(jq -n --arg d "$LAUNCH" '{mode: "host_readonly", host_readonly: {launch_dir: $d}}')"
	run --separate-stderr ws create "$ID" --spec "$T/s.json"
	[ "$status" -eq 1 ]
	[[ $stderr == *"entries, more than"*"hint:"* ]]
}

# ---- processes ----

@test "ps shows the host's processes, and none of them is within reach" {
	local pid
	sleep 300 3>&- &
	pid=$!
	host_session
	in_session sh -c 'ps -e -o pid=,args= | grep -q "^ *'$pid' sleep 300"'
	in_session sh -c 'for i in $(seq 1 400); do /bin/true; done; ps ax >/dev/null && ps aux | grep -q sleep'
	run in_session sh -c 'p=$1; r() { if "$@" >/dev/null 2>&1; then echo "can: $*"; fi; }
		r kill -0 $p; r kill -9 $p; r renice -n 5 -p $p; r cat /proc/$p/environ; r cat /proc/$p/mem
		r ls /proc/$p/root/; r ls /proc/$p/cwd/; r readlink /proc/$p/fd/0; r cat /proc/$p/fd/0
		r cat /proc/$p/maps; r sh -c "echo 0 >/proc/$p/oom_score_adj"; kill -9 -1; true' - "$pid"
	[ -z "$output" ]
	kill -0 "$pid"
	in_session "$PYTHON" -c 'import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
for request in 16, 0x4206:
    assert libc.ptrace(request, int(sys.argv[1]), 0, 0) == -1, request
assert libc.syscall(434, int(sys.argv[1]), 0) == -1' "$pid"
	kill "$pid"
}

@test "ps passes on its status, its arguments and a terminal" {
	host_session
	expect_status 1 in_session ps --no-such-option
	[ "$(in_session ps -o args= -p 1 | wc -l)" -eq 1 ]
	ws_pty exec -t "$ID" -- ps | grep -q PID
}

@test "unshare_pid: the sandbox's own processes alone" {
	local pid
	sleep 300 3>&- &
	pid=$!
	host_session "$ID" '{"host_readonly": {"unshare_pid": true}}'
	refute in_session sh -c 'ps -e -o args= | grep -q "^sleep 30[0]"'
	in_session sh -c '[ "$(cat /proc/1/comm)" = wsiso-init ]'
	kill "$pid"
}

@test "a timeout ends the whole tree, whose PIDs /proc shows as others" {
	local pid
	sleep 300 3>&- &
	pid=$!
	host_session
	expect_status 124 ws exec --timeout 1 --kill-after 1 "$ID" -- \
		sh -c 'setsid sleep 301 & (setsid sh -c "trap : TERM; sleep 302; sleep 303" &) ; sleep 304'
	[ -z "$(ws ps "$ID" -q)" ]
	kill -0 "$pid"
	kill "$pid"
}

@test "ps, kill and stop of wsiso work from outside" {
	host_session
	ws exec -d "$ID" --exec-id e -- sleep 300
	ws ps "$ID" | grep -q 'sleep 300'
	ws kill "$ID" KILL --exec e
	[ "$(ws wait "$ID" e)" = 137 ]
	ws stop "$ID"
	has_no_sandbox
}

# ---- sockets ----

@test "F031: no unix socket of the host can be connected to, whatever seccomp says" {
	local mode
	mkdir "$HOME/run"
	"$PYTHON" -c '
import socket, sys, time
for name in sys.argv[1] + "/s", "\0" + sys.argv[1]:
    s = socket.socket(socket.AF_UNIX); s.bind(name); s.listen()
    globals()[name] = s
print("ready", flush=True)
time.sleep(300)' "$HOME/run" >"$T/ready" 3>&- &
	local server=$!
	wait_for 5 grep -q ready "$T/ready"
	"$PYTHON" "$HELPERS/programs/sockets.py" "$HOME/run" connects
	for mode in default log enforce off; do
		host_session "s-$mode" "$(jq -n --arg m "$mode" '{sandbox: {seccomp: $m}, host_readonly: {network: "share"}}')"
		ws exec -i "s-$mode" -- "$PYTHON" - "$HOME/run" refused <"$HELPERS/programs/sockets.py"
	done
	kill "$server"
}

lease() {
	"$@" python3 -c 'import fcntl, sys
with open(sys.argv[1]) as f:
    try:
        fcntl.fcntl(f, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        print("held")
    except OSError as e:
        print(e.strerror)' "$HOME/notes"
}

@test "no lease can be held on a file of the host, which would keep the host from writing it" {
	local mode
	echo fine >"$HOME/notes"
	[ "$(lease env)" = held ] # by its owner
	[ "$(lease "$(real_bwrap)" --ro-bind / / --dev /dev)" = held ]
	for mode in off log enforce; do
		ID=with-$mode
		host_session "$ID" "{\"sandbox\": {\"seccomp\": \"$mode\"}}"
		[ "$(lease in_session)" = "Operation not permitted" ]
	done
}

@test "what no mount can close is as SECURITY.md says: FIFOs, locks, numbers of descriptors" {
	local pid
	mkfifo "$HOME/fifo"
	echo fine >"$HOME/notes"
	mkdir "$HOME/d" "$HOME/e"
	mkfifo "$HOME/e/fifo" "$HOME/d/masked"
	timeout 20 cat "$HOME/e/fifo" >"$T/got" 3>&- &
	pid=$!
	host_session "$ID" "$(jq -n --arg m "$HOME/d/masked" '{host_readonly: {mask: [$m]}}')"
	in_session timeout 10 sh -c 'echo from inside >"$0"' "$HOME/e/fifo"
	wait $pid
	[ "$(cat "$T/got")" = "from inside" ]
	refute in_session test -p "$HOME/d/masked"
	refute in_session test -p "$HOME/fifo" # beside credentials: left out
	in_session flock -n "$HOME/notes" true
	in_session sh -c 'ls /proc/$0/fd' $$ >"$T/fds"
	[ -s "$T/fds" ]
	refute in_session readlink "/proc/$$/fd/0"
}

@test "/run is empty but for what tools read" {
	host_session
	run in_session sh -c 'find /run -type s'
	[ -z "$output" ]
	refute in_session test -e "/run/user"
}

# ---- the network ----

@test "network: share and isolate are what they say" {
	host_session a '{"host_readonly": {"network": "share"}}'
	host_session b '{"host_readonly": {"network": "isolate"}}'
	[ "$(ws exec a -- readlink /proc/self/ns/net)" = "$(readlink /proc/self/ns/net)" ]
	[ "$(ws exec b -- readlink /proc/self/ns/net)" != "$(readlink /proc/self/ns/net)" ]
	[ "$(ws state a | jq -r .wsiso.network)" = share ]
	[ "$(ws state b | jq -r .wsiso.network)" = isolate ]
}

@test "network ask: isolated where nobody can answer, and nothing is remembered" {
	host_session
	[ "$(in_session readlink /proc/self/ns/net </dev/null)" != "$(readlink /proc/self/ns/net)" ]
	[ "$(jq -r .network "$ROOT/sessions/$ID/state.json")" = null ]
}

@test "network ask: update answers it" {
	host_session
	in_session true
	ws update "$ID" --network share
	[ "$(in_session readlink /proc/self/ns/net)" = "$(readlink /proc/self/ns/net)" ]
	ws update "$ID" --network isolate
	[ "$(in_session readlink /proc/self/ns/net)" != "$(readlink /proc/self/ns/net)" ]
}

@test "network ask: asked once on the terminal, remembered and in the journal" {
	local answer want id
	for answer in y yes n '' what; do
		case $answer in y | yes) want=share ;; *) want=isolate ;; esac
		id=a$answer
		host_session "$id"
		ws_asked "$id" "$answer" >"$T/said"
		grep -q 'the host.s network? \[y/N\]' "$T/said"
		[ "$(jq -r .network "$ROOT/sessions/$id/state.json")" = "$want" ]
		[ "$(ws state "$id" | jq -r .wsiso.network)" = "$want" ]
		jq -e --arg id "$id" --arg w "$want" 'select(.event == "network" and .session == $id and .detail == $w)' \
			"$ROOT/journal.jsonl" >/dev/null
		ws stop "$id"
		refute grep -q 'network?' <(ws_pty exec "$id" -- true)
	done
}

# ws_asked ID ANSWER: an exec on a terminal where ANSWER is typed
ws_asked() {
	local command
	printf -v command '%q ' "$WSISO" --root "$ROOT" exec "$1" -- true
	(sleep 1 && printf '%s\n' "$2" && sleep 2) |
		timeout 30 script -qefc "$command" /dev/null 3>&-
}

@test "network: an invalid value asks, with a warning" {
	need_userns
	spec "$T/s.json" "$(jq -n --arg d "$LAUNCH" \
		'{mode: "host_readonly", host_readonly: {launch_dir: $d, network: "all"}}')"
	run --separate-stderr ws create "$ID" --spec "$T/s.json"
	[ "$status" -eq 0 ]
	[[ $stderr == *'using "ask"'* ]]
}

# ---- what an investigation needs ----

@test "journals, logs, df, ss and the like are useful inside" {
	host_session
	echo 'Dec  1 00:00:00 host app: failed' >"$T/app.log"
	in_session grep -q failed "$T/app.log"
	in_session df -P / | grep -q '/$'
	in_session df -a >/dev/null
	in_session ss -lntu | grep -q State
	in_session sh -c 'free >/dev/null && uptime >/dev/null && id >/dev/null && pgrep -x bash >/dev/null'
	in_session sh -c 'top -b -n 1 | grep -q "^Tasks:"'
	in_session getent passwd root | grep -q ^root:
	in_session git --version | grep -q 'git version'
}

@test "a journal file can be read" {
	need_program journalctl
	"$PYTHON" "$HELPERS/programs/journal.py" "$T/j.journal" 'disk on fire'
	host_session
	in_session journalctl --file "$T/j.journal" --no-pager | grep -q 'disk on fire'
}

# ---- the rest of a session's life ----

@test "repos is ignored with a warning, and the mode of a session does not change" {
	need_userns
	spec "$T/s.json" "$(jq -n --arg d "$LAUNCH" \
		'{mode: "host_readonly", repos: [{path: "/nowhere"}], host_readonly: {launch_dir: $d}}')"
	run --separate-stderr ws create "$ID" --spec "$T/s.json"
	[ "$status" -eq 0 ]
	[[ $stderr == *"'repos' is ignored"* ]]
	jq '.mode = "overlay"' "$T/s.json" >"$ROOT/sessions/$ID/config.json"
	[ "$(kind_of exec "$ID" -- true)" = spec-invalid ]
}

@test "the dry run is a command that works by hand, and the receipt has two filters" {
	host_session
	ws exec --dry-run "$ID" -- true >"$T/plan"
	grep -q -- '--ro-bind / /' "$T/plan"
	ws exec --dry-run --json "$ID" -- true | jq -e '.sandbox.filters | length == 2'
	[ "$(echo 'touch /etc/x 2>/dev/null || echo refused' | timeout 20 bash "$T/plan")" = refused ]
	ws exec --status-file "$T/status" "$ID" -- true
	jq -se 'any(.type == "started" and .seccomp.filters == 2)' "$T/status"
	[ "$(in_session awk '/^CapEff|^CapBnd/ { print $2 }' /proc/self/status | sort -u)" = 0000000000000000 ]
	[ "$(in_session awk '/^NoNewPrivs/ { print $2 }' /proc/self/status)" = 1 ]
}

@test "binds are refused: they could show what is hidden" {
	mkdir "$T/b"
	need_userns
	spec "$T/s.json" "$(jq -n --arg d "$LAUNCH" --arg b "$T/b" '{mode: "host_readonly",
		host_readonly: {launch_dir: $d}, binds: [{source: $b, target: "/mnt/b"}]}')"
	[ "$(kind_of create "$ID" --spec "$T/s.json")" = spec-invalid ]
	[ ! -e "$ROOT/sessions/$ID" ]
}

@test "another policy is refused while the sandbox lives" {
	host_session
	in_session true
	jq '.host_readonly.unshare_pid = true' "$T/$ID.json" >"$ROOT/sessions/$ID/config.json"
	[ "$(kind_of exec "$ID" -- true)" = policy-changed ]
}
