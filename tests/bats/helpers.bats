#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The helpers themselves: what they promise to find, they find.
load helpers

# what wait_for asks again and again
sleeps() { [ -n "$(tagged_named sleep)" ]; }
is_locked() { [ -n "$(locks_below "$T")" ]; }

@test "a process that outlives its test is found, whatever it did to be forgotten" {
	setsid -f env -i sleep 300 >/dev/null 2>&1 3>&- </dev/null
	wait_for 5 sleeps
	refute nothing_left
	ws_leftovers | grep -q 'process .* (sleep)'
	ws_kill_leftovers
	wait_for 5 nothing_left
}

@test "a lock that outlives its test is found" {
	: >"$T/lock"
	flock "$T/lock" sleep 300 3>&- &
	wait_for 5 is_locked
	locks_below "$T" | grep -q "$T/lock"
	ws_kill_leftovers
	wait_for 5 nothing_left
}

left_mounted() { ws_leftovers | grep -q '^mounted in /proc/'; }

@test "a mount that outlives its test is found, in whatever namespace it is" {
	need_userns
	mkdir "$T/dir"
	setsid -f "$(real_bwrap)" --unshare-user --ro-bind / / --bind "$T/dir" /mnt -- sleep 300 \
		>/dev/null 2>&1 3>&- </dev/null
	wait_for 5 left_mounted
	ws_kill_leftovers
	wait_for 5 nothing_left
}

@test "a mount that a process of another test has is that one's" {
	need_userns
	mkdir "$T/dir"
	(ulimit -q $((TAG - 1)) && exec setsid -f "$(real_bwrap)" --unshare-user --ro-bind / / \
		--bind "$T/dir" /mnt -- sleep 300) >/dev/null 2>&1 3>&- </dev/null
	wait_for 5 is_mounted_by_anybody
	refute left_mounted
	TAG=$((TAG - 1)) left_mounted
	TAG=$((TAG - 1)) ws_kill_leftovers
	wait_for 5 nothing_left
}

is_mounted_by_anybody() { grep -qs -F "$T/dir" /proc/[0-9]*/mountinfo; }

@test "refute, expect_status and wait_for fail when they should" {
	local got=0
	refute true || got=$((got + 1))
	expect_status 3 true || got=$((got + 1))
	expect_status 0 false || got=$((got + 1))
	wait_for 0 false || got=$((got + 1))
	[ "$got" -eq 4 ]
}

@test "a folder of mode 000 does not keep a test's folder from being removed" {
	mkdir -p "$T/tree/a/b/c"
	chmod 000 "$T/tree/a/b" "$T/tree/a"
	ws_remove "$T/tree"
	[ ! -e "$T/tree" ]
}
