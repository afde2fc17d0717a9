#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016 # for the shell inside to expand
#
# What a payload leaves behind for whoever comes next: the next command, the next start, or a
# caller who looks from outside. Each is first left in a folder that bwrap alone has bound,
# where it works.
load helpers
load escape

setup() {
	escape_setup
	mkdir "$T/weak" "$T/outside"
	echo untouched >"$T/outside/file"
}
teardown() { escape_teardown; }

# in_weak SCRIPT ARGS...: with $T/weak as /workspace
in_weak() {
	"$(real_bwrap)" --ro-bind / / --tmpfs /mnt --dev-bind /dev /dev --bind "$T/weak" "$T/weak" \
		--chdir "$T/weak" -- sh -c "$@"
}

outside_untouched() {
	[ "$(ls -A "$T/outside")" = file ]
	[ "$(cat "$T/outside/file")" = untouched ]
	untouched
}

# links out, to be followed; $1 is the secret, $2 the folder outside
PLANT='ln -s "$1" leak; ln -s "$2" out; mkdir -p d; ln -s "$2/new" d/new; ln -s ../../../../../../"$1" up'

# planted_session: $ID with the links everywhere that a command can write
planted_session() {
	local dir
	new_session "$ID" '{"sandbox": {"seccomp": "enforce"}}'
	for dir in /workspace /workspace/app /tmp "$(in_session sh -c 'echo "$HOME"')"; do
		in_session sh -c 'cd "$3" && '"$PLANT" - "$HOME/.ssh/id" "$T/outside" "$dir"
		PLANTED+=("$dir")
	done
}

@test "links out of a session: reading them from outside shows nothing of the host" {
	local dir name
	in_weak "$PLANT" - "$HOME/.ssh/id" "$T/outside"
	[ "$(cat "$T/weak/leak" "$T/weak/up" | sort -u)" = SECRET ]
	[ "$(ls "$T/weak/out/")" = file ]
	planted_session
	for dir in "${PLANTED[@]}"; do
		# what is not a way out can be looked at in these ways
		in_session sh -c 'echo inside >"$1/own"' - "$dir"
		[ "$(ws cat "$ID:$dir/own")" = inside ]
		ws ls "$ID:$dir/" | grep -w own
		ws cp "$ID:$dir/own" "$T/own"
		for name in leak up out/file out/; do
			ws cat "$ID:$dir/$name" >>"$T/read" 2>/dev/null || true
			ws ls "$ID:$dir/$name" >>"$T/listed" 2>/dev/null || true
			ws cp "$ID:$dir/$name" "$T/copied" 2>/dev/null || true
			[ ! -e "$T/copied" ] || [ -L "$T/copied" ] || cat "$T/copied" >>"$T/read"
			rm -rf "$T/copied"
		done
	done
	ws diff "$ID" >"$T/diff"
	refute grep -E 'SECRET|untouched' "$T/read" "$T/listed" "$T/diff"
	refute grep -w file "$T/listed"
	outside_untouched
}

@test "links out of a session: writing through them from outside changes nothing of the host" {
	local dir name
	in_weak "$PLANT" - "$HOME/.ssh/id" "$T/outside"
	echo EVIL >"$T/evil"
	cp "$T/evil" "$T/weak/out/copied"
	echo x >"$T/weak/d/new"
	[ "$(cd "$T/outside" && echo *)" = "copied file new" ]
	rm "$T/outside/copied" "$T/outside/new"
	planted_session
	for dir in "${PLANTED[@]}"; do
		ws cp "$T/evil" "$ID:$dir/own"
		for name in leak out/file out/copied d/new up out/; do
			ws cp "$T/evil" "$ID:$dir/$name" 2>/dev/null || true
		done
	done
	outside_untouched
}

