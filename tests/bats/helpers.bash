# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# What every bats file loads. It defines setup and teardown; a file that needs its own calls
# ws_setup first and ws_teardown last. A test then has
#
#   $T      a scratch folder of its own on a real filesystem (below ${WSISO_TEST_TMP:-/var/tmp})
#   $ROOT   $T/root, with a wsiso.json
#   $ID     a session id; no session is made yet
#   $TAG    the mark that all processes of the test carry (see ws_tag)
#
# $WSISO is the binary under test, by default the one in PATH. WSISO_TEST_MUST_RUN=1 turns
# skips into failures, WSISO_LONG=1 asks for the full counts. On a machine that is N times
# slower than others WSISO_TEST_SLOW=N: whatever waits for something to happen waits longer.
#
# In the middle of a test `! command` cannot fail: write `refute command`.

bats_require_minimum_version 1.5.0

WSISO=${WSISO:-$(command -v wsiso || true)}
HELPERS=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
SRCDIR=${WSISO_SRCDIR:-$(cd "$HELPERS/../.." && pwd)}
PYTHON=/usr/bin/python3
SLOW=${WSISO_TEST_SLOW:-1}
export WSISO HELPERS SRCDIR PYTHON
unset WSISO_ROOT
umask 022

# ---- a test's beginning and end ----

setup() { ws_setup; }
teardown() { ws_teardown; }

ws_setup() {
	# bats notes where it is before each command, which takes a millisecond; for the test's
	# own lines that is enough
	set +T
	[ -x "$WSISO" ] || {
		echo "no wsiso to test: set WSISO to its path"
		return 1
	}
	T=$(mktemp -d "${WSISO_TEST_TMP:-/var/tmp}/ws.XXXXXX")
	chmod 755 "$T"
	ID=s$BATS_TEST_NUMBER
	ws_tag
	new_root "$T/root"
}

# new_root DIR [JSON...]: another root folder, from now on $ROOT; JSON is laid over its wsiso.json
new_root() {
	ROOT=$1
	shift
	ROOTS+=("$ROOT")
	mkdir -m 700 "$ROOT"
	spec "$ROOT/wsiso.json" '{"linger_s": '$((10 * SLOW))'}' "$@"
}

# Every process of a test, whatever it does to its session, parent or environment, inherits
# a limit (bytes of POSIX message queues) that no other test has, and anybody may read it.
ws_tag() {
	TAG=$((1000 + $$ % 800000))
	ulimit -q "$TAG" || return 1
}

# Ends what the test made, and fails if a process, a mount or a lock of it is left.
ws_teardown() {
	local bad=0 left
	[ -n "${T:-}" ] || return 0
	ws_delete_all || bad=1
	wait_for 5 no_process_left >/dev/null || true
	left=$(ws_leftovers)
	[ -z "$left" ] || {
		printf 'left over after the test:\n%s\n' "$left"
		bad=1
		ws_kill_leftovers
	}
	ws_remove "$T" || bad=1
	return "$bad"
}

ws_delete_all() {
	local dir bad=0
	for ROOT in "${ROOTS[@]}"; do
		for dir in "$ROOT"/sessions/*/; do
			[ -e "$dir/state.json" ] || continue
			ws delete -f "$(basename "$dir")" >"$T/delete.log" 2>&1 || {
				echo "delete -f $(basename "$dir") failed:"
				cat "$T/delete.log"
				bad=1
			}
		done
	done
	return $bad
}

no_process_left() { [ -z "$(tagged_pids)" ]; }
nothing_left() { [ -z "$(ws_leftovers)" ]; }

# Lines of what the test left: processes, mounts, locks.
ws_leftovers() {
	local pid
	for pid in $(tagged_pids); do
		ws_describe "$pid"
	done
	for pid in $(grep -ls -F "$T/" /proc/[0-9]*/mountinfo | pids_of_paths); do
		is_of_another_test "$pid" || echo "mounted in /proc/$pid/mountinfo"
	done
	locks_below "$T"
}

