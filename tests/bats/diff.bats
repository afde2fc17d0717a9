# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What a session changed, read from outside.
load helpers

setup_file() { build_programs racer; }

changes() { ws diff "$ID" "$@"; }

# mark PATH NAME VALUE: an attribute, as overlayfs or who makes layers sets it
mark() { "$PYTHON" -c 'import os, sys; os.setxattr(sys.argv[1], sys.argv[2], sys.argv[3].encode())' "$@"; }

# status_of PATH: the letter of its line
status_of() { changes | awk -F '\t' -v p="$1" '$2 == p || $3 == p { print $1 }'; }

@test "a fresh session has no changes, also after a command, and a touched file is none" {
	new_session
	[ -z "$(changes)" ]
	in_session sh -c 'touch README.md src; chmod 644 README.md; git status >/dev/null'
	[ -z "$(changes)" ]
	[ "$(changes --json | jq -c .changes)" = '[]' ]
}

@test "edits, adds, deletes, modes, types and moves are told, sorted" {
	new_session
	in_session sh -c 'echo more >>README.md; echo x >new; rm d/g1; chmod 644 tool.sh
		rm link; echo file >link; mv src/deep/er/file src/found'
	run --separate-stderr changes
	[ "$status" -eq 0 ]
	[ "$output" = "$(printf '%s\t%s\n' M README.md D d/g1 T link A new \
		R100 "$(printf 'src/deep/er/file\tsrc/found')" M tool.sh)" ]
	[ -z "$stderr" ]
}

@test "a folder removed and made again has lost what it had (F005)" {
	new_session
	in_session sh -c 'rm -r d; mkdir d; echo n >d/newfile; printf "two\n" >d/k2; git -C . show HEAD:d/k >d/k'
	[ "$(changes)" = "$(printf '%s\t%s\n' D d/f D d/g1 D d/g2 A d/k2 A d/newfile)" ]
}

@test "an opaque mark on a folder that never was below is no deletion" {
	new_session
	in_session sh -c 'rm -r src; mkdir src; rm -r src; mkdir fresh; echo 1 >fresh/f'
	mark "$ROOT/sessions/$ID/upper/app/fresh" user.overlay.opaque y
	[ "$(changes)" = "$(printf '%s\t%s\n' A fresh/f D src/deep/er/file D src/main.c)" ]
}

@test "both forms of whiteouts are read, and those that hide nothing are no changes" {
	local up=$ROOT/sessions/$ID/upper
	new_session
	mkdir -p "$up/app/d"
	mark "$up/app/d" user.overlay.opaque x
	: >"$up/app/d/f"
	mark "$up/app/d/f" user.overlay.whiteout y
	mknod "$up/app/README.md" c 0 0
	mknod "$up/app/never" c 0 0
	[ "$(changes)" = "$(printf '%s\t%s\n' D README.md D d/f)" ]
}

@test "a file becomes a folder, a folder a file" {
	new_session
	in_session sh -c 'rm README.md; mkdir README.md; echo 1 >README.md/x; rm -r d; echo 2 >d'
	[ "$(changes)" = "$(printf '%s\t%s\n' D README.md A README.md/x A d D d/f D d/g1 D d/g2 D d/k)" ]
}

@test "a folder made anew in one that was made anew shows nothing of what was there before" {
	new_session
	in_session sh -c 'rm -r src; mkdir -p src/deep/er; echo 1 >src/deep/er/new; echo 2 >src/deep/too'
	[ "$(changes)" = "$(printf '%s\t%s\n' D src/deep/er/file A src/deep/er/new A src/deep/too D src/main.c)" ]
}

@test "empty folders and folder modes are told, with a slash" {
	new_session
	in_session sh -c 'mkdir -p e/mpty; chmod 700 src'
	[ "$(changes)" = "$(printf '%s\t%s\n' A e/mpty/ M src/)" ]
	run --separate-stderr changes --format patch
	[ "$status" -eq 0 ]
	[ -z "$output" ]
	[[ "$stderr" == *"leaves out e/mpty: it is an empty folder"* ]]
}

