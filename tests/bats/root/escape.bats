#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2030,SC2031 # each test has its own ID
# shellcheck disable=SC2034 # ALLOWED is for escape.bash
#
# The attacker is root on the host, as in a container where allow_root is set: see escape.bash.
load ../helpers
load ../escape

setup() {
	[ "$(id -u)" -eq 0 ] || cannot_run "this is not root"
	escape_setup
	spec "$ROOT/wsiso.json" '{"linger_s": 10, "allow_root": true}'
	another_session
	echo SECRET >"$T/root-only"
	chmod 000 "$T/root-only"
}
teardown() { escape_teardown; }

@test "every attempt of root succeeds in a sandbox with its capabilities" {
	may_nest || cannot_run "AppArmor keeps capabilities from what bwrap starts"
	weak host >"$T/said"
	all_can "$T/said"
	[ "$(grep -c '^can ' "$T/said")" -ge 20 ]
}

# PID 1 is root's as well: that its OOM score can be raised ends no other session
ALLOWED='{"allowed": ["make_it_the_first_to_be_killed"]}'

@test "with allow_root none succeeds: exec under log and enforce, run, and as a worker" {
	session log
	refused 75 exec -i "$ID" -- bare root host
	ID=strict
	session enforce
	refused 90 exec -i "$ID" -- bare root calls host
	refused 75 run -i -- bare root host
	refused 90 run -i --profile worker --rw "$T/out:/out" -- bare root calls host
}
