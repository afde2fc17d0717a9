#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016 # for the shell inside to expand
# shellcheck disable=SC2154 # bats sets stderr
#
# What goes into a command and comes out of it: pipes, files, terminals, and what is left
# behind. The rest of exec is in exec.bats.
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

# ---- standard input ----

@test "F097: standard input is /dev/null unless it is asked for" {
	[ "$(echo typed | ws exec "$ID" -- wc -c)" = 0 ]
	[ "$(echo typed | ws exec -i "$ID" -- cat)" = typed ]
}

@test "-i relays a file, byte by byte, and leaves it as it was" {
	head -c 3000000 /dev/urandom >"$T/data"
	cp "$T/data" "$T/copy"
	ws exec -i "$ID" -- sh -c 'cat; (echo evil >/proc/self/fd/0) 2>/dev/null || true' <"$T/data" >"$T/got"
	cmp "$T/copy" "$T/got"
	cmp "$T/copy" "$T/data"
}

@test "a folder as standard input is refused" {
	run --separate-stderr ws exec -i "$ID" -- true <"$T"
	[ "$status" -eq 125 ]
	[[ "$stderr" == "wsiso: exec: standard input is a folder"* ]]
}

@test "the end of the caller's input is the end of the command's" {
	(
		echo one
		sleep 0.3
		echo two
	) | WS_TIMEOUT=20 ws exec -i "$ID" -- sh -c 'cat; echo end' >"$T/out"
	[ "$(xargs <"$T/out")" = "one two end" ]
}

@test "a command that does not read its input ends all the same" {
	yes | WS_TIMEOUT=20 ws exec -i "$ID" -- sh -c 'read a; echo "$a"' >"$T/out"
	[ "$(cat "$T/out")" = y ]
}

@test "standard input may be a socket" {
	"$PYTHON" -c '
import socket, subprocess, sys
a, b = socket.socketpair()
p = subprocess.Popen(sys.argv[1:], stdin=b, stdout=b)
b.close()
a.sendall(b"over a socket\n")
a.shutdown(socket.SHUT_WR)
got = b""
while True:
    part = a.recv(100)
    if not part:
        break
    got += part
assert p.wait(20) == 0 and got == b"over a socket\n", got' \
		"$WSISO" --root "$ROOT" exec -i "$ID" -- cat
}

# ---- output ----

@test "a byte that is written comes out at once" {
	"$PYTHON" -c '
import subprocess, sys, time
p = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, bufsize=0)
late = []
while True:
    text = p.stdout.read(20)
    if not text:
        break
    late.append(time.clock_gettime(time.CLOCK_MONOTONIC) - float(text))
late.sort()
assert len(late) == 40 and late[20] < 0.010, late' \
		"$WSISO" --root "$ROOT" exec "$ID" -- /usr/bin/python3 -c '
import os, time
for i in range(40):
    os.write(1, b"%-20.9f" % time.clock_gettime(time.CLOCK_MONOTONIC))
    time.sleep(0.02)'
}

@test "large output comes through unchanged, whatever the target is" {
	ws exec "$ID" -- sh -c 'head -c 20000000 /dev/urandom | tee /tmp/data' >"$T/file"
	cmp "$T/file" "$(tmp_of data)"
	ws exec "$ID" -- cat /tmp/data | cmp - "$T/file"
	: >"$T/appended"
	ws exec "$ID" -- cat /tmp/data >>"$T/appended"
	ws exec "$ID" -- cat /tmp/data >>"$T/appended"
	cat "$T/file" "$T/file" | cmp - "$T/appended"
	ws exec "$ID" -- cat /tmp/data > >(cat >"$T/slow")
	wait_for 10 cmp -s "$T/file" "$T/slow"
}

@test "many short lines fit into the caller's pipe as if the command held it itself" {
	"$PYTHON" -c '
import subprocess, sys
p = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE)
assert p.wait(20) == 0
assert len(p.stdout.read().split()) == 5000' \
		"$WSISO" --root "$ROOT" exec "$ID" -- sh -c \
		'i=0; while [ $i -lt 5000 ]; do echo $i; i=$((i + 1)); done'
}

@test "a command whose reader has gone dies of SIGPIPE, as it would without wsiso" {
	run bash -c '"$@" | head -n 1; exit ${PIPESTATUS[0]}' - \
		timeout 20 "$WSISO" --root "$ROOT" exec "$ID" -- yes
	[ "$status" -eq 141 ]
	[ "$output" = y ]
}

@test "F096: output that cannot be written is told of, and the status stays the command's" {
	run --separate-stderr bash -c '"$@" >/dev/full' - \
		"$WSISO" --root "$ROOT" exec --status-file "$T/status" "$ID" -- sh -c 'echo x; exit 3'
	[ "$status" -eq 3 ]
	[[ "$stderr" == "wsiso: exec: pass on the output of 'sh': No space left on device"* ]]
	[ "$(jq -r 'select(.type == "exited") | .output' "$T/status")" = lost ]
}

@test "stdout and stderr may be closed, and the command has both" {
	expect_status 5 ws exec "$ID" -- sh -c 'echo x && echo y >&2 && exit 5' >&- 2>&-
}

# ---- what is left in the background ----