@test "FIFOs, sockets and devices are named, never opened (F018)" {
	new_session
	in_session sh -c 'mkfifo pipe; rm README.md; mkfifo README.md
		/usr/bin/python3 -c "import socket; socket.socket(socket.AF_UNIX).bind(\"sock\")"'
	run --separate-stderr timeout 20 "$WSISO" --root "$ROOT" diff "$ID"
	[ "$output" = "$(printf '%s\n' "T	README.md	fifo" "A	pipe	fifo" "A	sock	socket")" ]
	run --separate-stderr timeout 20 "$WSISO" --root "$ROOT" diff "$ID" -f patch
	[ "$status" -eq 1 ]
	[[ "$stderr" == *"leaves out pipe: fifo"*"3 changes are left out"* ]]
}

@test "names of any bytes: text is quoted as git does it, JSON is valid and lossless" {
	local name=$'x\xff"\n\t\\y'
	new_session
	in_session touch "$name" "ä"
	[ "$(changes | head -1)" = 'A	"x\377\"\n\t\\y"' ]
	changes --json >"$T/diff.json"
	matches_schema diff "$T/diff.json"
	jq -r '.changes[0].path_base64' "$T/diff.json" | base64 -d >"$T/name"
	[ "$(cat "$T/name")" = "app/$name" ]
	[ "$(jq -r '.changes[1].path' "$T/diff.json")" = "app/ä" ]
	[ "$(jq -r '.changes[1].path_base64' "$T/diff.json")" = null ]
}

@test "JSON has everything, as its schema says; the schema refuses a letter that is none" {
	new_session
	in_session sh -c 'echo x >new; rm d/f; mkfifo p; chmod 644 tool.sh; mv d/k d/k3; mkdir e; git init -q sub'
	changes --json >"$T/diff.json"
	matches_schema diff "$T/diff.json"
	[ "$(jq -r '.changes[] | select(.path == "app/tool.sh") | .old.mode + .new.mode' "$T/diff.json")" = 07550644 ]
	[ "$(jq -c '.summary | [.added, .modified, .deleted, .renamed]' "$T/diff.json")" = '[3,1,1,1]' ]
	[ "$(jq -r '.omitted[0].path' "$T/diff.json")" = app/sub/.git ]
	jq '.changes[0].status = "X"' "$T/diff.json" >"$T/wrong.json"
	refute matches_schema diff "$T/wrong.json"
}

@test "the .git folder of the repo is not shown, a new one is named" {
	new_session
	in_session sh -c 'echo x >new; git add -A; git commit -qm more; git init -q sub'
	run --separate-stderr changes
	[ "$output" = "A	new" ]
	[[ "$stderr" == *"/workspace/app/sub/.git is not shown"* ]]
}

@test "ignored files are part of it" {
	new_session
	in_session sh -c 'echo out >.gitignore; echo x >out'
	[ "$(status_of out)" = A ]
}

@test "several repos: names are relative to /workspace, --repo and paths select" {
	need_userns
	new_repo "$T/app"
	new_repo "$T/lib"
	spec "$T/s.json" "$SPEC_OPEN" "$(jq -n --arg a "$T/app" --arg b "$T/lib" \
		'{repos: [{name: "app", path: $a}, {name: "lib", path: $b}]}')"
	ws create "$ID" --spec "$T/s.json"
	in_session sh -c 'echo x >>app/README.md; echo x >>lib/README.md; echo x >lib/d/new; echo top >top'
	[ "$(changes)" = "$(printf '%s\t%s\n' M app/README.md M lib/README.md A lib/d/new A top)" ]
	[ "$(changes --repo lib)" = "$(printf '%s\t%s\n' M README.md A d/new)" ]
	[ "$(changes lib/d)" = "A	lib/d/new" ]
	[ "$(changes /workspace/lib/d/ top)" = "$(printf '%s\t%s\n' A lib/d/new A top)" ]
	[ "$(changes --repo lib d)" = "A	d/new" ]
	[ "$(kind_of diff "$ID" --repo nope)" = usage ]
	[ "$(kind_of diff "$ID" /etc)" = usage ]
	changes --repo lib -f patch >"$T/p"
	git -C "$T/lib" apply "$T/p"
	[ "$(cat "$T/lib/d/new")" = x ]
}

