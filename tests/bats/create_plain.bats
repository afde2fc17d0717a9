#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # bats sets stderr
# shellcheck disable=SC2016 # for the shell inside to expand
#
# wsiso create on plain folders: how they are frozen, what is left out, what is shared, what
# drifts; and the live folder (snapshots.enabled false). What needs root is in root/plain.bats.
load helpers
load create_helpers

teardown() {
	[ -z "${SHM:-}" ] || rm -rf "$SHM"
	ws_teardown
}

# new_folder DIR: files, folders, links, modes, times
new_folder() {
	mkdir -p "$1/d/deep/er" "$1/empty"
	echo one >"$1/a"
	printf '#!/bin/sh\necho ran\n' >"$1/tool.sh"
	chmod 755 "$1/tool.sh"
	echo deep >"$1/d/deep/er/f"
	echo private >"$1/d/private"
	chmod 600 "$1/d/private"
	chmod 750 "$1/d"
	: >"$1/nothing"
	ln -s a "$1/link"
	ln -s /nowhere "$1/dangling"
	touch -d '2001-02-03 04:05:06.789' "$1/a"
	touch -d '2002-02-03 04:05:06' "$1/d/deep"
}

# make_plain [JSON...]: session $ID on $T/p
make_plain() {
	[ -e "$T/p" ] || new_folder "$T/p"
	spec "$T/$ID.json" "$SPEC_OPEN" "$(repo_spec "$T/p" p)" "$@"
	ws create "$ID" --spec "$T/$ID.json"
}

plain_tree() { echo "$(layer_of base "$@")/root/p"; }

# times, too: of everything
times_look() {
	(cd "$1" && find . \( -type d -printf '%p %y %m %T@\n' \) -o -printf '%p %y %m %s %T@ %l\n' | sort)
}

# no_layers: neither finished nor half-made
no_layers() { [ -z "$(cd "$ROOT" && find layers snapshots tmp -mindepth 1 2>/dev/null)" ]; }

# host_look DIR: all of a host's tree but what links change (link counts and ctimes); of
# files the access times, too
host_look() {
	(cd "$1" && find . -type f -printf '%p %y %m %U:%G %i %s %T@ %A@\n' | sort
		find . ! -type f -printf '%p %y %m %U:%G %i %T@ %l\n' | sort)
}

set_xattr() { python3 -c 'import os, sys; os.setxattr(sys.argv[3], sys.argv[1], sys.argv[2].encode())' "$@"; }

xattrs() {
	python3 -c 'import os, sys
for f in sys.argv[1:]:
    for n in os.listxattr(f): print(n + "=" + os.getxattr(f, n).decode("latin-1"))' "$@"
}

@test "a plain folder is the base: bytes, modes, times, links" {
	new_folder "$T/p"
	find "$T/p" -type f -exec touch -a -d 2000-01-01 {} +
	host_look "$T/p" >"$T/before"
	make_plain
	host_look "$T/p" | diff "$T/before" -
	diff <(times_look "$T/p") <(times_look "$(plain_tree)")
	[ "$(state_of "$ID" '.wsiso.snapshots[0].vcs')" = none ]
	[[ "$(state_of "$ID" '.wsiso.snapshots[0].revision')" =~ ^[0-9a-f]{40}$ ]]
	[ "$(state_of "$ID" '.wsiso.snapshots[0].branch')" = null ]
}

@test "the session works, and the host sees nothing of it" {
	need_userns
	new_folder "$T/p"
	chmod 000 "$T/p/d/private"
	(cd "$T/p" && find . -printf '%p %y %m %i %s %T@ %l\n' | sort) >"$T/before"
	make_plain
	[ "$(in_session pwd)" = /workspace/p ]
	in_session sh -c 'echo two >>a; rm nothing; chmod 700 d; chmod 600 d/private; echo x >>d/private
		rm link; mv d/deep/er/f d/g; ./tool.sh >out; mkdir n; echo n >n/n; rmdir empty; ln -s n m'
	[ "$(in_session sh -c 'cat a d/g out n/n m/n; cat d/private' | xargs)" = "one two deep ran n n private x" ]
	ws stop "$ID"
	[ "$(in_session cat a n/n | xargs)" = "one two n" ]
	(cd "$T/p" && find . -printf '%p %y %m %i %s %T@ %l\n' | sort) | diff "$T/before" -
}

