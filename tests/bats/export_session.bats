# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# shellcheck disable=SC2154 # bats sets stderr
# A whole session in one archive, and what another state folder makes of one.
load helpers

# tree_in ID: all of /workspace as the session's commands see it, .git aside
tree_in() {
	ws exec -i "$1" -- sh -c 'cat >/tmp/tool.py' <"$HELPERS/tree_tool.py"
	ws exec "$1" -- "$PYTHON" /tmp/tool.py show /workspace modes
}

# a session with changes, commits, a HOME, and an archive of it: $T/a.tar (uncompressed)
exported() {
	new_session "$ID" "$@"
	in_session sh -c 'echo more >>README.md; rm d/g1; rm -r src; mkdir -m 750 src; echo only >src/only; touch new
		git config user.name A; git config user.email a@b; git add -A; git commit -qm mine; mkdir -p zz e/mpty
		echo un >>d/f; mkfifo pipe; ln -s /etc/passwd out; echo kept >~/kept; chmod 600 ~/kept'
	ws export "$ID" --format session --compress none -o "$T/a.tar"
}

nothing_left() { # of an import that was refused, in a root that was empty
	local left
	left=$(find "$ROOT"/{tmp,layers,pools,sessions} -mindepth 1 2>/dev/null) || true
	[ -z "$left" ] || {
		echo "$left"
		return 1
	}
}

@test "another root takes it: the same tree, diff, commits, HOME and status" {
	exported
	tree_in "$ID" >"$T/tree"
	ws diff "$ID" >"$T/diff"
	in_session git status --porcelain >"$T/status"
	in_session git log --format=%H >"$T/log"
	in_session git stash list >"$T/stash"
	mv "$T/app" "$T/gone" # the host's repository is not there
	new_root "$T/other"
	ws create n1 --from "$T/a.tar"
	diff "$T/tree" <(tree_in n1)
	diff "$T/diff" <(ws diff n1)
	diff "$T/status" <(ws exec n1 -- git status --porcelain)
	diff "$T/log" <(ws exec n1 -- git log --format=%H)
	[ "$(ws exec n1 -- sh -c 'cat ~/kept; stat -c %a ~/kept')" = "$(printf 'kept\n600')" ]
	[ "$(ws diff n1 --json | jq -r '.repos[0].commits[].subject')" = mine ]
	ws exec n1 -- git fsck --full 2>"$T/err"
	ws exec n1 -- git fetch -q host
	ws exec n1 -- git gc -q
	[ -z "$(ls "$ROOT/tmp")" ]
	grep -q "from an archive of $ID" "$ROOT/journal.jsonl"
}

@test "packs of any name travel" {
	new_repo "$T/app"
	hgit -C "$T/app" repack -adq
	(cd "$T/app/.git/objects/pack" && for f in pack-*; do mv "$f" "pack-mine.${f##*.}"; done)
	spec "$T/s.json" "$(repo_spec "$T/app" app)"
	ws create "$ID" --spec "$T/s.json"
	in_session git log --format=%H >"$T/log"
	ws export "$ID" --format session -o "$T/a"
	new_root "$T/other"
	ws create n1 --from "$T/a"
	diff "$T/log" <(ws exec n1 -- git log --format=%H)
}

@test "what came can be forked, exported again and deleted" {
	exported '{"subagent_isolation": "isolated"}'
	new_root "$T/other"
	ws create n1 --from - <"$T/a.tar"
	ws create n2 --parent n1
	ws exec n2 -- sh -c 'echo child >child; git add child; git commit -qm child'
	diff <(tree_in n1) <(tree_in n2 | grep -v "app/child'\$")
	ws export n2 --format session | ws create n3 --from -
	diff <(tree_in n2) <(tree_in n3)
	diff <(ws exec n2 -- git log --format=%H) <(ws exec n3 -- git log --format=%H)
	for id in n3 n2 n1; do ws delete -f "$id"; done
	[ -z "$(ls "$ROOT/layers")" ]
}

