#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016 # for the shell inside to expand
# shellcheck disable=SC2154 # bats sets stderr
#
# "limits": rlimits and tmpfs. Those of whole sessions, by cgroups: tests/vm/limits.bats.
load helpers

# limited JSON: session $ID with these limits
limited() { new_session "$ID" "{\"limits\": $1}"; }

@test "file_size_max: no file grows beyond it, and no command raises it" {
	limited '{"file_size_max": 1000000}'
	[ "$(in_session sh -c 'ulimit -f; ulimit -Hf' | xargs)" = "1953 1953" ]
	expect_status 153 in_session sh -c 'exec head -c 1000001 /dev/zero >/tmp/big'
	[ "$(in_session sh -c 'stat -c %s /tmp/big')" = 1000000 ]
	refute in_session bash -c 'ulimit -f unlimited'
	new_session free
	[ "$(ws exec free -- sh -c 'ulimit -f')" = "$(sh -c 'ulimit -f')" ]
}

@test "open_files: no process has more descriptors, and none raises it" {
	limited '{"open_files": 64}'
	[ "$(in_session sh -c 'ulimit -n; ulimit -Hn' | xargs)" = "64 64" ]
	refute in_session bash -c 'ulimit -n 65'
	refute in_session perl -e 'for (1 .. 100) { open $f[$_], "<", "/dev/null" or die }'
	new_session free
	[ "$(ws exec free -- sh -c 'ulimit -Hn')" = "$(sh -c 'ulimit -Hn')" ]
}

@test "a limit above the caller's own is the caller's own" {
	limited '{"open_files": 1000}'
	[ "$(
		ulimit -n 100
		in_session sh -c 'ulimit -Hn'
	)" = 100 ]
}

@test "rlimits hold for the next command, in the background and on a terminal" {
	limited '{"open_files": 64}'
	in_session true
	[ "$(in_session sh -c 'ulimit -Hn')" = 64 ]
	[ "$(ws_pty exec -t "$ID" -- sh -c 'ulimit -Hn' | tr -d '\r')" = 64 ]
	ws exec -d --exec-id back "$ID" -- sh -c 'ulimit -Hn'
	ws wait "$ID" back
	[ "$(ws logs "$ID" back)" = 64 ]
}

# size_of PATH: of the tmpfs there, in bytes; inodes_of PATH: how many files fit
size_of() { in_session stat -f -c '%S %b' "$1" | awk '{ print $1 * $2 }'; }
inodes_of() { in_session stat -f -c %c "$1"; }

@test "tmp_size: each tmpfs has that size, and a number of files by it" {
	local at
	new_session "$ID" '{"limits": {"tmp_size": 8388608}, "persistent_home": false, "session_tmp": false}'
	for at in /dev/shm /tmp "/home/$(id -un)"; do
		[ "$(size_of "$at")" = 8388608 ]
		[ "$(inodes_of "$at")" = 2048 ]
		refute in_session sh -c 'head -c 9000000 /dev/zero >"$0/big"' "$at"
	done
}

@test "without tmp_size every tmpfs that can be written is bounded all the same" {
	local at
	new_session "$ID" '{"persistent_home": false, "session_tmp": false}'
	for at in /dev/shm /tmp "/home/$(id -un)"; do
		[ "$(size_of "$at")" = 1073741824 ]
		[ "$(inodes_of "$at")" = 262144 ]
	done
	in_session cat /proc/self/mountinfo >"$T/mounts"
	[ "$(awk '/ - tmpfs / && $6 ~ /^rw/ && $NF !~ /size=/' "$T/mounts" | grep -vc '/dev/\(null\|zero\|full\|random\|urandom\|tty\) ' ||
		true)" = 0 ]
}

@test "timeout_s: a command has no longer, however it asks" {
	limited '{"timeout_s": 1}'
	expect_status 124 in_session sleep 60
	expect_status 124 ws exec --timeout 50 "$ID" -- sleep 60
	in_session true
}

