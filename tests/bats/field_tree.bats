#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016 # for the shell inside to expand
# shellcheck disable=SC2154 # bats sets stderr
#
# Failures that people reported of neighbouring tools, by their numbers in the project's list
# of field cases: one tree, and hostile trees.
load helpers

tmp_of() { echo "$ROOT/sessions/$ID/tmp/$1"; }

# ---- one tree ----

@test "F001: two commands at once have one coherent tree" {
	new_session
	ws_bg a exec "$ID" -- sh -c 'ls d; touch /tmp/a; until [ -e /tmp/b ]; do sleep 0.02; done
		echo a >d/A && rm d/g1 && ls d; touch /tmp/a2'
	wait_for 20 test -e "$(tmp_of a)"
	ws_bg b exec "$ID" -- sh -c 'echo b >d/B && rm d/g2 && touch /tmp/b
		until [ -e /tmp/a2 ]; do sleep 0.02; done; ls d'
	wait
	[ ! -s "$T/a.err" ]
	[ ! -s "$T/b.err" ]
	[ "$(tail -n 4 "$T/a.out" | xargs)" = "A B f k" ]
	[ "$(xargs <"$T/b.out")" = "A B f k" ]
	[ "$(in_session ls d | xargs)" = "A B f k" ]
}

@test "F010: mv of a folder that is older than the session works" {
	new_session
	in_session mv d kept
	[ "$(in_session sh -c 'cat kept/f; ls; git status --porcelain | wc -l' | xargs)" = \
		"one two README.md kept link src tool.sh with blank 5" ]
}