@test "auto, hardlink: the files are the host's own inodes, folders and links are not" {
	for copy in auto hardlink; do
		rm -rf "$T/p"
		make_plain "$(jq -n --arg c $copy '{snapshots: {copy: $c}}')"
		[ "$T/p/a" -ef "$(plain_tree)/a" ]
		[ "$T/p/d/deep/er/f" -ef "$(plain_tree)/d/deep/er/f" ]
		refute [ "$T/p/d" -ef "$(plain_tree)/d" ]
		refute [ "$(stat -c %i "$T/p/link")" = "$(stat -c %i "$(plain_tree)/link")" ]
		ws delete "$ID"
	done
}

@test "copy: nothing is shared with the host, and holes stay holes" {
	new_folder "$T/p"
	truncate -s 100M "$T/p/sparse"
	printf end >>"$T/p/sparse"
	head -c 3000000 /dev/urandom >"$T/p/big"
	make_plain '{"snapshots": {"copy": "copy"}}'
	refute [ "$T/p/a" -ef "$(plain_tree)/a" ]
	[ "$(stat -c %h "$T/p/a")" -eq 1 ]
	diff -r --no-dereference "$T/p" "$(plain_tree)"
	diff <(times_look "$T/p") <(times_look "$(plain_tree)")
	[ "$(du -k "$(plain_tree)/sparse" | cut -f1)" -lt 1000 ]
}

@test "reflink is refused where the filesystem cannot, with a hint, and never replaced" {
	new_folder "$T/p"
	! cp --reflink=always "$T/p/a" "$T/p/c" 2>/dev/null || skip "this filesystem has reflinks"
	rm -f "$T/p/c"
	spec "$T/spec.json" "$SPEC_OPEN" "$(repo_spec "$T/p" p)" '{"snapshots": {"copy": "reflink"}}'
	run --separate-stderr ws create "$ID" --spec "$T/spec.json"
	[ "$status" -eq 1 ]
	[[ "$stderr" == *"cannot be reflinked"*hint:*auto* ]]
	[ "$(state_of)" = blocked ]
	no_layers
}

@test "a folder on another filesystem is copied" {
	SHM=$(mktemp -d /dev/shm/wsiso-test.XXXXXX)
	for copy in auto hardlink copy; do
		rm -rf "$SHM/p"
		new_folder "$SHM/p"
		spec "$T/spec.json" "$SPEC_OPEN" "$(repo_spec "$SHM/p" p)" "$(jq -n --arg c $copy '{snapshots: {copy: $c}}')"
		ws create "$ID" --spec "$T/spec.json"
		diff <(times_look "$SHM/p") <(times_look "$(plain_tree)")
		diff -r --no-dereference "$SHM/p" "$(plain_tree)"
		ws delete "$ID"
	done
}

@test "odd names and deep folders come out right; links are never followed" {
	new_folder "$T/p"
	mkdir "$T/outside"
	echo secret >"$T/outside/secret"
	(
		cd "$T/p"
		touch -- $'new\nline' $'tab\t' 'back\slash' '"quoted"' ' lead' 'trail ' $'\xff\xfe' 'ünï' \
			-dash 'a:b,c' '*' '.wh.a' '.git.x'
		ln -s "$T/outside" out
		ln -s ../outside/secret up
		ln -s "$(printf 'x%.0s' {1..3000})" long
		mkdir -p "$(printf 'deep/%.0s' {1..300})"
		echo x >"$(printf 'deep/%.0s' {1..300})x"
	)
	make_plain
	diff <(times_look "$T/p") <(times_look "$(plain_tree)")
	[ "$(readlink "$(plain_tree)/out")" = "$T/outside" ]
	[ "$(stat -c %h "$T/outside/secret")" -eq 1 ]
}

@test "a tree deeper than any path is refused by name" {
	new_folder "$T/p"
	(cd "$T/p" && for _ in {1..30}; do
		name=$(printf 'x%.0s' {1..200})
		mkdir "$name" && cd "$name" || exit 1
	done)
	spec "$T/spec.json" "$SPEC_OPEN" "$(repo_spec "$T/p" p)"
	[ "$(kind_of create "$ID" --spec "$T/spec.json")" = repo-unusable ]
	nothing_made
	find "$T/p" -delete
}

