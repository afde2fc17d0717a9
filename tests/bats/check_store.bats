#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # bats sets stderr
#
# wsiso check --store: what is named and not there, what is there and not named, and what it
# mends: never somebody's work.
load helpers
load create_helpers

setup() {
	ws_setup
	spec "$ROOT/wsiso.json" "$(cat "$ROOT/wsiso.json")" '{"snapshots": {"min_free_gb": 0}}'
}

# look STATUS [OPTIONS...]: check --store ends with it; its JSON is in $T/store.json
look() {
	local want=$1
	shift
	expect_status "$want" ws check --store --json "$@" >"$T/store.json" 2>"$T/err"
	# python takes longer than what is tested
	[ -e "$T/valid-$want" ] || matches_schema check-store "$T/store.json"
	touch "$T/valid-$want"
	[ "$(jq .sound "$T/store.json")" = "$([ "$want" -eq 0 ] && echo true || echo false)" ]
}

# found ID: lines "STATUS SUBJECT" of its items
found() { jq -r --arg id "$1" '.items[] | select(.id == $id) | .status + " " + (.subject // "-")' "$T/store.json"; }

# a name below the root that is found in no other test's messages
stack_of() { jq -r '.stack[]' "$ROOT/sessions/$1/state.json"; }

@test "a store in which all is well: every row says so, and nothing is written" {
	make_session
	ws create other --spec "$T/$ID.json" 2>/dev/null || ws create other --spec "$T/spec.json"
	find "$ROOT" -printf '%p %i %C@ %m\n' | sort >"$T/before"
	look 0
	look 0 --repair
	[ "$(jq -r '.items[] | .id' "$T/store.json" | xargs)" = \
		"space links leftovers sessions stacks folders snapshots setups layers homes pools" ]
	[ "$(jq -c '[.items[].status] | unique' "$T/store.json")" = '["ok"]' ]
	[ "$(jq -r '.items[] | select(.id == "sessions").detail' "$T/store.json")" = "2 records of sessions" ]
	find "$ROOT" -printf '%p %i %C@ %m\n' | sort | diff "$T/before" -
	ws check --store | grep -q '^stacks  *ok'
	expect_status 2 ws check --repair
}

@test "a layer that a session needs and that is not there: it names both, and mends nothing" {
	local layer
	make_session
	layer=$(stack_of "$ID" | head -n 1)
	mv "$ROOT/layers/$layer" "$T/kept"
	look 1 --repair
	[ "$(found stacks)" = "failed sessions/$ID" ]
	grep -q "$layer" "$T/store.json"
	[ "$(jq -r '.items[] | select(.id == "stacks").remedy' "$T/store.json" | grep -c upper)" = 1 ]
	[ "$(found snapshots | cut -d' ' -f1)" = warning ]
	mv "$T/kept" "$ROOT/layers/$layer"
	look 0
	# one that is there, but not whole
	mv "$ROOT/layers/$layer/root" "$T/root"
	look 1
	[ "$(found layers)" = "failed layers/$layer" ]
	ln -s "$T/root" "$ROOT/layers/$layer/root"
	look 1
	[ "$(found layers)" = "failed layers/$layer" ]
}

