#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # bats sets stderr
#
# What makes, shares and removes layers is killed, or a call of its fails, at any moment: the
# sessions open with their edits, nothing half-made is used, and a later gc leaves nothing.
# WSISO_TEST_SEED=N repeats a run, as far as a machine repeats itself.
load helpers
load create_helpers

# what writes, makes lasting, names or removes
FAULTS="write pwrite64 fsync syncfs rename renameat2 linkat link mkdir mkdirat unlinkat
	ftruncate copy_file_range symlinkat utimensat fchmod fchmodat"

setup() {
	ws_setup
	need_userns
	RANDOM=${WSISO_TEST_SEED:-$RANDOM}
	SEED=$RANDOM
	RANDOM=$SEED
	echo "# $BATS_TEST_DESCRIPTION: seed $SEED" >&3
	spec "$ROOT/wsiso.json" '{"linger_s": 1, "workspace_ttl": 1, "snapshots": {"min_free_gb": 0}, "subagent_isolation": "isolated"}'
	hgit init -q "$T/app"
	mkdir "$T/app/fill"
	for ((i = 0; i < 60; i++)); do echo "$i" >"$T/app/fill/$i"; done
	next_commit
	spec "$T/spec.json" "$SPEC_OPEN" "$(repo_spec "$T/app")"
	ws create keep --spec "$T/spec.json"
	ws exec keep -- sh -c 'echo edit >edit; echo more >>fill/3; rm fill/4'
}

next_commit() {
	echo "$RANDOM $RANDOM" >>"$T/app/fill/$((RANDOM % 60))"
	hgit -C "$T/app" add -A
	hgit -C "$T/app" commit -q -m next
}

keeps() { [ "$(ws exec keep -- sh -c 'cat edit; tail -n 1 fill/3; ls fill | wc -l' | xargs)" = "edit more 59" ]; }

# right ID: it has what the repository has
right() {
	[ -z "$(ws exec "$1" -- git status --porcelain)" ]
	diff <(cd "$T/app/fill" && cat -- *) <(ws exec "$1" -- sh -c 'cd fill && cat *')
}

# made ID: whatever came of its create, now it is there and right
made() {
	if [ ! -e "$ROOT/sessions/$1/state.json" ] || [ "$(state_of "$1")" = blocked ]; then
		ws create "$1" --spec "$T/spec.json" --retry
	fi
	right "$1"
}