@test "the patch is of the only repo; what lies outside is named" {
	new_session
	in_session sh -c 'echo x >new; mv d/f /workspace/f'
	run --separate-stderr changes -f patch
	[ "$status" -eq 1 ]
	[[ "$stderr" == *"leaves out /workspace/f: it is outside the repo"* ]]
	printf '%s\n' "$output" >"$T/p"
	git -C "$T/app" apply "$T/p"
	[ -e "$T/app/new" ]
	[ ! -e "$T/app/d/f" ]
}

@test "patch(1) takes the patch as far as it is text" {
	need_program patch
	new_session
	in_session sh -c 'seq 30 >seq; echo more >>README.md; rm d/f; sed -i s/deep/deeper/ src/deep/er/file'
	changes -f patch >"$T/p"
	patch -s -p1 -d "$T/app" <"$T/p"
	[ "$(tail -n 1 "$T/app/README.md")" = more ]
	[ ! -e "$T/app/d/f" ]
	[ "$(wc -l <"$T/app/seq")" -eq 30 ]
}

@test "stat counts lines" {
	new_session
	in_session sh -c 'seq 5 >seq; printf "a\0b" >bin; rm d/f'
	run changes -f stat
	[ "${lines[0]}" = " bin | Bin 0 -> 3 bytes" ]
	[ "${lines[1]}" = " d/f | 2 --" ]
	[ "${lines[2]}" = " seq | 5 +++++" ]
	[ "${lines[3]}" = " 3 changed, 5 insertions(+), 2 deletions(-)" ]
}

@test "random changes: the patch, applied to a checkout of the base, gives the same tree" {
	local i n
	need_userns
	n=$(long 4 200)
	for ((i = 1; i <= n; i++)); do
		rm -rf "$T/base" "$T/inside"
		mkdir "$T/base"
		python3 "$HELPERS/tree_tool.py" make "$T/base" "$i"
		hgit init -q "$T/base"
		hgit -C "$T/base" add -A
		hgit -C "$T/base" commit -qm base
		spec "$T/s.json" "$SPEC_OPEN" "$(repo_spec "$T/base")"
		ws create "r$i" --spec "$T/s.json"
		ws exec -i "r$i" -- sh -c 'cat >/tmp/tool.py' <"$HELPERS/tree_tool.py"
		ws exec "r$i" -- python3 /tmp/tool.py change . "$i" || { echo "seed $i"; return 1; }
		ws exec "r$i" -- python3 /tmp/tool.py show . >"$T/want"
		ws diff "r$i" -f patch >"$T/patch" 2>"$T/err" || { cat "$T/err"; echo "seed $i"; return 1; }
		hgit -C "$T/base" apply --whitespace=nowarn --allow-empty "$T/patch" ||
			{ echo "seed $i"; return 1; }
		python3 "$HELPERS/tree_tool.py" show "$T/base" >"$T/got"
		cmp "$T/want" "$T/got" || { diff "$T/want" "$T/got"; echo "seed $i"; return 1; }
		ws delete -f "r$i"
	done
}

