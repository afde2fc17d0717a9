#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016 # for the shell inside to expand
# shellcheck disable=SC2154 # bats sets stderr
load helpers

setup() {
	ws_setup
	need_userns
	mkdir "$T/shown" "$T/given"
	echo shown >"$T/shown/file"
}

# binds SOURCE TARGET [WRITABLE]...: a part of a spec
binds() {
	local list='[]'
	while [ $# -gt 0 ]; do
		list=$(jq --arg s "$1" --arg t "$2" --argjson w "$3" \
			'. + [{source: $s, target: $t, writable: $w}]' <<<"$list")
		shift 3
	done
	jq -n --argjson list "$list" '{binds: $list}'
}

# refused_at_create WORDS JSON: nothing is left of it
refused_at_create() {
	spec "$T/bad.json" "$SPEC_OPEN" "$2"
	run --separate-stderr ws create bad --spec "$T/bad.json"
	[ "$status" -eq 2 ] || [ "$status" -eq 1 ] || { echo "status $status: $stderr" && return 1; }
	[[ "$stderr" == *"$1"* ]] || { echo "$stderr" && return 1; }
	[ ! -e "$ROOT/sessions/bad" ]
}

@test "all commands of a session see its binds, to read or to write" {
	new_session "$ID" "$(binds "$T/shown" /mnt/shown false "$T/given" /mnt/given true "$T/shown/file" /etc/app.conf false)"
	[ "$(in_session cat /mnt/shown/file /etc/app.conf | xargs)" = "shown shown" ]
	refute in_session sh -c 'echo x >/mnt/shown/file' 2>/dev/null
	refute in_session sh -c 'echo x >/etc/app.conf' 2>/dev/null
	in_session sh -c 'echo given >/mnt/given/new'
	[ "$(cat "$T/given/new")" = given ]
	echo later >"$T/given/later"
	[ "$(in_session cat /mnt/given/later)" = later ]
}

@test "a changed bind is another policy" {
	new_session "$ID" "$(binds "$T/shown" /mnt/shown false)"
	in_session true
	spec "$ROOT/sessions/$ID/config.json" "$(cat "$ROOT/sessions/$ID/config.json")" "$(binds "$T/given" /mnt/shown false)"
	[ "$(kind_of exec "$ID" -- true)" = policy-changed ]
	ws stop "$ID"
	refute in_session test -e /mnt/shown/file
}

@test "what no command may have is refused by create, and nothing is left" {
	refused_at_create "it is the whole host" "$(binds /. /mnt/x false)" ||
		refused_at_create "absolute path" "$(binds /. /mnt/x false)"
	refused_at_create "services listen" "$(binds /run /mnt/x false)"
	refused_at_create "state folder" "$(binds "$ROOT" /mnt/x false)"
	refused_at_create "it would lie in '/usr'" "$(binds "$T/shown" /usr/bin false)"
	refused_at_create "it would lie in '/workspace'" "$(binds "$T/shown" /workspace/x false)"
	refused_at_create "it would cover" "$(binds "$T/shown" /home false)"
	refused_at_create "the target of" "$(binds "$T/shown" /mnt/x false "$T/given" /mnt/x false)"
	refused_at_create "belongs to another user" "$(binds /mnt /mnt/x true)"
	refused_at_create "No such file" "$(binds "$T/none" /mnt/x false)"
}

@test "a session's own trees are no source, by whatever name" {
	new_session
	in_session sh -c 'mkdir /tmp/d ~/d d2'
	local tree
	for tree in upper/app/d2 home/d tmp/d upper; do
		refused_at_create "state folder" "$(binds "$ROOT/sessions/$ID/$tree" /mnt/x false)"
	done
	ln -s "$ROOT/sessions/$ID/tmp" "$T/alias"
	refused_at_create "symbolic link" "$(binds "$T/alias" /mnt/x true)"
}

@test "a source that becomes a link after create stops the next start, and shows nothing" {
	new_session "$ID" "$(binds "$T/given" /mnt/given true)"
	in_session touch /mnt/given/a
	ws stop "$ID"
	mkdir "$T/secret"
	rm -r "$T/given"
	ln -s "$T/secret" "$T/given"
	run --separate-stderr in_session touch /mnt/given/b
	[ "$status" -eq 125 ]
	[[ "$stderr" == *"symbolic link that is not root's"* ]]
	[ -z "$(ls "$T/secret")" ]
}

@test "while a session runs its bind is the folder it was, whatever is put in its place" {
	new_session "$ID" "$(binds "$T/given" /mnt/given true)"
	in_session true
	mv "$T/given" "$T/moved"
	mkdir "$T/secret"
	ln -s "$T/secret" "$T/given"
	in_session touch /mnt/given/there
	[ -e "$T/moved/there" ]
	[ -z "$(ls "$T/secret")" ]
}

@test "many who swap the source for a link never get the link bound" {
	local i got swapper
	mkdir "$T/secret"
	echo secret >"$T/secret/file"
	spec "$ROOT/wsiso.json" "$SPEC_OPEN" '{"linger_s": 10}'
	(while :; do
		mv -T "$T/shown" "$T/real" && ln -s "$T/secret" "$T/shown"
		rm "$T/shown" && mv -T "$T/real" "$T/shown"
	done) 2>/dev/null 3>&- &
	swapper=$!
	for i in $(seq "$(long 20 200)"); do
		got=$(ws run --ro "$T/shown:/mnt/x" -- cat /mnt/x/file 2>/dev/null) || got=refused
		case $got in
		shown | refused) ;;
		*) echo "$i: $got" && kill "$swapper" && return 1 ;;
		esac
	done
	kill "$swapper"
}

@test "bwrap gets no path of a source, and the plan names what is bound" {
	new_session "$ID" "$(binds "$T/shown" /mnt/shown false)"
	ws exec --dry-run "$ID" -- cat /mnt/shown/file >"$T/plan"
	grep -q -- '--ro-bind-fd [0-9]* /mnt/shown' "$T/plan"
	grep -q "[0-9]< $T/shown" "$T/plan"
	sed -i 's|/bin/sh |/bin/cat /mnt/shown/file |' "$T/plan"
	[ "$(bash "$T/plan")" = shown ]
}
