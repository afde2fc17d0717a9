#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # bats sets stderr
load helpers

@test "state of a new session is as its schema says" {
	new_session
	ws state "$ID" >"$T/state.json"
	matches_schema state "$T/state.json"
	[ "$(jq -r '.id, .status, .pid' "$T/state.json" | xargs)" = "$ID created 0" ]
}

@test "the schema of state refuses what state may not print" {
	new_session
	ws state "$ID" | jq '.status = "runing"' >"$T/state.json"
	refute matches_schema state "$T/state.json"
	ws state "$ID" | jq '.status = "running"' >"$T/state.json"
	refute matches_schema state "$T/state.json"
	ws state "$ID" | jq 'del(.wsiso.stack)' >"$T/state.json"
	refute matches_schema state "$T/state.json"
}

@test "state names the session's folder, owner, layers and snapshot" {
	local layer
	new_session
	ws state "$ID" >"$T/state.json"
	[ "$(jq -r .owner "$T/state.json")" = "$(id -un)" ]
	[ "$(jq -r .wsiso.upper "$T/state.json")" = "$ROOT/sessions/$ID/upper" ]
	[ -d "$ROOT/sessions/$ID/upper" ]
	[ "$(jq '.wsiso.stack | length' "$T/state.json")" -ge 1 ]
	while read -r layer; do
		[ -d "$ROOT/layers/$layer/root" ]
	done < <(jq -r '.wsiso.stack[]' "$T/state.json")
	[ "$(jq -r '.wsiso.snapshots[0].revision' "$T/state.json")" = \
		"$(hgit -C "$T/app" rev-parse HEAD)" ]
	[ "$(jq -r '.wsiso.snapshots[0].repo' "$T/state.json")" = app ]
}

@test "state says when the session was made" {
	local before after made
	before=$(date +%s)
	new_session
	after=$(date +%s)
	made=$(date -d "$(state_of "$ID" .created)" +%s)
	[ "$made" -ge "$before" ]
	[ "$made" -le "$after" ]
}

@test "state of a session with a sandbox is running, and its pid is that of PID 1" {
	new_session
	in_session true
	ws state "$ID" >"$T/state.json"
	matches_schema state "$T/state.json"
	[ "$(jq -r .status "$T/state.json")" = running ]
	[ "$(jq -r .pid "$T/state.json")" = "$(init_pid)" ]
}

@test "state of a live session shows the receipt" {
	new_session
	in_session true
	ws state "$ID" >"$T/state.json"
	matches_schema state "$T/state.json"
	[ "$(jq -r '.wsiso.sandbox.namespaces.mnt' "$T/state.json")" = \
		"$(in_session readlink /proc/self/ns/mnt | tr -dc 0-9)" ]
	[ "$(jq -r '.wsiso.sandbox.capabilities.bounding' "$T/state.json")" = 0000000000000000 ]
	[ "$(jq -r '.wsiso.sandbox.no_new_privs' "$T/state.json")" = true ]
}

@test "state after stop is stopped" {
	new_session
	in_session true
	ws stop "$ID"
	ws state "$ID" >"$T/state.json"
	matches_schema state "$T/state.json"
	[ "$(jq -r '.status, .pid' "$T/state.json" | xargs)" = "stopped 0" ]
}

@test "state of a session whose sandbox was killed is stopped" {
	new_session
	in_session true
	kill -KILL "$(init_pid)"
	wait_for 10 has_no_sandbox
	ws state "$ID" >"$T/state.json"
	matches_schema state "$T/state.json"
	[ "$(jq -r '.status, .pid' "$T/state.json" | xargs)" = "stopped 0" ]
}

@test "state of a blocked session names the cause" {
	need_userns
	new_repo "$T/app"
	spoil_repo "$T/app"
	refute new_session
	ws state "$ID" >"$T/state.json"
	matches_schema state "$T/state.json"
	[ "$(jq -r '.status, .wsiso.cause.kind' "$T/state.json" | xargs)" = \
		"blocked snapshot-failed" ]
}

@test "state shows the annotations of the spec" {
	new_session "$ID" '{"annotations": {"conversation": "c 17"}}'
	[ "$(state_of "$ID" .annotations.conversation)" = "c 17" ]
}

@test "state's sizes follow what the session wrote" {
	new_session
	in_session sh -c 'head -c 2000000 /dev/zero >big; head -c 3000000 /dev/zero >~/big'
	[ "$(state_of "$ID" .wsiso.sizes.upper)" -ge 2000000 ]
	[ "$(state_of "$ID" .wsiso.sizes.upper)" -lt 3000000 ]
	[ "$(state_of "$ID" .wsiso.sizes.home)" -ge 3000000 ]
}

@test "state's last use moves with an exec" {
	local before
	new_session
	before=$(state_of "$ID" .wsiso.last_use)
	sleep 0.02
	in_session true
	[[ "$(state_of "$ID" .wsiso.last_use)" > "$before" ]]
}

@test "state lists the commands, oldest first" {
	new_session
	ws exec -d --exec-id server "$ID" -- sleep 60
	in_session true
	[ "$(state_of "$ID" '.wsiso.execs[0], (.wsiso.execs | length)' | xargs)" = "server 2" ]
}

@test "state of an unknown session is refused" {
	run --separate-stderr ws state nobody
	[ "$status" -eq 3 ]
	[ -z "$output" ]
	[[ "$stderr" == "wsiso: state: "*nobody* ]]
	[ "$(kind_of state nobody)" = session-missing ]
}

@test "state needs one session" {
	expect_status 2 ws state
	expect_status 2 ws state a b
	expect_status 2 ws state 'a/b'
}

@test "state needs no bwrap" {
	new_session
	spec "$ROOT/wsiso.json" '{"bwrap": {"path": "/nonexistent/bwrap"}}'
	[ "$(state_of)" = created ]
	expect_status 125 in_session true
}

@test "a damaged record is refused, left untouched, and harms no other session" {
	local damage
	new_session one
	new_session two
	cp "$ROOT/sessions/one/state.json" "$T/good.json"
	for damage in '' '{"version":' '[]' '{"version": 1}'; do
		printf '%s' "$damage" >"$ROOT/sessions/one/state.json"
		refute ws state one 2>"$T/err"
		[ "$(kind_of state one)" = state-corrupt ]
		[ "$(cat "$ROOT/sessions/one/state.json")" = "$damage" ]
		[ "$(state_of two)" = created ]
	done
	cp "$T/good.json" "$ROOT/sessions/one/state.json"
	[ "$(state_of one)" = created ]
}

@test "a record of a newer version is refused and left untouched" {
	new_session
	jq '.version = 9999' "$ROOT/sessions/$ID/state.json" >"$T/newer.json"
	cp "$T/newer.json" "$ROOT/sessions/$ID/state.json"
	[ "$(kind_of state "$ID")" = state-version ]
	[ "$(kind_of exec "$ID" true)" = state-version ]
	cmp "$T/newer.json" "$ROOT/sessions/$ID/state.json"
	jq '.version = 1' "$T/newer.json" >"$ROOT/sessions/$ID/state.json"
}
