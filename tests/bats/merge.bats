#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # bats sets stderr; names of ours
# shellcheck disable=SC2016 # for the shell inside to expand
#
# merge: an isolated child's work comes back into its parent. merge_equal.bats compares it
# with git's.
load helpers

setup() {
	ws_setup
	spec "$ROOT/wsiso.json" '{"linger_s": 10, "subagent_isolation": "isolated"}'
}

in_child() { ws exec "${CHILD:-child}" -- "$@"; }

# family: a session and its child
family() {
	new_session "$ID" "$@"
	ws create child --parent "$ID"
}

# merge_json STATUS ARGS...: $T/report, which is as the schema says
merge_json() {
	local want=$1
	shift
	expect_status "$want" ws merge child --json "$@" >"$T/report"
	matches_schema merge "$T/report"
}

report() { jq -r "$1" "$T/report"; }

# view ID: all of /workspace but git's own files, byte by byte
view() {
	ws exec "$1" -- sh -c '
		cd /workspace
		find . -name .git -prune -o -printf "%P %y %m %l\n" | LC_ALL=C sort
		find . -name .git -prune -o -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum'
}

@test "what the child did is in the parent's working tree; its HEAD, branches and index are as before" {
	local before
	family
	in_child sh -c 'echo new >new; echo more >>d/f; rm d/k; chmod +x d/g1; ln -sf d link; mkdir -p e/m
		git add -A; git -c user.name=c -c user.email=c@c commit -qm work; git branch other'
	before=$(in_session sh -c 'git rev-parse HEAD; git for-each-ref; git ls-files -s; git symbolic-ref -q HEAD || :')
	merge_json 0
	[ "$(report .result)" = merged ]
	[ "$(report '.changes[] | .status + .path' | xargs)" = \
		"Mapp/d/f Mapp/d/g1 Dapp/d/k Aapp/e Aapp/e/m Mapp/link Aapp/new" ]
	[ "$(report '[.child, .parent, .conflicts, .omitted] | tostring')" = '["child","'"$ID"'",[],[]]' ]
	diff <(view "$ID") <(view child)
	[ "$before" = "$(in_session sh -c 'git rev-parse HEAD; git for-each-ref; git ls-files -s; git symbolic-ref -q HEAD || :')" ]
	[ "$(in_session git status --short | sort | xargs)" = "$(printf ' M d/f\n M d/g1\n D d/k\n M link\n?? new' | sort | xargs)" ]
	in_session git fsck
	grep -q '"event":"merge","session":"child".*into '"$ID"': 7 paths' "$ROOT/journal.jsonl"
	[ "$(ws diff "$ID")" = "$(ws diff child)" ]
}

@test "all that an upper can say comes over: types, modes, folders made anew, names of any bytes" {
	family
	in_child sh -c '
		echo changed >README.md
		rm -r src && mkdir src && echo new >src/new
		rm d/f; mkdir d/f; echo x >d/f/x
		rm link; echo no link >link
		chmod 711 d; chmod 400 d/g1; chmod 755 "with blank"
		cp tool.sh d/tool; rm tool.sh; ln -s /etc/passwd tool.sh
		printf "a\0b" >binary; printf "a\r\nb\r\n" >crlf
		printf "caf\351" >"$(printf "name \351\t\n\"q\"")"
		mkdir -p deep/mode; echo 1 >deep/mode/f; chmod 555 deep/mode
		: >empty; mkdir hole'
	merge_json 0
	diff <(view "$ID") <(view child)
	in_session sh -c 'git add -A; git -c user.name=c -c user.email=c@c commit -qm all; git status --short; git fsck'
	[ "$(report '.changes[] | select(.path_base64) | .path_base64' | base64 -d)" = "$(printf 'app/name \351\t\n"q"')" ]
	in_child chmod 755 deep/mode
	in_session chmod 755 deep/mode
}

