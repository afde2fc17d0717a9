#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # bats sets stderr
#
# wsiso delete: all of a session goes, and nothing else.
load helpers

# plain_session [ID]: one that no sandbox was started for
plain_session() {
	[ -e "$T/app" ] || new_repo "$T/app"
	spec "$T/spec.json" "$SPEC_OPEN" "$(repo_spec "$T/app")"
	ws create "${1:-$ID}" --spec "$T/spec.json"
}

private_layers() { find "$ROOT/layers" -maxdepth 1 -name "git-$1-????????????????" | wc -l; }

nothing_of() {
	[ ! -e "$ROOT/sessions/$1" ]
	[ "$(private_layers "$1")" -eq 0 ]
	[ -z "$(find "$ROOT/tmp" "$ROOT/trash" -mindepth 1 2>/dev/null)" ]
}

@test "delete removes all of the session, keeps what others share, and prints nothing" {
	plain_session
	plain_session other
	run --separate-stderr ws delete "$ID"
	[ "$status" -eq 0 ]
	[ -z "$output" ]
	[ -z "$stderr" ]
	nothing_of "$ID"
	expect_status 3 ws state "$ID"
	[ "$(state_of other)" = created ]
	[ "$(private_layers other)" -eq 1 ]
	[ "$(find "$ROOT/layers" -name 'base-*' | wc -l)" -eq 1 ]
	# the id is free again
	plain_session
}

@test "a session whose id begins like the deleted one's is not touched" {
	local id
	for id in a a-b a-0123456789abcdef A a.b; do
		plain_session "$id"
	done
	ws delete a
	ws delete A
	for id in a-b a-0123456789abcdef a.b; do
		[ "$(private_layers "$id")" -eq 1 ]
		[ "$(state_of "$id")" = created ]
	done
}

@test "deleting what is not there is session-missing" {
	[ "$(kind_of delete "$ID")" = session-missing ]
	expect_status 3 ws delete "$ID"
	expect_status 3 ws delete -f "$ID"
	expect_status 2 ws delete
	expect_status 2 ws delete ../"$ID"
}

@test "live commands are in the way, unless with -f" {
	new_session
	ws exec -d "$ID" -- sleep 300
	run --separate-stderr ws delete "$ID"
	[ "$status" -eq 3 ]
	[[ "$stderr" == "wsiso: delete: session '$ID' has 1 live process"* ]]
	[ "$(kind_of delete "$ID")" = session-busy ]
	[ "$(in_session echo there)" = there ]
	ws delete -f "$ID"
	nothing_of "$ID"
	has_no_sandbox
}

@test "a process that a command left behind is in the way too" {
	new_session
	in_session sh -c 'sleep 300 >/dev/null 2>&1 &'
	[ "$(kind_of delete "$ID")" = session-busy ]
	ws delete --force "$ID"
	nothing_of "$ID"
}

@test "a sandbox that only lingers is not in the way" {
	new_root "$T/lingers" '{"linger_s": 300}'
	new_session
	in_session true
	has_sandbox
	ws delete "$ID"
	nothing_of "$ID"
	has_no_sandbox
}

@test "F014: trees that their owner cannot read or enter go" {
	new_session
	# shellcheck disable=SC2016 # for the shell inside to expand
	in_session sh -c 'mkdir -p t/in && touch t/in/f && chmod 000 t/in t && mkdir ~/m && chmod 0 ~/m
		mkdir -p /tmp/x/y && chmod 000 /tmp/x'
	ws delete "$ID"
	nothing_of "$ID"
}

@test "F014: a tree deeper than any path goes" {
	new_session
	in_session "$PYTHON" -c 'import os
for i in range(1500):
    os.mkdir("ddddd"); os.chdir("ddddd")
open("f", "w").close()'
	ws delete "$ID"
	nothing_of "$ID"
}

