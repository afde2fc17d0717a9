#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016 # for the shell inside to expand
# shellcheck disable=SC2154 # bats sets stderr
load helpers

setup() {
	ws_setup
	need_userns
	spec "$ROOT/wsiso.json" "$SPEC_OPEN" '{"linger_s": 10}'
}

profiles() { jq -n --argjson p "$1" '{profiles: $p}'; }

# ---- with exec ----

@test "a profile that is not there is refused, and those that are there are named" {
	new_session "$ID" "$(profiles '{"mine": {}}')"
	run --separate-stderr ws exec --profile nosuch "$ID" -- true
	[ "$status" -eq 125 ]
	[[ "$stderr" == *"there is no profile 'nosuch'"*"hint: there are tool, agent, worker, mcp, setup, mine;"* ]]
	run --separate-stderr ws run --profile nosuch -- true
	[ "$status" -eq 125 ]
}

@test "worker and mcp are for run, setup for wsiso itself" {
	local name
	new_session
	for name in worker mcp setup; do
		run --separate-stderr ws exec --profile "$name" "$ID" -- touch /tmp/ran
		[ "$status" -eq 125 ]
		[[ "$stderr" == *"profile '$name' is for "* ]]
		refute_in_session "$ID" /tmp/ran
	done
	expect_status 125 ws run --profile setup -- true
}

@test "with exec a profile changes environment, rlimits and timeout of its command alone" {
	new_session "$ID" "$(profiles '{"tight": {"sandbox": {"inherit_env_vars": ["ONE"], "deny_env_vars": ["TZ"]},
		"limits": {"open_files": 50, "file_size_max": 4096, "timeout_s": 0.5}}}')" '{"limits": {"open_files": 100}}'
	[ "$(ONE=1 ws exec "$ID" -- sh -c 'ulimit -n; echo ${ONE-none}' | xargs)" = "100 none" ]
	[ "$(ONE=1 TZ=UTC ws exec --profile tight "$ID" -- sh -c 'ulimit -n; echo $ONE ${TZ-none}' | xargs)" = "50 1 none" ]
	refute ws exec --profile tight "$ID" -- dd if=/dev/zero of=/tmp/big bs=8192 count=1 2>/dev/null
	expect_status 124 ws exec --profile tight "$ID" -- sleep 30
	# in the one sandbox
	[ "$(ws exec --profile tight "$ID" -- readlink /proc/self/ns/pid)" = "$(in_session readlink /proc/self/ns/pid)" ]
	ws exec --profile tight --status-file "$T/status" "$ID" -- true
	[ "$(jq -r 'select(.type == "started").profile' "$T/status")" = tight ]
	matches_schema exec-status "$T/status" --lines
}

@test "with exec a profile changes nothing that the session's commands share" {
	local change key
	new_session "$ID" "$(profiles '{"net": {"sandbox": {"unshare_net": false}}, "name": {"sandbox": {"hostname": "x"}},
		"tmp": {"limits": {"tmp_size": 1048576}}}')"
	for change in net:sandbox.unshare_net name:sandbox.unshare_uts tmp:limits.tmp_size; do
		key=${change#*:}
		run --separate-stderr ws exec --profile "${change%:*}" "$ID" -- touch /tmp/ran
		[ "$status" -eq 125 ]
		[[ "$stderr" == *"profile '${change%:*}' changes '$key', which all commands of a session have in common"* ]]
		refute_in_session "$ID" /tmp/ran
	done
	# a sandbox of its own may have all that
	spec "$T/s.json" "$SPEC_OPEN" "$(jq '{profiles}' "$T/$ID.json")"
	[ "$(ws run --spec "$T/s.json" --profile name -- hostname)" = x ]
}

@test "a profile makes the filter no weaker" {
	new_session "$ID" "$(profiles '{"open": {"sandbox": {"seccomp": "off"}}, "strict": {"sandbox": {"seccomp": "enforce"}}}')" \
		'{"sandbox": {"seccomp": "log"}}'
	run --separate-stderr ws exec --profile open "$ID" -- touch /tmp/ran
	[ "$status" -eq 125 ]
	[[ "$stderr" == *"profile 'open' changes 'sandbox.seccomp'"* ]]
	refute_in_session "$ID" /tmp/ran
	in_session unshare -U true
	refute ws exec --profile strict "$ID" -- unshare -U true 2>/dev/null
	ws exec --profile strict --status-file "$T/status" "$ID" -- true
	[ "$(jq -r 'select(.type == "started").seccomp.setting' "$T/status")" = enforce ]
}

