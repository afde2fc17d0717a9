#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # bats sets stderr
load helpers

@test "stop ends the sandbox and keeps the session with its edits" {
	new_session
	in_session sh -c 'echo edited >d/f; echo mine >~/kept; echo tmp >/tmp/kept'
	ws stop "$ID"
	has_no_sandbox
	[ "$(state_of)" = stopped ]
	[ "$(in_session cat d/f /tmp/kept | xargs)" = "edited tmp" ]
	[ "$(in_session sh -c 'cat ~/kept')" = mine ]
}

@test "stop ends what runs in the background" {
	new_session
	ws exec -d "$ID" -- sleep 300
	in_session sh -c 'setsid sleep 300 >/dev/null 2>&1 &'
	ws stop -t 1 "$ID"
	has_no_sandbox
}

@test "a command that is stopped gets TERM first, and the time that -t gives" {
	new_session
	ws_bg victim exec "$ID" -- sh -c 'trap "echo bye; exit 9" TERM; touch /tmp/ready; while :; do sleep 0.1; done'
	wait_for 10 test -e "$ROOT/sessions/$ID/tmp/ready"
	ws stop -t 10 "$ID"
	expect_status 9 wait "$BG"
	[ "$(cat "$T/victim.out")" = bye ]
}

@test "a command that is deaf to TERM is killed when the time is over" {
	local before
	new_session
	ws_bg victim exec "$ID" -- sh -c 'trap "" TERM; touch /tmp/ready; while :; do sleep 0.1; done'
	wait_for 10 test -e "$ROOT/sessions/$ID/tmp/ready"
	before=$SECONDS
	ws stop -t 1 "$ID"
	[ $((SECONDS - before)) -lt 8 ]
	has_no_sandbox
	expect_status 137 wait "$BG"
}

@test "stop takes several sessions, and --all means all" {
	new_session one
	new_session two
	new_session three
	ws exec one true
	ws exec two true
	ws exec three true
	ws stop one two
	has_no_sandbox one
	has_no_sandbox two
	has_sandbox three
	ws stop --all
	has_no_sandbox three
}

@test "stop of one session leaves the others alone" {
	local pid
	new_session one
	new_session two
	ws exec one true
	ws exec -d two -- sleep 300
	pid=$(init_pid two)
	ws stop one
	[ "$(init_pid two)" = "$pid" ]
	[ "$(state_of two)" = running ]
}

@test "stop of a session without a sandbox is done at once" {
	new_session
	ws stop "$ID"
	ws stop "$ID"
	[ "$(in_session echo works)" = works ]
}

@test "stop of an unknown session is refused, the others are stopped all the same" {
	new_session
	in_session true
	[ "$(kind_of stop nobody)" = session-missing ]
	expect_status 3 ws stop nobody "$ID"
	has_no_sandbox
}

@test "stop needs an id or --all, not both" {
	expect_status 2 ws stop
	expect_status 2 ws stop --all "$ID"
	expect_status 2 ws stop -t soon "$ID"
}

@test "stop needs no bwrap" {
	new_session
	in_session true
	spec "$ROOT/wsiso.json" '{"bwrap": {"path": "/nonexistent/bwrap"}}'
	ws stop "$ID"
	has_no_sandbox
}

@test "an exec that comes while its session is being stopped is ended or gets a new sandbox" {
	local i got out
	new_session
	in_session true
	for i in 1 2 3 4 5 6; do
		ws_bg stop stop "$ID"
		got=0
		out=$(in_session echo "works $i") || got=$?
		wait "$BG"
		echo "round $i: status $got, output '$out'"
		[[ "$got $out" == "0 works $i" || $got == 137 || $got == 143 ]]
		[ "$(in_session echo after)" = after ]
	done
}

@test "who has no descriptors left to look cannot say that nothing lives" {
	new_session
	ws exec -d "$ID" -- sleep 300
	for n in 5 6 7 8 9 10 12; do
		run bash -c "ulimit -n $n && exec '$WSISO' --root '$ROOT' stop -t 0 '$ID'"
		[ "$status" -ne 0 ] || [ -z "$(ws ps -q "$ID")" ]
		run --separate-stderr bash -c "ulimit -n $n && exec '$WSISO' --root '$ROOT' list --json"
		[ "$status" -ne 0 ] || [ -n "$stderr" ] || [ "$(jq -r '.[].status' <<<"$output")" != stopped ] ||
			[ -z "$(ws ps -q "$ID")" ]
	done
}
