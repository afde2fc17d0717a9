#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # bats sets stderr
# shellcheck disable=SC2016 # for the shell inside to expand
#
# wsiso create: specs, refusals, places, failures and crashes. What it makes of git
# repositories is in create_git.bats.
load helpers
load create_helpers

# ---- the command ----

@test "create prints nothing, and --json prints the new session" {
	new_repo "$T/app"
	spec "$T/$ID.json" "$SPEC_OPEN" "$(repo_spec "$T/app")"
	run --separate-stderr ws create "$ID" --spec "$T/$ID.json"
	[ "$status" -eq 0 ]
	[ -z "$output" ]
	[ -z "$stderr" ]
	ws create other --json --spec "$T/$ID.json" >"$T/out"
	[ "$(jq -r .id "$T/out")" = other ]
	[ "$(jq -r .status "$T/out")" = created ]
	matches_schema create "$T/out"
}

@test "the spec is the folder's own config.json, a file, stdin or a bundle's" {
	new_repo "$T/app"
	spec "$T/spec.json" "$SPEC_OPEN" "$(repo_spec "$T/app")"
	ws create from-file --spec "$T/spec.json"
	ws create from-stdin --spec - <"$T/spec.json"
	mkdir "$T/bundle"
	cp "$T/spec.json" "$T/bundle/config.json"
	ws create --bundle "$T/bundle" from-bundle
	[ "$(state_of from-bundle .bundle)" = "$T/bundle" ]
	mkdir -p "$ROOT/sessions/own"
	cp "$T/spec.json" "$ROOT/sessions/own/config.json"
	ws create own
	cmp "$T/spec.json" "$ROOT/sessions/own/config.json"
	for id in from-file from-stdin from-bundle own; do
		[ "$(jq -S . "$ROOT/sessions/$id/config.json")" = "$(jq -S . "$T/spec.json")" ]
		[ "$(state_of "$id")" = created ]
	done
	expect_status 2 ws create both --spec "$T/spec.json" --bundle "$T/bundle"
}

@test "without a spec, with a broken one, or for a path that is not there, create refuses and makes nothing" {
	[ "$(kind_of create "$ID")" = spec-invalid ]
	expect_status 2 ws create "$ID"
	nothing_made
	echo '{"repos": 1}' >"$T/bad.json"
	[ "$(kind_of create "$ID" --spec "$T/bad.json")" = spec-invalid ]
	[ "$(kind_of create "$ID" --spec "$T/none.json")" = spec-invalid ]
	[ "$(kind_of create "$ID" --bundle "$T/none")" = spec-invalid ]
	nothing_made
}

@test "a folder with only a config.json is left as it was by a refusal" {
	mkdir -p "$ROOT/sessions/$ID"
	spec "$ROOT/sessions/$ID/config.json" "$SPEC_OPEN" "$(repo_spec "$T/nowhere")"
	expect_status 1 ws create "$ID"
	[ "$(ls -A "$ROOT/sessions/$ID")" = config.json ]
}

@test "a session that is there already is refused, and not touched" {
	make_session
	cp -a "$ROOT/sessions/$ID" "$T/before"
	[ "$(kind_of create "$ID" --spec "$T/$ID.json")" = session-exists ]
	expect_status 3 ws create "$ID" --spec "$T/$ID.json"
	expect_status 3 ws create "$ID" --retry --spec "$T/$ID.json"
	diff -r "$T/before" "$ROOT/sessions/$ID"
}

@test "of two creates of one id at once, one wins" {
	local i round won
	new_repo "$T/app"
	spec "$T/spec.json" "$SPEC_OPEN" "$(repo_spec "$T/app")"
	for round in $(seq "$(long 5 50)"); do
		won=0
		for i in 1 2 3 4; do
			ws --log-format json create "r$round" --spec "$T/spec.json" 2>"$T/err$i" 3>&- &
		done
		for i in 1 2 3 4; do
			wait -n && won=$((won + 1)) || true
		done
		[ "$won" -eq 1 ]
		[ "$(cat "$T"/err? | jq -r .kind | sort -u)" = session-exists ]
		[ "$(state_of "r$round")" = created ]
	done
}

@test "with \"enabled\": false nothing is made" {
	new_repo "$T/app"
	[ "$(kind_of_make '{"enabled": false}')" = disabled ]
	nothing_made
}

