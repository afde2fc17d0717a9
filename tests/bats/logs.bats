#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016 # for the shell inside to expand
# shellcheck disable=SC2154 # bats sets stderr
load helpers

setup() {
	ws_setup
	new_session
}

@test "logs prints what a command in the background has written" {
	ws exec -d --exec-id back "$ID" -- sh -c 'echo out; echo err >&2'
	ws wait "$ID" back
	[ "$(ws logs "$ID" back | sort | xargs)" = "err out" ]
}

@test "logs gives a pipe the very bytes" {
	ws exec "$ID" -- sh -c 'head -c 300000 /dev/urandom >/tmp/data'
	ws exec -d --exec-id back "$ID" -- cat /tmp/data
	ws wait "$ID" back
	ws logs -f "$ID" back | cmp - "$ROOT/sessions/$ID/tmp/data"
}

@test "logs on a terminal shows control bytes as text, and lines and tabs as they are" {
	ws exec -d --exec-id back "$ID" -- printf 'a\tb\033[31mred\r\n\xc3\xa4\xff\n'
	ws wait "$ID" back
	ws_pty logs "$ID" back >"$T/out"
	printf 'a\tb\\x1b[31mred\r\n\xc3\xa4\\xff\r\n' >"$T/want"
	cmp "$T/want" "$T/out"
}

has_begun() { [ -n "$(ws logs "$ID" back)" ]; }

@test "logs of a command that runs prints what there is, and ends" {
	ws exec -d --exec-id back "$ID" -- sh -c 'echo begun; exec sleep 300'
	wait_for 10 has_begun
	[ "$(WS_TIMEOUT=5 ws logs "$ID" back)" = begun ]
}

@test "logs -f goes on until nothing of the exec is left" {
	ws exec -d --exec-id back "$ID" -- sh -c 'echo 1; sleep 0.3; echo 2; (sleep 0.6; echo 3) &'
	[ "$(WS_TIMEOUT=20 ws logs -f "$ID" back | xargs)" = "1 2 3" ]
}

@test "logs -f ends when nobody reads it any more" {
	ws exec -d --exec-id back "$ID" -- sh -c 'echo begun; exec sleep 300'
	WS_TIMEOUT=20 ws logs -f "$ID" back | head -n 1 >"$T/out"
	[ "$(cat "$T/out")" = begun ]
	[ "$(ws ps -q "$ID" | wc -l)" -eq 1 ]
}

@test "logs of a command in the foreground that left nothing behind is empty" {
	ws exec --exec-id fore "$ID" -- echo out
	run --separate-stderr ws logs "$ID" fore
	[ "$status" -eq 0 ]
	[ -z "$output$stderr" ]
}

@test "the log outlives the sandbox" {
	ws exec -d --exec-id back "$ID" -- echo out
	ws wait "$ID" back
	ws stop "$ID"
	[ "$(ws logs -f "$ID" back)" = out ]
}

@test "logs of no exec, or of a name that is none, is refused" {
	run --separate-stderr ws logs "$ID" nosuch
	[ "$status" -eq 3 ]
	[[ "$stderr" == "wsiso: logs: session '$ID' has no exec 'nosuch'"* ]]
	expect_status 2 ws logs "$ID" ../../x
	expect_status 3 ws logs nosuch back
	expect_status 2 ws logs "$ID"
}

# ---- --seccomp: from the kernel's log ----

# record TIME PID UID NR [COMM]: as dmesg prints it
record() {
	printf '[1.0] audit: type=1326 audit(%s:9): auid=1 uid=%s gid=1 ses=1 pid=%s comm=%s exe="/x" sig=0 arch=c000003e syscall=%s compat=0 ip=0x1 code=0x7ffc0000\n' \
		"$1" "$3" "$2" "${5:-\"prog\"}" "$4"
}

@test "logs --seccomp tells whose a record is: by user, PID and time" {
	local pid now me
	me=$(id -u)
	new_session other
	ws exec -d --exec-id theirs other -- sleep 300
	ws exec -d --exec-id back --pid-file "$T/pid" "$ID" -- sleep 300
	ws exec -d --exec-id back2 --pid-file "$T/pid2" other -- sleep 300
	pid=$(cat "$T/pid")
	now=$(date +%s.%3N)
	{
		echo 'something else'
		record "$now" "$pid" "$me" 272
		record "$now" 999999999 "$me" 165 6120621B
		record "$now" "$pid" $((me + 1)) 272
		record 1000000000.000 "$pid" "$me" 272
		record "$now" "$(cat "$T/pid2")" "$me" 272
	} >"$T/log"
	ws logs "$ID" --seccomp --from "$T/log" --json >"$T/out"
	matches_schema seccomp-log "$T/out"
	[ "$(jq -c '[.[] | [.exec, .call, .abi, .action, .command]]' "$T/out")" = \
		'[["back","unshare","x86_64","allowed","prog"],[null,"mount","x86_64","allowed","a b\u001b"]]' ]
	ws logs "$ID" --seccomp --from - <"$T/log" >"$T/table"
	[ "$(cut -f 2- "$T/table")" = "$(printf '%s\tback\tunshare\tx86_64\tallowed\tprog\n999999999\t-\tmount\tx86_64\tallowed\ta b\\x1b' "$pid")" ]
}

@test "logs --seccomp says what to do where the kernel's log cannot be read, and never guesses" {
	! dd if=/dev/kmsg of=/dev/null bs=8192 count=1 iflag=nonblock 2>/dev/null ||
		 cannot_run "anybody may read this kernel's log"
	run --separate-stderr ws logs "$ID" --seccomp
	[ "$status" -ne 0 ]
	[ -z "$output" ]
	[[ $stderr == *"not ours to read"* ]]
	[[ $stderr == *"--from -"* ]]
	[ "$(kind_of logs "$ID" --seccomp)" = host-unsupported ]
	[ "$(kind_of logs "$ID" --seccomp --from "$T/none")" = io ]
	[ "$(kind_of logs "$ID" back --from "$T/none")" = usage ]
	[ "$(kind_of logs "$ID" --seccomp -f)" = usage ]
}
