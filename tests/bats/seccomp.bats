#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016 # for the shell inside to expand
# shellcheck disable=SC2154 # bats sets stderr
#
# The system call filter: what it refuses, really, by every way into the kernel; that each
# command has it; and that nothing runs without the one that was asked for.
load helpers

setup_file() { [ "$(uname -m)" != x86_64 ] || build_programs calls filtered; }

setup() {
	ws_setup
	FOLDER=$("$WSISO" features | jq -r .seccomp.folder)
	MACHINE=$("$WSISO" features | jq -r .seccomp.machine)
}

# filter_session MODE [ID]: a session without a repository, with the program in it
filter_session() {
	local id=${2:-$ID}
	need_x86
	need_userns
	spec "$T/$id.json" "{\"sandbox\": {\"seccomp\": \"$1\"}}"
	ws create "$id" --spec "$T/$id.json"
	put_program calls "$id"
}

# What makes the calls knows how to on x86_64; the other filters are the unit test's.
need_x86() { [ "$MACHINE" = x86_64 ] || skip "this is for x86_64"; }

# calls_of ID ABI [OPTION...]: what came of every call, a line each
calls_of() {
	local id=$1 abi=$2
	shift 2
	ws exec "$@" "$id" -- /tmp/calls "$abi" | tr -d '\r'
}

# ---- what is refused ----

# three_modes ABI LEAST: as the rules say under enforce, as without a filter under log; the
# filter makes a difference in LEAST calls or more
three_modes() {
	local mode
	need_x86
	for mode in enforce log off; do
		filter_session $mode $mode
		calls_of $mode "$1" >"$T/got.$mode"
	done
	"$BATS_FILE_TMPDIR/calls" "$1" expected >"$T/want"
	[ "$(wc -l <"$T/want")" -ge "$2" ]
	# refused, as the rules say
	diff "$T/want" <(grep -xFf "$T/want" "$T/got.enforce")
	# what is not in the rules is as it would be without
	grep -vxFf "$T/want" "$T/got.enforce" >"$T/left"
	[ -s "$T/left" ]
	diff "$T/left" <(grep -xFf "$T/left" "$T/got.off")
	[ "$(diff "$T/got.enforce" "$T/got.off" | grep -c '^<')" -ge "$2" ]
	diff "$T/got.log" "$T/got.off"
}

@test "enforce refuses what the rules name and log allows it: native calls" {
	three_modes native 45
}

@test "F038: enforce refuses what the rules name and log allows it: i386 by int 0x80" {
	local first
	need_x86
	first=$("$BATS_FILE_TMPDIR/calls" i386 | head -n 1)
	[[ $first != *signal* ]] || cannot_run "this kernel runs no i386 calls"
	three_modes i386 45
}

@test "enforce refuses what the rules name and log allows it: x32 numbers" {
	three_modes x32 45
}

@test "enforce refuses what the rules name and log allows it: x32's old block" {
	three_modes old 45
}

@test "default is log: the same calls succeed, and the receipt says that nothing is refused" {
	filter_session log
	spec "$T/plain.json" '{}'
	ws create plain --spec "$T/plain.json"
	put_program calls plain
	diff <(calls_of "$ID" native) <(calls_of plain native)
	ws exec --status-file "$T/status" plain -- true
	[ "$(jq -c 'select(.type == "started") | .seccomp | [.mode, .filters, .setting, .refuses]' "$T/status")" = \
		'[2,1,"log",false]' ]
	ws exec --status-file "$T/status2" "$ID" -- true
	[ "$(jq -r 'select(.type == "started") | .digests.filter' "$T/status" "$T/status2" | uniq | wc -l)" = 1 ]
}

@test "under enforce a user namespace of one's own is not to be had, under log it is" {
	filter_session enforce
	filter_session log other
	run --separate-stderr in_session unshare -Ur id -u
	[ "$status" -ne 0 ]
	[[ $stderr == *"Operation not permitted"* ]]
	[ "$(ws exec other -- unshare -Ur id -u)" = 0 ]
	refute in_session /usr/bin/python3 -c 'import socket; socket.socket(40, 1)'
}

