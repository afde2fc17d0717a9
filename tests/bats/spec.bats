# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# wsiso spec: printing, checking, and what is made from the table of options.
load helpers

# check JSON [OPTIONS...]: JSON as a session's spec, with the filter off
check() {
	spec "$T/c.json" "$SPEC_OPEN" "$1"
	run --separate-stderr ws spec --check "$T/c.json" "${@:2}"
	[ -z "$output" ]
}

# check_text TEXT: as it is
check_text() {
	printf '%s' "$1" >"$T/c.json"
	run --separate-stderr ws spec --check "$T/c.json"
	[ -z "$output" ]
}

# refused PART...: with status 2 and all that in the message
refused() {
	local part
	[ "$status" -eq 2 ]
	[[ $stderr == "wsiso: spec: "* || $stderr == *$'\n'"wsiso: spec: "* ]]
	for part; do
		[[ $stderr == *"$part"* ]]
	done
}

good() {
	[ "$status" -eq 0 ]
	[ -z "$stderr" ]
}

@test "spec prints every option of a session at its default, as the schema says" {
	run --separate-stderr ws spec
	good
	printf '%s\n' "$output" >"$T/out.json"
	matches_schema spec "$T/out.json"
	[ "$(jq -c '[.mode, .workspace_ttl, .sandbox.unshare_net, .sandbox.seccomp]' "$T/out.json")" = \
		'["overlay",86400,true,"default"]' ]
	jq -r '[paths(type != "object")] | map(join(".")) | .[]' "$T/out.json" | sort >"$T/printed"
	ws spec --schema | jq -r '.properties
		| del(.allow_root, .linger_s, .max_idle, .floor, .bwrap, .workspace_base)
		| to_entries[] | if .value.properties and .value.type == "object"
			then .key + "." + (.value.properties | keys[]) else .key end' |
		grep -vxE 'profiles|annotations' | sort >"$T/known"
	diff "$T/printed" "$T/known"
}

@test "spec --defaults prints what only wsiso.json may hold as well" {
	run --separate-stderr ws spec --defaults
	good
	printf '%s\n' "$output" >"$T/out.json"
	matches_schema spec "$T/out.json"
	[ "$(jq -c '[.allow_root, .linger_s, .max_idle, .floor, .bwrap, .workspace_base]' \
		"$T/out.json")" = '[false,300,32,null,{"path":null},null]' ]
}

@test "spec --mode prints that mode and refuses a mode that there is not" {
	[ "$(ws spec --mode host_readonly | jq -r .mode)" = host_readonly ]
	[ "$(ws spec --mode overlay)" = "$(ws spec)" ]
	run --separate-stderr ws spec --mode host-readonly
	refused "'host-readonly' is no mode" "overlay and host_readonly"
	[ -z "$output" ]
}

@test "what spec prints passes its own check" {
	check "$(ws spec)" --strict
	good
	check "$(ws spec --defaults)"
	refused "'allow_root' is good only in wsiso.json"
	check "$(ws spec --defaults)" --defaults --strict
	good
}

@test "spec --check lays a spec over the state folder's wsiso.json, as create does" {
	echo '{}' >"$T/c.json"
	run --separate-stderr ws spec --check "$T/c.json"
	good
	printf '{"sandbox":\n  {"seccomp": "of"}}\n' >"$ROOT/wsiso.json"
	run --separate-stderr ws spec --check "$T/c.json"
	refused "wsiso.json:2:4: 'sandbox.seccomp'"
}

@test "spec --check needs no state folder" {
	spec "$T/c.json" "$SPEC_OPEN"
	run --separate-stderr "$WSISO" --root "$T/none" spec --check "$T/c.json"
	good
	[ ! -e "$T/none" ]
}

@test "spec --check judges a file named wsiso.json as such" {
	spec "$ROOT/wsiso.json" "$SPEC_OPEN" '{"linger_s": 5}'
	run --separate-stderr ws spec --check "$ROOT/wsiso.json"
	good
	cp "$ROOT/wsiso.json" "$T/config.json"
	run --separate-stderr ws spec --check "$T/config.json"
	refused "'linger_s'" "hint: "
}

@test "an error names file, line, column and key" {
	check_text '{
  "sandbox": { "seccomp": "enforce" },
  "limits": {
    "pids_max": 0
  }
}'
	refused "$T/c.json:4:5: 'limits.pids_max' must be a whole number from 1 to 4194304 or null, not 0"
}

@test "spec --check - reads the standard input" {
	run --separate-stderr ws spec --check - <<<'{"enabled": 3}'
	refused "<stdin>:1:2: 'enabled' must be true or false, not 3"
	run --separate-stderr ws spec --check - < <(echo "$SPEC_OPEN")
	good
	run --separate-stderr ws spec --check <(echo "$SPEC_OPEN")
	good
}

