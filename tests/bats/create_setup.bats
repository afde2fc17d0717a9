#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # bats sets stderr
# shellcheck disable=SC2016 # the scripts are for the shell inside
#
# The setup script of a repo: create runs it once, in a sandbox, and keeps what it made.
load helpers
load create_helpers
load setup_helpers

setup_file() { build_programs calls; }

@test "create runs the script once; sessions over that base find what it made" {
	setup_repo 'mkdir -p built/deep; echo one >built/deep/f; ln -s deep built/link; chmod 700 built/deep
		echo more >>d/f; rm with\ blank; printf "#!/bin/sh\n" >tool.sh'
	(cd "$T/app" && find . -printf '%p %y %m %s %T@ %l\n' | sort) >"$T/before"
	create_with first
	[ "$(events first)" = "started done" ]
	create_with second
	[ "$(events second)" = reused ]
	[ "$(state_of first '.wsiso.snapshots[0].setup')" = "$(state_of second '.wsiso.snapshots[0].setup')" ]
	[ "$(layer_of setup first)" = "$(layer_of setup second)" ]
	for id in first second; do
		[ "$(ws exec "$id" -- sh -c 'cat built/link/f; tail -n 1 d/f; stat -c %a built/deep; ls')" = \
			"$(printf '%s\n' one more 700 README.md built d link src tool.sh)" ]
		[ "$(ws exec "$id" -- git status --porcelain | xargs)" = "M d/f M tool.sh D with blank ?? built/" ]
		[ -z "$(ws diff "$id")" ]
	done
	ws state second >"$T/state.json"
	matches_schema state "$T/state.json"
	(cd "$T/app" && find . -printf '%p %y %m %s %T@ %l\n' | sort) | diff "$T/before" -
	empty_below tmp trash
}

@test "what a session makes of it is its own" {
	setup_repo 'mkdir built; echo one >built/f'
	create_with first
	create_with second
	ws exec first -- sh -c 'echo two >built/f; echo >built/new'
	ws exec second -- sh -c '[ "$(cat built/f)" = one ] && [ ! -e built/new ]'
	[ "$(cat "$(layer_of setup first)/root/app/built/f")" = one ]
	create_with third
	ws exec third -- sh -c '[ "$(cat built/f)" = one ]'
}

@test "a child has what its parent's setup made, also when the parent and all use of it are gone" {
	setup_repo 'mkdir built; echo one >built/f'
	create_with parent '{"subagent_isolation": "isolated"}'
	ws exec parent -- sh -c 'echo edit >>built/f'
	ws create child --parent parent
	[ "$(key_of child)" = "$(key_of parent)" ]
	ws delete -f parent
	# what is free is never enough, so all that no session has goes at once
	spec "$ROOT/wsiso.json" '{"linger_s": 10, "snapshots": {"min_free_gb": 1000000}}'
	ws gc 2>/dev/null
	expect_status 3 ws setup remove "$(key_of child)" 2>/dev/null
	[ "$(ws exec child -- cat built/f | xargs)" = "one edit" ]
	ws delete -f child
	ws gc 2>/dev/null
	[ -z "$(ws setup list -q)" ]
	[ -z "$(ls "$ROOT/layers")" ]
}

@test "the script is confined as the command of a run is" {
	local look='grep -E "^(Cap|NoNewPrivs|Seccomp)" /proc/self/status; grep -c . /proc/self/uid_map
		for ns in user mnt pid ipc net; do [ "$(readlink /proc/self/ns/$ns)" != "${!ns}" ] && echo own $ns; done
		ls /proc/self/fd | wc -l; cat /proc/self/oom_score_adj; kill -0 1 2>&1 | grep -o "Operation not permitted"
		touch /usr/x /etc/x 2>&1 | grep -c "Read-only file system"; ls / | grep -v workspace | xargs; cat /proc/keys; ulimit -Hc'
	local vars
	vars=$(for ns in user mnt pid ipc net; do echo "$ns='$(readlink /proc/self/ns/$ns)'"; done)
	setup_repo "$vars; ($look) >looks 2>&1; true"
	create_with "$ID"
	in_session cat looks >"$T/setup"
	ws run -- bash -c "$vars; ($look) 2>&1; true" >"$T/run"
	diff "$T/run" "$T/setup"
	[ "$(grep -c '^own' "$T/setup")" -eq 5 ]
	grep -q '^NoNewPrivs:.1$' "$T/setup"
}