@test "plain folders, and a live one: against what they were, or against the folder itself" {
	need_userns
	mkdir -p "$T/plain/d"
	echo one >"$T/plain/f"
	echo two >"$T/plain/d/g"
	spec "$T/s.json" "$SPEC_OPEN" "$(repo_spec "$T/plain")" '{"repos": []}' \
		"$(jq -n --arg p "$T/plain" '{repos: [{name: "app", path: $p, vcs: "none"}]}')"
	ws create frozen --spec "$T/s.json"
	spec "$T/l.json" "$(cat "$T/s.json")" '{"snapshots": {"enabled": false}}'
	ws create live --spec "$T/l.json"
	for id in frozen live; do
		ws exec "$id" -- sh -c 'echo more >>f; rm -r d; mkdir d; echo new >d/n; touch e'
		[ "$(ws diff "$id")" = "$(printf '%s\t%s\n' D d/g A d/n A e M f)" ]
		[ "$(ws diff "$id" -f stat | tail -n 1)" = " 4 changed, 2 insertions(+), 1 deletions(-)" ]
		[ "$(ws diff "$id" --json | jq -r '.repos[0].vcs')" = none ]
		[ -z "$(ws diff "$id" --committed)" ]
		[ "$(ws cat "$id:f")" = "$(printf 'one\nmore')" ]
		echo by-cp | ws cp - "$id:d/c"
		[ "$(ws exec "$id" -- cat d/c)" = by-cp ]
		[ "$(ws ls --json "$id:/workspace" | jq -r '.entries[].name')" = app ]
		[ "$(ws cat --rescue "$id:d/n")" = new ]
		expect_status 1 ws cat --rescue "$id:d/g"
	done
	[ "$(cat "$T/plain/f")" = one ]
	[ ! -e "$T/plain/e" ]
}

# commit_some: commits, and then work that is in none
commit_some() {
	in_session sh -c 'echo c1 >>README.md; echo n >new; rm link; git add -A; git commit -qm "first of mine"
		git mv d/f d/moved; git commit -qm second
		echo un >>README.md; rm new; echo x >d/f; chmod 644 tool.sh; printf "int main(void) { return 0; }\n" >src/main.c'
}

@test "--committed is what the commits changed, --uncommitted the rest, JSON lists the commits" {
	new_session
	commit_some
	[ "$(changes --committed)" = "$(printf '%s\t%s\n' M README.md R100 "$(printf 'd/f\td/moved')" D link A new)" ]
	[ "$(changes --uncommitted)" = "$(printf '%s\t%s\n' M README.md A d/f D new M tool.sh)" ]
	changes --json >"$T/diff.json"
	matches_schema diff "$T/diff.json"
	[ "$(jq -r '.repos[0].commits[].subject' "$T/diff.json")" = "$(printf 'second\nfirst of mine')" ]
	[ "$(jq -r '.repos[0].head' "$T/diff.json")" = "$(in_session git rev-parse HEAD)" ]
	[ "$(jq -r '.repos[0].branch' "$T/diff.json")" = main ]
	in_session git gc -q
	[ "$(changes --committed -f stat | tail -n 1)" = " 4 changed, 2 insertions(+), 1 deletions(-)" ]
	changes --committed -f patch >"$T/committed"
	changes --uncommitted -f patch >"$T/rest"
	hgit -C "$T/app" apply "$T/committed"
	hgit -C "$T/app" apply "$T/rest"
	[ -z "$(ls "$ROOT/tmp")" ]
	in_session sh -c 'tar -c --exclude .git --sort=name .' | tar -t >"$T/want"
	tar -C "$T/app" -c --exclude .git --sort=name . | tar -t >"$T/got"
	cmp "$T/want" "$T/got"
	[ "$(in_session cat README.md)" = "$(cat "$T/app/README.md")" ]
	expect_status 2 ws diff "$ID" --committed --uncommitted
}

