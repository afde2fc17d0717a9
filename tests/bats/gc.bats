#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # bats sets stderr
#
# wsiso gc: what goes, what stays, and that nothing goes on one look. Time is made by time
# stamps: those of the files that wsiso's own clocks are compared with.
load helpers
load create_helpers

setup() {
	ws_setup
	spec "$ROOT/wsiso.json" "$(cat "$ROOT/wsiso.json")" '{"snapshots": {"min_free_gb": 0}}'
}

# ago FILE SECONDS: FILE's change of bytes was then
ago() { touch -m -d "@$(($(date +%s) - $2))" "$1"; }

# unused ID SECONDS: session ID was not used for so long
unused() { ago "$ROOT/sessions/$1/used" "$2"; }

# an_hour_passes ID: the sighting of ID is an hour older, by both clocks
an_hour_passes() {
	local seen=$ROOT/sessions/$1/seen
	touch -a -d "@$(($(stat -c %X "$seen") - 3601))" "$seen.a"
	touch -m -d "@$(($(stat -c %Y "$seen") - 3601))" "$seen.m"
	touch -a -r "$seen.a" "$seen"
	touch -m -r "$seen.m" "$seen"
	rm "$seen.a" "$seen.m"
}

collect() { ws gc --json "$@" >"$T/gc.json"; }

# items KIND ACTION: their ids
items() { jq -r --arg k "$1" --arg a "$2" '.items[] | select(.kind == $k and .action == $a).id' "$T/gc.json"; }

thirty_one_days=$((31 * 86400))

expire() {
	unused "$1" "$thirty_one_days"
	collect
	an_hour_passes "$1"
	collect
}

@test "with nothing to do it does nothing and says nothing" {
	make_session
	find "$ROOT" ! -path "$ROOT" | sort >"$T/before"
	[ -z "$(ws gc)" ]
	collect
	[ "$(jq '.items | length' "$T/gc.json")" = 0 ]
	find "$ROOT" ! -path "$ROOT" ! -path "$ROOT/gc" | sort | diff "$T/before" -
}

@test "a session goes when two runs an hour apart have found it idle for longer than its TTL" {
	make_session
	echo edit >"$ROOT/sessions/$ID/upper/edit"
	unused "$ID" "$thirty_one_days"
	collect
	[ "$(items session noted)" = "$ID" ]
	collect
	[ "$(items session noted)" = "$ID" ]
	matches_schema gc "$T/gc.json"
	[ -e "$ROOT/sessions/$ID/upper/edit" ]
	an_hour_passes "$ID"
	collect
	[ "$(items session removed)" = "$ID" ]
	[ "$(jq .bytes "$T/gc.json")" -gt 0 ]
	[ ! -e "$ROOT/sessions/$ID/upper" ]
	jq -es 'any(.event == "expire")' "$ROOT/journal.jsonl"
}

@test "an expired session says when and why, until it is deleted" {
	make_session
	expire "$ID"
	for cmd in "exec $ID -- true" "ps $ID" "stop $ID" "create $ID --spec $T/$ID.json"; do
		# shellcheck disable=SC2086 # words
		run --separate-stderr ws $cmd
		[ "$status" -eq 3 ] || [ "$status" -eq 125 ]
		[[ "$stderr" == *"expired: not used since 20"*"its edits were removed at 20"* ]]
	done
	[ "$(ws state "$ID" | jq -r .status)" = expired ]
	[ "$(ws list --json | jq -r '.[].status')" = expired ]
	ws delete "$ID"
	ws create "$ID" --spec "$T/$ID.json"
}

@test "what is used, held or live stays" {
	need_userns
	new_session
	ws exec -d "$ID" -- sleep 300
	new_session held
	ws update held --hold "a lawyer asked"
	new_session used
	for id in "$ID" held used; do unused "$id" "$thirty_one_days"; done
	collect
	[ "$(items session noted | xargs)" = "$ID used" ]
	an_hour_passes "$ID"
	an_hour_passes used
	ws exec used -- true
	collect
	[ "$(items session removed)" = "" ]
	[ "$(items session left)" = "$ID" ]
	for id in "$ID" held used; do ws exec "$id" -- git status; done
}

