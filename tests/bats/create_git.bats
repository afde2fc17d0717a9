#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # bats sets stderr
# shellcheck disable=SC2016 # for the shell inside to expand
#
# wsiso create on git repositories: the tree, revisions and branches, the private git dir,
# sharing. Field cases about repositories are in field_git.bats; here are their kinds.
load helpers
load create_helpers

teardown() {
	[ -z "${SHM:-}" ] || rm -rf "$SHM"
	ws_teardown
}

# ---- the tree ----

@test "the base is what git checks out: bytes, modes, links" {
	make_session
	checkout "$T/wt" main
	same_tree "$T/wt" "$(base_tree)"
}

@test "neither umask nor a mask of the caller changes modes" {
	local mask
	new_repo "$T/app"
	checkout "$T/wt" main
	for mask in $(long "000 777" "000 022 077 777"); do
		new_root "$T/masked-$mask"
		spec "$T/spec.json" "$SPEC_OPEN" "$(repo_spec "$T/app")"
		(umask "$mask" && ws create "$ID" --spec "$T/spec.json")
		same_tree "$T/wt" "$(base_tree)"
		[ -z "$(find "$ROOT"/layers/*/root -type d ! -perm 755 -o -type f ! -perm 644 ! -perm 755)" ]
		[ "$(stat -c %a "$ROOT/sessions/$ID/upper")" = 755 ]
		[ "$(stat -c %a "$ROOT/sessions/$ID/tmp")" = 1777 ]
		[ -z "$(find "$ROOT" -maxdepth 1 ! -name wsiso.json -perm /077)" ]
		ws delete "$ID"
	done
}

@test "the index fits the files: git need not look into any" {
	need_userns
	new_session
	# diff-files refreshes nothing: it names every file whose stat is not the index's
	[ -z "$(in_session git diff-files --name-only)" ]
	ws stop "$ID"
	[ -z "$(in_session git diff-files --name-only)" ]
	lay_together
	[ "$(hgit -C "$T/together/app" fsck --no-dangling 2>&1)" = "" ]
	[ -z "$(hgit -C "$T/together/app" status --porcelain)" ]
}

@test "odd names, empty files, big files and deep folders come out right" {
	new_repo "$T/app"
	(
		cd "$T/app"
		: >empty
		head -c 3000000 /dev/urandom >big
		touch -- $'new\nline' $'tab\t' 'back\slash' '"quoted"' ' lead' 'trail ' $'\xff\xfe' 'ünï' \
			-dash 'a:b,c' '*' '.gitx' 'git' '.git.x'
		mkdir -p a.b a/b a-b
		touch a.b/x a/b/x a-b/x a/z
		ln -s ../nowhere dangling
		ln -s /etc/passwd absolute
		ln -s "$(printf 'x%.0s' {1..3000})" long
		mkdir -p "$(printf 'deep/%.0s' {1..200})"
		echo x >"$(printf 'deep/%.0s' {1..200})x"
		chmod 755 empty
	)
	hgit -C "$T/app" add -A
	hgit -C "$T/app" commit -q -m odd
	make_session
	checkout "$T/wt" main
	same_tree "$T/wt" "$(base_tree)"
	lay_together
	[ -z "$(hgit -C "$T/together/app" status --porcelain)" ]
}

# Compared with git's own checkout, and clean by git's own judgement.
checked_out_alike() {
	new_session "$ID"
	rm -rf "$T/wt"
	hgit clone -q --no-checkout "$T/app" "$T/wt"
	for key in core.autocrlf core.eol; do
		! value=$(hgit -C "$T/app" config "$key") || hgit -C "$T/wt" config "$key" "$value"
	done
	[ ! -e "$T/app/.git/info/attributes" ] || cp "$T/app/.git/info/attributes" "$T/wt/.git/info/"
	hgit -C "$T/wt" checkout -q --detach main
	same_tree "$T/wt" "$(base_tree)"
	[ -z "$(in_session git diff-files --name-only)" ]
	[ -z "$(in_session git status --porcelain)" ]
	ws delete -f "$ID"
}