# What a test mounts is in the namespaces that others begin meanwhile, too, and where / is
# not shared it stays there, until they end.
is_of_another_test() {
	local limit
	limit=$(awk '/^Max msgqueue size/ { print $4 }' "/proc/$1/limits" 2>/dev/null)
	[ -z "$limit" ] || [ ! -e "/proc/$1/mountinfo" ] ||
		{ [ "$limit" != "$TAG" ] && [ "$limit" -lt 801000 ]; }
}

ws_describe() {
	local pid=$1 comm ppid state
	comm=$(cat "/proc/$pid/comm" 2>/dev/null) || return 0
	state=$(awk '/^State:/ { print $2 }' "/proc/$pid/status" 2>/dev/null)
	ppid=$(awk '/^PPid:/ { print $2 }' "/proc/$pid/status" 2>/dev/null)
	printf 'process %s (%s) state %s parent %s: %s\n' "$pid" "$comm" "$state" "$ppid" \
		"$(tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline")"
}

# Processes with this test's mark, but for the test itself (and whoever looks).
tagged_pids() {
	local pid all
	# they find themselves, too, and are gone when that is looked at
	all=$(grep -ls "^Max msgqueue size *$TAG " /proc/[0-9]*/limits | pids_of_paths)
	for pid in $all; do
		is_own_process "$pid" || is_left_to_init "$pid" || echo "$pid"
	done
}

