# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# What the files about setup scripts share.

# setup_repo SCRIPT [FILE [NAME]]: $T/app, whose .codumentor/setup.sh is SCRIPT; and a copy of FILE
setup_repo() {
	need_userns
	new_repo "$T/app"
	mkdir "$T/app/.codumentor"
	[ $# -lt 2 ] || {
		cat "$2" >"$T/app/${3:-$(basename "$2")}"
		[ ! -x "$2" ] || chmod 755 "$T/app/${3:-$(basename "$2")}"
	}
	change_script "$1"
}

change_script() {
	printf '#!/bin/bash\n%s\n' "$1" >"$T/app/.codumentor/setup.sh"
	chmod 755 "$T/app/.codumentor/setup.sh"
	commit_all
}

commit_all() {
	hgit -C "$T/app" add -A
	hgit -C "$T/app" commit -q -m "change $RANDOM"
}

# spec_with ID [JSON...]: the path of the spec of session ID on $T/app; JSON is laid over it
spec_with() {
	local id=$1
	shift
	spec "$T/$id.json" "$SPEC_OPEN" "$(repo_spec "$T/app")" "$@"
	echo "$T/$id.json"
}

# create_with ID [JSON...]: makes it; $T/ID.err has how it went. UNDER is put before wsiso.
create_with() {
	local id=$1 under=()
	spec_with "$@" >/dev/null
	[ -z "${UNDER:-}" ] || read -ra under <<<"$UNDER"
	timeout -k 5 $((${WS_TIMEOUT:-60} * SLOW)) "${under[@]}" "$WSISO" --root "$ROOT" \
		create "$id" --spec "$T/$id.json" --progress json 2>"$T/$id.err" || {
		local rc=$?
		cat "$T/$id.err"
		return $rc
	}
}

# events ID: what create_with ID said about setups
events() {
	grep '^{' "$T/$1.err" | jq -r 'select(.type == "progress" and .work == "setup") | .event' | xargs
}

key_of() { state_of "$1" '.wsiso.snapshots[0].setup'; }
log_of() { cat "$ROOT/setups/$(key_of "$1").log"; }

# no_setup_lives: no process sees the folder of a setup that is being made
no_setup_lives() { ! grep -ls -F "$ROOT/tmp/setup-" /proc/[0-9]*/mountinfo; }

# has_begun: the script, which says so, runs
has_begun() { cat "$ROOT"/setups/*.log 2>/dev/null | grep -q begun; }

# setup_layers: how many layers of setups there are
setup_layers() { find "$ROOT/layers" -mindepth 1 -maxdepth 1 -name 'setup-*' | wc -l; }

# empty_below FOLDER...: nothing is in these folders of the root
empty_below() {
	local name
	for name; do
		[ ! -e "$ROOT/$name" ] || [ -z "$(ls -A "$ROOT/$name")" ] || return 1
	done
}