@test "a dirty parent is merged where neither paths nor hunks collide" {
	new_session
	in_session sh -c 'seq 20 >n; echo x >>README.md; git add README.md'
	ws create child --parent "$ID"
	in_session sh -c 'sed -i "s/^3$/three/" n; echo mine >mine; rm d/g1; chmod +x n'
	in_child sh -c 'sed -i "s/^15$/fifteen/" n; echo theirs >theirs; echo y >>d/f'
	merge_json 0
	[ "$(report '.changes[] | select(.joined) | .path')" = app/n ]
	[ "$(in_session sh -c 'sed -n "3p;15p" n; cat mine theirs; test ! -e d/g1 -a -x n; git diff --cached --name-only' | xargs)" = \
		"three fifteen mine theirs README.md" ]
}

@test "a second merge does nothing, a later one brings what is new since" {
	family
	in_child sh -c 'echo 1 >one; seq 9 >n'
	ws merge child
	merge_json 0
	[ "$(report '.result, (.changes | length)' | xargs)" = "noop 0" ]
	# what the parent did to it since is not undone, and is no conflict
	in_session sh -c 'echo parent >one; rm n'
	merge_json 0
	[ "$(report .result)" = noop ]
	in_child sh -c 'echo 2 >two; rm -r d'
	merge_json 0
	[ "$(report '.changes[].path' | xargs)" = "app/d app/d/f app/d/g1 app/d/g2 app/d/k app/two" ]
	[ "$(in_session sh -c 'cat one two; ls' | xargs)" = "parent 2 README.md link one src tool.sh two with blank" ]
	in_child sh -c 'echo 3 >one; rm two'
	expect_status 4 ws merge child
	in_child sh -c 'echo 1 >one'
	ws merge child
	in_session test ! -e two
}

@test "F074: with a conflict nothing at all is done, the report says which, and the child is kept" {
	family
	in_session sh -c 'echo mine >d/f; echo mine >added; rm d/g1; echo m >>d/g2; chmod 600 d/k; echo b >link2; rm "with blank"; mkdir "with blank"; touch "with blank/x"'
	in_child sh -c 'echo theirs >d/f; echo theirs >added; echo t >>d/g1; rm d/g2; chmod 755 d/k; ln -s x link2; printf "\0" >>"with blank"; echo fine >fine'
	view "$ID" >"$T/before"
	view child >"$T/child"
	merge_json 4
	[ "$(report .result)" = conflicts ]
	[ "$(report '.conflicts[] | .path + " " + .kind' | xargs)" = \
		"app/added add-add app/d/f content app/d/g1 modify-delete app/d/g2 modify-delete app/d/k mode app/link2 type app/with blank directory-file" ]
	diff "$T/before" <(view "$ID")
	diff "$T/child" <(view child)
	in_session test ! -e fine
	# where the versions lie
	[ "$(report '.conflicts[] | select(.path == "app/d/f") | .base.file, .ours.file, .theirs.file' | xargs cat | xargs)" = "one two mine theirs" ]
	grep -q '^<<<<<<< '"$ID"'$' "$(report '.conflicts[] | select(.path == "app/d/f") | .markers')"
	[ "$(report '.conflicts[] | select(.path == "app/d/g1") | .ours')" = null ]
	# the same again
	merge_json 4
	run --separate-stderr ws merge child
	[ "$status" -eq 4 ]
	[ "${lines[0]}" = "$(printf 'add-add\tapp/added')" ]
	[ "${lines[-1]}" = "conflicts: 'child' into '$ID'" ]
	ws merge child --abort
	[ ! -e "$ROOT/sessions/child/merge" ]
	expect_status 2 ws merge child --abort
	expect_status 2 ws merge child --continue
}

@test "a conflict is answered by a file, by one side, or by none, and then all of it is merged" {
	family
	in_session sh -c 'echo mine >d/f; echo mine >added; rm d/g1; echo m >>d/g2; echo m >README.md'
	in_child sh -c 'echo theirs >d/f; echo theirs >added; echo t >>d/g1; rm d/g2; echo t >README.md; echo fine >fine'
	merge_json 4
	echo both >"$T/both"
	merge_json 4 --resolve "app/d/f=$T/both" --resolve /workspace/app/added=@theirs
	[ "$(report '.conflicts[].path' | xargs)" = "app/README.md app/d/g1 app/d/g2" ]
	expect_status 2 ws merge child --resolve app/fine=@ours
	expect_status 2 ws merge child --resolve app/d/g1
	echo in | ws merge child --resolve app/README.md=- --resolve app/d/g1=@ours --resolve app/d/g2=@delete
	[ "$(in_session sh -c 'cat d/f added README.md fine; ls d' | xargs)" = "both theirs in fine f k" ]
	[ ! -e "$ROOT/sessions/child/merge" ]
	merge_json 0
	[ "$(report .result)" = noop ]
}