# Is PID dead, and it is the machine's init that has not reaped it? Some look once a second.
is_left_to_init() {
	local stat
	read -r stat 2>/dev/null <"/proc/$1/stat" || return 0
	[[ ${stat##*) } == 'Z 1 '* ]]
}

# tagged_named NAME: those of that name
tagged_named() {
	local pid comm
	tagged_pids | while read -r pid; do
		read -r comm 2>/dev/null <"/proc/$pid/comm" || continue
		[ "$comm" != "$1" ] || echo "$pid"
	done
}

pids_of_paths() { sed 's|^/proc/\([0-9]*\)/.*|\1|'; }

# Is PID the shell of the test, or a child that only the test's own script made?
is_own_process() {
	local pid=$1 comm
	[ "$pid" -ne $$ ] && [ "$pid" -ne "$BASHPID" ] || return 0
	read -r comm 2>/dev/null <"/proc/$pid/comm" || return 0
	# a subshell of this very function's callers, which share their command line
	case $comm in
	bash | bats-exec-test) cmp -s "/proc/$pid/cmdline" "/proc/$$/cmdline" ;;
	*) return 1 ;;
	esac
}

ws_kill_leftovers() {
	local pid
	for pid in $(tagged_pids); do
		kill -KILL "$pid" 2>/dev/null || true
	done
}

# locks_below DIR: locks that anybody holds on a file below DIR
locks_below() {
	local inodes
	inodes=$(awk '$2 != "->" { split($6, part, ":"); print part[3] }' /proc/locks)
	[ -n "$inodes" ] || return 0
	find "$1" -xdev -printf '%i %p\n' 2>/dev/null |
		awk -v inodes="$inodes" '
		BEGIN { n = split(inodes, list); for (i = 1; i <= n; i++) held[list[i]] = 1 }
		$1 in held { print "locked: " $0 }'
}

# Folders of mode 000 included.
ws_remove() {
	rm -rf "$1" 2>/dev/null && return
	find "$1" -type d ! -perm -700 -exec chmod u+rwx {} \; 2>/dev/null
	chmod -R u+rwX "$1" 2>/dev/null
	rm -rf "$1"
}

# ---- what the machine must have ----

# cannot_run WHY: skip, or fail where every test must run
cannot_run() {
	[ "${WSISO_TEST_MUST_RUN:-0}" != 1 ] || {
		echo "WSISO_TEST_MUST_RUN is 1, but $1"
		return 1
	}
	skip "$1"
}

# Every test that starts a sandbox calls this first (new_session does).
need_userns() {
	local bwrap
	[ ! -e "$BATS_FILE_TMPDIR/userns" ] || return 0
	for bwrap in /usr/bin/bwrap /usr/local/bin/bwrap; do
		! "$bwrap" --unshare-user --ro-bind / / -- /bin/true 2>/dev/null || {
			touch "$BATS_FILE_TMPDIR/userns"
			return 0
		}
	done
	cannot_run "no bwrap here can make a user namespace"
}

# may_nest: may what bwrap starts make a user namespace and have its capabilities? Not under
# the profile that AppArmor has for it.
may_nest() { "$(real_bwrap)" --unshare-user --bind / / -- unshare -Ur true 2>/dev/null; }

need_program() {
	local name
	for name; do
		command -v "$name" >/dev/null || cannot_run "$name is not installed"
	done
}

# only_long: what takes a large toolchain, or long by its nature, is for the full counts
only_long() { [ "${WSISO_LONG:-}" = 1 ] || skip "for the full counts (make check-long)"; }

# long FEW MANY: a count
long() { if [ "${WSISO_LONG:-}" = 1 ]; then echo "$2"; else echo "$1"; fi; }

# ---- running wsiso ----

ws() { timeout -k 5 "$((${WS_TIMEOUT:-60} * SLOW))" "$WSISO" --root "$ROOT" "$@"; }

# ws_bg NAME ARGS...: in the background, with $T/NAME.{out,err}; $BG is wsiso's own PID
ws_bg() {
	local name=$1
	shift
	"$WSISO" --root "$ROOT" "$@" >"$T/$name.out" 2>"$T/$name.err" </dev/null 3>&- &
	export BG=$!
}

# ws_pty ARGS...: on a terminal of its own, whose output is printed (with CR LF)
ws_pty() {
	local command
	printf -v command '%q ' "$WSISO" --root "$ROOT" "$@"
	[ -p "$T/keyboard" ] || mkfifo "$T/keyboard"
	# at the end of its stdin script would type something
	timeout -k 5 "$((${WS_TIMEOUT:-60} * SLOW))" script -qefc "$command" /dev/null <>"$T/keyboard" 3>&-
}

# kind_of ARGS...: the kind of the error with which this call ends
kind_of() {
	ws --log-format json "$@" 2>&1 >/dev/null </dev/null |
		sed -n '/^{.*"level":"error"/ s/.*[^\\]","kind":"\([^"]*\)".*/\1/p' | tail -n 1
}

# refute COMMAND...: it must fail
refute() {
	if "$@"; then
		echo "this should have failed: $*"
		return 1
	fi
}

# expect_status N COMMAND...: it must end with status N
expect_status() {
	local want=$1 got=0
	shift
	"$@" || got=$?
	[ "$got" -eq "$want" ] || {
		echo "status $got, not $want: $*"
		return 1
	}
}

# wait_for SECONDS COMMAND...: until it succeeds
wait_for() {
	local until=$((SECONDS + $1 * SLOW + 1))
	shift
	while ! "$@"; do
		[ "$SECONDS" -lt "$until" ] || {
			echo "never came true: $*"
			return 1
		}
		sleep 0.05
	done
}

gone() { ! kill -0 "$1" 2>/dev/null || is_left_to_init "$1"; }

# ---- repositories, specs, sessions ----

# git on the host, without anybody's configuration
hgit() {
	GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 GIT_TERMINAL_PROMPT=0 \
		git -c user.name=Tester -c user.email=tester@example.org \
		-c init.defaultBranch=main -c commit.gpgSign=false "$@"
}

# new_repo DIR: three commits on main, a branch 'topic', a tag 'v1', folders, a link, an
# executable, a name with a blank
new_repo() {
	local first=$BATS_FILE_TMPDIR/repo
	[ -e "$first" ] || make_repo "$first"
	cp -a "$first" "$1"
}

make_repo() {
	local dir=$1
	hgit init -q "$dir"
	mkdir -p "$dir/d" "$dir/src/deep/er"
	printf 'hello\n' >"$dir/README.md"
	printf 'int main(void) { return 0; }\n' >"$dir/src/main.c"
	printf 'deep\n' >"$dir/src/deep/er/file"
	printf 'one\n' >"$dir/d/f"
	printf 'g1\n' >"$dir/d/g1"
	printf 'g2\n' >"$dir/d/g2"
	printf '#!/bin/sh\necho tool "$@"\n' >"$dir/tool.sh"
	printf 'blank\n' >"$dir/with blank"
	chmod 755 "$dir/tool.sh"
	ln -s README.md "$dir/link"
	hgit -C "$dir" add -A
	hgit -C "$dir" commit -q -m 'first'
	hgit -C "$dir" tag v1
	hgit -C "$dir" branch topic
	printf 'two\n' >>"$dir/d/f"
	hgit -C "$dir" commit -q -a -m 'second'
	printf 'kept\n' >"$dir/d/k"
	hgit -C "$dir" add d/k
	hgit -C "$dir" commit -q -m 'third'
}

# spec FILE JSON...: the objects laid over each other. (jq takes longer to start than most
# of what is tested; objects with no name in common are as well put side by side.)
spec() {
	local file=$1 json objects=()
	shift
	for json; do
		[ "$json" = '{}' ] || objects+=("$json")
	done
	case ${#objects[@]} in
	0) echo '{}' >"$file" ;;
	1) printf '%s\n' "${objects[0]}" >"$file" ;;
	*)
		side_by_side "${objects[@]}" >"$file" ||
			printf '%s\n' "${objects[@]}" | jq -s 'reduce .[] as $x ({}; . * $x)' >"$file"
		;;
	esac
}

