#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016 # for the shell inside to expand
# shellcheck disable=SC2154 # bats sets stderr
load helpers

setup() {
	ws_setup
	new_session
}

tmp_of() { echo "$ROOT/sessions/$ID/tmp/$1"; }

# ms: a clock in milliseconds
ms() { echo $(($(date +%s%N) / 1000000)); }

# processes_with WORD: the host's PIDs of the session's processes whose command line has WORD
processes_with() { ws ps --json "$ID" | jq -r --arg word "$1" '.[] | select(.command | contains($word)).pid'; }

none_with() { [ -z "$(processes_with "$1")" ]; }

# ---- the command, its folder and its environment ----

@test "exec runs the command in the only repository, and its output and status are the command's" {
	run --separate-stderr ws exec "$ID" -- sh -c 'pwd; echo to stderr >&2; exit 3'
	[ "$status" -eq 3 ]
	[ "$output" = /workspace/app ]
	[ "$stderr" = "to stderr" ]
}

@test "the payload begins at the first word that is no option, or after two dashes" {
	[ "$(ws exec "$ID" echo -n -t --json)" = "-t --json" ]
	[ "$(ws exec --cwd / "$ID" -- echo --cwd)" = --cwd ]
	[ "$(ws exec "$ID" --cwd / pwd)" = / ]
}

@test "arguments come through byte by byte" {
	printf 'a b\n*\n\xff\xfe\n\n$HOME\n' >"$T/want"
	ws exec "$ID" -- printf '%s\n' 'a b' '*' $'\xff\xfe' '' '$HOME' >"$T/got"
	cmp "$T/want" "$T/got"
}

@test "--cwd takes a path inside, absolute or from where commands start" {
	[ "$(ws exec --cwd /tmp "$ID" pwd)" = /tmp ]
	[ "$(ws exec --cwd d "$ID" pwd)" = /workspace/app/d ]
	[ "$(ws exec --cwd .. "$ID" pwd)" = /workspace ]
}

@test "F034: a folder that leads to one process, in whatever writing, is refused" {
	local dir
	for dir in /proc/self/fd/9 /proc/1/root /dev/fd/9 /workspace/../proc/self/cwd //proc//self/fd \
		/./proc/self ../../proc/thread-self/fd/9 ''; do
		run --separate-stderr ws exec --cwd "$dir" "$ID" -- touch /tmp/ran 9<"$T"
		[ "$status" -eq 125 ]
		[ -z "$output" ]
		[[ "$stderr" == "wsiso: exec: "* ]]
		refute_in_session "$ID" /tmp/ran
	done
}

@test "F096: a folder that is not there is wsiso's error, and nothing runs" {
	run --separate-stderr ws exec --cwd /nowhere "$ID" -- touch /tmp/ran
	[ "$status" -eq 125 ]
	[[ "$stderr" == "wsiso: exec: start in folder '/nowhere': No such file or directory"* ]]
	refute_in_session "$ID" /tmp/ran
}

@test "F092: the environment is the nine variables that wsiso makes, and no other" {
	FOREIGN=x ws exec "$ID" -- env >"$T/env"
	[ "$(cut -d= -f1 "$T/env" | sort | xargs)" = "HOME LANG LOGNAME PATH SHELL TERM TMPDIR USER" ]
	TZ=Asia/Tokyo ws exec "$ID" -- sh -c 'echo "$TZ $HOME $USER $TERM"' >"$T/env"
	[ "$(cat "$T/env")" = "Asia/Tokyo /home/$(id -un) $(id -un) dumb" ]
}

@test "-e sets a variable, or takes it from wsiso's own environment, or skips it" {
	[ "$(OWN=mine ws exec -e A=b=c -e OWN -e ABSENT "$ID" -- \
		sh -c 'echo "$A $OWN ${ABSENT-unset}"')" = "b=c mine unset" ]
	expect_status 125 ws exec -e =x "$ID" -- true
}