@test "answers are kept while the parent moves on; one whose conflict has changed is asked for again" {
	family
	in_session sh -c 'echo mine >d/f; echo mine >added'
	in_child sh -c 'echo theirs >d/f; echo theirs >added'
	merge_json 4
	merge_json 4 --resolve app/d/f=@theirs
	in_session sh -c 'echo other >other; echo mine too >added'
	merge_json 4 --continue
	[ "$(report '.conflicts[].path')" = app/added ]
	[ "$(cat "$(report '.conflicts[0].ours.file')")" = "mine too" ]
	in_session sh -c 'echo changed >d/f'
	merge_json 4 --resolve app/added=@ours
	[ "$(report '.conflicts[].path')" = app/d/f ]
	# or the parent's own edit ends it
	in_session sh -c 'git checkout -q d/f'
	merge_json 0 --continue
	[ "$(in_session sh -c 'cat d/f added other' | xargs)" = "theirs mine too other" ]
}

@test "a folder on one side and a file on the other: either is taken as a whole" {
	family
	in_session sh -c 'mkdir x; echo 1 >x/1; echo file >y; echo added >d/new'
	in_child sh -c 'echo file >x; mkdir -p y/z; echo 2 >y/z/2; rm -r d; echo no folder >d'
	merge_json 4
	[ "$(report '.conflicts[] | .path + " " + .kind' | xargs)" = "app/d directory-file app/x directory-file app/y directory-file" ]
	expect_status 2 ws merge child --resolve app/x=@delete
	# an answer is for what is in the folder, too
	merge_json 4 --resolve app/x=@theirs --resolve app/d=@ours
	in_session sh -c 'echo 3 >x/3'
	merge_json 4
	[ "$(report '.conflicts[].path' | xargs)" = "app/x app/y" ]
	ws merge child --resolve app/x=@theirs --resolve app/y=@theirs
	[ "$(in_session sh -c 'cat x y/z/2; ls d' | xargs)" = "file 2 f g1 g2 k new" ]
}

@test "F050, F027: a link in the place of a folder leads no write elsewhere, and nothing of git's is run" {
	local live
	for live in no yes; do
		family
		mkdir -p "$T/outside"
		in_child sh -c 'echo new >d/new; rm d/k; ln -s /etc "to etc"
			printf "#!/bin/sh\ntouch '"$T"'/marks\n" >hook; chmod 755 hook
			git config core.fsmonitor /workspace/app/hook; git config core.hooksPath /workspace/app
			git config merge.x.driver /workspace/app/hook; echo "* merge=x filter=x" >.gitattributes'
		in_session sh -c 'rm -r d; ln -s '"$T/outside"' d; mkdir -p "to etc"; echo 1 >"to etc/x"'
		[ "$live" = no ] || ws exec -d "$ID" -- sleep 1000
		merge_json 4
		[ "$(report '.conflicts[] | .path + " " + .kind' | xargs)" = "app/d directory-file app/to etc directory-file" ]
		merge_json 0 --resolve app/d=@theirs --resolve "app/to etc=@theirs"
		[ "$(in_session sh -c 'ls d; readlink "to etc"' | xargs)" = "f g1 g2 new /etc" ]
		[ -z "$(ls "$T/outside")" ]
		[ ! -e "$T/marks" ]
		ws delete -f child
		ws delete -f "$ID"
	done
}

@test "FIFOs, sockets, and git folders made inside are named, not carried" {
	family
	in_child sh -c 'mkfifo fifo; rm d/f; mkfifo d/f; git init -q nested; echo 1 >nested/f
		python3 -c "import socket; socket.socket(socket.AF_UNIX).bind(\"sock\")"'
	merge_json 0
	[ "$(report '.omitted[] | .path + " " + .why' | sort | xargs)" = \
		"app/d/f special app/fifo special app/nested/.git git app/sock special" ]
	[ "$(in_session sh -c 'cat d/f nested/f; ls -A nested' | xargs)" = "one two 1 f" ]
}

