#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154,SC2010,SC2012 # bats sets stderr; names of ours
# shellcheck disable=SC2016,SC2088 # for the shell inside to expand
#
# create --parent: a child from its parent's state of this moment.
load helpers

setup() {
	ws_setup
	spec "$ROOT/wsiso.json" '{"linger_s": 10, "subagent_isolation": "isolated"}'
}

in_child() { ws exec "${CHILD:-child}" -- "$@"; }

# view ID: all of /workspace but git's own files, byte by byte
view() {
	ws exec "$1" -- sh -c '
		cd /workspace
		find . -name .git -prune -o -printf "%P %y %m %l\n" | LC_ALL=C sort
		find . -name .git -prune -o -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum'
}

# same_view A B: what the two show is the same
same_view() { diff <(view "$1") <(view "$2"); }

layers_of() { state_of "$1" '.wsiso.stack | length'; }
frozen_layers() { find "$ROOT/layers" -maxdepth 1 -name 'frozen-*' | wc -l; }

# All the ways in which an upper says something.
EDITS='
	echo changed >README.md
	rm d/f
	rm -r src && mkdir src && echo new >src/new
	mkdir -p e/m/p/t/y
	mkfifo fifo
	ln -s /etc/passwd passwd
	ln -sf nowhere link
	chmod 711 d; chmod 400 d/g1; chmod 755 "with blank"
	cp tool.sh e/tool.sh; rm tool.sh; mkdir tool.sh; echo x >tool.sh/x
	printf "caf\351" >"$(printf "name \351\n\"q\"")"
	mkdir closed; echo secret >closed/f; chmod 000 closed'

@test "a child has all of its parent's state of this moment, and neither sees the other's later edits" {
	new_session
	in_session sh -c "$EDITS"
	ws create child --parent "$ID"
	in_session chmod 755 closed
	in_child chmod 755 closed
	same_view "$ID" child
	in_session sh -c 'echo parent >only-parent; rm README.md'
	in_child sh -c 'echo child >only-child; rm -r d'
	in_session test ! -e only-child -a -e d/k
	in_child test ! -e only-parent -a -e README.md
	[ "$(state_of child .wsiso.parent)" = "$ID" ]
	[ "$(state_of child '.wsiso.fork | tostring')" = '{"copied":false,"consistent":true}' ]
	[[ "$(ws list | grep ^child)" == *$'\t'"$ID" ]]
	ws state child >"$T/state"
	matches_schema state "$T/state"
	ws list --json >"$T/list"
	matches_schema list "$T/list"
}

@test "HOME is shared by a session and its children, /tmp is each one's own" {
	new_session
	in_session sh -c 'echo 1 >~/from-parent; echo 1 >/tmp/from-parent'
	ws create child --parent "$ID"
	in_child sh -c 'cat ~/from-parent; test ! -e /tmp/from-parent; echo 2 >~/from-child'
	in_session cat '/home/'"$(id -un)"/from-child
	ws create grandchild --parent child
	CHILD=grandchild in_child sh -c 'cat ~/from-parent ~/from-child'
	[ "$(ls "$ROOT/homes" | wc -l)" -eq 1 ]
	ws cat --rescue "child:/home/$(id -un)/from-child"
}

@test "without persistent_home there is none to share" {
	SPEC_OPEN='{"persistent_home": false}' new_session
	ws create child --parent "$ID"
	in_child sh -c 'echo 1 >~/x'
	[ ! -e "$ROOT/homes" ]
}