@test "F010: rename(2) of such a folder fails with EXDEV alone, of a new one it works" {
	new_session
	[ "$(in_session /usr/bin/python3 -c '
import os
os.mkdir("new"); os.rename("new", "newer")
os.rename("README.md", "READYOU.md")
try:
    os.rename("d", "kept")
    print("renamed")
except OSError as error:
    print(error.errno)')" = 18 ]
	[ "$(in_session cat d/k)" = kept ]
}

@test "F010: git copes with moved folders, and its error does not blame wsiso" {
	new_session
	in_session sh -c 'mv d kept && git add -A && git -c user.name=a -c user.email=a@b commit -qm moved'
	[ "$(in_session git status --porcelain)" = "" ]
	in_session sh -c 'git switch -q --detach HEAD~1 && cat d/f && git stash list'
	run in_session git mv src source
	[[ "$output" != *wsiso* ]]
}

@test "F010: the manual says so" {
	grep -rq 'EXDEV' "$SRCDIR/man"
}

@test "F017: a watcher in one command gets the events of another, on files older than the session too" {
	local file
	need_program inotifywait
	new_session
	for file in d/f d; do
		ws_bg watch exec "$ID" -- timeout 20 inotifywait -q -e modify "$file"
		wait_for 10 in_session pgrep -x inotifywait
		sleep 0.2
		in_session sh -c 'echo more >>d/f'
		expect_status 0 wait "$BG"
		grep -q MODIFY "$T/watch.out"
	done
}

@test "F017: tail -f of a file older than the session follows what another command appends" {
	new_session
	ws_bg tail exec "$ID" -- timeout 20 tail -n 0 -f d/k
	wait_for 10 in_session pgrep -x tail
	sleep 0.2
	in_session sh -c 'echo appended >>d/k'
	wait_for 10 grep -qx appended "$T/tail.out"
}

@test "F020: what a command leaves in the background lives on, and kill ends it" {
	new_session
	in_session sh -c 'sleep 77 >/dev/null 2>&1 &'
	in_session pgrep -fx 'sleep 77'
	ws kill "$ID" KILL
	wait_for 10 refute in_session pgrep -fx 'sleep 77'
}

@test "F020: a detached command lives on after wsiso has returned, and delete ends it" {
	local pid
	new_session
	ws exec -d "$ID" -- sleep 78
	in_session pgrep -fx 'sleep 78'
	pid=$(pgrep -fx 'sleep 78' | head -n 1)
	ws delete -f "$ID"
	wait_for 10 gone "$pid"
}

@test "F020: SIGKILL of wsiso ends what its command left behind, and only that" {
	new_session
	ws exec -d "$ID" -- sleep 79
	ws_bg victim exec "$ID" -- sh -c 'setsid sleep 80 & sleep 81'
	wait_for 20 in_session pgrep -fx 'sleep 81'
	kill -KILL "$BG"
	wait_for 10 refute in_session pgrep -fx 'sleep 8[01]'
	in_session pgrep -fx 'sleep 79'
}

# ---- hostile trees ----

# plant: links in all places where a mount point might be wanted, to TARGET
plant() {
	in_session sh -c 'cd; for n in .local .config .cache .ssh .git .gitconfig .bashrc bin; do
			rm -rf $n; ln -sfn "$0" $n; done
		cd /workspace; for n in .git tmp run home wsiso; do ln -sfn "$0" $n; done
		cd /workspace/app; rm -rf .git; ln -s "$0" .git; ln -sfn "$0" setup; ln -sfn "$0" .codumentor
		cd /tmp; for n in host .X11-unix x; do rm -rf $n; ln -sfn "$0" $n; done' "$1"
}

@test "F023: a planted link to the host makes nothing there, and the next start works" {
	local outside=$T/outside
	new_session
	mkdir "$outside"
	for target in "/oldroot$outside" "../../../../../../oldroot$outside" "$outside" "/newroot$outside"; do
		plant "$target"
		ws stop "$ID"
		[ "$(ws exec --cwd /workspace "$ID" -- echo works)" = works ]
	done
	[ -z "$(ls -A "$outside")" ]
}

@test "F023: a bwrap older than 0.12 that follows planted links is refused" {
	new_session
	# what the old ones do: the folder is made where the link leads
	fake_bwrap '[ "$1" = --version ] && echo "bubblewrap 0.11.0" && exit
		for word; do
			case $word in */*) mkdir -p "$(readlink -f "$(dirname "$word")" | sed "s|.*/oldroot||")/$(basename "$word")" ;; esac
		done 2>/dev/null
		exit 1'
	nothing_ran bwrap-unusable
}

@test "F023: bwrap 0.11 that follows no planted link works" {
	new_session
	fake_bwrap "[ \"\$1\" = --version ] && echo 'bubblewrap 0.11.0' && exit
		exec $(real_bwrap) \"\$@\""
	[ "$(in_session echo works)" = works ]
}

@test "F025: no link, file or folder that a command makes or removes keeps the next from starting" {
	local target
	new_session
	for target in /nowhere /proc/self/root /dev/null loop; do
		plant "$target"
		ws stop "$ID"
		[ "$(in_session echo works)" = works ]
	done
}

@test "F025: a command that empties or shuts its folders can be followed by one that repairs them" {
	new_session
	in_session sh -c 'cd /; rm -rf ~/* ~/.[a-z]* /tmp/* /workspace/* /workspace/.[a-z]*' || true
	ws stop "$ID"
	[ "$(ws exec --cwd / "$ID" -- echo works)" = works ]
	ws exec --cwd / "$ID" -- sh -c 'chmod 000 /workspace ~ /tmp'
	ws stop "$ID"
	ws exec --cwd / "$ID" -- sh -c 'chmod 755 /workspace ~; chmod 1777 /tmp; mkdir /workspace/app'
	[ "$(in_session echo works)" = works ]
}

@test "F025: where the default folder is gone, exec says which and runs nothing" {
	new_session
	ws exec --cwd / "$ID" -- rm -rf /workspace/app
	run --separate-stderr in_session touch /tmp/ran
	[ "$status" -eq 125 ]
	[[ "$stderr" == *"/workspace/app"* ]]
	refute_in_session "$ID" /tmp/ran
}

# clean_session: nothing was written where the session writes
clean_session() {
	local dir=$ROOT/sessions/$ID litter
	litter=$(find "$dir/upper" "$dir/home" "$dir/tmp" -mindepth 1)
	[ -z "$litter" ] || {
		printf 'litter: %s\n' "$litter"
		return 1
	}
}

@test "F026: starting and entering a sandbox leaves no litter in the workspace, HOME and /tmp" {
	new_session
	in_session true
	ws exec -d --exec-id back "$ID" -- true
	ws wait "$ID" back
	ws_pty exec -t "$ID" -- true
	echo x | ws exec -i --timeout 9 --cwd / -e A=b "$ID" -- cat
	clean_session
	kill -KILL "$(init_pid)"
	wait_for 10 has_no_sandbox
	in_session true
	ws stop "$ID"
	clean_session
	[ -z "$(in_session git status --porcelain --ignored)" ]
}

@test "F026: neither does a SIGKILL of wsiso while it starts one" {
	local i
	new_session
	for i in 1 2 3 4 5 6; do
		ws_bg victim exec "$ID" -- true
		sleep "0.0$i"
		kill -KILL "$BG" || true
	done
	wait_for 15 in_session true
	clean_session
}

@test "F030: create runs no hook, filter or fsmonitor of the host's repository" {
	local hook repo=$T/app
	need_userns
	new_repo "$repo"
	echo '*.c filter=z' >"$repo/.gitattributes"
	hgit -C "$repo" add .gitattributes
	hgit -C "$repo" commit -qm attributes
	for hook in post-checkout post-index-change reference-transaction pre-auto-gc post-rewrite; do
		printf '#!/bin/sh\necho %s >>%s\nsleep 600\n' "$hook" "$T/marks" >"$repo/.git/hooks/$hook"
		chmod 755 "$repo/.git/hooks/$hook"
	done
	printf '#!/bin/sh\necho program >>%s\nsleep 600\n' "$T/marks" >"$T/program"
	chmod 755 "$T/program"
	for hook in filter.z.smudge filter.z.clean filter.z.process core.fsmonitor core.pager core.editor \
		core.sshCommand diff.external gpg.program credential.helper uploadpack.packObjectsHook; do
		hgit -C "$repo" config "$hook" "$T/program"
	done
	hgit -C "$repo" config filter.z.required true
	hgit -C "$repo" config extensions.worktreeConfig false
	WS_TIMEOUT=30 new_session
	[ ! -e "$T/marks" ]
	[ "$(in_session cat src/main.c)" = 'int main(void) { return 0; }' ]
	[ -z "$(WS_TIMEOUT=20 in_session git status --porcelain)" ]
	[ -z "$(in_session git config --get-regexp 'filter|fsmonitor|hooks|gpg|credential')" ]
	[ ! -e "$T/marks" ]
}

@test "F030: a configuration of the user that runs programs is not followed either" {
	need_userns
	new_repo "$T/app"
	mkdir "$T/home"
	printf '#!/bin/sh\necho program >>%s\n' "$T/marks" >"$T/home/program"
	chmod 755 "$T/home/program"
	mkdir "$T/home/hooks"
	cp "$T/home/program" "$T/home/hooks/post-checkout"
	cat >"$T/home/.gitconfig" <<-EOS
		[core]
			hooksPath = $T/home/hooks
			fsmonitor = $T/home/program
		[filter "z"]
			smudge = $T/home/program
	EOS
	HOME=$T/home new_session
	[ "$(in_session cat d/k)" = kept ]
	[ ! -e "$T/marks" ]
}