@test "--env-file reads variables, with comments, and -e goes over it" {
	printf '# a comment\n\nA=one\n  B = two\nOWN\nC=#not a comment\n' >"$T/env"
	[ "$(OWN=mine ws exec --env-file "$T/env" -e A=over "$ID" -- env |
		grep -E '^(A|B |OWN|C)=' | sort | paste -sd,)" = "A=over,B = two,C=#not a comment,OWN=mine" ]
	printf 'A=1\n=2\n' >"$T/env"
	run --separate-stderr ws exec --env-file "$T/env" "$ID" -- true
	[ "$status" -eq 125 ]
	[[ "$stderr" == *"$T/env:2: a variable without a name"* ]]
	expect_status 125 ws exec --env-file "$T/none" "$ID" -- true
}

@test "--process takes args, env and cwd as JSON, from a file or standard input" {
	jq -n '{args: ["sh", "-c", "pwd; echo $A"], env: ["A=one"], cwd: "/tmp"}' >"$T/process"
	[ "$(ws exec --process "$T/process" "$ID" | xargs)" = "/tmp one" ]
	jq -n '{args: ["sh", "-c", "pwd; echo $A"], env: {A: "two"}}' |
		ws exec -p - --cwd / "$ID" >"$T/out"
	[ "$(xargs <"$T/out")" = "/ two" ]
}

@test "--process with what it does not know, or nothing to run, is refused" {
	local text
	for text in '{"args": ["true"], "user": {"uid": 0}}' '{"args": "true"}' '{"args": []}' '{}' '[]' \
		'{"args": ["true"], "env": ["=x"]}' '{"args": [1]}' 'nonsense' \
		'{"args": ["true"], "env": {"A=B": "x"}}'; do
		echo "$text" >"$T/process"
		expect_status 125 ws exec --process "$T/process" "$ID"
	done
	echo '{"args": ["true"]}' >"$T/process"
	expect_status 125 ws exec --process "$T/process" "$ID" -- true
}

@test "a variable that the spec denies does not come in by -e either" {
	new_session denied '{"sandbox": {"deny_env_vars": ["TOKEN"], "inherit_env_vars": ["OTHER", "TOKEN"]}}'
	TOKEN=x OTHER=y run --separate-stderr ws exec -e TOKEN=z denied -- sh -c 'echo ${TOKEN-unset} $OTHER'
	[ "$status" -eq 0 ]
	[ "$output" = "unset y" ]
	[[ "$stderr" == *"'TOKEN' is not passed on"* ]]
}

# ---- refusals ----

@test "exec in a session that is not there refuses, and says so to the status file too" {
	run --separate-stderr ws exec --status-file "$T/status" nosuch -- true
	[ "$status" -eq 125 ]
	[[ "$stderr" == "wsiso: exec: there is no session 'nosuch'"* ]]
	[ "$(jq -r '[.type, .kind, .status] | join(" ")' "$T/status")" = "failed session-missing 125" ]
}

@test "wrong use is 125, tells how, and says so to the status file too" {
	run --separate-stderr ws exec "$ID"
	[ "$status" -eq 125 ]
	[[ "$stderr" == "wsiso: exec: no command"* ]]
	expect_status 125 ws exec --nonsense "$ID" -- true
	expect_status 125 ws exec -d -i "$ID" -- true
	expect_status 125 ws exec --profile worker "$ID" -- true
	expect_status 125 ws exec --status-fd 77 "$ID" -- true
	expect_status 125 ws exec --pid-file /nowhere/pid "$ID" -- true
	expect_status 125 ws exec --exec-id ../x "$ID" -- true
	ws exec --status-file "$T/status" --env-file /nowhere "$ID" -- true || true
	[ "$(jq -r '.type + " " + .kind' "$T/status")" = "failed usage" ]
}

# ---- signals and ends ----

# begin NAME SCRIPT [OPTION...]: exec of SCRIPT in the background, until it says it is ready
begin() {
	local name=$1 script=$2
	shift 2
	ws_bg "$name" exec "$@" "$ID" -- sh -c "$script"
	wait_for 20 test -e "$(tmp_of ready)"
}