@test "F021: exec returns when the command ends, though a child holds its output" {
	local began
	began=$(ms)
	[ "$(ws exec "$ID" -- sh -c 'sleep 30 & echo ended' | cat)" = ended ]
	[ "$(ws exec "$ID" -- sh -c 'setsid sleep 30 & echo ended')" = ended ]
	[ "$(ws exec "$ID" -- sh -c 'exec 3>&1 >/dev/null; sleep 30 & echo ended >&3' 2>&1 | cat)" = ended ]
	[ $(($(ms) - began)) -lt 5000 ]
	[ "$(processes_with 'sleep 30' | wc -l)" -eq 3 ]
}

@test "F021: all that was written until the command's end is out when exec returns" {
	local n=0
	while [ $((n += 1)) -le "$(long 5 200)" ]; do
		ws exec "$ID" -- sh -c 'yes 0123456789 | head -c 60000; (sleep 0.2; echo late) & echo "last"' >"$T/out"
		[ "$(wc -c <"$T/out")" -eq 60005 ]
		[ "$(tail -n 1 "$T/out" | tail -c 5)" = last ]
	done
}

@test "F021: a child that goes on writing does not keep exec" {
	WS_TIMEOUT=20 ws exec --exec-id loud "$ID" -- sh -c 'yes loud & echo $! >/tmp/pid; exit 0' >"$T/out"
	processes_with 'yes loud' | grep -q .
	ws kill "$ID" --exec loud KILL
}

@test "F020: what is left in the background lives on and writes to the log, not to a broken pipe" {
	ws exec --exec-id first "$ID" -- sh -c '
		(trap "touch /tmp/broken" PIPE; sleep 0.3; echo late; echo later >&2; sleep 0.2; touch /tmp/fine) &
		echo early' >"$T/out"
	[ "$(cat "$T/out")" = early ]
	wait_for 10 test -e "$(tmp_of fine)"
	[ ! -e "$(tmp_of broken)" ]
	wait_for 10 none_with 'sh -c'
	[ "$(ws logs "$ID" first | sort | xargs)" = "late later" ]
}

@test "F020: the log is bounded, and the writer never notices" {
	ws exec --exec-id loud "$ID" -- sh -c '
		(sleep 0.2; head -c 20000000 /dev/zero; touch /tmp/fine) & exit 0'
	wait_for 20 test -e "$(tmp_of fine)"
	wait_for 10 none_with head
	[ "$(ws logs "$ID" loud | wc -c)" -eq $((8 << 20)) ]
}

# ---- a terminal ----

@test "-t gives the command a terminal of the sandbox's own, also without one outside" {
	ws exec -t "$ID" -- sh -c 'tty; stty size; [ -t 0 ] && [ -t 1 ] && [ -t 2 ]; exit 4' >"$T/out" || got=$?
	[ "$got" -eq 4 ]
	[ "$(tr -d '\r' <"$T/out" | xargs)" = "/dev/pts/0 24 80" ]
}

# on_terminal SCRIPT COMMAND...: python's SCRIPT with functions send, expect and p on a terminal
on_terminal() {
	local script=$1
	shift
	"$PYTHON" "$HELPERS/programs/terminal.py" "$script" "$@"
}

@test "-t has the terminal's size, and follows it" {
	on_terminal '
size(31, 101)
start()
expect("31 101")
size(40, 120)
expect("40 120")
end(0)' "$WSISO" --root "$ROOT" exec -t "$ID" -- /usr/bin/python3 -c '
import os, signal
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGWINCH])
print(*reversed(os.get_terminal_size()), flush=True)
signal.sigtimedwait([signal.SIGWINCH], 10)
print(*reversed(os.get_terminal_size()), flush=True)'
}

@test "typed control characters are the inner terminal's: Ctrl-C, Ctrl-Z, Ctrl-D" {
	on_terminal '
start()
expect("$ ")
send("sleep 300\n")
wait(0.5)
send("\x03")
expect("$ ")
send("echo status=$?\n")
expect("status=130")
send("sleep 301\n")
wait(0.5)
send("\x1a")
expect("Stopped")
send("kill -KILL %1; sleep 0.5; echo $((1 + 1))killed\n")
expect("2killed")
wait(0.3)
send("\x04")
end(None)' "$WSISO" --root "$ROOT" exec -t "$ID" -- env PS1='$ ' bash --norc
}

@test "the terminal is put back when the command has ended, by itself or by a signal" {
	on_terminal '
before = modes()
start()
expect("ready")
raw = modes()
assert raw != before
send("\n")
end(0)
assert modes() == before
start()
expect("ready")
signal_it(15)
end(143)
assert modes() == before' "$WSISO" --root "$ROOT" exec -t "$ID" -- sh -c 'echo ready; read x'
}

@test "all that a command writes to its terminal comes out" {
	[ "$(ws exec -t "$ID" -- sh -c 'seq 20000' | tail -n 1 | tr -d '\r')" = 20000 ]
	[ "$(ws exec -t "$ID" -- sh -c 'seq 20000; sleep 300 & exit 0' | tail -n 1 | tr -d '\r')" = 20000 ]
}

@test "with -i and -t the end of the caller's input is typed" {
	[ "$(echo 'echo typed-$((1+1))' | WS_TIMEOUT=20 ws exec -i -t "$ID" -- sh | tr -d '\r' | grep -c 'typed-2')" -eq 1 ]
}