@test "from a child the base is all that it stood on; a plain tree and several repos travel, too" {
	need_userns
	new_repo "$T/app"
	mkdir "$T/plain"
	echo one >"$T/plain/f"
	spec "$T/s.json" '{"subagent_isolation": "isolated"}' "$(jq -n --arg a "$T/app" --arg b "$T/plain" \
		'{repos: [{name: "app", path: $a}, {name: "plain", path: $b}]}')"
	ws create p --spec "$T/s.json"
	ws exec p -- sh -c 'echo p >app/p; rm plain/f'
	ws create "$ID" --parent p
	in_session sh -c 'echo c >plain/c; rm app/p; echo top >top'
	ws export "$ID" --format session --compress gzip -o "$T/a"
	new_root "$T/other"
	ws create n1 --from "$T/a"
	ROOT=$T/root tree_in "$ID" >"$T/want"
	diff "$T/want" <(tree_in n1)
	[ "$(ws diff n1)" = "$(printf '%s\t%s\n' D app/p A plain/c A top)" ]
}

@test "the archive's spec may tighten, and names nothing of this host" {
	local secret=$T/secret
	mkdir "$secret"
	echo SECRET >"$secret/f"
	exported "$(jq -n --arg s "$secret" '{binds: [{source: $s, target: "/opt/x"}], integration: {resolver: ["/bin/false"]},
		annotations: {owner: "root"}, profiles: {p: {sandbox: {unshare_net: false}}}, snapshots: {min_free_gb: 0}, limits: {pids_max: null}, sandbox: {seccomp: "enforce"}}')"
	new_root "$T/other"
	run --separate-stderr ws create n1 --from "$T/a.tar"
	[ "$status" -eq 0 ]
	for key in annotations binds integration profiles snapshots; do
		[[ "$stderr" == *"'$key' of the archive's spec is not taken"* ]]
	done
	[ "$(jq -c 'keys' "$ROOT/sessions/n1/config.json")" = '["limits","repos","sandbox"]' ]
	refute ws exec n1 -- ls /opt/x
	[ "$(ws state n1 | jq -r .wsiso.policy)" != null ]
}

@test "a looser spec is refused, and this host's own is what counts" {
	exported '{"sandbox": {"unshare_net": false}}'
	new_root "$T/other"
	run --separate-stderr ws create n1 --from "$T/a.tar"
	[ "$status" -eq 2 ]
	[[ "$stderr" == *"the archive's spec: 'sandbox.unshare_net' is false, but must be true"*"--spec FILE"* ]]
	nothing_left
	echo '{"sandbox": {"unshare_net": true}}' >"$T/mine.json"
	ws create n1 --from "$T/a.tar" --spec "$T/mine.json"
	[ "$(jq -r '.sandbox.unshare_net, .repos[0].name' "$ROOT/sessions/n1/config.json")" = "$(printf 'true\napp')" ]
	mkdir -p "$ROOT/sessions/n2"
	echo '{"sandbox": {"unshare_net": false}}' >"$ROOT/sessions/n2/config.json"
	ws create n2 --from "$T/a.tar"
	[ "$(jq -r .sandbox.unshare_net "$ROOT/sessions/n2/config.json")" = false ]
	echo '{"repos": [{"name": "else", "path": "/x"}]}' >"$T/mine.json"
	[ "$(kind_of create n3 --from "$T/a.tar" --spec "$T/mine.json")" = spec-invalid ]
	echo '{"mode": "host_readonly"}' >"$T/mine.json"
	[ "$(kind_of create n3 --from "$T/a.tar" --spec "$T/mine.json")" = spec-invalid ]
}

@test "no spoiled archive reaches outside, or makes a session (F058)" {
	local name n=0
	exported
	mkdir "$T/outside" "$T/spoiled"
	echo SECRET >"$T/outside/secret"
	chmod 700 "$T/outside"
	find "$T/outside" -printf '%p %m %T@ %n\n' >"$T/before"
	new_root "$T/other"
	"$PYTHON" "$HELPERS/archive_tool.py" all "$T/a.tar" "$T/spoiled" "$T/outside"
	for name in $("$PYTHON" "$HELPERS/archive_tool.py" list); do
		refute ws create n1 --from "$T/spoiled/$name" >"$T/log" 2>&1 || {
			echo "taken: $name"
			return 1
		}
		nothing_left || {
			echo "left by $name"
			return 1
		}
		grep -q '^wsiso: create: ' "$T/log"
		refute grep -q SECRET "$T/log"
		n=$((n + 1))
	done
	[ "$n" -gt 50 ]
	find "$T/outside" -printf '%p %m %T@ %n\n' | diff "$T/before" -
	[ ! -e "$T/x" ]
	# unspoiled, through the same hands, it is good
	ws create n1 --from "$T/a.tar"
}

