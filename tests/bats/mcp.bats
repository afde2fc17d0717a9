#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016 # for the shell inside to expand
# shellcheck disable=SC2154 # bats sets stderr
load helpers

# The server is fetched outside, as mcp/package-lock.json says, and kept for the next time.
setup_file() {
	local sum cache
	need_program node npm
	sum=$(cat "$HELPERS"/mcp/*.json | sha256sum)
	cache=${WSISO_TEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/wsiso-test}
	export SERVER=$cache/mcp-${sum:0:16}
	[ ! -e "$SERVER/done" ] || return 0
	mkdir -p "$SERVER"
	cp "$HELPERS"/mcp/*.json "$SERVER/"
	timeout 300 npm ci --prefix "$SERVER" --cache "$cache/npm" --ignore-scripts --no-audit --no-fund \
		>"$SERVER/log" 2>&1 3>&- </dev/null || {
		export NO_SERVER=1
		# a registry that is out of reach is nobody's fault; one that answers must have it
		! timeout 60 npm ping >/dev/null 2>&1 3>&- </dev/null || return 1
		return 0
	}
	touch "$SERVER/done"
}

setup() {
	[ -z "${NO_SERVER:-}" ] || skip "the npm registry, which has an MCP server, is out of reach"
	ws_setup
	need_userns
	spec "$ROOT/wsiso.json" "$SPEC_OPEN" '{"linger_s": 10}'
	mkdir "$T/files"
	echo 'from the host' >"$T/files/note.txt"
}

# server: runs it over /files
server() {
	ws run --profile mcp --ro "$SERVER/node_modules:/mnt/node_modules" --rw "$T/files:/files" -- \
		node /mnt/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js /files
}

# talk: what a client says, one request a line
talk() {
	local id=0 line
	printf '%s\n' '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}' \
		'{"jsonrpc":"2.0","method":"notifications/initialized"}'
	for line; do
		id=$((id + 1))
		jq -c --argjson id "$id" '. + {jsonrpc: "2.0", id: $id}' <<<"$line"
	done
}

answer() { jq -c --argjson id "$1" 'select(.id == $id)' "$T/answers"; }

@test "a server from npm answers initialize, tools/list and a call, and ends at the end of its input" {
	talk '{"method": "tools/list"}' '{"method": "tools/call", "params": {"name": "read_text_file", "arguments": {"path": "/files/note.txt"}}}' \
		'{"method": "tools/call", "params": {"name": "write_file", "arguments": {"path": "/files/new.txt", "content": "from the server"}}}' |
		server >"$T/answers" 2>"$T/err"
	jq -e . "$T/answers" >/dev/null # nothing but JSON, line by line
	[ "$(answer 0 | jq -r .result.serverInfo.name)" = secure-filesystem-server ]
	[ "$(answer 1 | jq '[.result.tools[].name] | index("read_text_file") != null')" = true ]
	[[ "$(answer 2 | jq -r '.result.content[0].text')" == "from the host"* ]]
	[ "$(cat "$T/files/new.txt")" = "from the server" ]
	[ -z "$(tagged_pids)" ]
}

@test "it sees nothing of HOME, and signals nobody" {
	local secret=$HOME/.ws-test-secret.$$ victim
	sleep 60 3>&- &
	victim=$!
	: >"$secret"
	ws run --profile mcp -- sh -c 'ls -A ~; kill -TERM "$0" 2>&1; ls "$1" 2>&1' "$victim" "$secret" >"$T/seen" </dev/null || true
	rm -f "$secret"
	kill -0 "$victim"
	kill "$victim"
	grep -q 'No such process' "$T/seen"
	grep -q 'No such file' "$T/seen"
}

@test "its network is the host's unless it is told otherwise, and its filter is as the spec says" {
	net() { ws run --profile mcp "$@" -- readlink /proc/self/ns/net </dev/null; }
	[ "$(net)" = "$(readlink /proc/self/ns/net)" ]
	[ "$(net --network isolate)" != "$(readlink /proc/self/ns/net)" ]
	spec "$T/s.json" "$SPEC_OPEN" '{"sandbox": {"unshare_net": true}}'
	[ "$(net --spec "$T/s.json")" != "$(readlink /proc/self/ns/net)" ]
	spec "$ROOT/wsiso.json" "$SPEC_OPEN" '{"profiles": {"mcp": {"sandbox": {"unshare_net": true}}}}'
	[ "$(net)" != "$(readlink /proc/self/ns/net)" ]
}

@test "with a name it has one HOME for all its lives" {
	server_home() { ws run --profile mcp --id files -- sh -c "$1" </dev/null; }
	server_home 'mkdir ~/.cache && echo kept >~/.cache/x'
	[ "$(server_home 'cat ~/.cache/x')" = kept ]
	[ "$(state_of files .wsiso.profile)" = mcp ]
	[ "$(ws run --profile mcp -- sh -c 'ls -A ~ | wc -l' </dev/null)" = 0 ]
}

@test "its client's silence is no end, and the answers come at once" {
	mkfifo "$T/in"
	server <"$T/in" >"$T/answers" 2>/dev/null 3>&- &
	local pid=$!
	exec 8>"$T/in"
	talk >&8
	wait_for 15 grep -q serverInfo "$T/answers"
	sleep 1
	kill -0 "$pid"
	jq -nc '{jsonrpc: "2.0", id: 9, method: "tools/list"}' >&8
	wait_for 5 grep -q read_text_file "$T/answers"
	exec 8>&-
	wait "$pid"
}

@test "one that does not care about its input's end is ended, TERM first" {
	local begun=$SECONDS
	expect_status 143 ws run --profile mcp --kill-after 0.5 -- sleep 1000 </dev/null
	expect_status 137 ws run --profile mcp --kill-after 0.5 -- sh -c 'trap "" TERM; while :; do sleep 0.1; done' </dev/null
	[ $((SECONDS - begun)) -lt $((10 * SLOW)) ]
	# exec -i gives an end of input no such meaning
	[ "$(ws run -i --kill-after 0.2 -- sh -c 'sleep 1; echo on' </dev/null)" = on ]
}

@test "it ends with its client, whoever else has the pipe open" {
	local client
	mkfifo "$T/in"
	exec 8<>"$T/in"
	bash -c '"$0" --root "$1" run --profile mcp --kill-after 0.5 -- sh -c "echo on; sleep 1000" <"$2" >"$3" & wait' \
		"$WSISO" "$ROOT" "$T/in" "$T/out" 3>&- &
	client=$!
	wait_for 10 grep -q on "$T/out"
	kill -KILL "$client"
	wait_for 10 no_process_left
	exec 8>&-
}

@test "the host's toolchains beside /usr are there to read" {
	if [ -d /opt ]; then
		[ "$(ws run --profile mcp -- ls /opt </dev/null)" = "$(ls /opt)" ]
		refute ws run --profile mcp -- touch /opt/x </dev/null 2>/dev/null
	fi
	refute ws run -- test -d /opt
	mkdir "$T/own"
	touch "$T/own/mine"
	ws run --profile mcp --ro "$T/own:/opt" -- test -e /opt/mine </dev/null
	ws run --profile mcp --ro "$T/own:/opt/own" -- test -e /opt/own/mine </dev/null
}

@test "it cannot be put into the background, and its stdin is nobody else's" {
	run --separate-stderr ws run --profile mcp -d --id x -- true
	[ "$status" -eq 125 ]
	[[ "$stderr" == *"serves whoever has its stdin"* ]]
	run --separate-stderr ws run --profile mcp --spec - -- true </dev/null
	[ "$status" -eq 125 ]
}
