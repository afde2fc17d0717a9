#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The way in, which exec and the commands for files have in common.
load helpers

NET='{"sandbox": {"unshare_net": false}}'

has_open() { find "/proc/$1/fd" -lname "$2" 2>/dev/null | grep -q .; }

# meanwhile FILE NEW COMMAND...: wsiso has read the session, and waits for its mutex while
# FILE of it becomes NEW, at once, as wsiso itself does it; then it may go on
meanwhile() {
	local mutex=$ROOT/sessions/$ID/lock file=$1 new=$2 pid
	shift 2
	exec 7<"$mutex"
	flock 7
	ws_bg way "$@" 7<&-
	pid=$BG
	wait_for 10 has_open "$pid" "$mutex"
	mv "$new" "$ROOT/sessions/$ID/$file"
	exec 7<&-
	wait "$pid"
}

shares_network() {
	[ "$(readlink "/proc/$(init_pid)/ns/net")" = "$(readlink /proc/self/ns/net)" ]
}

@test "a spec that changes as a command comes is read again: exec, cat, ls, cp" {
	local args
	new_session
	for args in "exec $ID -- cat README.md" "cat $ID:README.md" "ls $ID:README.md" \
		"cp $ID:README.md -"; do
		cp "$T/$ID.json" "$ROOT/sessions/$ID/config.json"
		ws stop "$ID"
		spec "$T/next.json" "$(cat "$T/$ID.json")" "$NET"
		# shellcheck disable=SC2086 # words
		meanwhile config.json "$T/next.json" $args || {
			cat "$T/way.err"
			return 1
		}
		grep -q -e hello -e README "$T/way.out"
		shares_network
	done
}

@test "layers that change as a command comes are read again, be they as many as before" {
	local state=$ROOT/sessions/$ID/state.json
	new_session
	new_repo "$T/apart"
	echo other >"$T/apart/README.md"
	hgit -C "$T/apart" commit -qam other
	spec "$T/other.json" "$SPEC_OPEN" "$(repo_spec "$T/apart")"
	ws create other --spec "$T/other.json"
	jq --slurpfile other "$ROOT/sessions/other/state.json" '.stack = $other[0].stack' "$state" >"$T/next.json"
	[ "$(jq '.stack | length' "$T/next.json")" = "$(jq '.stack | length' "$state")" ]
	meanwhile state.json "$T/next.json" exec "$ID" -- cat README.md
	[ "$(cat "$T/way.out")" = other ]
}

@test "a sandbox of another protocol is not entered, and both are named" {
	local record
	new_session
	in_session true
	record=$ROOT/sessions/$ID/sandbox.json
	jq '.protocol = 9999 | .build = "9.9.9"' "$record" >"$T/record"
	cat "$T/record" >"$record"
	[ "$(kind_of exec "$ID" -- true)" = state-version ]
	ws exec "$ID" -- true 2>"$T/err" && return 1
	grep -q "live sandbox of wsiso 9.9.9, which speaks protocol 9999; this is" "$T/err"
	grep -q "wsiso stop $ID" "$T/err"
	ws stop "$ID"
	in_session true
}
