#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016 # for the shell inside to expand
# shellcheck disable=SC2154 # bats sets stderr
#
# Field cases that need root to set up, and then run wsiso as somebody else.
load ../helpers

setup() {
	[ "$(id -u)" -eq 0 ] || cannot_run "this is not root"
	ws_setup
	as_nobody true || cannot_run "setpriv cannot become nobody"
	chown 65534:65534 "$ROOT" "$ROOT/wsiso.json"
}

as_nobody() {
	env -i HOME=/nonexistent PATH=/usr/local/bin:/usr/bin:/bin LANG=C.UTF-8 \
		setpriv --reuid=65534 --regid=65534 --clear-groups -- "$@"
}

ws() { as_nobody timeout -k 5 "${WS_TIMEOUT:-60}" "$WSISO" --root "$ROOT" "$@"; }

# what git inside says and does in a session on $T/app
works_inside() {
	[ -z "$(in_session git status --porcelain)" ]
	[ "$(in_session git log --oneline | wc -l)" -eq 3 ]
	in_session sh -c 'echo x >>d/f && touch new src/new && mkdir dir && rm d/g1 && mv src source'
	[ "$(in_session sh -c 'find . -path ./.git -prune -o ! -uid 65534 -print')" = "" ]
	[ "$(in_session sh -c 'find . ! -gid 65534 -print')" = "" ]
	[ "$(in_session git status --porcelain | wc -l)" -ge 4 ]
	in_session git -c user.name=a -c user.email=a@b.c commit -qam inside
	refute in_session git config --get-all safe.directory | refute grep -qxF '*'
}

@test "F073: a repository that belongs to root, readable by all, works and stays as it is" {
	new_repo "$T/app"
	spec "$T/$ID.json" "$SPEC_OPEN" "$(repo_spec "$T/app")"
	chmod 644 "$T/$ID.json"
	find "$T/app" -printf '%P %u %m %T@ %s\n' | sort >"$T/before"
	ws create "$ID" --spec "$T/$ID.json"
	works_inside
	find "$T/app" -printf '%P %u %m %T@ %s\n' | sort | diff "$T/before" -
}

@test "F073: a repository of a group, with files of several owners, works" {
	new_repo "$T/app"
	hgit -C "$T/app" config core.sharedRepository group
	chgrp -R 12345 "$T/app"
	chmod -R g+rwXs "$T/app"
	chown -R 65534 "$T/app/d" "$T/app/.git/objects"
	chown 12345 "$T/app/src/main.c"
	spec "$T/$ID.json" "$SPEC_OPEN" "$(repo_spec "$T/app")"
	chmod 644 "$T/$ID.json"
	ws create "$ID" --spec "$T/$ID.json"
	works_inside
}

@test "F073: a repository that cannot be read is refused with the reason, and nothing is left" {
	new_repo "$T/app"
	chmod 700 "$T/app"
	spec "$T/$ID.json" "$SPEC_OPEN" "$(repo_spec "$T/app")"
	chmod 644 "$T/$ID.json"
	run --separate-stderr ws create "$ID" --spec "$T/$ID.json"
	[ "$status" -ne 0 ]
	[[ "$stderr" == *"$T/app"* ]]
	[[ "$stderr" == *ermission* ]]
	[ ! -e "$ROOT/sessions/$ID/state.json" ]
}

@test "a state folder that belongs to another user is refused" {
	chown 12345 "$ROOT"
	chmod 755 "$ROOT"
	[ "$(kind_of list)" = root-unsafe ]
	[ "$(kind_of exec "$ID" true)" = root-unsafe ]
	chown 65534 "$ROOT"
}

# on_overlay COMMAND: in a namespace where $T/merged, with a root folder, is itself an overlay
on_overlay() {
	mkdir "$T/lower" "$T/up" "$T/work" "$T/merged"
	mkdir -m 700 "$T/up/root"
	chown 65534:65534 "$T/up/root"
	new_repo "$T/app"
	spec "$T/$ID.json" "$SPEC_OPEN" "$(repo_spec "$T/app")"
	chmod 644 "$T/$ID.json"
	unshare -m --propagation private bash -c 'mount -t overlay overlay \
		-o "lowerdir=$1/lower,upperdir=$1/up,workdir=$1/work" "$1/merged" || exit 77
		shift; exec "$@"' mount "$T" \
		setpriv --reuid=65534 --regid=65534 --clear-groups -- env HOME=/nonexistent \
		timeout 60 "$WSISO" --root "$T/merged/root" --log-format json "$@"
}

@test "F013: create on a filesystem that overlayfs refuses fails and names the filesystem" {
	run --separate-stderr on_overlay create "$ID" --spec "$T/$ID.json"
	[ "$status" -ne 77 ] || cannot_run "no overlay can be mounted here"
	[ "$status" -ne 0 ]
	[ "$(jq -r 'select(.level == "error") | .kind' <<<"$stderr")" = overlay-unavailable ]
	jq -r 'select(.level == "error") | .msg' <<<"$stderr" | grep -w overlay
	[ -z "$(find "$T/up/root/sessions" -name state.json)" ]
}

@test "F013: check names the filesystem and what to do" {
	run --separate-stderr on_overlay check --json
	[ "$status" -ne 77 ] || cannot_run "no overlay can be mounted here"
	[ "$status" -eq 1 ]
	[ "$(jq -r '.items[] | select(.id == "overlay") | .status' <<<"$output")" = failed ]
	jq -r '.items[] | select(.id == "overlay") | .remedy' <<<"$output" | grep -q 'local filesystem'
}

@test "F073: a state folder that hands its group down is no trouble" {
	new_repo "$T/app"
	chmod 644 "$T/app"/.git/config
	chown 65534:12345 "$ROOT"
	chmod 2700 "$ROOT"
	mkdir -p "$ROOT/sessions/$ID"
	chown -R 65534:12345 "$ROOT/sessions"
	chmod 2700 "$ROOT/sessions" "$ROOT/sessions/$ID"
	spec "$ROOT/sessions/$ID/config.json" "$SPEC_OPEN" "$(repo_spec "$T/app")"
	chmod 644 "$ROOT/sessions/$ID/config.json"
	ws create "$ID"
	works_inside
	in_session sh -c 'echo x >~/x && echo x >/tmp/x && rm ~/x /tmp/x'
}