@test "F048: a misspelt option that protects is an error that names the right one" {
	check '{"sandbox": {"unshare_nett": true}}'
	refused "unknown key 'sandbox.unshare_nett'" "did you mean 'sandbox.unshare_net'?"
	check '{"sandbox": {"unshareNet": true}}'
	refused "did you mean 'sandbox.unshare_net'?"
	check '{"limits": {"pid_max": 5}}'
	refused "did you mean 'limits.pids_max'?"
	check '{"host_readonly": {"networks": "isolate"}}'
	refused "did you mean 'host_readonly.network'?"
	check '{"profiles": {"tool": {"sandbocks": {}}}}'
	refused "'profiles.tool.sandbocks'"
	check '{"binds": [{"source": "/a", "target": "/b", "writeable": false}]}'
	refused "'binds[0].writeable'"
	check '{"sandboxx": {"unshare_net": true}}'
	refused "did you mean 'sandbox'?"
	check '{"seccomp": "enforce"}'
	refused "did you mean 'sandbox.seccomp'?"
}

@test "F048: an invalid value of an option that protects is an error" {
	check '{"sandbox": {"seccomp": "enforced"}}'
	refused "'sandbox.seccomp'" 'did you mean "enforce"?'
	check '{"sandbox": {"env_mode": "MINIMAL"}}'
	refused "'sandbox.env_mode'" 'did you mean "minimal"?'
	check '{"sandbox": {"unshare_net": "false"}}'
	refused "'sandbox.unshare_net' must be true or false, not \"false\""
	check '{"sandbox": {"unshare_net": null}}'
	refused "not null"
	check '{"sandbox": null}'
	refused "'sandbox' must be an object"
}

@test "F048: an invalid word of the three options with a fallback is a warning" {
	check '{"mode": "host-readonly"}'
	[ "$status" -eq 0 ]
	[[ $stderr == "wsiso: warning: $T/c.json:"*"'mode'"*"using \"overlay\"" ]]
	check '{"subagent_isolation": "Isolated"}'
	[ "$status" -eq 0 ]
	[[ $stderr == "wsiso: warning: "*"using \"shared\"" ]]
	check '{"host_readonly": {"network": "none"}}'
	[ "$status" -eq 0 ]
	[[ $stderr == "wsiso: warning: "*"using \"ask\"" ]]
	check '{"mode": false}'
	refused "'mode' must be one of"
}

@test "an unknown key elsewhere is ignored with a warning, and an error if strict" {
	check '{"persistant_home": false}'
	[ "$status" -eq 0 ]
	[[ $stderr == *"unknown key 'persistant_home' is ignored; did you mean 'persistent_home'?" ]]
	check '{"persistant_home": false}' --strict
	refused "unknown key 'persistant_home'" "did you mean 'persistent_home'?"
	check '{"persistant_home": false, "strict": true}'
	refused "unknown key 'persistant_home'"
	spec "$ROOT/wsiso.json" '{"strict": true}'
	check '{"persistant_home": false}'
	refused "unknown key 'persistant_home'"
}

@test "what this build can do is accepted" {
	check '{"enabled": false, "persistent_home": false, "session_tmp": false,
		"subagent_isolation": "isolated",
		"repos": [{"path": "/srv/a"}, {"name": "b", "path": "/srv/a", "vcs": "git",
			"revision": "v1", "branch": "agent/x"}, {"path": "/srv/p", "vcs": "none"},
			{"path": "svn+ssh://host/trunk", "vcs": "svn", "revision": "17"}],
		"sandbox": {"unshare_net": false, "unshare_cgroup": true, "hostname": "box.lan",
			"new_session": true, "inherit_env_vars": ["A"], "deny_env_vars": ["B_1"]},
		"limits": {"file_size_max": 1, "open_files": 64, "tmp_size": 65536, "timeout_s": 0.5},
		"project_setup": {"enabled": false, "inputs": ["a/b"], "network": "share"},
		"snapshots": {"enabled": false, "shared": false, "copy": "copy", "min_free_gb": 0.5},
		"annotations": {"chat": "17"}}' --strict
	good
	matches_schema spec "$T/c.json"
}

@test "the schema refuses what the check refuses" {
	local bad
	for bad in '{"mode": "both"}' '{"workspace_ttl": -1}' '{"workspace_ttl": 0.5}' \
		'{"enabled": null}' '{"sandbox": {"unshare_nett": true}}' '{"repos": [{}]}' \
		'{"repos": [{"path": "rel"}]}' '{"sandbox": {"deny_env_vars": ["A=B"]}}' \
		'{"limits": {"open_files": 0}}' '{"annotations": {"a": 1}}' \
		'{"profiles": {"a": {"mode": "overlay"}}}' '{"floor": {"sandbox": 1}}' \
		'{"sandbox": {"hostname": "a_b"}}' '{"binds": [{"source": "/a"}]}'; do
		echo "$bad" >"$T/bad.json"
		refute matches_schema spec "$T/bad.json"
	done
}

