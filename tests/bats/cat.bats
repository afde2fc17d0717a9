# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# A file of a session on stdout.
load helpers

@test "cat prints a file's very bytes: by a relative path, an absolute one, in HOME and in /tmp" {
	new_session
	in_session sh -c 'printf "a\0b\377" >bin; echo h >~/f; echo t >/tmp/f'
	ws cat "$ID:bin" >"$T/bin"
	[ "$(od -An -c "$T/bin" | tr -d ' ')" = 'a\0b377' ]
	[ "$(ws cat "$ID:/workspace/app/README.md")" = hello ]
	[ "$(ws cat "$ID:/tmp/f")" = t ]
	[ "$(ws cat "$ID:$(in_session sh -c 'echo $HOME')/f")" = h ]
}

@test "cat sees at once what a running command has written, and it sees no half" {
	new_session
	ws exec -d "$ID" -- sh -c 'echo one >new; until [ -e go ]; do sleep 0.1; done; echo two >new; sleep 60' >/dev/null
	wait_for 10 eval '[ "$(ws cat "$ID:new" 2>/dev/null)" = one ]'
	in_session touch go
	wait_for 10 eval '[ "$(ws cat "$ID:new" 2>/dev/null)" = two ]'
}

@test "links are followed as the session sees them, and nowhere else (F050)" {
	new_session
	in_session sh -c 'ln -s /workspace/app/README.md abs; ln -s ../app/d/f rel; ln -s /etc/passwd out; ln -s / root
		ln -s /nope dangling; ln -s loop loop; ln -s /proc/1/root magic'
	[ "$(ws cat "$ID:abs")" = hello ]
	[ "$(ws cat "$ID:rel")" = "$(printf 'one\ntwo')" ]
	for path in out root/etc/passwd /etc/passwd /proc/self/status /dev/null magic/etc/passwd ../../etc/hostname; do
		run --separate-stderr ws cat "$ID:$path"
		[ "$status" -ne 0 ]
		[ -z "$output" ]
	done
	[[ "$(ws cat "$ID:out" 2>&1)" == *"it is outside"* ]]
	expect_status 1 ws cat "$ID:dangling"
	expect_status 1 ws cat "$ID:loop"
}

@test "FIFOs, devices, sockets and folders are refused, and not opened (F018)" {
	new_session
	in_session sh -c 'mkfifo pipe'
	ws exec -d --exec-id reader "$ID" -- sh -c 'echo x >pipe; touch opened' >/dev/null
	for path in pipe d /tmp; do
		expect_status 2 timeout 10 "$WSISO" --root "$ROOT" cat "$ID:$path"
	done
	[ "$(kind_of cat "$ID:pipe")" = usage ]
	in_session test ! -e opened
}

@test "cat starts the sandbox, and refuses as exec does" {
	new_session
	ws cat "$ID:README.md"
	has_sandbox
	ws stop -t 0 "$ID"
	fake_bwrap 'exit 1'
	[ "$(kind_of cat "$ID:README.md")" = bwrap-unusable ]
	[ "$(kind_of cat nope:x)" = session-missing ]
	[ "$(kind_of cat README.md)" = usage ]
	expect_status 3 ws cat nope:x
}

@test "--rescue reads a session that cannot start: /workspace as it was, HOME and /tmp" {
	new_session
	in_session sh -c 'echo more >>README.md; rm d/f; echo h >~/f; echo t >/tmp/f; ln -s /etc/passwd out; mkfifo pipe
		echo deep >src/deep/er/file; rm -r src/deep; mkdir src/deep; chmod 000 README.md'
	ws stop -t 0 "$ID"
	fake_bwrap 'exit 1'
	echo '{' >"$ROOT/sessions/$ID/config.json"
	[ "$(ws cat --rescue "$ID:README.md")" = "$(printf 'hello\nmore')" ]
	[ "$(stat -c %a "$ROOT/sessions/$ID/upper/app/README.md")" = 0 ]
	[ "$(ws cat --rescue "$ID:/workspace/app/d/g1")" = g1 ]
	[ "$(ws cat --rescue "$ID:/tmp/f")" = t ]
	expect_status 1 ws cat --rescue "$ID:d/f"
	expect_status 1 ws cat --rescue "$ID:src/deep/er/file"
	run --separate-stderr ws cat --rescue "$ID:out"
	[ "$status" -eq 2 ]
	[[ "$stderr" == *"it is a link to '/etc/passwd'"* ]]
	for path in pipe /etc/passwd ../../etc/passwd d; do
		expect_status 2 timeout 10 "$WSISO" --root "$ROOT" cat --rescue "$ID:$path"
	done
}

@test "a process inside that is stopped ends in a timeout, not in a hang" {
	only_long
	new_session
	in_session python3 -c 'import os; os.truncate(os.open("big", os.O_CREAT | os.O_WRONLY), 1 << 34)'
	ws_bg cat cat "$ID:big"
	wait_for 10 test -s "$T/cat.out"
	in_session sh -c 'for p in /proc/[0-9]*; do
		[ "$(cut -d" " -f2 $p/stat 2>/dev/null)" != "(init)" ] || kill -STOP ${p#/proc/}; done' || true
	wait_for 60 eval '[ -s "$T/cat.err" ]'
	grep -q 'does not answer' "$T/cat.err"
}

@test "a reader that leaves early is no error of cat's" {
	new_session
	in_session sh -c 'seq 1000000 >many'
	run --separate-stderr bash -c '"$1" --root "$2" cat "$3:many" | head -n 1' - "$WSISO" "$ROOT" "$ID"
	[ "$output" = 1 ]
	[ -z "$stderr" ]
}