text_files() {
	mkdir -p "$T/app/sub"
	printf 'a\nb\n' >"$T/app/unix.txt"
	printf 'a\r\nb\r\n' >"$T/app/dos.txt"
	printf 'a\r\nb\n' >"$T/app/mixed.txt"
	printf 'a\nb\0c\n' >"$T/app/binary.bin"
	printf 'a\nb\n' >"$T/app/run.bat"
	printf '$Id$ $Id: old $\n$Id: a b $ $Id: \n$ $I $Id$$Id$' >"$T/app/ident.c"
	printf 'a\nb\n' >"$T/app/sub/unix.txt"
}

@test "line ends and \$Id\$ are as git writes them" {
	new_repo "$T/app"
	text_files
	hgit -C "$T/app" add -A
	hgit -C "$T/app" commit -q -m text
	printf '*.bat text eol=crlf\n*.c ident\n*.bin binary\n' >"$T/app/.gitattributes"
	printf '*.txt text=auto eol=crlf\n' >"$T/app/sub/.gitattributes"
	hgit -C "$T/app" add .gitattributes sub/.gitattributes
	hgit -C "$T/app" commit -q -m attributes
	checked_out_alike
}

@test "core.autocrlf, core.eol and info/attributes count as they do for git" {
	new_repo "$T/app"
	text_files
	hgit -C "$T/app" add -A
	hgit -C "$T/app" commit -q -m text
	hgit -C "$T/app" config core.autocrlf true
	checked_out_alike
	grep -q $'\r' "$T/wt/unix.txt"
	hgit -C "$T/app" config core.autocrlf input
	checked_out_alike
	refute grep -q $'\r' "$T/wt/unix.txt"
	hgit -C "$T/app" config core.autocrlf false
	hgit -C "$T/app" config core.eol crlf
	printf '*.txt text\n' >"$T/app/.git/info/attributes"
	checked_out_alike
	grep -q $'\r' "$T/wt/sub/unix.txt"
}

@test "files with a working-tree-encoding are in that encoding" {
	local name
	new_repo "$T/app"
	printf '*.u16 working-tree-encoding=UTF-16LE-BOM\n*.l1 working-tree-encoding=ISO-8859-1\n' \
		>"$T/app/.gitattributes"
	printf '*.u8 working-tree-encoding=UTF-8\n*.any working-tree-encoding=UTF-16 eol=crlf\n' \
		>>"$T/app/.gitattributes"
	for name in u16 l1 u8 any; do
		printf 'gr\303\274n\nb\n' >"$T/text"
		case $name in
		u16) { printf '\377\376' && iconv -f UTF-8 -t UTF-16LE "$T/text"; } >"$T/app/x.$name" ;;
		l1) iconv -f UTF-8 -t ISO-8859-1 "$T/text" >"$T/app/x.$name" ;;
		any) iconv -f UTF-8 -t UTF-16 "$T/text" >"$T/app/x.$name" ;;
		*) cp "$T/text" "$T/app/x.$name" ;;
		esac
	done
	hgit -C "$T/app" add -A
	hgit -C "$T/app" commit -q -m encodings
	[ "$(hgit -C "$T/app" cat-file -p main:x.u16)" = "$(cat "$T/text")" ]
	checked_out_alike
}

@test "a filter that is a program does not run: files are as committed" {
	new_repo "$T/app"
	printf '*.big filter=lfs diff=lfs merge=lfs -text\n' >"$T/app/.gitattributes"
	printf 'version https://git-lfs.github.com/spec/v1\noid sha256:%064d\nsize 3\n' 7 >"$T/app/x.big"
	hgit -C "$T/app" add -A
	hgit -C "$T/app" commit -q -m lfs
	hgit -C "$T/app" config filter.lfs.smudge "touch $T/ran; cat"
	hgit -C "$T/app" config filter.lfs.required true
	make_session
	cmp "$T/app/x.big" "$(base_tree)/x.big"
	[ ! -e "$T/ran" ]
	lay_together
	[ -z "$(hgit -C "$T/together/app" status --porcelain)" ]
}

