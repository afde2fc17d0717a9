#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016 # for the shell inside to expand
#
# Limits of whole sessions, by cgroup v2. tests/vm/inside runs this as an ordinary user in
# the leaf "main" of a cgroup that is delegated to that user ($DELEGATED), and runs what
# `elsewhere` asks for in a cgroup that is not ($OUTSIDE), or where nobody else is ($ALONE).
load ../bats/helpers

setup_file() {
	[ -n "${DELEGATED:-}" ] || cannot_run "no cgroup is delegated to this test"
}

MEMORY='{"limits": {"memory_max": 100000000}}'
PIDS='{"limits": {"pids_max": 40}}'

# own_cgroup: the folder of the session's own, or nothing
own_cgroup() { find "$DELEGATED" -maxdepth 1 -name "wsiso.$ID-*"; }

no_cgroup() { [ -z "$(own_cgroup)" ]; }

pids_at_least() { [ "$(cat "$(own_cgroup)/pids.current")" -ge "$1" ]; }
throttled() { [ "$(sed -n 's/^nr_throttled //p' "$(own_cgroup)/cpu.stat")" -gt 2 ]; }

# elsewhere CGROUP COMMAND...: as this user, in that cgroup; its status, and its output in $T/there
elsewhere() {
	local place=$1 command
	shift
	rm -f "$T/status"
	printf -v command '%q ' "$@"
	printf '%s\n' "$place $T/status $command >$T/there 2>&1 </dev/null" >"$ELSEWHERE"
	wait_for 60 test -s "$T/status"
	return "$(cat "$T/status")"
}

# hog MB: takes that much memory, and says so
hog() {
	in_session perl -e 'my @x; push @x, "x" x (1 << 20) for 1 .. $ARGV[0]; print @x + 0, "\n"' "$1"
}

@test "check says below which cgroup sessions can be limited" {
	ws check >"$T/check"
	grep -q "^cgroup .*ok .*can be limited, below '$DELEGATED'" "$T/check"
}

@test "every command of a session is in its cgroup: the first, the next, in the background, with a terminal" {
	local own
	new_session "$ID" "$MEMORY"
	own=$(in_session cat /proc/self/cgroup)
	[ "$(basename "$own")" = "$(basename "$(own_cgroup)")" ]
	[[ $(basename "$own") == "wsiso.$ID-"* ]]
	[ "$(in_session cat /proc/self/cgroup)" = "$own" ]
	[ "$(cat "/proc/$(init_pid)/cgroup")" = "$own" ]
	[ "$(ws_pty exec -t "$ID" -- cat /proc/self/cgroup | tr -d '\r')" = "$own" ]
	ws exec -d --exec-id back "$ID" -- cat /proc/self/cgroup
	ws wait "$ID" back
	[ "$(ws logs "$ID" back)" = "$own" ]
	[ "$(cat /proc/self/cgroup)" != "$own" ]
}

@test "without limits a session has no cgroup of its own, and its receipt says so" {
	new_session
	ws exec --status-file "$T/status" "$ID" -- true
	no_cgroup
	[ "$(jq 'select(.type == "started").limits' "$T/status")" = null ]
}

@test "the receipt and state have the limits as the kernel reads them back" {
	new_session "$ID" "$MEMORY" "$PIDS" '{"limits": {"cpu_max": 0.5}}'
	ws exec --status-file "$T/status" "$ID" -- true
	[ "$(jq -c 'select(.type == "started").limits' "$T/status")" = \
		'{"memory_max":"99999744","pids_max":"40","cpu_max":"50000 100000"}' ]
	[ "$(state_of "$ID" .wsiso.sandbox.limits.pids_max)" = 40 ]
	matches_schema exec-status "$T/status" --lines
	[ "$(cat "$(own_cgroup)/pids.max")" = 40 ]
}

@test "a memory hog is killed with cause oom; its session and another go on" {
	new_session other
	new_session "$ID" "$MEMORY"
	[ "$(hog 20)" = 20 ]
	expect_status 137 ws exec --status-file "$T/status" "$ID" -- \
		perl -e 'my @x; push @x, "x" x (1 << 20) while 1'
	[ "$(jq -r 'select(.type == "exited").cause' "$T/status")" = oom ]
	expect_status 137 ws exec --status-file "$T/status2" "$ID" -- sh -c 'kill -KILL $$'
	[ "$(jq -r 'select(.type == "exited").cause' "$T/status2")" = signal ]
	[ "$(in_session echo alive)" = alive ]
	[ "$(ws exec other -- echo alive)" = alive ]
}

