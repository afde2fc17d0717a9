#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The commands of one session see one tree, one loopback, one set of processes. In most
# tests one command waits in the background (it stands for a server, or a slow build), and
# others come and go.
# shellcheck disable=SC2016 # for the shell inside to expand
load helpers

setup_file() { build_programs tracer runaway; }

setup() {
	ws_setup
	new_session
}

# inside FILE: what a session's /tmp has, seen from outside without any command
inside() { echo "$ROOT/sessions/$ID/tmp/$1"; }

# background NAME SCRIPT: a command that goes on; it has begun when this returns
background() {
	ws_bg "$1" exec "$ID" -- bash -c "touch /tmp/$1.begun; $2"
	wait_for 20 test -e "$(inside "$1.begun")"
}

# said NAME TEXT: what a background command has printed so far
said() { grep -qxF -e "$2" "$T/$1.out"; }

# ---- files ----

@test "a new file of a second command is seen by the first, and the other way round" {
	background first 'until [ -e new ]; do sleep 0.02; done; cat new; ls; echo mine >from-first; sleep 60'
	in_session sh -c 'echo fresh >new'
	wait_for 10 said first fresh
	wait_for 10 said first new
	wait_for 10 in_session test -s from-first
	[ "$(in_session cat from-first)" = mine ]
}

@test "an edit of a lower file by a second command is seen by the first, and the other way round" {
	background first 'cat d/f; until [ "$(cat d/f)" = edited ]; do sleep 0.02; done; echo seen; echo back >d/k; sleep 60'
	in_session sh -c 'echo edited >d/f'
	wait_for 10 said first seen
	wait_for 10 in_session grep -qx back d/k
}

@test "a deletion by a second command is seen by the first, and the other way round" {
	background first 'while [ -e d/g1 ]; do sleep 0.02; done; ls d; rm d/g2; echo gone; sleep 60'
	in_session rm d/g1
	wait_for 10 said first gone
	refute said first g1
	[ "$(in_session ls d | xargs)" = "f k" ]
}

@test "a file that one command holds open shows what another one appends to it" {
	in_session sh -c ': >log'
	background first 'tail -n +1 -f log'
	in_session sh -c 'echo one >>log'
	in_session sh -c 'echo two >>log'
	wait_for 10 said first two
	said first one
}

@test "HOME and /tmp are shared as /workspace is" {
	background first 'until [ -e ~/h ] && [ -e /tmp/t ]; do sleep 0.02; done; cat ~/h /tmp/t; sleep 60'
	in_session sh -c 'echo home >~/h; echo tmp >/tmp/t'
	wait_for 10 said first tmp
	said first home
}

@test "a lock of one command keeps another one out until it is released" {
	background first 'exec 9>lock; flock 9; touch /tmp/held; until [ -e /tmp/release ]; do sleep 0.02; done'
	wait_for 10 test -e "$(inside held)"
	expect_status 1 in_session flock -n lock true
	in_session touch /tmp/release
	wait "$BG"
	in_session flock -n lock true
}