@test "a git child starts on a branch of its own, with what its parent has not committed" {
	local head
	new_session
	in_session sh -c 'git checkout -q topic; echo x >>README.md; git add README.md; echo y >u'
	head=$(in_session git rev-parse HEAD)
	ws create child.1 --parent "$ID"
	CHILD=child.1
	[ "$(in_child git symbolic-ref HEAD)" = refs/heads/wsiso/child.1 ]
	[ "$(in_child git rev-parse HEAD)" = "$head" ]
	[ "$(in_child git status --short)" = "$(printf 'M  README.md\n?? u')" ]
	[ "$(state_of child.1 '.wsiso.snapshots[0] | .branch, .revision' | xargs)" = "wsiso/child.1 $head" ]
	in_child git -c user.name=c -c user.email=c@c commit -qam work
	in_child git fsck
	[ "$(in_session git rev-parse HEAD topic | sort -u)" = "$head" ]
	in_session sh -c '! git rev-parse -q --verify wsiso/child.1'
	[ "$(ws diff child.1 --committed)" = "$(printf 'M\tREADME.md')" ]
	# an id that git would not take for a branch
	ws create a..b --parent "$ID"
	[ "$(ws exec a..b -- git symbolic-ref HEAD)" = refs/heads/wsiso/a__b ]
}

@test "where a branch 'wsiso' is in the way, or HEAD is no such, the child keeps its parent's, with a warning" {
	new_session
	in_session git branch wsiso
	run --separate-stderr ws create child --parent "$ID"
	[ "$status" -eq 0 ]
	[[ "$stderr" == *"there is a branch 'wsiso'"* ]]
	[ "$(in_child git symbolic-ref HEAD)" = "$(in_session git symbolic-ref HEAD 2>/dev/null || echo)" ] ||
		[ "$(in_child git rev-parse HEAD)" = "$(in_session git rev-parse HEAD)" ]
	in_session sh -c 'git branch -D wsiso; rm .git/HEAD; ln -s /etc/passwd .git/HEAD'
	run --separate-stderr ws create other --parent "$ID"
	[ "$status" -eq 0 ]
	[[ "$stderr" == *"gets no branch 'wsiso/other'"* ]]
	[ "$(CHILD=other in_child readlink .git/HEAD)" = /etc/passwd ]
}

@test "an unchanged parent adds no layer" {
	local before
	new_session
	before=$(layers_of "$ID")
	ws create one --parent "$ID"
	ws create two --parent "$ID"
	[ "$(layers_of "$ID") $(layers_of one) $(layers_of two)" = "$before $before $before" ]
	in_session touch x
	ws create three --parent "$ID"
	ws create four --parent "$ID"
	[ "$(layers_of "$ID") $(layers_of three) $(layers_of four)" = "$((before + 1)) $((before + 1)) $((before + 1))" ]
	[ "$(frozen_layers)" -eq 1 ]
}

@test "diff: the parent's shows all that it changed, the child's its own, folders made anew included" {
	local before
	new_session
	in_session sh -c "$EDITS"
	before=$(ws diff "$ID")
	ws create child --parent "$ID"
	[ "$(ws diff "$ID")" = "$before" ]
	[ -z "$(ws diff child)" ]
	# F005 across layers: a folder of the base, then of a frozen upper, made anew
	in_session sh -c 'rm -r d; mkdir -p d/f; echo 1 >d/f/1'
	ws create second --parent "$ID"
	in_session sh -c 'rm -r d; mkdir d; echo 2 >d/g2; echo README >README.md'
	CHILD=second in_child sh -c 'rm -r d/f; mkdir d/f; echo 2 >d/f/2'
	[ "$(ws diff "$ID" d)" = "$(printf '%s\td/%s\n' D f D g1 M g2 D k)" ]
	[ "$(ws diff second)" = "$(printf 'D\td/f/1\nA\td/f/2')" ]
	ws diff "$ID" --format patch d src README.md >"$T/patch"
	cp -a "$T/app" "$T/applied"
	hgit -C "$T/applied" apply "$T/patch"
	[ "$(cat "$T/applied/d/g2" "$T/applied/README.md" "$T/applied/src/new" | xargs)" = "2 README new" ]
}

@test "diff: what was in a folder that lies in a folder made anew is gone, too" {
	new_session
	in_session sh -c 'rm -r src; mkdir -p src/deep; echo new >src/deep/new'
	[ "$(ws diff "$ID")" = "$(printf 'D\tsrc/deep/er/file\nA\tsrc/deep/new\nD\tsrc/main.c')" ]
}

