#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # bats sets stderr
#
# wsiso snapshot: create, list and remove.
load helpers
load create_helpers

# two_repos: $T/spec.json with a git repository and a plain folder
two_repos() {
	new_repo "$T/app"
	mkdir -p "$T/p/d"
	echo one >"$T/p/a"
	head -c 300000 /dev/urandom >"$T/p/d/big"
	spec "$T/spec.json" "$SPEC_OPEN" '{"repos": [
		{"name": "app", "path": "'"$T/app"'"}, {"name": "p", "path": "'"$T/p"'"}]}'
}

shared_layers() { (cd "$ROOT/layers" && find . -mindepth 1 -maxdepth 1 ! -name 'git-*' | sort); }

keys() { ws snapshot list -q; }

@test "create makes what the next session finds, and prints the keys" {
	two_repos
	ws snapshot create --spec "$T/spec.json" >"$T/keys"
	[ "$(wc -l <"$T/keys")" -eq 2 ]
	diff <(sort "$T/keys") <(keys)
	shared_layers >"$T/layers"
	[ -z "$(ls "$ROOT/sessions")" ]
	ws create "$ID" --spec "$T/spec.json"
	diff <(sort "$T/keys") <(state_of "$ID" '.wsiso.snapshots[].snapshot' | sort)
	diff "$T/layers" <(shared_layers)
	# again: nothing new
	diff "$T/keys" <(ws snapshot create --spec - <"$T/spec.json")
	diff "$T/layers" <(shared_layers)
}

@test "create --json and list --json are as their schema says" {
	two_repos
	ws snapshot create --spec "$T/spec.json" --json >"$T/made.json"
	matches_schema snapshot "$T/made.json"
	[ "$(jq -r '.[].repo' "$T/made.json" | xargs)" = "app p" ]
	ws create "$ID" --spec "$T/spec.json"
	ws snapshot list --json >"$T/list.json"
	matches_schema snapshot "$T/list.json"
	[ "$(jq -c '[.[].users]' "$T/list.json")" = "[[\"$ID\"],[\"$ID\"]]" ]
	[ "$(jq -r '.[] | select(.repo == "p") | .linked' "$T/list.json")" -eq 2 ]
	[ "$(jq -r '.[] | select(.repo == "p") | .shared_bytes > 300000 and .own_bytes < 100000' "$T/list.json")" = true ]
	[ "$(jq -r '.[] | select(.repo == "app") | .own_bytes > 0 and .shared_bytes == 0' "$T/list.json")" = true ]
	rm "$T/list.json"
	ws snapshot list -f json >"$T/list.json"
	matches_schema snapshot "$T/list.json"
	jq '.[0].key = "x"' "$T/list.json" >"$T/wrong.json"
	refute matches_schema snapshot "$T/wrong.json"
}

@test "list shows a table with sizes, ages, users" {
	two_repos
	ws create "$ID" --spec "$T/spec.json"
	ws create second --spec "$T/spec.json"
	run --separate-stderr ws snapshot list
	[ "$status" -eq 0 ]
	[ "${#lines[@]}" -eq 2 ]
	[[ "$output" == *$'\tp\tnone\t'*$'\t2\t'* ]]
	ws_pty snapshot list >"$T/tty"
	grep -q '^KEY  *REPO  *VCS  *REVISION  *OWN  *SHARED  *AGE  *LAST USE  *USERS' "$T/tty"
}

@test "create --repo makes that one alone" {
	two_repos
	ws snapshot create --spec "$T/spec.json" --repo p --json >"$T/made.json"
	[ "$(jq -r '.[].repo' "$T/made.json")" = p ]
	[ "$(keys | wc -l)" -eq 1 ]
	[ "$(kind_of snapshot create --spec "$T/spec.json" --repo nothing)" = usage ]
	rm -rf "$T/app"
	ws snapshot create --spec "$T/spec.json" --repo p
	[ "$(kind_of snapshot create --spec "$T/spec.json")" = repo-unusable ]
}