@test "the binds of all profiles of a session are there from its start" {
	mkdir "$T/a" "$T/b"
	new_session "$ID" "$(jq -n --arg a "$T/a" --arg b "$T/b" '{profiles: {
		one: {binds: [{source: $a, target: "/mnt/a"}]}, two: {binds: [{source: $b, target: "/mnt/b", writable: true}]}}}')"
	in_session test -d /mnt/a
	in_session touch /mnt/b/file
	ws exec --profile one "$ID" -- test -e /mnt/b/file
	spec "$T/s.json" "$SPEC_OPEN" "$(jq '{profiles}' "$T/$ID.json")"
	# of a run only those of its own
	ws run --spec "$T/s.json" --profile two -- sh -c 'test -e /mnt/b/file && ! test -e /mnt/a'
}

@test "two profiles that want different things at one place are refused" {
	mkdir "$T/a" "$T/b"
	spec "$T/s.json" "$SPEC_OPEN" "$(jq -n --arg a "$T/a" --arg b "$T/b" '{profiles: {
		one: {binds: [{source: $a, target: "/mnt/a"}]}, two: {binds: [{source: $b, target: "/mnt/a"}]}}}')"
	run --separate-stderr ws create "$ID" --spec "$T/s.json"
	[ "$status" -eq 2 ] || [ "$status" -eq 1 ]
	[[ "$stderr" == *"two binds have the target '/mnt/a'"* ]]
}

@test "a profile of the spec that is named as a built-in one adjusts it" {
	new_session "$ID" "$(profiles '{"tool": {"limits": {"open_files": 77}}, "agent": {"limits": {"open_files": 88}}}')"
	[ "$(in_session sh -c 'ulimit -n')" = 77 ]
	[ "$(ws exec --profile agent "$ID" -- sh -c 'ulimit -n')" = 88 ]
}

@test "what a built-in profile loosens stops at the floor, and what a spec's does is refused" {
	spec "$ROOT/wsiso.json" '{"floor": {"sandbox": {"unshare_net": true}, "limits": {"timeout_s": 1}}}'
	expect_status 124 ws run --profile agent -- sleep 30
	[ "$(ws run --profile mcp -- readlink /proc/self/ns/net </dev/null)" != "$(readlink /proc/self/ns/net)" ]
	spec "$T/s.json" "$(profiles '{"mcp": {"sandbox": {"unshare_net": false}}}')"
	run --separate-stderr ws run --spec "$T/s.json" --profile mcp -- true </dev/null
	[ "$status" -eq 125 ]
	[[ "$stderr" == *unshare_net* ]]
	spec "$T/s.json" '{"sandbox": {"unshare_net": false}}'
	expect_status 125 ws run --spec "$T/s.json" -- true
}

# ---- agent ----

@test "an agent's program streams, edits files, and is not under the tools' timeout" {
	new_session "$ID" '{"limits": {"timeout_s": 1}}'
	ws exec -i "$ID" -- sh -c 'cat >/tmp/endpoint.py' <"$HELPERS/programs/endpoint.py"
	ws exec -i "$ID" -- sh -c 'cat >/tmp/agent.py' <"$HELPERS/programs/agent.py"
	ws exec -d --exec-id api --profile agent "$ID" -- python3 /tmp/endpoint.py 8123
	wait_for 10 ws exec "$ID" -- bash -c ': </dev/tcp/127.0.0.1/8123' 2>/dev/null
	ws exec --profile agent "$ID" -- python3 /tmp/agent.py http://127.0.0.1:8123 'say it louder' >"$T/said" 3>&- &
	local agent=$!
	# the first words are out long before the last
	wait_for 5 grep -q 'I will edit' "$T/said"
	refute grep -q 'All done' "$T/said"
	wait "$agent"
	grep -q 'All done' "$T/said"
	[ "$(in_session cat README.md)" = "HELLO" ]
	[ "$(cat "$T/app/README.md")" = hello ]
	ws kill "$ID" TERM --exec api
}

