# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# shellcheck disable=SC2154 # bats sets stderr
# What a session's commands may leave for who exports it.
load helpers

setup_file() { build_programs racer; }

export_all() { # FOLDER: every format, bounded in time
	local format
	mkdir -p "$1"
	for format in layer tar patch; do
		timeout "$((60 * SLOW))" "$WSISO" --root "$ROOT" export "$ID" --format "$format" \
			-o "$1/$format" 2>>"$1/err" || [ $? -eq 1 ] || return 1
	done
}

@test "links are links, FIFOs, sockets and devices are not opened (F018 F050)" {
	echo SECRET >"$T/secret"
	new_session
	in_session sh -c 'ln -s "$0" a; ln -s / root; ln -s /nowhere dang; mkfifo pipe; rm d/f; mkfifo d/f
		/usr/bin/python3 -c "import socket; socket.socket(socket.AF_UNIX).bind(\"sock\")"' "$T/secret"
	export_all "$T/out"
	gzip -dc "$T/out/layer" | cat - "$T/out/tar" "$T/out/patch" >"$T/all"
	refute grep -q SECRET "$T/all"
	tar -tvf "$T/out/tar" >"$T/list"
	grep -q "^l.*workspace/app/a -> $T/secret\$" "$T/list"
	grep -q '^l.*workspace/app/root -> /$' "$T/list"
	grep -q '^p.*workspace/app/pipe$' "$T/list"
	grep -q 'leaves out workspace/app/sock: it is a socket' "$T/out/err"
}

@test "what is swapped while it is read leads nowhere (F050)" {
	local i
	echo SECRET >"$T/secret"
	new_session
	put_program racer
	ws exec -d "$ID" -- /tmp/racer /workspace/app "$T/secret" >/dev/null
	for ((i = 0; i < $(long 10 1000); i++)); do
		timeout 20 "$WSISO" --root "$ROOT" export "$ID" --format layer --compress none \
			2>"$T/err" >"$T/l" || [ $? -eq 1 ]
		tar -tf "$T/l" >"$T/list"
		grep -q workspace/app/r0 "$T/list"
		refute grep -q -a SECRET "$T/l"
		timeout 20 "$WSISO" --root "$ROOT" export "$ID" --format tar >"$T/t" 2>"$T/err" || [ $? -eq 1 ]
		tar -tf "$T/t" >/dev/null
		refute grep -q -a SECRET "$T/t"
	done
}

@test "a file that shrinks and grows while it is read does not break the archive" {
	local i
	new_session
	in_session sh -c 'seq 400000 >big; seq 9 >after'
	ws exec -d "$ID" -- "$PYTHON" -c '
import os
fd = os.open("big", os.O_WRONLY)
while True:
    os.ftruncate(fd, 10); os.ftruncate(fd, 1 << 20); os.pwrite(fd, b"x" * 3000000, 0)' >/dev/null
	for ((i = 0; i < $(long 5 300); i++)); do
		ws export "$ID" --format tar 2>"$T/err" >"$T/t"
		[ "$(tar -xOf "$T/t" workspace/app/after)" = "$(seq 9)" ]
	done
}

@test "no program runs, whatever git is told to (F027)" {
	new_session
	in_session sh -c 'printf "#!/bin/sh\ntouch %s/mark\ncat\n" "$0" >/workspace/app/evil; chmod 755 evil
		for k in core.fsmonitor core.hooksPath diff.external filter.x.clean filter.x.smudge diff.x.textconv; do
			git config $k "$PWD/evil"; done
		echo "* filter=x diff=x" >.gitattributes; echo more >>README.md' "$T"
	export_all "$T/out"
	[ ! -e "$T/mark" ]
}

@test "names that begin with .wh. are no whiteouts: named, and the file they would hide stays" {
	new_session base
	new_session
	in_session sh -c 'touch .wh.README.md .wh..wh..opq d/.wh.f; mkdir .wh.src; echo x >.wh.src/in; echo n >new'
	run --separate-stderr ws export "$ID" --format layer -o "$T/l"
	[ "$status" -eq 1 ]
	[[ "$stderr" == *"leaves out workspace/app/.wh.README.md: a name that begins with '.wh.'"*"4 of the session's files are left out"* ]]
	tar -tzf "$T/l" >"$T/list"
	refute grep -q '\.wh\.' "$T/list"
	grep -qx workspace/app/new "$T/list"
	ws export "$ID" --format tar | tar -tf - | grep -qx workspace/app/.wh.src/in
}

@test "of very many things that are left out some are named, and all are counted" {
	new_session
	in_session "$PYTHON" -c 'for i in range(3000): open(".wh.%d" % i, "w")'
	expect_status 1 ws export "$ID" --format layer -o "$T/l" --json >"$T/json" 2>"$T/err"
	matches_schema export "$T/json"
	[ "$(jq -c '[(.left_out | length), .left_out_more]' "$T/json")" = '[1000,2000]' ]
	[ "$(wc -l <"$T/err")" -lt 1010 ]
	grep -q 'leaves out 2000 more' "$T/err"
	grep -q '3000 of the session' "$T/err"
}

@test "set-id bits do not become root's in a layer" {
	new_session
	in_session sh -c 'cp /bin/true t; chmod 6755 t; mkdir g; chmod 2775 g'
	run --separate-stderr ws export "$ID" --format layer -o "$T/l"
	[ "$status" -eq 0 ]
	[[ "$stderr" == *"leaves out workspace/app/t: its set-id bits"* ]]
	tar -tvzf "$T/l" >"$T/list"
	grep -q '^-rwxr-xr-x 0/0 .*workspace/app/t$' "$T/list"
	grep -q '^drwxrwxr-x 0/0 .*workspace/app/g/$' "$T/list"
}

