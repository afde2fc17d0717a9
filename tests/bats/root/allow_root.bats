#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016 # for the shell inside to expand
# shellcheck disable=SC2154 # bats sets stderr
#
# Run as root: what uid 0 may not do, and what it takes to let it; and what only root can
# arrange on a host.
load ../helpers

setup_file() { build_programs self; }

setup() {
	[ "$(id -u)" -eq 0 ] || cannot_run "this is not root"
	ws_setup
}

let_root() { spec "$ROOT/wsiso.json" '{"linger_s": 10, "allow_root": true}'; }

@test "root is refused by create and exec, with a hint, and nothing is made" {
	new_repo "$T/app"
	spec "$T/spec.json" "$SPEC_OPEN" "$(repo_spec "$T/app")"
	run --separate-stderr ws create "$ID" --spec "$T/spec.json"
	[ "$status" -ne 0 ]
	[ -z "$output" ]
	[[ "$stderr" == *allow_root* ]]
	[ "$(kind_of create "$ID" --spec "$T/spec.json")" = host-unsupported ]
	[ ! -e "$ROOT/sessions/$ID/state.json" ]
}

@test "root is refused by exec when allow_root was taken back" {
	let_root
	new_session
	spec "$ROOT/wsiso.json" '{"linger_s": 10}'
	run --separate-stderr in_session touch /workspace/ran
	[ "$status" -eq 125 ]
	[[ "$stderr" == *allow_root* ]]
	refute_in_session "$ID" /workspace/ran
}

@test "a session's spec cannot allow root" {
	new_repo "$T/app"
	spec "$T/spec.json" "$SPEC_OPEN" "$(repo_spec "$T/app")" '{"allow_root": true}'
	refute ws create "$ID" --spec "$T/spec.json"
	[ ! -e "$ROOT/sessions/$ID/state.json" ]
}

@test "with allow_root a session works" {
	let_root
	new_session
	[ "$(in_session sh -c 'id -u; cat d/k; git status --porcelain; git log --oneline | wc -l' | xargs)" = "0 kept 3" ]
	in_session sh -c 'echo edited >d/f; git -c user.name=a -c user.email=a@b commit -qam four'
	[ "$(in_session git log --oneline | wc -l)" -eq 4 ]
	[ "$(hgit -C "$T/app" rev-list --count HEAD)" -eq 3 ]
}

@test "with allow_root a command has no capability and no new privileges" {
	local key
	let_root
	new_session
	put_program self
	in_session /tmp/self >"$T/first"
	for key in CapInh CapPrm CapEff CapBnd CapAmb; do
		[ "$(sed -n "s/^$key:[[:space:]]*//p" "$T/first")" = 0000000000000000 ]
	done
	grep -q '^NoNewPrivs:[[:space:]]1$' "$T/first"
	grep -qx 'fds: 0 1 2' "$T/first"
}

@test "with allow_root no sysctl can be written, and no other switch of the kernel" {
	let_root
	new_session
	in_session bash -c 'n=0
		while read -r f; do
			n=$((n + 1))
			if { : >>"$f"; } 2>/dev/null; then echo "writable: $f"; fi
		done < <(find /proc/sys /proc/irq /proc/bus /proc/acpi /proc/fs /proc/driver /proc/scsi -type f 2>/dev/null
			find /proc -maxdepth 1 -type f)
		echo "tried $n"' >"$T/out"
	[ "$(tail -n 1 "$T/out" | tr -dc 0-9)" -gt 300 ]
	refute grep writable "$T/out"
}

@test "with allow_root the core pattern stays as it is" {
	local before
	before=$(cat /proc/sys/kernel/core_pattern)
	let_root
	new_session
	refute in_session sh -c "printf '%s' '$before' >/proc/sys/kernel/core_pattern" 2>"$T/err"
	refute in_session sh -c 'echo 1 >/proc/sys/vm/drop_caches' 2>"$T/err"
	refute in_session sh -c 'echo x >/proc/sysrq-trigger' 2>"$T/err"
	refute in_session unshare -Ur sh -c 'echo 1 >/proc/sys/vm/drop_caches' 2>"$T/err"
	[ "$(cat /proc/sys/kernel/core_pattern)" = "$before" ]
}

@test "with allow_root the host's files cannot be written, not even through stdin" {
	let_root
	new_session
	printf 'precious\n' >"$T/file"
	ws exec -i "$ID" -- sh -c 'echo EVIL >/proc/self/fd/0; echo EVIL >>/etc/passwd
		echo EVIL >>/usr/bin/env; touch /usr/written /etc/written /run/written; exit 0' <"$T/file"
	[ "$(cat "$T/file")" = precious ]
	[ ! -e /usr/written ]
	[ ! -e /etc/written ]
	refute grep -q EVIL /etc/passwd
}

@test "with allow_root no payload gets at the host's wsiso" {
	local before
	let_root
	new_session
	before=$(sha256sum <"$WSISO")
	in_session sh -c 'ln -s /proc/self/exe /tmp/link
		(for i in $(seq 2000); do for p in /proc/[0-9]*; do
			exec 9<$p/exe && : >>/proc/self/fd/9 && readlink /proc/self/fd/9 >>/tmp/got
		done; done) >/dev/null 2>&1 &
		exit 0'
	for _ in $(seq 10); do
		ws exec --timeout 5 "$ID" -- /tmp/link >/dev/null 2>&1 || true
	done
	refute in_session cat /tmp/got
	[ "$(sha256sum <"$WSISO")" = "$before" ]
}

# ---- a host whose root mount is shared ----

# under_shared_root SCRIPT: in a mount namespace whose mounts are all shared; $1 of the
# script is a folder below /usr that may be mounted over
under_shared_root() {
	unshare -m --propagation shared bash -c "$1" shared /usr/src
}

@test "on a host whose root mount is shared a mount made later is not seen inside" {
	[ -d /usr/src ] || cannot_run "/usr/src is not there"
	let_root
	new_session
	export ROOT ID T
	under_shared_root '
		findmnt -no PROPAGATION / | grep -q shared || exit 9
		"$WSISO" --root "$ROOT" exec "$ID" -- true || exit 8
		# what bwrap alone does about it: the test can fail
		bwrap=/usr/local/bin/bwrap; [ -x $bwrap ] || bwrap=/usr/bin/bwrap
		$bwrap --unshare-user --ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/lib /lib \
			--symlink usr/lib64 /lib64 -- sh -c "touch /dev/null; sleep 1.5; ls /usr/src" >"$T/raw" 2>/dev/null 3>&- &
		sleep 0.5
		mount -t tmpfs none "$1" && touch "$1/made-later" || exit 7
		wait
		"$WSISO" --root "$ROOT" exec "$ID" -- ls -A "$1" >"$T/seen" || exit 6
		"$WSISO" --root "$ROOT" exec "$ID" -- cat /proc/self/mountinfo >"$T/mounts" || exit 5
		umount "$1"'
	grep -q made-later "$T/raw" # bwrap alone shows it
	refute grep -q made-later "$T/seen"
	[ -s "$T/mounts" ]
	refute grep -e 'shared:' -e 'master:' "$T/mounts"
}
