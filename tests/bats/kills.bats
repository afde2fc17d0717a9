#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016 # for the shell inside to expand
#
# SIGKILL of everything that can be killed, at random moments, with a sandbox that does not
# linger: no orphan, no stuck lock, never two sandboxes on one upper, and the next exec
# works. WSISO_TEST_SEED=N repeats a run (as far as a machine repeats itself), WSISO_LONG=1
# kills 200 times instead of 20.
load helpers

setup_file() { build_programs killer snipe; }

setup() {
	ws_setup
	spec "$ROOT/wsiso.json" '{"linger_s": 0}'
	new_session
	RANDOM=${WSISO_TEST_SEED:-$RANDOM}
	SEED=$RANDOM
	RANDOM=$SEED
	echo "# $BATS_TEST_DESCRIPTION: seed $SEED" >&3
	measure
	ROUNDS=$(long 10 200)
	LANDED=0 # kills that hit something
}

# How long one exec takes here, with the start of its sandbox, in ms.
measure() {
	local before after
	in_session true
	before=$(date +%s%N)
	in_session true
	in_session true
	after=$(date +%s%N)
	EXEC_MS=$(((after - before) / 2000000 + 1))
}

# random_sleep MS: up to MS
random_sleep() {
	local ms
	ms=$((RANDOM % ($1 + 1)))
	sleep "$(printf '%d.%03d' $((ms / 1000)) $((ms % 1000)))"
}

# shot PIDS: kills what is there of them, one a line, and counts it
shot() {
	local pid
	while read -r pid; do
		if kill -KILL "$pid" 2>/dev/null; then
			landed 1
		fi
	done <<<"$1"
}

landed() { LANDED=$((LANDED + $1)); }

# Who looks after a command.
shepherds() { tagged_named wsiso-shepherd; }

# works ROUND: the next exec does, at once and right, on the only sandbox there is
works() {
	local out
	out=$(WS_TIMEOUT=20 in_session sh -c "echo $1 >>rounds; tail -n 1 rounds") || {
		echo "round $1: the next exec failed: $out"
		return 1
	}
	[ "$out" = "$1" ] || {
		echo "round $1: the next exec printed '$out'"
		return 1
	}
	[ "$(overlays_of | wc -l)" -le 1 ] || {
		echo "round $1: more than one overlay"
		return 1
	}
}

# all_rounds: every round's line is in the file, once, in order, and nobody is left
all_rounds() {
	[ "$(in_session cat rounds | xargs)" = "$(seq "$ROUNDS" | xargs)" ]
	wait_for 10 has_no_sandbox
	wait_for 5 nothing_left
	echo "# $LANDED kills landed in $ROUNDS rounds" >&3
	[ "$LANDED" -ge $((ROUNDS / 2)) ]
}

# ended_as STATUS...: how the round's command may have ended
ended_as() {
	local got=0 want
	wait "$BG" 2>/dev/null || got=$?
	for want; do
		[ "$got" -ne "$want" ] || return 0
	done
	echo "the command ended with $got, not one of $*: $(tail -n 2 "$T/victim.err")"
	return 1
}

@test "SIGKILL of wsiso itself at any moment leaves nothing and harms nothing" {
	local round
	for round in $(seq "$ROUNDS"); do
		ws_bg victim exec "$ID" -- sh -c 'sleep 500 & setsid sleep 500 & sleep 500'
		random_sleep $((EXEC_MS * 2))
		shot "$BG"
		ended_as 137
		works "$round"
	done
	all_rounds
}

@test "SIGKILL of PID 1 at any moment: its commands end with 137, the next has a new sandbox" {
	local round
	for round in $(seq "$ROUNDS"); do
		ws_bg victim exec "$ID" -- sh -c 'sleep 500 & setsid sleep 500 & sleep 500'
		wait_for 20 has_sandbox
		random_sleep 30
		# the very start may be repeated for the command, with a sandbox of its own
		while [ -e "/proc/$BG" ]; do
			shot "$(init_pid)"
			sleep 0.03
		done
		ended_as 137 125
		works "$round"
	done
	all_rounds
}

