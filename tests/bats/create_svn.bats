#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # bats sets stderr
# shellcheck disable=SC2016 # for the shell inside to expand
#
# wsiso create on Subversion: a working copy or a URL at a pinned revision, as svn export
# gives it. With the real svn and svnadmin, over file:// and a local svnserve.
load helpers
load create_helpers

setup() {
	need_program svn svnadmin svnversion
	ws_setup
}

teardown() {
	[ -z "${SERVER:-}" ] || kill "$SERVER" 2>/dev/null || true
	ws_teardown
}

# hsvn: svn on the host, with a configuration of its own
hsvn() { svn --non-interactive --config-dir "$T/hsvn" "$@"; }

# make_svn: $T/svn with four revisions, $T/wc at the last: keywords, line ends, an executable,
# a link, a pinned external, odd names
make_svn() {
	local url=file://$T/svn
	svnadmin create "$T/svn"
	hsvn mkdir -q -m start "$url/trunk" "$url/ext" "$url/branches"
	hsvn co -q "$url/trunk" "$T/wc"
	mkdir -p "$T/wc/d/deep"
	printf 'a\n$Id$ $Rev$ $URL$\n' >"$T/wc/f"
	printf '#!/bin/sh\necho ran\n' >"$T/wc/x.sh"
	printf 'l1\r\nl2\r\n' >"$T/wc/dos"
	printf 'l1\nl2\n' >"$T/wc/native"
	echo g >"$T/wc/d/deep/g"
	echo odd >"$T/wc/with blank"
	echo peg >"$T/wc/at@2"
	ln -s f "$T/wc/link"
	(
		cd "$T/wc" || exit 1
		hsvn add -q f x.sh dos native d 'with blank' at@2@ link
		hsvn ps -q svn:keywords 'Id Rev URL' f
		hsvn ps -q svn:executable '*' x.sh
		hsvn ps -q svn:eol-style CRLF dos
		hsvn ps -q svn:eol-style native native
		hsvn ps -q svn:needs-lock '*' native
		hsvn ci -q -m files
	)
	echo e1 >"$T/e"
	hsvn import -q -m ext "$T/e" "$url/ext/e"
	hsvn up -q "$T/wc"
	hsvn ps -q svn:externals '^/ext@3 ext' "$T/wc"
	hsvn ci -q -m externals "$T/wc"
	hsvn up -q "$T/wc"
}

# svn_spec PATH [JSON]: the part of a spec for one repo named wc
svn_spec() { jq -n --arg p "$1" --argjson m "${2:-{\}}" '{repos: [{name: "wc", path: $p} + $m]}'; }

# make_from PATH [JSON]: session $ID
make_from() {
	spec "$T/$ID.json" "$SPEC_OPEN" "$(svn_spec "$@")"
	ws create "$ID" --spec "$T/$ID.json"
}

svn_tree() { echo "$(layer_of base)/root/wc"; }

# exported TARGET...: what svn export itself makes of it, as $T/export
exported() {
	rm -rf "$T/export"
	(umask 022 && hsvn export -q "$@" "$T/export")
}

svn_look() { (cd "$1" && find . -printf '%p %y %m %i %s %T@ %C@ %n %l\n' | sort; find . -type f -exec sha256sum {} + | sort); }

@test "a working copy comes as svn export gives it, and does not change" {
	need_userns
	make_svn
	svn_look "$T/wc" >"$T/before"
	svn_look "$T/svn" >"$T/before-repo"
	make_from "$T/wc"
	svn_look "$T/wc" | diff "$T/before" -
	svn_look "$T/svn" | diff "$T/before-repo" -
	exported "file://$T/svn/trunk"
	same_tree "$T/export" "$(svn_tree)"
	[ -z "$(find "$(svn_tree)" -name .svn)" ]
	[ "$(state_of "$ID" '.wsiso.snapshots[0] | .vcs, .revision')" = $'svn\n4' ]
	[[ "$(cat "$(svn_tree)/f")" == *'$Rev: 2 $'*"file://$T/svn/trunk/f"* ]]
	[ "$(cat "$(svn_tree)/ext/e")" = e1 ]
	[ "$(in_session sh -c './x.sh; cat ext/e link; echo x >>f; rm -r d; cat f' | tail -n 1)" = x ]
	svn_look "$T/wc" | diff "$T/before" -
}

@test "what is not committed does not come along" {
	make_svn
	(
		cd "$T/wc" || exit 1
		echo local >>f
		echo new >unversioned
		echo added >added
		hsvn add -q added
		hsvn rm -q dos
		rm x.sh
	)
	make_from "$T/wc"
	exported "file://$T/svn/trunk"
	same_tree "$T/export" "$(svn_tree)"
	ws delete "$ID"
	hsvn cp -q "$T/wc/d" "$T/wc/copied"
	make_from "$T/wc"
	same_tree "$T/export" "$(svn_tree)"
}

