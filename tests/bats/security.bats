#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# SECURITY.md names a test for each promise; this is about the names.

SRCDIR=${WSISO_SRCDIR:-$(cd "$BATS_TEST_DIRNAME/../.." && pwd)}

# promises: FILE: "TITLE", or a unit test: the last column of each row that has three
promises() {
	sed -n 's/^|[^|]*|[^|]*| \([^|]*\) |$/\1/p' "$SRCDIR/SECURITY.md" |
		grep -e '^[a-z0-9_./-]*: ' -e '^\.\./unit/'
}

@test "each promise of SECURITY.md names a test that is there" {
	local line file title n=0
	while read -r line; do
		n=$((n + 1))
		file=$(sed 's/^\([a-z0-9_./-]*\).*/\1/' <<<"$line")
		title=$(sed -n 's/^[^"]*"\(.*\)".*/\1/p' <<<"$line")
		case $line in
		../unit/*) [ -e "$SRCDIR/tests/bats/$file.c" ] && continue ;;
		"seccomp: the tests named F044") title=$(sed -n 's/^@test "\(F044.*\)" {/\1/p' \
			"$SRCDIR/tests/bats/seccomp.bats" | sed -n 1p) ;;
		esac
		grep -qF "@test \"$title\" {" "$SRCDIR/tests/bats/$file.bats" || {
			echo "no such test: $line"
			return 1
		}
	done < <(promises)
	[ "$n" -ge 50 ]
}
