#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016 # for the shell inside to expand
# shellcheck disable=SC2154 # bats sets stderr
# shellcheck disable=SC2030,SC2031 # each test has its own USER_HOME
#
# Mode host_readonly on a host with mounts that only root can make; wsiso runs as nobody.
load ../helpers

setup_file() { build_programs silent_fuse; }

setup() {
	[ "$(id -u)" -eq 0 ] || cannot_run "this is not root"
	MOUNTED=()
	SERVERS=()
	# of a folder that nobody can list, as WSISO_TEST_TMP may be, only ways are shown
	WSISO_TEST_TMP=/var/tmp ws_setup
	as_nobody true || cannot_run "setpriv cannot become nobody"
	chown 65534:65534 "$ROOT" "$ROOT/wsiso.json"
	USER_HOME=$T/home
	LAUNCH=$USER_HOME/project
	mkdir -p "$LAUNCH" "$USER_HOME/.ssh" "$USER_HOME/.config/gh" "$USER_HOME/.config/app"
	printf 'SECRET\n' | tee "$USER_HOME/.ssh/id" "$USER_HOME/.config/gh/hosts.yml" >"$USER_HOME/.netrc"
	printf 'fine\n' | tee "$USER_HOME/notes" "$USER_HOME/.config/app/c" >"$LAUNCH/f"
	chown -R 65534:65534 "$USER_HOME"
}

