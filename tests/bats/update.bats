#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # bats sets stderr
load helpers

host_net() { readlink /proc/self/ns/net; }

@test "update --network share ends the sandbox, and what starts then has the host's network" {
	new_session
	[ "$(in_session readlink /proc/self/ns/net)" != "$(host_net)" ]
	ws update "$ID" --network share
	has_no_sandbox
	[ "$(in_session readlink /proc/self/ns/net)" = "$(host_net)" ]
	[ "$(state_of "$ID" .wsiso.network)" = share ]
}

@test "update --network isolate takes the network away again" {
	new_session "$ID" '{"sandbox": {"unshare_net": false}}'
	[ "$(in_session readlink /proc/self/ns/net)" = "$(host_net)" ]
	ws update "$ID" --network isolate
	has_no_sandbox
	[ "$(in_session readlink /proc/self/ns/net)" != "$(host_net)" ]
	[ "$(state_of "$ID" .wsiso.network)" = isolate ]
}

@test "a network answer outlives a stop" {
	new_session
	ws update "$ID" --network share
	in_session true
	ws stop "$ID"
	[ "$(in_session readlink /proc/self/ns/net)" = "$(host_net)" ]
}

@test "update --network keeps the session's files" {
	new_session
	in_session sh -c 'echo edited >d/f; echo mine >~/kept'
	ws update "$ID" --network share
	[ "$(in_session sh -c 'cat d/f ~/kept' | xargs)" = "edited mine" ]
}

@test "update --network is written to the journal" {
	new_session
	ws update "$ID" --network share
	jq -e --arg id "$ID" 'select(.session == $id and (.event | test("network")))' \
		"$ROOT/journal.jsonl"
}

@test "update --hold is shown by state until --release" {
	new_session
	ws update "$ID" --hold "wanted by the auditors"
	[ "$(state_of "$ID" .wsiso.hold)" = "wanted by the auditors" ]
	ws state "$ID" >"$T/state.json"
	matches_schema state "$T/state.json"
	ws update "$ID" --release
	[ "$(state_of "$ID" '.wsiso.hold // "none"')" = none ]
}

@test "update --hold leaves a live sandbox alone" {
	local pid
	new_session
	ws exec -d "$ID" -- sleep 300
	pid=$(init_pid)
	ws update "$ID" --hold why
	[ "$(init_pid)" = "$pid" ]
}

@test "update refuses what makes no sense and changes nothing" {
	new_session
	expect_status 2 ws update "$ID"
	expect_status 2 ws update "$ID" --network maybe
	expect_status 2 ws update "$ID" --hold a --release
	expect_status 2 ws update --network share
	[ "$(state_of "$ID" .wsiso.network)" = isolate ]
	[ "$(state_of "$ID" '.wsiso.hold // "none"')" = none ]
}

@test "update of an unknown session is refused" {
	[ "$(kind_of update nobody --network share)" = session-missing ]
	expect_status 3 ws update nobody --network share
}

@test "an exec that comes while the network is taken away has none, and is not refused" {
	need_userns
	new_session race '{"sandbox": {"unshare_net": false}}'
	ws exec -d race -- sh -c 'trap "" TERM; while :; do sleep 0.1; done'
	ws update race --network isolate &
	sleep 0.5
	[ "$(ws exec race -- sed -n 's/^ *\(.*\):.*/\1/p' /proc/net/dev)" = lo ]
	wait $!
	[ "$(ws state race | jq -r .wsiso.network)" = isolate ]
}
