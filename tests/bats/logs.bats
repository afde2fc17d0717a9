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