@test "a session without repos is an empty workspace" {
	need_userns
	spec "$T/spec.json" "$SPEC_OPEN"
	ws create "$ID" --spec "$T/spec.json"
	[ -z "$(in_session ls -A /workspace)" ]
	in_session sh -c 'echo x >/workspace/x'
	[ "$(in_session cat /workspace/x)" = x ]
}

@test "several repos are side by side, one of them twice" {
	need_userns
	new_repo "$T/app"
	new_repo "$T/lib"
	hgit -C "$T/lib" commit -q --allow-empty -m more
	spec "$T/spec.json" "$SPEC_OPEN" "$(jq -n --arg a "$T/app" --arg b "$T/lib" '{repos: [
		{name: "app", path: $a}, {name: "lib", path: $b}, {name: "old", path: $a, revision: "v1"}]}')"
	ws create "$ID" --spec "$T/spec.json"
	[ "$(in_session sh -c 'cd /workspace && echo *')" = "app lib old" ]
	for name in app lib old; do
		[ -z "$(ws exec "$ID" --cwd "/workspace/$name" -- git status --porcelain)" ]
	done
	[ "$(ws exec "$ID" --cwd /workspace/lib -- git log --oneline | wc -l)" -eq 4 ]
	[ "$(ws exec "$ID" --cwd /workspace/old -- git log --oneline | wc -l)" -eq 1 ]
	# a move across repositories
	in_session sh -c 'mv /workspace/app/d /workspace/lib/moved && ls /workspace/lib/moved | xargs' >"$T/out"
	[ "$(cat "$T/out")" = "f g1 g2 k" ]
}

@test "one unusable repo of several refuses all, and nothing is left" {
	new_repo "$T/app"
	spec "$T/spec.json" "$SPEC_OPEN" "$(jq -n --arg a "$T/app" --arg b "$T/none" '{repos: [
		{name: "app", path: $a}, {name: "lib", path: $b}]}')"
	run --separate-stderr ws create "$ID" --spec "$T/spec.json"
	[ "$status" -eq 1 ]
	[[ "$stderr" == "wsiso: create: repo 'lib': there is no folder '$T/none'"* ]]
	nothing_made
}

# ---- places ----

@test "F012: a state folder inside the repository is refused, and so is a repository inside the state folder" {
	new_repo "$T/app"
	new_root "$T/app/state"
	spec "$T/spec.json" "$SPEC_OPEN" "$(repo_spec "$T/app")"
	run --separate-stderr ws create "$ID" --spec "$T/spec.json"
	[ "$status" -eq 1 ]
	[[ "$stderr" == *"the state folder '$T/app/state' lies inside the repository '$T/app'"* ]]
	nothing_made
	use_root "$T/root"
	new_repo "$ROOT/mine"
	[ "$(kind_of create "$ID" --spec <(spec /dev/stdout "$SPEC_OPEN" "$(repo_spec "$ROOT/mine")"))" = repo-unusable ]
	nothing_made
}

# with_mounts SCRIPT: in a mount namespace of its own, as ourselves, able to mount
with_mounts() {
	unshare --user --map-current-user --keep-caps --mount true 2>/dev/null ||
		cannot_run "this user cannot make a mount namespace"
	export -f ws spec repo_spec kind_of
	export ROOT T ID SPEC_OPEN SLOW
	unshare --user --map-current-user --keep-caps --mount bash -ec "$1"
}

@test "F012: a mount below the repository is refused by name" {
	new_repo "$T/app"
	mkdir "$T/app/mnt"
	spec "$T/spec.json" "$SPEC_OPEN" "$(repo_spec "$T/app")"
	with_mounts 'mount -t tmpfs none "$T/app/mnt"
		! ws create "$ID" --spec "$T/spec.json" 2>"$T/err"'
	grep -F "'$T/app/mnt' is a mount point inside the repository '$T/app'" "$T/err"
	nothing_made
}

@test "with less than 256 MiB free create refuses and names the remedy, with less than min_free_gb it warns" {
	new_repo "$T/app"
	mkdir "$T/small"
	spec "$T/spec.json" "$SPEC_OPEN" "$(repo_spec "$T/app")" '{"snapshots": {"min_free_gb": 0}}'
	with_mounts 'mount -t tmpfs -o size=100m,mode=700 none "$T/small"; ROOT=$T/small
		[ "$(kind_of create "$ID" --spec "$T/spec.json")" = disk-full ]
		[ ! -e "$T/small/sessions/$ID" ]'
	spec "$T/spec.json" "$(cat "$T/spec.json")" '{"snapshots": {"min_free_gb": 1000000}}'
	run --separate-stderr ws create "$ID" --spec "$T/spec.json"
	[ "$status" -eq 0 ]
	[[ "$stderr" == *min_free_gb* ]]
}

