#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # bats sets stderr
#
# The remotes of a session's git repository: "host", which is the host's own repository,
# read-only, and those that the host's repository has, without what is secret of them.
load helpers
load create_helpers

@test "the remote host has the host's branches and tags, not the session's own" {
	need_userns
	new_repo "$T/app"
	new_session "$ID" "$(one_repo '{"branch": "made/here"}')"
	[ "$(in_session git branch --show-current)" = made/here ]
	[ "$(in_session git ls-remote --heads --tags host)" = \
		"$(hgit -C "$T/app" ls-remote --heads --tags "$T/app")" ]
	in_session git fetch -q host
	[ "$(in_session git rev-parse host/topic)" = "$(hgit -C "$T/app" rev-parse topic)" ]
}

@test "fetch brings what a later create found on the host, and it can be merged" {
	need_userns
	new_repo "$T/app"
	new_session
	in_session sh -c 'echo mine >mine && git add mine && git commit -qm mine'
	(cd "$T/app" && echo "on the host" >theirs && git add theirs && hgit commit -qm theirs)
	hgit -C "$T/app" branch -D topic
	in_session git fetch -q host
	refute in_session git cat-file -e "host/main:theirs"
	ws create other --spec "$T/$ID.json"
	in_session git fetch -q --prune host
	[ "$(in_session git rev-parse host/main)" = "$(hgit -C "$T/app" rev-parse main)" ]
	refute in_session git rev-parse -q --verify host/topic
	in_session git merge -q -m both host/main
	[ "$(in_session cat theirs mine)" = "$(printf 'on the host\nmine')" ]
}

@test "nothing can be pushed to the host, or written to its objects" {
	local before
	need_userns
	new_repo "$T/app"
	new_session
	before=$(hgit -C "$T/app" for-each-ref; find "$ROOT/pools" -type f | sort)
	in_session sh -c 'echo x >x && git add x && git commit -qm x'
	refute in_session git push -q host HEAD:refs/heads/evil
	refute in_session git push -q --force host HEAD:main
	refute in_session sh -c 'echo x >/run/wsiso/objects/app/packed-refs'
	refute in_session sh -c 'rm -rf /run/wsiso/objects/app'
	refute in_session touch /run/wsiso/objects/app/objects/x /run/wsiso/objects/app/hooks
	[ "$(hgit -C "$T/app" for-each-ref; find "$ROOT/pools" -type f | sort)" = "$before" ]
}

@test "what the host's gc threw away is still in the remote" {
	local id
	need_userns
	new_repo "$T/app"
	id=$(hgit -C "$T/app" rev-parse topic)
	new_session
	hgit -C "$T/app" branch -D topic
	hgit -C "$T/app" reflog expire --expire=now --all
	hgit -C "$T/app" gc -q --prune=now
	in_session git fetch -q host
	[ "$(in_session git rev-parse host/topic)" = "$id" ]
	in_session git log -1 host/topic
}

@test "a remote's branch is switched to and followed as on the host" {
	need_userns
	new_repo "$T/origin"
	hgit clone -q "$T/origin" "$T/app"
	hgit -C "$T/app" remote set-url origin https://user:SECRET@example.org/x.git?t=SECRET
	new_session
	[ "$(in_session git remote | sort | xargs)" = "host origin" ]
	[ "$(in_session git remote get-url origin)" = https://example.org/x.git ]
	[ "$(in_session git rev-parse --abbrev-ref '@{upstream}')" = origin/main ]
	in_session git switch -q topic
	[ "$(in_session git rev-parse HEAD)" = "$(hgit -C "$T/origin" rev-parse topic)" ]
	[[ $(in_session git status) == *"up to date with 'origin/topic'"* ]]
}

@test "of a remote's address only what is no path and no secret comes in" {
	local name want rows url n=0
	need_userns
	new_repo "$T/app"
	rows="https://example.org/a.git|https://example.org/a.git
		https://u:p@example.org:8443/a.git|https://example.org:8443/a.git
		https://token@example.org/a|https://example.org/a
		https://u:p@x@example.org/a#f|https://example.org/a
		ssh://git@example.org/a|ssh://git@example.org/a
		ssh://u:p@example.org/a|ssh://example.org/a
		git@example.org:org/a.git|git@example.org:org/a.git
		u:p@example.org:org/a.git|
		https://u:TOP/SECRET@example.org/a|
		$T/origin|
		file://$T/origin|
		../origin|
		ext::sh -c evil|
		-evil:x|"
	while IFS='|' read -r url want; do
		name=r$((++n))
		hgit -C "$T/app" config "remote.$name.url" "$url"
		hgit -C "$T/app" config "remote.$name.fetch" "+refs/heads/*:refs/remotes/$name/*"
	done < <(printf '%s\n' "$rows" | sed 's/^[[:space:]]*//')
	hgit -C "$T/app" config remote.host.url https://example.org/not-ours
	new_session
	n=0
	while IFS='|' read -r url want; do
		name=r$((++n))
		echo "$url"
		[ "$(in_session git config "remote.$name.url" || true)" = "$want" ]
	done < <(printf '%s\n' "$rows" | sed 's/^[[:space:]]*//')
	[ "$(in_session git config --get-all remote.host.url)" = /run/wsiso/objects/app ]
}

@test "a branch that follows an address, a path or a program does not bring it in" {
	local n=0 value
	need_userns
	new_repo "$T/app"
	for value in https://u:SECRET@example.org/x "$T/SECRET" ../SECRET 'ext::sh -c SECRET' host; do
		hgit -C "$T/app" config "branch.b$((++n)).remote" "$value"
		hgit -C "$T/app" config "branch.b$n.merge" refs/heads/main
	done
	hgit -C "$T/app" config 'remote.https://u:SECRET@example.org/.fetch' '+refs/heads/*:refs/remotes/x/*'
	hgit -C "$T/app" config blame.ignoreRevsFile "$T/SECRET"
	hgit -C "$T/app" config branch.main.remote .
	new_session
	refute in_session grep -r -e SECRET -e "remote = \"host\"" .git
	[ "$(in_session git config branch.main.remote)" = . ]
	in_session git blame README.md
}

@test "a key without a value in the host's config is no trouble" {
	need_userns
	new_repo "$T/app"
	printf '[remote "x"]\n\turl\n[branch "main"]\n\tremote\n[user]\n\tname\n' >>"$T/app/.git/config"
	run --separate-stderr make_session
	[ "$status" -eq 0 ] || [[ "$stderr" == *"the git repository"*"remote.x.url"* ]]
}

@test "a shallow repository's new commits can be fetched, and nothing is broken by it" {
	need_userns
	new_repo "$T/origin"
	hgit clone -q --depth 1 "file://$T/origin" "$T/app"
	new_session
	(cd "$T/origin" && for i in 4 5; do echo "$i" >"$i" && hgit add . && hgit commit -qm "$i"; done)
	(cd "$T/app" && hgit fetch -q --depth 1 && hgit reset -q --hard origin/main)
	ws create other --spec "$T/$ID.json"
	in_session git fetch -q --update-shallow host
	in_session git log --oneline host/main
	in_session git fsck --connectivity-only
	in_session git gc -q
	(cd "$T/app" && hgit fetch -q --unshallow)
	ws create third --spec "$T/$ID.json"
	ws exec third -- git fsck --connectivity-only
}