@test "TERM, INT and HUP to wsiso go to the command's process group" {
	local sig
	for sig in TERM INT HUP; do
		begin "$sig" "trap 'echo got $sig; exit 9' $sig; touch /tmp/ready; while :; do sleep 0.1; done"
		kill -"$sig" "$BG"
		expect_status 9 wait "$BG"
		grep -qx "got $sig" "$T/$sig.out"
		rm "$(tmp_of ready)"
	done
}

@test "a second TERM ends the whole tree, deaf as it may be, and nothing else" {
	local began
	ws exec -d --exec-id bystander "$ID" -- sleep 299
	begin deaf 'trap "" TERM; setsid sh -c "trap \"\" TERM; exec sleep 301" & touch /tmp/ready; exec sleep 300' \
		--kill-after 0.5
	began=$(ms)
	kill -TERM "$BG"
	sleep 0.2
	kill -0 "$BG"
	kill -TERM "$BG"
	expect_status 137 wait "$BG"
	[ $(($(ms) - began)) -lt 8000 ]
	none_with 'sleep 30'
	[ "$(processes_with 'sleep 299' | wc -l)" -eq 1 ]
}

@test "a timeout is 124, gives TERM first, and its tree is gone when exec returns" {
	run --separate-stderr ws exec --timeout 0.5 "$ID" -- sh -c '
		trap "echo bye; exit 7" TERM; setsid sleep 300 & while :; do sleep 0.1; done'
	[ "$status" -eq 124 ]
	[ "$output" = bye ]
	none_with 'sleep 300'
}

@test "after a timeout the deaf are killed when kill-after is over" {
	local began
	began=$(ms)
	expect_status 124 ws exec --timeout 0.3 --kill-after 0.3 "$ID" -- \
		sh -c 'trap "" TERM; while :; do sleep 0.1; done'
	[ $(($(ms) - began)) -ge 600 ]
	[ $(($(ms) - began)) -lt 5000 ]
}

@test "the spec's timeout_s is the longest that --timeout can ask for" {
	new_session limited '{"limits": {"timeout_s": 0.4}}'
	expect_status 124 ws exec limited -- sleep 20
	expect_status 124 ws exec --timeout 30 limited -- sleep 20
	expect_status 0 ws exec limited -- true
}

@test "SIGKILL of wsiso ends the command's tree and nothing else" {
	ws exec -d --exec-id bystander "$ID" -- sleep 299
	begin victim 'setsid sleep 301 & touch /tmp/ready; exec sleep 300' --exec-id victim
	kill -KILL "$BG"
	wait "$BG" || true
	wait_for 15 none_with 'sleep 30'
	[ "$(processes_with 'sleep 299' | wc -l)" -eq 1 ]
	[ "$(ws wait "$ID" victim)" = 137 ]
}

@test "a sandbox that is lost under a command is 137, with its cause" {
	begin victim 'touch /tmp/ready; exec sleep 300' --status-file "$T/status"
	kill -KILL "$(init_pid)"
	expect_status 137 wait "$BG"
	[ "$(jq -r 'select(.type == "exited") | .cause' "$T/status")" = sandbox-lost ]
	[ "$(ws exec "$ID" -- echo again)" = again ]
}

@test "a timeout that cost the sandbox is 124 all the same, and says what it cost" {
	expect_status 124 ws exec --timeout 0.5 --status-file "$T/status" "$ID" -- \
		sh -c 'trap "kill -KILL $PPID" TERM; while :; do sleep 0.1; done'
	[ "$(jq -r 'select(.type == "exited") | .cause' "$T/status")" = sandbox-lost ]
	[ "$(ws exec "$ID" -- echo again)" = again ]
}

