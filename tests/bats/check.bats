#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016 # for the shell of a fake bwrap to expand
# shellcheck disable=SC2154 # bats sets stderr
load helpers

# refused_with TEXT: check fails in time, no exec runs, and both say why in a word
refused_with() {
	local before=$SECONDS
	expect_status 1 ws check --json >"$T/check.json"
	[ $((SECONDS - before)) -lt 40 ]
	matches_schema check "$T/check.json"
	[ "$(jq .usable "$T/check.json")" = false ]
	jq -r '.items[] | select(.status == "failed") | .detail + " " + .remedy' "$T/check.json" |
		grep -iq -e "$1"
}

@test "check proves that this host is good, and its JSON is as the schema says" {
	local id
	need_userns
	run --separate-stderr ws check --json
	echo "$output" >"$T/check.json"
	matches_schema check "$T/check.json"
	[ "$(jq -c '.items[] | select(.status == "failed")' "$T/check.json")" = "" ]
	[ "$status" -eq 0 ]
	[ "$(jq .usable "$T/check.json")" = true ]
	[ "$(jq .uid "$T/check.json")" = "$(id -u)" ]
	for id in bwrap userns overlay network enter helpers; do
		[ "$(jq -r --arg id "$id" '.items[] | select(.id == $id) | .status' "$T/check.json")" = ok ]
	done
}

@test "check's table names every item of its JSON" {
	local id
	need_userns
	ws check >"$T/table"
	while read -r id; do
		grep -qw -e "$id" "$T/table"
	done < <(ws check --json | jq -r '.items[].id')
}

@test "the schema of check refuses a failed item without a remedy" {
	need_userns
	ws check --json >"$T/check.json"
	jq '.items[0] |= (.status = "failed" | .remedy = "")' "$T/check.json" >"$T/wrong.json"
	refute matches_schema check "$T/wrong.json"
}

@test "check leaves nothing behind but what it knows about bwrap" {
	need_userns
	ws list >/dev/null
	ws check >/dev/null
	[ -z "$(find "$ROOT/tmp" "$ROOT/trash" -mindepth 1)" ]
	find "$ROOT" | sort >"$T/before"
	ws check >/dev/null
	find "$ROOT" | sort | diff "$T/before" -
}

@test "check without bwrap fails and says what to install" {
	spec "$ROOT/wsiso.json" '{"bwrap": {"path": "/nonexistent/bwrap"}}'
	refused_with bwrap
}

@test "check with a bwrap that is too old fails and names the version" {
	fake_bwrap '[ "$1" = --version ] && echo "bubblewrap 0.9.0"'
	refused_with '0\.12'
}

@test "check with a bwrap that cannot make a namespace fails and names user namespaces" {
	fake_bwrap '[ "$1" = --version ] && echo "bubblewrap 0.12.0" && exit
		[ "$1" = --help ] && echo "--overlay-src --overlay" && exit
		echo "bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted" >&2
		exit 1'
	refused_with 'namespace'
}

@test "check with a bwrap that hangs ends in time" {
	fake_bwrap '[ "$1" = --version ] && echo "bubblewrap 0.12.0" && exit
		[ "$1" = --help ] && echo "--overlay-src --overlay" && exit
		exec sleep 600'
	refused_with 'time\|second'
}

@test "check with a setuid bwrap fails" {
	cp /bin/true "$T/bwrap"
	chmod 4755 "$T/bwrap"
	spec "$ROOT/wsiso.json" "$(jq -n --arg path "$T/bwrap" '{bwrap: {path: $path}}')"
	refused_with setuid
}

@test "check warns of a session's file system on which little is left only" {
	need_userns
	spec "$ROOT/wsiso.json" '{"snapshots": {"min_free_gb": 1000000}}'
	ws check --json >"$T/check.json"
	[ "$(jq -r '.items[] | select(.id | test("space")) | .status' "$T/check.json")" = warning ]
}

@test "check takes no argument" {
	expect_status 2 ws check this
}