@test "every forbidden call fails in a setup as it does in a run" {
	setup_repo './calls native >out 2>&1; true' "$BATS_FILE_TMPDIR/calls"
	create_with "$ID" '{"sandbox": {"seccomp": "enforce"}}'
	in_session cat out >"$T/setup"
	spec "$T/run.json" '{"sandbox": {"seccomp": "enforce"}}'
	ws run --spec "$T/run.json" --ro "$BATS_FILE_TMPDIR/calls:/mnt/calls" -- /mnt/calls native >"$T/run" 2>&1 || true
	[ "$(grep -c EPERM "$T/setup")" -gt 10 ]
	diff "$T/run" "$T/setup"
}

@test "it has a network only where project_setup.network shares it" {
	setup_repo 'readlink /proc/self/ns/net >net'
	create_with "$ID" '{"sandbox": {"unshare_net": false}}'
	[ "$(in_session cat net)" != "$(readlink /proc/self/ns/net)" ]
	create_with open '{"project_setup": {"network": "share"}}'
	[ "$(ws exec open -- cat net)" = "$(readlink /proc/self/ns/net)" ]
	[ "$(ws exec open -- readlink /proc/self/ns/net)" != "$(readlink /proc/self/ns/net)" ]
}

@test "a floor under the network, and a profile against it, refuse before anything is made" {
	setup_repo 'true'
	[ "$(kind_of_make '{"profiles": {"setup": {"sandbox": {"unshare_net": false}}}}')" = spec-invalid ]
	for floor in '{"sandbox": {"unshare_net": true}}' '{"project_setup": {"network": "isolate"}}'; do
		spec "$ROOT/wsiso.json" '{"linger_s": 10}' "{\"floor\": $floor}"
		[ "$(kind_of_make '{"project_setup": {"network": "share"}}')" = spec-invalid ]
	done
	[ ! -e "$ROOT/sessions/$ID" ]
	[ ! -e "$ROOT/layers" ] || [ -z "$(ls -A "$ROOT/layers")" ]
	create_with "$ID"
}

@test "a profile named setup tightens it, and limits.timeout_s is not its time" {
	setup_repo 'ulimit -n >files; sleep 1.2; readlink /proc/self/ns/net >net'
	create_with "$ID" '{"limits": {"timeout_s": 1}, "project_setup": {"network": "share"},
		"profiles": {"setup": {"limits": {"open_files": 77}, "sandbox": {"unshare_net": true}}}}'
	[ "$(in_session cat files)" = 77 ]
	[ "$(in_session cat net)" != "$(readlink /proc/self/ns/net)" ]
}

@test "HOME, /tmp and what lies beside the repo are thrown away, what runs on is ended" {
	setup_repo 'echo $HOME; touch ~/mark /tmp/mark /workspace/beside; mkfifo pipe
		setsid sleep 300 >/dev/null 2>&1 &'
	create_with "$ID"
	[ -z "$(tagged_named sleep)" ]
	[ -z "$(in_session sh -c 'ls -A ~ /tmp | grep -v :; ls /workspace | grep -v "^app$"')" ]
	[ "$(in_session sh -c 'stat -c %F pipe')" = fifo ]
	log_of "$ID" | grep -q "^wsiso: '/workspace/beside' is thrown away"
	log_of "$ID" | grep -q "^/home/"
}

@test ".git stays each session's own, whatever the script does to it" {
	setup_repo 'git checkout -q -b other; git config user.name Mallory; echo evil >.git/hooks/pre-commit
		echo x >new; git add new; git -c user.email=a@b commit -q -m inside; git log --oneline >log'
	create_with "$ID" "$(one_repo '{"branch": "work"}')"
	[ "$(in_session git branch --show-current)" = work ]
	[ "$(in_session git rev-parse HEAD)" = "$(hgit -C "$T/app" rev-parse HEAD)" ]
	[ "$(in_session git status --porcelain | xargs)" = "?? log ?? new" ]
	[ "$(in_session git config user.name || true)" != Mallory ]
	refute in_session test -e .git/hooks/pre-commit
	in_session git fsck --no-progress
	[ "$(in_session sh -c 'wc -l <log')" -eq 5 ]
	log_of "$ID" | grep -q "^wsiso: '.git' is"
}

# ---- the key ----

