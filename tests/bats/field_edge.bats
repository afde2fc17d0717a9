#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016 # for the shell inside to expand
# shellcheck disable=SC2154 # bats sets stderr
#
# Failures that people reported of neighbouring tools, by their numbers in the project's list
# of field cases: what must not cross the edge of a sandbox.
load helpers

setup_file() { build_programs self tiocsti; }

tmp_of() { echo "$ROOT/sessions/$ID/tmp/$1"; }

# ---- descriptors and terminals ----

@test "F034: no descriptor of the caller is inside, of whatever kind and number" {
	new_session
	put_program self
	mkdir "$T/dir"
	echo secret >"$T/dir/secret"
	echo file >"$T/file"
	run bash -c 'exec 9<"$0/dir" 10<"$0/file" 11>>"$0/file" 12<>"$0/file" 13</ 14</proc/self 200<"$0/dir" \
			15<&0 16> >(cat) 250<"$0/dir"
		exec 4>&- 17<"$0/dir/secret"; rm "$0/dir/secret"
		"$1" --root "$0/root" exec "$2" -- sh -c "/tmp/self | grep ^fds:; ls /proc/self/fd | xargs
			cat /proc/self/fd/9/../file /proc/self/fd/17; echo x >/proc/self/fd/9/new; exit 0" 2>/dev/null' \
		"$T" "$WSISO" "$ID"
	[ "${lines[0]}" = "fds: 0 1 2" ]
	[ "${lines[1]}" = "0 1 2 3" ] # 3 is ls's own
	[ "${#lines[@]}" -eq 2 ]
	[ ! -e "$T/dir/new" ]
	[ "$(cat "$T/file")" = file ]
}

@test "F034: neither does a sandbox that such a caller starts keep one" {
	local pid
	new_session
	mkdir "$T/dir"
	bash -c 'exec 9<"$0/dir" 200<"$0/dir"; "$1" --root "$0/root" exec -d "$2" -- sleep 60' "$T" "$WSISO" "$ID"
	for pid in $(tagged_named bwrap) $(sandbox_pids); do
		refute ls -l "/proc/$pid/fd" 2>/dev/null | refute grep -F "$T/dir"
	done
	put_program self
	[ "$(in_session /tmp/self | grep ^fds:)" = "fds: 0 1 2" ]
}

@test "F034: a folder to start in that leads through /proc is refused" {
	local dir
	new_session
	for dir in /proc/self/fd/9 /proc/self/cwd /proc/1/root /proc/self/root/tmp /proc/thread-self/fd/0; do
		expect_status 125 ws exec --cwd "$dir" "$ID" -- touch /tmp/ran 9<"$T"
		refute_in_session "$ID" /tmp/ran
	done
	in_session ln -s /proc/self/fd/9 /tmp/away
	expect_status 125 ws exec --cwd /tmp/away "$ID" -- touch /tmp/ran 9<"$T"
	refute_in_session "$ID" /tmp/ran
}

# typed_outside COMMAND...: what a shell on a terminal reads of its own input after COMMAND
typed_outside() {
	{
		printf '%q ' "$@"
		printf '\nIFS= read -r -t 1 x\necho "outer read [$x]"\n'
	} >"$T/typed.sh"
	[ -p "$T/keyboard" ] || mkfifo "$T/keyboard"
	timeout 60 script -qec "bash '$T/typed.sh'" /dev/null <>"$T/keyboard" 3>&- | tr -d '\r' |
		grep -o 'outer read.*'
}

@test "F036: nothing that is typed inside comes out of the caller's terminal" {
	local option
	new_session
	put_program tiocsti
	# the probe can do it where the kernel lets it
	if [ "$(cat /proc/sys/dev/tty/legacy_tiocsti 2>/dev/null)" = 1 ] || [ "$(id -u)" -eq 0 ]; then
		[ "$(typed_outside "$BATS_FILE_TMPDIR/tiocsti" $'injected\n')" = 'outer read [injected]' ]
	fi
	for option in -t -i ''; do
		[ "$(typed_outside "$WSISO" --root "$ROOT" exec ${option:+"$option"} "$ID" -- \
			/tmp/tiocsti $'injected\n')" = 'outer read []' ]
	done
}

@test "F036: the same with new_session in either setting, and for a background command" {
	local value
	for value in true false; do
		new_session "$ID-$value" "{\"sandbox\": {\"new_session\": $value}}"
		put_program tiocsti "$ID-$value"
		[ "$(typed_outside "$WSISO" --root "$ROOT" exec -t "$ID-$value" -- \
			/tmp/tiocsti $'injected\n')" = 'outer read []' ]
		typed_outside "$WSISO" --root "$ROOT" exec -d "$ID-$value" -- /tmp/tiocsti $'injected\n' |
			grep -qxF 'outer read []'
	done
}

# ---- hosts that cannot ----

