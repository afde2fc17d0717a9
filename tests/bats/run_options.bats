#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016 # for the shell inside to expand
# shellcheck disable=SC2154 # bats sets stderr
#
# run is confined alike in every form and profile, and takes the options of exec.
load helpers

setup_file() { build_programs self; }

setup() {
	ws_setup
	need_userns
	spec "$ROOT/wsiso.json" '{"sandbox": {"seccomp": "enforce"}, "linger_s": 10}'
	cp "$BATS_FILE_TMPDIR/self" "$T/self"
	SHOW=(--ro "$T/self:/mnt/self")
}

# run_self FILE [OPTION...]: what a run's command finds itself to be
run_self() {
	local file=$1
	shift
	ws run "${SHOW[@]}" "$@" -- /mnt/self --env >"$file"
}

OWN=(-e ':\[' -e '^cwd: ' -e '^env: TERM$') # what each run has of its own, and a terminal its TERM

# alike FILE...: as the first
alike() {
	local file
	for file; do
		diff <(grep -v "${OWN[@]}" "$T/first") <(tr -d '\r' <"$file" | grep -v "${OWN[@]}")
	done
}

# bare FILE: what /proc/self/status says, and the descriptors
bare() { grep -E '^(Uid|Gid|Cap.*|NoNewPrivs|Seccomp.*|Sig.*|TracerPid|fds):' "$1"; }

first_of_a_session() {
	new_session
	ws exec -i "$ID" -- sh -c 'cat >/tmp/self && chmod 755 /tmp/self' <"$T/self"
	ws exec "$ID" -- /tmp/self --env >"$T/first"
	[ "$(bare "$T/first" | wc -l)" -eq 15 ]
	grep -qx 'fds: 0 1 2' "$T/first"
}

# ---- alike ----

@test "run with stdin, a terminal, a name, a timeout and in the background is confined as a session's first" {
	first_of_a_session
	run_self "$T/plain"
	run_self "$T/stdin" -i <"$T/self"
	run_self "$T/named" --id named
	run_self "$T/timeout" --timeout 30
	ws_pty run "${SHOW[@]}" -t -- /mnt/self --env >"$T/pty"
	ws_pty run "${SHOW[@]}" -i -t -- /mnt/self --env >"$T/pty2"
	ws run "${SHOW[@]}" -d --id job --exec-id bg -- /mnt/self --env
	ws wait job bg
	ws logs job bg >"$T/background"
	alike "$T"/{plain,stdin,named,timeout,pty,pty2,background}
}

@test "the status and the descriptors of every profile's commands are those of a session's first" {
	local profile file
	first_of_a_session
	ws exec --profile agent "$ID" -- /tmp/self --env >"$T/agent"
	diff <(bare "$T/first") <(bare "$T/agent")
	for profile in tool agent worker mcp; do
		run_self "$T/$profile" --profile $profile
		ws_pty run "${SHOW[@]}" -t --profile $profile -- /mnt/self --env | tr -d '\r' >"$T/$profile.pty"
	done
	for profile in tool agent worker; do # mcp serves whoever has its stdin
		ws run "${SHOW[@]}" -d --id j$profile --exec-id bg --profile $profile -- /mnt/self --env
		ws wait j$profile bg
		ws logs j$profile bg >"$T/$profile.bg"
	done
	for file in "$T"/{tool,agent,worker}{,.pty,.bg} "$T"/mcp{,.pty}; do
		diff <(bare "$T/first") <(bare "$file")
	done
}

# ---- the options of exec ----

@test "--cwd, -e, --env-file and --process" {
	[ "$(ws run --cwd /usr/bin -- pwd)" = /usr/bin ]
	[ "$(ws run -- sh -c 'pwd; echo $HOME' | sort -u | wc -l)" -eq 1 ]
	expect_status 125 ws run --cwd /nowhere -- true 2>/dev/null
	[ "$(FROM=outside ws run -e FROM -e HERE=set -- sh -c 'echo $FROM $HERE')" = "outside set" ]
	printf 'A=from a file\nB=too\n' >"$T/env"
	[ "$(ws run --env-file "$T/env" -- sh -c 'echo $A $B')" = "from a file too" ]
	jq -n '{args: ["sh", "-c", "pwd; echo $C"], cwd: "/usr", env: ["C=of the process"]}' >"$T/process.json"
	[ "$(ws run -p "$T/process.json")" = "$(printf '/usr\nof the process')" ]
	[ "$(ws run -p - <"$T/process.json")" = "$(printf '/usr\nof the process')" ]
}

@test "--status-fd, --status-file, --pid-file and --exec-id tell of it, and the payload can reach none" {
	ws run --status-fd 9 --status-file "$T/status" --pid-file "$T/pid" --exec-id mine --id named -- \
		sh -c 'ls /proc/self/fd | wc -l; exit 7' 9>"$T/fd" >"$T/said" || [ $? -eq 7 ]
	[ "$(cat "$T/said")" = 4 ] # and that of ls
	cmp "$T/fd" "$T/status"
	matches_schema exec-status "$T/fd" --lines
	[ "$(jq -r '.type + " " + .exec_id' "$T/fd" | xargs)" = "started mine exited mine" ]
	[ "$(jq -r 'select(.type == "exited").status' "$T/fd")" = 7 ]
	[ "$(jq -r 'select(.type == "started").pid' "$T/fd")" = "$(cat "$T/pid")" ]
	[ "$(ws run --id named -- sh -c 'cat "$0" "$1" 2>/dev/null' "$T/status" "$T/pid" || true)" = "" ]
}

@test "-t: a terminal with its size, Ctrl-C for the command, and its status" {
	[ "$(ws_pty run -t -- sh -c 'stty size >/dev/null && tty' | tr -d '\r')" = /dev/pts/0 ]
	expect_status 5 ws_pty run -t -- sh -c 'exit 5'
	ws_pty run -t -- sh -c 'trap "echo caught; exit 3" INT; echo ready; while :; do sleep 0.1; done' \
		>"$T/out" 3>&- &
	wait_for 10 grep -q ready "$T/out"
	printf '\003' >"$T/keyboard"
	expect_status 3 wait $!
	grep -q caught "$T/out"
}

@test "-d: its output is in the log, its end in the status file, its pid in the pid file" {
	ws run -d --json --id job --exec-id one --status-file "$T/status" --pid-file "$T/pid" -- \
		sh -c 'echo out; echo err >&2; exit 4' >"$T/json"
	[ "$(jq -r .exec_id "$T/json")" = one ]
	[ "$(ws wait job one)" = 4 ]
	wait_for 5 grep -q '"exited"' "$T/status"
	[ "$(jq -r 'select(.type == "exited").status' "$T/status")" = 4 ]
	[ "$(jq -r 'select(.type == "started").pid' "$T/status")" = "$(cat "$T/pid")" ]
	[ "$(ws logs job one | sort | xargs)" = "err out" ]
	ws run -d --id job --exec-id two --timeout 0.3 --kill-after 0.2 -- sh -c 'trap "" TERM; while :; do sleep 0.1; done'
	[ "$(ws wait job two)" = 124 ]
	wait_for 5 has_no_sandbox job
}