@test "a plain tree, several repos, and files beside them" {
	mkdir -p "$T/plain/sub"
	echo 1 >"$T/plain/sub/f"
	new_repo "$T/app"
	need_userns
	spec "$T/spec" '{"repos": [{"name": "app", "path": "'"$T/app"'"}, {"name": "tree", "path": "'"$T/plain"'", "vcs": "none"}]}'
	ws create "$ID" --spec "$T/spec"
	ws create child --parent "$ID"
	in_child sh -c 'echo 2 >/workspace/tree/sub/f; echo 3 >/workspace/tree/new; echo 4 >>/workspace/app/d/f; echo 5 >/workspace/beside'
	in_session sh -c 'echo mine >/workspace/tree/mine'
	ws merge child
	[ "$(in_session sh -c 'cd /workspace; cat tree/sub/f tree/new tree/mine beside; tail -n 1 app/d/f' | xargs)" = "2 3 mine 5 4" ]
}

@test "live folders (snapshots.enabled false) are merged, and the host's stay as they are" {
	family '{"snapshots": {"enabled": false}}'
	in_child sh -c 'echo 2 >>d/f; rm d/k; mkdir e; echo 3 >e/f'
	in_session sh -c 'echo mine >mine'
	ws merge child
	[ "$(in_session sh -c 'tail -n 1 d/f; ls d e; cat mine' | xargs)" = "2 d: f g1 g2 e: f mine" ]
	[ -z "$(hgit -C "$T/app" status --short)" ]
}

@test "a grandchild's work goes to the child, and from there to the parent" {
	family
	ws create grandchild --parent child
	CHILD=grandchild in_child sh -c 'echo 1 >one; rm d/k'
	in_child sh -c 'echo 2 >two'
	ws merge grandchild
	in_session test ! -e one
	ws merge child
	[ "$(in_session sh -c 'cat one two; ls d' | xargs)" = "1 2 f g1 g2" ]
}

@test "a live child is merged as it is at this moment, and goes on" {
	family
	in_child sh -c 'echo 1 >one'
	ws exec -d child -- sleep 1000
	merge_json 0
	[ "$(report '.consistent, .changes[].path' | xargs)" = "true app/one" ]
	in_child sh -c 'echo 2 >two; rm one'
	merge_json 0
	[ "$(report '.changes[] | .status + .path' | xargs)" = "Dapp/one Aapp/two" ]
	merge_json 0
	[ "$(report .result)" = noop ]
	[ "$(state_of child)" = running ]
	ws stop child -t 0
	in_child sh -c 'echo 3 >three'
	merge_json 0
	[ "$(report '.changes[].path' | xargs)" = app/three ]
	ws gc
	[ "$(in_session sh -c 'cat two three' | xargs)" = "2 3" ]
}