@test "an idle sandbox that only lingers is ended with its session" {
	local init
	need_userns
	new_session
	ws exec "$ID" -- true
	init=$(ws state "$ID" | jq .pid)
	expire "$ID"
	[ "$(items session removed)" = "$ID" ]
	[ ! -e "/proc/$init" ]
}

@test "a session's own TTL counts, and one that was changed later" {
	make_session short '{"snapshots": {"upper_dir_ttl": 10}}'
	make_session escaped '{"snapshots": {"upper_dir_ttl": 10}}'
	make_session long '{"snapshots": {"upper_dir_ttl": 9000000}}'
	make_session changed
	sed -i 's/upper_dir_ttl/upper\\u005fdir_ttl/' "$ROOT/sessions/escaped/config.json"
	spec "$ROOT/sessions/changed/config.json" "$(cat "$ROOT/sessions/changed/config.json")" \
		'{"snapshots": {"upper_dir_ttl": 10}}'
	for id in short long changed escaped; do unused "$id" 100; done
	collect
	[ "$(items session noted | sort | xargs)" = "changed escaped short" ]
	unused long "$thirty_one_days"
	collect
	refute grep -q long "$T/gc.json"
}

@test "F087: no clock that jumps makes a session go" {
	make_session
	# a last use in the future
	unused "$ID" -864000
	collect
	[ "$(items session left)" = "$ID" ]
	# seen by a wall clock that was a year ahead, or behind, or before the last boot
	unused "$ID" "$thirty_one_days"
	for by in 31536000 -31536000; do
		collect
		an_hour_passes "$ID"
		touch -m -d "@$(($(stat -c %Y "$ROOT/sessions/$ID/seen") + by))" "$ROOT/sessions/$ID/seen"
		collect
		[ "$(items session noted)" = "$ID" ]
	done
	[ -e "$ROOT/sessions/$ID/upper" ]
}