# ---- failures and crashes ----

@test "a create that fails after it began is blocked with the cause, and --retry goes on" {
	new_repo "$T/app"
	cp -a "$T/app" "$T/sound"
	spoil_repo "$T/app"
	refute make_session
	[ "$(state_of)" = blocked ]
	[ "$(state_of "$ID" '.wsiso.cause.kind')" = snapshot-failed ]
	[ -z "$(find "$ROOT/layers" "$ROOT/tmp" -mindepth 1)" ]
	expect_status 3 ws create "$ID" --spec "$T/$ID.json"
	expect_status 1 ws create "$ID" --retry
	[ "$(state_of)" = blocked ]
	cp -a "$T/sound/.git/objects/." "$T/app/.git/objects/"
	ws create "$ID" --retry
	[ "$(state_of)" = created ]
	[ "$(state_of "$ID" .wsiso.cause)" = null ]
	[ "$(grep -c -e '"event":"block"' -e '"event":"create"' "$ROOT/journal.jsonl")" -eq 3 ]
}

@test "a session folder that has files but no record is not taken over" {
	make_session
	echo precious >"$ROOT/sessions/$ID/upper/file"
	rm "$ROOT/sessions/$ID/state.json"
	[ "$(kind_of create "$ID" --spec "$T/$ID.json")" = state-corrupt ]
	[ "$(cat "$ROOT/sessions/$ID/upper/file")" = precious ]
}

# every_layer_is_used: each layer is in a manifest or in a session's stack
every_layer_is_used() {
	local layer
	for layer in "$ROOT"/layers/*; do
		[ ! -e "$layer" ] || grep -qrF "\"${layer##*/}\"" "$ROOT"/snapshots/*.json "$ROOT"/sessions/*/state.json || {
			echo "nobody's layer: $layer"
			return 1
		}
	done
}

@test "a create that is killed at any moment leaves nothing that stands in the way of the next" {
	local i n
	n=$(long 25 200)
	new_repo "$T/app"
	for i in $(seq 300); do echo "$i" >"$T/app/file$i"; done
	hgit -C "$T/app" add -A
	hgit -C "$T/app" commit -q -m many
	RANDOM=7
	for i in $(seq "$n"); do
		[ $((i % 5)) -ne 0 ] || hgit -C "$T/app" commit -q --allow-empty -m "$i"
		spec "$T/$ID.json" "$SPEC_OPEN" "$(repo_spec "$T/app")"
		ws_bg killed create "$ID" --spec "$T/$ID.json"
		sleep "0.$(printf '%03d' $((RANDOM % 150)))"
		kill -KILL "$BG" 2>/dev/null || true
		wait "$BG" 2>/dev/null || true
		[ -e "$ROOT/sessions/$ID/state.json" ] || wait_for 10 ws create "$ID" --spec "$T/$ID.json" 2>"$T/err"
		[ "$(state_of)" = created ]
		same_tree "$T/app" "$(base_tree)"
		every_layer_is_used
		ws delete "$ID"
	done
	spec "$T/$ID.json" "$SPEC_OPEN" "$(repo_spec "$T/app")"
	ws create "$ID" --spec "$T/$ID.json"
	[ -z "$(find "$ROOT/tmp" "$ROOT/trash" -mindepth 1 2>/dev/null)" ]
	every_layer_is_used
}

@test "a damaged manifest, or one whose layers are gone, is made anew" {
	make_session one
	echo rubbish | tee "$ROOT"/snapshots/*.json
	make_session two 2>"$T/err"
	grep -q damaged "$T/err"
	[ "$(layer_of base one)" != "$(layer_of base two)" ]
	mv "$(layer_of base two)" "$T/gone"
	make_session three
	[ -e "$(base_tree three)/d/k" ]
}

@test "what is in the journal says who was made from what" {
	make_session
	tail -n 1 "$ROOT/journal.jsonl" >"$T/line"
	[ "$(jq -r .event "$T/line")" = create ]
	[ "$(jq -r .session "$T/line")" = "$ID" ]
	[ "$(jq -r .detail "$T/line")" = "app@$(hgit -C "$T/app" rev-parse --short=12 HEAD)" ]
}