# evil_tree LINE...: a commit on main whose tree has these entries, as git would never make it
evil_tree() {
	local blob tree commit
	blob=$(echo evil | hgit -C "$T/app" hash-object -w --stdin)
	tree=$("$PYTHON" - "$blob" "$@" <<-'PY' | hgit -C "$T/app" hash-object -t tree -w --literally --stdin
		import sys
		blob = bytes.fromhex(sys.argv[1])
		for entry in sys.argv[2:]:
		    mode, _, rest = entry.partition(" ")
		    name, _, id = rest.partition("=")
		    oid = bytes.fromhex(id) if id else blob
		    sys.stdout.buffer.write(mode.encode() + b" " + name.encode() + b"\0" + oid)
	PY
	)
	echo "$tree"
}

@test "a commit with names that git refuses makes no session, and writes nothing elsewhere" {
	local sub tree commit entry
	new_repo "$T/app"
	sub=$(evil_tree '100644 x')
	for entry in "40000 ..=$sub" "40000 .=$sub" "40000 .git=$sub" "40000 .GIT=$sub" "100644 .git" \
		"100644 ../up" "40000 =$sub" "40000 git~1=$sub" "120000 .gitmodules" \
		"100644 /tmp/abs"; do
		tree=$(evil_tree "$entry")
		commit=$(echo evil | hgit -C "$T/app" commit-tree "$tree")
		spec "$T/$ID.json" "$SPEC_OPEN" "$(one_repo "{\"revision\": \"$commit\"}")"
		refute ws create "$ID" --spec "$T/$ID.json" 2>"$T/err"
		[ ! -e "$ROOT/sessions/$ID/state.json" ] || [ "$(state_of)" = blocked ]
		[ -z "$(find "$ROOT/layers" "$ROOT/tmp" -mindepth 1)" ]
		[ -z "$(find "$ROOT" -name x -o -name up)" ]
		ws delete -f "$ID" || true
	done
}

@test "a commit with a link and a folder of one name is not written through the link" {
	local sub link tree commit
	new_repo "$T/app"
	mkdir "$T/outside"
	link=$(printf '%s' "$T/outside" | hgit -C "$T/app" hash-object -w --stdin)
	sub=$(evil_tree '100644 x')
	tree=$(evil_tree "120000 a=$link" "40000 a=$sub")
	commit=$(echo evil | hgit -C "$T/app" commit-tree "$tree")
	spec "$T/$ID.json" "$SPEC_OPEN" "$(one_repo "{\"revision\": \"$commit\"}")"
	refute ws create "$ID" --spec "$T/$ID.json"
	[ -z "$(ls -A "$T/outside")" ]
	[ -z "$(find "$ROOT/layers" -mindepth 1)" ]
}

# ---- revision and branch ----

@test "without revision and branch the session is where the repository is" {
	make_session
	[ "$(state_of "$ID" '.wsiso.snapshots[0].branch')" = main ]
	[ "$(state_of "$ID" '.wsiso.snapshots[0].revision')" = "$(hgit -C "$T/app" rev-parse main)" ]
	hgit -C "$T/app" switch -q topic
	make_session on-topic
	[ "$(state_of on-topic '.wsiso.snapshots[0].branch')" = topic ]
}

@test "revision is whatever git rev-parse understands, and detaches" {
	local rev
	new_repo "$T/app"
	hgit -C "$T/app" tag -a -m annotated ann HEAD~1
	for rev in HEAD HEAD~1 main^ v1 ann 'ann^{commit}' topic refs/heads/topic ':/second' '@{0}' \
		"$(hgit -C "$T/app" rev-parse --short v1)" "$(hgit -C "$T/app" rev-parse HEAD~2)"; do
		spec "$T/spec.json" "$SPEC_OPEN" "$(jq -n --arg p "$T/app" --arg r "$rev" \
			'{repos: [{name: "app", path: $p, revision: $r}]}')"
		ws create "$ID" --spec "$T/spec.json"
		[ "$(state_of "$ID" '.wsiso.snapshots[0].revision')" = "$(hgit -C "$T/app" rev-list -n 1 "$rev")" ]
		[ "$(state_of "$ID" '.wsiso.snapshots[0].branch')" = null ]
		ws delete "$ID"
	done
}

