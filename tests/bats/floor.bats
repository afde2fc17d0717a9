#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016 # for the shell inside to expand
# shellcheck disable=SC2154 # bats sets stderr
#
# The floor of wsiso.json. Which value of which key is tighter: tests/unit/test_spec_tighten.
load helpers

# floor JSON: from now on that of $ROOT
floor() { spec "$ROOT/wsiso.json" '{"linger_s": '$((10 * SLOW))'}' "{\"floor\": $1}"; }

# asks JSON: makes a session whose spec says that
asks() {
	spec "$T/$ID.json" "$SPEC_OPEN" "$(repo_spec "$T/app")" "$1"
	ws create "$ID" --spec "$T/$ID.json"
}

@test "a session that asks for less than the floor is refused, with the key, both values and what to do" {
	need_userns
	new_repo "$T/app"
	floor '{"limits": {"open_files": 100}}'
	run --separate-stderr asks '{"limits": {"open_files": 101}}'
	[ "$status" -eq 2 ]
	[[ $stderr == *"floor of wsiso.json: 'limits.open_files' is 101, but must be at most 100"* ]]
	[[ $stderr == *"hint: "*"leave 'limits.open_files' out"* ]]
	[ ! -e "$ROOT/sessions/$ID/state.json" ]
	asks '{"limits": {"open_files": 99}}'
	[ "$(in_session sh -c 'ulimit -n')" = 99 ]
}

@test "what a session does not say is raised to the floor" {
	need_userns
	new_repo "$T/app"
	floor '{"limits": {"open_files": 100}, "sandbox": {"hostname": "box", "deny_env_vars": ["SECRET"]}}'
	asks '{"sandbox": {"inherit_env_vars": ["SECRET", "KNOWN"], "deny_env_vars": ["OTHER"]}}'
	[ "$(SECRET=1 OTHER=2 KNOWN=3 in_session sh -c 'ulimit -n; cat /proc/sys/kernel/hostname
		echo $SECRET$OTHER$KNOWN' | xargs)" = "100 box 3" ]
}

@test "a floor that comes later ends no sandbox, but nothing new runs below it" {
	new_session "$ID" '{"sandbox": {"unshare_net": false}}'
	in_session true
	floor '{"sandbox": {"unshare_net": true}}'
	[ "$(kind_of exec "$ID" -- true)" = spec-invalid ]
	expect_status 125 in_session touch /tmp/ran
	refute_in_session "$ID" /tmp/ran
	[ "$(state_of "$ID")" = running ]
	ws stop "$ID"
}

@test "a floor that raises what the session left open changes its policy" {
	new_session
	in_session true
	floor '{"sandbox": {"unshare_cgroup": true}}'
	[ "$(kind_of exec "$ID" -- true)" = policy-changed ]
	ws stop "$ID"
	[ "$(in_session readlink /proc/self/ns/cgroup)" != "$(readlink /proc/self/ns/cgroup)" ]
}

@test "update cannot give a network that the floor takes, and says so at once" {
	local net
	floor '{"sandbox": {"unshare_net": true}}'
	new_session
	net=$(in_session readlink /proc/self/ns/net)
	run --separate-stderr ws update "$ID" --network share
	[ "$status" -eq 2 ]
	[[ $stderr == *"'sandbox.unshare_net' is false, but must be true"* ]]
	[ "$(in_session readlink /proc/self/ns/net)" = "$net" ]
	ws update "$ID" --network isolate
}

@test "a network that update gave before the floor came does not go on" {
	new_session
	ws update "$ID" --network share
	in_session true
	ws stop "$ID"
	floor '{"sandbox": {"unshare_net": true}}'
	nothing_ran spec-invalid
	ws update "$ID" --network isolate
	in_session true
}

@test "a floor that could bind nothing is refused, and so is every session" {
	floor '{"snapshots": {"shared": true}}'
	run --separate-stderr new_session
	[ "$status" -eq 2 ]
	[[ $stderr == *"'floor.snapshots.shared' is nothing that a session could tighten"* ]]
}
