#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# As root, who may read the kernel's log: what the filter in mode log has let through.
load ../helpers

setup() {
	[ "$(id -u)" -eq 0 ] || cannot_run "this is not root"
	ws_setup
	spec "$ROOT/wsiso.json" '{"linger_s": 10, "allow_root": true}'
}

# The kernel drops records when there are many: another try, a little later.
is_recorded() {
	sleep 2
	ws exec --exec-id "e$((tries += 1))" "$ID" -- unshare --user true
	ws logs "$ID" --seccomp --json >"$T/hits"
	jq -e --arg e "e$tries" 'map(select(.exec == $e and .call == "unshare")) | length > 0' "$T/hits"
}

@test "logs --seccomp shows what the filter in mode log has let through, and of which exec" {
	local tries=0
	dd if=/dev/kmsg of=/dev/null bs=8192 count=1 iflag=nonblock status=none ||
		 cannot_run "the kernel's log cannot be read here"
	need_userns
	spec "$T/$ID.json" '{"sandbox": {"seccomp": "log"}}'
	ws create "$ID" --spec "$T/$ID.json"
	wait_for 30 is_recorded
	matches_schema seccomp-log "$T/hits"
	jq -e 'map(select(.action != "allowed")) | length == 0' "$T/hits"
}