@test "sockets, pipes and devices are named and left out" {
	need_program python3
	new_folder "$T/p"
	mkfifo "$T/p/d/fifo" "$T/p/fi
fo"
	(cd "$T/p" && python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("sock")')
	spec "$T/spec.json" "$SPEC_OPEN" "$(repo_spec "$T/p" p)"
	run --separate-stderr ws create "$ID" --spec "$T/spec.json"
	[ "$status" -eq 0 ]
	[[ "$stderr" == *"left out"*'fi\x0afo'*"'sock'"*"'d/fifo'"* ]]
	[ -z "$(find "$(plain_tree)" ! -type f ! -type d ! -type l)" ]
	[ -f "$(plain_tree)/a" ]
	# who shares the snapshot is told, too
	run --separate-stderr ws create two --spec "$T/spec.json"
	[[ "$stderr" == *"left out"*"'sock'"* ]]
	[ "$(state_of two .wsiso.stack)" = "$(state_of "$ID" .wsiso.stack)" ]
}

@test "what cannot be read is named and left out; what only needs no reading is linked" {
	new_folder "$T/p"
	chmod 000 "$T/p/d/private"
	mkdir "$T/p/closed"
	echo x >"$T/p/closed/x"
	chmod 000 "$T/p/closed"
	mkdir "$T/p/listed"
	echo x >"$T/p/listed/x"
	chmod 400 "$T/p/listed"
	spec "$T/spec.json" "$SPEC_OPEN" "$(repo_spec "$T/p" p)"
	run --separate-stderr ws create "$ID" --spec "$T/spec.json"
	[ "$status" -eq 0 ]
	[[ "$stderr" == *"left out, since it cannot be read: 'closed', 'listed'"* ]]
	[ ! -e "$(plain_tree)/closed" ]
	[ "$(stat -c %a "$(plain_tree)/d/private")" = 0 ]
	[ "$(stat -c %a "$T/p/closed" "$T/p/listed" "$T/p/d/private" | xargs)" = "0 400 0" ]
	ws delete "$ID"
	spec "$T/spec.json" "$SPEC_OPEN" "$(repo_spec "$T/p" p)" '{"snapshots": {"copy": "copy"}}'
	run --separate-stderr ws create "$ID" --spec "$T/spec.json"
	[[ "$stderr" == *"left out, since it cannot be read: "*"'d/private'"* ]]
	[ ! -e "$(plain_tree)/d/private" ]
	chmod 700 "$T/p/closed" "$T/p/listed"
}

@test "a folder that cannot be read at all is refused" {
	new_folder "$T/p"
	chmod 000 "$T/p"
	spec "$T/spec.json" "$SPEC_OPEN" "$(repo_spec "$T/p" p)" '{"repos": [{"name": "p", "path": "'"$T/p"'", "vcs": "none"}]}'
	[ "$(kind_of create "$ID" --spec "$T/spec.json")" = repo-unusable ]
	chmod 700 "$T/p"
	nothing_made
}

@test "set-id bits do not come along; what overlayfs would obey does not either" {
	need_program python3
	need_userns
	new_folder "$T/p"
	cp /bin/true "$T/p/suid"
	chmod 6755 "$T/p/suid"
	chmod 2775 "$T/p/empty"
	set_xattr user.note kept "$T/p/suid"
	set_xattr user.note kept "$T/p/tool.sh"
	set_xattr user.overlay.opaque y "$T/p/d"
	: >"$T/p/wh"
	set_xattr user.overlay.whiteout y "$T/p/wh"
	set_xattr user.overlay.opaque x "$T/p"
	make_plain
	[ "$(stat -c %a "$(plain_tree)/suid" "$(plain_tree)/empty" | xargs)" = "755 775" ]
	[ "$(stat -c %a "$T/p/suid")" = 6755 ]
	refute [ "$T/p/suid" -ef "$(plain_tree)/suid" ]
	[ "$(xattrs "$(plain_tree)/suid")" = "user.note=kept" ]
	[ "$(xattrs "$(plain_tree)/tool.sh")" = "user.note=kept" ]
	[ -z "$(xattrs "$(plain_tree)" "$(plain_tree)/d" "$(plain_tree)/wh")" ]
	in_session sh -c 'test -e wh && test -e d/private && test -e a && echo x >>wh'
}

@test "files with an ACL are copied, and can be written inside" {
	need_program python3
	need_userns
	new_folder "$T/p"
	# acl(5) as the kernel keeps it: u::rw-,u:1:rw-,g::r--,m::rw-,o::r--
	python3 -c 'import os, struct, sys
entries = [(1, 6, -1), (2, 6, 1), (4, 4, -1), (16, 6, -1), (32, 4, -1)]
acl = struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *e) for e in entries)
os.setxattr(sys.argv[1], "system.posix_acl_access", acl)' "$T/p/a"
	make_plain
	refute [ "$T/p/a" -ef "$(plain_tree)/a" ]
	in_session sh -c 'echo more >>a'
	[ "$(in_session cat a | xargs)" = "one more" ]
	[[ "$(xattrs "$T/p/a")" == system.posix_acl_access=* ]]
	[ -z "$(xattrs "$(plain_tree)/a")" ]
}