@test "a snapshot and its pool go when no session had them for workspace_ttl, layers with them" {
	local key
	make_session
	key=$(jq -r '.repos[0].snapshot' "$ROOT/sessions/$ID/state.json")
	ago "$ROOT/snapshots/$key.lock" 200000
	collect
	[ "$(jq '.items | length' "$T/gc.json")" = 0 ]
	ws delete "$ID"
	collect # its last session ended just now
	[ "$(jq '.items | length' "$T/gc.json")" = 0 ]
	ago "$ROOT/snapshots/$key.lock" 90000
	collect
	[ "$(items snapshot removed)" = "$key" ]
	[ -z "$(items pool removed)" ] # for a day it may be somebody's who has only begun
	for f in "$ROOT"/pools/*.git; do ago "$f" 90000; done
	collect
	[ -n "$(items pool removed)" ]
	[ -z "$(find "$ROOT/layers" "$ROOT/pools" "$ROOT/snapshots" -mindepth 1 ! -name '*.lock')" ]
	ws create "$ID" --spec "$T/$ID.json"
}

@test "workspace_ttl is wsiso.json's, or the most careful of the living sessions'" {
	local key
	make_session
	key=$(jq -r '.repos[0].snapshot' "$ROOT/sessions/$ID/state.json")
	ws delete "$ID"
	new_repo "$T/other"
	spec "$T/careful.json" "$SPEC_OPEN" "$(repo_spec "$T/other")" '{"workspace_ttl": 1000000}'
	ws create careful --spec "$T/careful.json"
	ago "$ROOT/snapshots/$key.lock" 90000
	collect
	[ -z "$(items snapshot removed)" ]
	spec "$ROOT/wsiso.json" "$(cat "$ROOT/wsiso.json")" '{"workspace_ttl": 80000}'
	collect
	[ "$(items snapshot removed)" = "$key" ]
}

@test "a full disk costs orphaned snapshots, the oldest first, and no session anything" {
	local old young
	make_session
	old=$(jq -r '.repos[0].snapshot' "$ROOT/sessions/$ID/state.json")
	ws delete "$ID"
	(cd "$T/app" && echo text >second && hgit add second && hgit commit -qm more)
	make_session young
	young=$(jq -r '.repos[0].snapshot' "$ROOT/sessions/young/state.json")
	ws delete young
	(cd "$T/app" && echo text >>second && hgit commit -qam more)
	make_session "$ID"
	ago "$ROOT/snapshots/$old.lock" 100
	ago "$ROOT/snapshots/$young.lock" 50
	spec "$ROOT/wsiso.json" "$(cat "$ROOT/wsiso.json")" '{"snapshots": {"min_free_gb": 1000000}}'
	run --separate-stderr ws gc --json
	[ "$status" -eq 0 ]
	[ "$(jq -r '.items[] | select(.kind == "snapshot").id' <<<"$output" | xargs)" = "$old $young" ]
	[[ "$stderr" == *"fewer than snapshots.min_free_gb"* ]]
	[ -z "$(lay_together && hgit -C "$T/together/app" status --porcelain)" ]
	[ -e "$T/together/app/second" ]
}

@test "leftovers of the dead go: half-made layers, private ones, trash, folders without a record" {
	make_session
	mkdir -p "$ROOT/tmp/base-dead/root" "$ROOT/trash/old-dead" "$ROOT/layers/git-nobody-0123456789abcdef/root" \
		"$ROOT/layers/base-0000-1111/root" "$ROOT/sessions/empty" "$ROOT/sessions/young" "$ROOT/sessions/full/upper"
	echo '{}' | tee "$ROOT/layers/git-nobody-0123456789abcdef/meta.json" >"$ROOT/layers/base-0000-1111/meta.json"
	echo '{}' >"$ROOT/sessions/young/config.json"
	echo edit >"$ROOT/sessions/full/upper/edit"
	: >"$ROOT/tmp/clone-dead"
	collect
	[ "$(items leftover removed | sort | xargs)" = "tmp/base-dead tmp/clone-dead trash/old-dead" ]
	[ "$(items layer removed | sort | xargs)" = "base-0000-1111 git-nobody-0123456789abcdef" ]
	[ -e "$ROOT/sessions/young/config.json" ] && [ -e "$ROOT/sessions/full/upper/edit" ]
	[ -e "$ROOT/sessions/empty" ] # for a day
	[ -z "$(lay_together && hgit -C "$T/together/app" status --porcelain)" ]
}

@test "a record that cannot be read: nothing that sessions share is removed" {
	make_session
	ws delete "$ID"
	for f in "$ROOT"/snapshots/*.lock; do ago "$f" 1000000; done
	make_session other '{"repos": []}'
	echo '{' >"$ROOT/sessions/other/state.json"
	collect
	[ "$(items session left)" = other ]
	[ -z "$(items snapshot removed)" ]
	rm -r "$ROOT/sessions/other"
	collect
	[ -n "$(items snapshot removed)" ]
}

@test "--dry-run tells what would go, in bytes, and removes nothing" {
	local id
	for id in one two; do make_session "$id"; done
	head -c 1000000 /dev/urandom >"$ROOT/sessions/one/upper/big"
	ws delete two
	unused one "$thirty_one_days"
	collect
	an_hour_passes one
	mkdir "$ROOT/trash/x"
	find "$ROOT" -printf '%p %T@ %i\n' | sort >"$T/before"
	collect --dry-run
	find "$ROOT" -printf '%p %T@ %i\n' | sort | diff "$T/before" -
	[ "$(items session removed)" = one ]
	matches_schema gc "$T/gc.json"
	[ "$(items leftover removed)" = trash/x ]
	[ "$(jq .bytes "$T/gc.json")" -ge 1000000 ]
	collect
	[ ! -e "$ROOT/trash/x" ] && [ ! -e "$ROOT/sessions/one/upper" ]
}

@test "--if-due runs once per cleanup_interval, and never if that is 0" {
	collect --if-due
	[ "$(jq .ran "$T/gc.json")" = true ]
	collect --if-due
	[ "$(jq .ran "$T/gc.json")" = false ]
	ago "$ROOT/gc" 3700
	collect --if-due
	[ "$(jq .ran "$T/gc.json")" = true ]
	ago "$ROOT/gc" -100000 # a clock was wrong
	collect --if-due
	[ "$(jq .ran "$T/gc.json")" = true ]
	spec "$ROOT/wsiso.json" "$(cat "$ROOT/wsiso.json")" '{"snapshots": {"cleanup_interval": 0}}'
	ago "$ROOT/gc" 1000000
	collect --if-due
	[ "$(jq .ran "$T/gc.json")" = false ]
	collect
	[ "$(jq .ran "$T/gc.json")" = true ]
}

@test "two at once: the second is refused, or with --if-due leaves it to the first" {
	collect
	flock "$ROOT/gc" sleep 3 3>&- &
	sleep 0.3
	run --separate-stderr ws gc
	[ "$status" -eq 3 ]
	[[ "$stderr" == *"another gc is at work"* ]]
	collect --if-due
	[ "$(jq .ran "$T/gc.json")" = false ]
	wait
}

@test "it removes a tree of an agent's that has no permissions and no bottom" {
	need_userns
	new_session
	in_session python3 -c '
import os
os.mkdir("/workspace/deep"); os.chdir("/workspace/deep")
for i in range(3000):
    os.mkdir("d" * 10); os.chdir("d" * 10)
os.chmod(".", 0)
os.symlink("/etc", "/workspace/link")'
	ws stop "$ID"
	expire "$ID"
	[ "$(items session removed)" = "$ID" ]
	[ -z "$(ls -A "$ROOT/trash")" ]
	[ -e /etc/passwd ]
}

# killed_after_record ID ARGS...: a create that is stopped for a moment before it renames the
# record of ID into place, and killed right after that, so that it lets go of nothing
killed_after_record() {
	local dir=$ROOT/sessions/$1
	ASAN_OPTIONS=detect_leaks=0 strace -qq -f -o "$T/create.calls" -P "$dir" -e trace=renameat,fsync \
		-e inject=renameat:delay_enter=1500000 -e inject=fsync:signal=KILL \
		"$WSISO" --root "$ROOT" create "$1" </dev/null >"$T/create.out" 2>&1 3>&- &
	wait_for 10 record_is_written "$dir"
}

record_is_written() { compgen -G "$1/.tmp-*" >/dev/null; }

# slow_gc LOCK: one that has read the sessions long before it takes LOCK
slow_gc() {
	ASAN_OPTIONS=detect_leaks=0 strace -qq -f -o "$T/gc.calls" -P "$1" -e trace=flock \
		-e inject=flock:delay_enter=3000000 "$WSISO" --root "$ROOT" gc --json >"$T/gc.json"
}

@test "a snapshot stays that a create was killed over right after it had saved its session" {
	local key
	need_userns
	need_program strace
	new_repo "$T/app"
	spec "$ROOT/wsiso.json" '{"snapshots": {"min_free_gb": 1000000}}'
	(umask 077 && mkdir -p "$ROOT/sessions/killed")
	spec "$ROOT/sessions/killed/config.json" "$SPEC_OPEN" "$(repo_spec "$T/app")"
	key=$(ws snapshot create --spec "$ROOT/sessions/killed/config.json")
	killed_after_record killed
	[ ! -e "$ROOT/sessions/killed/state.json" ]
	slow_gc "$ROOT/snapshots/$key.lock"
	[ -e "$ROOT/sessions/killed/state.json" ]
	grep -q '+++ killed by SIGKILL' "$T/create.calls"
	[ -z "$(items snapshot removed)" ]
	[ "$(ws exec killed -- cat README.md)" = hello ]
}

@test "a setup's layer stays, too" {
	local key
	need_userns
	need_program strace
	new_repo "$T/app"
	mkdir "$T/app/.codumentor"
	echo 'echo made >made' >"$T/app/.codumentor/setup.sh"
	hgit -C "$T/app" add -A
	hgit -C "$T/app" commit -qm setup
	spec "$ROOT/wsiso.json" '{"snapshots": {"min_free_gb": 1000000}}'
	(umask 077 && mkdir -p "$ROOT/sessions/killed")
	spec "$ROOT/sessions/killed/config.json" "$SPEC_OPEN" "$(repo_spec "$T/app")"
	ws snapshot create --setup --spec "$ROOT/sessions/killed/config.json"
	key=$(ws setup list -q)
	killed_after_record killed
	slow_gc "$ROOT/setups/$key.lock"
	grep -q '+++ killed by SIGKILL' "$T/create.calls"
	[ -z "$(items setup removed)" ]
	[ "$(ws exec killed -- cat made)" = made ]
}
