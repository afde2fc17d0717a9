#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # bats sets stderr
#
# What stands before the command: the root folder, the log, and the ways to call it wrongly.
load helpers

@test "--root wins over WSISO_ROOT, and that over HOME" {
	export HOME=$T/home WSISO_ROOT=$T/named
	mkdir "$HOME"
	[ "$("$WSISO" --root "$ROOT" list --json)" = '[]' ]
	[ ! -e "$T/named" ]
	[ "$("$WSISO" list --json)" = '[]' ]
	[ -d "$T/named" ]
	[ -z "$(ls -A "$HOME")" ]
	unset WSISO_ROOT
	[ "$("$WSISO" list --json)" = '[]' ]
	[ "$(stat -c %a "$HOME/.codumentor/workspaces")" = 700 ]
}

@test "a root folder to which others have any access is refused by every command" {
	local mode
	spec "$T/spec.json" "$SPEC_OPEN"
	for mode in 750 701 704 770 777 710; do
		chmod "$mode" "$ROOT"
		[ "$(kind_of list)" = root-unsafe ]
		[ "$(kind_of create "$ID" --spec "$T/spec.json")" = root-unsafe ]
		[ "$(kind_of exec "$ID" true)" = root-unsafe ]
		expect_status 125 ws exec "$ID" true
	done
	chmod 700 "$ROOT"
	[ "$(ws list -q)" = "" ]
}

@test "a root that is a link to a safe folder works, one that is a file or a device does not" {
	local file
	ln -s "$ROOT" "$T/link"
	"$WSISO" --root "$T/link" list
	: >"$T/file"
	for file in "$T/file" /dev/null /proc "$T/file/below"; do
		refute "$WSISO" --root "$file" list 2>"$T/err"
		grep -q '^wsiso: list: ' "$T/err"
	done
}

@test "what wsiso writes into the root nobody else can read, whatever the umask" {
	spec "$T/spec.json" "$SPEC_OPEN"
	(
		umask 000
		ws create "$ID" --spec "$T/spec.json"
	)
	[ "$(find "$ROOT" -name '*.json*' ! -name wsiso.json | wc -l)" -ge 2 ]
	[ -z "$(find "$ROOT" -name '*.json*' ! -name wsiso.json -perm /077)" ]
	[ -z "$(find "$ROOT" -maxdepth 2 -mindepth 1 -type d -perm /077)" ]
}

@test "a JSON log on stderr is as its schema says, and stdout has data alone" {
	spec "$T/spec.json" "$SPEC_OPEN" '{"mod": "overlay"}'
	ws --log-format json create "$ID" --spec "$T/spec.json" >"$T/out" 2>"$T/warning"
	ws --log-format json state nobody >"$T/out2" 2>"$T/error" || true
	matches_schema log "$T/warning" --lines
	matches_schema log "$T/error" --lines
	jq -e 'select(.level == "warning") | .msg | test("mod")' "$T/warning"
	[ "$(jq -r 'select(.level == "error") | .kind' "$T/error")" = session-missing ]
	[ ! -s "$T/out2" ]
	jq '.kind = "other"' "$T/error" >"$T/wrong"
	refute matches_schema log "$T/wrong"
}

@test "--log FILE gets the log, and the last error is told on stderr all the same" {
	run --separate-stderr ws --log "$T/log" --log-format json state nobody
	[ "$status" -eq 3 ]
	[ -z "$output" ]
	[[ "$stderr" == *nobody* ]]
	matches_schema log "$T/log" --lines
	[ "$(jq -r .kind "$T/log")" = session-missing ]
	ws --log "$T/log" --log-format json state nobody || true
	[ "$(wc -l <"$T/log")" -eq 2 ]
}

@test "an unknown command, option or log format is wrong use, with the nearest word" {
	run --separate-stderr ws stat x
	[ "$status" -eq 2 ]
	[[ "$stderr" == *state* ]]
	run --separate-stderr ws list --jsn
	[ "$status" -eq 2 ]
	[[ "$stderr" == *--json* ]]
	expect_status 2 ws --log-format xml list
	expect_status 2 ws --log-level loud list
	expect_status 2 "$WSISO" --root
	expect_status 2 "$WSISO"
}

@test "exec answers wrong use with 125, for every other status is its command's" {
	expect_status 125 ws exec
	expect_status 125 ws exec "$ID"
	expect_status 125 ws exec --no-such-option "$ID" true
	expect_status 125 ws exec --timeout soon "$ID" true
}

@test "--help, -h, --version, -V and -v print on stdout and succeed" {
	local option
	for option in --help -h --version -V -v; do
		run --separate-stderr "$WSISO" "$option"
		[ "$status" -eq 0 ]
		[ -n "$output" ]
		[ -z "$stderr" ]
	done
}

@test "wsiso.json with an error is refused by name, and its file is not touched" {
	echo '{"linger_s": -1}' >"$ROOT/wsiso.json"
	spec "$T/spec.json" "$SPEC_OPEN"
	run --separate-stderr ws create "$ID" --spec "$T/spec.json"
	[ "$status" -eq 2 ]
	[[ "$stderr" == *wsiso.json*linger_s* ]]
	[ "$(cat "$ROOT/wsiso.json")" = '{"linger_s": -1}' ]
	[ ! -e "$ROOT/sessions/$ID" ]
}