@test "F004: a parent with live commands is merged through its own mounts, which see it at once" {
	family
	in_session sh -c 'seq 20 >n; mkdir ro; echo 1 >ro/f; chmod 555 ro
		for i in $(seq 10); do p=$p/d/d/d/d/d/d/d/d/d/d/d/d; done; p=deeper$p
		for i in $(seq '"$(long 2 12)"'); do mkdir -p $p; cd $p; p=d${p#deeper}; done; touch f'
	ws delete -f child
	ws create child --parent "$ID"
	in_session sh -c 'sed -i "s/^3$/three/" n'
	in_child sh -c 'sed -i "s/^15$/fifteen/" n; echo new >d/new; rm d/k; chmod 750 tool.sh; rm -r src; echo file >src
		rm -r deeper; rm link; mkdir link; echo x >link/x; ln -s /etc/passwd "a link"; chmod 755 ro; echo 2 >ro/g; chmod 555 ro
		mkdir -p deep/er; chmod 700 deep; : >empty; head -c 300000 /dev/urandom >big; printf x >"$(printf "caf\351")"'
	# somebody who has seen the folder, and goes on
	ws exec -d "$ID" -- bash -c 'exec 9<d; ls d >before; while [ ! -e d/new ]; do ls d >/dev/null; sleep 0.01; done
		cat d/new >seen; ls d >after; sleep 1000'
	wait_for 5 in_session test -s before
	in_child python3 -c 'import os
for name, value in ("f", b"v\0w"), ("new", b""), ("deep/er", b"1"):
    os.setxattr("d/" + name if name != "deep/er" else name, "user.note", value)
os.chmod("d/f", 0o444)'
	merge_json 0
	[ "$(report .result)" = merged ]
	wait_for 5 in_session test -s after
	[ "$(in_session python3 -c 'import os
for name in "d/f", "d/new", "deep/er":
    print(os.getxattr(name, "user.note"))' | xargs)" = "bv\\x00w b b1" ]
	[ "$(in_session sh -c 'cat seen; cat after' | xargs)" = "new f g1 g2 new" ]
	[ "$(in_session sh -c 'sed -n "3p;15p" n' | xargs)" = "three fifteen" ]
	in_session sh -c 'rm before seen after'
	in_child sh -c 'sed -i "s/^3$/three/" n'
	diff <(view "$ID") <(view child)
	[ "$(state_of "$ID")" = running ]
	[ -z "$(jq -r '.incoming // empty' "$ROOT/sessions/$ID/state.json")" ]
	# what else the session is asked
	merge_json 0
	[ "$(report '.changes[].path' | xargs)" = "" ]
	ws stop "$ID" -t 0
	diff <(view "$ID") <(view child)
	in_session chmod 755 ro
	in_child chmod 755 ro
}

@test "kill -9 while a live parent is merged: its commands go on, and the next call finishes it" {
	local i tree
	new_session
	ws exec -d "$ID" -- sh -c 'i=0; while :; do echo $((i = i + 1)) >/tmp/n; sleep 0.01; done'
	for i in $(seq "$(long 4 200)"); do
		ws create "k$i" --parent "$ID"
		ws exec "k$i" -- sh -c "for f in \$(seq 20); do echo $i >\$f; done; echo $i >>README.md; mkdir d/$i; rm -rf d/$((i - 1))"
		ws_bg kill merge "k$i"
		sleep "0.0$((RANDOM % 10))$((RANDOM % 10))"
		kill -KILL "$BG" 2>/dev/null || true
		wait "$BG" 2>/dev/null || true
		tree=$(in_session sh -c 'cat $(seq 20) 2>/dev/null | sort -u | xargs; tail -n 1 README.md; ls -d d/[0-9]* 2>/dev/null' | xargs)
		case $tree in
		"$((i - 1)) $((i - 1)) d/$((i - 1))" | "$i $i d/$i") ;;
		hello) [ "$i" -eq 1 ] ;;
		*)
			echo "neither: $tree in round $i"
			return 1
			;;
		esac
		ws merge "k$i"
		[ "$(in_session sh -c 'cat $(seq 20) | sort -u; tail -n 1 README.md; ls -d d/[0-9]*' | xargs)" = "$i $i d/$i" ]
		[ "$(ws merge "k$i")" = "noop: 'k$i' into '$ID'" ]
		local was
		was=$(in_session cat /tmp/n || true)
		wait_for 5 ws exec "$ID" -- sh -c "[ \"\$(cat /tmp/n)\" -gt ${was:-0} ]"
		ws delete -f "k$i"
	done
	[ -z "$(in_session sh -c 'ls -A . d | grep .wsiso || true')" ]
	[ "$(in_session wc -l README.md)" = "$((1 + $(long 4 200))) README.md" ]
}

# half N: as if a merge that brings a file laterN had been killed when the record said so
half() {
	local layer=frozen-$ID-000000000000000$1 record=$ROOT/sessions/$ID/state.json
	mkdir -p "$ROOT/layers/$layer/root/app"
	echo '{"version": 1, "kind": "frozen"}' >"$ROOT/layers/$layer/meta.json"
	chmod 755 "$ROOT/layers/$layer/root/app"
	echo "later$1" >"$ROOT/layers/$layer/root/app/later$1"
	jq '.incoming = "'"$layer"'"' "$record" >"$T/state" && cp "$T/state" "$record"
}