@test "F046: without bwrap nothing runs" {
	new_session
	spec "$ROOT/wsiso.json" '{"bwrap": {"path": "/nonexistent/bwrap"}}'
	nothing_ran bwrap-unusable
	expect_status 1 ws check
}

@test "F046: a bwrap that is too old, or only says so, runs nothing" {
	local version
	new_session
	for version in 0.9.0 0.8.0 0.1 '' garbage; do
		fake_bwrap "[ \"\$1\" = --version ] && echo 'bubblewrap $version' && exit
			exec $(real_bwrap) \"\$@\""
		nothing_ran bwrap-unusable
	done
}

@test "F046: a bwrap that fails at the loopback or at the namespace runs nothing and says so" {
	local text
	new_session
	for text in 'loopback: Failed RTM_NEWADDR: Operation not permitted' \
		'setting up uid map: Permission denied' 'No permissions to create new namespace'; do
		fake_bwrap "[ \"\$1\" = --version ] && echo 'bubblewrap 0.12.0' && exit
			[ \"\$1\" = --help ] && exec $(real_bwrap) --help
			echo 'bwrap: $text' >&2; exit 1"
		run --separate-stderr in_session touch /workspace/ran
		[ "$status" -eq 125 ]
		[ -z "$output" ]
		[[ "$stderr" == *"$text"* || "$stderr" == *namespace* ]]
		refute_in_session "$ID" /workspace/ran
	done
}

@test "F046: where the kernel forbids user namespaces nothing runs and the reason is told" {
	new_session
	cp "$(real_bwrap)" "$T/bwrap"
	spec "$ROOT/wsiso.json" '{"allow_root": true}' \
		"$(jq -n --arg path "$T/bwrap" '{bwrap: {path: $path}}')"
	export ROOT ID
	# a namespace in which no other can be made
	run --separate-stderr unshare -Ur sh -c 'echo 0 >/proc/sys/user/max_user_namespaces || exit 77
		exec "$WSISO" --root "$ROOT" exec "$ID" -- touch /workspace/ran'
	[ "$status" -ne 77 ] || cannot_run "max_user_namespaces cannot be set here"
	[ "$status" -eq 125 ]
	[ -z "$output" ]
	[[ "$stderr" == *namespace* ]]
	refute_in_session "$ID" /workspace/ran
	run unshare -Ur sh -c 'echo 0 >/proc/sys/user/max_user_namespaces; exec "$WSISO" --root "$ROOT" check'
	[ "$status" -eq 1 ]
	[[ "$output" == *max_user_namespaces* ]]
}

@test "F046: a bwrap in PATH is never taken" {
	new_session
	mkdir "$T/bin"
	printf '#!/bin/sh\ntouch %s\nexec %s "$@"\n' "$T/marks" "$(real_bwrap)" >"$T/bin/bwrap"
	chmod 755 "$T/bin/bwrap"
	PATH=$T/bin:$PATH ws check >/dev/null || true
	[ "$(PATH=$T/bin:$PATH in_session echo works)" = works ]
	[ ! -e "$T/marks" ]
}

@test "F046: a bwrap at another place works when wsiso.json names it" {
	new_session
	cp "$(real_bwrap)" "$T/bwrap"
	spec "$ROOT/wsiso.json" "$(jq -n --arg path "$T/bwrap" '{bwrap: {path: $path}, linger_s: 10}')"
	[ "$(in_session echo works)" = works ]
	[ "$(state_of "$ID" .wsiso.sandbox.bwrap.path)" = "$T/bwrap" ]
}

# ---- names ----

# odd_names: names that are no session ids, each ended by a NUL
odd_names() {
	printf '%s\0' ../../x ../x /etc / . .. '' a/b a/ ./a -rf --help- %s '%s%n' 'a b' $'a\nb' $'a\tb' $'\033[31m' \
		'a*' '~' '$HOME' '`id`' 'ä' $'\xff' '.hidden' '_a' "$(printf 'a%.0s' $(seq 129))" \
		"$(printf 'a%.0s' $(seq 300))" 'a:b' 'a;b' 'a\b' 'a"b'
}

@test "F049: no command takes an odd name for a session, and nothing outside the root is touched" {
	local name
	echo '{}' >"$T/spec.json"
	mkdir "$T/x" "$ROOT/sessions"
	echo '{}' >"$T/x/config.json"
	mkdir -p "$ROOT/x"
	touch "$ROOT/x/state.json" "$T/x/state.json"
	while IFS= read -r -d '' name; do
		for command in "create --spec $T/spec.json" 'delete -f' 'exec' state stop 'update --network share' 'kill' 'logs'; do
			# shellcheck disable=SC2086 # words
			run --separate-stderr ws $command -- "$name" true
			[ "$status" -eq 2 ] || [ "$status" -eq 125 ] || [ "$status" -eq 3 ]
			[ -z "$output" ]
			[[ "$stderr" != *$'\033'* ]]
		done
	done < <(odd_names)
	[ -e "$T/x/state.json" ]
	[ -e "$ROOT/x/state.json" ]
	[ "$(find "$ROOT/sessions" -mindepth 1)" = "" ]
}

@test "F049: ids may have all that the contract allows, up to 128 characters" {
	local name
	spec "$T/spec.json" "$SPEC_OPEN"
	for name in a 0 A a.b a_b a-b a..b "$(printf 'a%.0s' $(seq 128))" CON a.json a.tmp; do
		ws create "$name" --spec "$T/spec.json"
		[ "$(state_of "$name" .id)" = "$name" ]
		ws delete "$name"
		[ ! -e "$ROOT/sessions/$name" ]
	done
}

@test "F049: names that differ by case alone are two sessions" {
	spec "$T/spec.json" "$SPEC_OPEN"
	ws create case --spec "$T/spec.json"
	ws create Case --spec "$T/spec.json"
	ws delete case
	[ "$(state_of Case)" = created ]
	expect_status 3 ws state case
}

@test "F049: a link in the place of a session is not followed" {
	mkdir -p "$T/elsewhere" "$ROOT/sessions"
	echo precious >"$T/elsewhere/file"
	echo '{}' >"$T/elsewhere/config.json"
	ln -s "$T/elsewhere" "$ROOT/sessions/$ID"
	spec "$T/spec.json" "$SPEC_OPEN"
	refute ws create "$ID" --spec "$T/spec.json"
	refute ws create "$ID"
	refute ws exec "$ID" true
	ws delete -f "$ID" || true
	[ "$(cat "$T/elsewhere/file")" = precious ]
	[ "$(find "$T/elsewhere" -mindepth 1 | wc -l)" -eq 2 ]
}

# ---- secrets ----

# holding SECRET FILE...: those in which it stands
holding() { grep -rlas -e "$1" "${@:2}" || true; }

@test "F055: a secret given as a value would be found, where this looks for it" {
	local secret=s3cr3t-$TAG-v
	new_session
	ws_bg run exec -e "TOKEN=$secret" "$ID" -- sleep 60
	wait_for 20 in_session pgrep -x sleep
	[ -n "$(holding "$secret" /proc/[0-9]*/cmdline)" ]
	[ -z "$(holding "$secret" "$ROOT")" ]
	kill "$BG"
	wait || true
}

@test "F055: a secret given by name is in no command line, log, record or journal" {
	local secret=s3cr3t-$TAG-x
	new_session
	export TOKEN=$secret
	ws_bg run --log-level debug --log "$T/log" exec -e TOKEN "$ID" -- sh -c 'touch /tmp/on; sleep 60'
	wait_for 20 test -e "$(tmp_of on)"
	unset TOKEN
	[ -z "$(holding "$secret" /proc/[0-9]*/cmdline)" ]
	[ "$(in_session sh -c 'tr "\0" "\n" </proc/$(pgrep -x sleep)/environ | grep ^TOKEN')" = "TOKEN=$secret" ]
	kill "$BG"
	wait || true
	[ -e "$T/log" ]
	[ -z "$(holding "$secret" "$ROOT" "$T/log" "$T/run.err")" ]
}

@test "F055: neither is one from an environment file or a process file" {
	local secret=s3cr3t-$TAG-y
	new_session
	echo "TOKEN=$secret" >"$T/env"
	jq -n --arg value "TOKEN=$secret" '{args: ["sh", "-c", "echo $TOKEN >/tmp/on; sleep 60"], env: [$value]}' \
		>"$T/process.json"
	ws_bg one exec --env-file "$T/env" "$ID" -- sh -c 'echo $TOKEN >/tmp/on1; sleep 60'
	ws_bg two exec --process "$T/process.json" "$ID"
	wait_for 20 test -s "$(tmp_of on)"
	wait_for 20 test -s "$(tmp_of on1)"
	[ "$(cat "$(tmp_of on)")" = "$secret" ]
	[ "$(cat "$(tmp_of on1)")" = "$secret" ]
	rm "$(tmp_of on)" "$(tmp_of on1)"
	[ -z "$(holding "$secret" /proc/[0-9]*/cmdline)" ]
	ws stop "$ID"
	wait || true
	[ -z "$(holding "$secret" "$ROOT")" ]
}

@test "F055: exec --dry-run redacts it" {
	local secret=s3cr3t-$TAG-z
	new_session
	TOKEN=$secret ws exec --dry-run -e TOKEN "$ID" -- true >"$T/plan"
	TOKEN=$secret ws exec --dry-run --json -e TOKEN -e "OTHER=$secret" "$ID" -- true >"$T/plan.json"
	[ -s "$T/plan" ]
	jq -e . "$T/plan.json" >/dev/null
	refute grep -F "$secret" "$T/plan" "$T/plan.json"
	grep -q TOKEN "$T/plan.json"
}

