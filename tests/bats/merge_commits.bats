#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # names of ours
# shellcheck disable=SC2016 # for the shell inside to expand
#
# merge --commits: the child's commits come along.
load helpers

setup() {
	ws_setup
	spec "$ROOT/wsiso.json" '{"linger_s": 10, "subagent_isolation": "isolated"}'
}

family() {
	new_session "$ID" "$@"
	ws create child --parent "$ID"
}

in_child() { ws exec child -- "$@"; }
in_git() { in_session git -c user.name=p -c user.email=p@p "$@"; }
child_commits() { # SCRIPT MESSAGE
	in_child sh -ec "$1"'
		git add -A; git -c user.name=c -c user.email=c@c commit -qm "'"$2"'"'
}

merge_json() { # STATUS ARGS...
	local want=$1
	shift
	expect_status "$want" ws merge child --commits --json "$@" >"$T/report"
	matches_schema merge "$T/report"
}

report() { jq -r "$1" "$T/report"; }
brought() { report '.commits[] | .repo + " " + .how + " " + (.commits | tostring)'; }
log_of() { ws exec "$1" -- git log --format=%s; }

# is_sound: git has nothing to complain of, nor to show, but for what is named
is_sound() {
	in_session git fsck --strict 2>&1 | tee "$T/fsck"
	refute grep -E 'missing|error|broken' "$T/fsck"
	[ "$(in_session git status --short | xargs)" = "$*" ]
}

@test "a parent that stands still is moved on to the child's commits, and is clean" {
	local before
	family
	before=$(in_session git rev-parse HEAD)
	child_commits 'echo 1 >one; rm d/k; chmod +x d/g1; git mv d/f moved' first
	child_commits 'echo 2 >>one; mkdir -p deep/er; echo x >deep/er/x' second
	merge_json 0
	[ "$(report .result)" = merged ]
	[ "$(brought)" = "app fast-forward 2" ]
	[ "$(report '.commits[0] | .branch + " " + .from')" = "main $before" ]
	[ "$(in_session git rev-parse HEAD)" = "$(in_child git rev-parse HEAD)" ]
	[ "$(report '.commits[0].to')" = "$(in_session git rev-parse HEAD)" ]
	[ "$(in_session git symbolic-ref HEAD)" = refs/heads/main ]
	[ "$(log_of "$ID" | head -n 2 | xargs)" = "second first" ]
	is_sound
	[ "$(in_session git reflog -1 --format=%gs)" = "merge child: fast-forward" ]
	[ "$(in_session git rev-parse ORIG_HEAD 'HEAD@{1}' | xargs)" = "$before $before" ]
	# again, and what is new since
	merge_json 0
	[ "$(report .result) $(brought)" = "noop app noop 0" ]
	child_commits 'echo 3 >>one' third
	[ "$(ws merge child --commits | head -n 2 | xargs)" = "M app/one fast-forward app 1 commit" ]
	is_sound
	# and the parent goes on as ever
	in_git commit -qm mine --allow-empty
	in_session git gc -q
	is_sound
}

@test "what the child left uncommitted is committed, with no hook, signature or identity of anybody" {
	family
	in_child sh -ec 'for h in pre-commit prepare-commit-msg commit-msg post-commit post-index-change reference-transaction; do
			printf "#!/bin/sh\necho $0 >>/tmp/ran\nexit 1\n" >.git/hooks/$h; chmod +x .git/hooks/$h; done
		git config core.hooksPath .git/hooks; git config commit.gpgSign true; git config gpg.program /bin/false
		git config core.editor "touch /tmp/ran"; git config core.fsmonitor "touch /tmp/ran; :"
		git config user.name Me; git config user.email me@me
		echo "*.o" >.gitignore; echo 1 >one; echo 1 >x.o; rm d/k; git add one; echo 2 >>one; rm -f /tmp/ran'
	in_child cat .git/config >"$T/config"
	in_session cat .git/config >"$T/ours"
	merge_json 0
	in_child sh -c '! ls /tmp/ran'
	[ "$(brought)" = "app fast-forward 1" ]
	[ "$(in_session git log -1 --format='%an <%ae> %cn <%ce> %G? %s')" = \
		"Codumentor <codumentor@local> Codumentor <codumentor@local> N What session 'child' left uncommitted" ]
	is_sound
	[ "$(in_session cat one x.o | xargs)" = "1 2 1" ]
	[ "$(in_child git status --short)" = "" ]
	[ "$(in_child git rev-parse HEAD)" = "$(in_session git rev-parse HEAD)" ]
	in_child cat .git/config | diff "$T/config" -
	in_session cat .git/config | diff "$T/ours" -
}

@test "with auto_commit off only what the child committed comes as commits, the rest as files" {
	family '{"integration": {"auto_commit": false}}'
	child_commits 'echo 1 >one' first
	in_child sh -c 'echo 2 >two; echo more >>one'
	merge_json 0
	[ "$(brought)" = "app fast-forward 1" ]
	[ "$(log_of "$ID" | head -n 1)" = first ]
	is_sound M one '??' two
}

