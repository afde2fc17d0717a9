# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# shellcheck disable=SC2154 # bats sets stderr
# What a session changed, and what it holds, as files that other programs take.
load helpers

# tree_in ID: all of /workspace as the session's commands see it
tree_in() {
	ws exec -i "$1" -- sh -c 'cat >/tmp/tool.py' <"$HELPERS/tree_tool.py"
	ws exec "$1" -- "$PYTHON" /tmp/tool.py show /workspace modes
}

tree_of() { "$PYTHON" "$HELPERS/tree_tool.py" show "$1" modes; }

# one with a change of each kind
busy_session() {
	new_session
	in_session sh -c 'echo more >>README.md; echo x >new; rm d/g1; chmod 700 tool.sh d
		rm link; echo file >link; mv src/deep/er/file src/found; rm -r src/deep; mkdir -p e/mpty
		ln -s /etc/passwd out; mkfifo pipe; touch "ä" "$(printf "n\377")" "a
b"; rm "with blank"; mkdir "with blank"; echo >"with blank/f"; git add -A; git commit -qm x'
	in_session sh -c 'rm -r src; mkdir -m 750 src; echo only >src/only; ls -d .git >/dev/null'
}

# unpack_image IMAGE TO: the rootfs that umoci makes of it
unpack_image() { umoci unpack --rootless --image "$1:t" "$2" >"$T/umoci.log" 2>&1 || { cat "$T/umoci.log"; return 1; }; }

@test "a layer over the base is what the session shows, says umoci" {
	need_program umoci
	new_session base
	busy_session
	ws export base --format tar -o "$T/base.tar"
	ws export "$ID" --format layer -o "$T/layer.gz"
	"$PYTHON" "$HELPERS/oci_tool.py" "$T/image" "$T/base.tar" "$T/layer.gz"
	unpack_image "$T/image" "$T/out"
	diff <(tree_in "$ID") <(tree_of "$T/out/rootfs/workspace")
}

@test "a zstd layer is taken by skopeo, and is the same" {
	need_program skopeo zstd
	new_session base
	busy_session
	ws export base --format tar -o "$T/base.tar"
	ws export "$ID" --format layer --compress zstd -o "$T/layer.zst"
	"$PYTHON" "$HELPERS/oci_tool.py" "$T/image" "$T/base.tar" "$T/layer.zst"
	skopeo --insecure-policy copy -q "oci:$T/image:t" "dir:$T/dir" --dest-decompress
	cmp "$T/dir/$(jq -r '.layers[1].digest' "$T/dir/manifest.json" | sed 's/sha256://')" \
		<(zstd -dcq "$T/layer.zst")
	zstd -dcq "$T/layer.zst" >"$T/zstd.tar"
	ws export "$ID" --format layer --compress none -o "$T/none.tar"
	cmp "$T/zstd.tar" "$T/none.tar"
}

@test "tar is the view: GNU tar and bsdtar unpack the same tree" {
	need_program bsdtar
	busy_session
	ws export "$ID" --format tar >"$T/view.tar"
	mkdir "$T/gnu" "$T/bsd"
	tar -C "$T/gnu" -xpf "$T/view.tar" 2>/dev/null
	bsdtar -C "$T/bsd" -xpf "$T/view.tar"
	tree_in "$ID" >"$T/want"
	diff "$T/want" <(tree_of "$T/gnu/workspace")
	diff "$T/want" <(tree_of "$T/bsd/workspace")
	[ ! -e "$T/gnu/workspace/app/.git" ]
}

@test "a patch is what diff prints, and git apply makes the same tree of it" {
	new_session
	in_session sh -c 'echo more >>README.md; printf "\0\1" >bin; rm d/g1; mv d/k d/k2; ln -sf d/f link'
	ws export "$ID" --format patch -o "$T/p"
	cmp "$T/p" <(ws diff "$ID" --format patch)
	hgit -C "$T/app" apply "$T/p"
	diff <(tree_of "$T/app") <(cd "$T" && ws export "$ID" --format tar | tar -x && tree_of workspace/app)
}

@test "the same session gives the same bytes, whatever is between" {
	busy_session
	ws export "$ID" --format layer >"$T/1"
	sleep 1.1
	ws export "$ID" --format layer -o "$T/2"
	cmp "$T/1" "$T/2"
	ws export "$ID" --format tar --compress zstd >"$T/1"
	ws export "$ID" --format tar --compress zstd >"$T/2"
	cmp "$T/1" "$T/2"
}

