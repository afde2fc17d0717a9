#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# merge gives what "git merge" gives, on random histories: edits, adds, deletes, renames,
# modes and types on both sides. Renames are not detected, which git's strategy "ort" cannot
# leave before git 2.50, so "recursive" is asked; files are merged by the diff algorithm
# "myers"; the rest is git's default.
load helpers

setup() {
	ws_setup
	spec "$ROOT/wsiso.json" '{"linger_s": 0, "subagent_isolation": "isolated"}'
	need_userns
	need_program git
}

history() { "$PYTHON" "$HELPERS/merge_history.py" "$@"; }

# history_in ID ARGS...: the same in a session
history_in() {
	local id=$1
	shift
	ws exec -i "$id" -- "$PYTHON" - "$@" <"$HELPERS/merge_history.py"
}

# by_git DIR SEED: DIR is the base; its merge, and $T/{unmerged,git}
by_git() {
	local dir=$1
	hgit init -q "$dir"
	hgit -C "$dir" add -A
	hgit -C "$dir" commit -q -m base
	hgit -C "$dir" checkout -q -b theirs
	history edit "$2" theirs "$dir"
	hgit -C "$dir" add -A
	hgit -C "$dir" commit -q -m theirs
	hgit -C "$dir" checkout -q main
	history edit "$2" ours "$dir"
	hgit -C "$dir" add -A
	hgit -C "$dir" commit -q -m ours
	hgit -C "$dir" merge -q -m merged -s recursive -X no-renames -X diff-algorithm=myers theirs >"$T/git.log" 2>&1 || true
	hgit -C "$dir" ls-files -u -z >"$T/unmerged"
	history list "$dir" >"$T/git"
}

# by_wsiso SEED: of the repo $T/app; $T/{report,ours}
by_wsiso() {
	local status=0 answers=() path LC_ALL=C # a byte that is no character must not eat the NUL
	ws create "p$1" --spec "$T/spec"
	ws create "c$1" --parent "p$1"
	history_in "c$1" edit "$1" theirs /workspace/app
	history_in "p$1" edit "$1" ours /workspace/app
	ws merge "c$1" --json >"$T/report" || status=$?
	if [ "$status" -eq 4 ]; then
		while IFS= read -r -d '' path; do
			answers+=(--resolve "$path=@ours")
		done < <("$PYTHON" -c '
import base64, json, sys
for c in json.load(open(sys.argv[1]))["conflicts"]:
    path = base64.b64decode(c["path_base64"]) if "path_base64" in c else c["path"].encode()
    sys.stdout.buffer.write(path + b"\0")' "$T/report")
		ws merge "c$1" "${answers[@]}" >"$T/second"
	else
		[ "$status" -eq 0 ]
	fi
	history_in "p$1" list /workspace/app >"$T/ours"
	ws delete -f "c$1" && ws delete -f "p$1"
}

# compare SEED: of git and of wsiso, on the base that $T/app is
compare() {
	by_wsiso "$1"
	"$PYTHON" "$HELPERS/merge_equal.py" "$T/report" "$T/unmerged" "$T/git" "$T/ours" || {
		echo "seed $1:"
		cat "$T/git.log"
		jq -c '.conflicts[] | [.path, .kind]' "$T/report"
		return 1
	}
}

each_seed() {
	local n first=${WSISO_SEED:-1} failed=()
	for ((n = first; n < first + $2; n++)); do
		rm -rf "$T/app" "$T/plain" "$T/report" "$T/unmerged" "$T/git" "$T/ours"
		"$1" "$n" || failed+=("$n")
	done
	[ ${#failed[@]} -eq 0 ] || {
		echo "seeds that failed: ${failed[*]}"
		return 1
	}
}

git_history() {
	history base "$1" "$T/app"
	hgit init -q "$T/app"
	hgit -C "$T/app" add -A
	hgit -C "$T/app" commit -q -m base
	cp -a "$T/app" "$T/plain"
	rm -rf "$T/plain/.git"
	by_git "$T/plain" "$1"
	spec "$T/spec" "$(repo_spec "$T/app")"
	compare "$1"
}

plain_history() {
	history base "$1" "$T/app"
	cp -a "$T/app" "$T/plain"
	by_git "$T/plain" "$1"
	spec "$T/spec" '{"repos": [{"name": "app", "path": "'"$T/app"'", "vcs": "none"}]}'
	compare "$1"
}

@test "random histories of a git repo are merged as git merges them" {
	each_seed git_history "$(long 5 300)"
}

@test "random histories of a plain tree are merged as git merges an import of them" {
	each_seed plain_history "$(long 3 100)"
}
