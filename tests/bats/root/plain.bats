#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016 # for the shell inside to expand
# shellcheck disable=SC2154 # bats sets stderr
#
# Plain folders whose frozen copies need root to set up: files of other owners, reflinks on a
# filesystem that has them. wsiso runs as somebody else.
load ../helpers
load ../create_helpers

setup() {
	[ "$(id -u)" -eq 0 ] || cannot_run "this is not root"
	ws_setup
	as_nobody true || cannot_run "setpriv cannot become nobody"
	chown 65534:65534 "$ROOT" "$ROOT/wsiso.json"
}

teardown() {
	if [ -n "${MOUNTED:-}" ]; then
		ws list -q | while read -r id; do ws delete -f "$id"; done
		umount "$MOUNTED"
	fi
	ws_teardown
}

as_nobody() {
	env -i HOME=/nonexistent PATH=/usr/local/bin:/usr/bin:/bin LANG=C.UTF-8 \
		setpriv --reuid=65534 --regid=65534 --clear-groups -- "$@"
}

ws() { as_nobody timeout -k 5 "$((${WS_TIMEOUT:-60} * SLOW))" "$WSISO" --root "$ROOT" "$@"; }

plain_tree() { echo "$(layer_of base)/root/p"; }

# make_plain FOLDER [JSON...]
make_plain() {
	local path=$1
	shift
	spec "$T/$ID.json" "$SPEC_OPEN" "$(repo_spec "$path" p)" "$@"
	chmod 644 "$T/$ID.json"
	ws create "$ID" --spec "$T/$ID.json"
}

@test "files and folders of other owners are copied, belong to the caller, and can be written" {
	mkdir -p "$T/p/root-dir/own" "$T/p/group-dir"
	echo mine >"$T/p/mine"
	echo root >"$T/p/root"
	echo group >"$T/p/group"
	echo other >"$T/p/other"
	echo in >"$T/p/root-dir/in"
	echo own >"$T/p/root-dir/own/f"
	ln -s mine "$T/p/link"
	chown -R 65534:65534 "$T/p"
	chown 0:0 "$T/p/root" "$T/p/root-dir"
	chown -h 0:0 "$T/p/link"
	chown 65534:12345 "$T/p/group" "$T/p/group-dir"
	chown 12345:65534 "$T/p/other"
	chmod 2775 "$T/p/group-dir"
	cp /bin/true "$T/p/suid"
	chmod 4755 "$T/p/suid"
	find "$T/p" -printf '%p %y %m %U:%G %i %s %T@\n' | sort >"$T/before"
	make_plain "$T/p" 2>"$T/err"
	[ ! -s "$T/err" ]
	[ -z "$(find "$(plain_tree)" ! -uid 65534 -o ! -gid 65534)" ]
	[ "$T/p/mine" -ef "$(plain_tree)/mine" ]
	for copied in root group other suid root-dir/in; do
		[ "$copied" = root-dir/in ] || refute [ "$T/p/$copied" -ef "$(plain_tree)/$copied" ]
	done
	[ "$(stat -c %a "$(plain_tree)/suid")" = 755 ]
	in_session sh -ec 'for f in mine root group other root-dir/in root-dir/own/f suid; do echo x >>$f; done
		touch root-dir/new group-dir/new; rm -r root-dir; mv group-dir g2; rm link'
	find "$T/p" -printf '%p %y %m %U:%G %i %s %T@\n' | sort | diff "$T/before" -
}

@test "what belongs to others and cannot be read is named and left out" {
	mkdir -p "$T/p/closed"
	echo mine >"$T/p/mine"
	echo secret >"$T/p/secret"
	echo secret >"$T/p/closed/f"
	chown -R 65534:65534 "$T/p"
	chown -R 0:0 "$T/p/secret" "$T/p/closed"
	chmod 600 "$T/p/secret"
	chmod 700 "$T/p/closed"
	make_plain "$T/p" 2>"$T/err"
	grep -F "left out, since it cannot be read: 'closed', 'secret'" "$T/err"
	[ "$(ls "$(plain_tree)")" = mine ]
}