@test "a parent with live commands is stopped for the copy and goes on" {
	new_session
	# a and b are equal but for a moment, in which what stands still is one behind
	in_session sh -c 'echo 0 >a; echo 0 >b; mkdir big; head -c 8000000 /dev/urandom >big/f'
	ws exec -d "$ID" -- bash -c 'trap "echo told >told" CONT; i=0
		while :; do i=$((i + 1)); echo $i >a.new; mv a.new a; cp a b.new; mv b.new b; done'
	wait_for 5 ws exec "$ID" -- test -s a
	ws create child --parent "$ID"
	[ "$(state_of child '.wsiso.fork | tostring')" = '{"copied":true,"consistent":true}' ]
	in_child sh -c '[ $(($(cat a) - $(cat b))) -le 1 ] && [ $(($(cat a) - $(cat b))) -ge 0 ]'
	[ -z "$(ws diff child)" ]
	local was
	was=$(in_session cat a)
	wait_for 5 ws exec "$ID" -- sh -c "[ \$(cat a) -gt $was ]"
	[ "$(in_child cat a)" -le "$was" ]
	[ "$(state_of "$ID")" = running ]
	cmp <(in_session sha256sum big/f) <(in_child sha256sum big/f)
}

@test "a copy has all that an upper can say" {
	new_session
	in_session sh -c "$EDITS"'
		truncate -s 64M sparse; setfattr -n user.mark -v yes d/g2 || true'
	ws exec -d "$ID" -- sleep 1000
	ws create child --parent "$ID"
	[ "$(state_of child .wsiso.fork.copied)" = true ]
	in_session chmod 755 closed
	in_child chmod 755 closed
	same_view "$ID" child
	[ "$(du -s "$ROOT/sessions/$ID/upper" | cut -f1)" -lt 10000 ]
	du -s "$ROOT"/layers/frozen-child-* | awk '{ exit $1 > 10000 }'
}

@test "whoever was stopped before stays so, and a shell sees no job of its own stopped" {
	local pid
	new_session
	ws exec -d "$ID" -- sh -c 'echo 1 >edit; sleep 1000 & kill -STOP $!; echo $! >pid; wait'
	wait_for 5 ws exec "$ID" -- test -s pid
	pid=$(in_session cat pid)
	ws create child --parent "$ID"
	[ "$(in_session awk '/^State/ { print $2 }' "/proc/$pid/status")" = T ]
	ws exec -d "$ID" -- bash -mc 'sleep 1000; echo $? >status'
	sleep 0.2
	ws create other --parent "$ID"
	sleep 0.2
	in_session test ! -e status
}

@test "SIGKILL of a fork that copies lets the parent's commands go on" {
	local i
	new_session
	in_session sh -c 'mkdir big; for i in $(seq 400); do head -c 20000 /dev/urandom >big/$i; done'
	ws exec -d "$ID" -- bash -c 'i=0; while :; do echo $((i = i + 1)) >n; sleep 0.001; done'
	for i in $(seq "$(long 3 40)"); do
		ws_bg "k$i" create "k$i" --parent "$ID"
		sleep "0.0$((RANDOM % 6))$((RANDOM % 10))"
		kill -KILL "$BG" 2>/dev/null || true
		wait "$BG" 2>/dev/null || true
		local was
		was=$(in_session sh -c 'cat n || echo 0')
		wait_for 5 ws exec "$ID" -- sh -c "[ \"\$(cat n)\" -gt ${was:-0} ]"
	done
}

@test "children of children, ten deep, each with what all above it had" {
	local i last=$ID
	new_session
	for i in $(seq 10); do
		ws exec "$last" -- sh -c "echo $i >f$i; echo $i >last; rm -f f$((i - 2))"
		ws create "deep$i" --parent "$last"
		last=deep$i
	done
	[ "$(ws exec "$last" -- sh -c 'cat last; ls' | xargs)" = "10 README.md d f10 f9 last link src tool.sh with blank" ]
	[ "$(state_of deep3 .wsiso.parent)" = deep2 ]
	[ "$(ws exec deep3 -- cat last)" = 4 ]
	[ "$(ws exec "$last" -- git symbolic-ref HEAD)" = refs/heads/wsiso/deep10 ]
}