@test "branch is created at the revision, or at what is checked out, in the session alone" {
	need_userns
	new_session at-rev "$(one_repo '{"branch": "work/a", "revision": "v1"}')"
	[ "$(ws exec at-rev -- git symbolic-ref HEAD)" = refs/heads/work/a ]
	[ "$(ws exec at-rev -- git rev-parse HEAD)" = "$(hgit -C "$T/app" rev-parse v1)" ]
	new_session at-head "$(one_repo '{"branch": "work/b"}')"
	[ "$(ws exec at-head -- git rev-parse work/b main | sort -u | wc -l)" -eq 1 ]
	[ "$(hgit -C "$T/app" branch --format '%(refname:short)' | xargs)" = "main topic" ]
}

@test "a branch that exists is switched to, and keeps its own tip" {
	new_repo "$T/app"
	make_session tip "$(one_repo '{"branch": "topic"}')"
	[ "$(state_of tip '.wsiso.snapshots[0].revision')" = "$(hgit -C "$T/app" rev-parse topic)" ]
	make_session same "$(one_repo '{"branch": "topic", "revision": "v1"}')"
	[ "$(state_of same '.wsiso.snapshots[0].branch')" = topic ]
	[ "$(kind_of_make "$(one_repo '{"branch": "topic", "revision": "main"}')")" = repo-unusable ]
	[ ! -e "$ROOT/sessions/$ID" ]
}

@test "a branch name that git would not take, or that cannot stand beside another, is refused" {
	local name kind
	new_repo "$T/app"
	hgit -C "$T/app" branch a/b
	for name in 'a b' '../x' 'x..y' '-x' 'HEAD' 'x.lock' '/x' 'x/' 'x~1' 'a' 'a/b/c' 'main/x'; do
		kind=$(kind_of_make "$(jq -n --arg p "$T/app" --arg b "$name" \
			'{repos: [{name: "app", path: $p, branch: $b}]}')")
		[ "$kind" = repo-unusable ] || [ "$kind" = spec-invalid ]
	done
	nothing_made
}

@test "heads, tags and remotes of the moment are inside, a stash is not" {
	local want
	need_userns
	new_repo "$T/origin"
	hgit clone -q "$T/origin" "$T/app"
	hgit -C "$T/app" tag -a -m annotated ann
	echo x >>"$T/app/d/f"
	hgit -C "$T/app" stash -q
	new_session
	want=$(hgit -C "$T/app" for-each-ref --format '%(refname) %(objectname) %(*objectname)' refs/heads refs/tags refs/remotes |
		grep -v origin/HEAD)
	[ "$(in_session git for-each-ref --format '%(refname) %(objectname) %(*objectname)')" = "$want" ]
	[ -z "$(in_session git stash list)" ]
	[ "$(in_session git describe --tags)" = ann ]
}

@test "a repository with thousands of refs is no trouble" {
	local head
	need_userns
	new_repo "$T/app"
	head=$(hgit -C "$T/app" rev-parse HEAD)
	for i in $(seq "$(long 3000 20000)"); do
		echo "create refs/remotes/origin/a-rather-long-name-of-a-branch-that-somebody-made/$i $head"
	done | hgit -C "$T/app" update-ref --stdin
	hgit -C "$T/app" pack-refs --all
	new_session
	[ "$(in_session git for-each-ref | wc -l)" -eq "$(long 3003 20003)" ]
	[ -z "$(in_session git status --porcelain)" ]
}

@test "a broken ref of the host is left out" {
	need_userns
	new_repo "$T/app"
	echo 0123456789012345678901234567890123456789 >"$T/app/.git/refs/heads/broken"
	echo rubbish >"$T/app/.git/refs/heads/rubbish"
	new_session
	[ "$(in_session git for-each-ref --format '%(refname:short)' 2>&1 | xargs)" = "main topic v1" ]
	in_session git fsck
}

# ---- the private git dir ----

