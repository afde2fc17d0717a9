#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016 # for the shell inside to expand
#
# Several merges at once: of one child, and of siblings into one parent.
load helpers

setup() {
	ws_setup
	spec "$ROOT/wsiso.json" '{"linger_s": 10, "subagent_isolation": "isolated"}'
	new_session
}

# together CHILD...: a merge of each, all at once; $T/said has "STATUS WORD" for each
together() {
	local child n status pids=()
	for child; do
		ws_bg "m${#pids[@]}" merge "$child"
		pids+=("$BG")
	done
	for n in "${!pids[@]}"; do
		status=0
		wait "${pids[n]}" || status=$?
		cat "$T/m$n.err"
		echo "$status $(sed -nE 's/^(merged|noop|conflicts): .*/\1/p' "$T/m$n.out")"
	done >"$T/together"
	grep '^[0-9]' "$T/together" | sort >"$T/said"
}

said() { [ "$(xargs <"$T/said")" = "$1" ] || { cat "$T/together"; return 1; }; }

@test "merges of one child at once: one brings it, the others find it done" {
	local i
	for i in $(seq "$(long 2 100)"); do
		ws create child --parent "$ID"
		ws exec child -- sh -c "echo $i >>README.md; echo $i >n; mkdir d/$i"
		# every other time the parent has live commands
		[ $((i % 2)) -eq 1 ] || ws exec -d "$ID" -- sleep 1000
		together child child child
		said "0 merged 0 noop 0 noop"
		[ "$(in_session sh -c 'tail -n 1 README.md; cat n; ls -d d/[0-9]* | wc -l' | xargs)" = "$i $i $i" ]
		ws stop "$ID" -t 0
		ws delete -f child
	done
	[ "$(in_session wc -l README.md)" = "$((1 + i)) README.md" ]
}

@test "siblings merged at once: each brings its work, or is told of its conflict" {
	local i k children
	for i in $(seq "$(long 1 50)"); do
		children=()
		for k in 1 2 3; do
			ws create "k$k" --parent "$ID"
			ws exec "k$k" -- sh -c "echo $i >of$k; echo $i.$k >n"
			children+=("k$k")
		done
		[ $((i % 2)) -eq 1 ] || ws exec -d "$ID" -- sleep 1000
		together "${children[@]}"
		# the first has n, the two others are held back by it, whole
		said "0 merged 4 conflicts 4 conflicts"
		[ "$(in_session sh -c "grep -l '^$i\$' of1 of2 of3 2>/dev/null | wc -l")" -eq 1 ]
		k=$(in_session cat n)
		[ "$(in_session cat "of${k#*.}") ${k%.*}" = "$i $i" ]
		for k in 1 2 3; do
			ws merge "k$k" >"$T/out" || ws merge "k$k" --resolve app/n=@theirs >"$T/out"
		done
		[ "$(in_session cat of1 of2 of3 | xargs)" = "$i $i $i" ]
		ws stop "$ID" -t 0
		for k in 1 2 3; do ws delete -f "k$k"; done
	done
}