@test "create refuses what no session shares" {
	two_repos
	for more in '{"snapshots": {"enabled": false}}' '{"snapshots": {"shared": false}}'; do
		spec "$T/other.json" "$(cat "$T/spec.json")" "$more"
		[ "$(kind_of snapshot create --spec "$T/other.json")" = spec-invalid ]
	done
	[ "$(kind_of snapshot create)" = usage ]
	[ -z "$(keys)" ]
}

@test "remove takes what nobody uses, and all of its layers" {
	two_repos
	ws snapshot create --spec "$T/spec.json" >"$T/keys"
	(cd "$T/p" && find . -printf '%p %y %m %i %s %T@\n' | sort) >"$T/before"
	mapfile -t all <"$T/keys"
	ws snapshot remove "${all[@]}"
	[ -z "$(keys)" ]
	[ -z "$(ls -A "$ROOT/layers")" ]
	[ -z "$(ls -A "$ROOT/snapshots")" ]
	[ -z "$(ls -A "$ROOT/trash")" ]
	(cd "$T/p" && find . -printf '%p %y %m %i %s %T@\n' | sort) | diff "$T/before" -
	[ "$(stat -c %h "$T/p/a")" -eq 1 ]
	# and it can be made again
	need_userns
	ws create "$ID" --spec "$T/spec.json"
	[ "$(ws exec "$ID" --cwd /workspace -- cat p/a)" = one ]
}

@test "remove refuses what is in use, names the users, and takes nothing away" {
	need_userns
	two_repos
	ws create "$ID" --spec "$T/spec.json"
	ws create second --spec "$T/spec.json"
	key=$(state_of "$ID" '.wsiso.snapshots[0].snapshot')
	run --separate-stderr ws snapshot remove "$key"
	[ "$status" -eq 3 ]
	[[ "$stderr" == *"used by $ID, second"* ]]
	[ "$(kind_of snapshot remove "$key")" = session-busy ]
	[ "$(ws exec "$ID" --cwd /workspace -- sh -c 'cat p/a; git -C app status --porcelain')" = one ]
	ws delete -f "$ID"
	refute ws snapshot remove "$key"
	ws delete second
	ws snapshot remove "$key"
	[ "$(keys | wc -l)" -eq 1 ]
}

@test "remove refuses while it cannot know who uses it" {
	two_repos
	ws create "$ID" --spec "$T/spec.json"
	key=$(state_of "$ID" '.wsiso.snapshots[0].snapshot')
	echo rubbish >"$ROOT/sessions/$ID/state.json"
	[ "$(kind_of snapshot remove "$key")" = state-corrupt ]
	[ -e "$ROOT/snapshots/$key.json" ]
	run --separate-stderr ws snapshot list
	[ "$status" -eq 0 ]
	[[ "$stderr" == *warning*"$ID"* ]]
}

@test "remove of no snapshot is refused" {
	[ "$(kind_of snapshot remove 0123456789abcdef0123456789abcdef)" = base-missing ]
	for key in x '../sessions' '' 0123456789abcdef0123456789abcdeX; do
		[ "$(kind_of snapshot remove "$key")" = usage ]
	done
}

@test "wrong use is told" {
	for args in '' 'mak' 'list x' 'create x --spec s' 'remove' 'list --spec x' 'remove --json x' 'create --spec s -q' \
		'list --format yaml' 'list --setup'; do
		# shellcheck disable=SC2086 # they are words
		run --separate-stderr ws snapshot $args
		[ "$status" -eq 2 ]
		[ -z "$output" ]
	done
	run --separate-stderr ws snapshot lst
	[[ "$stderr" == *"did you mean 'list'"* ]]
	ws snapshot --help | grep -q 'create|list|remove'
}

