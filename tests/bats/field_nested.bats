#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # bats sets stderr
#
# F045: a sandbox inside the sandbox (coding agents, browsers).
load helpers

setup() {
	ws_setup
	need_userns
	spec "$T/log.json" '{"sandbox": {"seccomp": "log"}}'
	spec "$T/enforce.json" '{"sandbox": {"seccomp": "enforce"}}'
	NESTED=("$(real_bwrap)" --ro-bind / / --dev /dev --unshare-user --unshare-ipc true)
}

# names_the_switch WSISO-ARGS...: it fails, and wsiso says why, and what to do
names_the_switch() {
	run --separate-stderr ws "$@"
	[ "$status" -ne 0 ]
	[[ $stderr == *"'sandbox.seccomp' \"enforce\""*"switch for an outer sandbox, or \"log\""*"wsiso-spec(5)"* ]] || {
		echo "$*: $stderr"
		return 1
	}
}

# is_silent WSISO-ARGS...
is_silent() {
	ws "$@" 2>"$T/err" || true
	refute grep sandbox.seccomp "$T/err"
}

@test "F045: under enforce, in each profile, the message of a nested sandbox that fails names sandbox.seccomp" {
	local profile
	ws create "$ID" --spec "$T/enforce.json"
	for profile in tool agent; do
		names_the_switch exec --profile $profile "$ID" -- "${NESTED[@]}"
		names_the_switch exec --profile $profile "$ID" -- unshare -Ur true
	done
	for profile in tool agent worker mcp; do
		names_the_switch run --profile $profile --spec "$T/enforce.json" -- "${NESTED[@]}"
		names_the_switch run --profile $profile --spec "$T/enforce.json" -- unshare -Ur true
	done
}

@test "F045: an agent under log has a working combination" {
	may_nest || cannot_run "AppArmor lets nothing that bwrap starts make namespaces"
	ws create "$ID" --spec "$T/log.json"
	ws exec --profile agent "$ID" -- "${NESTED[@]}"
	ws run --profile agent --spec "$T/log.json" -- "${NESTED[@]}"
	ws run --profile mcp --spec "$T/log.json" -- "${NESTED[@]}"
}

@test "F045: nothing is said where the filter is not the cause" {
	is_silent run --spec "$T/log.json" -- unshare --no-such-option
	is_silent run --spec "$T/enforce.json" -- false
	is_silent run --spec "$T/enforce.json" -- unshare --help
	is_silent run --spec "$T/enforce.json" --timeout 0.2 -- unshare sleep 60
}
