#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # bats sets stderr
#
# Several at once on one root, and roots that are odd: TTLs of a second, a disk that counts as
# full, another host's sandbox, a root that cannot be written to.
load helpers
load create_helpers

setup() {
	ws_setup
	need_userns
	# what is free is never enough, so all that no session has goes at once
	spec "$ROOT/wsiso.json" '{"linger_s": 1, "workspace_ttl": 1, "snapshots": {"min_free_gb": 1000000}}'
}

# revisions N: of $T/app, each a few paths away from the next: $T/r0.json and so on
revisions() {
	local i
	hgit init -q "$T/app"
	mkdir "$T/app/fill"
	for ((i = 0; i < 60; i++)); do echo "$i" >"$T/app/fill/$i"; done
	for ((i = 0; i < $1; i++)); do
		echo "$i" >"$T/app/number"
		hgit -C "$T/app" add -A
		hgit -C "$T/app" commit -q -m "$i"
		spec "$T/r$i.json" "$SPEC_OPEN" \
			"$(one_repo '{"revision": "'"$(hgit -C "$T/app" rev-parse HEAD)"'"}')"
	done
}

# works_on NAME: until END, sessions are made, used and deleted; their number is in $T/NAME.n
works_on() {
	local i=0 id number
	while [ "$SECONDS" -lt "$END" ]; do
		id=$1-$i
		number=$((RANDOM % 4))
		ws create "$id" --spec "$T/r$number.json" || return 1
		[ "$(ws exec "$id" -- sh -c 'cat number; echo edit >edit; ls fill | wc -l' | xargs)" = "$number 60" ] || return 1
		[ "$(ws exec "$id" -- git status --porcelain)" = '?? edit' ] || return 1
		ws delete -f "$id" || return 1
		i=$((i + 1))
	done
	echo "$i" >"$T/$1.n"
}

# collects: until END, whatever can go goes
collects() {
	while [ "$SECONDS" -lt "$END" ]; do
		ws gc >"$T/gc.log" || return 1
	done
}

removes() {
	local key
	while [ "$SECONDS" -lt "$END" ]; do
		for key in $(ws snapshot list -q); do
			ws snapshot remove "$key" || [ $? -eq 3 ] || [ ! -e "$ROOT/snapshots/$key.json" ] || return 1
		done
		sleep 0.2
	done
}

@test "create, exec, delete, gc and snapshot remove against each other: none fails, nothing live goes" {
	local job pids=()
	revisions 4
	ws create keep --spec "$T/r0.json"
	ws exec keep -- sh -c 'echo edit >edit'
	END=$((SECONDS + $(long 4 60)))
	for job in 'works_on a' 'works_on b' collects removes; do
		$job >"$T/${job/ /}.log" 2>&1 3>&- &
		pids+=("$!")
	done
	for job in "${pids[@]}"; do
		wait "$job" || {
			tail -n 3 "$T"/*.log
			return 1
		}
	done
	[ "$(cat "$T/a.n")" -gt 0 ]
	[ "$(cat "$T/b.n")" -gt 0 ]
	[ "$(ws exec keep -- sh -c 'cat edit number; ls fill | wc -l' | xargs)" = "edit 0 60" ]
	sleep 1.1
	ws gc
	diff <(ls "$ROOT/layers") <(state_of keep '.wsiso.stack[]' | sort)
}

@test "a live sandbox that another host or boot has made keeps its session" {
	revisions 1
	ws create "$ID" --spec "$T/r0.json"
	ws exec -d "$ID" -- sleep 60
	jq '.boot = "00000000-0000-0000-0000-000000000000"' "$ROOT/sessions/$ID/sandbox.json" >"$T/other"
	[ "$(jq .boot "$ROOT/sessions/$ID/sandbox.json")" != null ]
	cp "$ROOT/sessions/$ID/sandbox.json" "$T/true"
	cp "$T/other" "$ROOT/sessions/$ID/sandbox.json"
	touch -m -d @1 "$ROOT/sessions/$ID/used"
	ws gc
	touch -a -d "@$(($(stat -c %X "$ROOT/sessions/$ID/seen") - 3601))" "$T/a"
	touch -m -d "@$(($(stat -c %Y "$ROOT/sessions/$ID/seen") - 3601))" "$T/m"
	touch -a -r "$T/a" "$ROOT/sessions/$ID/seen"
	touch -m -r "$T/m" "$ROOT/sessions/$ID/seen"
	ws gc --json >"$T/gc.json"
	[ "$(jq -r '.items[] | select(.kind == "session") | .action' "$T/gc.json")" = left ]
	expect_status 3 ws delete -f "$ID" 2>"$T/err"
	grep -q "another host" "$T/err"
	[ -e "$ROOT/sessions/$ID/upper" ]
	cp "$T/true" "$ROOT/sessions/$ID/sandbox.json"
	[ "$(ws exec "$ID" -- cat number)" = 0 ]
}

# folders that nobody may look into aside (work/work)
root_look() { (cd "$ROOT" && find . -printf '%p %y %m %s %T@\n' 2>/dev/null | sort); }

# read_only ARGS...: on a root that cannot be written to
read_only() {
	timeout 30 "$(real_bwrap)" --dev-bind / / --ro-bind "$ROOT" "$ROOT" --proc /proc -- \
		"$WSISO" --root "$ROOT" "$@"
}

@test "a root that cannot be written to: what only reads works, the others say why" {
	revisions 1
	ws create "$ID" --spec "$T/r0.json"
	ws exec "$ID" -- sh -c 'echo edit >edit'
	ws stop "$ID"
	ws diff "$ID" >"$T/diff"
	key=$(basename "$ROOT"/snapshots/*.json .json)
	root_look >"$T/before"
	[ "$(read_only list -q)" = "$ID" ]
	read_only state "$ID" | jq -e '.status == "stopped"'
	[ "$(read_only snapshot list --json | jq '.[0].own_bytes > 100000')" = true ]
	read_only diff "$ID" | diff "$T/diff" -
	for args in gc "create x --spec $T/r0.json" "exec $ID -- true" "delete $ID" \
		"snapshot remove $key"; do
		# shellcheck disable=SC2086 # words
		run --separate-stderr read_only $args
		[ "$status" -ne 0 ]
		[[ "$stderr" == *"ead-only file system"* ]] || {
			echo "$args: $stderr"
			return 1
		}
	done
	root_look | diff "$T/before" -
	[ "$(ws exec "$ID" -- cat edit)" = edit ]
}
