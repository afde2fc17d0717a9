#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016 # for the shell inside to expand
#
# Run as root: with allow_root a merge brings what uid 0 made, and no device and no other
# owner with it; idle, and through the mounts of a parent with live commands.
load ../helpers

setup() {
	[ "$(id -u)" -eq 0 ] || cannot_run "this is not root"
	ws_setup
	spec "$ROOT/wsiso.json" '{"linger_s": 10, "allow_root": true, "subagent_isolation": "isolated"}'
	new_session
	ws create child --parent "$ID"
	ws exec child -- sh -c 'echo new >new; rm d/k; chmod 700 d; mkdir -m 0 shut; : >none; chmod 0 none
		ln -s /etc/shadow link2; chmod 4755 tool.sh; mkfifo pipe'
}

# as_child: the parent's working tree is the child's, but for the FIFO, and root owns all of it
as_child() {
	local id
	for id in "$ID" child; do
		ws exec "$id" -- sh -c 'find . -name .git -prune -o ! -name pipe -printf "%P %y %m %U:%G %l\n" | sort' >"$T/$id.tree"
	done
	diff "$T/$ID.tree" "$T/child.tree"
	[ "$(cut -d' ' -f4 "$T/$ID.tree" | grep -c -v '^0:0$')" -eq "$(grep -c '^with blank' "$T/$ID.tree")" ]
	refute in_session test -e pipe
	[ "$(in_session cat new)" = new ]
	[ "$(ws merge child)" = "noop: 'child' into '$ID'" ]
}

@test "with allow_root a merge brings what root made" {
	ws merge child
	as_child
	ws stop "$ID"
	as_child
}

@test "with allow_root a parent with live commands is merged, too" {
	ws exec -d "$ID" -- sh -c 'while [ ! -e new ]; do sleep 0.01; done; echo seen >/tmp/seen; sleep 1000'
	ws merge child
	wait_for 5 in_session test -s /tmp/seen
	as_child
}

@test "root is refused by merge when allow_root was taken back, and nothing is merged" {
	ws stop "$ID"
	ws stop child
	spec "$ROOT/wsiso.json" '{"linger_s": 10, "subagent_isolation": "isolated"}'
	[ "$(kind_of merge child)" = host-unsupported ]
	[ ! -e "$ROOT/sessions/$ID/upper/app/new" ]
}