@test "a deleted session's last use is its snapshot's" {
	two_repos
	ws create "$ID" --spec "$T/spec.json"
	touch -d '2001-01-01' "$ROOT"/snapshots/*.lock
	[[ "$(ws snapshot list --json | jq -r '.[0].last_use')" == 2001-* ]]
	ws delete "$ID"
	[[ "$(ws snapshot list --json | jq -r '.[0].last_use, .[1].last_use' | sort -u | wc -l)" -ge 1 ]]
	[[ "$(ws snapshot list --json | jq -r '.[0].last_use')" != 2001-* ]]
}

@test "F009: a session whose base is gone refuses, and never mixes" {
	need_userns
	two_repos
	ws create "$ID" --spec "$T/spec.json"
	ws exec "$ID" --cwd /workspace -- sh -c 'echo mine >p/a; rm app/d/k'
	ws stop "$ID"
	layer=$(state_of "$ID" '.wsiso.stack[0]')
	mv "$ROOT/layers/$layer" "$T/taken"
	[ "$(kind_of exec "$ID" --cwd /workspace -- true)" = base-missing ]
	echo later >>"$T/app/d/f"
	hgit -C "$T/app" commit -qam later
	spec "$T/new.json" "$(cat "$T/spec.json")"
	ws create new --spec "$T/new.json"
	[ "$(kind_of exec "$ID" --cwd /workspace -- true)" = base-missing ]
	mv "$T/taken" "$ROOT/layers/$layer"
	[ "$(ws exec "$ID" --cwd /workspace -- sh -c 'cat p/a app/d/f; ls app/d' | xargs)" = "mine one two f g1 g2" ]
}

@test "creates, removes and deletes at once: whatever was made works" {
	need_userns
	two_repos
	local until i=0 made=0
	until=$((SECONDS + $(long 5 60)))
	(while [ ! -e "$T/enough" ]; do
		keys | while read -r key; do ws snapshot remove "$key" || true; done
	done) >/dev/null 2>&1 3>&- &
	remover=$!
	while [ "$SECONDS" -lt "$until" ] || [ "$made" -lt 3 ]; do
		i=$((i + 1))
		ws create "r$i" --spec "$T/spec.json"
		[ "$(ws exec "r$i" --cwd /workspace -- sh -c 'cat p/a; git -C app status --porcelain' </dev/null)" = one ]
		ws delete -f "r$i"
		made=$((made + 1))
	done
	touch "$T/enough"
	wait "$remover"
	[ -z "$(ls -A "$ROOT/tmp")" ]
}

@test "kill -9 at any moment of snapshot create leaves nothing that is used half-made" {
	two_repos
	for i in {1..300}; do echo "$i" >"$T/p/d/$i"; done
	for i in $(seq 1 "$(long 12 100)"); do
		"$WSISO" --root "$ROOT" snapshot create --spec "$T/spec.json" >/dev/null 2>&1 3>&- &
		victim=$!
		sleep "0.0$((RANDOM % 90 + 10))"
		kill -KILL "$victim" 2>/dev/null || true
		wait "$victim" 2>/dev/null || true
	done
	ws snapshot create --spec "$T/spec.json" >"$T/keys"
	ws create "$ID" --spec "$T/spec.json"
	diff -r "$T/p" "$(base_of p)"
	# a helper of the last one killed may still have been at it
	wait_for 5 swept
	# every layer is a listed one's
	for layer in "$ROOT"/layers/*; do
		grep -qrF "\"${layer##*/}\"" "$ROOT"/snapshots/*.json "$ROOT"/sessions/*/state.json
	done
}

swept() {
	ws gc
	[ -z "$(ls -A "$ROOT/tmp")" ]
}

base_of() {
	local layer
	for layer in $(state_of "$ID" '.wsiso.stack[]'); do
		[ ! -d "$ROOT/layers/$layer/root/$1" ] || echo "$ROOT/layers/$layer/root/$1"
	done | head -n 1
}
