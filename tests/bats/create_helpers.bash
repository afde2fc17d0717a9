# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# What the files about create share.

# make_session [ID [JSON...]]: as new_session, but nothing of it needs user namespaces
make_session() {
	local id=${1:-$ID}
	[ $# -eq 0 ] || shift
	[ -e "$T/app" ] || new_repo "$T/app"
	spec "$T/$id.json" "$SPEC_OPEN" "$(repo_spec "$T/app")" "$@"
	ws create "$id" --spec "$T/$id.json"
}

# one_repo JSON: a spec's part for $T/app with more keys
one_repo() {
	jq -n --arg path "$T/app" --argjson more "$1" \
		'{repos: [{name: "app", path: $path} + $more]}'
}

# kind_of_make JSON: the kind of create's refusal
kind_of_make() {
	spec "$T/$ID.json" "$SPEC_OPEN" "$(repo_spec "$T/app")" "$1"
	kind_of create "$ID" --spec "$T/$ID.json"
}

use_root() { ROOT=$1; }

# layer_of KIND [ID]: the folder of the session's base, index or git layer
layer_of() {
	local names
	names=$(state_of "${2:-$ID}" '.wsiso.stack[]')
	echo "$ROOT/layers/$(grep "^$1-" <<<"$names" | head -n 1)"
}

base_tree() { echo "$(layer_of base "$@")/root/app"; }

# tree_look DIR: names, types, modes and link targets
tree_look() { (cd "$1" && find . -name .git -prune -o -printf '%p %y %m %l\n' | sort); }

# same_tree A B: but for .git
same_tree() {
	diff <(tree_look "$1") <(tree_look "$2")
	diff -r --no-dereference -x .git "$1" "$2"
}

# checkout DIR REV: what git itself makes of it
checkout() {
	hgit clone -q "$T/app" "$1"
	hgit -C "$1" checkout -q --detach "$2"
}

# lay_together: copies of the session's layers, one over the other, as $T/together, for
# git on the host
lay_together() {
	local layer pool
	rm -rf "$T/together"
	mkdir "$T/together"
	for layer in $(state_of "$ID" '.wsiso.stack[]'); do
		cp -a "$ROOT/layers/$layer/root/." "$T/together/"
	done
	pool=$(jq -r '.repos[0].pool' "$ROOT/sessions/$ID/state.json")
	echo "$ROOT/pools/$pool/objects" >"$T/together/app/.git/objects/info/alternates"
}

nothing_made() {
	[ ! -e "$ROOT/sessions/$ID" ]
	[ -z "$(cd "$ROOT" && find layers snapshots pools tmp -mindepth 1 2>/dev/null)" ]
}