@test "the config inside has nothing that names programs, secrets or the host" {
	need_userns
	new_repo "$T/app"
	hgit -C "$T/app" remote add origin https://user:SECRET@example.org/x.git
	hgit -C "$T/app" config core.fsmonitor "touch $T/ran"
	hgit -C "$T/app" config core.hooksPath "$T/hooks"
	hgit -C "$T/app" config core.sshCommand "touch $T/ran"
	hgit -C "$T/app" config credential.helper "store --file $T/secret"
	hgit -C "$T/app" config http.extraHeader 'Authorization: SECRET'
	hgit -C "$T/app" config url.https://SECRET@example.org/.insteadOf gh:
	hgit -C "$T/app" config diff.x.textconv "touch $T/ran"
	hgit -C "$T/app" config alias.st "!touch $T/ran"
	hgit -C "$T/app" config core.attributesFile "$T/attributes"
	hgit -C "$T/app" config include.path "$T/included"
	printf '[merge]\n\tconflictStyle = diff3\n' >"$T/included"
	hgit -C "$T/app" config user.name 'An "odd" \ name'
	hgit -C "$T/app" config user.email odd@example.org
	new_session
	refute in_session sh -c "git config --list | grep -e SECRET -e '$T' -e fsmonitor -e hook -e helper -e alias"
	refute in_session sh -c "grep -r SECRET .git"
	[ "$(in_session git config user.name)" = 'An "odd" \ name' ]
	[ "$(in_session git config merge.conflictStyle)" = diff3 ]
	[ "$(in_session git remote get-url origin)" = https://example.org/x.git ]
	[ ! -e "$T/ran" ]
}

@test "whoever has no name in git's config commits as Codumentor" {
	need_userns
	new_repo "$T/app"
	(
		export HOME=$T
		new_session
	)
	in_session sh -c 'echo x >x && git add x && git commit -q -m x'
	[ "$(in_session git log -1 --format='%an <%ae>')" = "Codumentor <codumentor@local>" ]
}

@test "the host's own excludes and attributes count inside" {
	need_userns
	new_repo "$T/app"
	echo '*.log' >>"$T/app/.git/info/exclude"
	echo '*.sh -diff' >"$T/app/.git/info/attributes"
	new_session
	in_session touch x.log
	[ -z "$(in_session git status --porcelain)" ]
	[ "$(in_session git check-attr diff tool.sh)" = "tool.sh: diff: unset" ]
}

@test "a shallow clone works inside, and stays shallow" {
	need_userns
	new_repo "$T/origin"
	hgit clone -q --depth 2 "file://$T/origin" "$T/app"
	new_session
	[ "$(in_session git log --oneline | wc -l)" -eq 2 ]
	[ "$(in_session git rev-parse --is-shallow-repository)" = true ]
	in_session git fsck
	in_session sh -c 'echo x >x && git add x && git commit -q -m x && git gc -q'
}

@test "what one session does to its refs, index and objects is seen by no other" {
	need_userns
	new_session one
	new_session two
	ws exec one -- sh -c 'echo x >x && git add x && git commit -q -m x && git tag mine && git branch mine2 && git gc -q'
	[ "$(ws exec two -- git log --oneline | wc -l)" -eq 3 ]
	[ -z "$(ws exec two -- git tag -l mine)" ]
	[ -z "$(ws exec two -- git status --porcelain)" ]
	ws exec two -- git fsck
}

# ---- sharing ----

@test "sessions at one revision share the snapshot, at another they do not" {
	make_session one
	make_session two
	make_session three "$(one_repo '{"branch": "new"}')"
	make_session four "$(one_repo '{"revision": "v1"}')"
	[ "$(layer_of base one)" = "$(layer_of base two)" ]
	[ "$(layer_of index one)" = "$(layer_of index three)" ]
	[ "$(layer_of git one)" != "$(layer_of git two)" ]
	[ "$(layer_of base one)" != "$(layer_of base four)" ]
	[ "$(find "$ROOT/layers" -name 'base-*' | wc -l)" -eq 2 ]
	[ "$(find "$ROOT/pools" -maxdepth 1 -name '*.git' | wc -l)" -eq 1 ]
}

@test "a later session has the commits that were made meanwhile, packed or not" {
	local i
	need_userns
	new_repo "$T/app"
	for i in 1 2 3 4; do
		echo "$i" >"$T/app/new$i"
		hgit -C "$T/app" add -A
		hgit -C "$T/app" commit -q -m "new $i"
		case $i in
		2) hgit -C "$T/app" repack -q -a -d ;;
		3) hgit -C "$T/app" gc -q --prune=now ;;
		4) hgit -C "$T/app" commit-graph write --reachable ;;
		esac
		new_session "n$i"
		[ "$(ws exec "n$i" -- git log --oneline | wc -l)" -eq $((3 + i)) ]
		[ "$(ws exec "n$i" -- cat "new$i")" = "$i" ]
		ws exec "n$i" -- git fsck
	done
	[ "$(ws exec n1 -- git log --oneline | wc -l)" -eq 4 ]
}

