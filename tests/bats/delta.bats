#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # bats sets stderr
#
# A git revision near a kept one stands on that one's files: a delta layer, whose session
# sees what a checkout has.
load helpers
load create_helpers

# a repository of N files, so that a few of them are few
wide_repo() {
	local i
	hgit init -q "$1"
	mkdir "$1/fill"
	for ((i = 0; i < $2; i++)); do echo "$i" >"$1/fill/$i"; done
	commit_all first "$1"
}

# commit_all MESSAGE [DIR]
commit_all() {
	hgit -C "${2:-$T/app}" add -A
	hgit -C "${2:-$T/app}" commit -q --allow-empty -m "$1"
}

session_at() {
	spec "$T/$1.json" "$SPEC_OPEN" "$(one_repo '{"revision": "'"$2"'"}')"
	ws create "$1" --spec "$T/$1.json"
}

kinds_of() { state_of "$1" '.wsiso.stack[]' | sed 's/-.*//' | xargs; }

snapshot_of() { state_of "$1" '.wsiso.snapshots[0].snapshot'; }

# all that a tree is but for times, of the current folder
cat >"$BATS_RUN_TMPDIR/look" <<'S'
tar --sort=name --mtime=@0 --numeric-owner --exclude=./.git -cf - . | sha256sum
S

# as_checkout SESSION REV: equal, clean, and no stat data of the index is stale
as_checkout() {
	local commit
	commit=$(hgit -C "$T/app" rev-parse "$2")
	[ -e "$T/checkout" ] || hgit clone -q -s "$T/app" "$T/checkout"
	hgit -C "$T/checkout" fetch -q
	hgit -C "$T/checkout" checkout -q -f --detach "$commit"
	hgit -C "$T/checkout" clean -qffdx
	(cd "$T/checkout" && sh "$BATS_RUN_TMPDIR/look") >"$T/want"
	ws exec -i "$1" -- sh <"$BATS_RUN_TMPDIR/look" >"$T/got"
	diff "$T/want" "$T/got" || {
		(cd "$T/checkout" && find . -path ./.git -prune -o -printf '%p %y %m %s %l\n' | sort) >"$T/want"
		ws exec "$1" -- find . -path ./.git -prune -o -printf '%p %y %m %s %l\n' | sort | diff "$T/want" -
		return 1
	}
	[ -z "$(ws exec "$1" -- git diff-files)" ]
	[ -z "$(ws exec "$1" -- git status --porcelain)" ]
	[ "$(ws exec "$1" -- git rev-parse HEAD)" = "$commit" ]
}

@test "a revision near a kept one is a delta layer over that one's files" {
	need_userns
	wide_repo "$T/app" 100
	session_at first HEAD
	[ "$(kinds_of first)" = "base index git" ]
	cd "$T/app"
	echo more >>fill/7
	rm fill/8
	mkdir new
	echo new >new/file
	commit_all second
	session_at second HEAD
	[ "$(kinds_of second)" = "base delta index git" ]
	[ "$(state_of second '.wsiso.stack[0]')" = "$(state_of first '.wsiso.stack[0]')" ]
	(cd "$(layer_of delta second)/root/app" && find . ! -name . -printf '%P %y\n' | sort) >"$T/delta"
	diff - "$T/delta" <<<$'fill d\nfill/7 f\nfill/8 c\nnew d\nnew/file f'
	as_checkout second HEAD
	as_checkout first HEAD~
	# one that differs in no file
	commit_all third
	session_at third HEAD
	as_checkout third HEAD
}

@test "whatever changes type, appears, goes or moves: as a checkout has it (random pairs)" {
	local n i deltas=0 depth most=0
	need_userns
	wide_repo "$T/app" 600
	mkdir "$T/app/t"
	python3 "$HELPERS/tree_tool.py" make "$T/app/t" 1
	commit_all base
	session_at r0 HEAD
	n=$(long 6 200)
	for ((i = 1; i <= n; i++)); do
		python3 "$HELPERS/tree_tool.py" change "$T/app/t" "$i"
		commit_all "$i"
		session_at "r$i" HEAD
		depth=$(kinds_of "r$i" | wc -w)
		[ "$depth" -le 12 ]
		[ "$depth" -le "$most" ] || most=$depth
		[[ "$(kinds_of "r$i")" != *delta* ]] || deltas=$((deltas + 1))
		as_checkout "r$i" HEAD || { echo "seed $i"; return 1; }
		# it looks at the index's own checksum and at the trees that it knows
		[ "$i" -lt "$n" ] && [ $((i % 20)) -ne 0 ] || ws exec "r$i" -- git fsck --no-dangling --no-progress
		ws delete -f "r$((i - 1))"
	done
	[ "$deltas" -ge $((n / 2)) ]
	[ "$most" -ge 5 ] # deltas over deltas were among them
}

