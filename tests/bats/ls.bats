# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The folders of a session.
load helpers

names() { ws ls "$@" --json | jq -r '.entries[].name'; }

@test "ls lists where commands start, a folder, or one file" {
	new_session
	in_session sh -c 'echo x >.hidden; rm tool.sh'
	[ "$(names "$ID:" | tr '\n' ' ')" = ".git .hidden README.md d link src with blank " ]
	[ "$(names "$ID:/workspace")" = app ]
	[ "$(ws ls "$ID:d" | awk '{ print $4 }' | tr '\n' ' ')" = "f g1 g2 k " ]
	run ws ls "$ID:README.md"
	[[ "$output" == "-rw-r--r--	6	"*"	README.md" ]]
	run ws ls "$ID:"
	[[ "$output" == *"lrwxrwxrwx	9	"*"	link -> README.md"* ]]
}

@test "ls --json is as its schema says, for names of any bytes too" {
	new_session
	in_session sh -c 'mkfifo pipe; touch "$(printf "x\377\n")"; ln -s "$(printf "t\376")" l'
	ws ls "$ID:" --json >"$T/ls.json"
	matches_schema file "$T/ls.json"
	[ "$(jq -r '.entries[] | select(.name_base64) | .name_base64' "$T/ls.json" | base64 -d | od -An -tx1 | tr -d ' ')" = 78ff ]
	[ "$(jq -r '.entries[] | select(.name == "pipe") | .type' "$T/ls.json")" = fifo ]
	jq '.entries[0].type = "star"' "$T/ls.json" >"$T/wrong.json"
	refute matches_schema file "$T/wrong.json"
}

@test "links lead nowhere outside, FIFOs are described, not opened" {
	new_session
	in_session sh -c 'ln -s /etc out; ln -s / root; ln -s d in; mkfifo pipe; ln -s /nope dangling'
	[ "$(kind_of ls "$ID:out")" = usage ]
	[ "$(kind_of ls "$ID:root/etc")" = usage ]
	[ "$(kind_of ls "$ID:/")" = usage ]
	[ "$(names "$ID:in" | head -n 1)" = f ]
	[ "$(ws ls --json "$ID:pipe" | jq -r .type)" = fifo ]
	[ "$(ws ls --json "$ID:dangling" | jq -r .target)" = /nope ]
	expect_status 1 ws ls "$ID:nope"
}

@test "--rescue lists what the layers together show" {
	new_session
	in_session sh -c 'rm d/f; echo n >d/n; rm -r src; mkdir src; touch src/only; chmod 000 src'
	local live
	live=$(names "$ID:d")
	ws stop -t 0 "$ID"
	fake_bwrap 'exit 1'
	[ "$(names --rescue "$ID:d")" = "$live" ]
	[ "$(names --rescue "$ID:src")" = only ]
	[ "$(names --rescue "$ID:/workspace")" = app ]
	[ "$(kind_of ls --rescue "$ID:/etc")" = usage ]
}

@test "a folder of 20,000 names is listed" {
	new_session
	in_session sh -c 'mkdir many; cd many; seq 20000 | xargs touch'
	[ "$(names "$ID:many" | wc -l)" -eq 20000 ]
}