@test "an unchanged session has an empty layer and an empty patch" {
	new_session
	[ -z "$(ws export "$ID" --format patch)" ]
	[ "$(ws export "$ID" --format layer | tar -tzf -)" = workspace/ ]
}

@test "a child's layer is what it has changed, its parent's edits are below it" {
	new_session p '{"subagent_isolation": "isolated"}'
	ws exec p -- sh -c 'echo p >p; rm d/f'
	ws create "$ID" --parent p
	ws exec "$ID" -- sh -c 'echo c >c; rm p'
	[ "$(ws export "$ID" --format layer | tar -tzf - | grep -v '/$')" = "$(printf 'workspace/app/%s\n' .wh.p c)" ]
	ws export "$ID" --format tar | tar -tf - >"$T/list"
	grep -qx workspace/app/c "$T/list"
	refute grep -qx -e workspace/app/p -e workspace/app/d/f "$T/list"
}

@test "--repo picks one of several, and what lies beside them is not asked for" {
	need_userns
	new_repo "$T/app"
	new_repo "$T/lib"
	spec "$T/s.json" "$(jq -n --arg a "$T/app" --arg b "$T/lib" \
		'{repos: [{name: "app", path: $a}, {name: "lib", path: $b}]}')"
	ws create "$ID" --spec "$T/s.json"
	in_session sh -c 'echo x >app/new; echo x >lib/new; echo x >beside'
	[ "$(ws export "$ID" --format layer --repo lib | tar -tzf - | grep -v '/$')" = workspace/lib/new ]
	ws export "$ID" --format tar --repo lib | tar -tf - >"$T/list"
	refute grep -qv '^workspace/\(lib/\|$\)' "$T/list"
	[ "$(ws export "$ID" --format patch --repo lib | sed -n 's/^+++ b.//p')" = new ]
	[ "$(kind_of export "$ID" --format tar --repo none)" = usage ]
}

@test "JSON says what was written, as its schema has it" {
	busy_session
	in_session sh -c '/usr/bin/python3 -c "import socket; socket.socket(socket.AF_UNIX).bind(\"sock\")"; touch .wh.x'
	expect_status 1 ws export "$ID" --format layer -o "$T/l" --json >"$T/json" 2>"$T/err"
	matches_schema export "$T/json"
	[ "$(jq -r .sha256 "$T/json")" = "$(sha256sum <"$T/l" | cut -d' ' -f1)" ]
	[ "$(jq -r .size "$T/json")" = "$(stat -c %s "$T/l")" ]
	[ "$(jq -r .media_type "$T/json")" = application/vnd.oci.image.layer.v1.tar+gzip ]
	[ "$(jq -r '.left_out[] | select(.lost) | .path' "$T/json")" = workspace/app/.wh.x ]
	[ "$(jq -r '.left_out[] | select(.lost | not) | .path' "$T/json")" = workspace/app/sock ]
	grep -q 'leaves out workspace/app/sock: it is a socket' "$T/err"
	ws export "$ID" --format patch -o "$T/p" --json >"$T/json" 2>/dev/null || [ $? -eq 1 ]
	matches_schema export "$T/json"
	jq '.left_out[0].lost = "no"' "$T/json" >"$T/wrong"
	refute matches_schema export "$T/wrong"
}

@test "a file is written whole or not at all, for its owner alone" {
	new_session
	echo old >"$T/f"
	# the reader of the pipe, and the disk, may fail at any byte
	in_session sh -c 'head -c 3000000 /dev/urandom >big'
	run --separate-stderr bash -c "ulimit -f 1000; trap '' XFSZ; exec \"$WSISO\" --root \"$ROOT\" export $ID --format tar -o $T/f"
	[ "$status" -eq 1 ]
	[ "$(cat "$T/f")" = old ]
	[ -z "$(find "$T" -maxdepth 1 -name '.wsiso-*')" ]
	ws export "$ID" --format tar -o "$T/f"
	[ "$(stat -c %a "$T/f")" = 600 ]
	tar -tf "$T/f" >/dev/null
}

