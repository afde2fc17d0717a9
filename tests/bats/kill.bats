#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016 # for the shell inside to expand
# shellcheck disable=SC2154 # bats sets stderr
load helpers

setup() {
	ws_setup
	new_session
}

running() { ws ps --json "$ID" | jq -r '.[].command' | sort | paste -sd,; }

nothing_runs() { [ -z "$(ws ps -q "$ID")" ]; }

@test "kill without --exec signals every process of the session, and leaves the sandbox" {
	ws exec -d --exec-id one "$ID" -- sh -c 'sleep 300 & exec sleep 301'
	ws exec "$ID" -- setsid -f sleep 302
	[ "$(running)" = "sleep 300,sleep 301,sleep 302" ]
	ws kill "$ID"
	wait_for 10 nothing_runs
	has_sandbox
	[ "$(ws wait "$ID" one)" = 143 ]
	[ "$(ws exec "$ID" -- echo goes on)" = "goes on" ]
}

only_two_runs() { [ "$(running)" = "sleep 302" ]; }

@test "kill --exec signals what that exec has started, and nothing else" {
	ws exec -d --exec-id one "$ID" -- sh -c 'setsid sleep 300 & exec sleep 301'
	ws exec -d --exec-id two "$ID" -- sleep 302
	ws kill "$ID" --exec one
	[ "$(ws wait "$ID" one)" = 143 ]
	wait_for 10 only_two_runs
}

@test "kill takes a signal by name or number" {
	ws exec -d --exec-id back "$ID" -- bash -c 'trap "echo usr1" USR1; trap "exit 7" USR2
		touch /tmp/ready; while :; do sleep 0.05; done'
	wait_for 10 test -e "$ROOT/sessions/$ID/tmp/ready"
	ws kill "$ID" USR1 --exec back || true
	ws kill "$ID" SIGCONT
	ws kill --exec back "$ID" 12 || true
	[ "$(ws wait "$ID" back)" = 7 ]
	grep -q usr1 <(ws logs "$ID" back)
}

@test "KILL has done its work when kill returns, whatever forks meanwhile" {
	ws exec -d --exec-id hydra "$ID" -- bash -c 'trap "" TERM
		head() { while :; do (sleep 0.01; head) & sleep 0.02; done; }
		ulimit -u 200; (head) & touch /tmp/ready; head' 2>/dev/null
	wait_for 10 test -e "$ROOT/sessions/$ID/tmp/ready"
	ws kill "$ID" KILL --exec hydra
	nothing_runs
	[ "$(ws wait "$ID" hydra)" = 137 ]
}

@test "kill where nothing runs is refused" {
	run --separate-stderr ws kill "$ID"
	[ "$status" -eq 3 ]
	[[ "$stderr" == "wsiso: kill: nothing is running in session '$ID'"* ]]
	ws exec --exec-id over "$ID" -- true
	expect_status 3 ws kill "$ID"
	expect_status 3 ws kill "$ID" --exec over
	expect_status 3 ws kill "$ID" --exec nosuch
	expect_status 3 ws kill nosuch
}

@test "kill with a signal that is none is wrong use" {
	expect_status 2 ws kill "$ID" NOSUCH
	expect_status 2 ws kill "$ID" 0
	expect_status 2 ws kill "$ID" TERM KILL
	expect_status 2 ws kill
}
