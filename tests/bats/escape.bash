# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# shellcheck disable=SC2034 # what uses these is in the files that load this one
#
# What the escape-*.bats files share: the attacker's attempts (programs/escape/), the host
# that they are made on (programs/escape_host.py), and the ways to run them.
#
# No attempt counts that cannot succeed: each is first made in a sandbox of bwrap's that lacks
# the protection in question, where it must.

PAYLOAD=$(cat "$HELPERS"/programs/escape/*.py)

# What a weak sandbox is for each kind of attempt.
declare -gA WEAK=(
	[bare]='--bind / / --dev-bind /dev /dev'
	[root]='--unshare-user --uid 0 --gid 0 --cap-add ALL --unshare-uts --unshare-net
		--bind / / --dev-bind /dev /dev --ro-bind /usr /usr --tmpfs /mnt'
	[host]='--bind / / --dev-bind /dev /dev --cap-add ALL'
	[calls]='--bind / / --dev-bind /dev /dev'
)

# The kernel may lack what an attempt is about; then it has no such hole.
ABSENT='EIO|ENOSYS|EAFNOSUPPORT|EPROTONOSUPPORT|EOPNOTSUPP'

# Nor if the host's own switches are above these values.
declare -gA SWITCH=(
	[count_performance_events]='kernel/perf_event_paranoid 2'
	[set_up_an_io_uring]='kernel/io_uring_disabled 0'
)

# closed_by_the_host NAME...: those of the attempts that are
closed_by_the_host() {
	local name switch most value
	for name; do
		read -r switch most <<<"${SWITCH[$name]}"
		value=$(cat "/proc/sys/$switch" 2>/dev/null) || continue
		[ "$value" -le "$most" ] || echo "cannot $name:"
	done
}

escape_setup() {
	ws_setup
	need_userns
	export HOME=$T/home ESCAPE_TOKEN=SECRET
	spec "$ROOT/wsiso.json" '{"linger_s": 10}'
	mkdir -p "$HOME/.ssh" "$HOME/project" "$T/out" "$T/run"
	echo SECRET >"$HOME/.ssh/id"
	echo unchanged >"$T/stdin"
	mkfifo "$T/hold"
	"$PYTHON" "$HELPERS/programs/escape_host.py" hold "$HOME/.ssh" \
		<"$T/hold" >"$T/host.json" 2>"$T/host.err" 3>&- &
	HOST=$!
	exec 8>"$T/hold"
	wait_for 5 test -s "$T/host.json"
}

escape_teardown() {
	exec 8>&-
	wait "$HOST" || true
	ws_teardown
}

# another_session: one with a file that is not the attacker's
another_session() {
	spec "$T/other.json" '{}'
	ws create other --spec "$T/other.json"
	ws exec other -- sh -c 'echo OTHER >/workspace/mine'
	[ -e "$ROOT/sessions/other/upper/mine" ]
}

# facts [JSON]: what the payload is told
facts() {
	jq -cn --slurpfile host "$T/host.json" --arg t "$T" --arg root "$ROOT" \
		--argjson disk "$(stat -c %d "$T")" --argjson more "${1:-{\}}" \
		'$host[0] + {home: ($t + "/home"), secret: ($t + "/home/.ssh/id"), root: $root, key: 0,
		other: ($root + "/sessions/other/upper/mine"), drop: "/tmp/drop", hidden: "/tmp",
		scratch: "/tmp", disk: $disk, allowed: []} + $more' | sed 's/"key":0/"key":@KEY@/'
}

# as_caller COMMAND...: with what a careless caller has: a key, an open file, a file for stdin
as_caller() {
	"$PYTHON" "$HELPERS/programs/escape_host.py" with-key "$@" <"$T/stdin" 9<"$HOME/.ssh/id"
}

# weak KIND: the attempts of a kind in a weak sandbox
weak() {
	local own=false scratch=/mnt
	[ "$1" != root ] || own=true
	[ "$1" != host ] || scratch=/tmp
	# shellcheck disable=SC2086 # words
	as_caller timeout $((60 * SLOW)) "$(real_bwrap)" ${WEAK[$1]} -- "$PYTHON" -c "$PAYLOAD" \
		"$(facts "$(jq -n --arg t "$T" --arg s $scratch --argjson own $own '{weak: true,
			own_mounts: $own, drop: ($t + "/drop"), hidden: "/mnt", scratch: "/mnt"}')")" "$1"
}

ALLOWED='{}' # what the contract allows in a mode

# inside WSISO-ARGS... -- KINDS...: the attempts of these kinds in a real one
inside() {
	local args=()
	while [ "$1" != -- ]; do
		args+=("$1")
		shift
	done
	shift
	as_caller timeout $((60 * SLOW)) "$WSISO" --root "$ROOT" "${args[@]}" -- \
		"$PYTHON" -c "$PAYLOAD" "$(facts "$ALLOWED")" "$@"
}

# all_can FILE: every attempt succeeded, or is about something this kernel lacks
all_can() {
	grep -q '^done' "$1" || { cat "$1" && return 1; }
	closed_by_the_host "${!SWITCH[@]}" >"$T/closed"
	refute grep -E '^cannot' <(grep -vE "^cannot [a-z0-9_]+: ($ABSENT) " "$1" | grep -vFf "$T/closed")
}

# none_can FILE LEAST: all were made, so many at least, and none succeeded
none_can() {
	grep -q '^done' "$1" || { cat "$1" && return 1; }
	refute grep -E '^can |: broken' "$1"
	[ "$(grep -c '^cannot ' "$1")" -ge "$2" ]
}

# untouched: nothing on the host shows that an attempt was made
untouched() {
	[ "$(cat "$T/stdin")" = unchanged ]
	[ "$(cat "$HOME/.ssh/id")" = SECRET ]
	[ ! -e "$HOME/.ssh/authorized_keys" ]
	[ ! -e "$ROOT/sessions/planted" ]
	[ ! -e "$T/drop" ]
	kill -0 "$HOST"
}

# session MODE [JSON...]: the session to attack
session() {
	local mode=$1
	shift
	spec "$T/$ID.json" "{\"sandbox\": {\"seccomp\": \"$mode\"}}" "$@"
	ws create "$ID" --spec "$T/$ID.json"
}

# refused LEAST WSISO-ARGS... -- KINDS...
refused() {
	local least=$1
	shift
	inside "$@" >"$T/got"
	judged "$least"
}

# judged LEAST: what the payload said, in $T/got
judged() {
	tr -d '\r' <"$T/got" >"$T/said"
	none_can "$T/said" "$1"
	untouched
}