@test "git and svn look at the folder first; vcs none takes it as files" {
	new_repo "$T/app"
	spec "$T/spec.json" "$SPEC_OPEN" '{"repos": [{"name": "p", "path": "'"$T/app/src"'", "vcs": "none"}]}'
	ws create "$ID" --spec "$T/spec.json"
	diff -r "$T/app/src" "$(plain_tree)"
	ws delete "$ID"
	spec "$T/spec.json" "$SPEC_OPEN" "$(repo_spec "$T/app/src" p)"
	run --separate-stderr ws create "$ID" --spec "$T/spec.json"
	[ "$status" -eq 1 ]
	[[ "$stderr" == *"inside the git repository '$T/app'"*'"vcs": "none"'* ]]
	spec "$T/spec.json" "$SPEC_OPEN" '{"repos": [{"name": "p", "path": "'"$T/app"'", "vcs": "none"}]}'
	ws create "$ID" --spec "$T/spec.json"
	diff -r --no-dereference "$T/app" "$(plain_tree)"
	[ "$(jq -r '.repos[0].pool' "$ROOT/sessions/$ID/state.json")" = null ]
}

@test "a revision or a branch of a plain folder is refused" {
	new_folder "$T/p"
	for more in '{"revision": "main"}' '{"branch": "main"}'; do
		spec "$T/spec.json" "$SPEC_OPEN" "$(jq -n --arg p "$T/p" --argjson m "$more" '{repos: [{name: "p", path: $p} + $m]}')"
		[ "$(kind_of create "$ID" --spec "$T/spec.json")" = repo-unusable ]
		nothing_made
	done
}

@test "F012: state folder, mounts and the folder must not lie in each other" {
	new_folder "$T/p"
	spec "$T/spec.json" "$SPEC_OPEN" "$(repo_spec "$T/p" p)"
	new_root "$T/p/state"
	run --separate-stderr ws create "$ID" --spec "$T/spec.json"
	[ "$status" -eq 1 ]
	[[ "$stderr" == *"the state folder '$T/p/state' lies inside"* ]]
	nothing_made
	use_root "$T/root2"
	new_root "$T/root2"
	mkdir "$ROOT/mine"
	spec "$T/spec.json" "$SPEC_OPEN" "$(repo_spec "$ROOT/mine" p)"
	[ "$(kind_of create "$ID" --spec "$T/spec.json")" = repo-unusable ]
}

with_mounts() {
	unshare --user --map-current-user --keep-caps --mount true 2>/dev/null ||
		cannot_run "this user cannot make a mount namespace"
	export T ROOT ID WSISO
	export -f ws kind_of
	unshare --user --map-current-user --keep-caps --mount bash -ec "$1"
}