@test "F089: another script, base, policy, variable, name or architecture has it run again" {
	setup_repo 'uname -m >arch; echo "$MARK" >mark'
	create_with first
	create_with again
	[ "$(events again)" = reused ]
	create_with policy '{"limits": {"open_files": 100}}'
	[ "$(events policy)" = "started done" ]
	MARK=one create_with var1 '{"sandbox": {"inherit_env_vars": ["MARK"]}}'
	MARK=two create_with var2 '{"sandbox": {"inherit_env_vars": ["MARK"]}}'
	[ "$(events var2)" = "started done" ]
	[ "$(ws exec var2 -- cat mark)" = two ]
	MARK=one create_with var3 '{"sandbox": {"inherit_env_vars": ["MARK"]}}'
	[ "$(events var3)" = reused ]
	# of another caller's environment nothing gets in
	MARK=one create_with whole '{"sandbox": {"env_mode": "inherit_all"}}'
	[ -z "$(ws exec whole -- cat mark)" ]
	create_with named "$(jq -n --arg path "$T/app" '{repos: [{name: "other", path: $path}]}')"
	[ "$(events named)" = "started done" ]
	echo more >>"$T/app/d/f"
	hgit -C "$T/app" commit -q -a -m more
	create_with base
	[ "$(events base)" = "started done" ]
	change_script 'uname -m >arch; echo new'
	create_with script
	[ "$(events script)" = "started done" ]
	[ "$(ws exec script -- cat arch)" = "$(uname -m)" ]
	if [ "$(uname -m)" = x86_64 ] && setarch i686 true; then
		UNDER='setarch i686' create_with arch
		[ "$(events arch)" = "started done" ]
	fi
}

@test "with inputs only they count, besides the script: contents, modes, links, folders, absence" {
	setup_repo 'echo run >mark' <(echo 1) lock
	mkdir "$T/app/pkgs"
	echo a >"$T/app/pkgs/a"
	commit_all
	local inputs='{"project_setup": {"inputs": ["lock", "pkgs", "absent"]}}'
	create_with first "$inputs"
	grep -q "'absent', which is not there" "$T/first.err"
	echo other >>"$T/app/d/f"
	commit_all
	create_with same "$inputs"
	[ "$(events same)" = reused ]
	ws exec same -- sh -c 'grep -q other d/f && cat mark'
	local n=0
	for change in 'chmod +x lock' 'echo b >pkgs/b' 'echo now >absent' 'echo 2 >lock' 'ln -sf pkgs/a lock' \
		'echo c >>pkgs/a' 'rm pkgs/b' 'echo "true" >>.codumentor/setup.sh'; do
		n=$((n + 1))
		[ "$n" -le "$(long 3 8)" ] || break
		(cd "$T/app" && eval "$change")
		commit_all
		create_with "change$n" "$inputs"
		[ "$(events "change$n")" = "started done" ]
	done
}

# ---- failures ----