@test "random changes: --committed is what git diff says, --uncommitted what git status says" {
	local i
	need_userns
	for ((i = 1; i <= $(long 3 100); i++)); do
		rm -rf "$T/base"
		mkdir "$T/base"
		python3 "$HELPERS/tree_tool.py" make "$T/base" "$i"
		hgit init -q "$T/base"
		hgit -C "$T/base" add -A
		hgit -C "$T/base" commit -qm base
		spec "$T/s.json" "$SPEC_OPEN" "$(repo_spec "$T/base")"
		ws create "r$i" --spec "$T/s.json"
		ws exec -i "r$i" -- sh -c 'cat >/tmp/tool.py' <"$HELPERS/tree_tool.py"
		ws exec "r$i" -- sh -c 'git config user.name a; git config user.email a@b
			for n in 1 2; do python3 /tmp/tool.py change . $(($0 * 10 + n)); git add -A; git commit -qm "$n" --allow-empty; done
			python3 /tmp/tool.py change . $(($0 * 10 + 3)); git add -A' "$i"
		ws exec "r$i" -- git diff --name-status -M100% "$(hgit -C "$T/base" rev-parse HEAD)" HEAD | plain >"$T/want"
		ws diff "r$i" --committed | plain >"$T/got"
		cmp "$T/want" "$T/got" || { diff "$T/want" "$T/got"; echo "seed $i"; return 1; }
		ws exec "r$i" -- git diff --name-status -M100% --cached HEAD | plain >"$T/want"
		ws diff "r$i" --uncommitted 2>/dev/null | plain >"$T/got"
		cmp "$T/want" "$T/got" || { diff "$T/want" "$T/got"; echo "seed $i"; return 1; }
		ws delete -f "r$i"
	done
}

# A rename as what went and what came: which of equal files it was is nobody's business.
# git knows no folders.
plain() {
	awk -F '\t' '$1 ~ /^R/ { print "D\t" $2; print "A\t" $3; next } $2 !~ /\/"?$/' | LC_ALL=C sort
}

@test "a git folder that was tampered with leads nowhere outside, and stops nothing" {
	local case id
	new_repo "$T/secret"
	echo SECRET >"$T/secret/only"
	hgit -C "$T/secret" add -A
	hgit -C "$T/secret" commit -qm secret
	id=$(hgit -C "$T/secret" rev-parse HEAD)
	new_session
	for case in \
		"echo $T/secret/.git/objects >.git/objects/info/alternates; echo $id >.git/HEAD" \
		"rm -rf .git/objects/pack; ln -s $T/secret/.git/objects/pack .git/objects/pack; mkdir -p .git/objects; for d in $T/secret/.git/objects/??; do ln -sf \$d .git/objects/; done; echo $id >.git/HEAD" \
		"rm -f .git/HEAD; mkfifo .git/HEAD" \
		"rm -f .git/HEAD; ln -s $T/secret/.git/HEAD .git/HEAD" \
		"rm -rf .git/HEAD; echo 'ref: refs/heads/../../../../../etc/passwd' >.git/HEAD" \
		"echo 'ref: refs/heads/a' >.git/HEAD; mkdir -p .git/refs/heads; echo 'ref: refs/heads/a' >.git/refs/heads/a" \
		"mkfifo .git/objects/pack/pack-x.idx .git/objects/pack/pack-x.pack; echo $id >.git/HEAD" \
		"rm -rf .git"; do
		in_session sh -c "$case" || true
		run timeout 20 "$WSISO" --root "$ROOT" diff "$ID" --committed -f patch
		[ "$status" -eq 1 ] || { echo "$case: $output"; return 1; }
		[[ "$output" != *SECRET* ]]
		run timeout 20 "$WSISO" --root "$ROOT" diff "$ID" --json
		[ "$status" -eq 0 ] || { echo "$case: $output"; return 1; }
	done
}

@test "it needs no bwrap and no good spec, and works on a live and a blocked session" {
	new_session
	in_session sh -c 'echo x >new'
	ws exec -d "$ID" -- sleep 60 >/dev/null
	[ "$(changes)" = "A	new" ]
	ws stop -t 0 "$ID"
	fake_bwrap 'exit 1'
	echo '{' >"$ROOT/sessions/$ID/config.json"
	[ "$(changes)" = "A	new" ]
	jq '.status = "blocked" | .cause = "test"' "$ROOT/sessions/$ID/state.json" >"$T/state"
	cat "$T/state" >"$ROOT/sessions/$ID/state.json"
	[ "$(changes)" = "A	new" ]
	[ "$(kind_of diff nope)" = session-missing ]
}