@test "a parent may go before its children: what they have of it goes with the last" {
	local before
	new_session
	before=$(ls "$ROOT/layers" | grep -cv -e ^git- )
	in_session sh -c 'echo 1 >one; echo home >~/h'
	ws create child --parent "$ID"
	in_child sh -c 'echo 2 >two'
	ws create grandchild --parent child
	ws delete "$ID"
	ws gc
	[ "$(in_child sh -c 'cat one two ~/h' | xargs)" = "1 2 home" ]
	# another of that name has nothing to do with it
	ws create "$ID" --spec "$T/$ID.json"
	ws delete "$ID"
	ws delete child
	ws gc
	[ "$(CHILD=grandchild in_child sh -c 'cat one two ~/h; git log --oneline | wc -l' | xargs)" = "1 2 home 3" ]
	ws delete grandchild
	[ "$(ls "$ROOT/layers" | wc -l)" -eq "$before" ]
	[ -z "$(ls "$ROOT/homes")" ]
}

@test "gc removes layers and HOMEs that nobody has, and no other" {
	new_session
	in_session sh -c 'echo 1 >one'
	ws create child --parent "$ID"
	mkdir -p "$ROOT/layers/frozen-gone-0123456789abcdef/root" "$ROOT/homes/gone-0123456789abcdef"
	echo '{"version": 1, "kind": "frozen"}' >"$ROOT/layers/frozen-gone-0123456789abcdef/meta.json"
	# of a fork that died before its parent's record named it
	cp -r "$ROOT/layers/frozen-gone-0123456789abcdef" "$ROOT/layers/frozen-$ID-0123456789abcdef"
	ws gc --json >"$T/gc"
	matches_schema gc "$T/gc"
	[ "$(jq -r '.items[].id' "$T/gc" | sort | xargs)" = "$(printf '%s\n' frozen-gone-0123456789abcdef \
		"frozen-$ID-0123456789abcdef" gone-0123456789abcdef | sort | xargs)" ]
	[ "$(in_child cat one)" = 1 ]
	[ "$(ls "$ROOT/homes" | wc -l)" -eq 1 ]
}

@test "gc makes one layer of many, and what sessions show and diff tells stays the same" {
	local i
	new_session
	for i in $(seq 14); do
		in_session sh -c "echo $i >>README.md; echo $i >f$i; rm -rf e; mkdir -p e/x; echo $i >e/x/$i
			[ $((i % 3)) -ne 0 ] || { rm -rf d; mkdir d; echo $i >d/$i; }"
		ws create "c$i" --parent "$ID"
	done
	CHILD=c14 in_child sh -c "$EDITS" || true
	CHILD=c14 in_child chmod 755 closed
	view "$ID" >"$T/before"
	view c14 >"$T/before.c14"
	ws diff "$ID" >"$T/diff"
	ws diff c14 >"$T/diff.c14"
	[ "$(layers_of "$ID")" -gt 16 ]
	ws stop --all -t 0
	ws gc
	ws gc
	[ "$(layers_of "$ID")" -le 5 ]
	[ "$(layers_of c14)" -le 5 ]
	diff "$T/before" <(view "$ID")
	diff "$T/before.c14" <(view c14)
	diff "$T/diff" <(ws diff "$ID")
	diff "$T/diff.c14" <(ws diff c14)
	[ "$(CHILD=c5 in_child cat f5)" = 5 ]
	[ "$(CHILD=c5 in_child ls e/x)" = 5 ]
}