@test "records that do not parse, or are newer: named, and a manifest that is as good as none goes" {
	local key
	make_session
	key=$(basename "$ROOT"/snapshots/*.json .json)
	cp "$ROOT/sessions/$ID/state.json" "$T/state"
	echo '{"version": 99}' >"$ROOT/sessions/$ID/state.json"
	look 1 --repair
	[ "$(found sessions)" = "failed sessions/$ID" ]
	[ "$(cat "$ROOT/sessions/$ID/state.json")" = '{"version": 99}' ]
	echo '{"version": ' >"$ROOT/sessions/$ID/state.json"
	look 1 --repair
	[ "$(found sessions)" = "failed sessions/$ID" ]
	# what such a session stands on is not called nobody's
	refute grep -q 'nobody has it' "$T/store.json"
	cp "$T/state" "$ROOT/sessions/$ID/state.json"
	cp "$ROOT/snapshots/$key.json" "$T/manifest"
	sed 's/"version": [0-9]*/"version": 99/' "$T/manifest" >"$ROOT/snapshots/$key.json"
	look 1 --repair
	[ "$(found snapshots)" = "failed snapshots/$key.json" ]
	echo garbage >"$ROOT/snapshots/$key.json"
	look 1
	[ "$(found snapshots)" = "failed snapshots/$key.json" ]
	look 0 --repair
	[ "$(found snapshots)" = "repaired snapshots/$key.json" ]
	[ ! -e "$ROOT/snapshots/$key.json" ]
	look 0
	[ "$(ws exec "$ID" -- cat README.md)" = hello ]
}

@test "folders of a session: an upper or a HOME is never made again, what starts empty is" {
	local dir
	make_session
	dir=$ROOT/sessions/$ID
	rm -r "$dir/work" "$dir/tmp"
	chmod 755 "$dir"
	look 1
	[ "$(found folders | sort | xargs)" = \
		"failed sessions/$ID failed sessions/$ID/tmp failed sessions/$ID/work" ]
	[ ! -e "$dir/work" ]
	look 0 --repair
	[ "$(found folders | cut -d' ' -f1 | xargs)" = "repaired repaired repaired" ]
	[ "$(stat -c %a "$dir" "$dir/tmp" | xargs)" = "700 1777" ]
	[ "$(ws exec "$ID" -- sh -c 'echo edit >edit; echo t >/tmp/t; cat edit')" = edit ]
	ws stop "$ID"
	mv "$dir/upper" "$T/upper"
	mv "$dir/home" "$T/home"
	look 1 --repair
	[ "$(found folders | xargs)" = "failed sessions/$ID failed sessions/$ID" ]
	[ ! -e "$dir/upper" ] && [ ! -e "$dir/home" ]
	mkdir "$T/elsewhere"
	ln -s "$T/elsewhere" "$dir/upper"
	mv "$T/home" "$dir/home"
	look 1 --repair
	[ "$(found folders)" = "failed sessions/$ID" ]
	rm "$dir/upper"
	mv "$T/upper" "$dir/upper"
	look 0
}

@test "what nobody has is gc's, leftovers go; what is on its way is nobody's leftover" {
	local lock
	make_session
	cp -a "$ROOT/layers/$(stack_of "$ID" | head -n 1)" "$ROOT/layers/frozen-gone-0123456789abcdef"
	mkdir -p "$ROOT/homes/gone-0123456789abcdef" "$ROOT/tmp/base-dead" "$ROOT/trash/x" "$ROOT/tmp/base-live"
	echo '{' >"$ROOT/sessions/$ID/.tmp-0123"
	echo '{' >"$ROOT/sessions/$ID/.tmp-new"
	touch -d '2 hours ago' "$ROOT/sessions/$ID/.tmp-0123"
	exec {lock}<"$ROOT/tmp/base-live"
	flock "$lock"
	look 0
	[ "$(found layers)" = "warning layers/frozen-gone-0123456789abcdef" ]
	[ "$(found homes)" = "warning homes/gone-0123456789abcdef" ]
	[ "$(found leftovers | sort | xargs)" = "warning tmp/base-dead warning trash/x" ]
	look 0 --repair
	[ "$(found leftovers | sort | xargs)" = "repaired tmp/base-dead repaired trash/x" ]
	[ -e "$ROOT/tmp/base-live" ] && [ ! -e "$ROOT/tmp/base-dead" ]
	[ -e "$ROOT/layers/frozen-gone-0123456789abcdef" ] # not its own
	exec {lock}<&-
	ws gc >"$T/gc"
	look 0
	[ "$(jq -c '[.items[].status] | unique' "$T/store.json")" = '["ok"]' ]
}

@test "pools and what points to them" {
	local pool index
	make_session
	pool=$(basename "$ROOT"/pools/*.git)
	index=$(stack_of "$ID" | grep ^index-)
	mv "$ROOT/pools/$pool/objects" "$T/objects"
	look 1 --repair
	[ "$(found pools)" = "failed pools/$pool" ]
	mv "$T/objects" "$ROOT/pools/$pool/objects"
	echo /elsewhere >"$ROOT/layers/$index/root/app/.git/objects/info/alternates"
	look 1 --repair
	[ "$(found layers)" = "failed layers/$index" ]
}

@test "a link in the state folder is told and not followed" {
	make_session
	ws stop "$ID"
	mkdir "$T/elsewhere"
	touch "$T/elsewhere/gone-0123456789abcdef"
	rm -rf "$ROOT/homes"
	ln -s "$T/elsewhere" "$ROOT/homes"
	ln -s "$T/app" "$ROOT/sessions/link"
	look 1 --repair
	[ "$(found links)" = "failed homes" ]
	[ "$(found sessions)" = "warning sessions/link" ]
	refute grep -q gone-0123456789abcdef "$T/store.json"
	mv "$ROOT/sessions" "$T/sessions"
	ln -s "$T/sessions" "$ROOT/sessions"
	look 1
	[ "$(found links | sort | xargs)" = "failed homes failed sessions" ]
	[ "$(found layers)" = "ok -" ]
	rm "$ROOT/sessions"
	mv "$T/sessions" "$ROOT/sessions"
}

@test "on a root that cannot be written it reports, and says why it mended nothing" {
	local bwrap
	make_session
	ws stop "$ID"
	rm -r "$ROOT/sessions/$ID/work"
	mkdir "$ROOT/tmp/base-dead"
	bwrap=$(real_bwrap)
	expect_status 1 "$bwrap" --ro-bind / / --proc /proc --dev /dev -- \
		"$WSISO" --root "$ROOT" check --store --repair --json >"$T/store.json" 2>"$T/err"
	matches_schema check-store "$T/store.json"
	[ "$(found folders)" = "failed sessions/$ID/work" ]
	[ "$(found leftovers)" = "warning tmp/base-dead" ]
	grep -q 'could not be repaired: Read-only file system' "$T/store.json"
}

@test "a live session, forks and creates on their way: sound all the time" {
	local i
	make_session
	spec "$ROOT/wsiso.json" "$(cat "$ROOT/wsiso.json")" '{"subagent_isolation": "isolated"}'
	ws exec -d "$ID" -- sh -c 'while :; do echo >>busy; sleep 0.01; done' >/dev/null
	for ((i = 0; i < $(long 2 30); i++)); do
		ws_bg "f$i" create "f$i" --parent "$ID"
		look 0
		wait "$BG"
		look 0
		ws_bg "d$i" delete -f "f$i"
		look 0
		wait "$BG"
	done
}