@test "a record lock, too, is one for all commands" {
	local probe='import fcntl,sys,time
f = open("reclock", "w")
try:
    fcntl.lockf(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
except OSError:
    sys.exit(1)
open("/tmp/have" + sys.argv[1], "w")
time.sleep(float(sys.argv[1]))'
	ws_bg first exec "$ID" -- /usr/bin/python3 -c "$probe" 60
	wait_for 20 test -e "$(inside have60)"
	expect_status 1 in_session /usr/bin/python3 -c "$probe" 0
	kill "$BG"
	wait "$BG" || true
	in_session /usr/bin/python3 -c "$probe" 0
}

# ---- sockets, processes ----

@test "a unix socket of one command is reached by another, in the workspace and in /tmp" {
	local path
	for path in /tmp/s.sock /workspace/app/s.sock; do
		background first "exec /usr/bin/python3 -c '
import socket
s = socket.socket(socket.AF_UNIX)
s.bind(\"$path\")
s.listen()
open(\"/tmp/listens\", \"w\")
while True:
    c = s.accept()[0]
    c.sendall(b\"hello \" + c.recv(9))
    c.close()
'"
		wait_for 10 test -e "$(inside listens)"
		[ "$(in_session /usr/bin/python3 -c "
import socket
s = socket.socket(socket.AF_UNIX)
s.connect('$path')
s.sendall(b'there')
print(s.recv(99).decode())")" = "hello there" ]
		kill "$BG"
		wait "$BG" || true
		in_session rm -f /tmp/listens /tmp/first.begun
	done
}

@test "a port that a background command listens on is reached by later ones, until it is killed" {
	ws exec -d --exec-id server "$ID" -- /usr/bin/python3 -c '
import socket
s = socket.create_server(("127.0.0.1", 8123))
open("/tmp/listens", "w")
while True:
    c = s.accept()[0]
    c.sendall(b"served\n")
    c.close()
'
	wait_for 20 test -e "$(inside listens)"
	[ "$(in_session bash -c 'cat </dev/tcp/127.0.0.1/8123')" = served ]
	[ "$(in_session bash -c 'cat </dev/tcp/127.0.0.1/8123')" = served ]
	ws kill "$ID" --exec server KILL
	wait_for 10 refute in_session bash -c 'cat </dev/tcp/127.0.0.1/8123'
}

@test "the host and another session do not reach that port" {
	new_session other
	background first "exec /usr/bin/python3 -c '
import socket, time
s = socket.create_server((\"127.0.0.1\", 8124))
open(\"/tmp/listens\", \"w\")
time.sleep(60)
'"
	wait_for 10 test -e "$(inside listens)"
	in_session bash -c ': </dev/tcp/127.0.0.1/8124'
	refute bash -c ': </dev/tcp/127.0.0.1/8124'
	refute ws exec other -- bash -c ': </dev/tcp/127.0.0.1/8124'
}

@test "one command sees another's process and may signal it" {
	local pid
	background first 'echo $$ >/tmp/pid; trap "echo got USR1; exit 5" USR1; while :; do sleep 0.05; done'
	wait_for 10 test -s "$(inside pid)"
	pid=$(in_session cat /tmp/pid)
	in_session test -d "/proc/$pid"
	in_session kill -USR1 "$pid"
	expect_status 5 wait "$BG"
	said first 'got USR1'
}

@test "one command may trace another" {
	local pid
	put_program tracer
	background first 'echo $$ >/tmp/pid; while :; do sleep 0.05; done'
	wait_for 10 test -s "$(inside pid)"
	pid=$(in_session cat /tmp/pid)
	[ "$(in_session /tmp/tracer "$pid")" = traced ]
	in_session sh -c "tr '\\0' '\\n' </proc/$pid/environ | grep -q ^HOME="
}

@test "one command may debug another with gdb" {
	local pid
	need_program gdb
	background first 'echo $$ >/tmp/pid; exec sleep 60'
	wait_for 10 test -s "$(inside pid)"
	pid=$(in_session cat /tmp/pid)
	in_session gdb -q -batch -nx -p "$pid" -ex 'info registers' >"$T/gdb" 2>&1
	grep -q '^[er]\?\(ip\|pc\|sp\)' "$T/gdb"
	in_session kill -0 "$pid"
}

# ---- one sandbox ----

@test "over all processes' mountinfo there is one overlay with a session's upper" {
	local i
	background first 'sleep 60'
	for i in 1 2 3; do
		ws exec -d "$ID" -- sleep 60
	done
	in_session true
	[ "$(overlays_of | wc -l)" -eq 1 ]
	[ "$(sandbox_pids | wc -l)" -ge 5 ]
}

@test "64 commands that race to start an idle session have one sandbox and 64 right results" {
	local i pids=()
	has_no_sandbox
	for i in $(seq 64); do
		ws_bg "race$i" exec "$ID" -- \
			sh -c "readlink /proc/self/ns/mnt; echo $i >>together; echo err$i >&2; exit $((i % 100))"
		pids+=("$BG")
	done
	for i in $(seq 64); do
		expect_status $((i % 100)) wait "${pids[i - 1]}"
		[ "$(cat "$T/race$i.err")" = "err$i" ]
	done
	[ "$(cat "$T"/race*.out | wc -l)" -eq 64 ]
	[ "$(cat "$T"/race*.out | sort -u | wc -l)" -eq 1 ]
	[ "$(in_session sort -n together | xargs)" = "$(seq 64 | xargs)" ]
	[ "$(overlays_of | wc -l)" -eq 1 ]
	[ "$(cat "$T/race1.out")" = "$(in_session readlink /proc/self/ns/mnt)" ]
}

@test "an idle sandbox goes when its time is over, and the next command finds everything" {
	ws stop "$ID"
	spec "$ROOT/wsiso.json" '{"linger_s": '$((2 * SLOW))'}'
	in_session sh -c 'echo kept >kept; echo edited >d/f'
	has_sandbox
	wait_for 15 has_no_sandbox
	[ "$(in_session cat kept d/f | xargs)" = "kept edited" ]
}

@test "a sandbox does not go while a background process lives in it" {
	local pid
	ws stop "$ID"
	spec "$ROOT/wsiso.json" '{"linger_s": 0}'
	in_session sh -c 'setsid sleep "$0" >/dev/null 2>&1 & echo started' $((4 * SLOW))
	pid=$(init_pid)
	sleep 1.5
	[ "$(init_pid)" = "$pid" ]
	[ "$(in_session pgrep -c sleep)" -eq 1 ]
	wait_for 15 has_no_sandbox
}

# ---- endings touch one command only ----

# runaways_begin, runaways_end: a command that makes a tree hard to find, until a timeout
beats() { stat -c %s "$(inside beat)"; }

@test "a timeout ends a command's whole tree and nothing of another command" {
	local pid before
	put_program runaway
	ws exec -d --exec-id bystander "$ID" -- sh -c 'echo $$ >/tmp/pid; exec sleep 300'
	in_session sh -c 'setsid sleep 301 >/dev/null 2>&1 &'
	wait_for 10 test -s "$(inside pid)"
	expect_status 124 ws exec --timeout 1 --kill-after 1 "$ID" -- /tmp/runaway /tmp/beat
	[ "$(beats)" -gt 10 ]
	before=$(beats)
	sleep 0.3
	[ "$(beats)" -eq "$before" ]
	refute in_session pgrep runaway
	pid=$(in_session cat /tmp/pid)
	in_session kill -0 "$pid"
	[ "$(in_session pgrep -fc '^sleep 30[01]$')" -eq 2 ]
}

@test "SIGKILL of the caller's wsiso ends that command's whole tree and nothing of another" {
	local before
	put_program runaway
	ws exec -d "$ID" -- sleep 302
	ws_bg victim exec "$ID" -- /tmp/runaway /tmp/beat
	wait_for 20 test -s "$(inside beat)"
	kill -KILL "$BG"
	wait "$BG" || true
	wait_for 10 refute in_session pgrep runaway
	before=$(beats)
	sleep 0.3
	[ "$(beats)" -eq "$before" ]
	[ "$(in_session pgrep -fc '^sleep 302$')" -eq 1 ]
}

@test "what a command leaves in the background lives on after its normal end" {
	in_session sh -c 'sleep 303 >/dev/null 2>&1 & setsid sleep 304 >/dev/null 2>&1 & sleep 0.1'
	[ "$(in_session pgrep -fc '^sleep 30[34]$')" -eq 2 ]
	in_session pkill -f '^sleep 30[34]$'
}
