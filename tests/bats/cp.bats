# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Files and trees into a session and out of it.
load helpers

setup_file() { build_programs racer; }

hash_of() { sha256sum | cut -d' ' -f1; }

@test "cp brings a file in, and a running command sees it at once (F004)" {
	new_session
	ws exec -d "$ID" -- sh -c 'ls d >/dev/null; until [ -e d/new ]; do sleep 0.1; done; cat d/new >seen; sleep 60' >/dev/null
	echo content | ws cp - "$ID:d/new"
	wait_for 10 in_session grep -q content seen
	[ "$(ws diff "$ID" d)" = "A	d/new" ]
}

@test "cp takes a file out and keeps its mode; into a folder under its name" {
	new_session
	ws cp "$ID:tool.sh" "$T/t"
	cmp "$T/t" "$T/app/tool.sh"
	[ "$(stat -c %a "$T/t")" = 755 ]
	mkdir "$T/dir"
	ws cp "$ID:README.md" "$T/dir"
	[ "$(cat "$T/dir/README.md")" = hello ]
	[ "$(ws cp "$ID:README.md" -)" = hello ]
	[ -z "$(find "$T" -maxdepth 2 -name '.wsiso-*')" ]
}

@test "a file that is there keeps its mode, a new one gets its source's" {
	new_session
	echo '#!/bin/sh' | ws cp - "$ID:tool.sh"
	[ "$(in_session stat -c %a tool.sh)" = 755 ]
	in_session chmod 444 d/f
	echo ro | ws cp - "$ID:d/f"
	[ "$(in_session stat -c %a d/f)" = 444 ]
	echo x | ws cp - "$ID:new"
	[ "$(in_session stat -c %a new)" = 644 ]
	printf x >"$T/x"
	chmod 775 "$T/x"
	ws cp "$T/x" "$ID:d/"
	[ "$(in_session stat -c %a d/x)" = 755 ]
}

@test "between two sessions, and to HOME and /tmp" {
	new_session one
	new_session two
	ws exec one -- sh -c 'echo mine >f; chmod 755 f'
	ws cp one:f two:/tmp/g
	[ "$(ws cat two:/tmp/g)" = mine ]
	[ "$(ws exec two -- stat -c %a /tmp/g)" = 755 ]
}

@test "--if-match writes over what was read, and over nothing else" {
	local hash
	new_session
	hash=$(ws cat "$ID:README.md" | hash_of)
	echo mine | ws cp --if-match "$hash" --json - "$ID:README.md" >"$T/out.json"
	matches_schema file "$T/out.json"
	[ "$(jq -r .sha256 "$T/out.json")" = "$(echo mine | hash_of)" ]
	in_session sh -c 'echo theirs >README.md'
	[ "$(echo again | kind_of cp --if-match "$(jq -r .sha256 "$T/out.json")" - "$ID:README.md")" = stale ]
	expect_status 3 ws cp --if-match "$hash" "$T/out.json" "$ID:README.md"
	[ "$(ws cat "$ID:README.md")" = theirs ]
	expect_status 3 ws cp --if-match "$hash" "$T/out.json" "$ID:not-there"
	expect_status 3 ws cp --if-match none "$T/out.json" "$ID:README.md"
	ws cp --if-match none "$T/out.json" "$ID:not-there"
	expect_status 2 ws cp --if-match xyz "$T/out.json" "$ID:README.md"
}

@test "of many writers with one --if-match, one wins" {
	local hash i
	new_session
	hash=$(ws cat "$ID:README.md" | hash_of)
	for i in 1 2 3 4 5 6; do
		echo "writer $i" >"$T/w$i"
		ws_bg "cp$i" cp --if-match "$hash" "$T/w$i" "$ID:README.md"
	done
	wait
	[ "$(grep -l 'it has changed' "$T"/cp*.err | wc -l)" -eq 5 ]
	[[ "$(ws cat "$ID:README.md")" == "writer "[1-6] ]]
}

@test "a reader never sees a half: the new file comes by rename, and leaves nothing else" {
	new_session
	in_session sh -c 'yes a | head -c 3000000 >f'
	ws exec -d "$ID" -- sh -c 'while :; do s=$(wc -c <f); [ $s = 3000000 ] || echo $s >>bad; done' >/dev/null
	for _ in 1 2 3 4 5 6; do
		yes b | head -c 3000000 | ws cp - "$ID:f"
	done
	in_session test ! -e bad
	[ -z "$(in_session find . -name '.wsiso-*')" ]
}

@test "a copy that is cut off changes nothing" {
	new_session
	mkfifo "$T/in"
	"$WSISO" --root "$ROOT" cp - "$ID:README.md" <"$T/in" >"$T/out" 2>&1 3>&- &
	local pid=$!
	exec 7>"$T/in"
	printf part >&7
	sleep 0.5
	kill -KILL $pid
	wait $pid || true
	exec 7>&-
	[ "$(ws cat "$ID:README.md")" = hello ]
	[ -z "$(ws diff "$ID")" ]
}

@test "links lead where the session sees them, never outside (F050)" {
	new_session
	echo SECRET >"$T/secret"
	in_session sh -c 'ln -s d/f to; ln -s "$0" out; ln -s "$0.new" dangling; ln -s / root; ln -s /tmp t; ln -s /workspace/app/d/x new' "$T/secret"
	echo changed | ws cp - "$ID:to"
	[ "$(ws cat "$ID:d/f")" = changed ]
	in_session test -L to
	echo made | ws cp - "$ID:new"
	[ "$(ws cat "$ID:d/x")" = made ]
	echo tmp | ws cp - "$ID:t/y"
	[ "$(ws cat "$ID:/tmp/y")" = tmp ]
	for path in out dangling "root$T/x" root/usr/x /etc/x /run/x ../../x; do
		run ws cp "$T/secret" "$ID:$path"
		[ "$status" -ne 0 ]
	done
	[ "$(cat "$T/secret")" = SECRET ]
	[ ! -e "$T/secret.new" ]
}