# ---- every command ----

@test "second, background, pty and stdin command and their children are refused the same" {
	local id
	filter_session enforce
	ws stop "$ID"
	calls_of "$ID" native >"$T/first"
	diff <(calls_of "$ID" native) "$T/first"
	diff <(calls_of "$ID" native -i </dev/null) "$T/first"
	diff <(ws_pty exec -t "$ID" -- /tmp/calls native | tr -d '\r') "$T/first"
	diff <(in_session sh -c 'setsid sh -c "/tmp/calls native"') "$T/first"
	id=$(ws exec -d "$ID" -- /tmp/calls native)
	ws wait "$ID" "$id"
	diff <(ws logs "$ID" "$id") "$T/first"
	"$BATS_FILE_TMPDIR/calls" native expected >"$T/want"
	diff "$T/want" <(grep -xFf "$T/want" "$T/first")
}

@test "PID 1 has the filter of its commands, and what state shows of it is the file's" {
	local pid sum
	filter_session enforce
	[ "$(in_session grep -h ^Seccomp /proc/self/status)" = "$(printf 'Seccomp:\t2\nSeccomp_filters:\t1')" ]
	pid=$(init_pid)
	[ "$(grep ^Seccomp "/proc/$pid/status")" = "$(printf 'Seccomp:\t2\nSeccomp_filters:\t1')" ]
	sum=sha256:$(sha256sum <"$FOLDER/$MACHINE.enforce.bpf" | cut -d' ' -f1)
	[ "$(ws state "$ID" | jq -r .wsiso.sandbox.digests.filter)" = "$sum" ]
	[ "$(ws state "$ID" | jq -c .wsiso.sandbox.seccomp)" = '{"mode":2,"filters":1,"setting":"enforce","refuses":true}' ]
	ws state "$ID" >"$T/state"
	matches_schema state "$T/state"
}

keyring_is_there() { grep -q "keyring *$1" /proc/keys; }
keyring_is_gone() { ! keyring_is_there "$1"; }

@test "PID 1 does not keep the keyring of whoever started it, under enforce either" {
	local name=wsiso-test-$$-$BATS_TEST_NUMBER mode
	for mode in enforce log; do
		filter_session $mode $mode
		ws stop $mode
		# joins a session keyring of that name and becomes wsiso
		"$PYTHON" - "$name$mode" "$WSISO" --root "$ROOT" exec $mode -- true <<-'PY'
			import ctypes, os, sys
			name = sys.argv[1]
			if ctypes.CDLL(None).syscall(250, 1, name.encode()) < 0:
			    sys.exit(3)
			if name not in open("/proc/keys").read():
			    sys.exit(4)
			os.execv(sys.argv[2], sys.argv[2:])
		PY
		has_sandbox $mode
		wait_for 10 keyring_is_gone "$name$mode"
	done
}

@test "off is no filter, and the receipt says so" {
	filter_session off
	[ "$(in_session grep -h ^Seccomp: /proc/self/status)" = "$(printf 'Seccomp:\t0')" ]
	ws exec --status-file "$T/status" "$ID" -- true
	jq -es '.[0] | .seccomp == {mode: 0, filters: 0, setting: "off", refuses: false} and
		.digests.filter == null' "$T/status"
}

@test "another mode is another policy: a live sandbox of the old one is not entered" {
	filter_session log
	in_session true
	spec "$ROOT/sessions/$ID/config.json" '{"sandbox": {"seccomp": "enforce"}}'
	[ "$(kind_of exec "$ID" -- true)" = policy-changed ]
	ws stop "$ID"
	refute in_session unshare -Ur true
}