@test "SIGKILL of a fork at any moment leaves the parent with all its edits" {
	local i rounds
	need_userns
	rounds=$(long 12 200)
	SPEC_OPEN='{"sandbox": {"seccomp": "off"}}' new_session
	spec "$ROOT/wsiso.json" '{"linger_s": 0, "subagent_isolation": "isolated"}'
	for i in $(seq "$rounds"); do
		in_session sh -c "echo $i >>all; echo $i >f$i; rm -rf d; mkdir d; echo $i >d/$i"
		ws_bg k create "k$i" --parent "$ID"
		sleep "0.0$(printf %02d $((RANDOM % 30)))"
		kill -KILL "$BG" 2>/dev/null || true
		wait "$BG" 2>/dev/null || true
		[ "$(in_session sh -c 'wc -l <all; ls f* | wc -l; ls d' | xargs)" = "$i $i $i" ]
		[ "$(ws diff "$ID" all d | xargs)" = "A all D d/f D d/g1 D d/g2 D d/k A d/$i" ] ||
			[ "$(ws diff "$ID" all)" = "$(printf 'A\tall')" ]
		if [ "$(state_of "k$i" 2>/dev/null)" = created ]; then
			[ "$(ws exec "k$i" -- sh -c 'wc -l <all; ls d' | xargs)" = "$i $i" ]
			ws delete "k$i"
		elif [ -e "$ROOT/sessions/k$i" ]; then # the same call goes on where it was killed
			ws create "k$i" --parent "$ID"
			ws delete "k$i"
		fi
	done
	ws create child --parent "$ID"
	same_view "$ID" child
}

@test "what a fork that died left of its child is no work of anybody's" {
	local dir=$ROOT/sessions/child
	new_session
	ws create child --parent "$ID"
	[ ! -e "$dir/making" ]
	rm "$dir/state.json"
	[ "$(kind_of create child --parent "$ID")" = state-corrupt ]
	touch "$dir/making" # as it was when the child was half made
	ws create child --parent "$ID"
	in_child touch work
	rm "$dir/state.json"
	touch "$dir/making" # a sandbox was started: the mark does not count
	[ "$(kind_of create child --parent "$ID")" = state-corrupt ]
	ws delete -f child
}

@test "commands that come while their session is forked neither fail nor lose an edit" {
	local i n
	new_session
	n=$(long 12 100)
	spec "$ROOT/wsiso.json" '{"linger_s": 0, "subagent_isolation": "isolated"}'
	for i in 1 2; do
		(for k in $(seq "$n"); do ws exec "$ID" -- sh -c "echo $k >>w$i" || echo "$i $k" >>"$T/failed"; done) 3>&- &
	done
	for i in $(seq "$((n / 3))"); do
		ws create "r$i" --parent "$ID"
		ws diff "$ID" >/dev/null
	done
	wait
	[ ! -e "$T/failed" ]
	[ "$(in_session cat w1 w2 | wc -l)" -eq $((2 * n)) ]
}

@test "of an isolated parent's spec a child may only tighten" {
	new_session
	refuse_child() {
		spec "$T/add.json" "$1"
		[ "$(kind_of create child --parent "$ID" --spec "$T/add.json")" = spec-invalid ]
		expect_status 2 ws create child --parent "$ID" --spec "$T/add.json"
		[ ! -e "$ROOT/sessions/child" ]
	}
	refuse_child '{"sandbox": {"unshare_net": false}}'
	refuse_child '{"repos": []}'
	refuse_child '{"mode": "host_readonly"}'
	refuse_child '{"subagent_isolation": "shared"}'
	refuse_child '{"snapshots": {"shared": false}}'
	spec "$T/add.json" '{"sandbox": {"hostname": "kid"}, "limits": {"open_files": 100},
		"annotations": {"who": "kid"}}' "$(repo_spec "$T/app")"
	ws create child --parent "$ID" --spec "$T/add.json"
	[ "$(in_child sh -c 'hostname; ulimit -n' | xargs)" = "kid 100" ]
	[ "$(state_of child .annotations.who)" = kid ]
	[ "$(jq -r .repos[0].name "$ROOT/sessions/child/config.json")" = app ]
	# what update says of the parent's network holds for the child
	ws update "$ID" --network share
	ws create net --parent "$ID"
	[ "$(state_of net .wsiso.network)" = share ]
	ws create no-net --parent "$ID" --spec <(echo '{"sandbox": {"hostname": "x", "unshare_net": true}}')
	[ "$(state_of no-net .wsiso.network)" = isolate ]
}

