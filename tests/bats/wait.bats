#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # bats sets stderr
load helpers

setup() {
	ws_setup
	new_session
}

@test "wait prints the exit status when the command has ended, and is done" {
	ws exec -d --exec-id back "$ID" -- sh -c 'sleep 0.5; exit 9'
	run --separate-stderr ws wait "$ID" back
	[ "$status" -eq 0 ]
	[ "$output" = 9 ]
	[ "$(ws wait "$ID" back)" = 9 ]
}

# wait_said EXEC FILTER: what wait --json said of it, which is as the schema says
wait_said() {
	WS_TIMEOUT=20 ws wait --json "$ID" "$1" >"$T/said"
	matches_schema wait "$T/said" || return
	jq -r "$2" "$T/said"
}

@test "wait --json says how it ended" {
	ws exec -d --exec-id killed "$ID" -- sleep 300
	ws kill "$ID" --exec killed KILL
	[ "$(wait_said killed '[.exec_id, .status, .cause] | join(" ")')" = \
		"killed 137 signal" ]
	ws exec --exec-id fine "$ID" -- true
	[ "$(wait_said fine '[.state, .status, .cause] | map(tostring) | join(" ")')" = \
		"exited 0 null" ]
}

@test "wait of an exec in the foreground of another call" {
	ws_bg fore exec --exec-id fore "$ID" -- sh -c 'touch /tmp/ready; sleep 0.5; exit 4'
	wait_for 20 test -e "$ROOT/sessions/$ID/tmp/ready"
	[ "$(WS_TIMEOUT=20 ws wait "$ID" fore)" = 4 ]
	expect_status 4 wait "$BG"
}

@test "wait does not wait for what the command left behind" {
	ws exec -d --exec-id back "$ID" -- sh -c 'sleep 300 & exit 3'
	[ "$(WS_TIMEOUT=10 ws wait "$ID" back)" = 3 ]
}

@test "wait of one whose wsiso was killed, or whose sandbox was lost, is 137" {
	ws exec -d --exec-id lost "$ID" -- sleep 300
	kill -KILL "$(init_pid)"
	[ "$(wait_said lost '[.status, .cause] | join(" ")')" = \
		"137 sandbox-lost" ]
}

@test "wait of a command that never ran gives wsiso's status" {
	ws exec --exec-id never "$ID" -- no-such-command || true
	[ "$(wait_said never '[.state, .status, .cause] | join(" ")')" = \
		"failed 127 exec-missing" ]
}

@test "wait of no exec is refused" {
	expect_status 3 ws wait "$ID" nosuch
	expect_status 3 ws wait nosuch x
	expect_status 2 ws wait "$ID" -x
	expect_status 2 ws wait "$ID"
}