@test "F012: mounts and bind mounts below the folder are refused, and the state folder by whatever path" {
	new_folder "$T/p"
	mkdir "$T/p/mnt" "$T/other" "$T/elsewhere" "$T/elsewhere/p"
	spec "$T/spec.json" "$SPEC_OPEN" "$(repo_spec "$T/p" p)"
	export SLOW
	with_mounts 'mount --bind "$T/other" "$T/p/mnt"; ws create "$ID" --spec "$T/spec.json" 2>"$T/err" && exit 1; true'
	grep -F "'$T/p/mnt' is a mount point" "$T/err"
	nothing_made
	# $T as $T/elsewhere/p: that has the state folder in it, and no path says so
	spec "$T/spec2.json" "$SPEC_OPEN" "$(repo_spec "$T/elsewhere/p" p)"
	with_mounts 'mount --bind "$T" "$T/elsewhere/p"; ws create "$ID" --spec "$T/spec2.json" 2>"$T/err" && exit 1; true'
	grep -F "the state folder lies inside" "$T/err"
	nothing_made
}

# ---- sharing ----

@test "sessions over an unchanged folder share a snapshot, over a changed one they do not" {
	local change
	new_folder "$T/p"
	for copy in hardlink copy; do
		spec "$T/spec.json" "$SPEC_OPEN" "$(repo_spec "$T/p" p)" "$(jq -n --arg c $copy '{snapshots: {copy: $c}}')"
		ws create first --spec "$T/spec.json"
		ws create second --spec "$T/spec.json"
		[ "$(state_of first .wsiso.stack)" = "$(state_of second .wsiso.stack)" ]
		for change in 'echo more >>a' 'chmod 640 a' 'rm nothing' 'mkdir new' 'ln -sfn d link' \
			'touch -d 2005-01-01 a' 'cp -p a b && mv b a' 'mv a b' 'chmod 700 d' 'mv empty full'; do
			(cd "$T/p" && eval "$change")
			ws delete second
			ws create second --spec "$T/spec.json"
			[ "$(state_of first .wsiso.stack)" != "$(state_of second .wsiso.stack)" ]
			diff <(times_look "$T/p") <(times_look "$(plain_tree second)")
			ws delete first
			ws create first --spec "$T/spec.json"
			[ "$(state_of first .wsiso.stack)" = "$(state_of second .wsiso.stack)" ]
		done
		ws delete first
		ws delete second
		rm -rf "$T/p"
		new_folder "$T/p"
	done
}

@test "a write that keeps size and time is seen in a copy, by its ctime" {
	new_folder "$T/p"
	spec "$T/spec.json" "$SPEC_OPEN" "$(repo_spec "$T/p" p)" '{"snapshots": {"copy": "copy"}}'
	ws create first --spec "$T/spec.json"
	touch -r "$T/p/a" "$T/stamp"
	printf 'eno\n' >"$T/p/a"
	touch -r "$T/stamp" "$T/p/a"
	ws create second --spec "$T/spec.json"
	[ "$(cat "$(plain_tree first)/a")" = one ]
	[ "$(cat "$(plain_tree second)/a")" = eno ]
}

@test "shared false: a session has a snapshot of its own, which goes with it" {
	new_folder "$T/p"
	new_repo "$T/app"
	spec "$T/spec.json" "$SPEC_OPEN" '{"snapshots": {"shared": false}, "repos": [
		{"name": "p", "path": "'"$T/p"'"}, {"name": "app", "path": "'"$T/app"'"}]}'
	ws create first --spec "$T/spec.json"
	ws create second --spec "$T/spec.json"
	[ -z "$(comm -12 <(state_of first '.wsiso.stack[]' | sort) <(state_of second '.wsiso.stack[]' | sort))" ]
	[ "$(state_of first '.wsiso.snapshots[].snapshot' | sort -u)" = null ]
	[ -z "$(ls "$ROOT/snapshots")" ]
	need_userns
	[ "$(ws exec first --cwd /workspace -- sh -c 'cat p/a; git -C app status --porcelain; cat app/d/k' | xargs)" = "one kept" ]
	ws stop first
	ws delete first
	[ "$(find "$ROOT/layers" -mindepth 1 -maxdepth 1 | wc -l)" -eq "$(state_of second '.wsiso.stack | length')" ]
	ws delete second
	[ -z "$(ls "$ROOT/layers")" ]
}

@test "a layer of a session's own is told from a shared one, whatever the id" {
	new_folder "$T/p"
	make_plain
	layer=$(state_of "$ID" '.wsiso.stack[0]')
	for id in "${layer:5:16}" "base-${layer:5:16}" x; do
		spec "$T/$id.json" "$(cat "$T/$ID.json")"
		ws create "$id" --spec "$T/$id.json"
		ws delete "$id"
		[ -e "$ROOT/layers/$layer/meta.json" ]
	done
}