@test "--with-parent ends the command when the caller dies, and only then" {
	# shellcheck disable=SC2069
	bash -c '"$@" 3>&- >/dev/null 2>&1 </dev/null & sleep 300' - \
		"$WSISO" --root "$ROOT" exec --with-parent "$ID" -- \
		sh -c 'touch /tmp/ready; exec sleep 300' 3>&- >/dev/null &
	wait_for 20 test -e "$(tmp_of ready)"
	sleep 0.3
	[ "$(processes_with 'sleep 300' | wc -l)" -eq 1 ]
	pkill -KILL -P $! sleep || true
	kill -KILL $! 2>/dev/null || true
	wait_for 15 none_with 'sleep 300'
}

@test "a thread of the caller that ends does not end the command" {
	"$PYTHON" -c '
import subprocess, sys, threading
def start():
    global p
    p = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE)
t = threading.Thread(target=start)
t.start()
t.join()
assert p.communicate(timeout=20)[0] == b"alive\n"' \
		"$WSISO" --root "$ROOT" exec --with-parent "$ID" -- sh -c 'sleep 0.5; echo alive'
}

# ---- what the caller learns ----

@test "the status file has the receipt and the end, as the schema says" {
	ws exec --exec-id named --status-file "$T/status" "$ID" -- sh -c 'exit 7' || true
	matches_schema exec-status "$T/status" --lines
	[ "$(jq -r .type "$T/status" | xargs)" = "started exited" ]
	[ "$(jq -r 'select(.type == "exited") | [.exec_id, .status] | join(" ")' "$T/status")" = "named 7" ]
}

@test "the receipt is what the kernel says, also of a command that ends at once" {
	local n=0
	while [ $((n += 1)) -le "$(long 5 200)" ]; do
		ws exec --status-file "$T/status" "$ID" -- true
		jq -es '.[0] | .type == "started" and .no_new_privs and
			(.capabilities | all(. == "0000000000000000")) and
			.seccomp == {mode: 2, filters: 1, setting: "log", refuses: false} and
			(.digests.filter | startswith("sha256:")) and .rlimits.core.hard == 1 and
			.network == "isolate" and (.namespaces.net > 0)' "$T/status" >/dev/null
	done
}

@test "--status-fd gives the same lines, apart from the output" {
	[ "$(ws exec --status-fd 7 "$ID" -- echo out 7>"$T/status")" = out ]
	[ "$(jq -r .type "$T/status" | xargs)" = "started exited" ]
}

@test "--pid-file names the command by its host PID" {
	begin pid 'touch /tmp/ready; exec sleep 300' --pid-file "$T/pid"
	wait_for 5 test -s "$T/pid"
	[ "$(tr '\0' ' ' <"/proc/$(cat "$T/pid")/cmdline")" = "sleep 300 " ]
	kill "$BG"
	wait "$BG" || true
}

@test "an exec id is taken once in a session" {
	ws exec --exec-id once "$ID" -- true
	run --separate-stderr ws exec --exec-id once "$ID" -- touch /tmp/ran
	[ "$status" -eq 125 ]
	[[ "$stderr" == *"has an exec 'once' already"* ]]
	refute_in_session "$ID" /tmp/ran
}

@test "the last records are kept, and not many more" {
	local n=0
	while [ $((n += 1)) -le "$(long 15 300)" ]; do
		ws exec "$ID" -- true
	done
	n=$(state_of "$ID" '.wsiso.execs | length')
	[ "$n" -ge "$(long 15 200)" ]
	[ "$n" -le 240 ]
}

@test "no argument and no variable of a command gets into a file of wsiso's" {
	ws exec -e "TOKEN=s3cr3t-$TAG" "$ID" -- sh -c ": s3cr3t-$TAG"
	ws exec -d --exec-id back -e "TOKEN=s3cr3t-$TAG" "$ID" -- sh -c ": s3cr3t-$TAG"
	ws wait "$ID" back
	refute grep -rl "s3cr3t-$TAG" "$ROOT"
}

# ---- in the background ----