@test "a clean working copy, and one with local changes, need no repository" {
	make_svn
	exported "file://$T/svn/trunk"
	hsvn pd -q svn:externals "$T/wc"
	hsvn ci -q -m none "$T/wc"
	hsvn up -q "$T/wc"
	echo local >>"$T/wc/f"
	mv "$T/svn" "$T/gone"
	make_from "$T/wc"
	rm -r "$T/export/ext"
	same_tree "$T/export" "$(svn_tree)"
}

@test "a mixed or sparse working copy comes as its revision is in the repository" {
	make_svn
	echo more >>"$T/wc/d/deep/g"
	hsvn ci -q -m more "$T/wc/d/deep/g"
	[ "$(svnversion -n "$T/wc")" = 4:5 ]
	make_from "$T/wc"
	exported -r 4 "file://$T/svn/trunk"
	same_tree "$T/export" "$(svn_tree)"
	[ "$(state_of "$ID" '.wsiso.snapshots[0].revision')" = 4 ]
	ws delete "$ID"
	hsvn up -q --set-depth files "$T/wc"
	make_from "$T/wc"
	exported "file://$T/svn/trunk"
	same_tree "$T/export" "$(svn_tree)"
	ws delete "$ID"
	mv "$T/svn" "$T/gone"
	[ "$(kind_of create two --spec "$T/$ID.json")" = repo-unusable ]
}

@test "a revision is pinned: a number, a word, a date; and what is none is refused" {
	make_svn
	exported -r 2 "file://$T/svn/trunk"
	for revision in 2 r2 HEAD BASE COMMITTED "{$(date -d tomorrow +%F)}"; do
		make_from "$T/wc" "$(jq -n --arg r "$revision" '{revision: $r}')"
		case $revision in
		2 | r2) same_tree "$T/export" "$(svn_tree)" ;;
		*) [ "$(state_of "$ID" '.wsiso.snapshots[0].revision')" = 4 ] ;;
		esac
		ws delete "$ID"
	done
	for revision in '{2000-01-01}' 99 main 2:3 x; do
		spec "$T/spec.json" "$SPEC_OPEN" "$(svn_spec "$T/wc" "$(jq -n --arg r "$revision" '{revision: $r}')")"
		[ "$(kind_of create "$ID" --spec "$T/spec.json")" = repo-unusable ]
		[ ! -e "$ROOT/sessions/$ID" ]
	done
	spec "$T/spec.json" "$SPEC_OPEN" "$(svn_spec "$T/wc" '{"branch": "b"}')"
	[ "$(kind_of create "$ID" --spec "$T/spec.json")" = repo-unusable ]
}

@test "a URL works, with its revision, and an '@' in it is no peg" {
	make_svn
	hsvn cp -q -m branch "file://$T/svn/trunk" "file://$T/svn/branches/at@2@"
	make_from "file://$T/svn/trunk" '{"revision": "2"}'
	exported -r 2 "file://$T/svn/trunk"
	same_tree "$T/export" "$(svn_tree)"
	[ "$(state_of "$ID" '.wsiso.snapshots[0].path')" = "file://$T/svn/trunk" ]
	ws delete "$ID"
	make_from "file://$T/svn/branches/at@2" '{"vcs": "svn"}'
	exported "file://$T/svn/branches/at@2@"
	same_tree "$T/export" "$(svn_tree)"
	[ "$(state_of "$ID" '.wsiso.snapshots[0].revision')" = 5 ]
}

@test "a folder of a working copy works; one that is not there, a file, and another scheme are refused" {
	make_svn
	make_from "$T/wc/d"
	exported "file://$T/svn/trunk/d"
	same_tree "$T/export" "$(svn_tree)"
	for path in "file://$T/svn/nowhere" "file://$T/nowhere" "file://$T/svn/trunk/f" "ftp://host/x" "$T/wc/f"; do
		spec "$T/spec.json" "$SPEC_OPEN" "$(svn_spec "$path")"
		[ "$(kind_of create two --spec "$T/spec.json")" = repo-unusable ]
	done
	mkdir "$T/plain"
	spec "$T/spec.json" "$SPEC_OPEN" "$(svn_spec "$T/plain" '{"vcs": "svn"}')"
	[ "$(kind_of create two --spec "$T/spec.json")" = repo-unusable ]
	[ ! -e "$ROOT/sessions/two" ]
	[ -z "$(ls "$ROOT/tmp")" ]
}

