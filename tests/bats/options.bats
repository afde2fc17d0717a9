#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016 # for the shell inside to expand
# shellcheck disable=SC2030,SC2031 # a test is a subshell
#
# Every option of "sandbox" but the filter: on when it is on, off when it is off.
load helpers

# with JSON: session $ID-N with that in "sandbox", from now on $ID
with() {
	COUNT=$((${COUNT:-0} + 1))
	ID=s$BATS_TEST_NUMBER-$COUNT
	new_session "$ID" "{\"sandbox\": $1}"
}

# is_host_ns NAME: has a command of the session the host's namespace?
is_host_ns() { [ "$(in_session readlink "/proc/self/ns/$1")" = "$(readlink "/proc/self/ns/$1")" ]; }

@test "unshare_net: its own loopback and nothing else, or the host's interfaces" {
	with '{"unshare_net": true}'
	refute is_host_ns net
	[ "$(in_session cat /proc/net/dev | awk -F: '/:/ { print $1 }' | xargs)" = lo ]
	with '{"unshare_net": false}'
	is_host_ns net
	[ "$(in_session cat /proc/net/dev | awk -F: '/:/ { print $1 }' | xargs)" = \
		"$(awk -F: '/:/ { print $1 }' /proc/net/dev | xargs)" ]
}

@test "unshare_uts: a namespace of its own, or the host's" {
	with '{"unshare_uts": true}'
	refute is_host_ns uts
	[ "$(in_session cat /proc/sys/kernel/hostname)" = "$(cat /proc/sys/kernel/hostname)" ]
	with '{"unshare_uts": false}'
	is_host_ns uts
}

@test "hostname: the name inside, with a UTS namespace by itself; null is the host's name" {
	with '{"hostname": "box.lan"}'
	refute is_host_ns uts
	[ "$(in_session sh -c 'cat /proc/sys/kernel/hostname /etc/hostname; grep -c box.lan /etc/hosts' |
		xargs)" = "box.lan box.lan 1" ]
	[ "$(cat /proc/sys/kernel/hostname)" != box.lan ]
	with '{"hostname": "box.lan", "unshare_uts": false}'
	[ "$(in_session cat /proc/sys/kernel/hostname)" = box.lan ]
	with '{"hostname": null}'
	is_host_ns uts
	[ "$(in_session cat /etc/hostname)" = "$(cat /proc/sys/kernel/hostname)" ]
}

@test "unshare_cgroup: a namespace of its own, or the host's" {
	with '{"unshare_cgroup": true}'
	refute is_host_ns cgroup
	with '{"unshare_cgroup": false}'
	is_host_ns cgroup
}

# Field 6 of stat: the session. The shell stays its own parent's child in a command list.
@test "new_session: the command leads a session of its own, or is in its shepherd's" {
	local leads='read -r _ _ _ _ _ sid _ </proc/self/stat; [ "$sid" = "$$" ] && echo leads || echo follows'
	with '{"new_session": true}'
	[ "$(in_session bash -c "$leads; :")" = leads ]
	with '{"new_session": false}'
	[ "$(in_session bash -c "$leads; :")" = follows ]
}

@test "new_session or not: a command has no terminal of the caller's, and one of its own with -t" {
	local value opens='(: </dev/tty) 2>/dev/null && echo open || echo none'
	for value in true false; do
		with "{\"new_session\": $value}"
		[ "$(ws_pty exec "$ID" -- bash -c "$opens" | tr -d '\r')" = none ]
		[ "$(ws_pty exec -t "$ID" -- bash -c "$opens" | tr -d '\r')" = open ]
	done
}

@test "env_mode: minimal passes nothing on, inherit_all all but what belongs to the host, with a warning" {
	export FOREIGN=seen LD_PRELOAD_NOT=1 WSISO_SECRET=1
	with '{"env_mode": "minimal"}'
	[ "$(in_session printenv FOREIGN || echo none)" = none ]
	with '{"env_mode": "inherit_all"}' 2>"$T/warned"
	grep -q 'whole environment' "$T/warned"
	[ "$(in_session printenv FOREIGN)" = seen ]
	[ "$(in_session printenv WSISO_SECRET || echo none)" = none ]
	[ "$(HOME=/nowhere in_session sh -c 'echo $HOME')" = "/home/$(id -un)" ]
}

@test "clearenv: false means inherit_all, unless env_mode says what to do" {
	export FOREIGN=seen
	with '{"clearenv": false}' 2>/dev/null
	[ "$(in_session printenv FOREIGN)" = seen ]
	with '{"clearenv": true}'
	[ "$(in_session printenv FOREIGN || echo none)" = none ]
	with '{"clearenv": false, "env_mode": "minimal"}' 2>"$T/warned"
	grep -q clearenv "$T/warned"
	[ "$(in_session printenv FOREIGN || echo none)" = none ]
}

@test "inherit_env_vars and its old name: those are passed on, together, and no other" {
	export FIRST=1 SECOND=2 THIRD=3
	with '{"inherit_env_vars": ["FIRST"], "allowed_env_vars": ["SECOND"]}' 2>"$T/warned"
	grep -q "'sandbox.allowed_env_vars' is an old name" "$T/warned"
	[ "$(in_session sh -c 'echo $FIRST$SECOND$THIRD')" = 12 ]
	with '{"inherit_env_vars": []}'
	[ -z "$(in_session sh -c 'echo $FIRST$SECOND$THIRD')" ]
}

@test "deny_env_vars: never passed on, whatever else lets them in" {
	export FIRST=1 SECOND=2
	with '{"env_mode": "inherit_all", "deny_env_vars": ["FIRST"]}' 2>/dev/null
	[ "$(in_session sh -c 'echo $FIRST$SECOND')" = 2 ]
	with '{"inherit_env_vars": ["FIRST", "SECOND"], "deny_env_vars": ["SECOND"]}'
	[ "$(in_session sh -c 'echo $FIRST$SECOND')" = 1 ]
	[ -z "$(ws exec -e SECOND=3 "$ID" -- sh -c 'echo $SECOND' 2>/dev/null)" ]
	with '{"inherit_env_vars": ["FIRST", "SECOND"], "deny_env_vars": []}'
	[ "$(in_session sh -c 'echo $FIRST$SECOND')" = 12 ]
}