@test "the host's checkout config decides about sharing, its other config does not" {
	make_session one
	hgit -C "$T/app" config user.name Other
	make_session two
	[ "$(layer_of base one)" = "$(layer_of base two)" ]
	hgit -C "$T/app" config core.autocrlf true
	make_session three
	[ "$(layer_of base one)" != "$(layer_of base three)" ]
}

@test "F066: the host's gc, prune and branch deletion take nothing away from a session" {
	need_userns
	new_repo "$T/app"
	hgit -C "$T/app" switch -q -c doomed
	echo x >"$T/app/x"
	hgit -C "$T/app" add -A
	hgit -C "$T/app" commit -q -m doomed
	new_session
	in_session sh -c 'echo y >y && git add y && git commit -q -m mine'
	hgit -C "$T/app" switch -q main
	hgit -C "$T/app" branch -q -D doomed
	hgit -C "$T/app" worktree prune --expire now
	hgit -C "$T/app" reflog expire --expire=now --all
	hgit -C "$T/app" repack -q -a -d
	hgit -C "$T/app" gc -q --prune=now
	expect_status 128 hgit -C "$T/app" cat-file -e 'doomed^{commit}' 2>/dev/null
	[ "$(in_session git log --oneline | wc -l)" -eq 5 ]
	in_session git log -p >/dev/null
	in_session git fsck
	[ -z "$(in_session git status --porcelain)" ]
	rm -rf "$T/app"
	in_session git fsck
}

@test "the host repacking all the time loses no object to a session" {
	local i busy
	need_userns
	new_repo "$T/app"
	(
		while :; do
			hgit -C "$T/app" commit -q --allow-empty -m more && hgit -C "$T/app" gc -q --prune=now
		done
	) >"$T/busy.log" 2>&1 3>&- &
	busy=$!
	for i in $(seq "$(long 5 60)"); do
		new_session "g$i" || {
			kill "$busy"
			return 1
		}
	done
	kill "$busy"
	wait "$busy" || true
	for i in $(seq "$(long 5 60)"); do
		ws exec "g$i" -- git fsck
		ws exec "g$i" -- git status
		ws delete "g$i"
	done
}

# ---- repositories of all kinds ----

# with_extension NAME VALUE: a repository that says it uses it
with_extension() {
	rm -rf "$T/app"
	new_repo "$T/app"
	hgit -C "$T/app" config core.repositoryFormatVersion 1
	hgit -C "$T/app" config "extensions.$1" "$2"
	cp "$T/app/.git/config" "$T/config"
}

@test "F068: extensions that change nothing here work, and the host's format stays" {
	local name
	for name in worktreeConfig relativeWorktrees preciousObjects noop; do
		with_extension "$name" true
		make_session "$name"
		[ "$(state_of "$name")" = created ]
		cmp "$T/config" "$T/app/.git/config"
	done
}

@test "F068: extensions that change the format are refused by name" {
	local pair
	for pair in objectFormat=sha256 refStorage=reftable compatObjectFormat=sha256 somethingNew=true; do
		with_extension "${pair%=*}" "${pair#*=}"
		run --separate-stderr ws create "$ID" --spec <(spec /dev/stdout "$SPEC_OPEN" "$(repo_spec "$T/app")")
		[ "$status" -eq 1 ]
		grep -qi "extension '${pair%=*}'" <<<"$stderr"
		nothing_made
	done
}

@test "F068: a real sha256 repository is refused by name" {
	hgit init -q --object-format=sha256 "$T/app" || skip "this git makes no sha256 repositories"
	[ "$(kind_of_make '{}')" = repo-unusable ]
	run --separate-stderr ws create "$ID" --spec "$T/$ID.json"
	[[ "$stderr" == *"extension 'objectFormat' (sha256)"* ]]
}