@test "folders replaced by links: the next start, and what it does, stay inside" {
	local dir
	in_weak 'mkdir app && mv app away && ln -s "$1" app' - "$T/outside"
	"$(real_bwrap)" --ro-bind / / --bind "$T/weak/app" /mnt -- touch /mnt/planted
	[ -e "$T/outside/planted" ]
	rm "$T/outside/planted"
	new_session "$ID" '{"sandbox": {"seccomp": "enforce"}}'
	in_session sh -c 'mv /workspace/app /workspace/away && ln -s "$1" /workspace/app
		cd && mkdir -p x && for d in .cache .config .local .ssh; do rm -rf $d; ln -s "$1" $d; done
		rm -rf /tmp/* /tmp/.[!.]* 2>/dev/null; ln -s "$1" /tmp/host; ln -s "$1" /tmp/.X11-unix' - "$T/outside"
	ws stop "$ID"
	for dir in /workspace/app .cache .config .ssh /tmp/host; do
		[ "$(ws exec --cwd /tmp "$ID" -- sh -c 'cd && echo x 2>/dev/null >"$1/planted" ||
			echo refused' - "$dir")" = refused ]
	done
	ws_pty exec -t --cwd /tmp "$ID" -- true
	ws diff "$ID" >/dev/null || true
	ws stop "$ID"
	outside_untouched
}

@test "a hook and a configured command: neither reaches the host's repository, nor runs for a caller" {
	local before plant='cd app && printf "#!/bin/sh\ntouch %s/ran\n" "$1" >.git/hooks/post-checkout &&
		chmod 755 .git/hooks/post-checkout && cp .git/hooks/post-checkout .git/run &&
		git config core.fsmonitor "$PWD/.git/run" && git config core.pager "$PWD/.git/run" &&
		git config filter.x.clean "$PWD/.git/run" && echo "* filter=x" >.gitattributes'
	new_repo "$T/app"
	cp -a "$T/app" "$T/weak/app"
	in_weak "$plant" - "$T/outside"
	hgit -C "$T/weak/app" status >/dev/null 2>&1 || true
	[ -e "$T/outside/ran" ]
	rm "$T/outside/ran"
	before=$(cd "$T/app" && find . -type f -exec sha256sum {} + | sort)
	new_session "$ID" '{"sandbox": {"seccomp": "enforce"}}'
	in_session sh -c "cd /workspace; $plant" - "$T/outside"
	ws diff "$ID" >/dev/null
	ws stop "$ID"
	in_session true
	ws diff "$ID" >/dev/null
	[ "$(cd "$T/app" && find . -type f -exec sha256sum {} + | sort)" = "$before" ]
	hgit -C "$T/app" checkout -q --detach HEAD
	hgit -C "$T/app" status >/dev/null
	outside_untouched
}

@test "the output folder of a run: a link in it, and one in its place, lead nowhere" {
	in_weak 'mkdir sub && rmdir sub && ln -s "$1" sub && ln -s "$1/file" result' - "$T/outside"
	"$(real_bwrap)" --bind / / -- sh -c 'echo EVIL >"$1/weak/result"' - "$T"
	"$(real_bwrap)" --ro-bind / / --bind "$T/weak/sub" /mnt -- touch /mnt/planted
	[ "$(cat "$T/outside/file")" = EVIL ] && [ -e "$T/outside/planted" ]
	echo untouched >"$T/outside/file"
	rm "$T/outside/planted"
	ws run --profile worker --rw "$T/out:/out" -- sh -c 'ln -s "$1" /out/sub; ln -s "$1/file" /out/result' \
		- "$T/outside"
	[ -L "$T/out/sub" ]
	refute ws run --profile worker --rw "$T/out:/out" -- sh -c 'echo EVIL >/out/result' 2>/dev/null
	expect_status 125 ws run --profile worker --rw "$T/out/sub:/out" -- touch /out/planted
	outside_untouched
}

@test "wsiso's own program inside cannot be moved, replaced or written" {
	local before tries='chmod 777 "$1" && echo changed; : >>"$1" && echo opened
		for f in "$1" "$(dirname "$1")"; do
		mv "$f" "$f.away" && echo moved; ln -sf /bin/true "$f.new" && mv -T "$f.new" "$f" && echo replaced
		rm -f "$f" && echo removed; done'
	before=$(sha256sum "$(dirname "$WSISO")"/../libexec/wsiso/* 2>/dev/null || sha256sum "$WSISO")
	mkdir "$T/weak/wsiso"
	touch "$T/weak/wsiso/init"
	in_weak "$tries" - "$T/weak/wsiso/init" >"$T/said" 2>/dev/null || true
	[ "$(sort -u "$T/said" | xargs)" = "changed moved opened removed replaced" ]
	new_session "$ID" '{"sandbox": {"seccomp": "log"}}'
	in_session test -e /run/wsiso/init
	in_session sh -c "$tries" - /run/wsiso/init >"$T/said" 2>/dev/null || true
	[ ! -s "$T/said" ]
	in_session true
	[ "$(sha256sum "$(dirname "$WSISO")"/../libexec/wsiso/* 2>/dev/null || sha256sum "$WSISO")" = "$before" ]
	outside_untouched
}

@test "mounts that a payload makes where it may, under log, are in no other command's sight" {
	may_nest || cannot_run "AppArmor lets no payload mount anything"
	local cover='for d in "$@"; do mount -t tmpfs none "$d" || echo "not $d"; done'
	"$(real_bwrap)" --unshare-user --uid 0 --gid 0 --cap-add ALL --bind / / --tmpfs /mnt -- sh -c \
		"touch /mnt/there; ($cover); ls -A /mnt" - /mnt >"$T/said"
	[ ! -s "$T/said" ]
	new_session "$ID" '{"sandbox": {"seccomp": "log"}}'
	ws exec -d --exec-id bg "$ID" -- unshare -Urm --propagation shared \
		sh -c "$cover; echo mounted; sleep 60" - /workspace /tmp /run/wsiso /etc
	wait_for 5 grep_logs mounted
	refute grep_logs '^not'
	[ "$(in_session cat README.md)" = hello ]
	in_session test -e /run/wsiso/init
	in_session test -e /etc/passwd
	[ "$(ws_pty exec -t "$ID" -- cat README.md | tr -d '\r')" = hello ]
	ws kill "$ID" KILL --exec bg
	outside_untouched
}

grep_logs() { ws logs "$ID" bg 2>&1 | grep -q -- "$1"; }
