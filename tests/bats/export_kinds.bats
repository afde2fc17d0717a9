# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sessions of every kind, carried away and taken; and deaths on the way.
load helpers

tree_in() {
	ws exec -i "$1" -- sh -c 'cat >/tmp/tool.py' <"$HELPERS/tree_tool.py"
	ws exec "$1" -- "$PYTHON" /tmp/tool.py show /workspace modes
}

at_root() { ROOT=$1; }

# travels ID: to another root, where it shows the same tree and the same changes
travels() {
	tree_in "$1" >"$T/tree"
	ws diff "$1" >"$T/diff"
	ws export "$1" --format session -o "$T/a"
	new_root "$T/root-$1"
	ws create n --from "$T/a"
	diff "$T/tree" <(tree_in n)
	diff "$T/diff" <(ws diff n)
	at_root "$T/root"
}

# layer_shows ID TAR: over that tree the layer of ID is what ID shows
layer_shows() {
	ws export "$1" --format layer -o "$T/layer.gz"
	rm -rf "$T/image"
	"$PYTHON" "$HELPERS/oci_tool.py" "$T/image" "$2" "$T/layer.gz"
	umoci unpack --rootless --image "$T/image:t" "$T/out-$1" >"$T/umoci.log" 2>&1
	diff <(tree_in "$1") <("$PYTHON" "$HELPERS/tree_tool.py" show "$T/out-$1/rootfs/workspace" modes)
	ws_remove "$T/out-$1"
}

@test "svn, git and a plain tree in one session: layer and archive are what it shows" {
	need_userns
	need_program svn svnadmin umoci
	local url=file://$T/svn
	svnadmin create "$T/svn"
	mkdir -p "$T/import/d" "$T/plain/e"
	echo one | tee "$T/import/f" "$T/import/d/g" "$T/plain/p" >"$T/plain/e/q"
	svn --non-interactive --config-dir "$T/hsvn" import -q -m start "$T/import" "$url"
	new_repo "$T/app"
	spec "$T/s.json" "$(jq -n --arg t "$T" --arg u "$url" '{repos: [{name: "app", path: ($t + "/app")},
		{name: "plain", path: ($t + "/plain")}, {name: "wc", path: $u, vcs: "svn"}]}')"
	ws create base --spec "$T/s.json"
	ws create "$ID" --spec "$T/s.json"
	in_session sh -c 'cd /workspace; echo 2 >>wc/f; rm -r wc/d; echo new >wc/d; rm plain/p; mkdir plain/p
		echo x >plain/p/x; chmod 600 app/README.md; mv app/d wc/moved; echo beside >beside'
	ws export base --format tar -o "$T/base.tar"
	layer_shows "$ID" "$T/base.tar"
	travels "$ID"
}

@test "a parent after a merge, its child, and a second name travel as they are" {
	need_program umoci
	new_session base
	new_session p '{"subagent_isolation": "isolated"}'
	ws exec p -- sh -c 'echo p >p; rm d/f'
	ws create c --parent p
	ws export base --format tar -o "$T/base.tar"
	ws export p --format tar -o "$T/p.tar"
	ws exec c -- sh -c 'echo c >c; rm -r src; echo more >>README.md'
	ws exec p -- sh -c 'echo later >later'
	layer_shows c "$T/p.tar"
	ws merge c
	layer_shows p "$T/base.tar"
	travels p
	travels c
	new_session s
	ws create alias --parent s
	ws exec alias -- sh -c 'echo a >a'
	travels alias
}

@test "a zstd layer, through skopeo and umoci, is over its base what the session shows" {
	need_program skopeo umoci zstd
	new_session base
	new_session
	in_session sh -c 'echo more >>README.md; rm d/g1; rm -r src; mkdir -m 750 src; echo only >src/only; ln -s /etc out'
	ws export base --format tar -o "$T/base.tar"
	ws export "$ID" --format layer --compress zstd -o "$T/layer.zst"
	"$PYTHON" "$HELPERS/oci_tool.py" "$T/image" "$T/base.tar" "$T/layer.zst"
	skopeo --insecure-policy copy -q "oci:$T/image:t" "dir:$T/dir" --dest-decompress
	skopeo --insecure-policy copy -q "dir:$T/dir" "oci:$T/plain:t"
	umoci unpack --rootless --image "$T/plain:t" "$T/out" >"$T/umoci.log" 2>&1 || { cat "$T/umoci.log"; return 1; }
	diff <(tree_in "$ID") <("$PYTHON" "$HELPERS/tree_tool.py" show "$T/out/rootfs/workspace" modes)
}