# Each layer that somebody has is there, and nothing else is; nothing is half-made.
sound() {
	local names
	names=$(cat "$ROOT"/snapshots/*.json "$ROOT"/sessions/*/state.json |
		jq -r '(.layers // .stack)[]' | sort -u)
	names=$( (echo "$names" && cat "$ROOT"/setups/*.json 2>/dev/null | jq -r '.layer // empty') | sort -u)
	diff <(echo "$names") <(ls "$ROOT/layers")
	for layer in $names; do [ -e "$ROOT/layers/$layer/meta.json" ]; done
	[ -z "$(find "$ROOT/tmp" "$ROOT/trash" -mindepth 1)" ]
	[ "$(cat "$ROOT"/snapshots/*.json | jq -s 'any(.building)')" = false ]
}

# gc until what only waits is gone, and all is sound
comes_to_rest() {
	sleep 1.2
	ws gc >"$T/gc.log"
	ws gc >"$T/gc.log"
	sound
	ws check --store >"$T/store"
	keeps
}

doomed() {
	case $1 in
	create) ws_bg doomed create "$2" --spec "$T/spec.json" ;;
	snapshot) ws_bg doomed snapshot create --spec "$T/spec.json" ;;
	gc) ws_bg doomed gc ;;
	delete) ws_bg doomed delete -f "$2" ;;
	esac
}

# what a gc has to do
make_garbage() {
	next_commit
	ws create old --spec "$T/spec.json"
	[ -z "${1:-}" ] || return 0
	ws delete -f old
	sleep 1.1
}

only_gc_and_helper_left() { [ -z "$(tagged_named wsiso-git)" ] && [ -z "$(tagged_named wsiso)" ]; }

@test "kill -9 at random moments of create, snapshot create, gc and delete" {
	local n i id what ms=60 landed=0
	n=$(long 6 300)
	for ((i = 1; i <= n; i++)); do
		what=$(sed "$((1 + i % 4))q;d" <<<$'create\nsnapshot\ngc\ndelete')
		id=k$i
		case $what in
		gc) make_garbage ;;
		delete)
			make_garbage keep
			id=old
			;;
		*) next_commit ;;
		esac
		doomed "$what" "$id"
		sleep "0.$(printf %03d $((RANDOM % ms)))"
		kill -KILL "$BG" 2>/dev/null && landed=$((landed + 1))
		wait "$BG" 2>/dev/null || true
		wait_for 5 only_gc_and_helper_left
		keeps || { echo "round $i: $what"; return 1; }
		made "k$i" || { echo "round $i: $what"; return 1; }
		ws delete -f "k$i"
		[ ! -e "$ROOT/sessions/old" ] || ws delete -f old
	done
	[ "$landed" -gt 0 ]
	comes_to_rest
}

# faulty CALL N ERROR ARGS...: the N-th CALL of any one thread fails; $T/faults says which did
faulty() {
	local call=$1 n=$2 error=$3
	shift 3
	ASAN_OPTIONS=detect_leaks=0 timeout -k 5 60 strace -qq -f -o "$T/faults" \
		-e trace="$call" -e inject="$call:error=$error:when=$n" \
		"$WSISO" --root "$ROOT" "$@" 2>"$T/err"
}

# calls_of ARGS...: lines "CALL N" for each call that could fail
calls_of() {
	ASAN_OPTIONS=detect_leaks=0 strace -qq -f -o "$T/calls" \
		-e trace="$(xargs <<<"$FAULTS" | tr ' ' ,)" "$WSISO" --root "$ROOT" "$@" >/dev/null
	awk -F'[ (]+' '{ n[$1 " " $2]++ } END { for (k in n) { split(k, p, " "); if (n[k] > most[p[2]]) most[p[2]] = n[k] }
		for (c in most) if (c ~ /^[a-z]/) for (i = 1; i <= most[c]; i++) print c, i }' "$T/calls" |
		sort | shuf --random-source=<(yes "$SEED")
}

# each_fault FEW WHAT: for each call of it that could fail, or FEW of them
each_fault() {
	local few=$1 i=0 call n error status
	while read -r call n <&7; do
		i=$((i + 1))
		[ "${WSISO_LONG:-}" = 1 ] || [ "$i" -le "$few" ] || break
		error=$(sed "$((1 + i % 2))q;d" <<<$'ENOSPC\nEIO')
		status=0
		"$2" "$call" "$n" "$error" || status=$?
		[ "$status" -eq 0 ] || {
			echo "$2: $call $n $error"
			cat "$T/err"
			return 1
		}
	done 7<"$T/list"
	[ "$i" -gt 0 ]
}

# told STATUS: it went well, or says what went wrong, and that is no flaw of wsiso's own
told() {
	[ "$1" -lt 124 ]
	[ "$1" -eq 0 ] || grep -q '^wsiso: ' "$T/err" || grep -q ' write(2, .*INJECTED' "$T/faults"
	refute grep -q -i -e sanitizer -e internal "$T/err"
}

create_fault() {
	local status=0
	next_commit
	faulty "$@" create f --spec "$T/spec.json" || status=$?
	told "$status"
	[ "$status" -ne 0 ] || right f
	keeps
	made f
	ws delete -f f
}

gc_fault() {
	local status=0
	make_garbage
	faulty "$@" gc >"$T/out" || status=$?
	told "$status"
	keeps
	made f
	ws delete -f f
}

delete_fault() {
	local status=0
	make_garbage keep
	faulty "$@" delete -f old || status=$?
	told "$status"
	keeps
	ws delete -f old 2>"$T/err" || [ ! -e "$ROOT/sessions/old" ]
	made f
	ws delete -f f
}

@test "each write, sync, rename and link of create fails once" {
	need_program strace
	next_commit
	calls_of create f --spec "$T/spec.json" >"$T/list"
	ws delete -f f
	each_fault 6 create_fault
	comes_to_rest
}

@test "each of gc's fails once" {
	need_program strace
	make_garbage
	calls_of gc >"$T/list"
	each_fault 3 gc_fault
	comes_to_rest
}

@test "each of delete's fails once" {
	need_program strace
	make_garbage keep
	calls_of delete -f old >"$T/list"
	each_fault 3 delete_fault
	comes_to_rest
}

setup_fault() {
	local status=0
	next_commit
	faulty "$@" snapshot create --setup --spec "$T/spec.json" >"$T/out" || status=$?
	told "$status"
	keeps
	made f
	[ "$(ws exec f -- cat made)" = made ]
	ws delete -f f
}

@test "each of a setup's fails once, the script's and its sandbox's own among them" {
	need_program strace
	mkdir "$T/app/.codumentor"
	echo 'mkdir dir && echo made >made' >"$T/app/.codumentor/setup.sh"
	printf '/made\n/dir\n' >"$T/app/.gitignore"
	next_commit
	calls_of snapshot create --setup --spec "$T/spec.json" >"$T/list"
	each_fault 4 setup_fault
	comes_to_rest
}

# work_of ID: what its numbered files say, and how many there are
work_of() { ws exec "$1" -- sh -c 'cat work/* 2>/dev/null | uniq -c; ls fill | wc -l' | xargs; }

# make_child: one of keep's, whose work is one file more than what came before
make_child() {
	WAS=$(work_of keep)
	ws create child --parent keep
	ws exec child -- sh -c 'mkdir -p work; touch "work/$(ls work | wc -l)"; n=$(ls work | wc -l)
		for f in work/*; do echo "$n" >"$f"; done; ln -sfn "$n" link'
	NOW=$(work_of child)
	[ "$WAS" != "$NOW" ]
	ws stop keep
}

merged_or_not() {
	local seen
	seen=$(work_of keep)
	[ "$seen" = "$NOW" ] || { [ "$1" -ne 0 ] && [ "$seen" = "$WAS" ]; }
	[ "$(work_of child)" = "$NOW" ]
	keeps
}

brings_it() {
	ws merge child >"$T/out"
	[ "$(work_of keep)" = "$NOW" ]
	[[ "$(ws merge child)" == noop:* ]]
	ws delete -f child
}

merge_fault() {
	local status=0
	make_child
	faulty "$@" merge child >"$T/out" || status=$?
	told "$status"
	merged_or_not "$status"
	ws stop keep
	brings_it
}

@test "each of a merge's fails once: the parent is merged or unchanged, and the next one brings it" {
	need_program strace
	make_child
	calls_of merge child >"$T/list"
	ws delete -f child
	each_fault 4 merge_fault
	comes_to_rest
}

# the calls of what works inside are among them
live_merge_fault() {
	local status=0
	make_child
	ws exec -d keep -- sleep 1000
	faulty "$@" merge child >"$T/out" || status=$?
	told "$status"
	merged_or_not "$status"
	[ "$(state_of keep)" = running ]
	brings_it
	[ -z "$(ws exec keep -- find . -name '.wsiso*')" ]
	ws stop keep -t 0
}

@test "each of a live merge's fails once: the next call finishes it, or nothing was done" {
	need_program strace
	make_child
	ws exec -d keep -- sleep 1000
	calls_of merge child >"$T/list"
	ws stop keep -t 0
	ws delete -f child
	each_fault 3 live_merge_fault
	comes_to_rest
}
