#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016 # for the shell inside to expand
#
# export and create --from as root, who could make what an archive should not: devices, files
# of others, set-id programs.
load ../helpers

setup() {
	[ "$(id -u)" -eq 0 ] || cannot_run "this is not root"
	ws_setup
	spec "$ROOT/wsiso.json" '{"linger_s": 10, "allow_root": true}'
}

@test "root's session travels, and all of it is root's, whoever an archive names" {
	new_session
	in_session sh -c 'echo x >new; echo y >~/y; rm d/g1'
	ws export "$ID" --format session --compress none -o "$T/a"
	"$PYTHON" -c '
import sys, tarfile
with tarfile.open(sys.argv[1]) as a, tarfile.open(sys.argv[2], "w", format=tarfile.PAX_FORMAT) as b:
    for m in a:
        m.uid, m.gid, m.uname, m.gname = 1234, 4321, "nobody", "daemon"
        b.addfile(m, a.extractfile(m) if m.isreg() else None)' "$T/a" "$T/b"
	ws diff "$ID" >"$T/diff"
	new_root "$T/other" '{"allow_root": true}'
	ws create n1 --from "$T/b"
	diff "$T/diff" <(ws diff n1)
	[ -z "$(find "$ROOT/sessions" "$ROOT/layers" "$ROOT/pools" ! -user 0 -o ! -group 0)" ]
	[ "$(ws exec n1 -- cat new)" = x ]
}

@test "no device, set-id program or link out comes of an archive that root takes" {
	local name
	new_session
	in_session mkdir zz
	ws export "$ID" --format session --compress none -o "$T/a"
	mkdir "$T/outside"
	echo SECRET >"$T/outside/secret"
	find "$T/outside" -printf '%p %m %T@ %n\n' >"$T/before"
	new_root "$T/other" '{"allow_root": true}'
	for name in null_device block_device setuid setgid setuid_folder xattr_trusted xattr_capability \
		through_link link_then_file hardlink absolute pool_link pool_alternates; do
		"$PYTHON" "$HELPERS/archive_tool.py" "$name" "$T/a" "$T/b" "$T/outside"
		refute ws create n1 --from "$T/b" 2>"$T/err"
		[ -z "$(find "$ROOT"/{tmp,layers,pools,sessions} -mindepth 1 2>/dev/null)" ]
	done
	find "$T/outside" -printf '%p %m %T@ %n\n' | diff "$T/before" -
}