@test "both have gone on: a merge commit, and a dirty parent stays as dirty as it was" {
	family
	child_commits 'seq 20 >n; git rm -q d/k' theirs
	in_session sh -ec 'echo p >p; echo dirty >>README.md; echo new >untracked'
	in_git add p
	in_git commit -qm ours
	merge_json 0
	[ "$(brought)" = "app merge 2" ]
	[ "$(in_session git log -1 --format='%s|%an|%P')" = \
		"Merge the work of session 'child'|Codumentor|$(in_session git rev-parse ORIG_HEAD) $(in_child git rev-parse HEAD)" ]
	[ "$(in_session git ls-files | grep -cx -e n -e p -e d/k)" -eq 2 ]
	is_sound M README.md '??' untracked
	[ "$(in_session tail -n 1 README.md)" = dirty ]
	merge_json 0
	[ "$(report .result)" = noop ]
}

@test "a conflict is answered once, for the files and for the commit" {
	family
	in_session sh -ec 'echo ours >same; echo ours >gone'
	in_git add -A
	in_git commit -qm ours
	child_commits 'echo theirs >same; echo theirs >gone; echo 1 >one' theirs
	merge_json 4
	[ "$(report .result)" = conflicts ]
	[ "$(log_of "$ID" | head -n 1)" = ours ]
	echo both >"$T/both"
	merge_json 0 --resolve "app/same=$T/both" --resolve app/gone=@delete
	[ "$(brought)" = "app merge 2" ]
	[ "$(in_session git show HEAD:same)" = both ]
	[ "$(in_session git ls-tree --name-only HEAD | grep -c gone || true)" -eq 0 ]
	is_sound
}

@test "refused, and nothing changed: staged in the parent, in the middle of something, git at work" {
	local before
	family
	child_commits 'echo theirs >s' theirs
	before=$(in_session git rev-parse HEAD)
	in_session sh -ec 'echo theirs >s; git add s; echo mine >s; git add s; echo theirs >s'
	merge_json 3
	[ "$(report '.result + " " + .reason.kind')" = "refused conflict" ]
	report .reason.message | grep "'s', which the child's commits change, is staged in the parent"
	in_session git reset -q
	in_session rm s
	for sign in index.lock MERGE_HEAD rebase-merge; do
		in_session touch ".git/$sign"
		merge_json 3
		report .reason.message | grep -e 'in the middle' -e 'worked on'
		in_session rm ".git/$sign"
	done
	[ "$(in_session git rev-parse HEAD)" = "$before" ]
	[ -z "$(in_session git status --short)" ]
	merge_json 0
	is_sound
}

@test "a live parent gets them through its mounts, all at once" {
	family
	child_commits 'for i in $(seq 50); do echo $i >f$i; done' many
	ws exec -d "$ID" -- sh -c 'while :; do git log -1 --format=%s:$(git ls-files | grep -c ^f); sleep 0.02; done >/tmp/seen'
	wait_for 5 in_session test -s /tmp/seen
	merge_json 0
	[ "$(brought)" = "app fast-forward 1" ]
	is_sound
	wait_for 5 in_session grep -q many:50 /tmp/seen
	# the two are not asked at one moment, but no number is between
	refute in_session grep -v -e ':0$' -e ':50$' /tmp/seen
}

@test "a hostile git folder: links, forged refs and objects lead nowhere, and nothing of it is run" {
	# else git add might heal what is broken here
	family '{"integration": {"auto_commit": false}}'
	mkdir "$T/out"
	child_commits 'echo 1 >one' first
	in_session sh -ec 'mv .git/refs .git/r; ln -s '"$T/out"' .git/refs'
	[ "$(kind_of merge child --commits)" = repo-unusable ]
	[ -z "$(ls "$T/out")" ]
	in_session sh -ec 'rm .git/refs; mv .git/r .git/refs; mv .git/objects/pack .git/p; ln -s '"$T/out"' .git/objects/pack'
	[ "$(kind_of merge child --commits)" = repo-unusable ]
	in_session sh -ec 'rm .git/objects/pack; mv .git/p .git/objects/pack'
	# the child's commit lacks a blob
	in_child sh -ec 'rm -f .git/objects/$(git rev-parse HEAD:one | sed "s|..|&/|")'
	[ "$(kind_of merge child --commits)" = repo-unusable ]
	in_child sh -ec 'echo ref: refs/heads/../../../../../../etc/passwd >.git/HEAD'
	[ "$(kind_of merge child --commits)" = repo-unusable ]
	[ -z "$(ls "$T/out")" ]
	[ -z "$(in_session git status --short)" ]
}

@test "kill -9 at random moments: files and commits come both or neither" {
	local i head
	new_session
	for i in $(seq "$(long 4 200)"); do
		ws create child --parent "$ID"
		child_commits "echo $i >at; for f in \$(seq 20); do echo $i >f\$f; done" "round $i"
		ws_bg kill merge child --commits
		sleep "0.$((RANDOM % 2))$((RANDOM % 10))"
		kill -KILL "$BG" 2>/dev/null || true
		wait "$BG" 2>/dev/null || true
		head=$(log_of "$ID" | head -n 1)
		case $head:$(in_session sh -c 'cat at f20 2>/dev/null' | xargs) in
		"round $i:$i $i") ;;
		*) [ "$(in_session sh -c 'cat at f20 2>/dev/null' | xargs)" = "$([ "$i" = 1 ] || echo $((i - 1)) $((i - 1)))" ]
			[ "$head" != "round $i" ] ;;
		esac
		ws merge child --commits
		[ "$(log_of "$ID" | head -n 1)" = "round $i" ]
		is_sound
		ws delete -f child
	done
}