@test "the limit is the sum of a session's commands, its tmpfs included" {
	new_session "$ID" "$MEMORY"
	in_session sh -c 'exec head -c 60000000 /dev/zero >/dev/shm/held'
	[ "$(hog 10)" = 10 ]
	expect_status 137 hog 80
	in_session rm /dev/shm/held
	[ "$(hog 80)" = 80 ]
	expect_status 137 in_session sh -c 'exec head -c 200000000 /dev/zero >/dev/shm/big'
}

@test "a fork bomb stays within its session: another works, and stop ends it" {
	new_session other
	new_session "$ID" "$PIDS"
	ws exec -d "$ID" -- bash -c 'bomb() { bomb | bomb & }; bomb; sleep 600'
	wait_for 30 pids_at_least 38
	[ "$(cat "$(own_cgroup)/pids.current")" -le 45 ]
	[ "$(ws exec other -- sh -c 'for i in 1 2 3; do /bin/true; done; echo alive')" = alive ]
	[ "$(state_of "$ID")" = running ]
	ws stop -t 0 "$ID"
	has_no_sandbox
	no_cgroup
}

@test "the CPU is shared out: a busy session is throttled" {
	new_session "$ID" '{"limits": {"cpu_max": 0.1}}'
	ws exec -d "$ID" -- sh -c 'while :; do :; done'
	wait_for 30 throttled
}

@test "the cgroup goes with the sandbox: by stop, by delete, by the next start after a kill" {
	local first
	new_session "$ID" "$MEMORY"
	in_session true
	[ "$(own_cgroup | wc -l)" -eq 1 ]
	ws stop "$ID"
	no_cgroup
	in_session true
	first=$(own_cgroup)
	kill -KILL "$(init_pid)"
	wait_for 10 has_no_sandbox
	in_session true
	[ "$(own_cgroup | wc -l)" -eq 1 ]
	[ "$(own_cgroup)" != "$first" ]
	ws delete -f "$ID"
	no_cgroup
}

@test "a caller in another cgroup of the same subtree enters the same one" {
	local own
	new_session "$ID" "$MEMORY"
	own=$(in_session cat /proc/self/cgroup)
	mkdir -p "$DELEGATED/other"
	bash -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$DELEGATED/other" \
		"$WSISO" --root "$ROOT" exec "$ID" -- cat /proc/self/cgroup >"$T/there"
	[ "$(cat "$T/there")" = "$own" ]
	rmdir "$DELEGATED/other"
}

@test "a caller outside is refused with the remedy, and nothing runs" {
	new_session "$ID" "$MEMORY"
	in_session true
	expect_status 125 elsewhere "$OUTSIDE" "$WSISO" --root "$ROOT" exec "$ID" -- touch /tmp/ran
	grep -q "enter the session's cgroup: Permission denied" "$T/there"
	grep -q '^hint: call from the unit or scope' "$T/there"
	refute_in_session "$ID" /tmp/ran
	elsewhere "$OUTSIDE" "$WSISO" --root "$ROOT" stop "$ID"
	has_no_sandbox
}

@test "where nothing is delegated, limits are refused and nothing runs; without them all is well" {
	new_session free
	new_session "$ID" "$PIDS"
	expect_status 125 elsewhere "$OUTSIDE" "$WSISO" --log-format json --root "$ROOT" exec "$ID" -- touch /tmp/ran
	[ "$(jq -r 'select(.level == "error").kind' "$T/there")" = limits-unavailable ]
	grep -q 'Delegate=yes' "$T/there"
	refute_in_session "$ID" /tmp/ran
	has_no_sandbox
	elsewhere "$OUTSIDE" "$WSISO" --root "$ROOT" exec free -- true
}

@test "wsiso makes room for itself where it is alone, and never moves another" {
	new_session "$ID" "$PIDS"
	elsewhere "$ALONE" "$WSISO" --root "$ROOT" exec "$ID" -- cat /proc/self/cgroup
	[[ $(tail -n 1 "$T/there") == 0::*"/${ALONE##*/}/wsiso.$ID-"* ]]
	elsewhere "$ALONE/wsiso-callers" "$WSISO" --root "$ROOT" stop "$ID"
	[ -z "$(find "$ALONE" -name "wsiso.$ID-*")" ]
}

