#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # bats sets stderr
# shellcheck disable=SC2016 # the scripts are for the shell inside
#
# wsiso setup: list, log, remove; what warms it, and what gc makes of it.
load helpers
load create_helpers
load setup_helpers

keys() { ws setup list -q; }
states() { ws setup list --json | jq -r '.[].state' | sort | xargs; }
in_state() { [ "$(states)" = "$1" ]; }
gone_setups() { jq -r '.items[] | select(.kind == "setup" and .action == "removed") | .id' "$1" | sort; }

@test "list shows each setup with its state, size, time and users; JSON is as its schema says" {
	setup_repo '[ -e d/k ] || exit 4; head -c 300000 /dev/urandom >big; sleep 0.1'
	create_with first
	create_with second
	hgit -C "$T/app" rm -q d/k
	commit_all
	expect_status 1 create_with third
	ws setup list --json >"$T/list.json"
	matches_schema setup "$T/list.json"
	[ "$(states)" = "done failed" ]
	[ "$(jq -c '.[] | select(.state == "done") | [.repo, .users, .bytes > 300000, .ms >= 100, .cause]' "$T/list.json")" = \
		'["app",["first","second"],true,true,null]' ]
	[ "$(jq -r '.[] | select(.state == "failed") | .cause' "$T/list.json")" = "it ended with status 4" ]
	[ "$(jq -r '.[] | select(.state == "done") | .key' "$T/list.json")" = "$(key_of first)" ]
	diff <(jq -r '.[].key' "$T/list.json") <(keys)
	run --separate-stderr ws setup list
	[ "${#lines[@]}" -eq 2 ]
	[[ "$output" == *$'\tapp\t'*$'\tdone\t'*' KiB'$'\t'*$' s\t'*$'\t2'* ]]
	ws_pty setup list >"$T/tty"
	grep -q '^KEY  *REPO  *REVISION  *STATE  *SIZE  *TIME  *AGE  *LAST USE  *USERS' "$T/tty"
}

@test "log prints what the script wrote; -f goes on until it has ended" {
	setup_repo 'echo begun; while [ ! -e /tmp/x ] && [ "$((n++))" -lt 15 ]; do echo "line $n"; sleep 0.1; done; echo last >&2'
	spec_with "$ID" >/dev/null
	ws_bg c create "$ID" --spec "$T/$ID.json" --progress none
	local create=$BG
	wait_for 10 in_state running
	ws_bg log setup log -f "$(keys)"
	local log=$BG
	# while it is written
	wait_for 10 grep -q 'line 3' "$T/log.out"
	refute grep -q last "$T/log.out"
	[ "$(states)" = running ]
	ws setup log "$(keys)" | grep -q begun
	wait "$create"
	wait "$log"
	[ "$(head -n 1 "$T/log.out")" = "wsiso: setup of 'app' by '.codumentor/setup.sh'" ]
	[ "$(grep -c '^line' "$T/log.out")" -eq 15 ]
	[[ "$(tail -n 1 "$T/log.out")" == "wsiso: done after "* ]]
	diff "$T/log.out" <(ws setup log "$(keys)")
	diff "$T/log.out" <(ws setup log --follow "$(keys)")
	[ "$(kind_of setup log 00000000000000000000000000000000)" = base-missing ]
}

@test "remove refuses what is used, made or taken; it takes a done one and forgets a failed one" {
	setup_repo 'echo begun; sleep 1; [ -e d/k ]'
	spec_with "$ID" >/dev/null
	ws_bg c create "$ID" --spec "$T/$ID.json"
	wait_for 10 in_state running
	local key
	key=$(keys)
	[ "$(kind_of setup remove "$key")" = session-busy ]
	wait "$BG"
	run --separate-stderr ws setup remove "$key"
	[ "$status" -eq 3 ]
	[[ "$stderr" == "wsiso: setup: setup '$key' is used by $ID"* ]]
	in_session test -e d/k
	ws delete -f "$ID"
	ws setup remove "$key"
	[ -z "$(keys)" ] && [ "$(setup_layers)" -eq 0 ]
	empty_below setups
	hgit -C "$T/app" rm -q d/k
	commit_all
	expect_status 1 create_with bad
	ws setup remove "$(keys)"
	expect_status 1 create_with worse
	[ "$(events worse)" = "started failed" ]
}