@test "the dry run hands bwrap the file of the filter, and works by hand" {
	filter_session enforce
	ws stop "$ID"
	ws exec --dry-run "$ID" -- true >"$T/script"
	grep -q -e '--add-seccomp-fd' "$T/script"
	grep -q "<$FOLDER/$MACHINE.enforce.bpf" "$T/script"
	echo 'grep ^Seccomp: /proc/self/status; unshare -Ur true || echo refused' |
		bash "$T/script" >"$T/out" 2>/dev/null
	[ "$(cat "$T/out")" = "$(printf 'Seccomp:\t2\nrefused')" ]
	ws exec --dry-run --json "$ID" -- true >"$T/plan"
	[ "$(jq -c .sandbox.filters "$T/plan")" = "[\"$FOLDER/$MACHINE.enforce.bpf\"]" ]
}

# ---- fail closed ----

# with_data COMMAND...: the real wsiso, in a view of the host where $T/data is its data folder.
# There what is root's is nobody's, so a bwrap of one's own is needed.
with_data() {
	[ -e "$T/bwrap" ] || cp "$(real_bwrap)" "$T/bwrap"
	spec "$ROOT/wsiso.json" "{\"linger_s\": 10, \"bwrap\": {\"path\": \"$T/bwrap\"}}"
	timeout -k 5 "$((60 * SLOW))" "$(real_bwrap)" --dev-bind / / --bind "$T/data" "$FOLDER" -- "$@"
}

# copy_data: a copy of the data folder that can be spoilt
copy_data() {
	rm -rf "$T/data"
	cp -r "$FOLDER" "$T/data"
	chmod -R u+w "$T/data"
}

# refused_with WORDS...: exec runs nothing, says which file and why, once
refused_with() {
	local word
	rm -f "$T/json"
	expect_status 125 with_data "$WSISO" --root "$ROOT" --log-format json exec "$ID" -- \
		touch /workspace/ran 2>"$T/json"
	[ "$(jq -r 'select(.level == "error") | .kind' "$T/json")" = seccomp-unavailable ]
	jq -r .msg "$T/json" >"$T/msg"
	for word; do grep -qF -e "$word" "$T/msg"; done
	[ "$(jq -r .hint "$T/json")" != null ]
	refute_in_session "$ID" /workspace/ran
	[ -z "$(sandbox_pids)" ]
}

# spoilt HOW WORDS...: so each mode's file is spoilt, and each mode refuses
spoilt() {
	local how=$1 mode
	shift
	for mode in enforce log default; do
		copy_data
		"spoil_$how" "$T/data/$MACHINE.${mode/default/log}.bpf"
		spec "$ROOT/sessions/$ID/config.json" "{\"sandbox\": {\"seccomp\": \"$mode\"}}"
		refused_with "$@"
	done
}

spoil_remove() { rm "$1"; }
spoil_empty() { : >"$1"; }
spoil_thirteen() { truncate -s 13 "$1"; }
spoil_cut() { truncate -s -8 "$1"; }
spoil_flip() { printf '\xff' | dd of="$1" bs=1 seek=20 conv=notrunc status=none; }
spoil_unreadable() { chmod 000 "$1"; }
spoil_too_long() { head -c 40000 /dev/zero >"$1"; }
spoil_other_machine() { cp "$T/data/s390x.log.bpf" "$1"; }
spoil_other_mode() { cp "$T/data/$MACHINE.host.bpf" "$1"; }
spoil_folder() { rm "$1" && mkdir "$1"; }
spoil_link() { mv "$1" "$1.away" && ln -s "$1.away" "$1"; }

damage_session() {
	filter_session enforce
	ws stop "$ID"
	copy_data
	# the view alone changes nothing
	with_data "$WSISO" --root "$ROOT" exec "$ID" -- true
	with_data "$WSISO" --root "$ROOT" stop "$ID"
}

@test "F044: a filter that is missing, empty or cut off: nothing runs" {
	damage_session
	spoilt remove "$MACHINE." "No such file"
	spoilt empty "is empty"
	spoilt thirteen "is cut off"
	spoilt cut "checksum"
}