@test "a 2 GB file and masses of files in one session leave wsiso and another session working" {
	local files
	files=$(long 8000 1000000)
	new_session other
	new_session "$ID" '{"limits": {"file_size_max": 50000000, "tmp_size": 67108864}}'
	expect_status 153 in_session sh -c 'exec head -c 2000000000 /dev/zero >/workspace/app/big'
	refute in_session truncate -s 2G /tmp/sparse
	refute in_session perl -e 'for (1 .. 1_000_000) { open F, ">", "/dev/shm/$_" or die "$_: $!" }'
	WS_TIMEOUT=300 in_session perl -e 'mkdir "many" or die; for (1 .. $ARGV[0]) { open F, ">", "many/$_" or die }' "$files"
	[ "$(ws exec other -- sh -c 'echo x >/dev/shm/x && cat /dev/shm/x && git status --porcelain | wc -l' | xargs)" = "x 0" ]
	[ "$(in_session sh -c 'ls -U many | wc -l')" -eq "$files" ]
	[ "$(state_of "$ID")" = running ]
	ws list -q >"$T/list"
	grep -qx "$ID" "$T/list"
	ws stop "$ID"
	[ "$(state_of "$ID")" = stopped ]
	WS_TIMEOUT=300 ws delete -f "$ID"
	[ "$(ws exec other -- echo alive)" = alive ]
}

# Where a cgroup is delegated to whoever runs this, it is another test's: then they hold.
@test "limits of the whole session hold or are refused: never silently without" {
	local key value
	for key in memory_max pids_max cpu_max; do
		value=$([ "$key" != memory_max ] || echo 00000000)
		new_session "$ID-$key" "{\"limits\": {\"$key\": 1$value}}"
		if ws exec --status-file "$T/status" "$ID-$key" -- true 2>/dev/null; then
			[ "$(jq -r --arg key "$key" 'select(.type == "started").limits[$key]' "$T/status")" != null ]
			continue
		fi
		ID=$ID-$key nothing_ran limits-unavailable
		run --separate-stderr ws exec "$ID-$key" -- true
		[[ $stderr == *"hint: "*"Delegate=yes"*"leave out limits.memory_max"* ]]
	done
}

@test "wsiso.json that asks for such limits fails check where they cannot be set" {
	local detail
	detail=$(ws check --json | jq -r '.items[] | select(.id == "cgroup").detail')
	case $detail in
	*"can be limited"*) ws check >/dev/null ;;
	*)
		spec "$ROOT/wsiso.json" '{"limits": {"pids_max": 100}, "linger_s": 10}'
		[ "$(ws check --json | jq -r '.items[] | select(.id == "cgroup") | .status')" = failed ]
		ws check --json | jq -e '.items[] | select(.id == "cgroup").remedy | test("Delegate=yes")'
		expect_status 1 ws check >/dev/null
		;;
	esac
}

# What the profile wants of a cgroup it has where one is delegated; its rlimits always.
@test "a worker's receipt says which limits hold, and what its spec asks for is refused where it cannot hold" {
	local limits rlimits
	ws run --profile worker --status-file "$T/status" -- cat /proc/self/limits >"$T/limits"
	limits=$(jq -r 'select(.type == "started").limits.pids_max' "$T/status")
	[ "$limits" = null ] || [ "$limits" = 128 ]
	rlimits='Max processes +128 +128|Max file size +268435456 +268435456|Max open files +256 +256'
	[ "$(grep -cE "^($rlimits) " "$T/limits")" -eq 3 ]
	spec "$T/s.json" '{"limits": {"pids_max": 20}}'
	if [ "$limits" = 128 ]; then
		ws run --profile worker --spec "$T/s.json" --status-file "$T/status2" -- true
		[ "$(jq -r 'select(.type == "started").limits.pids_max' "$T/status2")" = 20 ]
	else
		[ "$(kind_of run --profile worker --spec "$T/s.json" -- true)" = limits-unavailable ]
	fi
	spec "$ROOT/wsiso.json" '{"limits": {"memory_max": 100000000}, "linger_s": 10}'
	[ "$limits" = 128 ] || [ "$(kind_of run --profile worker -- true)" = limits-unavailable ]
}