@test "SIGKILL of bwrap while it starts a sandbox leaves nothing and harms nothing" {
	local round
	for round in $(seq "$ROUNDS"); do
		wait_for 10 has_no_sandbox
		ws_bg victim exec "$ID" -- echo fine
		# the first child of an exec without a sandbox is bwrap
		if "$BATS_FILE_TMPDIR/snipe" "$BG" $((RANDOM % (EXEC_MS * 700))); then
			landed 1
		fi
		ended_as 0 125 137
		works "$round"
	done
	all_rounds
}

@test "SIGKILL of a command's shepherd at any moment ends its whole tree" {
	local round
	for round in $(seq "$ROUNDS"); do
		ws_bg victim exec "$ID" -- sh -c 'setsid sleep 500 & echo up; sleep 500'
		wait_for 20 test -s "$T/victim.out"
		random_sleep 20
		shot "$(shepherds)"
		ended_as 137
		: >"$T/victim.out"
		works "$round"
		refute in_session pgrep -x sleep
	done
	all_rounds
}

@test "a shepherd that its own payload kills takes nothing outside along, and its tree ends" {
	ws_bg victim exec "$ID" -- sh -c 'setsid sleep 500 & kill -KILL $PPID; sleep 500'
	ended_as 137
	[ "$(in_session echo works)" = works ]
	refute in_session pgrep -x sleep
}

# One of several loops: numbers, each into a file of its own through an exec of its own.
# What succeeded is noted outside. Anything but success and a death that was due is told.
chaos_loop() {
	local name=$1 count=$2 i got out
	for i in $(seq "$count"); do
		got=0
		out=$("$WSISO" --root "$ROOT" exec "$ID" -- sh -c "echo $i >$name.$i && sync -d $name.$i && cat $name.$i" \
			2>>"$T/$name.err" 3>&-) || got=$?
		case $got in
		0)
			[ "$out" = "$i" ] || echo "$name: $i printed '$out'" >>"$T/wrong"
			echo "$name.$i" >>"$T/$name.done"
			;;
		137 | 125) ;;
		*) echo "$name: $i ended with $got: $(tail -n 1 "$T/$name.err")" >>"$T/wrong" ;;
		esac
	done 3>&-
	: >"$T/$name.finished"
}

@test "parallel loops under random kills: right results, nothing lost, nothing left" {
	local loop loops=() name kind number killer
	: >"$T/wrong"
	for loop in a b c d; do
		: >"$T/$loop.done"
		chaos_loop "$loop" $((ROUNDS * 2)) &
		loops+=($!)
	done
	"$BATS_FILE_TMPDIR/killer" "$TAG" "$SEED" "$EXEC_MS" "$T/stop" >"$T/killed" 3>&- &
	killer=$!
	while [ "$(find "$T" -maxdepth 1 -name '?.finished' | wc -l)" -lt 4 ]; do
		[ "$(overlays_of | wc -l)" -le 1 ] || echo "two overlays" >>"$T/wrong"
		sleep 0.1
	done
	: >"$T/stop"
	wait "${loops[@]}" "$killer"
	cat "$T/wrong"
	[ ! -s "$T/wrong" ]
	cat "$T"/?.done | sort >"$T/done"
	echo "# killed: $(xargs <"$T/killed"); $(wc -l <"$T/done") of $((ROUNDS * 8)) came through" >&3
	while read -r kind number; do
		[ "$number" -ge 1 ] || echo "no $kind was killed"
		landed "$number"
	done <"$T/killed"
	[ "$LANDED" -ge "$ROUNDS" ]
	[ "$(wc -l <"$T/done")" -ge $((ROUNDS / 2)) ]
	while read -r name; do
		[ "$(cat "$ROOT/sessions/$ID/upper/app/$name")" = "${name#*.}" ]
	done <"$T/done"
	[ "$(in_session echo works)" = works ]
	wait_for 10 has_no_sandbox
	wait_for 5 nothing_left
}

@test "a wsiso that is stopped, not dead, does not block its session" {
	local i
	for i in 1 2 3 4 5; do
		ws_bg victim exec "$ID" -- sh -c 'echo up; sleep 500'
		wait_for 20 test -s "$T/victim.out"
		kill -STOP "$BG"
		works "$i" || {
			kill -KILL "$BG"
			return 1
		}
		kill -KILL "$BG"
		ended_as 137
	done
}