@test "wrong use is told" {
	for args in '' 'list x' 'remove' 'remove x' 'log' 'log x' 'lis' 'list -f' 'log --json 00000000000000000000000000000000' \
		'remove --quiet 00000000000000000000000000000000'; do
		# shellcheck disable=SC2086 # words
		[ "$(kind_of setup $args)" = usage ]
	done
	[ "$(kind_of setup remove 00000000000000000000000000000000)" = base-missing ]
	[ "$(kind_of create "$ID" --progress loud)" = usage ]
	[ "$(kind_of snapshot list --progress json)" = usage ]
	[ -z "$(keys)" ]
}

@test "snapshot create --setup makes what the next session finds" {
	setup_repo 'echo made >made'
	spec_with "$ID" >/dev/null
	ws snapshot create --spec "$T/$ID.json" --setup --json --progress json >"$T/made.json" 2>"$T/made.err"
	matches_schema snapshot "$T/made.json"
	[ "$(events made)" = "started done" ]
	[ "$(jq -r '.[].setup' "$T/made.json")" = "$(keys)" ]
	[ "$(states)" = "done" ]
	create_with "$ID"
	[ "$(events "$ID")" = reused ]
	[ "$(in_session cat made)" = made ]
	# without it, or where the spec says no: not run
	change_script 'echo other >made'
	ws snapshot create --spec "$T/$ID.json" --json >"$T/made.json"
	[ "$(jq -r '.[].setup' "$T/made.json")" = null ]
	for key in auto_build enabled; do
		spec_with no "{\"project_setup\": {\"$key\": false}}" >/dev/null
		ws snapshot create --spec "$T/no.json" --setup 2>"$T/no.err"
		grep -q "'project_setup.$key' is false" "$T/no.err"
	done
	[ "$(keys | wc -l)" -eq 1 ]
	change_script 'exit 5'
	[ "$(kind_of snapshot create --spec "$T/$ID.json" --setup)" = setup-failed ]
	[ "$(kind_of snapshot create --spec "$T/$ID.json" --setup --repo nosuch)" = usage ]
	[ "$(states)" = "done failed" ]
}

# ---- gc ----

# old_setups N SIZE: N unused ones of SIZE bytes, the first is the oldest; their keys in order
old_setups() {
	local n
	for n in $(seq "$1"); do
		change_script "head -c $2 /dev/urandom >big; echo $n"
		spec_with warm >/dev/null
		ws snapshot create --spec "$T/warm.json" --setup --json | jq -r '.[0].setup' >>"$T/keys"
		touch -d "-$((100 - n)) min" "$ROOT/setups/$(tail -n 1 "$T/keys").lock"
	done
	cat "$T/keys"
}

@test "gc keeps a repo's setups within its budget: the least recently used go, none in use" {
	setup_repo true
	old_setups 4 100000 >"$T/order"
	create_with user # stands on the last
	touch -d '-300 min' "$ROOT/setups/$(key_of user).lock"
	[ "$(key_of user)" = "$(tail -n 1 "$T/order")" ]
	ws gc --json >"$T/gc.json"
	[ -z "$(gone_setups "$T/gc.json")" ]
	spec "$ROOT/wsiso.json" '{"linger_s": 10, "project_setup": {"cache_budget_bytes": 250000}}'
	ws gc --json --dry-run >"$T/dry.json"
	[ "$(keys | wc -l)" -eq 4 ]
	ws gc --json >"$T/gc.json"
	matches_schema gc "$T/gc.json"
	diff <(gone_setups "$T/gc.json") <(head -n 2 "$T/order" | sort)
	diff <(gone_setups "$T/dry.json") <(gone_setups "$T/gc.json")
	diff <(keys) <(tail -n 2 "$T/order" | sort)
	[ "$(setup_layers)" -eq 2 ]
	spec "$ROOT/wsiso.json" '{"linger_s": 10, "project_setup": {"cache_budget_bytes": 0}}'
	ws gc
	[ "$(keys)" = "$(key_of user)" ]
	ws exec user -- test -s big
	# where wsiso.json is silent, the most careful session counts
	ws delete -f user
	new_root_spec='{"linger_s": 10}'
	spec "$ROOT/wsiso.json" "$new_root_spec"
	create_with small '{"project_setup": {"cache_budget_bytes": 1}}'
	old_setups 2 100000 >/dev/null
	ws gc
	[ "$(keys | wc -l)" -ge 3 ]
}