teardown() {
	local dir pid
	ws_delete_all || true
	for pid in "${SERVERS[@]}"; do
		kill -KILL "$pid" 2>/dev/null || true
	done
	for ((i = ${#MOUNTED[@]} - 1; i >= 0; i--)); do
		dir=${MOUNTED[i]}
		umount -l "$dir" || true
	done
	rmdir /tmp/ws-alias.* 2>/dev/null || true
	ws_teardown
}

as_nobody() {
	env -i HOME="${USER_HOME:-/nonexistent}" PATH=/usr/local/bin:/usr/bin:/bin LANG=C.UTF-8 \
		setpriv --reuid=65534 --regid=65534 --clear-groups -- "$@"
}

ws() { as_nobody timeout -k 5 "${WS_TIMEOUT:-60}" "$WSISO" --root "$ROOT" "$@"; }

# mounted ARGS... DIR: mount(8), undone at the end
mounted() {
	mkdir -p "${!#}"
	mount "$@"
	MOUNTED+=("${!#}")
}

# silent DIR [OPTION]: a FUSE mount there whose server does not answer
silent() {
	mkdir -p "$1"
	"$BATS_FILE_TMPDIR/silent_fuse" "$@" >"$T/fuse.log" 2>&1 3>&- </dev/null &
	SERVERS+=("$!")
	wait_for 5 grep -q mounted "$T/fuse.log"
	MOUNTED+=("$1")
	: >"$T/fuse.log"
}

host_session() {
	need_userns
	spec "$T/$ID.json" '{"mode": "host_readonly"}' \
		"$(jq -n --arg dir "$LAUNCH" '{host_readonly: {launch_dir: $dir}}')" "$@"
	chmod 644 "$T/$ID.json"
	ws create "$ID" --spec "$T/$ID.json"
}

no_secret_below() {
	local found
	found=$(in_session sh -c 'grep -rls SECRET "$@"' - "$@") || true
	[ -z "$found" ] || {
		echo "found: $found"
		return 1
	}
}

@test "what is mounted on the host is there, read-only, at every depth" {
	mounted -t tmpfs -o mode=1777 tmpfs "$T/a"
	mounted -t tmpfs -o mode=1777 tmpfs "$T/a/b"
	mounted -t tmpfs -o mode=1777 tmpfs "$T/a/b/c with blank"
	echo fine >"$T/a/b/c with blank/f"
	host_session
	[ "$(in_session cat "$T/a/b/c with blank/f")" = fine ]
	for dir in "$T/a" "$T/a/b" "$T/a/b/c with blank"; do
		as_nobody touch "$dir/host"
		refute in_session touch "$dir/inside"
	done
}

@test "what is mounted on the host later does not appear, on a shared mount either" {
	mounted --bind "$T" "$T/shared"
	mount --make-shared "$T/shared"
	mkdir -m 777 "$T/shared/later"
	host_session
	in_session test -d "$T/shared/later"
	mounted -t tmpfs -o mode=1777 tmpfs "$T/shared/later"
	as_nobody touch "$T/shared/later/f"
	refute in_session test -e "$T/shared/later/f"
	refute in_session touch "$T/shared/later/x"
}

@test "credentials are hidden wherever the host shows the same files" {
	mounted --bind "$USER_HOME" "$T/home2"
	mounted --bind "$USER_HOME/.ssh" "$T/keys"
	mounted --bind "$USER_HOME/.config" "$T/config"
	mounted --bind "$USER_HOME/.config/gh" "$T/gh"
	mounted --bind "$USER_HOME" "$(mktemp -d /tmp/ws-alias.XXXXXX)"
	touch "$T/netrc"
	mount --bind "$USER_HOME/.netrc" "$T/netrc"
	MOUNTED+=("$T/netrc")
	mounted --bind / "$T/all"
	host_session
	no_secret_below "$USER_HOME" "$T/home2" "$T/keys" "$T/gh" "$T/config" "$T/netrc" "${MOUNTED[4]/#\/tmp\//\/tmp/host/}" \
		"$T/all$USER_HOME"
	for dir in "$USER_HOME" "$T/home2" "${MOUNTED[4]/#\/tmp\//\/tmp/host/}" "$T/all$USER_HOME"; do
		[ "$(in_session cat "$dir/notes" "$dir/.config/app/c")" = "$(printf 'fine\nfine')" ]
	done
	[ "$(in_session cat "$T/config/app/c")" = fine ]
	# the state folder, too
	[ -z "$(in_session ls -A "$T/all$ROOT")" ]
}

@test "credentials on a filesystem of their own are hidden at its other mounts" {
	mounted -t tmpfs -o mode=1777 tmpfs "$USER_HOME/.gnupg"
	echo SECRET >"$USER_HOME/.gnupg/k"
	mounted --bind "$USER_HOME/.gnupg" "$T/gnupg"
	host_session
	no_secret_below "$USER_HOME" "$T/gnupg"
}

@test "F012: a launch_dir with mounts in it has no scratch overlay: refused, and fine without" {
	mounted -t tmpfs -o mode=1777 tmpfs "$LAUNCH/data"
	mkdir "$LAUNCH/data/m"
	echo SECRET >"$LAUNCH/data/m/k"
	echo fine >"$LAUNCH/data/f"
	host_session 2>"$T/err" || true
	grep -q "'$LAUNCH/data' is mounted in it" "$T/err"
	[ ! -e "$ROOT/sessions/$ID" ]
	host_session "$(jq -n --arg m "$LAUNCH/data/m" '{host_readonly: {mask: [$m], scratch_overlay: false}}')"
	[ "$(in_session cat data/f)" = fine ]
	refute in_session touch data/x
	no_secret_below "$LAUNCH"
}

@test "a FUSE mount that never answers hangs neither create nor exec nor stop" {
	local began=$SECONDS
	silent "$T/hung" allow_other
	silent "$USER_HOME/hung" allow_other
	WS_TIMEOUT=20 host_session
	[ "$(WS_TIMEOUT=20 in_session cat f "$USER_HOME/notes")" = "$(printf 'fine\nfine')" ]
	WS_TIMEOUT=20 ws stop "$ID"
	[ "$(WS_TIMEOUT=20 in_session cat f)" = fine ]
	[ "$((SECONDS - began))" -lt $((20 * SLOW)) ]
	# where it is shown it hangs who looks, and that one can be ended
	expect_status 124 ws exec --timeout 1 "$ID" -- ls "$T/hung/"
	refute in_session test -e "$USER_HOME/hung"
}

@test "a HOME or a mask on a mount that never answers is refused in time" {
	local began=$SECONDS
	silent "$T/hung" allow_other
	host_session "$(jq -n --arg m "$T/hung/m" '{host_readonly: {mask: [$m]}}')" 2>"$T/err" || true
	grep -q "'$T/hung' does not answer" "$T/err"
	[ ! -e "$ROOT/sessions/$ID" ]
	USER_HOME=$T/hung/home
	host_session 2>"$T/err" || true
	grep -q "'$T/hung' does not answer" "$T/err"
	[ "$((SECONDS - began))" -lt $((25 * SLOW)) ]
}

@test "a credential that is a link into a mount that never answers is refused in time" {
	silent "$T/hung" allow_other
	ln -s "$T/hung/aws" "$USER_HOME/.aws"
	WS_TIMEOUT=20 host_session 2>"$T/err" || true
	grep -q "does not answer" "$T/err"
}

@test "check names the mounts that do not answer" {
	silent "$T/hung" allow_other
	ws check --json >"$T/check.json" || true
	jq -e --arg p "$T/hung" '.. | objects | select(.id? == "mounts")
		| .status == "warning" and (.detail | contains($p))' "$T/check.json"
}

@test "another user's FUSE mount, which nobody else gets to, does not keep the sandbox from starting" {
	silent "$T/theirs"
	host_session
	[ "$(in_session cat f)" = fine ]
	refute in_session ls "$T/theirs/"
}

@test "other users' files are as closed as they are outside" {
	install -m 600 /dev/null "$T/roots"
	echo SECRET >"$T/roots"
	host_session
	refute in_session cat "$T/roots"
	refute in_session cat /etc/shadow
	no_secret_below "$T/roots"
}

# closed_home: HOME and the launch folder are below a folder that can be entered, not listed
closed_home() {
	mkdir "$T/homes"
	mv "$T/home" "$T/homes/me"
	USER_HOME=$T/homes/me
	LAUNCH=$USER_HOME/project
	install -d -o 65534 "$T/homes/other"
	chmod 711 "$T/homes"
}

@test "a HOME below a folder that cannot be listed is there as any other, and nothing beside it" {
	closed_home
	mounted --bind "$T/homes" "$T/alias"
	mounted --bind "$T/homes" "$(mktemp -d /tmp/ws-alias.XXXXXX)"
	host_session
	no_secret_below "$USER_HOME" "$T/homes" "$T/alias/me" "${MOUNTED[1]/#\/tmp\//\/tmp/host/}/me"
	[ "$(in_session cat "$USER_HOME/notes" "$T/alias/me/.config/app/c")" = "$(printf 'fine\nfine')" ]
	[ "$(in_session cat "${MOUNTED[1]/#\/tmp\//\/tmp/host/}/me/notes")" = fine ]
	[ "$(in_session ls "$T/homes")" = me ]
	in_session sh -c 'echo new >f && echo new >g'
	[ "$(in_session cat f g)" = "$(printf 'new\nnew')" ]
	[ "$(cat "$LAUNCH/f")" = fine ]
	refute in_session touch "$T/homes/x"
	refute in_session touch "$USER_HOME/x"
	printf 'SECRET\n' >"$USER_HOME/.git-credentials"
	refute in_session test -e "$USER_HOME/.git-credentials"
}

@test "a launch folder below one that cannot be listed, outside HOME, works, and what is masked in it stays so" {
	local scratch
	install -d -m 711 "$T/srv"
	install -d -o 65534 "$T/srv/work" "$T/srv/work/d"
	LAUNCH=$T/srv/work
	echo fine >"$LAUNCH/f"
	echo SECRET >"$LAUNCH/d/key"
	chown 65534 "$LAUNCH"/*
	for scratch in true false; do
		ID=with-$scratch
		host_session "$(jq -n --argjson scratch $scratch --arg key "$LAUNCH/d/key" \
			'{host_readonly: {scratch_overlay: $scratch, mask: [$key]}}')"
		[ "$(in_session cat f)" = fine ]
		no_secret_below "$LAUNCH"
		[ "$(in_session ls "$T/srv")" = work ]
	done
}

@test "what is masked below a folder that cannot be listed is hidden with it, in the launch folder too" {
	install -d -m 711 "$T/vault" "$LAUNCH/closed"
	echo SECRET | tee "$T/vault/key" >"$LAUNCH/closed/key"
	host_session "$(jq -n --arg a "$T/vault/key" --arg b "$LAUNCH/closed/key" \
		'{host_readonly: {mask: [$a, $b]}}')"
	[ -z "$(in_session cat "$T/vault/key" closed/key)" ]
	[ "$(in_session ls "$T/vault" closed | tr '\n' ' ')" = "$T/vault: key  closed: key " ]
	in_session touch new
}

@test "a launch folder that cannot be listed itself is refused if something in it is to be hidden" {
	install -d -m 711 "$T/srv"
	LAUNCH=$T/srv
	echo SECRET >"$LAUNCH/key"
	run --separate-stderr host_session "$(jq -n --arg key "$LAUNCH/key" '{host_readonly: {mask: [$key]}}')"
	[ "$status" -eq 2 ]
	[[ $stderr == *"it cannot be listed, and '$LAUNCH/key' in it is to be hidden"* ]]
	[[ $stderr == *"host_readonly.scratch_overlay to false"* ]]
}