@test "why one is refused is said by kind" {
	local name
	exported
	new_root "$T/other"
	for name in dotdot:state-corrupt hardlink:io manifest_newer:state-version spec_network:spec-invalid \
		without_end:state-corrupt; do
		"$PYTHON" "$HELPERS/archive_tool.py" "${name%:*}" "$T/a.tar" "$T/b.tar" "$T"
		[ "$(kind_of create n1 --from "$T/b.tar")" = "${name#*:}" ]
	done
	[ "$(kind_of create n1 --from "$T/none")" = io ]
	[ "$(kind_of create n1 --from "$T/a.tar" --parent n2)" = usage ]
	[ "$(kind_of create n1 --from "$T/a.tar" --retry)" = usage ]
	echo garbage >"$T/g"
	[ "$(kind_of create n1 --from "$T/g")" = io ]
	[ "$(kind_of create n1 --from /dev/null)" = io ]
	gzip -c "$T/a.tar" | gzip -c >"$T/g"
	[ "$(kind_of create n1 --from "$T/g")" = io ]
}

@test "one that was cut off anywhere is refused" {
	local i size
	exported
	zstd -q "$T/a.tar" -o "$T/a.zst"
	size=$(stat -c %s "$T/a.zst")
	new_root "$T/other"
	for ((i = 1; i <= $(long 10 200); i++)); do
		head -c $((size * i / ($(long 10 200) + 1))) "$T/a.zst" >"$T/cut"
		refute ws create n1 --from "$T/cut" 2>/dev/null
		nothing_left
	done
	# a tar archive ends with nothing but zeros: what is before them must be all there
	for ((i = 1; i <= 5; i++)); do
		head -c $(($(stat -c %s "$T/a.tar") * i / 7 / 512 * 512)) "$T/a.tar" >"$T/cut"
		refute ws create n1 --from "$T/cut" 2>/dev/null
		nothing_left
	done
}

@test "what an archive says of paths names nothing of this host, not even for a session like it" {
	new_session
	ws export "$ID" --format session -o "$T/a.tar"
	new_root "$T/other"
	ws create came --from "$T/a.tar"
	[ "$(jq -r '.repos[].path' "$ROOT/sessions/came/config.json")" = /dev/null/app ]
	[ "$(jq -r '.repos[].path' "$ROOT/sessions/came/state.json")" = /dev/null/app ]
	expect_status 1 ws create like --spec "$ROOT/sessions/came/config.json"
	ws create child --parent came
	[ "$(ws exec child -- cat README.md)" = "$(ws exec came -- cat README.md)" ]
	# a folder that a killed one has left: its spec is not this host's, unless it is
	for whose in archive caller; do
		mkdir -p "$ROOT/sessions/$whose"
		jq '.sandbox.hostname = "left"' "$ROOT/sessions/came/config.json" >"$ROOT/sessions/$whose/config.json"
		touch "$ROOT/sessions/$whose/making"
	done
	sha256sum <"$ROOT/sessions/archive/config.json" | cut -c1-64 | tr -d '\n' >"$ROOT/sessions/archive/making"
	ws create archive --from "$T/a.tar"
	ws create caller --from "$T/a.tar"
	[ "$(ws exec caller -- hostname)" = left ]
	[ "$(ws exec archive -- hostname)" != left ]
}

@test "a create --from that fails keeps what the caller said for the next try" {
	new_session
	ws export "$ID" --format session -o "$T/a.tar"
	new_root "$T/other"
	mkdir -p "$ROOT/sessions/again" "$ROOT/pools"
	echo '{"sandbox": {"hostname": "mine", "seccomp": "enforce"}, "annotations": {"tenant": "a"}}' \
		>"$ROOT/sessions/again/config.json"
	chmod 500 "$ROOT/pools"
	refute ws create again --from "$T/a.tar"
	chmod 700 "$ROOT/pools"
	ws create again --from "$T/a.tar"
	[ "$(ws exec again -- hostname)" = mine ]
	[ "$(state_of again .annotations.tenant)" = a ]
	[ "$(jq -r .sandbox.seccomp "$ROOT/sessions/again/config.json")" = enforce ]
}