@test "gc forgets failures after failed_ttl_s, and what was lost at once" {
	setup_repo 'exit 1'
	expect_status 1 create_with "$ID"
	ws gc
	[ "$(states)" = failed ]
	spec "$ROOT/wsiso.json" '{"linger_s": 10, "project_setup": {"failed_ttl_s": 1}}'
	sleep 1.1
	ws gc --json >"$T/gc.json"
	[ "$(gone_setups "$T/gc.json" | wc -l)" -eq 1 ]
	[ -z "$(ls "$ROOT/setups")" ]
	change_script 'echo begun; sleep 30'
	spec_with lost >/dev/null
	ws_bg c create lost --spec "$T/lost.json"
	wait_for 10 has_begun
	ws gc
	in_state running
	kill -KILL "$BG"
	wait_for 10 no_process_left
	in_state lost
	ws gc --json >"$T/gc.json"
	[ "$(gone_setups "$T/gc.json" | wc -l)" -eq 1 ]
	empty_below setups tmp trash
}

@test "gc under disk pressure takes unused setups and snapshots, never what a session has" {
	setup_repo true
	old_setups 2 50000 >"$T/order"
	create_with user
	spec "$ROOT/wsiso.json" '{"linger_s": 10, "snapshots": {"min_free_gb": 1000000}}'
	ws gc --json >"$T/gc.json" 2>/dev/null
	[ "$(gone_setups "$T/gc.json")" = "$(head -n 1 "$T/order")" ]
	[ "$(keys)" = "$(key_of user)" ]
	ws exec user -- test -s big
}

@test "a damaged record is as good as none; one of a newer wsiso is left alone" {
	setup_repo 'echo made >made'
	create_with first
	local record
	record=$(ls "$ROOT"/setups/*.json)
	echo '{' >"$record"
	create_with second
	[ "$(events second)" = "started done" ]
	ws gc
	for id in first second; do [ "$(ws exec "$id" -- cat made)" = made ]; done
	jq '.version = 99' "$record" >"$T/new.json"
	cat "$T/new.json" >"$record"
	[ "$(kind_of create third --spec "$T/first.json")" = state-version ]
	ws delete -f first
	ws delete -f second
	ws gc --json >"$T/gc.json"
	cmp "$T/new.json" "$record"
	[ "$(setup_layers)" -eq 2 ]
}

@test "create, delete, setup remove and gc at once: what was made works" {
	setup_repo 'echo made >made'
	spec "$ROOT/wsiso.json" '{"linger_s": 1, "workspace_ttl": 1, "project_setup": {"cache_budget_bytes": 0}}'
	spec_with "$ID" >/dev/null
	local end=$((SECONDS + $(long 3 60))) n
	for n in 1 2; do
		(while [ "$SECONDS" -lt "$end" ]; do
			ws create "r$n" --spec "$T/$ID.json" && ws exec "r$n" -- grep -q made made &&
				ws delete -f "r$n" || {
				echo "round of r$n failed"
				exit 1
			}
		done) >"$T/loop$n" 2>&1 &
		eval "loop$n=$!"
	done
	while [ "$SECONDS" -lt "$end" ]; do
		ws gc >/dev/null 2>&1 || true
		keys | while read -r key; do ws setup remove "$key" 2>/dev/null || true; done
	done
	# shellcheck disable=SC2154 # set by eval
	wait "$loop1" && wait "$loop2" || {
		cat "$T"/loop?
		false
	}
}

@test "kill -9 at any moment of a setup leaves nothing half-made in use" {
	setup_repo 'mkdir -p many; for i in $(seq 60); do echo $i >many/$i; done; echo made >made'
	spec_with "$ID" >/dev/null
	for n in $(seq "$(long 8 100)"); do
		ws_bg c create "k$n" --spec "$T/$ID.json"
		sleep "0.0$((RANDOM % 10))$((RANDOM % 10))"
		sleep "0.0$((RANDOM % 10))"
		kill -KILL "$BG" 2>/dev/null || true
		wait "$BG" 2>/dev/null || true
		if [ $((n % 2)) -eq 0 ]; then
			keys | while read -r key; do ws setup remove "$key" 2>/dev/null || true; done
		fi
	done
	create_with whole
	[ "$(ws exec whole -- sh -c 'ls many | wc -l; cat made' | xargs)" = "60 made" ]
	wait_for 15 no_setup_lives
	ws gc >/dev/null
	[ "$(setup_layers)" -eq "$(keys | wc -l)" ]
	empty_below tmp trash
}
