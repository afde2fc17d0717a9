#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
load helpers

# The console blocks of README.md are run as they stand there, one after the other in one
# shell with a HOME of its own: "$ " begins a command, "> " goes on with it, and what
# follows is its output, standard error included.

# split FILE: its commands as $T/run/NNN.cmd, what they are to print as $T/run/NNN.want
split() {
	mkdir -p "$T/run"
	awk -v dir="$T/run" '
	/^```console$/ { inside = 1; next }
	/^```/ { inside = 0 }
	!inside { next }
	/^\$ / {
		name = sprintf("%s/%03d", dir, ++n)
		printf "" >(name ".want")
		print substr($0, 3) >(name ".cmd")
		next
	}
	/^>( |$)/ && !printed[n] { print substr($0, 3) >(name ".cmd"); next }
	{ printed[n] = 1; print >(name ".want") }' "$1"
}

# What no two runs have in common: commit ids and times. Both sides go through this.
without_what_varies() {
	sed -E 's/^[0-9a-f]{7} /COMMIT /
		s/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z/TIME/g
		s/\b[0-9]+ms\b/AGE/' "$1"
}

# run_all: runs the commands and keeps what they print as $T/run/NNN.got
run_all() {
	mkdir -p "$T/home"
	(
		cd "$T/home" || exit
		exec env -i HOME="$T/home" USER="$(id -un)" LANG=C.UTF-8 \
			PATH="$(dirname "$WSISO"):/usr/local/bin:/usr/bin:/bin" \
			bash -c '
			for file in "$1"/*.cmd; do
				command=$(cat "$file")
				eval "$command" >"${file%.cmd}.got" 2>&1 </dev/null
			done' bash "$T/run" 3>&-
	)
}

compare_all() {
	local file bad=0
	for file in "$T"/run/*.cmd; do
		diff -u --label expected --label printed \
			<(without_what_varies "${file%.cmd}.want") \
			<(without_what_varies "${file%.cmd}.got") && continue
		echo "after: $(cat "$file")"
		bad=1
	done
	return $bad
}

teardown() {
	WSISO_ROOT=$T/home/.codumentor/workspaces
	ROOTS+=("$WSISO_ROOT")
	unset WSISO_ROOT
	ws_teardown
}

@test "the worked example of the README prints what the README says" {
	need_userns
	need_program git perl
	split "$SRCDIR/README.md"
	[ "$(find "$T/run" -name '*.cmd' | wc -l)" -ge 12 ]
	run_all
	compare_all
}

@test "a README that says something else is noticed" {
	cat >"$T/bad.md" <<-'END'
		```console
		$ echo one
		one
		$ echo \
		> two
		three
		```
		$ false
	END
	split "$T/bad.md"
	[ "$(find "$T/run" -name '*.cmd' | wc -l)" -eq 2 ]
	run_all
	refute compare_all
	grep -qx two "$T/run/002.got"
}

@test "the tests that SECURITY.md names are there" {
	local file title n=0
	while IFS='|' read -r file title; do
		grep -qF "@test \"$title\" {" "$SRCDIR/tests/bats/$file.bats" || {
			echo "SECURITY.md: $file has no test \"$title\""
			return 1
		}
		n=$((n + 1))
	done < <(sed -n 's/^|.*| \([a-z_/]*\): "\(.*\)" |$/\1|\2/p' "$SRCDIR/SECURITY.md")
	[ "$n" -ge 15 ]
}

@test "every command has a page, and wsiso(1) and the README name every command" {
	local command
	for command in $(ws --help | sed -n '/^commands:/,/^$/s/^  \([a-z-]*\) .*/\1/p'); do
		[ -e "$SRCDIR/man/wsiso-$command.1" ]
		grep -q "^\.It Cm $command\$" "$SRCDIR/man/wsiso.1"
		grep -q "^| \`$command\`" "$SRCDIR/README.md"
	done
}

@test "a command's page names every one of its options" {
	local command option bad=0
	for command in $(ws --help | sed -n '/^commands:/,/^$/s/^  \([a-z-]*\) .*/\1/p'); do
		for option in $(ws "$command" --help |
			sed -n 's/^ *\(-., \)\?--\([a-z-]*\).*/\2/p'); do
			grep -q "Fl Fl $option\b" "$SRCDIR/man/wsiso-$command.1" && continue
			echo "wsiso-$command(1) does not name --$option"
			bad=1
		done
	done
	[ $bad -eq 0 ]
}

@test "wsiso(1) lists every error kind" {
	local kind n=0
	for kind in $(ws features | jq -r '.error_kinds[]'); do
		grep -q "^\.It Cm $kind\$" "$SRCDIR/man/wsiso.1"
		n=$((n + 1))
	done
	[ "$n" -eq 30 ]
}