@test "what is hidden below comes back, and a folder hides what stood there" {
	need_userns
	wide_repo "$T/app" 100
	cd "$T/app"
	mkdir -p a/b
	echo 1 >a/b/c
	echo 2 >a/b/d
	echo 3 >file
	ln -s file link
	commit_all 1
	session_at s1 HEAD
	rm -r a file link
	mkdir file link
	echo x >file/x
	echo y >link/y
	echo now >a
	echo 2 >second # the first is less near to what follows
	commit_all 2
	session_at s2 HEAD
	rm -r a file link
	mkdir -p a/b
	echo e >a/b/e
	ln -s fill file
	commit_all 3
	session_at s3 HEAD
	rm -r a
	commit_all 4
	session_at s4 HEAD
	hgit checkout -q HEAD~3
	echo more >fill/1
	commit_all 5
	session_at s5 HEAD
	[[ "$(kinds_of s4)" = "base delta delta delta index git" ]]
	for i in 1 2 3 4; do as_checkout "s$i" "main~$((4 - i))"; done
	as_checkout s5 HEAD
}

@test "submodules come and go: a folder, as in a checkout" {
	local commit
	need_userns
	wide_repo "$T/app" 100
	cd "$T/app"
	mkdir sub
	echo 1 >sub/file
	commit_all files
	session_at s1 HEAD
	commit=$(hgit rev-parse HEAD)
	hgit rm -rq sub
	hgit update-index --add --cacheinfo "160000,$commit,sub"
	hgit update-index --add --cacheinfo "160000,$commit,other/deep"
	echo 2 >second # the first is less near to what follows
	hgit add second
	hgit commit -qm submodules
	session_at s2 HEAD
	hgit update-index --add --cacheinfo "160000,$(hgit rev-parse HEAD),sub"
	hgit update-index --force-remove other/deep
	hgit commit -qm one
	session_at s3 HEAD
	hgit update-index --force-remove sub
	hgit commit -qm none
	session_at s4 HEAD
	[ "$(kinds_of s4)" = "base delta delta delta index git" ]
	for i in 1 2 3 4; do as_checkout "s$i" "HEAD~$((4 - i))"; done
}

@test "attributes and line ends: one family only, and a change of them is not near" {
	need_userns
	wide_repo "$T/app" 100
	cd "$T/app"
	session_at plain HEAD
	echo '*.txt eol=crlf' >.gitattributes
	commit_all attributes
	session_at attributes HEAD
	[ "$(kinds_of attributes)" = "base index git" ]
	echo line >fill/some.txt
	commit_all text
	session_at text HEAD
	[ "$(kinds_of text)" = "base delta index git" ]
	as_checkout text HEAD
	hgit config core.autocrlf true
	session_at crlf HEAD
	[ "$(kinds_of crlf)" = "base index git" ]
	session_at another HEAD~
	[ "$(kinds_of another)" = "base delta index git" ]
}

@test "a revision that is far away, a private snapshot, another name: a full base" {
	wide_repo "$T/app" 40
	session_at first HEAD
	for i in 1 2 3 4 5 6; do echo changed >"$T/app/fill/$i"; done
	commit_all far
	session_at far HEAD
	[ "$(kinds_of far)" = "base index git" ]
	rm "$T/app/fill/1"
	commit_all near
	spec "$T/own.json" "$(repo_spec "$T/app")" '{"snapshots": {"shared": false}}'
	ws create own --spec "$T/own.json"
	[ "$(kinds_of own)" = "own own git" ]
	spec "$T/named.json" "$(repo_spec "$T/app" other)"
	ws create named --spec "$T/named.json"
	[ "$(kinds_of named)" = "base index git" ]
	session_at near HEAD
	[ "$(kinds_of near)" = "base delta index git" ]
}