@test "folders, FIFOs and devices are no targets; --parents makes what is missing" {
	new_session
	in_session mkfifo pipe
	expect_status 2 timeout 10 "$WSISO" --root "$ROOT" cp "$T/app/README.md" "$ID:pipe"
	expect_status 2 ws cp "$T/app/README.md" "$ID:d"
	expect_status 1 ws cp "$T/app/README.md" "$ID:a/b/c"
	ws cp -p "$T/app/README.md" "$ID:a/b/c"
	[ "$(ws cat "$ID:a/b/c")" = hello ]
	in_session ln -s /usr esc
	run ws cp -p "$T/app/README.md" "$ID:esc/a/b"
	[ "$status" -ne 0 ]
}

@test "while links are swapped nothing of the host is read or written" {
	local i
	new_session
	echo SECRET >"$T/secret"
	put_program racer
	ws exec -d "$ID" -- /tmp/racer /workspace/app "$T/secret" >/dev/null
	for ((i = 0; i < $(long 20 2000); i++)); do
		timeout 20 "$WSISO" --root "$ROOT" cat "$ID:r$((i % 8))" >>"$T/all" 2>>"$T/err" || true
		timeout 20 "$WSISO" --root "$ROOT" cp "$T/app/README.md" "$ID:rd$T/x" 2>>"$T/err" || true
		timeout 20 "$WSISO" --root "$ROOT" cp "$T/app/README.md" "$ID:r$((i % 8))" 2>>"$T/err" || true
	done
	refute grep -q SECRET "$T/all"
	grep -q harmless "$T/all"
	[ ! -e "$T/x" ]
	[ "$(cat "$T/secret")" = SECRET ]
}

@test "a whole tree goes out and in as a tar stream: the same, byte and mode" {
	new_session
	in_session mkdir tree copy
	ws exec -i "$ID" -- sh -c 'cat >/tmp/tool.py' <"$HELPERS/tree_tool.py"
	in_session python3 /tmp/tool.py make tree 7
	in_session sh -c 'mkfifo tree/pipe; chmod 2750 tree/a || mkdir -m 2750 tree/a; mkdir tree/empty'
	ws cp --tar "$ID:tree" - >"$T/tree.tar"
	mkdir "$T/out"
	tar -C "$T/out" -xpf "$T/tree.tar"
	in_session python3 /tmp/tool.py show tree modes >"$T/want"
	python3 "$HELPERS/tree_tool.py" show "$T/out" modes >"$T/got"
	cmp "$T/want" "$T/got"
	ws cp --tar - "$ID:copy" <"$T/tree.tar"
	in_session python3 /tmp/tool.py show copy modes >"$T/got"
	cmp "$T/want" "$T/got"
	ws cp --tar -p - "$ID:/tmp/new/folder" <"$T/tree.tar"
	[ "$(ws ls --json "$ID:/tmp/new/folder" | jq '.entries | length')" -gt 3 ]
}

@test "a tar stream with paths that lead out stays inside" {
	new_session
	"$PYTHON" - "$T/evil.tar" "$T/planted" <<'PY'
import io, sys, tarfile
with tarfile.open(sys.argv[1], "w") as t:
    def add(name, type=tarfile.REGTYPE, link="", data=b"evil"):
        i = tarfile.TarInfo(name); i.type = type; i.linkname = link
        i.size = len(data) if type == tarfile.REGTYPE else 0
        t.addfile(i, io.BytesIO(data))
    add("../../../../../../.." + sys.argv[2])
    add(sys.argv[2])
    add("l", tarfile.SYMTYPE, "/")
    add("l" + sys.argv[2])
PY
	ws cp --tar - "$ID:d" <"$T/evil.tar" || true
	[ ! -e "$T/planted" ]
}

@test "wrong use is told" {
	new_session
	expect_status 2 ws cp a b
	expect_status 2 ws cp "$T" "$ID:x"
	expect_status 2 ws cp --tar "$ID:d" "$T/x"
	expect_status 2 ws cp --json "$ID:README.md" -
	expect_status 2 ws cp --rescue "$T/app/README.md" "$ID:x"
	expect_status 2 ws cp "$ID:README.md"
	expect_status 2 ws cp "$ID:d" "$T/x"
	[ ! -e "$T/x" ]
	: >"$T/a:b"
	cd "$T"
	ws cp ./a:b "$ID:x"
	expect_status 3 ws cp a:b "$ID:x"
	expect_status 3 ws cp "$T/a:b" nope:x
}

@test "a path on a HOME that is not kept is refused" {
	new_session "$ID" '{"persistent_home": false}'
	run --separate-stderr ws cp "$T/app/README.md" "$ID:$(in_session sh -c 'echo $HOME')/x"
	[ "$status" -eq 2 ]
	# shellcheck disable=SC2154 # made by run
	[[ "$stderr" == *"it is outside"* ]]
}

@test "a session that is blocked is not written to, and --rescue reads it" {
	new_session
	echo kept | ws cp - "$ID:new"
	ws stop -t 0 "$ID"
	jq '.status = "blocked" | .cause = "test"' "$ROOT/sessions/$ID/state.json" >"$T/state"
	cat "$T/state" >"$ROOT/sessions/$ID/state.json"
	[ "$(kind_of cp "$T/state" "$ID:x")" = session-blocked ]
	ws cp --rescue "$ID:new" "$T/new"
	[ "$(cat "$T/new")" = kept ]
}
