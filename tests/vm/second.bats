#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016 # for the shell inside to expand
# shellcheck disable=SC2154 # bats sets stderr
#
# The main job on the second system, and what only that shows: AppArmor with the
# distribution's own profile for bwrap, cgroup v2, a root mount that is shared.
# tests/vm/inside prepares the machine.
load ../bats/helpers

LABEL='bwrap//&unpriv_bwrap' # what that profile gives to a payload of bwrap's

# What it comes to where a label that somebody asked for is added to "unconfined".
ADDED='bwrap//&unconfined//&unpriv_bwrap'

setup_file() { build_programs self; }

wanted() {
	if [ "${WSISO_VM_UNCONFINED:-}" = restricted ]; then
		echo "$ADDED"
	else
		echo "$LABEL"
	fi
}

bare_label() { sed 's/ (.*)$//'; }

label_of() { bare_label <"/proc/$1/attr/current"; }

# label_inside [OPTION...]: of a command of the session
label_inside() { ws exec "$@" "$ID" -- cat /proc/self/attr/current | tr -d '\r' | bare_label; }

# pids_of WORD: the host's PIDs of the session's processes whose command line has WORD
pids_of() { ws ps --json "$ID" | jq -r --arg word "$1" '.[] | select(.command | contains($word)).pid'; }

# ---- the machine is what this is about ----

@test "the kernel has AppArmor and cgroup v2, and bwrap's payload gets the label of its profile" {
	grep -q apparmor /sys/kernel/security/lsm
	[ "$(stat -f -c %T /sys/fs/cgroup)" = cgroup2fs ]
	findmnt -no PROPAGATION / | grep -q shared
	[ "$(label_of self)" = unconfined ]
	[ "$(/usr/bin/bwrap --unshare-user --ro-bind / / --proc /proc -- cat /proc/self/attr/current |
		bare_label)" = "$LABEL" ]
}

@test "check finds nothing missing" {
	ws check >"$T/check" || {
		cat "$T/check"
		return 1
	}
	sed 's/^/# /' "$T/check" >&3
	[ "$(ws check --json | jq .usable)" = true ]
}

@test "the main job: create, exec, commit inside, a background server, stop, go on, delete" {
	new_session
	[ "$(in_session git log --oneline | wc -l)" -eq 3 ]
	[ -z "$(in_session git status --porcelain)" ]
	in_session sh -c 'echo inside >d/new && git add d/new &&
		git -c user.name=a -c user.email=a@b.c commit -q -m inside && git switch -q -c other'
	ws exec -d --exec-id server "$ID" -- perl -e 'use IO::Socket::INET;
		my $s = IO::Socket::INET->new(Listen => 5, LocalAddr => "127.0.0.1:8080") or die;
		while (my $c = $s->accept) { print $c "served\n"; close $c }'
	wait_for 20 in_session bash -c ': </dev/tcp/127.0.0.1/8080'
	[ "$(in_session bash -c 'cat </dev/tcp/127.0.0.1/8080')" = served ]
	ws kill "$ID" TERM --exec server
	[ "$(ws wait "$ID" server)" = 143 ]
	expect_status 7 in_session sh -c 'exit 7'
	expect_status 124 ws exec --timeout 2 "$ID" -- sleep 600
	ws stop "$ID"
	[ "$(in_session sh -c 'git branch --show-current; cat d/new' | xargs)" = "other inside" ]
	[ "$(hgit -C "$T/app" rev-list --count --all)" -eq 3 ]
	[ ! -e "$T/app/d/new" ]
	ws delete -f "$ID"
	[ ! -e "$ROOT/sessions/$ID" ]
}

# ---- labels ----

@test "PID 1 has the label of bwrap's own payload" {
	new_session
	in_session true
	[ "$(label_of "$(init_pid)")" = "$LABEL" ]
}

@test "the receipt names the label by its digest" {
	local digest
	new_session
	ws exec --status-file "$T/status" "$ID" -- true
	digest=sha256:$(printf '%s' "$LABEL" | sha256sum | cut -d' ' -f1)
	[ "$(jq -r 'select(.type == "started").digests.label' "$T/status")" = "$digest" ]
	[ "$(state_of "$ID" .wsiso.sandbox.digests.label)" = "$digest" ]
}

@test "every command has the label: the first, the hundredth, with stdin, a timeout, a terminal" {
	local i want
	want=$(wanted)
	new_session
	[ "$(label_inside)" = "$want" ]
	for i in $(seq 2 99); do in_session true; done
	[ "$(label_inside)" = "$want" ]
	[ "$(echo x | label_inside -i)" = "$want" ]
	[ "$(label_inside --timeout 60)" = "$want" ]
	[ "$(label_inside -t)" = "$want" ]
}

@test "a background command, its children and what is left of it have the label" {
	local pid want
	want=$(wanted)
	new_session
	ws exec -d "$ID" -- sh -c 'setsid sleep 501 & sleep 502'
	wait_for 10 eval '[ -n "$(pids_of "sleep 501")" ]'
	for pid in $(pids_of 'sleep 50'); do
		[ "$(label_of "$pid")" = "$want" ]
	done
	[ "$(pids_of 'sleep 50' | wc -l)" -ge 2 ]
}