@test "forged whiteouts and marks delete nothing that nobody deleted" {
	local up=$ROOT/sessions/$ID/upper
	new_session
	in_session mkdir fresh
	"$PYTHON" -c 'import os, sys; os.setxattr(sys.argv[1], "user.overlay.opaque", b"y")' "$up/app/fresh"
	mknod "$up/app/never" c 0 0
	[ "$(ws export "$ID" --format layer | tar -tzf - | grep -v '/$')" = "" ]
	in_session sh -c 'touch ok; setfattr -n user.overlay.opaque -v y d 2>/dev/null; true'
	ws export "$ID" --format layer | tar -tzf - >"$T/list"
	refute grep -q opq "$T/list"
}

@test "thousands of folders deep, mode 000, a sparse gigabyte: named or carried, and soon" {
	new_session
	in_session "$PYTHON" -c '
import os, sys
os.makedirs("m/000"); open("m/000/f", "w").write("1"); os.chmod("m/000/f", 0); os.chmod("m", 0)
fd = os.open("sparse", os.O_CREAT | os.O_WRONLY); os.truncate(fd, 1 << 30); os.pwrite(fd, b"mid", 1 << 29)
os.truncate(os.open("huge", os.O_CREAT | os.O_WRONLY), 1 << 42)
for i in range(int(sys.argv[1])):
    os.mkdir("x"); os.chdir("x")
open("end", "w").write("1")' "$(long 2500 10000)"
	export_all "$T/out"
	[ "$(du -sk "$T/out" | cut -f1)" -lt 40000 ]
	grep -q 'the layer leaves out workspace/app/x/x/.*: its path is too long for an archive' "$T/out/err"
	[ "$(grep -c 'the layer leaves out' "$T/out/err")" -eq 1 ]
	tar -tvf "$T/out/tar" >"$T/list"
	grep -q '^d--------- .*workspace/app/m/$' "$T/list"
	grep -q '^---------- .*workspace/app/m/000/f$' "$T/list"
	mkdir "$T/x"
	tar -C "$T/x" -xzf "$T/out/layer" workspace/app/sparse
	cmp "$T/x/workspace/app/sparse" "$ROOT/sessions/$ID/upper/app/sparse"
	[ "$(du -k "$T/x/workspace/app/sparse" | cut -f1)" -lt 100 ]
	[ "$(in_session stat -c %a m)" = 0 ]
}

@test "names of any bytes are carried (F081)" {
	new_session
	in_session "$PYTHON" -c '
import os
for name in (b"\xff\xfe", "\u65e5\u672c".encode(), b"q\"t\tn\nl\\b", b" lead", b"trail ", b"-x", b"\x1b[31m", b"a" * 255):
    open(name, "w").write("x")
os.symlink(b"\xff\xfe", b"l\xff")'
	in_session "$PYTHON" -c 'import os; print(sorted(n for n in os.listdir(b".") if n != b".git"))' >"$T/want"
	ws export "$ID" --format tar -o "$T/t" 2>/dev/null
	mkdir "$T/gnu" "$T/bsd"
	tar -C "$T/gnu" -xf "$T/t" 2>/dev/null
	bsdtar -C "$T/bsd" -xf "$T/t"
	for d in gnu bsd; do
		(cd "$T/$d/workspace/app" && "$PYTHON" -c 'import os; print(sorted(os.listdir(b".")))') >"$T/got"
		cmp "$T/want" "$T/got"
	done
	(cd "$T/gnu/workspace/app" && "$PYTHON" -c 'import os; print(os.readlink(b"l\xff"))') >"$T/got"
	[ "$(cat "$T/got")" = "b'\xff\xfe'" ]
}

@test "a session that is deleted while it is exported is an error, no smaller archive" {
	new_session
	in_session sh -c 'for i in $(seq 300); do head -c 20000 /dev/urandom >f$i; done'
	mkfifo "$T/pipe"
	# the pipe is full before the walk is through: so the rest is read after the deletion
	"$WSISO" --root "$ROOT" export "$ID" --format tar >"$T/pipe" 2>"$T/x.err" </dev/null 3>&- &
	local pid=$! status=0
	exec 7<"$T/pipe"
	head -c 1000 <&7 >/dev/null
	ws delete -f "$ID"
	cat <&7 >/dev/null
	exec 7<&-
	wait "$pid" || status=$?
	[ "$status" -ne 0 ]
	[ -s "$T/x.err" ]
}

@test "whoever holds the pipes of git, and writes for ever, holds up nobody" {
	new_session
	in_session sh -c 'head -c 3000000 /dev/urandom >big; git add big; git -c user.name=c -c user.email=c@c commit -qm big'
	printf '%s\n' 'import glob, os, time' 'held, end = [], time.time() + 40' \
		'while not held:' \
		'    for p in glob.glob("/proc/[0-9]*"):' \
		'        try:' \
		'            if b"bundle" in open(p + "/cmdline", "rb").read():' \
		'                held = [os.open(p + "/fd/2", os.O_WRONLY)]' \
		'        except OSError: pass' \
		'open("/tmp/held", "w")' 'os.fork(); os.fork(); os.fork()' \
		'while time.time() < end: os.write(held[0], b"E" * 65536)' >"$T/holder"
	ws cp "$T/holder" "$ID:/tmp/holder"
	ws exec -d "$ID" -- python3 /tmp/holder >/dev/null
	local begun=$SECONDS
	until in_session test -e /tmp/held; do
		ws export "$ID" --format git-bundle -o "$T/bundle" || true
		[ $((SECONDS - begun)) -lt 20 ]
	done
	[ $((SECONDS - begun)) -lt 20 ]
	ws export "$ID" --format git-bundle -o "$T/bundle"
	hgit bundle list-heads "$T/bundle" | grep HEAD
}