@test "a create --from that is killed leaves nothing that is seen, and the next one sweeps it" {
	local i
	exported
	new_root "$T/other"
	for i in 1 2 3; do
		mkfifo "$T/pipe$i"
		ws_bg x create n1 --from "$T/pipe$i"
		exec 7>"$T/pipe$i"
		head -c $((4000 * i * i)) "$T/a.tar" >&7
		sleep 0.3
		kill -KILL "$BG"
		exec 7>&-
		[ "$(kind_of state n1)" = session-missing ]
	done
	ws create n1 --from "$T/a.tar"
	[ -z "$(ls "$ROOT/tmp")" ]
	[ "$(find "$ROOT/layers" -mindepth 1 -maxdepth 1 | wc -l)" -eq 1 ]
}

@test "a session that is there is not written over" {
	exported
	[ "$(kind_of create "$ID" --from "$T/a.tar")" = session-exists ]
	[ "$(in_session cat src/only)" = only ]
}

@test "thousands of folders deep, names of any bytes, modes and a sparse gigabyte arrive" {
	new_session
	in_session "$PYTHON" -c '
import os, sys
os.makedirs("m/000"); open("m/000/f", "w").write("1"); os.chmod("m/000/f", 0); os.chmod("m", 0)
fd = os.open("sparse", os.O_CREAT | os.O_WRONLY); os.truncate(fd, 1 << 30); os.pwrite(fd, b"mid", 1 << 29)
open(b"\xff\n\"", "w").write("x"); os.mkdir("sg"); os.chmod("sg", 0o2775); open("sg/f", "w")
open(".wh.x", "w").write("no whiteout")
for i in range(int(sys.argv[1])):
    os.mkdir("x"); os.chdir("x")
open("end", "w").write("1")' "$(long 2500 10000)"
	ws diff "$ID" | sha256sum >"$T/want"
	timeout "$((60 * SLOW))" "$WSISO" --root "$ROOT" export "$ID" --format session -o "$T/a"
	new_root "$T/other"
	timeout "$((60 * SLOW))" "$WSISO" --root "$ROOT" create n1 --from "$T/a"
	ws diff n1 | sha256sum | diff "$T/want" -
	cmp "$ROOT/sessions/n1/upper/app/sparse" "$T/root/sessions/$ID/upper/app/sparse"
	[ "$(du -k "$ROOT/sessions/n1/upper/app/sparse" | cut -f1)" -lt 100 ]
	[ "$(stat -c %a "$ROOT/sessions/n1/upper/app/m")" = 0 ]
	[ "$(ws exec n1 -- stat -c %a sg)" = 2775 ]
}

@test "what no archive can stand for is refused: live folders, other modes" {
	need_userns
	mkdir "$T/plain"
	spec "$T/s.json" "$(repo_spec "$T/plain")" '{"snapshots": {"enabled": false}}'
	ws create live --spec "$T/s.json"
	[ "$(kind_of export live --format session -o "$T/f")" = usage ]
	[ ! -e "$T/f" ]
	ws export live --format tar -o "$T/f"
	echo '{"mode": "host_readonly", "host_readonly": {"network": "isolate"}}' >"$T/h.json"
	(cd "$T/plain" && ws create h --spec "$T/h.json")
	[ "$(kind_of export h --format tar)" = usage ]
}

@test "random sessions: archive to a new root, the same tree and diff" {
	local i
	for ((i = 1; i <= $(long 3 200); i++)); do
		mkdir "$T/base"
		"$PYTHON" "$HELPERS/tree_tool.py" make "$T/base" "$i"
		spec "$T/s.json" "$(repo_spec "$T/base" app)"
		ROOT=$T/root
		ws create "r$i" --spec "$T/s.json"
		ws exec -i "r$i" -- sh -c 'cat >/tmp/tool.py' <"$HELPERS/tree_tool.py"
		ws exec "r$i" -- "$PYTHON" /tmp/tool.py change . "$((1000 + i))"
		tree_in "r$i" >"$T/tree"
		ws diff "r$i" >"$T/diff" 2>/dev/null
		ws export "r$i" --format session -o "$T/a"
		ws delete -f "r$i"
		new_root "$T/other$i"
		ws create "r$i" --from "$T/a"
		diff "$T/tree" <(tree_in "r$i") && diff "$T/diff" <(ws diff "r$i" 2>/dev/null) || {
			echo "seed $i"
			return 1
		}
		ws delete -f "r$i"
		rm -rf "$T/base"
	done
}
