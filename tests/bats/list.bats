#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # bats sets stderr
load helpers

# bare_session ID: a session without a repository, which needs no sandbox to be made
bare_session() {
	spec "$T/bare.json" "$SPEC_OPEN"
	ws create "$1" --spec "$T/bare.json" >/dev/null
}

@test "list of an empty root has no session" {
	[ "$(ws list --json)" = '[]' ]
	[ -z "$(ws list -q)" ]
}

@test "list shows each session with its status" {
	need_userns
	bare_session one
	bare_session two
	ws exec one true
	run --separate-stderr ws list
	[ "$status" -eq 0 ]
	[ -z "$stderr" ]
	[ "$(grep -cw -e one -e two <<<"$output")" -eq 2 ]
	grep -w one <<<"$output" | grep -qw running
	grep -w two <<<"$output" | grep -qw created
	ws stop one
	ws list | grep -w one | grep -qw stopped
}

@test "list --json is as its schema says, and is what -f json prints" {
	need_userns
	bare_session one
	bare_session two
	ws exec two true
	ws list --json >"$T/list.json"
	matches_schema list "$T/list.json"
	[ "$(jq -c 'map([.id, .status])' "$T/list.json")" = '[["one","created"],["two","running"]]' ]
	[ "$(jq '.[1].pid' "$T/list.json")" = "$(init_pid two)" ]
	ws list -f json | cmp - "$T/list.json"
	jq '.[0].status = "wrong"' "$T/list.json" >"$T/wrong.json"
	refute matches_schema list "$T/wrong.json"
}

@test "list -q prints ids and no more, sorted" {
	bare_session b
	bare_session a
	[ "$(ws list -q | xargs)" = "a b" ]
}

@test "list is a table with a header on a terminal, and rows with tabs elsewhere" {
	bare_session one
	ws_pty list | tr -d '\r' >"$T/out"
	grep -q '^ID  *STATUS' "$T/out"
	grep -q '^one  *created' "$T/out"
	[ "$(ws list | wc -l)" -eq 1 ]
	[ "$(ws list -f table | cut -f 1,2)" = "one	created" ]
}

@test "list has no escape sequences where stdout is no terminal, or with NO_COLOR" {
	bare_session one
	refute grep -q $'\033' <(ws list -f table)
	NO_COLOR=1 ws_pty list >"$T/out"
	grep -q one "$T/out"
	refute grep -q $'\033' "$T/out"
}

@test "a folder that holds only a config.json is no session and is left alone" {
	mkdir -p "$ROOT/sessions/planned"
	echo '{}' >"$ROOT/sessions/planned/config.json"
	bare_session one
	[ "$(ws list -q)" = one ]
	[ -e "$ROOT/sessions/planned/config.json" ]
}

@test "a damaged session hides no other" {
	bare_session one
	bare_session two
	: >"$ROOT/sessions/one/state.json"
	ws list -q | grep -qx two
	run --separate-stderr ws list
	grep -qw two <<<"$output"
	[[ "$stderr" == *one* ]]
	run --separate-stderr ws list --json
	[ "$(jq -r '.[] | select(.id == "two") | .status' <<<"$output")" = created ]
}

@test "a folder in sessions with an impossible name is passed over" {
	bare_session one
	mkdir "$ROOT/sessions/-rf" "$ROOT/sessions/a b"
	ln -s / "$ROOT/sessions/away"
	[ "$(ws list -q)" = one ]
}

@test "list refuses an unknown format and an argument" {
	expect_status 2 ws list -f xml
	expect_status 2 ws list something
}

@test "list needs no bwrap" {
	bare_session one
	spec "$ROOT/wsiso.json" '{"bwrap": {"path": "/nonexistent/bwrap"}}'
	[ "$(ws list -q)" = one ]
}

@test "list ends in peace when nobody reads it, and fails when it cannot be written" {
	bare_session one
	run bash -c '"$WSISO" --root "$0" list | true; exit "${PIPESTATUS[0]}"' "$ROOT"
	[ "$status" -eq 0 ] || [ "$status" -eq 141 ]
	run bash -c '"$WSISO" --root "$0" list >/dev/full' "$ROOT"
	[ "$status" -eq 1 ]
}

@test "a root that others may read is refused" {
	bare_session one
	chmod 755 "$ROOT"
	run --separate-stderr ws list
	[ "$status" -ne 0 ]
	[ -z "$output" ]
	[ "$(kind_of list)" = root-unsafe ]
	chmod 700 "$ROOT"
}