side_by_side() {
	printf '%s\036' "$@" | awk '
	BEGIN { RS = "\036" }
	{
		text = $0
		if (!sub(/^[ \t\n]*{/, "", text) || !sub(/}[ \t\n]*$/, "", text)) exit common = 1
		all = all (NR > 1 ? "," : "") text
		while (match(text, /"[^"]*"[ \t\n]*:/)) {
			name = substr(text, RSTART, RLENGTH)
			sub(/[ \t\n]*:$/, "", name)
			if (name in of && of[name] != NR) exit common = 1
			of[name] = NR
			text = substr(text, RSTART + RLENGTH)
		}
	}
	END { if (common) exit 1; print "{" all "}" }'
}

# repo_spec PATH [NAME]: the part of a spec that names one repository
repo_spec() {
	if [[ "$1${2-}" == *[!-_./a-zA-Z0-9]* ]]; then
		jq -n --arg path "$1" --arg name "${2:-app}" '{repos: [{name: $name, path: $path}]}'
	else
		printf '{"repos": [{"name": "%s", "path": "%s"}]}' "${2:-app}" "$1"
	fi
}

# spoil_repo DIR: an object of its first commit goes, so that it resolves but has no full tree
spoil_repo() {
	local object
	object=$(hgit -C "$1" rev-parse HEAD:README.md)
	rm -f "$1/.git/objects/${object:0:2}/${object:2}"
}

SPEC_OPEN='{}' # what the spec of every session of a test begins with

# new_session [ID [JSON...]]: a session on $T/app (made if need be); JSON is laid over its spec
new_session() {
	local id=${1:-$ID}
	[ $# -eq 0 ] || shift
	need_userns
	[ -e "$T/app" ] || new_repo "$T/app"
	spec "$T/$id.json" "$SPEC_OPEN" "$(repo_spec "$T/app")" "$@"
	ws create "$id" --spec "$T/$id.json"
}

# in_session COMMAND...: in session $ID
in_session() { ws exec "$ID" -- "$@"; }

# refute_in_session ID PATH: nothing was written at PATH (seen from outside: a session that
# cannot start has no inside)
refute_in_session() {
	local dir=$ROOT/sessions/$1 path
	case $2 in
	/workspace/*) path=$dir/upper/${2#/workspace/} ;;
	/tmp/*) path=$dir/tmp/${2#/tmp/} ;;
	/home/*/*) path=$dir/home/${2#/home/*/} ;;
	*)
		echo "refute_in_session: $2 is in no folder of a session"
		return 1
		;;
	esac
	if [ -e "$path" ] || [ -L "$path" ]; then
		echo "$2 is there, in session $1"
		return 1
	fi
}

