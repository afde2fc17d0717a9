# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# shellcheck disable=SC2016 # what runs in other namespaces, or inside
# Disks that are full, or that an archive or a session would fill.
load helpers

# on_small_disk OPTIONS COMMANDS: there is a tmpfs at $T/small, for these alone
on_small_disk() {
	unshare --user --map-current-user --keep-caps --mount true 2>/dev/null ||
		cannot_run "this user cannot make a mount namespace"
	export -f ws spec kind_of refute real_bwrap small_root
	export T ROOT ID SLOW
	mkdir -p "$T/small"
	unshare --user --map-current-user --keep-caps --mount bash -ec \
		'mount -t tmpfs -o "$1",mode=700 none "$T/small"
		exec setpriv --inh-caps=-all --ambient-caps=-all bash -ec "$2"' - "$@"
}

# small_root [GB]: as COMMANDS: a root on that disk, min_free_gb: GB; a bwrap that is this user's
small_root() {
	cp "$(real_bwrap)" "$T/small/bwrap"
	ROOT=$T/small/root
	mkdir -m 700 "$ROOT"
	spec "$ROOT/wsiso.json" "{\"snapshots\": {\"min_free_gb\": ${1:-0}}, \"bwrap\": {\"path\": \"$T/small/bwrap\"}}"
}

# archive_of COMMANDS: $T/a, of the session in which they ran
archive_of() {
	[ -e "$ROOT/sessions/$ID" ] || new_session
	in_session sh -c "$1"
	ws export "$ID" --format session -o "$T/a"
}

# taken_by_none OPTIONS: by no root on such a disk, of which nothing is used afterwards
taken_by_none() {
	on_small_disk "$1" 'small_root '"${2:-0}"'
		[ "$(kind_of create n1 --from "$T/a")" = disk-full ]
		[ -z "$(ls -A "$ROOT/tmp" "$ROOT/sessions" "$ROOT/layers" 2>/dev/null | grep -v :)" ]'
}

@test "an archive of many bytes, of files, or of pieces of files is refused where there is no room for it" {
	archive_of 'head -c 60000000 /dev/zero >big'
	[ "$(stat -c %s "$T/a")" -lt 1000000 ]
	taken_by_none size=300m
	archive_of 'rm big; for i in $(seq 3000); do : >f$i; done'
	taken_by_none size=700m,nr_inodes=3500
	archive_of "rm f*; $PYTHON -c '
import os
fd = os.open(\"pieces\", os.O_CREAT | os.O_WRONLY)
for i in range(15000):
    os.pwrite(fd, b\"x\", i * 8192)'"
	taken_by_none size=300m
}

@test "an archive takes nothing of what min_free_gb keeps free" {
	archive_of 'head -c 60000000 /dev/zero >big'
	taken_by_none size=700m 0.7
	on_small_disk size=700m 'small_root 0.5
		ws create n1 --from "$T/a"; ws delete -f n1'
}

@test "a disk that fills up under create --from: refused in clear words, and nothing is left" {
	archive_of 'head -c 30000000 /dev/urandom >big'
	mkfifo "$T/pipe"
	on_small_disk size=320m 'small_root
		trap "" PIPE
		ws create n1 --from "$T/pipe" 2>"$T/err" </dev/null &
		exec 7>"$T/pipe"
		head -c 20000000 "$T/a" >&7
		head -c 400000000 /dev/zero >"$T/small/other" 2>/dev/null || true
		tail -c +20000001 "$T/a" >&7 2>/dev/null || true
		exec 7>&-
		refute wait $!
		cat "$T/err"
		grep -q "the archive: .*No space left on device" "$T/err"
		[ -z "$(ls -A "$ROOT/tmp" "$ROOT/sessions" "$ROOT/layers" 2>/dev/null | grep -v :)" ]'
}

@test "a full disk under export: each format says so, and the file that was there stays" {
	local format
	new_session
	in_session sh -c 'git config user.name A; git config user.email a@b
		head -c 3000000 /dev/urandom >big; git add big; git commit -qm big'
	for format in layer tar patch session git-bundle; do
		[ "$(ws --log-format json export "$ID" --format "$format" 2>&1 >/dev/full |
			jq -r 'select(.level == "error").kind')" = disk-full ]
	done
	on_small_disk size=300m 'head -c 45000000 /dev/zero >"$T/small/other"; echo old >"$T/small/f"
		for format in layer tar patch session; do
			[ "$(kind_of export "$ID" --format "$format" -o "$T/small/f")" = disk-full ]
			[ "$(cat "$T/small/f")" = old ]
			[ "$(ls -A "$T/small")" = "$(printf "f\nother")" ]
		done'
}

@test "hard links and small holes fill no disk: room is looked for while it is written" {
	new_session
	in_session sh -c 'head -c 20000000 /dev/urandom >big; for i in $(seq 20); do ln big l$i; done'
	on_small_disk size=350m '[ "$(kind_of export "$ID" --format tar -o "$T/small/f")" = disk-full ]
		[ -z "$(ls -A "$T/small")" ]'
	# each below what a layer's holes may have, all of them far above
	in_session sh -c 'rm -f big l*; for i in $(seq 300); do truncate -s 60M h$i; done'
	timeout "$((20 * SLOW))" "$WSISO" --root "$ROOT" export "$ID" --format layer -o "$T/l"
	[ "$(tar -tvzf "$T/l" | grep -c ' 62914560 .*/h')" -eq 300 ]
	[ "$(stat -c %s "$T/l")" -lt 1000000 ]
}