@test "a terminal, a folder and wrong words are refused" {
	new_session
	run ws_pty export "$ID" --format layer
	[[ "$output" == *"does not go to a terminal"* ]]
	[ "$(kind_of export "$ID")" = usage ]
	[ "$(kind_of export "$ID" --format zip)" = usage ]
	[ "$(kind_of export "$ID" --format tar --compress xz)" = usage ]
	[ "$(kind_of export "$ID" --format patch --compress gzip)" = usage ]
	[ "$(kind_of export "$ID" --format tar -o "$T")" = usage ]
	[ "$(kind_of export "$ID" --format tar --json)" = usage ]
	[ "$(kind_of export none --format tar)" = session-missing ]
}

@test "no bwrap is needed, nor a session that can start" {
	new_session
	in_session sh -c 'echo x >new'
	ws stop "$ID"
	fake_bwrap 'exit 1'
	ws export "$ID" --format layer | tar -tzf - | grep -qx workspace/app/new
	ws export "$ID" --format patch | grep -qx '+++ b/new'
}

@test "running commands are told of, and the file is written all the same" {
	new_session
	ws exec -d "$ID" -- sleep 60
	run --separate-stderr ws export "$ID" --format tar -o "$T/f"
	[ "$status" -eq 0 ]
	[[ "$stderr" == *"commands of session '$ID' were running"* ]]
	tar -tf "$T/f" >/dev/null
}

# needs PROGRAM: the libraries that it names itself, those of a sanitizer aside
needs() {
	readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\([a-z0-9]*\)\..*\]/\1/p' |
		grep -vxE 'libm|libdl|librt|libpthread|libgcc_s|libresolv|libstdc|lib[a-z]*san' | sort | tr '\n' ' '
}

@test "wsiso needs libc and libyajl alone, and each helper has its one library" {
	local libexec
	need_program readelf
	libexec=$(ws features | jq -r .libexec)
	[ "$(needs "$WSISO")" = 'libc libyajl ' ]
	[ "$(needs "$libexec/wsiso-archive")" = 'libarchive libc ' ]
	[ "$(needs "$libexec/wsiso-git")" = 'libc libgit2 ' ]
	[ -z "$(needs "$libexec/wsiso-init")" ]
}

@test "the helper serves nobody else" {
	local helper
	helper=$(ws features | jq -r .libexec)/wsiso-archive
	run -1 "$helper" </dev/null
	[[ "$output" == *"serves wsiso alone"* ]]
	run -1 "$helper" write gzip </dev/null
	run -1 "$helper" read </dev/null
}

@test "the helper has nothing but its descriptors: no file, no program, few system calls" {
	local helper pid
	helper=$(ws features | jq -r .libexec)/wsiso-archive
	if grep -q __asan_init "$helper"; then skip "not with the sanitizers, which need more"; fi
	mkfifo "$T/in"
	"$helper" read <"$T/in" >"$T/out" 2>&1 3>&- &
	pid=$!
	exec 7>"$T/in"
	printf x >&7
	wait_for 5 grep -q '^Seccomp:.*2' "/proc/$pid/status"
	grep -q '^NoNewPrivs:.*1' "/proc/$pid/status"
	grep -q '^Max open files  *0  *0 ' "/proc/$pid/limits"
	exec 7>&-
	refute wait "$pid"
	grep -q '^io read the archive: ' "$T/out"
}

@test "random changes: a layer over the base is the same tree, byte and mode" {
	local i
	need_program umoci
	for ((i = 1; i <= $(long 3 200); i++)); do
		mkdir "$T/base"
		"$PYTHON" "$HELPERS/tree_tool.py" make "$T/base" "$i"
		spec "$T/s.json" "$(repo_spec "$T/base" app)"
		ws create "r$i" --spec "$T/s.json"
		ws export "r$i" --format tar -o "$T/base.tar"
		ws exec -i "r$i" -- sh -c 'cat >/tmp/tool.py' <"$HELPERS/tree_tool.py"
		ws exec "r$i" -- "$PYTHON" /tmp/tool.py change . "$((1000 + i))"
		ws export "r$i" --format layer -o "$T/layer.gz"
		"$PYTHON" "$HELPERS/oci_tool.py" "$T/image" "$T/base.tar" "$T/layer.gz"
		unpack_image "$T/image" "$T/out"
		diff <(tree_in "r$i") <(tree_of "$T/out/rootfs/workspace") || {
			echo "seed $i"
			return 1
		}
		ws delete -f "r$i"
		ws_remove "$T/out"
		rm -rf "$T/image" "$T/base"
	done
}

