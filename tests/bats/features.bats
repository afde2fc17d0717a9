#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # bats sets stderr
load helpers

@test "features are as their schema says" {
	ws features >"$T/features.json"
	matches_schema features "$T/features.json"
}

@test "the schema of features refuses an error kind that is not of the closed list" {
	ws features | jq '.error_kinds[0] = "new-kind"' >"$T/wrong.json"
	refute matches_schema features "$T/wrong.json"
	ws features | jq 'del(.error_kinds[0])' >"$T/wrong.json"
	refute matches_schema features "$T/wrong.json"
}

@test "features name the version that --version prints" {
	[ "$(ws --version | awk '{ print $NF }')" = "$(ws features | jq -r .version)" ]
	[ "$(ws -V)" = "$(ws --version)" ]
	[ "$(ws -v)" = "$(ws --version)" ]
}

@test "features say what is built" {
	[ "$(ws features | jq -c '.parts | [.overlay, .git, .merge]')" = '[true,true,true]' ]
}

@test "features name the filters, what they must be, and that log refuses nothing" {
	local folder machine name
	ws features | jq .seccomp >"$T/seccomp"
	[ "$(jq -c '[.default, .filters.log.refuses, .filters.enforce.refuses]' "$T/seccomp")" = \
		'["log",false,true]' ]
	folder=$(jq -r .folder "$T/seccomp")
	machine=$(jq -r .machine "$T/seccomp")
	for name in log enforce host; do
		[ "$(jq -r ".filters.$name.digest" "$T/seccomp")" = \
			"sha256:$(sha256sum <"$folder/$machine.$name.bpf" | cut -d' ' -f1)" ]
	done
}

@test "every command has --help, which names it" {
	local name
	"$WSISO" --help | sed -n '/^commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' >"$T/commands"
	[ "$(wc -l <"$T/commands")" -ge 10 ]
	while read -r name; do
		run --separate-stderr ws "$name" --help
		[ "$status" -eq 0 ]
		[ -z "$stderr" ]
		[[ "${lines[0]}" == "usage: wsiso "*"$name"* ]]
	done <"$T/commands"
}

@test "features need no root folder, no HOME and no bwrap" {
	env -u HOME "$WSISO" --root /proc/nowhere features >"$T/features.json"
	matches_schema features "$T/features.json"
}

@test "features describe the build: the same on every call" {
	[ "$(ws features)" = "$(ws features)" ]
	expect_status 2 ws features this
}