@test "F044: a filter that is damaged, unreadable, too long or no file: nothing runs" {
	damage_session
	spoilt flip "checksum"
	spoilt unreadable "Permission denied"
	spoilt too_long "too large"
	spoilt folder "$MACHINE."
	spoilt link "$MACHINE."
}

@test "F044: the filter of another machine or mode: nothing runs, and it is named" {
	damage_session
	spoilt other_machine "s390x.log.bpf"
	spoilt other_mode "$MACHINE.host.bpf"
}

@test "F044: off is literal: it needs no filter, and nothing else turns one off" {
	filter_session off
	ws stop "$ID"
	copy_data
	rm "$T"/data/*
	with_data "$WSISO" --root "$ROOT" exec "$ID" -- true
	with_data "$WSISO" --root "$ROOT" stop "$ID"
	spec "$ROOT/sessions/$ID/config.json" '{"sandbox": {"seccomp": "none"}}'
	[ "$(kind_of exec "$ID" -- true)" = spec-invalid ]
}

@test "check tells of a filter that cannot be loaded, as a failure" {
	need_userns
	copy_data
	rm "$T/data/$MACHINE.enforce.bpf"
	expect_status 1 with_data "$WSISO" --root "$ROOT" check --json >"$T/check"
	[ "$(jq -r '.items[] | select(.id == "seccomp") | .status' "$T/check")" = failed ]
	jq -r '.items[] | select(.id == "seccomp") | .detail' "$T/check" | grep -q "$MACHINE.enforce.bpf"
}

# A filter that leaves a process no seccomp(2) and no prctl(PR_SET_SECCOMP), as a kernel
# without filters does: ENOSYS and EINVAL.
no_filters() {
	"$PYTHON" - "$1" <<-'PY'
		import struct, sys
		seccomp, prctl = 317, 157
		code = [(0x20, 0, 0, 0), (0x15, 0, 1, seccomp), (0x06, 0, 0, 0x50000 + 38),
		        (0x15, 0, 3, prctl), (0x20, 0, 0, 16), (0x15, 0, 1, 22),
		        (0x06, 0, 0, 0x50000 + 22), (0x06, 0, 0, 0x7fff0000)]
		open(sys.argv[1], "wb").write(b"".join(struct.pack("=HBBI", *c) for c in code))
	PY
}

@test "where the kernel has no filters nothing runs but what asks for none" {
	local filtered=$BATS_FILE_TMPDIR/filtered mode
	need_x86
	no_filters "$T/none.bpf"
	filter_session enforce
	filter_session off open
	ws stop --all
	for mode in enforce log; do
		spec "$ROOT/sessions/$ID/config.json" "{\"sandbox\": {\"seccomp\": \"$mode\"}}"
		expect_status 125 "$filtered" "$T/none.bpf" "$WSISO" --root "$ROOT" --log-format json \
			exec "$ID" -- touch /workspace/ran 2>"$T/json"
		[ "$(jq -r 'select(.level == "error") | .kind' "$T/json")" = seccomp-unavailable ]
		refute_in_session "$ID" /workspace/ran
	done
	"$filtered" "$T/none.bpf" "$WSISO" --root "$ROOT" exec open -- true
}

# ---- check and the filter of host_readonly ----

@test "check says which mode is the default, that log allows, and whether it is recorded" {
	local mode word
	need_userns
	for mode in log:warning:records enforce:ok:refused off:warning:allows; do
		IFS=: read -r mode want word <<<"$mode"
		spec "$ROOT/wsiso.json" "{\"sandbox\": {\"seccomp\": \"$mode\"}}"
		ws check --json >"$T/check" || true
		jq '.items[] | select(.id == "seccomp")' "$T/check" >"$T/item"
		[ "$(jq -r .status "$T/item")" = "$want" ]
		jq -r .detail "$T/item" | grep -F "\"$mode\"" | grep -q "$word"
	done
}

@test "the filter of host_readonly leaves no unix socket that can be connected, and socket pairs" {
	local host=$FOLDER/$MACHINE.host.bpf server
	need_x86
	"$PYTHON" -c 'import socket, sys, time
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.bind(sys.argv[1])
t = socket.socket(socket.AF_UNIX); t.bind(sys.argv[2]); t.listen()
print("ready", flush=True); time.sleep(60)' "$T/dgram" "$T/stream" </dev/null >"$T/ready" 3>&- &
	server=$!
	wait_for 10 grep -q ready "$T/ready"
	cat >"$T/try.py" <<-'PY'
		import errno, socket, sys
		A = socket.AF_UNIX
		def tell(what, f):
		    try:
		        f()
		        print(what, "ok")
		    except OSError as e:
		        print(what, errno.errorcode[e.errno])
		def pair(kind):
		    a, b = socket.socketpair(A, kind)
		    a.send(b"x")
		def dgram_pair(kind):
		    a, b = socket.socketpair(A, kind)
		    a.sendto(b"x", sys.argv[1])
		tell("stream", lambda: socket.socket(A).connect(sys.argv[2]))
		tell("dgram", lambda: socket.socket(A, socket.SOCK_DGRAM).sendto(b"x", sys.argv[1]))
		tell("pair of dgram", lambda: dgram_pair(socket.SOCK_DGRAM))
		tell("pair of raw", lambda: dgram_pair(socket.SOCK_RAW))
		tell("vsock", lambda: socket.socket(40, 1))
		tell("alg", lambda: socket.socket(38, 5))
		tell("pair", lambda: pair(socket.SOCK_STREAM))
		tell("seqpacket pair", lambda: pair(socket.SOCK_SEQPACKET))
		tell("inet", lambda: socket.socket(socket.AF_INET))
		tell("inet6", lambda: socket.socket(socket.AF_INET6))
		tell("netlink", lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW))
	PY
	printf '%s\n' 'stream EACCES' 'dgram EACCES' 'pair of dgram EACCES' 'pair of raw EACCES' \
		'vsock EACCES' 'alg EACCES' 'pair ok' 'seqpacket pair ok' 'inet ok' 'inet6 ok' \
		'netlink ok' >"$T/want"
	"$BATS_FILE_TMPDIR/filtered" "$host" "$PYTHON" "$T/try.py" "$T/dgram" "$T/stream" >"$T/got"
	diff "$T/want" "$T/got"
	# without it they are connected
	"$PYTHON" "$T/try.py" "$T/dgram" "$T/stream" >"$T/open"
	[ "$(grep -c -e '^stream ok' -e 'dgram ok' -e 'raw ok' "$T/open")" = 4 ]
	kill "$server"
	wait "$server" || true
}

@test "the filter of host_readonly leaves no foreign ABI and no io_uring" {
	local host=$FOLDER/$MACHINE.host.bpf run="$BATS_FILE_TMPDIR/filtered"
	need_x86
	"$run" "$host" "$BATS_FILE_TMPDIR/calls" i386 >"$T/i386"
	[ "$(wc -l <"$T/i386")" -ge 50 ]
	refute grep -v 'signal 31$' "$T/i386"
	"$run" "$host" "$BATS_FILE_TMPDIR/calls" x32 >"$T/x32"
	refute grep -v 'ENOSYS$' "$T/x32"
	"$run" "$host" "$BATS_FILE_TMPDIR/calls" native | grep -q '^io_uring_setup.*EPERM$'
}

@test "a program of an architecture that no filter knows is killed, in every mode" {
	local mode
	need_x86
	# the filters of another machine are the same question the other way round
	for mode in log enforce host; do
		run "$BATS_FILE_TMPDIR/filtered" "$FOLDER/aarch64.$mode.bpf" /bin/true
		[ "$status" -eq $((128 + 31)) ]
	done
}