@test "a folder that nobody may write to is carried, be it the topmost" {
	new_session
	in_session sh -c 'echo x >~/f; mkdir d2; chmod 500 ~; chmod 555 d2 . ..'
	travels "$ID"
	at_root "$T/root-$ID"
	[ "$(ws exec n -- sh -c 'cd /workspace; stat -c %a . app app/d2 ~; cat ~/f')" = "$(printf '555\n555\n555\n500\nx')" ]
	at_root "$T/root"
	in_session sh -c 'chmod 755 .. . d2; chmod 700 ~'
}

@test "create --from that is killed at any moment: there is all of it or nothing, and gc frees the rest" {
	local i made=0 start took
	new_session
	in_session sh -c 'echo x >new; seq 100000 >big; for i in $(seq 200); do echo $i >f$i; done'
	ws export "$ID" --format session -o "$T/a"
	new_root "$T/other" '{"snapshots": {"min_free_gb": 0}}'
	start=$(date +%s%3N)
	ws create n1 --from "$T/a"
	took=$(($(date +%s%3N) - start))
	ws delete -f n1
	for ((i = 0; i < $(long 8 200); i++)); do
		ws_bg x create n1 --from "$T/a"
		sleep "$(printf '%d.%03d' $((took * (i % 8 + 1) / 8000)) $((took * (i % 8 + 1) / 8 % 1000)))"
		kill -KILL "$BG" 2>/dev/null || true
		wait "$BG" 2>/dev/null || true
		if [ "$(kind_of state n1)" != session-missing ]; then
			ws exec n1 -- grep -qx 200 f200
			made=$((made + 1))
			ws delete -f n1
		fi
		# it may have been made, and killed before its scratch folder was gone
		ws gc >/dev/null
		[ -z "$(find "$ROOT"/tmp "$ROOT"/layers "$ROOT"/trash -mindepth 1 2>/dev/null)" ] || {
			find "$ROOT"/tmp "$ROOT"/layers "$ROOT"/trash -mindepth 1 -maxdepth 2
			return 1
		}
	done
	echo "made $made of $i"
	# of pools nobody knows whether a create is on its way to its first snapshot: for a day
	find "$ROOT/pools" -mindepth 1 -maxdepth 1 -exec touch -d '2 days ago' {} +
	ws gc >/dev/null
	[ -z "$(find "$ROOT/pools" -mindepth 1 -name '*.git')" ]
}

@test "an export that is ended leaves nothing beside its file, and the file as it was" {
	local signal
	new_session
	in_session sh -c 'head -c 30000000 /dev/urandom >big'
	mkdir "$T/to"
	echo old >"$T/to/f"
	for signal in TERM HUP KILL; do
		ws_bg x export "$ID" --format layer -o "$T/to/f"
		sleep 0.2
		kill -"$signal" "$BG"
		refute wait "$BG"
		[ "$(ls -A "$T/to")" = f ]
		[ "$(cat "$T/to/f")" = old ]
	done
}

@test "a create --from that fails at its last step leaves nothing, its objects neither" {
	new_session
	ws export "$ID" --format session -o "$T/a"
	new_root "$T/other"
	mkdir -p "$ROOT/pools"
	chmod 500 "$ROOT/pools"
	[ "$(kind_of create n1 --from "$T/a")" = io ]
	chmod 700 "$ROOT/pools"
	[ -z "$(find "$ROOT"/{tmp,layers,pools,sessions} -mindepth 1 2>/dev/null)" ]
	ws create n1 --from "$T/a"
}