@test "F068: a partial clone works if it has the revision's files, else it is refused by name" {
	need_userns
	new_repo "$T/origin"
	hgit -C "$T/origin" config uploadpack.allowFilter true
	hgit clone -q --filter=blob:none "file://$T/origin" "$T/app"
	new_session
	[ "$(in_session cat d/k)" = kept ]
	[ -z "$(in_session git status --porcelain)" ]
	hgit clone -q --no-checkout --filter=blob:none "file://$T/origin" "$T/lacking"
	run --separate-stderr ws create other --spec <(spec /dev/stdout "$SPEC_OPEN" "$(repo_spec "$T/lacking")")
	[ "$status" -eq 1 ]
	[[ "$stderr" == *"is a partial clone"*"lacks object"* ]]
	[ ! -e "$ROOT/sessions/other" ]
}

@test "a repository that cannot be written works, and stays as it is" {
	make_session before
	chmod -R a-w "$T/app"
	make_session "$ID" "$(one_repo '{"revision": "v1"}')"
	[ "$(state_of)" = created ]
	chmod -R u+w "$T/app"
}

@test "a repository on another filesystem is copied, and what comes later too" {
	local i
	need_userns
	[ -w /dev/shm ] && [ "$(stat -c %d /dev/shm)" != "$(stat -c %d "$T")" ] ||
		cannot_run "/dev/shm is no other filesystem"
	SHM=$(mktemp -d /dev/shm/ws.XXXXXX)
	ln -s "$SHM/app" "$T/app"
	new_repo "$SHM/app"
	for i in 1 2 3; do
		hgit -C "$SHM/app" commit -q --allow-empty -m "$i"
		[ "$i" -ne 2 ] || hgit -C "$SHM/app" gc -q
		[ "$i" -ne 3 ] || hgit -C "$SHM/app" commit-graph write --reachable
		new_session "m$i"
		[ "$(ws exec "m$i" -- git log --oneline | wc -l)" -eq $((3 + i)) ]
		ws exec "m$i" -- git fsck
	done
	rm -rf "$SHM"
	ws exec m1 -- git fsck
	[ -z "$(ws exec m3 -- git status --porcelain)" ]
}

@test "a repository at an odd path works" {
	local dir i=0
	for dir in "with blank" "quo'te\"s" 'dol$lar `tick`' "ünïcode" "semi;colon&" "-dash" "back\\slash" "%s%n"; do
		i=$((i + 1))
		new_repo "$T/$dir"
		spec "$T/spec.json" "$SPEC_OPEN" "$(repo_spec "$T/$dir" "app")"
		ws create "odd$i" --spec "$T/spec.json"
		[ -e "$(base_tree "odd$i")/d/k" ]
	done
	ln -s "$T/with blank" "$T/link"
	spec "$T/spec.json" "$SPEC_OPEN" "$(repo_spec "$T/link" "app")"
	ws create linked --spec "$T/spec.json"
	[ "$(state_of linked '.wsiso.snapshots[0].path')" = "$T/with blank" ]
}

@test "a path inside a repository, its git folder, or a file is refused, and the right path named" {
	new_repo "$T/app"
	hgit clone -q --bare "$T/app" "$T/bare.git"
	for path in app/src app/src/deep app/.git app/.git/refs bare.git/refs; do
		spec "$T/spec.json" "$SPEC_OPEN" "$(repo_spec "$T/$path")"
		run --separate-stderr ws create "$ID" --spec "$T/spec.json"
		[ "$status" -eq 1 ]
		[[ "$stderr" == *"$T/${path%%/*}"* ]]
		nothing_made
	done
	spec "$T/spec.json" "$SPEC_OPEN" "$(repo_spec "$T/app/README.md")"
	[ "$(kind_of create "$ID" --spec "$T/spec.json")" = repo-unusable ]
}

@test "a damaged repository is refused with its reason" {
	new_repo "$T/app"
	cp -a "$T/app" "$T/sound"
	for damage in 'rm -r .git/objects' 'echo x >.git/HEAD' 'echo "[core" >.git/config' \
		'rm .git/HEAD' 'rm -r .git && echo gitdir: ../nowhere >.git' 'rm -r .git && mkdir .git' \
		'echo /nowhere >.git/objects/info/alternates' 'rm -rf .git/objects/??'; do
		rm -rf "$T/app"
		cp -a "$T/sound" "$T/app"
		(cd "$T/app" && eval "$damage")
		[ "$(kind_of_make '{}')" = repo-unusable ]
		nothing_made
	done
}