@test "a script that fails blocks the session, is remembered, and run again by --retry" {
	setup_repo 'echo "out: $(ls)"; echo err >&2; [ ! -e /mnt/good ] && exit 3; echo made >made'
	[ "$(kind_of create "$ID" --spec "$(spec_with "$ID")")" = setup-failed ]
	[ "$(state_of "$ID" .status)" = blocked ]
	[ "$(state_of "$ID" .wsiso.cause.kind)" = setup-failed ]
	[[ "$(state_of "$ID" .wsiso.cause.message)" == "setup of 'app' failed: '.codumentor/setup.sh': it ended with status 3"* ]]
	expect_status 125 in_session touch /workspace/ran
	refute_in_session "$ID" /workspace/ran
	[ "$(setup_layers)" -eq 0 ]
	grep -qx err "$ROOT"/setups/*.log
	# another session does not run it again
	run --separate-stderr ws create other --spec "$T/$ID.json" --progress json
	[ "$status" -eq 1 ]
	[[ "$stderr" == *"setup of 'app' failed "*" s ago: '.codumentor/setup.sh': it ended with status 3"* ]]
	[[ "$stderr" == *"wsiso setup log "*"--retry"* ]]
	refute grep -q started <<<"$stderr"
	# --retry does, and fails again
	run --separate-stderr ws create "$ID" --spec "$T/$ID.json" --retry --progress json
	[ "$status" -eq 1 ]
	[ "$(jq -r 'select(.type == "progress") | .event' <<<"$(grep '^{' <<<"$stderr")" | xargs)" = "started failed" ]
	# and helps when the reason is gone: here the script
	change_script 'echo made >made'
	ws create "$ID" --spec "$T/$ID.json" --retry
	[ "$(in_session cat made)" = made ]
	[ "$(state_of "$ID" .status)" != blocked ]
}

@test "a failure is remembered for failed_ttl_s, that of wsiso.json first" {
	setup_repo 'exit 1'
	expect_status 1 create_with first '{"project_setup": {"failed_ttl_s": 0}}'
	expect_status 1 create_with second '{"project_setup": {"failed_ttl_s": 0}}'
	[ "$(events second)" = "started failed" ]
	expect_status 1 create_with third
	[ -z "$(events third)" ]
	spec "$ROOT/wsiso.json" '{"linger_s": 10, "project_setup": {"failed_ttl_s": 0}}'
	expect_status 1 create_with fourth '{"project_setup": {"failed_ttl_s": 1000}}'
	[ "$(events fourth)" = "started failed" ]
}

@test "a timeout ends all that the script has started" {
	# one that does not end by itself costs the five seconds of kill_after
	setup_repo "setsid sleep 300 & (trap '' $(long USR1 TERM); sleep 301) & disown -a; touch here; sleep 302"
	SECONDS=0
	expect_status 1 create_with "$ID" '{"project_setup": {"timeout_s": 1}}'
	[ "$SECONDS" -lt $((9 * SLOW)) ]
	[ -z "$(tagged_named sleep)" ]
	wait_for 5 nothing_left
	[[ "$(state_of "$ID" .wsiso.cause.message)" == *"it took longer than 1 s" ]]
	[ -z "$(ls -A "$ROOT/tmp")" ]
}

@test "a script that takes the repo's folder away, or makes it anew, has failed" {
	setup_repo 'cd /; rm -rf /workspace/app'
	expect_status 1 create_with one
	[[ "$(state_of one .wsiso.cause.message)" == *"it took '/workspace/app' away" ]]
	change_script 'cd /; rm -rf /workspace/app; mkdir /workspace/app; touch /workspace/app/x'
	expect_status 1 create_with two
	[[ "$(state_of two .wsiso.cause.message)" == *"it made '/workspace/app' anew" ]]
	change_script 'mkdir -p a/b; touch a/b/c; chmod 0 a/b a; chmod 555 .'
	create_with three
	[ "$(ws exec three -- stat -c %a a)" = 0 ]
}

@test "one that cannot be executed has failed; a link or a folder is not run" {
	setup_repo true
	printf '#!/no/such/interpreter\n' >"$T/app/.codumentor/setup.sh"
	commit_all
	expect_status 1 create_with one
	[[ "$(state_of one .wsiso.cause.message)" == "setup of 'app' failed: "*"/no/such/interpreter"* ]]
	ln -sf ../tool.sh "$T/app/.codumentor/setup.sh"
	commit_all
	expect_status 1 create_with two
	[[ "$(state_of two .wsiso.cause.message)" == *"is no regular file"* ]]
	create_with three '{"project_setup": {"enabled": false}}'
}

@test "a script is run by its own interpreter, by sh without one, and needs no x" {
	setup_repo true
	printf '#!/usr/bin/python3 -I\nimport sys; open("py", "w").write(str(sys.flags.isolated))\n' >"$T/app/.codumentor/setup.sh"
	chmod 644 "$T/app/.codumentor/setup.sh"
	commit_all
	create_with one
	[ "$(ws exec one -- cat py)" = 1 ]
	printf 'echo plain >sh\n' >"$T/app/.codumentor/setup.sh"
	commit_all
	create_with two
	[ "$(ws exec two -- cat sh)" = plain ]
	mkdir "$T/app/tools"
	cp /bin/ls "$T/app/tools/make"
	commit_all
	create_with three '{"project_setup": {"script": "tools/make"}}'
	log_of three | grep -qx README.md
}

# ---- several at once, and ends ----

@test "of many creates at once one runs the script, the others wait for it" {
	setup_repo 'sleep 3; echo made >made'
	local n i pids=()
	n=$(long 5 30)
	spec_with "$ID" >/dev/null
	for i in $(seq "$n"); do
		ws_bg "c$i" create "c$i" --spec "$T/$ID.json" --progress json
		pids+=("$BG")
	done
	for i in "${pids[@]}"; do wait "$i"; done
	[ "$(cat "$T"/c*.err | grep -c '"event":"started"')" -eq 1 ]
	# who comes late on a busy machine finds it made
	[ "$(cat "$T"/c*.err | grep -c '"event":"waiting"')" -ge 1 ]
	cat "$T"/c*.err | grep '^{' >"$T/lines"
	matches_schema progress "$T/lines" --lines
	for i in $(seq "$n"); do ws exec "c$i" -- test -e made; done
}

@test "of many creates whose script fails each fails, and one has run it" {
	only_long
	setup_repo 'sleep 0.5; exit 9'
	spec_with "$ID" >/dev/null
	for i in 1 2 3 4; do
		ws_bg "c$i" create "c$i" --spec "$T/$ID.json" --progress json
		eval "pid$i=$BG"
	done
	for i in 1 2 3 4; do
		eval "expect_status 1 wait \$pid$i"
		[ "$(state_of "c$i" .wsiso.cause.kind)" = setup-failed ]
	done
	[ "$(cat "$T"/c*.err | grep -c '"event":"started"')" -eq 1 ]
}

@test "a create that is killed leaves nothing that runs, and the next one makes it" {
	setup_repo 'echo begun; if [ ! -e slow ]; then sleep 0; fi; setsid sleep 20 & sleep 21; echo made >made' <(echo) quick
	spec_with "$ID" '{"project_setup": {"inputs": ["quick"]}}' >/dev/null
	ws_bg c create "$ID" --spec "$T/$ID.json"
	wait_for 10 has_begun
	kill -KILL "$BG"
	wait_for 15 no_process_left
	wait_for 5 nothing_left
	change_script 'echo made >made'
	create_with "$ID" '{"project_setup": {"inputs": ["quick"]}}'
	[ "$(in_session cat made)" = made ]
	[ -z "$(ls -A "$ROOT/tmp")" ]
}

@test "one that died over a script does not keep the next from running that very script" {
	setup_repo 'echo begun; sleep 2; echo made >made'
	spec_with "$ID" >/dev/null
	ws_bg c create "$ID" --spec "$T/$ID.json"
	wait_for 10 has_begun
	kill -KILL "$BG"
	create_with "$ID"
	[ "$(events "$ID")" = "started done" ]
	[ "$(in_session cat made)" = made ]
	[ "$(setup_layers)" -eq 1 ]
	wait_for 10 no_setup_lives
}

@test "a create that is asked to end ends its script, blocks the session, remembers nothing" {
	setup_repo 'echo begun; sleep 3; echo made >made'
	spec_with "$ID" >/dev/null
	ws_bg c create "$ID" --spec "$T/$ID.json"
	wait_for 10 has_begun
	kill -TERM "$BG"
	expect_status 1 wait "$BG"
	wait_for 5 nothing_left
	[[ "$(state_of "$ID" .wsiso.cause.message)" == "setup of 'app': ended by signal 15"* ]]
	empty_below setups tmp
	change_script 'echo made >made'
	ws create "$ID" --spec "$T/$ID.json" --retry
	in_session test -e made
}

@test "what a script writes without end does not fill the disk, nor stop it" {
	setup_repo 'head -c 20000000 /dev/zero; echo "last words" >&2; echo made >made'
	create_with "$ID"
	in_session test -e made
	[ "$(stat -c %s "$ROOT"/setups/*.log)" -lt 9000000 ]
	log_of "$ID" | tail -c 100 | grep -aq '^wsiso: done after'
}

# ---- all kinds of repos ----

@test "plain folders and Subversion are set up, too; a live folder is refused" {
	need_program svn svnadmin
	mkdir -p "$T/p/.codumentor" "$T/repo"
	echo 'echo made >made' >"$T/p/.codumentor/setup.sh"
	mkdir "$T/p/.git"
	echo 'mkdir -p .git; echo mine >.git/kept' >>"$T/p/.codumentor/setup.sh"
	svnadmin create "$T/repo"
	svn import -q -m first --non-interactive "$T/p/.codumentor" "file://$T/repo/.codumentor"
	svn checkout -q --non-interactive "file://$T/repo" "$T/wc"
	create_with "$ID" '{"repos": [{"name": "p", "path": "'"$T/p"'", "vcs": "none"}, {"name": "wc", "path": "'"$T/wc"'"}]}'
	[ "$(events "$ID")" = "started done started done" ]
	[ "$(in_session cat /workspace/p/made /workspace/wc/made /workspace/p/.git/kept | xargs)" = "made made mine" ]
	create_with more '{"repos": [{"name": "p", "path": "'"$T/p"'", "vcs": "none"}], "snapshots": {"shared": false}}'
	create_with again '{"repos": [{"name": "p", "path": "'"$T/p"'", "vcs": "none"}], "snapshots": {"shared": false}}'
	[ "$(events again)" = reused ]
	[ "$(ws exec again -- cat made)" = made ]
	spec "$T/live.json" "$(repo_spec "$T/p" p)" '{"snapshots": {"enabled": false}}'
	[ "$(kind_of create live --spec "$T/live.json")" = setup-failed ]
	[ ! -e "$ROOT/sessions/live" ]
}