@test "several creates at once build one snapshot" {
	new_folder "$T/p"
	for i in {1..200}; do echo "$i" >"$T/p/d/$i"; done
	spec "$T/spec.json" "$SPEC_OPEN" "$(repo_spec "$T/p" p)"
	for i in {1..8}; do ws_bg "c$i" create "s$i" --spec "$T/spec.json"; done
	for i in {1..8}; do wait_for 60 test -e "$ROOT/sessions/s$i/state.json"; done
	wait_for 30 eval '[ "$(find "$ROOT/layers" -mindepth 1 -maxdepth 1 | wc -l)" -eq 1 ]'
	[ "$(find "$ROOT/tmp" -mindepth 1 | wc -l)" -eq 0 ]
}

# ---- changes, drift ----

@test "a folder that keeps changing while it is copied is refused, one that stops is not" {
	new_folder "$T/p"
	for i in {1..3000}; do echo "$i" >"$T/p/d/$i"; done
	(while :; do echo x >>"$T/p/d/private"; date +%N >"$T/p/d/$RANDOM"; done) 3>&- &
	writer=$!
	spec "$T/spec.json" "$SPEC_OPEN" "$(repo_spec "$T/p" p)"
	run --separate-stderr ws create "$ID" --spec "$T/spec.json"
	kill "$writer"
	wait "$writer" || true
	[ "$status" -eq 1 ]
	[[ "$stderr" == *"keeps changing while it is copied"* ]]
	no_layers
	ws create "$ID" --retry
	diff <(times_look "$T/p") <(times_look "$(plain_tree)")
}

@test "F052: a write in place shows through a hard link, and is found and reported" {
	need_userns
	make_plain
	[ "$(in_session cat a)" = one ]
	run --separate-stderr in_session true
	[[ "$stderr" != *"no longer what it was"* ]]
	ws stop "$ID"
	echo v2 >"$T/p/a"
	chmod 640 "$T/p/tool.sh"
	run --separate-stderr in_session true
	[ "$status" -eq 0 ]
	[[ "$stderr" == *"no longer what it was: 2 of its files"*"'a'"*"'tool.sh'"* ]]
	ws snapshot list --json >"$T/list"
	[ "$(jq '.[0].drifted' "$T/list")" -eq 2 ]
	[ "$(jq '.[0].linked' "$T/list")" -ge 5 ]
	# a new session starts from what is there now
	spec "$T/two.json" "$(cat "$T/$ID.json")"
	run --separate-stderr ws create two --spec "$T/two.json"
	[ -z "$stderr" ]
	run --separate-stderr ws exec two -- cat a
	[ "$output" = v2 ]
	[ -z "$stderr" ]
}

@test "F052: what the host replaces, removes or adds does not reach a session" {
	need_userns
	make_plain
	[ "$(in_session cat a)" = one ]
	(cd "$T/p" && echo v2 >b && mv b a && rm tool.sh && echo x >new && rm -r d)
	[ "$(in_session cat a d/deep/er/f | xargs)" = "one deep" ]
	ws stop "$ID"
	run --separate-stderr in_session sh -c 'cat a; ./tool.sh; test ! -e new && echo none'
	[ "$(xargs <<<"$output")" = "one ran none" ]
	[ -z "$stderr" ]
}

@test "F052: with copy nothing of the host reaches a session, and nothing is reported" {
	need_userns
	make_plain '{"snapshots": {"copy": "copy"}}'
	echo v2 >"$T/p/a"
	chmod 000 "$T/p/tool.sh"
	run --separate-stderr in_session sh -c 'cat a; ./tool.sh'
	[ "$(xargs <<<"$output")" = "one ran" ]
	[ -z "$stderr" ]
	[ "$(ws snapshot list --json | jq '.[0].linked')" -eq 0 ]
}

# ---- the live folder ----