@test "a file that cannot be linked, since it is immutable, is copied" {
	mkdir "$T/p"
	echo fixed >"$T/p/fixed"
	echo free >"$T/p/free"
	chown -R 65534:65534 "$T/p"
	chattr +i "$T/p/fixed" || cannot_run "no immutable files here"
	make_plain "$T/p" || {
		chattr -i "$T/p/fixed"
		false
	}
	chattr -i "$T/p/fixed"
	refute [ "$T/p/fixed" -ef "$(plain_tree)/fixed" ]
	[ "$(cat "$(plain_tree)/fixed")" = fixed ]
	[ "$T/p/free" -ef "$(plain_tree)/free" ]
}

# on_filesystem TYPE [OPTION...]: $T/fs is a new one of it, with the state folder on it
on_filesystem() {
	PATH=$PATH:/usr/sbin
	local type=$1
	shift
	command -v "mkfs.$type" >/dev/null || cannot_run "mkfs.$type is not installed"
	truncate -s 600M "$T/image"
	"mkfs.$type" -q "$@" "$T/image"
	mkdir "$T/fs"
	mount -o loop "$T/image" "$T/fs" || cannot_run "$type cannot be mounted here"
	MOUNTED=$T/fs
	chmod 755 "$T/fs"
	new_root "$T/fs/root"
	chown 65534:65534 "$ROOT" "$ROOT/wsiso.json"
}

# reflinks_work: on $T/fs
reflinks_work() {
	local copy
	mkdir -p "$T/fs/p/d"
	head -c 20000000 /dev/urandom >"$T/fs/p/big"
	echo one >"$T/fs/p/a"
	: >"$T/fs/p/empty"
	echo root >"$T/fs/p/root"
	chmod 600 "$T/fs/p/a"
	chown -R 65534:65534 "$T/fs/p"
	chown 0:0 "$T/fs/p/root"
	touch -d 2001-02-03 "$T/fs/p/a"
	(cd "$T/fs/p" && find . -printf '%p %y %m %U:%G %i %s %n %T@ %C@\n' | sort) >"$T/before"
	for copy in auto reflink; do
		sync -f "$T/fs"
		before=$(df --output=used -B1 "$T/fs" | tail -n 1)
		make_plain "$T/fs/p" "$(jq -n --arg c $copy '{snapshots: {copy: $c}}')"
		sync -f "$T/fs"
		after=$(df --output=used -B1 "$T/fs" | tail -n 1)
		[ $((after - before)) -lt 10000000 ]
		refute [ "$T/fs/p/a" -ef "$(plain_tree)/a" ]
		diff -r "$T/fs/p" "$(plain_tree)"
		[ "$(stat -c '%a %U %Y' "$(plain_tree)/a")" = "$(stat -c '%a %U %Y' "$T/fs/p/a")" ]
		[ -z "$(find "$(plain_tree)" ! -uid 65534)" ]
		# nothing of the host changed, not even a link count or a ctime
		(cd "$T/fs/p" && find . -printf '%p %y %m %U:%G %i %s %n %T@ %C@\n' | sort) | diff "$T/before" -
		# a write in place does not show through
		[ "$(in_session cat a)" = one ]
		echo two >"$T/fs/p/a"
		ws stop "$ID"
		[ "$(in_session cat a 2>"$T/err")" = one ]
		refute grep 'no longer' "$T/err"
		[ "$(ws snapshot list --json | jq '[.[].linked] | add')" -eq 0 ]
		in_session sh -c 'echo x >>big; echo x >>root'
		ws delete -f "$ID"
		echo one >"$T/fs/p/a"
		touch -d 2001-02-03 "$T/fs/p/a"
		(cd "$T/fs/p" && find . -printf '%p %y %m %U:%G %i %s %n %T@ %C@\n' | sort) >"$T/before"
	done
}

@test "on btrfs plain folders are reflinked" {
	on_filesystem btrfs
	reflinks_work
}

@test "on xfs plain folders are reflinked" {
	on_filesystem xfs -m reflink=1
	reflinks_work
}

@test "a folder on another filesystem with reflinks is copied, and reflink refused" {
	on_filesystem xfs -m reflink=1
	mkdir "$T/p"
	echo one >"$T/p/a"
	chown -R 65534:65534 "$T/p"
	make_plain "$T/p"
	[ "$(cat "$(plain_tree)/a")" = one ]
	ws delete "$ID"
	refute make_plain "$T/p" '{"snapshots": {"copy": "reflink"}}'
	[ "$(state_of)" = blocked ]
}