# state_of [ID [FILTER]]: its status, or what jq finds
state_of() {
	if [ $# -lt 2 ]; then
		ws state "${1:-$ID}" | sed -n 's/^  "status": "\(.*\)",\{0,1\}$/\1/p'
	else
		ws state "$1" | jq -r "$2"
	fi
}

# ---- another bwrap ----

# fake_bwrap SCRIPT: the bwrap of this root from now on
fake_bwrap() {
	printf '#!/bin/sh\n%s\n' "$1" >"$T/bwrap"
	chmod 755 "$T/bwrap"
	spec "$ROOT/wsiso.json" "$(jq -n --arg path "$T/bwrap" '{bwrap: {path: $path}, linger_s: 10}')"
}

real_bwrap() {
	local path
	for path in /usr/local/bin/bwrap /usr/bin/bwrap; do
		[ ! -x "$path" ] || echo "$path"
	done | head -n 1
}

# nothing_ran KIND: exec in $ID refuses, and no command ran
nothing_ran() {
	[ "$(kind_of exec "$ID" -- touch /workspace/ran /tmp/ran)" = "$1" ]
	expect_status 125 in_session touch /workspace/ran
	refute_in_session "$ID" /workspace/ran
	refute_in_session "$ID" /tmp/ran
	[ -z "$(sandbox_pids)" ]
}

# ---- what is inside ----

# build_programs NAME...: from tests/bats/programs, for setup_file
build_programs() {
	local name
	for name; do
		"${CC:-cc}" -O1 -Wall -Werror -D_GNU_SOURCE -o "$BATS_FILE_TMPDIR/$name" \
			"$HELPERS/programs/$name.c"
	done
}

# put_program NAME [ID]: as /tmp/NAME inside
put_program() {
	# shellcheck disable=SC2016 # for the inner shell to expand
	ws exec -i "${2:-$ID}" -- sh -c 'cat >"$0" && chmod 755 "$0"' "/tmp/$1" \
		<"$BATS_FILE_TMPDIR/$1"
}

# sandbox_pids [ID]: the host's PIDs of all that has a mount of this session
sandbox_pids() {
	grep -ls -F "$ROOT/sessions/${1:-$ID}/" /proc/[0-9]*/mountinfo | pids_of_paths
}

# init_pid [ID]: the host's PID of the sandbox's PID 1
init_pid() {
	local pid
	for pid in $(sandbox_pids "$@"); do
		[ "$(awk '/^NSpid:/ { print $NF }' "/proc/$pid/status" 2>/dev/null)" = 1 ] &&
			echo "$pid" && return
	done
	return 1
}

has_sandbox() { [ -n "$(init_pid "$@")" ]; }
has_no_sandbox() { [ -z "$(sandbox_pids "$@")" ]; }

# overlays_of [ID]: the device numbers of the overlays that anybody has mounted over this
# session's upper; two lines would mean two sandboxes
overlays_of() {
	local pid
	for pid in $(sandbox_pids "$@"); do
		awk '$5 == "/workspace" { print $3 }' "/proc/$pid/mountinfo" 2>/dev/null
	done | sort -u
}

# ---- JSON ----

# matches_schema NAME FILE [--lines]: FILE is as schemas/NAME.schema.json says
matches_schema() {
	[ -e "$BATS_FILE_TMPDIR/jsonschema" ] || "$PYTHON" -c 'import jsonschema' 2>/dev/null ||
		cannot_run "python3-jsonschema is not installed"
	touch "$BATS_FILE_TMPDIR/jsonschema"
	"$PYTHON" "$SRCDIR/tests/json_schema.py" "$SRCDIR/schemas/$1.schema.json" "$2" ${3+"$3"}
}
