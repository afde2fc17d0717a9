#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # bats sets stderr
load helpers

setup() {
	ws_setup
	new_session
}

@test "ps of a session without a sandbox lists nothing" {
	run --separate-stderr ws ps "$ID"
	[ "$status" -eq 0 ]
	[ -z "$output$stderr" ]
	[ "$(ws ps --json "$ID" | jq length)" = 0 ]
}

@test "ps lists what commands run, by host PID and exec, and nothing of wsiso's own" {
	local pid
	ws exec -d --exec-id one "$ID" -- sh -c 'sleep 300 & exec sleep 301'
	ws exec -d --exec-id two "$ID" -- setsid -f sleep 302
	ws wait "$ID" two
	ws ps --json "$ID" >"$T/ps"
	[ "$(jq -r '.[] | .exec + ":" + .command' "$T/ps" | sort | paste -sd,)" = \
		"one:sleep 300,one:sleep 301,two:sleep 302" ]
	for pid in $(jq -r '.[].pid' "$T/ps"); do
		[ "$(readlink "/proc/$pid/ns/pid")" = "$(readlink "/proc/$(init_pid)/ns/pid")" ]
	done
	[ "$(ws ps -q "$ID" | sort)" = "$(jq -r '.[].pid' "$T/ps" | sort)" ]
}

@test "ps --json is as the schema says" {
	ws exec -d "$ID" -- sleep 300
	ws ps --json "$ID" >"$T/ps"
	matches_schema ps "$T/ps"
	[ "$(ws ps -f json "$ID" | jq length)" = 1 ]
}

@test "ps on a terminal has a header, and control bytes of a name come out as text" {
	ws exec -d "$ID" -- bash -c $'exec -a "evil\033[2Jname" sleep 300'
	ws_pty ps "$ID" >"$T/out"
	grep -q '^PID  *EXEC  *STATE  *STARTED  *COMMAND' "$T/out"
	grep -qF 'evil\x1b[2Jname' "$T/out"
	refute grep -q $'\033' "$T/out"
}

@test "ps needs no bwrap and works in a session whose spec is broken" {
	ws exec -d "$ID" -- sleep 300
	spec "$ROOT/wsiso.json" '{"bwrap": {"path": "/nowhere"}}'
	[ "$(ws ps -q "$ID" | wc -l)" -eq 1 ]
	echo nonsense >"$ROOT/sessions/$ID/config.json"
	[ "$(ws ps -q "$ID" | wc -l)" -eq 1 ]
}

@test "ps of no session, or in no format, is refused" {
	expect_status 3 ws ps nosuch
	expect_status 2 ws ps -f xml "$ID"
	expect_status 2 ws ps
}