@test "a parent that is missing, blocked or a run's is refused, and nothing is left" {
	[ "$(kind_of create child --parent "$ID")" = session-missing ]
	expect_status 3 ws create child --parent "$ID"
	expect_status 2 ws create child --parent ../x
	new_session
	[ "$(kind_of create "$ID" --parent "$ID")" = session-exists ]
	ws run --id srv -- true
	[ "$(kind_of create child --parent srv)" = usage ]
	[ ! -e "$ROOT/sessions/child" ]
}

@test "with subagent_isolation shared a child is a second name for its parent" {
	spec "$ROOT/wsiso.json" '{"linger_s": 10}'
	new_session
	ws create child --parent "$ID"
	in_child sh -c 'echo 1 >x; echo t >/tmp/t'
	in_session cat x /tmp/t
	[ "$(state_of child '.id, .wsiso.parent, .wsiso.name_of' | xargs)" = "child $ID $ID" ]
	ws state child >"$T/state"
	matches_schema state "$T/state"
	[[ "$(ws list | grep ^child)" == *$'\t'"$ID" ]]
	[ "$(ws diff child)" = "$(printf 'A\tx')" ]
	[ "$(ws cat child:x)" = 1 ]
	# a name of a name is one of the session
	ws create grandchild --parent child
	[ "$(CHILD=grandchild in_child cat x)" = 1 ]
	[ "$(kind_of create child --parent "$ID")" = session-exists ]
	# a spec of its own it cannot have, unless it says that it is to be more
	[ "$(kind_of create other --parent "$ID" --spec <(echo '{}'))" = spec-invalid ]
	ws create other --parent "$ID" --spec <(echo '{"subagent_isolation": "isolated"}')
	CHILD=other in_child touch y
	in_session test ! -e y
	# the name goes, the session stays; not the other way round
	[ "$(kind_of delete "$ID")" = session-busy ]
	ws delete child
	in_session cat x
	ws gc
	ws delete -f "$ID"
	[ "$(kind_of exec grandchild -- true)" = session-missing ]
	new_session
	[ "$(kind_of exec grandchild -- true)" = session-missing ]
	ws gc
	[ ! -e "$ROOT/sessions/grandchild" ]
}

@test "children of a host_readonly session are names of it, with a warning where they were to be more" {
	need_userns
	mkdir "$T/launch"
	spec "$T/h.json" '{"mode": "host_readonly", "subagent_isolation": "isolated"}' \
		"$(jq -n --arg d "$T/launch" '{host_readonly: {launch_dir: $d}}')"
	ws create "$ID" --spec "$T/h.json" 2>/dev/null
	run --separate-stderr ws create child --parent "$ID"
	[ "$status" -eq 0 ]
	[[ "$stderr" == *"'subagent_isolation' is \"shared\""* ]]
	in_child touch here
	in_session test -e here
}

@test "a child of a session over a live folder" {
	SPEC_OPEN='{"snapshots": {"enabled": false}}' new_session "$ID" 2>/dev/null
	in_session sh -c 'rm d/f; echo 1 >new; rm -r src; mkdir src'
	ws create child --parent "$ID" 2>/dev/null
	same_view "$ID" child
	in_child sh -c 'echo 2 >new; rm -r d; mkdir d'
	in_session sh -c 'cat new; test -e d/k'
	[ "$(ws diff child)" = "$(printf 'D\td/g1\nD\td/g2\nD\td/k\nM\tnew')" ]
	ws create second --parent child 2>/dev/null
	same_view child second
	[ "$(hgit -C "$T/app" status --short)" = "" ]
}