@test "in-leaf puts a caller beside the sessions' cgroups" {
	mkdir -p "$DELEGATED/scope"
	[[ $(bash -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$DELEGATED/scope" \
		"$SRCDIR/contrib/systemd/in-leaf" cat /proc/self/cgroup) == 0::*/delegated.scope/scope/callers ]]
	rmdir "$DELEGATED/scope/callers" "$DELEGATED/scope"
}

@test "a command inside can neither leave its cgroup nor change a limit" {
	new_session "$ID" "$PIDS" '{"sandbox": {"unshare_cgroup": true}}'
	[ "$(in_session cat /proc/self/cgroup)" = 0::/ ]
	refute in_session test -e /sys/fs/cgroup
	refute in_session unshare -UrmC sh -c 'mount -t cgroup2 none /mnt && echo 1000 >/mnt/pids.max'
	[ "$(cat "$(own_cgroup)/pids.max")" = 40 ]
}

# ---- run, and the profile worker ----

run_cgroups() { find "$DELEGATED" -maxdepth 1 -name 'wsiso.*' -newer "$T/since"; }
no_run_cgroup() { [ -z "$(run_cgroups)" ]; }
limits_in() { jq -c 'select(.type == "started").limits' "$1"; }

@test "a worker has a cgroup with its profile's limits, the spec's where those are tighter, and it goes with it" {
	touch "$T/since"
	ws run --profile worker --status-file "$T/status" -- cat /proc/self/cgroup >"$T/own"
	[ "$(limits_in "$T/status")" = '{"memory_max":"2147483648","pids_max":"128","cpu_max":"200000 100000"}' ]
	grep -q '/delegated.scope/wsiso\.' "$T/own"
	no_run_cgroup
	spec "$T/tight.json" '{"limits": {"memory_max": 100000000, "pids_max": 4096, "cpu_max": 0.5}}'
	ws run --profile worker --spec "$T/tight.json" --status-file "$T/status" -- true
	[ "$(limits_in "$T/status")" = '{"memory_max":"99999744","pids_max":"128","cpu_max":"50000 100000"}' ]
	# a named one, and in the background
	ws run -d --id job --exec-id one --profile worker --status-file "$T/status" -- true
	ws wait job one
	[ "$(limits_in "$T/status")" = '{"memory_max":"2147483648","pids_max":"128","cpu_max":"200000 100000"}' ]
	wait_for 10 no_run_cgroup
}

@test "a worker's hog and its fork bomb stay within it: oom, EAGAIN, and another works" {
	touch "$T/since"
	new_session other
	spec "$T/tight.json" '{"limits": {"memory_max": 100000000, "pids_max": 20}}'
	expect_status 137 ws run --profile worker --spec "$T/tight.json" --status-file "$T/status" -- \
		perl -e 'my @x; push @x, "x" x (1 << 20) while 1'
	[ "$(jq -r 'select(.type == "exited").cause' "$T/status")" = oom ]
	# in a user namespace that counts its processes anew there is still the cgroup
	ws run --profile worker --spec "$T/tight.json" -- perl -e '
		my $n = 0;
		while (defined(my $pid = fork)) { if (!$pid) { sleep 60; exit } $n++; last if $n > 100 }
		print "$n\n"' >"$T/forks"
	[ "$(cat "$T/forks")" -lt 20 ]
	[ "$(ws exec other -- echo alive)" = alive ]
	wait_for 10 no_run_cgroup
}

@test "where nothing is delegated a worker runs by its rlimits and says so, and what a spec asks for is refused" {
	elsewhere "$OUTSIDE" "$WSISO" --root "$ROOT" run --profile worker --status-file "$T/lines" -- true
	[ "$(limits_in "$T/lines")" = null ]
	spec "$T/tight.json" '{"limits": {"pids_max": 20}}'
	expect_status 125 elsewhere "$OUTSIDE" "$WSISO" --log-format json --root "$ROOT" run \
		--profile worker --spec "$T/tight.json" -- true
	[ "$(jq -r 'select(.level == "error").kind' "$T/there")" = limits-unavailable ]
}