@test "snapshots.enabled false: the live folder shows through, with a warning, and stays as it is" {
	need_userns
	new_folder "$T/p"
	host_look "$T/p" >"$T/before"
	spec "$T/spec.json" "$SPEC_OPEN" "$(repo_spec "$T/p" p)" '{"snapshots": {"enabled": false}}'
	run --separate-stderr ws create "$ID" --spec "$T/spec.json"
	[ "$status" -eq 0 ]
	[[ "$stderr" == *"the live folder '$T/p' shows through"*undefined* ]]
	no_layers
	[ "$(state_of "$ID" '.wsiso.snapshots[0].revision')" = null ]
	[ "$(in_session pwd)" = /workspace/p ]
	in_session sh -c 'echo two >>a; rm -r d; ./tool.sh >out; mkdir d; echo n >d/n'
	ws stop "$ID"
	[ "$(in_session sh -c 'cat a out d/n; ls d' | xargs)" = "one two ran n n" ]
	refute in_session touch /workspace/x
	ws stop "$ID"
	host_look "$T/p" | diff "$T/before" -
	# what the host adds is there at the next start
	echo later >"$T/p/later"
	[ "$(in_session cat later)" = later ]
	ws stop "$ID"
	mv "$T/p" "$T/q"
	[ "$(kind_of exec "$ID" -- true)" = base-missing ]
	mv "$T/q" "$T/p"
	[ "$(in_session cat later)" = later ]
	ws delete -f "$ID"
	[ -e "$T/p/a" ]
}

@test "a live git repository works as git inside, and the host sees nothing" {
	need_userns
	new_repo "$T/app"
	hgit -C "$T/app" rev-parse HEAD >"$T/head"
	spec "$T/spec.json" "$SPEC_OPEN" "$(repo_spec "$T/app")" '{"snapshots": {"enabled": false}}'
	ws create "$ID" --spec "$T/spec.json"
	in_session sh -c 'echo x >>d/f; git -c user.name=a -c user.email=a@b commit -qam live'
	[ "$(in_session git log --oneline | wc -l)" -eq 4 ]
	[ "$(hgit -C "$T/app" rev-parse HEAD)" = "$(cat "$T/head")" ]
	[ -z "$(hgit -C "$T/app" status --porcelain)" ]
}

@test "what cannot be shown live is refused" {
	new_repo "$T/app"
	for more in '{"revision": "v1"}' '{"branch": "topic"}' '{"path": "svn://host/x"}' '{"path": "/no/where"}'; do
		spec "$T/spec.json" "$SPEC_OPEN" '{"snapshots": {"enabled": false}}' \
			"$(jq -n --arg p "$T/app" --argjson m "$more" '{repos: [{name: "p", path: $p} + $m]}')"
		[ "$(kind_of create "$ID" --spec "$T/spec.json")" = repo-unusable ]
		nothing_made
	done
}

@test "two live folders have one upper; a killed create of them is no obstacle" {
	need_userns
	new_folder "$T/p"
	new_folder "$T/q"
	spec "$T/spec.json" "$SPEC_OPEN" '{"snapshots": {"enabled": false}, "repos": [
		{"name": "p", "path": "'"$T/p"'"}, {"name": "q", "path": "'"$T/q"'"}]}'
	mkdir -p "$ROOT/sessions/$ID/upper/p" "$ROOT/sessions/$ID/work/p"
	ws create "$ID" --spec "$T/spec.json"
	[ "$(in_session pwd)" = /workspace ]
	in_session sh -c 'mv p/a q/moved; echo x >p/x'
	[ "$(cd "$ROOT/sessions/$ID/upper" && find . -mindepth 2 | sort | xargs)" = "./p/a ./p/x ./q/moved" ]
	[ -e "$T/p/a" ]
}

# ---- mixed ----

@test "a session mixes git and plain folders" {
	need_userns
	new_folder "$T/p"
	new_repo "$T/app"
	spec "$T/spec.json" "$SPEC_OPEN" '{"repos": [
		{"name": "p", "path": "'"$T/p"'"}, {"name": "app", "path": "'"$T/app"'", "branch": "topic"}]}'
	ws create "$ID" --spec "$T/spec.json"
	[ "$(in_session pwd)" = /workspace ]
	[ "$(in_session sh -c 'cat p/a; cd app && git status -sb' | xargs)" = "one ## topic" ]
	in_session sh -c 'cp p/a app/from-p && cd app && git add . && git -c user.name=a -c user.email=a@b commit -qm x && git log --oneline | wc -l'
	[ "$(in_session sh -c 'ls p/.git 2>&1' | wc -l)" -eq 1 ]
}