@test "sessions at one revision share its snapshot, whichever working copy names it" {
	make_svn
	hsvn co -q "file://$T/svn/trunk" "$T/wc2"
	make_from "$T/wc"
	for path in "$T/wc2" "file://$T/svn/trunk"; do
		spec "$T/two.json" "$SPEC_OPEN" "$(svn_spec "$path")"
		ws create two --spec "$T/two.json"
		[ "$(state_of two .wsiso.stack)" = "$(state_of "$ID" .wsiso.stack)" ]
		ws delete two
	done
	echo more >>"$T/wc/f"
	hsvn ci -q -m more "$T/wc"
	hsvn up -q "$T/wc"
	spec "$T/two.json" "$(cat "$T/$ID.json")"
	ws create two --spec "$T/two.json"
	[ "$(state_of two .wsiso.stack)" != "$(state_of "$ID" .wsiso.stack)" ]
}

@test "nothing is asked, kept or waited for: no password, no configuration, no environment" {
	make_svn
	printf '[general]\nanon-access = none\nauth-access = write\npassword-db = passwd\n' >"$T/svn/conf/svnserve.conf"
	printf '[users]\nme = secret\n' >"$T/svn/conf/passwd"
	port=$((20000 + RANDOM % 20000))
	svnserve -d --foreground --listen-host 127.0.0.1 --listen-port "$port" -r "$T" 3>&- &
	SERVER=$!
	wait_for 10 hsvn info --username me --password secret --no-auth-cache "svn://127.0.0.1:$port/svn" >/dev/null
	mkdir -p "$T/home"
	spec "$T/spec.json" "$SPEC_OPEN" "$(svn_spec "svn://127.0.0.1:$port/svn/trunk")"
	SECONDS=0
	HOME=$T/home SVN_EDITOR=/bin/false run --separate-stderr ws create "$ID" --spec "$T/spec.json"
	[ "$status" -eq 1 ]
	[[ "$stderr" == *hint:*"no password"* ]]
	[ "$SECONDS" -lt $((30 * SLOW)) ]
	nothing_made
	[ -z "$(ls -A "$T/home")" ]
	# with anonymous reading it works, over the network, and leaves nothing in HOME
	sed -i 's/none/read/' "$T/svn/conf/svnserve.conf"
	HOME=$T/home ws create "$ID" --spec "$T/spec.json"
	[ -z "$(ls -A "$T/home")" ]
	[ "$(cat "$(svn_tree)/d/deep/g")" = g ]
	[ -z "$(ls "$ROOT/tmp")" ]
}

@test "a server that says nothing is given up" {
	need_program python3
	[ "${WSISO_LONG:-}" = 1 ] || skip "takes a minute: the long run has it"
	python3 -c 'import socket, time
s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1], flush=True); time.sleep(300)' >"$T/port" 3>&- &
	SERVER=$!
	wait_for 10 test -s "$T/port"
	spec "$T/spec.json" "$SPEC_OPEN" "$(svn_spec "svn://127.0.0.1:$(cat "$T/port")/x")"
	export WS_TIMEOUT=100
	[ "$(kind_of create "$ID" --spec "$T/spec.json")" = timeout ]
	nothing_made
}

@test "without svn a working copy is refused, with the remedy, and is not taken as a plain folder" {
	make_svn
	unshare --user --map-current-user --keep-caps --mount true 2>/dev/null ||
		cannot_run "this user cannot make a mount namespace"
	spec "$T/spec.json" "$SPEC_OPEN" "$(svn_spec "$T/wc")"
	export T ROOT ID WSISO SLOW
	export -f ws kind_of
	unshare --user --map-current-user --keep-caps --mount bash -ec 'mount --bind /dev/null /usr/bin/svn
		[ "$(kind_of create "$ID" --spec "$T/spec.json")" = helper-missing ]
		ws create "$ID" --spec "$T/spec.json" 2>"$T/err" && exit 1; true'
	grep -F 'install subversion' "$T/err"
	nothing_made
}

@test "a session mixes git, svn and plain folders, and keeps each apart" {
	need_userns
	make_svn
	new_repo "$T/app"
	mkdir "$T/p"
	echo plain >"$T/p/a"
	spec "$T/spec.json" "$SPEC_OPEN" '{"repos": [{"name": "wc", "path": "'"$T/wc"'"},
		{"name": "app", "path": "'"$T/app"'"}, {"name": "p", "path": "'"$T/p"'"}]}'
	ws create "$ID" --spec "$T/spec.json"
	[ "$(state_of "$ID" '[.wsiso.snapshots[].vcs] | join(" ")')" = "svn git none" ]
	[ "$(in_session sh -c 'cat p/a wc/d/deep/g app/d/k; git -C app status --porcelain' | xargs)" = "plain g kept" ]
	in_session sh -c 'echo 1 >>p/a; echo 2 >>wc/f; echo 3 >>app/d/k'
	[ "$(cat "$T/p/a")" = plain ]
	[ -z "$(hsvn status -q "$T/wc")" ]
	[ -z "$(hgit -C "$T/app" status --porcelain)" ]
}
