#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # bats sets stderr
# shellcheck disable=SC2016 # for the shell inside to expand
#
# Failures that people reported of neighbouring tools, by their numbers in the project's list
# of field cases: odd git repositories, and what must not happen to the host's.
load helpers

# look_of REPO: all that one could see of it, but link counts and times of inode changes
look_of() {
	find "$1" -printf '%P %y %m %s %T@ %l\n' | sort
	find "$1" -type f -print0 | sort -z | xargs -0 sha256sum
}

commit_inside() { in_session git -c user.name=a -c user.email=a@b.c commit -q "$@"; }

# refused_repo WORD...: create refuses this repository with its reason, and nothing is left
refused_repo() {
	local word
	need_userns
	spec "$T/$ID.json" "$SPEC_OPEN" "$(repo_spec "$REPO")"
	run --separate-stderr ws create "$ID" --spec "$T/$ID.json"
	[ "$status" -ne 0 ]
	[ -z "$output" ]
	for word; do
		grep -qi -e "$word" <<<"$stderr"
	done
	[ "$(kind_of create "$ID" --spec "$T/$ID.json")" = repo-unusable ]
	[ ! -e "$ROOT/sessions/$ID/state.json" ]
	[ -z "$(find "$ROOT/layers" "$ROOT/tmp" -mindepth 1 2>/dev/null)" ]
	expect_status 125 ws exec "$ID" true
}

# session_on REPO: new_session of that repository as /workspace/app
session_on() {
	need_userns
	spec "$T/$ID.json" "$SPEC_OPEN" "$(repo_spec "$1")"
	ws create "$ID" --spec "$T/$ID.json"
}

@test "F064: git works inside, and the host's repository stays as it was" {
	new_repo "$T/app"
	look_of "$T/app" >"$T/before"
	new_session
	[ -z "$(in_session git status --porcelain)" ]
	[ "$(in_session git log --oneline | wc -l)" -eq 3 ]
	in_session sh -c 'echo 2 >d/f'
	commit_inside -a -m two
	in_session git switch -qc feature
	in_session sh -c 'echo 3 >d/f && git stash -q && git stash list && git stash pop -q'
	commit_inside -a -m three
	in_session sh -c 'git -c user.name=a -c user.email=a@b.c rebase -q topic && git gc -q && git fsck 2>&1'
	in_session git switch -q -
	[ "$(in_session cat d/f)" = 2 ]
	[ "$(in_session git diff --stat HEAD | wc -l)" -eq 0 ]
	ws stop "$ID"
	look_of "$T/app" | diff "$T/before" -
	hgit -C "$T/app" fsck --no-dangling
	[ "$(hgit -C "$T/app" worktree list | wc -l)" -eq 1 ]
	ws delete "$ID"
	look_of "$T/app" | diff "$T/before" -
}

@test "F064: no path inside .git leads out of the session" {
	new_session
	[ "$(in_session git rev-parse --absolute-git-dir --show-toplevel | xargs)" = "/workspace/app/.git /workspace/app" ]
	[ -z "$(in_session grep -rsF -e "$T" .git)" ]
	in_session git config --list --show-origin >"$T/config"
	[ -s "$T/config" ]
	refute grep -F "$T" "$T/config"
}

@test "F069: a repository without a commit is refused, and nothing is left" {
	REPO=$T/empty
	hgit init -q "$REPO"
	refused_repo commit
}

@test "F069: a folder that is no repository, and a path that is not there, are refused as a git repository" {
	mkdir "$T/plain"
	REPO=$T/plain
	spec "$T/$ID.json" "$SPEC_OPEN" "$(repo_spec "$REPO")" '{"repos": [{"name": "app", "path": "'"$REPO"'", "vcs": "git"}]}'
	[ "$(kind_of create "$ID" --spec "$T/$ID.json")" = repo-unusable ]
	REPO=$T/nowhere
	refused_repo nowhere
}

@test "F069: a bare repository works" {
	new_repo "$T/app"
	hgit clone -q --bare "$T/app" "$T/bare.git"
	session_on "$T/bare.git"
	[ "$(in_session cat d/k)" = kept ]
	[ -z "$(in_session git status --porcelain)" ]
	[ "$(in_session git rev-parse --is-bare-repository)" = false ]
}