@test "random changes: a patch makes the same tree of a fresh session, byte and mode" {
	local i
	for ((i = 1; i <= $(long 3 200); i++)); do
		mkdir "$T/base"
		"$PYTHON" "$HELPERS/tree_tool.py" make "$T/base" "$i"
		spec "$T/s.json" "$(repo_spec "$T/base" app)"
		ws create "r$i" --spec "$T/s.json"
		ws create "f$i" --spec "$T/s.json"
		ws exec -i "r$i" -- sh -c 'cat >/tmp/tool.py' <"$HELPERS/tree_tool.py"
		ws exec "r$i" -- "$PYTHON" /tmp/tool.py change . "$((1000 + i))"
		ws export "r$i" --format patch 2>/dev/null >"$T/p"
		[ ! -s "$T/p" ] || ws exec -i "f$i" -- git apply --whitespace=nowarn - <"$T/p"
		# git knows of modes whether a file is executable, and no empty folder
		diff <(tree_in "r$i" | grep -v '^other') <(tree_in "f$i" | grep -v '^other') || {
			echo "seed $i"
			return 1
		}
		ws delete -f "r$i"
		ws delete -f "f$i"
		rm -rf "$T/base"
	done
}

@test "a bundle has the session's commits, written inside, and the host's git takes it" {
	new_session
	[ "$(kind_of export "$ID" --format git-bundle -o "$T/b")" = repo-unusable ]
	in_session sh -c 'git config user.name A; git config user.email a@b; echo x >new; git add new; git commit -qm mine
		git checkout -qb side; echo y >side; git add side; git commit -qm side; git checkout -q main'
	ws export "$ID" --format git-bundle -o "$T/b" --json >"$T/json"
	matches_schema export "$T/json"
	hgit -C "$T/app" bundle verify -q "$T/b"
	hgit -C "$T/app" -c fetch.fsckObjects=true fetch -q --no-tags "$T/b" main:refs/agents/one
	[ "$(hgit -C "$T/app" rev-parse refs/agents/one)" = "$(in_session git rev-parse main)" ]
	ws export "$ID" --format git-bundle --ref side --base main >"$T/b2"
	[ "$(hgit -C "$T/app" bundle list-heads "$T/b2" | cut -d' ' -f2)" = refs/heads/side ]
	hgit -C "$T/app" fetch -q --no-tags "$T/b2" side:refs/agents/side
	ws export "$ID" --format git-bundle --base none -o "$T/b3"
	hgit clone -q "$T/b3" "$T/clone"
	[ "$(hgit -C "$T/clone" rev-list --count HEAD)" -eq 4 ]
	for bad in --all -x ../x 'a b'; do
		[ "$(kind_of export "$ID" --format git-bundle --ref="$bad" -o "$T/x")" = usage ]
		[ "$(kind_of export "$ID" --format git-bundle --base="$bad" -o "$T/x")" != internal ]
	done
	[ "$(kind_of export "$ID" --format git-bundle --ref nope -o "$T/x")" = repo-unusable ]
	[ "$(kind_of export "$ID" --format tar --ref main -o "$T/x")" = usage ]
	[ ! -e "$T/x" ]
}

@test "a bundle is made inside alone: no program of the session runs on the host, and none without bwrap (F027)" {
	new_session
	in_session sh -c 'printf "#!/bin/sh\ntouch %s/mark; touch /workspace/inside\nexec \"\$@\"\n" "$0" >/workspace/evil; chmod 755 /workspace/evil
		git config user.name A; git config user.email a@b; echo x >new; git add new; git commit -qm mine
		for k in core.fsmonitor core.hooksPath uploadpack.packObjectsHook core.sshCommand; do git config $k /workspace/evil; done
		git config alias.bundle "!/workspace/evil"' "$T"
	ws export "$ID" --format git-bundle -o "$T/b"
	[ ! -e "$T/mark" ]
	ws stop "$ID"
	fake_bwrap 'exit 1'
	refute ws export "$ID" --format git-bundle -o "$T/c" 2>/dev/null
	[ ! -e "$T/c" ]
}