@test "a command with a private HOME and /tmp has the label" {
	new_session "$ID" '{"persistent_home": false, "session_tmp": false}'
	[ "$(label_inside)" = "$(wanted)" ]
	in_session sh -c 'echo x >~/file && cat ~/file && ! mount | grep -q nothing'
}

@test "a command of a session that is started by many at once has the label" {
	local i pids=()
	new_session
	for i in $(seq 8); do
		ws_bg "label$i" exec "$ID" -- cat /proc/self/attr/current
		pids+=("$BG")
	done
	for i in "${pids[@]}"; do wait "$i"; done
	[ "$(cat "$T"/label*.out | bare_label | sort | uniq -c | xargs)" = "8 $(wanted)" ]
}

# The sandbox's label strips capabilities in a user namespace that a payload makes. Without
# it, the second command could do what the first cannot.
@test "no command gets a capability in a user namespace of its own" {
	local i
	new_session
	for i in 1 2 3; do
		[ "$(in_session unshare -U sh -c 'mount -t tmpfs none /mnt 2>/dev/null || mount -t tmpfs none /tmp ||
			unshare -m true || echo no capability' 2>/dev/null)" = "no capability" ]
	done
}

@test "no command can leave its label" {
	new_session
	in_session sh -c 'for l in unconfined bwrap wsiso-test-caller; do
		{ echo "changeprofile $l" >/proc/self/attr/current; } 2>/dev/null && echo "changed to $l"
		{ echo "exec $l" >/proc/self/attr/exec; } 2>/dev/null && cat /proc/self/attr/current
		done; exit 0' | bare_label | refute grep -vxF "$(wanted)"
}

# ---- who calls ----

# confined PROFILE ARGS...: wsiso by a caller with that profile of AppArmor's
confined() { aa-exec -p "$1" -- timeout -k 5 $((60 * SLOW)) "$WSISO" --root "$ROOT" "${@:2}"; }

# Where "unconfined" is restricted, who takes another profile has it in addition.
@test "a caller whose profile confines nothing has the same label inside" {
	local caller='wsiso-test-editor (unconfined)'
	[ "${WSISO_VM_UNCONFINED:-}" != restricted ] || caller="unconfined//&$caller"
	[ "$(aa-exec -p wsiso-test-editor -- cat /proc/self/attr/current)" = "$caller" ]
	new_session
	confined wsiso-test-editor exec "$ID" -- cat /proc/self/attr/current >"$T/first"
	confined wsiso-test-editor exec "$ID" -- cat /proc/self/attr/current >"$T/second"
	[ "$(bare_label <"$T/first")" = "$(wanted)" ]
	cmp "$T/first" "$T/second"
	[ "$(label_inside)" = "$(wanted)" ]
	[ "$(label_of "$(init_pid)")" = "$LABEL" ]
}

# Under no_new_privs the kernel lets a confined process take no other label.
@test "a caller who is confined is refused with a hint, and nothing runs" {
	new_session
	run --separate-stderr confined wsiso-test-service exec "$ID" -- touch /tmp/ran
	[ "$status" -eq 125 ]
	[ "$(grep -c -e 'label: Operation not permitted' -e '^hint: AppArmor' <<<"$stderr")" -eq 2 ]
	refute_in_session "$ID" /tmp/ran
	[ "$(label_inside)" = "$(wanted)" ]
	expect_status 1 confined wsiso-test-service check >"$T/check"
	grep -q '^enter .*failed .*unconfined process' "$T/check"
}

# ---- cgroup ----

@test "a command's cgroup is that of whoever started the sandbox, and is in the receipt" {
	local own
	own=$(cat /proc/self/cgroup)
	[ "$own" != 0::/ ]
	new_session
	ws exec --status-file "$T/status" "$ID" -- true
	[ "$(jq -r 'select(.type == "started").cgroup' "$T/status")" = "$own" ]
	[ "$(in_session cat /proc/self/cgroup)" = "$own" ]
	[ "$(cat "/proc/$(init_pid)/cgroup")" = "$own" ]
}

@test "with a cgroup namespace of its own a command sees itself at the top" {
	new_session "$ID" '{"sandbox": {"unshare_cgroup": true}}'
	[ "$(in_session cat /proc/self/cgroup)" = 0::/ ]
	[ "$(in_session cat /proc/self/cgroup)" = 0::/ ]
}

@test "no cgroup of the host can be seen or written" {
	new_session
	refute in_session test -e /sys/fs/cgroup
}

# ---- mounts ----

@test "the sandbox's mounts are cut off the host's, which are shared here" {
	new_session
	in_session cat /proc/self/mountinfo >"$T/mounts"
	[ "$(wc -l <"$T/mounts")" -gt 5 ]
	refute grep -e 'shared:' -e 'master:' "$T/mounts"
}
