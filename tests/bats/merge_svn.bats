#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # bats sets stderr
# shellcheck disable=SC2016 # for the shell inside to expand
#
# merge of what came from Subversion, with the real svn.
load helpers

setup() {
	ws_setup
	spec "$ROOT/wsiso.json" '{"linger_s": 10, "subagent_isolation": "isolated"}'
}

# hsvn: svn on the host, without anybody's configuration
hsvn() { svn --non-interactive --config-dir "$T/hsvn" "$@"; }

# spoil_config: whoever calls wsiso has an svn whose programs leave a trace
spoil_config() {
	export HOME=$T/home
	mkdir -p "$HOME/.subversion"
	printf '#!/bin/sh\ntouch %s/ran\n' "$T" >"$T/differ"
	chmod 755 "$T/differ"
	printf '[helpers]\ndiff-cmd = %s\ndiff3-cmd = %s\nmerge-tool-cmd = %s\n' \
		"$T/differ" "$T/differ" "$T/differ" >"$HOME/.subversion/config"
	# it can fail: svn by itself does run it
	svn diff --non-interactive "$T/wc" >/dev/null
	[ -e "$T/ran" ]
	rm "$T/ran"
}

# lock_wc: what a killed svn leaves, until "svn cleanup"
lock_wc() {
	"$PYTHON" -c 'import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.execute("insert into wc_lock values (1, \"\", -1)")
db.commit()' "$T/wc/.svn/wc.db"
	refute hsvn up -q "$T/wc" 2>"$T/err"
}

# make_svn: $T/wc, of mixed revisions, with local edits, and locked
make_svn() {
	local url=file://$T/svn
	svnadmin create "$T/svn"
	hsvn mkdir -q -m start "$url/trunk" "$url/ext"
	echo e1 >"$T/e"
	hsvn import -q -m ext "$T/e" "$url/ext/e"
	hsvn co -q "$url/trunk" "$T/wc"
	(
		cd "$T/wc" || exit 1
		mkdir d
		seq 20 >f
		echo gone >d/gone
		echo '$Id$' >keyword
		printf 'l1\r\nl2\r\n' >dos
		head -c 9000 /dev/urandom >binary
		echo 'echo ran' >x.sh
		ln -s f link
		hsvn add -q f d keyword dos binary x.sh link
		hsvn ps -q svn:keywords Id keyword
		hsvn ps -q svn:eol-style CRLF dos
		hsvn ps -q svn:mime-type application/octet-stream binary
		hsvn ps -q svn:executable '*' x.sh
		hsvn ps -q svn:externals '^/ext@2 ext' .
		hsvn ps -q svn:ignore '*.o' .
		hsvn ci -q -m files
		hsvn up -q
		echo more >>dos
		hsvn ci -q -m mixed
		echo local >>f
		echo unversioned >unversioned
		echo object >a.o
	)
	spoil_config
	lock_wc
}

look() { (cd "$1" && find . -printf '%p %y %m %i %s %T@ %C@ %n %l\n' | sort; find . -type f -exec sha256sum {} + | sort); }

view() { ws exec "$1" -- sh -c 'find . -printf "%P %y %m %l\n" | sort; find . -type f -print0 | sort -z | xargs -0 sha256sum'; }

@test "F079: a child of an svn working copy: edits, binaries, line ends, links and ignored files come, and the host's stays as it is" {
	need_program svn svnadmin
	need_userns
	make_svn
	spec "$T/$ID.json" '{"repos": [{"name": "wc", "path": "'"$T/wc"'"}]}'
	look "$T/wc" >"$T/before"
	ws create "$ID" --spec "$T/$ID.json"
	ws create child --parent "$ID"
	in_session sed -i 's/^3$/three/' f
	ws exec child -- sh -c 'sed -i "s/^15$/fifteen/" f; printf "l3\r\n" >>dos; head -c 9000 /dev/urandom >binary
		chmod -x x.sh; rm link d/gone; mkdir link new; echo x >link/x; echo o >b.o; echo y >new/y; echo more >>ext/e
		head -c 300 /dev/urandom >new/binary; echo "\$Id: mine \$" >keyword'
	ws merge child --json >"$T/report"
	matches_schema merge "$T/report"
	[ "$(jq -r '.result, (.changes[] | .status + .path)' "$T/report" | xargs)" = \
		"merged Awc/b.o Mwc/binary Dwc/d/gone Mwc/dos Mwc/ext/e Mwc/f Mwc/keyword Twc/link Awc/link/x Awc/new Awc/new/binary Awc/new/y Mwc/x.sh" ]
	[ "$(in_session sed -n '3p;15p' f | xargs)" = "three fifteen" ]
	in_session sed -i 's/^three$/3/' f
	diff <(view "$ID") <(view child)
	look "$T/wc" | diff "$T/before" -
	[ ! -e "$T/ran" ]
	in_session sh -c 'echo ours >keyword'
	ws exec child -- sh -c 'echo theirs >keyword'
	expect_status 4 ws merge child --json >"$T/report"
	[ "$(jq -r '.conflicts[].path' "$T/report")" = wc/keyword ]
	[ "$(in_session cat keyword)" = ours ]
	look "$T/wc" | diff "$T/before" -
}