@test "a base stays while a delta rests on it, and goes with the last of them" {
	local first second base
	need_userns
	wide_repo "$T/app" 100
	spec "$ROOT/wsiso.json" "$(cat "$ROOT/wsiso.json")" \
		'{"workspace_ttl": 1, "snapshots": {"min_free_gb": 0}}'
	session_at first HEAD
	first=$(snapshot_of first)
	base=$(layer_of base first)
	echo more >>"$T/app/fill/7"
	commit_all second
	session_at second HEAD
	second=$(snapshot_of second)
	expect_status 3 ws snapshot remove "$first" 2>"$T/err"
	grep -q 'used by first, second' "$T/err"
	ws delete -f first
	sleep 1.1
	ws gc
	[ ! -e "$ROOT/snapshots/$first.json" ]
	[ -e "$base/root/app/fill/1" ]
	as_checkout second HEAD
	# with neither snapshot nor session at it, what is left of the first is the second's
	ws delete -f second
	ws snapshot list --json >"$T/list.json"
	[ "$(jq -r '.[].key' "$T/list.json")" = "$second" ]
	[ "$(jq '.[0].own_bytes > 400000' "$T/list.json")" = true ]
	sleep 1.1
	ws gc
	[ ! -e "$base" ]
	[ -z "$(ls "$ROOT/layers")" ]
}

@test "remove leaves the layers that a delta rests on, and takes them with the last" {
	wide_repo "$T/app" 100
	session_at first HEAD
	echo more >>"$T/app/fill/7"
	commit_all second
	spec "$T/spec.json" "$(repo_spec "$T/app")"
	ws snapshot create --spec "$T/spec.json" >"$T/second"
	ws snapshot list --json >"$T/list.json"
	[ "$(jq --arg k "$(cat "$T/second")" '.[] | select(.key == $k).shared_bytes > 400000' "$T/list.json")" = true ]
	ws delete -f first
	ws snapshot remove "$(ws snapshot list -q | grep -v -F -f "$T/second")"
	[ "$(find "$ROOT/layers" -mindepth 1 -maxdepth 1 | wc -l)" -eq 3 ]
	ws snapshot remove "$(cat "$T/second")"
	[ -z "$(ls "$ROOT/layers")" ]
}

@test "many creates at near revisions at once, beside a gc that removes what is free" {
	local i n=6 pids=()
	need_userns
	wide_repo "$T/app" 100
	spec "$ROOT/wsiso.json" "$(cat "$ROOT/wsiso.json")" \
		'{"workspace_ttl": 1, "snapshots": {"min_free_gb": 0}}'
	for ((i = 0; i < n; i++)); do
		echo "$i" >"$T/app/fill/$i"
		commit_all "$i"
		spec "$T/c$i.json" "$SPEC_OPEN" "$(one_repo '{"revision": "'"$(hgit -C "$T/app" rev-parse HEAD)"'"}')"
	done
	ws snapshot create --spec "$T/c0.json"
	for ((i = 0; i < n; i++)); do
		ws_bg "c$i" create "c$i" --spec "$T/c$i.json"
		pids+=("$BG")
		ws gc >"$T/gc" || true
	done
	for i in "${pids[@]}"; do wait "$i"; done
	for ((i = 0; i < n; i++)); do as_checkout "c$i" "HEAD~$((n - 1 - i))"; done
}

@test "a few files are synced by themselves: nobody waits for what others write" {
	need_program strace
	wide_repo "$T/app" 600
	spec "$T/spec.json" "$(repo_spec "$T/app")"
	traced() {
		ASAN_OPTIONS=detect_leaks=0 strace -qq -f -o "$T/calls" -e trace=syncfs,fsync \
			"$WSISO" --root "$ROOT" snapshot create --spec "$T/spec.json"
	}
	traced
	grep -q ' syncfs(' "$T/calls"
	echo more >>"$T/app/fill/7"
	commit_all near
	traced
	refute grep -q ' syncfs(' "$T/calls"
	# the file, its folders, the index and what else a git dir has, the records
	[ "$(grep -c ' fsync(' "$T/calls")" -ge 20 ]
}
