#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016 # for the shell inside to expand
# shellcheck disable=SC2154 # bats sets stderr
#
# Failures that people reported of neighbouring tools, by their numbers in the project's list
# of field cases: ordinary tools inside, their status and their input.
load helpers

@test "F092: there is a user with a name, a group, a HOME, a shell and a /tmp" {
	local me
	me=$(id -un)
	new_session
	[ "$(in_session whoami)" = "$me" ]
	[ "$(in_session sh -c 'id -un; id -gn' | xargs)" = "$me $(id -gn)" ]
	[ "$(in_session sh -c 'echo $USER $LOGNAME $HOME $SHELL; cd; pwd')" = "$me $me /home/$me /bin/bash
/home/$me" ]
	[ "$(in_session /usr/bin/python3 -c 'import getpass, os, pwd; print(getpass.getuser(), pwd.getpwuid(os.getuid()).pw_dir)')" = \
		"$me /home/$me" ]
	in_session sh -c 'f=$(mktemp) && echo x >"$f" && d=$(mktemp -d) && touch ~/.profile-written'
	[ "$(in_session stat -c %a /tmp)" = 1777 ]
	[ "$(in_session sh -c 'echo ${TMPDIR:-/tmp}')" = /tmp ]
	in_session test -x "$(in_session sh -c 'echo $SHELL')"
}

@test "F092: git commits without being told who, and ssh finds its user" {
	new_session
	in_session sh -c 'echo x >new && git add new && git -c user.useConfigOnly=false commit -qm new'
	[ "$(in_session git log --oneline | wc -l)" -eq 4 ]
	if command -v ssh >/dev/null; then
		refute in_session sh -c 'ssh -o BatchMode=yes -o ConnectTimeout=1 localhost true 2>&1 | grep "No user"'
	fi
}

@test "F093: devices, shared memory, ptys, locale and time are as programs expect them" {
	new_session
	in_session sh -c 'echo a >/dev/null && echo b >/dev/stderr && head -c 4 /dev/urandom >/dev/null &&
		head -c 4 /dev/zero | cmp -s - /dev/zero -n 4 && ! echo x >/dev/full' 2>/dev/null
	[ "$(in_session sh -c 'echo a >/dev/stdout; echo b | cat /dev/stdin; echo c | cat /dev/fd/0' | xargs)" = "a b c" ]
	in_session /usr/bin/python3 -c '
import multiprocessing as m
q = m.Queue()
p = m.Process(target=q.put, args=(5,))
p.start()
assert q.get(timeout=20) == 5
p.join()'
	[ "$(in_session stat -c %a /dev/shm)" = 1777 ]
	[ "$(in_session script -qec 'tty; echo in-script' /dev/null | tr -d '\r' | xargs)" = "/dev/pts/0 in-script" ]
	[ -n "$(in_session cat /proc/sys/kernel/hostname)" ]
	[ "$(in_session date +%Z)" = "$(date +%Z)" ]
	[ "$(in_session locale charmap)" = UTF-8 ]
	[ "$(in_session bash -c 'cat <(echo substituted)')" = substituted ]
}

@test "F093: programs find what they cannot do without in /etc" {
	new_session
	in_session cmp /etc/mtab /proc/self/mounts
	[ ! -e /etc/dpkg/origins ] || in_session test -e /etc/dpkg/origins/default
	[ ! -e /etc/manpath.config ] || in_session test -s /etc/manpath.config
	[ ! -e /etc/groff/man.local ] || in_session test -e /etc/groff/man.local
	[ ! -e /etc/maven/m2.conf ] || in_session test -e /etc/maven/m2.conf
	refute in_session test -e /etc/maven/settings.xml
}

@test "F096: the status is the command's own, and wsiso's own failures cannot be taken for it" {
	new_session
	expect_status 77 in_session sh -c 'exit 77'
	expect_status 255 in_session sh -c 'exit 255'
	expect_status 137 in_session sh -c 'kill -KILL $$'
	expect_status 143 in_session sh -c 'kill -TERM $$'
	expect_status 127 in_session no-such-command
	expect_status 126 in_session ./README.md
	expect_status 126 in_session /tmp
	expect_status 124 ws exec --timeout 0.3 "$ID" -- sleep 60
	expect_status 125 ws exec --cwd /nowhere "$ID" -- true
	expect_status 125 in_session sh -c 'exit 125'
}

@test "F096: the status file tells wsiso's 125 from a command's" {
	new_session
	ws exec --status-file "$T/own" "$ID" -- sh -c 'exit 125' || true
	ws exec --status-file "$T/wsisos" --cwd /nowhere "$ID" -- true || true
	matches_schema exec-status "$T/own" --lines
	matches_schema exec-status "$T/wsisos" --lines
	[ "$(jq -r .type "$T/own" | xargs)" = "started exited" ]
	[ "$(jq -r .type "$T/wsisos" | xargs)" = failed ]
}

@test "F096: odd surroundings change nothing: ignored signals, closed descriptors" {
	new_session
	(
		trap '' CHLD PIPE INT
		expect_status 77 in_session sh -c 'exit 77'
	)
	expect_status 77 in_session sh -c 'exit 77' <&-
	expect_status 77 in_session sh -c 'echo x; echo y >&2; exit 77' >&- 2>&-
	expect_status 77 in_session sh -c 'cat; exit 77' <&- >&- 2>&-
	expect_status 77 ws exec -i "$ID" -- sh -c 'cat; exit 77' <&-
	[ "$(in_session cat README.md)" = hello ]
}

@test "F096: output that cannot be written is told, and the command's reader gone is not" {
	local got=0
	new_session
	ws exec --status-file "$T/status" "$ID" -- sh -c 'echo x; sleep 0.2; echo y' >/dev/full 2>"$T/err" || got=$?
	echo "status $got"
	grep -q 'No space left' "$T/err"
	[ "$(jq -r 'select(.type == "exited") | .output' "$T/status")" = lost ]
	[ "$(in_session sh -c 'while echo y; do :; done' 2>/dev/null | head -n 1)" = y ]
	has_sandbox
	wait_for 10 refute in_session pgrep -f 'while echo'
}

@test "F096: nothing of wsiso's is mixed into the command's output" {
	new_session
	ws --log-level debug exec "$ID" -- sh -c 'echo out' >"$T/out" 2>"$T/err"
	[ "$(cat "$T/out")" = out ]
	ws exec "$ID" -- no-such-command >"$T/out" 2>"$T/err" || true
	[ ! -s "$T/out" ]
	grep -q 'wsiso: exec: .*no-such-command' "$T/err"
}

@test "F097: a command that reads stdin gets its end at once, whatever the caller's stdin is" {
	new_session
	mkfifo "$T/never"
	exec 8<>"$T/never"
	WS_TIMEOUT=20 expect_status 0 in_session cat <&8
	[ "$(WS_TIMEOUT=20 in_session sh -c 'read a; echo "[$a]"' <&8)" = '[]' ]
	exec 8>&-
	[ "$(WS_TIMEOUT=20 in_session grep -c x <"$T/app/README.md")" = 0 ] || [ "$?" -eq 1 ]
	if command -v ssh-keygen >/dev/null; then
		WS_TIMEOUT=20 refute in_session ssh-keygen -f /nowhere/key -p
	fi
}

@test "F097: with -i the bytes arrive as they are, and so does their end" {
	new_session
	head -c 1000000 /dev/urandom >"$T/random"
	ws exec -i "$ID" -- cat <"$T/random" >"$T/copy"
	cmp "$T/copy" "$T/random"
	[ "$(printf 'a\nb\n' | ws exec -i "$ID" -- sh -c 'read x; echo "[$x]"; cat; echo end' | xargs)" = '[a] b end' ]
	ws exec -i "$ID" -- true <"$T/random"
}