@test "F060: what is no spec is answered at once with status 2" {
	cd "$T"
	local name
	head -c 1000000 /dev/zero | tr '\0' '[' >deep.json
	{ printf '"' && head -c 3000000 /dev/zero | tr '\0' 'x' && printf '"'; } >long.json
	truncate -s 3G sparse.json
	{ printf '{"a":' && for ((i = 0; i < 63; i++)); do printf '['; done; } >cut.json
	printf '{"enabled": true, "enabled": false}' >twice.json
	printf '{"enabled": true} {}' >two.json
	printf '{"annotations": {"a": "x\\u0000y"}}' >nul.json
	printf '{"annotations": {"a": "\xff"}}' >utf8.json
	printf '{"enabled": true // yes\n}' >comment.json
	: >empty.json
	mkdir folder.json
	for name in *.json; do
		WS_TIMEOUT=5 run --separate-stderr ws spec --check "$name"
		refused "$name"
		[ "${#stderr}" -lt 1000 ]
	done
	refused "utf8.json:1:"
	run --separate-stderr ws spec --check "$T/absent.json"
	refused "absent.json" "No such file"
}

@test "F060: a pipe that never ends, or is silent, is given up" {
	cd "$T"
	WS_TIMEOUT=5 run --separate-stderr ws spec --check - < <(yes)
	refused "<stdin>" "larger than"
	WS_TIMEOUT=5 run --separate-stderr ws spec --check /dev/zero
	refused "/dev/zero" "larger than"
	mkfifo fifo
	WS_TIMEOUT=20 run --separate-stderr ws spec --check fifo
	refused "'fifo' does not come to an end"
	run --separate-stderr ws spec --check - <"$T"
	refused "'<stdin>' is a folder"
}

@test "a megabyte of unknown keys or of repos is answered at once" {
	jq -nc '[range(60000)] | map({key: "k\(.)", value: 0}) | from_entries' >"$T/keys.json"
	jq -nc '{repos: [range(30000)] | map({path: "/a/\(.)"})}' >"$T/repos.json"
	WS_TIMEOUT=5 run --separate-stderr ws spec --check "$T/keys.json"
	refused "unknown keys"
	WS_TIMEOUT=5 run --separate-stderr ws spec --check "$T/repos.json"
	refused "'repos' must be an array of at most 256 objects"
}

@test "control characters of a spec do not reach the terminal" {
	check_text '{"\u001b[31m\nx": 1, "sandbox": {"seccomp": "\u001b]0;t\u0007"}}'
	[ "$status" -eq 2 ]
	[[ $stderr != *$'\e'* ]]
	[ "$(grep -c . <<<"$stderr")" -eq 2 ]
}

@test "wrong use of spec is status 2 and prints nothing" {
	local words
	for words in '--strict' 'word' '--check' '--check a --mode overlay' '--schema --man' \
		'--schema --defaults' '--no-such'; do
		# shellcheck disable=SC2086 # several words
		run --separate-stderr ws spec $words
		[ "$status" -eq 2 ]
		[ -z "$output" ]
		[ -n "$stderr" ]
	done
}

@test "spec says so when its output cannot be written" {
	full() { ws spec >/dev/full; }
	run --separate-stderr full
	[ "$status" -eq 1 ]
	[[ $stderr == "wsiso: spec: "* ]]
}

@test "the committed schema is what spec --schema prints" {
	diff <(ws spec --schema) "$SRCDIR/schemas/spec.schema.json"
}

@test "all schemas are schemas" {
	"$PYTHON" "$SRCDIR/tests/json_schema.py" --schemas "$SRCDIR"/schemas/*.schema.json
}

@test "the option list of wsiso-spec(5) is what spec --man prints" {
	diff <(ws spec --man) <(sed -e '1,/^\.\\" begin: wsiso spec --man$/d' \
		-e '/^\.\\" end$/,$d' "$SRCDIR/man/wsiso-spec.5")
}

@test "the example in wsiso-spec(5) is a good spec" {
	sed -e '1,/^\.Bd -literal/d' -e '/^\.Ed$/,$d' "$SRCDIR/man/wsiso-spec.5" >"$T/c.json"
	jq -e '.repos | length == 1' "$T/c.json"
	run --separate-stderr ws spec --check "$T/c.json" --strict
	good
}