@test "no git program runs, whatever config, hooks and attributes say (F027)" {
	new_session
	in_session sh -c 'printf "#!/bin/sh\ntouch %s/mark\ncat\n" "$0" >/workspace/app/evil; chmod 755 evil
		for k in core.fsmonitor core.hooksPath diff.external filter.x.clean filter.x.smudge diff.x.textconv core.pager; do
			git config $k "$PWD/evil"; done
		echo "* filter=x diff=x" >.gitattributes; echo more >>README.md' "$T"
	changes >/dev/null
	changes -f patch >/dev/null
	changes -f stat >/dev/null
	changes --json >/dev/null
	[ ! -e "$T/mark" ]
}

@test "links to host files are links, also while they are swapped (F050)" {
	echo SECRET >"$T/secret"
	new_session
	in_session sh -c 'ln -s "$0" a; ln -s / root; mkdir q; ln -s "$0" q/z' "$T/secret"
	changes -f patch >"$T/p"
	grep -q "^+$T/secret" "$T/p"
	refute grep SECRET "$T/p"
	put_program racer
	ws exec -d "$ID" -- /tmp/racer /workspace/app "$T/secret" >/dev/null
	for ((i = 0; i < $(long 20 2000); i++)); do
		timeout 20 "$WSISO" --root "$ROOT" diff "$ID" -f patch >>"$T/all" 2>>"$T/err" || true
	done
	refute grep -q SECRET "$T/all" "$T/err"
	grep -q '^diff --git a/r' "$T/all"
}

@test "a tree 10,000 deep, folders of mode 000 and a sparse gigabyte neither stop nor delay it" {
	new_session
	in_session python3 -c '
import os
os.makedirs("m/000"); open("m/000/f", "w").write("1"); os.chmod("m/000/f", 0); os.chmod("m", 0)
os.truncate(os.open("sparse", os.O_CREAT | os.O_WRONLY), 1 << 30)
for i in range(10000):
    os.mkdir("x"); os.chdir("x")
open("end", "w").write("1")'
	run --separate-stderr timeout "$((60 * SLOW))" "$WSISO" --root "$ROOT" diff "$ID"
	[ "$status" -eq 0 ]
	[ "${lines[0]}" = "A	m/000/f" ]
	[ "${lines[1]}" = "A	sparse" ]
	[ "${#lines[2]}" -eq $((2 + 20000 + 3)) ]
	[ "$(stat -c %a "$ROOT/sessions/$ID/upper/app/m")" = 0 ]
	[ "$(in_session stat -c %a m)" = 0 ]
	run --separate-stderr timeout "$((60 * SLOW))" "$WSISO" --root "$ROOT" diff "$ID" -f patch sparse m
	[ "$status" -eq 1 ]
	[[ "$stderr" == *"leaves out sparse: it is too large"* ]]
}

@test "on a terminal it has colours and a summary, and control bytes are shown as text" {
	need_program script
	new_session
	in_session sh -c 'printf "\033[31mred\n" >new; rm d/f'
	run ws_pty diff "$ID" --no-pager
	[[ "$output" == *$'\033[32mA\tnew\033[0m'* ]]
	[[ "$output" == *"1 added, 1 deleted"* ]]
	run ws_pty diff "$ID" -f patch --no-pager
	[[ "$output" == *'+\x1b[31mred'* ]]
	NO_COLOR=1 run ws_pty diff "$ID"
	[[ "$output" != *$'\033'* ]]
}

@test "diff counts as use" {
	new_session
	touch -d '2 days ago' "$ROOT/sessions/$ID/used"
	changes
	[ -n "$(find "$ROOT/sessions/$ID/used" -mmin -5)" ]
}

@test "a format that is none is wrong use" {
	new_session
	expect_status 2 ws diff "$ID" -f html
	expect_status 2 ws diff
	expect_status 3 ws diff nope
}