@test "links that a command planted are not followed" {
	new_session
	mkdir "$T/outside"
	touch "$T/outside/file"
	in_session ln -s "$T/outside" /workspace/app/planted
	in_session sh -c "ln -s '$T/outside' ~/link; ln -s '$T/outside' /tmp/link; rm -rf /workspace/app/d; ln -s '$T/outside' /workspace/app/d"
	ws delete "$ID"
	nothing_of "$ID"
	[ -e "$T/outside/file" ]
}

@test "a damaged session goes with -f only" {
	local damage
	for damage in 'echo rubbish >state.json' ': >state.json' 'rm state.json' 'echo "[" >config.json' \
		'rm config.json' 'rm -r upper work' 'rm lock' 'rm use' 'echo x >sandbox.json'; do
		plain_session
		(cd "$ROOT/sessions/$ID" && eval "$damage")
		case $damage in
		*state.json) expect_status 3 ws delete "$ID" || expect_status 1 ws delete "$ID" ;;
		esac
		ws delete -f "$ID"
		nothing_of "$ID"
	done
}

@test "what a create that was killed left goes with -f" {
	mkdir -p "$ROOT/sessions/$ID/upper" "$ROOT/layers/git-$ID-0123456789abcdef/root"
	run --separate-stderr ws delete "$ID"
	[ "$status" -eq 3 ]
	[[ "$stderr" == *"without a session's record"*"delete -f"* ]]
	ws delete -f "$ID"
	nothing_of "$ID"
}

@test "a session of a newer wsiso is not touched, not with -f either" {
	plain_session
	jq '.version = 99' "$ROOT/sessions/$ID/state.json" >"$T/state"
	cp "$T/state" "$ROOT/sessions/$ID/state.json"
	[ "$(kind_of delete "$ID")" = state-version ]
	[ "$(kind_of delete -f "$ID")" = state-version ]
	cmp "$T/state" "$ROOT/sessions/$ID/state.json"
	jq '.version = 1' "$T/state" >"$ROOT/sessions/$ID/state.json"
}

@test "a blocked session can be deleted" {
	new_repo "$T/app"
	spoil_repo "$T/app"
	spec "$T/spec.json" "$SPEC_OPEN" "$(repo_spec "$T/app")"
	refute ws create "$ID" --spec "$T/spec.json"
	[ "$(state_of)" = blocked ]
	ws delete "$ID"
	nothing_of "$ID"
}

@test "of deletes at once each ends well or finds nothing" {
	local i failed
	for _ in $(seq "$(long 5 50)"); do
		plain_session
		failed=0
		for i in 1 2 3 4; do
			ws --log-format json delete "$ID" 2>"$T/err$i" 3>&- &
		done
		for i in 1 2 3 4; do
			wait -n || failed=$((failed + 1))
		done
		[ "$failed" -lt 4 ]
		refute grep -vx session-missing <(cat "$T"/err? | jq -r 'select(.level == "error") | .kind')
		nothing_of "$ID"
	done
}

@test "a delete that is killed at any moment can be repeated" {
	local i
	new_repo "$T/app"
	RANDOM=11
	for i in $(seq "$(long 20 200)"); do
		plain_session
		mkdir -p "$ROOT/sessions/$ID/home/"{1..50}
		ws_bg killed delete "$ID"
		sleep "0.0$(printf '%02d' $((RANDOM % 30)))"
		kill -KILL "$BG" 2>/dev/null || true
		wait "$BG" 2>/dev/null || true
		[ ! -e "$ROOT/sessions/$ID" ] || ws delete -f "$ID"
		[ ! -e "$ROOT/sessions/$ID" ]
		[ "$(private_layers "$ID")" -eq 0 ]
	done
	# the next create sweeps
	plain_session
	[ -z "$(find "$ROOT/tmp" "$ROOT/trash" -mindepth 1 2>/dev/null)" ]
}

@test "the journal says that it was deleted" {
	plain_session
	ws delete "$ID"
	tail -n 1 "$ROOT/journal.jsonl" >"$T/line"
	[ "$(jq -r '.event + " " + .session' "$T/line")" = "delete $ID" ]
}