@test "a merge that was killed is finished by diff, exec, export or a fork, live or not" {
	family
	in_child touch x
	ws merge child
	half 1
	ws gc
	[ "$(ws diff "$ID")" = "$(printf 'A\tlater1\nA\tx')" ]
	half 2
	[ "$(in_session cat later1 later2 | xargs)" = "later1 later2" ]
	ws stop "$ID"
	half 7
	ws export "$ID" --format tar | tar -t | grep -q later7
	half 3
	ws create other --parent "$ID"
	ws exec -d "$ID" -- sleep 1000
	half 4
	[ "$(in_session cat later3 later4 | xargs)" = "later3 later4" ]
	half 5
	[ "$(ws cat "$ID:later5")" = later5 ]
	half 6
	ws create another --parent "$ID"
	[ "$(CHILD=another in_child cat later5 later6 | xargs)" = "later5 later6" ]
	[ "$(state_of "$ID")" = running ]
}

@test "many merges do not pile up layers" {
	local i
	only_long
	new_session
	for i in $(seq 60); do
		ws create "k$i" --parent "$ID"
		ws exec "k$i" -- sh -c "echo $i >f$i"
		in_session sh -c "echo $i >g$i"
		ws merge "k$i"
		ws delete "k$i"
	done
	[ "$(in_session sh -c 'ls f* g* | wc -l')" -eq 120 ]
	[ "$(state_of "$ID" '.wsiso.stack | length')" -lt 55 ]
}

@test "refusals: no child, a second name, a parent that is gone or another, switched off" {
	family
	in_child sh -c 'echo 1 >one'
	[ "$(kind_of merge "$ID")" = usage ]
	[ "$(kind_of merge nobody)" = session-missing ]
	spec "$T/shared" '{"subagent_isolation": "shared"}'
	spec "$ROOT/wsiso.json" '{"linger_s": 10, "integration": {"enabled": false}}'
	merge_json 3
	[ "$(report '.result, .reason.kind' | xargs)" = "refused disabled" ]
	spec "$ROOT/wsiso.json" '{"linger_s": 10}'
	ws create name --parent "$ID"
	expect_status 2 ws merge name --json >"$T/report"
	[ "$(report '.result, .reason.kind' | xargs)" = "refused usage" ]
	ws delete name
	ws delete "$ID"
	[ "$(kind_of merge child)" = session-missing ]
	ws create "$ID" --spec "$T/$ID.json"
	[ "$(kind_of merge child)" = session-missing ]
	[ "$(in_child cat one)" = 1 ]
}

@test "kill -9 at random moments: the parent is merged or unchanged, and the next merge finishes it" {
	local i landed=0 tree
	new_session
	for i in $(seq "$(long 3 200)"); do
		ws create "k$i" --parent "$ID"
		ws exec "k$i" -- sh -c "for f in \$(seq 20); do echo $i >\$f; done; echo $i >>README.md"
		ws_bg kill merge "k$i"
		sleep "0.0$((RANDOM % 6))$((RANDOM % 10))"
		kill -KILL "$BG" 2>/dev/null && landed=$((landed + 1))
		wait "$BG" 2>/dev/null || true
		tree=$(in_session sh -c 'cat $(seq 20) 2>/dev/null | sort -u | xargs; tail -n 1 README.md' | xargs)
		case $tree in
		"$((i - 1)) $((i - 1))" | "$i $i") ;;
		hello) [ "$i" -eq 1 ] ;;
		*)
			echo "neither: $tree in round $i"
			return 1
			;;
		esac
		ws merge "k$i"
		[ "$(in_session sh -c 'cat $(seq 20) | sort -u; tail -n 1 README.md' | xargs)" = "$i $i" ]
		[ "$(ws merge "k$i")" = "noop: 'k$i' into '$ID'" ]
		ws delete "k$i"
	done
	ws gc
	[ "$(in_session wc -l README.md)" = "$((1 + $(long 3 200))) README.md" ]
}