@test "F069: a detached HEAD works and stays detached" {
	new_repo "$T/app"
	hgit -C "$T/app" checkout -q v1
	new_session
	[ "$(in_session git rev-parse HEAD)" = "$(hgit -C "$T/app" rev-parse v1)" ]
	expect_status 1 in_session git symbolic-ref -q HEAD
	refute in_session test -e d/k
}

@test "F069: a HEAD that leads to a deleted branch is refused" {
	REPO=$T/app
	new_repo "$REPO"
	hgit -C "$REPO" symbolic-ref HEAD refs/heads/gone
	refused_repo 'gone\|HEAD'
}

@test "F069: a revision that is not there is refused by name" {
	new_repo "$T/app"
	for revision in 0123456789012345678901234567890123456789 no-such-branch 'main^{tree}' 'v1:d/f' '--all' '-x'; do
		spec "$T/$ID.json" "$SPEC_OPEN" "$(jq -n --arg p "$T/app" --arg r "$revision" \
			'{repos: [{name: "app", path: $p, revision: $r}]}')"
		run --separate-stderr ws create "$ID" --spec "$T/$ID.json"
		[ "$status" -ne 0 ]
		[[ "$stderr" == *"$revision"* ]]
		[ ! -e "$ROOT/sessions/$ID/state.json" ]
	done
}

@test "F069: a corrupt index of the host does not matter" {
	new_repo "$T/app"
	echo rubbish >"$T/app/.git/index"
	new_session
	[ -z "$(in_session git status --porcelain)" ]
	[ "$(cat "$T/app/.git/index")" = rubbish ]
}

@test "F069: a commit whose files are missing makes no session that works half" {
	need_userns
	new_repo "$T/app"
	spoil_repo "$T/app"
	refute new_session
	[ "$(state_of)" = blocked ]
	[ "$(kind_of exec "$ID" true)" = session-blocked ]
	expect_status 125 in_session touch /workspace/ran
	refute_in_session "$ID" /workspace/ran
	ws delete "$ID"
	expect_status 3 ws state "$ID"
}

@test "F069: a worktree, whose .git is a file, works at its own commit" {
	new_repo "$T/main"
	hgit -C "$T/main" worktree add -q "$T/tree" topic
	look_of "$T/main" >"$T/before"
	session_on "$T/tree"
	[ "$(in_session git rev-parse HEAD)" = "$(hgit -C "$T/main" rev-parse topic)" ]
	[ -z "$(in_session git status --porcelain)" ]
	in_session sh -c 'echo x >x && git add x'
	commit_inside -m inside
	ws stop "$ID"
	look_of "$T/main" | diff "$T/before" -
}

@test "F069: a submodule's checkout works as a repository of its own" {
	new_repo "$T/sub"
	new_repo "$T/super"
	hgit -C "$T/super" -c protocol.file.allow=always submodule --quiet add "$T/sub" sub
	hgit -C "$T/super" commit -qm submodule
	session_on "$T/super/sub"
	[ "$(in_session cat d/k)" = kept ]
	[ -z "$(in_session git status --porcelain)" ]
}

@test "F069: a repository with a submodule gives its folder, and git submodule status works" {
	new_repo "$T/sub"
	new_repo "$T/super"
	hgit -C "$T/super" -c protocol.file.allow=always submodule --quiet add "$T/sub" sub
	hgit -C "$T/super" commit -qm submodule
	session_on "$T/super"
	[ "$(in_session git submodule status | awk '{ print $2 }')" = sub ]
	[ -z "$(in_session git status --porcelain)" ]
}

@test "F069: a folder inside a repository is either refused or is that folder's repository" {
	local got=0
	need_userns
	new_repo "$T/app"
	spec "$T/$ID.json" "$SPEC_OPEN" "$(repo_spec "$T/app/src")"
	ws create "$ID" --spec "$T/$ID.json" 2>"$T/err" || got=$?
	if [ "$got" -ne 0 ]; then
		grep -q src "$T/err"
		[ ! -e "$ROOT/sessions/$ID/state.json" ]
	else
		[ "$(in_session cat d/k)" = kept ]
	fi
}

@test "F069: a nested repository that is not committed is not in the session" {
	new_repo "$T/app"
	new_repo "$T/app/nested"
	new_session
	refute in_session test -e nested
	[ -z "$(in_session git status --porcelain)" ]
}

