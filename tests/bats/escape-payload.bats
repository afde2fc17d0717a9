#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2030,SC2031 # each test has its own ID
# shellcheck disable=SC2034 # ALLOWED is for escape.bash
#
# A hostile payload tries everything, in every mode and profile (see escape.bash).
load helpers
load escape

setup() {
	escape_setup
	another_session
}
teardown() { escape_teardown; }

ALL=(bare root calls) # where the filter refuses
MOST=(bare root)      # where it records and allows, as the contract says

@test "every attempt succeeds in a sandbox without the protection in question" {
	local kind
	weak bare >"$T/said.bare"
	all_can "$T/said.bare"
	may_nest || cannot_run "AppArmor keeps capabilities from what bwrap starts"
	for kind in root calls; do
		weak $kind >"$T/said.$kind"
		all_can "$T/said.$kind"
	done
	[ "$(cat "$T"/said.* | grep -c '^can ')" -ge 70 ]
}

@test "exec, under log and enforce, the first command and the next: none succeeds" {
	session log
	refused 60 exec -i "$ID" -- "${MOST[@]}"
	ID=strict
	session enforce
	refused 75 exec -i "$ID" -- "${ALL[@]}"
	refused 75 exec -i "$ID" -- "${ALL[@]}"
	refused 75 exec -i --profile agent "$ID" -- "${ALL[@]}"
	ws exec "$ID" -- true
}

# on_terminal LEAST KINDS...
on_terminal() {
	local least=$1 command
	shift
	printf -v command '%q ' "$WSISO" --root "$ROOT" exec -t "$ID" -- \
		"$PYTHON" -c "$PAYLOAD" "$(facts)" "$@"
	as_caller timeout $((60 * SLOW)) script -qefc "$command" /dev/null >"$T/got"
	judged "$least"
}

# in_background LEAST KINDS...
in_background() {
	local least=$1
	shift
	inside exec -d --exec-id bg "$ID" -- "$@"
	ws wait "$ID" bg
	ws logs "$ID" bg >"$T/got"
	judged "$least"
}

@test "exec on a terminal and in the background, under log and enforce: none succeeds" {
	session log
	on_terminal 60 "${MOST[@]}"
	in_background 60 "${MOST[@]}"
	ID=strict
	session enforce
	on_terminal 75 "${ALL[@]}"
	in_background 75 "${ALL[@]}"
}

@test "run, plain, as a worker and as an MCP server: none succeeds" {
	refused 60 run -i -- "${MOST[@]}"
	refused 75 run -i --profile worker --rw "$T/out:/out" -- "${ALL[@]}"
	# an MCP server has a network unless told otherwise, and ends some time after its stdin
	ALLOWED='{"allowed": ["connect_to_the_hosts_loopback", "be_in_the_hosts_network"]}'
	refused 55 run -i --profile mcp --kill-after $((5 * SLOW)) -- "${MOST[@]}"
	ALLOWED='{}'
	spec "$T/enforce.json" '{"sandbox": {"seccomp": "enforce"}}'
	refused 75 run -i --profile mcp --kill-after $((5 * SLOW)) --network isolate --spec "$T/enforce.json" -- "${ALL[@]}"
	[ -z "$(ls -A "$T/out")" ]
}

@test "host_readonly, under log and enforce: none succeeds" {
	local host
	host=$(jq -n --arg d "$HOME/project" \
		'{mode: "host_readonly", host_readonly: {launch_dir: $d, network: "isolate"}}')
	session log "$host"
	refused 60 exec -i "$ID" -- "${MOST[@]}"
	ID=strict
	session enforce "$host"
	refused 75 exec -i "$ID" -- "${ALL[@]}"
	[ -z "$(ls -A "$HOME/project")" ]
}
