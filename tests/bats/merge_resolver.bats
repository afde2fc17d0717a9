#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # bats sets stderr; names of ours
# shellcheck disable=SC2016 # for the shell inside, or for a resolver, to expand
#
# integration.resolver: the caller's own program is asked about each conflict of a merge.
load helpers

setup() { ws_setup; }

# resolver SCRIPT: $T/resolver, whose stdin is in $T/questions; a child with two conflicts
resolver() {
	printf '#!/bin/bash\nread -r q; printf "%%s\\n" "$q" >>%q/questions\nenv >%q/env\n%s\n' "$T" "$T" "$1" >"$T/resolver"
	chmod 755 "$T/resolver"
	conflicts '["'"$T/resolver"'", "argument"]'
}

# conflicts RESOLVER [AI_MERGE]
conflicts() {
	spec "$ROOT/wsiso.json" '{"linger_s": 0, "subagent_isolation": "isolated",
		"integration": {"ai_merge": '"${2:-true}"', "resolver": '"$1"'}}'
	new_session
	ws create child --parent "$ID"
	ws exec child -- sh -c 'echo theirs >d/f; rm d/g1; echo fine >fine'
	in_session sh -c 'echo ours >d/f; echo ours >d/g1'
}

# gives_up REASON: both conflicts are left
gives_up() {
	run --separate-stderr ws merge child
	[ "$status" -eq 4 ]
	[ "$(grep -c "the resolver gave up on 'app/d/.*$1" <<<"$stderr")" -eq 2 ] || {
		echo "$stderr"
		return 1
	}
	in_session test ! -e fine
}

nobody_sleeps() { [ -z "$(tagged_named sleep)" ]; }

@test "one that takes a side: all is merged, and the report says which were conflicts" {
	resolver 'echo "{\"take\": \"theirs\"}"'
	SECRET=1 ws merge child --json >"$T/report"
	matches_schema merge "$T/report"
	[ "$(jq -r '.result, (.changes[] | .path + " " + (.resolved | tostring))' "$T/report" | xargs)" = \
		"merged app/d/f true app/d/g1 true app/fine false" ]
	[ "$(in_session sh -c 'cat d/f fine; ls d' | xargs)" = "theirs fine f g2 k" ]
	# each was asked about once, by a question as the page says, in an environment of ours
	[ "$(jq -r '[.version, .child, .parent, .path, .kind] | map(tostring) | join(" ")' "$T/questions")" = \
		"$(printf '1 child %s app/d/f content\n1 child %s app/d/g1 modify-delete' "$ID" "$ID")" ]
	[ "$(jq -r 'select(.kind == "modify-delete") | [.base.type, .base.mode, .ours.size, .theirs, .markers] | tostring' "$T/questions")" = \
		'["file","0644",5,null,null]' ]
	sed 's/=.*//' "$T/env" >"$T/names"
	refute grep -v -x -e LC_ALL -e PATH -e HOME -e USER -e LOGNAME -e TMPDIR -e PWD -e SHLVL -e _ "$T/names"
}

@test "one that writes the text, or edits the file with markers" {
	resolver 'case $q in
		*"\"kind\":\"content\""*)
			file=$(sed "s/.*\"markers\":\"\([^\"]*\)\".*/\1/" <<<"$q")
			sed -i "/^[<=>]\{7\}/d" "$file"
			echo "{\"take\": \"markers\"}" ;;
		*) echo "{\"content\": \"of both\\n\"}" ;;
		esac'
	ws merge child
	[ "$(in_session cat d/f d/g1 | xargs)" = "ours theirs of both" ]
}

@test "garbage, markers, a file of the host, a failure, too much: it gives up, and the conflicts stay" {
	local answer
	resolver 'cat "${0%/*}/answer"; exit "$(cat "${0%/*}/status" || echo 0)"'
	for answer in 'nonsense' '' '[]' '{}' '{"take": "both"}' '{"take": "ours", "content": "x"}' \
		'{"file": "/etc/passwd"}' '{"content": 7}' \
		'{"content": "<<<<<<< a\nx\n=======\ny\n>>>>>>> b\n"}' '{"give_up": "cannot say"}'; do
		echo "$answer" >"$T/answer"
		gives_up ""
	done
	head -c 3000000 /dev/zero | tr '\0' ' ' >"$T/answer"
	gives_up ""
	echo '{"take": "theirs"}' >"$T/answer"
	echo 3 >"$T/status"
	gives_up "it ended with status 3"
	rm "$T/status"
	ws merge child
}

@test "one that takes too long is ended with all its processes" {
	resolver 'sleep 1000 & sleep 1000'
	run --separate-stderr ws merge child --resolver-timeout 0.3
	[ "$status" -eq 4 ]
	[ "$(grep -c "did not end within" <<<"$stderr")" -eq 2 ]
	wait_for 5 nobody_sleeps
}

@test "while it is asked nobody is held up, and what the parent becomes meanwhile counts" {
	resolver '[ -e "${0%/*}/once" ] || {
			touch "${0%/*}/once"
			'"$WSISO --root $ROOT exec $ID"' -- sh -c "echo ours >d/k; echo later >d/f"
		}
		echo "{\"take\": \"theirs\"}"'
	ws merge child
	[ "$(in_session cat d/f d/k | xargs)" = "theirs ours" ]
	[ "$(jq -r .path "$T/questions" | xargs)" = "app/d/f app/d/g1 app/d/f" ]
}

@test "without ai_merge, or if it is no absolute path, nothing is run" {
	resolver 'echo "{\"take\": \"theirs\"}"'
	spec "$ROOT/wsiso.json" '{"linger_s": 0, "integration": {"ai_merge": false, "resolver": ["'"$T/resolver"'"]}}'
	expect_status 4 ws merge child
	spec "$ROOT/wsiso.json" '{"linger_s": 0, "integration": {"resolver": ["resolver"]}}'
	PATH=$T:$PATH run --separate-stderr ws merge child
	[ "$status" -eq 2 ]
	[[ "$stderr" == *"'resolver' is no absolute path"* ]]
	spec "$ROOT/wsiso.json" '{"linger_s": 0, "integration": {"resolver": ["'"$T/none"'"]}}'
	gives_up "No such file"
	[ ! -e "$T/questions" ]
}

@test "the example of contrib asks any command, and leaves alone what is no text" {
	printf '#!/bin/sh\ncat >>%q/prompt\ncat %q/said\n' "$T" "$T" >"$T/model"
	chmod 755 "$T/model"
	conflicts '["'"$SRCDIR/contrib/resolver"'", "'"$T/model"'"]'
	printf '```\nours and theirs\n```\n' >"$T/said"
	run --separate-stderr ws merge child
	[ "$status" -eq 4 ]
	[[ "$stderr" == *"gave up on 'app/d/g1': a conflict of kind modify-delete"* ]]
	ws merge child --resolve app/d/g1=@theirs
	[ "$(in_session cat d/f)" = "ours and theirs" ]
	[ "$(grep -c '^one$\|^ours$\|^theirs$' "$T/prompt")" -eq 3 ]
}