@test "-d prints the exec id at once, and logs what the command writes" {
	local began id
	began=$(ms)
	id=$(ws exec -d "$ID" -- sh -c 'echo out; echo err >&2; cat; sleep 2; exit 6')
	[ $(($(ms) - began)) -lt 2000 ]
	[[ "$id" =~ ^[0-9a-f]{12}$ ]]
	[ "$(ws wait "$ID" "$id")" = 6 ]
	[ "$(ws logs "$ID" "$id" | sort | xargs)" = "err out" ]
}

# lets_go_of COMMAND...: who runs COMMAND sees the end of its output, and of another pipe that
# it happened to inherit, at once
lets_go_of() {
	"$PYTHON" -c '
import os, subprocess, sys
end, leaked = os.pipe()
p = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                     pass_fds=[leaked])
os.close(leaked)
out = p.communicate(timeout=20)[0]
os.set_blocking(end, False)
assert p.returncode == 0 and os.read(end, 1) == b"", out' "$@"
}

@test "what goes on in the background holds nothing of the caller's" {
	lets_go_of "$WSISO" --root "$ROOT" exec -d "$ID" -- sleep 300
	lets_go_of "$WSISO" --root "$ROOT" exec "$ID" -- sh -c 'sleep 301 & echo begun'
	[ "$(processes_with 'sleep 30' | wc -l)" -eq 2 ]
}

@test "-d of a command that is not there says so and is 127" {
	run -127 --separate-stderr ws exec -d "$ID" -- no-such-command
	[ "$status" -eq 127 ]
	[ -z "$output" ]
	[[ "$stderr" == "wsiso: exec: run 'no-such-command': "* ]]
}

@test "-d --timeout ends the command though nobody waits" {
	ws exec -d --exec-id timed --timeout 0.3 "$ID" -- sleep 300
	[ "$(ws wait "$ID" timed)" = 124 ]
	none_with 'sleep 300'
}

@test "-d --json prints an object, and the status file gets the end later" {
	ws exec -d --json --status-file "$T/status" "$ID" -- sh -c 'exit 4' >"$T/out"
	matches_schema exec "$T/out"
	wait_for 10 grep -q exited "$T/status"
	[ "$(jq -r 'select(.type == "exited") | .status' "$T/status")" = 4 ]
}

# ---- the plan ----

@test "--dry-run prints the plan, runs nothing and shows no value of the caller's" {
	run --separate-stderr ws exec --dry-run -e TOKEN=s3cr3t "$ID" -- touch /tmp/ran
	[ "$status" -eq 0 ]
	[[ "$output" == *"flock --nonblock"*"bwrap"*"#	cd /workspace/app"*"touch /tmp/ran"* ]]
	[[ "$output" != *s3cr3t* ]]
	refute_in_session "$ID" /tmp/ran
	has_no_sandbox
	ws exec --dry-run --json -e TOKEN=s3cr3t "$ID" -- true >"$T/plan"
	matches_schema dry-run "$T/plan"
	refute grep s3cr3t "$T/plan"
	jq -e '(.sandbox.args | length > 0) and .enter.cwd == "/workspace/app"' "$T/plan"
}

@test "a command that stops its shepherd cannot stop its clock" {
	local began
	ws exec -d "$ID" -- sh -c 'while :; do :; done' # makes it likely that it comes first
	for _ in 1 2 3; do
		began=$(ms)
		expect_status 124 ws exec --timeout 1 --kill-after 0.2 --status-file "$T/status" "$ID" -- \
			sh -c 'kill -STOP $PPID; echo out >&2; sleep 100' 2>"$T/out"
		[ $(($(ms) - began)) -lt 12000 ]
		grep -q out "$T/out"
		[ "$(jq -r .type "$T/status" | xargs)" = "started exited" ]
		rm "$T/status"
	done
	ws stop -t 0 "$ID"
}

@test "a limit of file sizes on wsiso itself is told, and kills nothing" {
	(
		ulimit -c 0
		ulimit -f 0
		run --separate-stderr ws exec --status-file "$T/status" "$ID" -- touch /tmp/q
		[ "$status" -ne 153 ]
		[ "$status" -eq 0 ] || [ "$status" -eq 125 ]
	)
}