@test "an agent has a network only if its session has one" {
	new_session
	[ "$(ws exec --profile agent "$ID" -- readlink /proc/self/ns/net)" = "$(in_session readlink /proc/self/ns/net)" ]
	[ "$(ws exec --profile agent "$ID" -- readlink /proc/self/ns/net)" != "$(readlink /proc/self/ns/net)" ]
	new_session shared '{"sandbox": {"unshare_net": false}}'
	[ "$(ws exec --profile agent shared -- readlink /proc/self/ns/net)" = "$(readlink /proc/self/ns/net)" ]
}

# ---- worker ----

# worker ARGS...: with an input and an output folder
worker() { ws run --profile worker --ro "$T/in:/in" --rw "$T/out:/out" "$@"; }

make_documents() {
	mkdir "$T/in" "$T/out"
	cp -r "$HELPERS/documents/." "$T/in/"
}

@test "a worker runs under the enforced filter and without a network, whatever the spec says" {
	mkdir "$T/in" "$T/out"
	spec "$ROOT/wsiso.json" '{"sandbox": {"seccomp": "off", "unshare_net": false}}'
	worker --status-file "$T/status" -- true
	matches_schema exec-status "$T/status" --lines
	[ "$(jq -r 'select(.type == "started").profile' "$T/status")" = worker ]
	[ "$(jq -r 'select(.type == "started").seccomp.setting' "$T/status")" = enforce ]
	[ "$(jq -r 'select(.type == "started").network' "$T/status")" = isolate ]
	refute worker -- unshare -U true 2>/dev/null
	ws run -- unshare -U true
}

@test "a worker turns a real document into a result" {
	need_program xmllint
	make_documents
	worker -- sh -c 'xmllint --format --output /out/good.xml /in/good.xml'
	grep -q '<title>A document</title>' "$T/out/good.xml"
	[ "$(worker -- xmllint --xpath 'string(//title)' /in/good.xml)" = "A document" ]
}

@test "broken and hostile documents fail inside, with the parser's own status" {
	need_program xmllint
	make_documents
	expect_status 1 worker -- xmllint --noout /in/broken.xml 2>/dev/null
	# an entity for a file: the host's is not there, and what is there names no other user
	run worker -- xmllint --noent /in/entity.xml
	[[ "$output" != *daemon:* ]]
	grep -q ^daemon: /etc/passwd
	# a billion laughs, and no guard of the parser's: limits are ours
	run timeout 100 "$WSISO" --root "$ROOT" run --profile worker --timeout 20 --ro "$T/in:/in" -- \
		xmllint --huge --noent --noout /in/laughs.xml
	# xmllint may say that memory ran out, and be content all the same
	[ "$status" -ne 0 ] || [[ "$output" == *"Memory allocation failed"* ]]
	ws run -- true
}

@test "F063: a worker's bomb hits its limits, and wsiso goes on" {
	mkdir "$T/in" "$T/out"
	refute worker -- dd if=/dev/zero of=/out/big bs=1M count=300 2>/dev/null
	[ "$(stat -c %s "$T/out/big")" -le $((256 << 20)) ]
	refute worker -- dd if=/dev/zero of=/tmp/big bs=1M count=300 2>/dev/null
	refute worker -- python3 -c 'x = bytearray(3 << 30)' 2>/dev/null
	run worker --timeout 20 -- python3 -c '
import os, time
n = 0
while True:
    try:
        if os.fork() == 0: time.sleep(60)
        n += 1
    except BlockingIOError:
        print(n, flush=True); os._exit(0)'
	[ "$status" -eq 0 ]
	[ "$output" -lt 130 ]
	[ -z "$(tagged_named python3)" ]
	expect_status 124 worker --timeout 0.5 --kill-after 0.2 -- sh -c 'trap "" TERM; while :; do :; done'
	ws run -- true
}

@test "a worker has one output folder, an empty HOME whatever its name, and no variable of the caller's" {
	mkdir "$T/in" "$T/out" "$T/more"
	run --separate-stderr worker --rw "$T/more:/more" -- true
	[ "$status" -eq 125 ]
	[[ "$stderr" == *"one output folder"* ]]
	spec "$ROOT/wsiso.json" '{"sandbox": {"inherit_env_vars": ["TOKEN"]}}'
	TOKEN=secret worker --id doc -- sh -c 'echo x >~/kept; [ -z "$TOKEN" ]'
	[ "$(worker --id doc -- sh -c 'ls -A ~ | wc -l')" = 0 ]
}