@test "F070: eight creates at once on one repository make eight sessions and leave nothing over" {
	local i pids=()
	need_userns
	new_repo "$T/app"
	look_of "$T/app" >"$T/before"
	for i in 1 2 3 4 5 6 7 8; do
		spec "$T/p$i.json" "$SPEC_OPEN" "$(repo_spec "$T/app")"
		ws_bg "create$i" create "p$i" --spec "$T/p$i.json"
		pids+=("$BG")
	done
	for i in 1 2 3 4 5 6 7 8; do
		wait "${pids[i - 1]}"
		[ "$(ws exec "p$i" -- sh -c 'cat d/k; git status --porcelain; git rev-parse HEAD' | xargs)" = \
			"kept $(hgit -C "$T/app" rev-parse HEAD)" ]
	done
	look_of "$T/app" | diff "$T/before" -
	# one snapshot for all
	[ "$(for i in 1 2 3 4 5 6 7 8; do state_of "p$i" '.wsiso.snapshots[0].key'; done | sort -u | wc -l)" -eq 1 ]
	[ -z "$(find "$ROOT/tmp" "$ROOT/trash" -mindepth 1 2>/dev/null)" ]
}

@test "F070: eight creates at once, each with a branch of its own and other people's locks in place" {
	local i pids=()
	need_userns
	new_repo "$T/app"
	touch "$T/app/.git/config.lock" "$T/app/.git/index.lock" "$T/app/.git/HEAD.lock" "$T/app/.git/packed-refs.lock"
	look_of "$T/app" >"$T/before"
	for i in 1 2 3 4 5 6 7 8; do
		spec "$T/p$i.json" "$SPEC_OPEN" "$(jq -n --arg p "$T/app" --arg b "work/$i" \
			'{repos: [{name: "app", path: $p, revision: "topic", branch: $b}]}')"
		ws_bg "create$i" create "p$i" --spec "$T/p$i.json"
		pids+=("$BG")
	done
	for i in 1 2 3 4 5 6 7 8; do
		wait "${pids[i - 1]}"
		[ "$(ws exec "p$i" -- git symbolic-ref --short HEAD)" = "work/$i" ]
		[ "$(ws exec "p$i" -- git rev-parse HEAD)" = "$(hgit -C "$T/app" rev-parse topic)" ]
	done
	look_of "$T/app" | diff "$T/before" -
	[ "$(hgit -C "$T/app" branch --list 'work/*' | wc -l)" -eq 0 ]
}

@test "F072: a clone that borrows its objects has its whole history and no change inside" {
	local clone
	need_userns
	new_repo "$T/origin"
	hgit clone -q --shared "$T/origin" "$T/one"
	hgit -C "$T/one" commit -q --allow-empty -m own
	hgit clone -q --shared "$T/one" "$T/two"
	for clone in one two; do
		session_on "$T/$clone"
		[ "$(in_session git log --oneline | wc -l)" -eq 4 ]
		[ -z "$(in_session git status --porcelain)" ]
		[ -z "$(in_session git diff --stat HEAD)" ]
		in_session git fsck
		in_session sh -c 'echo x >>d/f'
		commit_inside -a -m more
		[ "$(in_session git log --oneline | wc -l)" -eq 5 ]
		ws delete "$ID"
	done
}

@test "F072: an alternate of a relative path and one with odd bytes work" {
	need_userns
	new_repo "$T/o'ri \$gin"
	hgit clone -q --shared "$T/o'ri \$gin" "$T/one"
	session_on "$T/one"
	[ "$(in_session git log --oneline | wc -l)" -eq 3 ]
	ws delete "$ID"
	new_repo "$T/origin"
	hgit clone -q --shared "$T/origin" "$T/rel"
	echo ../../../origin/.git/objects >"$T/rel/.git/objects/info/alternates"
	session_on "$T/rel"
	[ -z "$(in_session git status --porcelain)" ]
	[ "$(in_session git log --oneline | wc -l)" -eq 3 ]
}

@test "F072: a clone whose lender is gone is refused, not shown as all new" {
	need_userns
	new_repo "$T/origin"
	hgit clone -q --shared "$T/origin" "$T/app"
	mv "$T/origin" "$T/moved"
	refute new_session 2>"$T/err"
	[ -s "$T/err" ]
	expect_status 125 in_session true
}
