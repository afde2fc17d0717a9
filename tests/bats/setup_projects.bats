#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016 # the scripts are for the shell inside
#
# Setup scripts of real projects: a virtual environment of Python, packages of npm.
load helpers
load create_helpers
load setup_helpers

CERTIFICATES=/etc/ssl/certs/ca-certificates.crt

@test "a Python venv is made once, is there in each session, and made anew when what it needs changes" {
	local wheel
	wheel=$(find /usr/share/python-wheels -name 'setuptools-*.whl' 2>/dev/null | head -n 1)
	/usr/bin/python3 -m ensurepip --version >/dev/null 2>&1 && [ -n "$wheel" ] ||
		cannot_run "python3-venv and its wheels are not installed"
	wheel=$(basename "$wheel")
	wheel=${wheel#setuptools-}
	setup_repo 'set -e
		python3 -m venv .venv
		.venv/bin/pip install -q --no-index --find-links /usr/share/python-wheels -r requirements.txt'
	printf 'setuptools==%s\n' "${wheel%%-*}" >"$T/app/requirements.txt"
	commit_all
	local inputs='{"project_setup": {"inputs": ["requirements.txt"]}}'
	create_with first "$inputs"
	create_with second "$inputs"
	[ "$(events first), $(events second)" = "started done, reused" ]
	for id in first second; do
		[ "$(ws exec "$id" -- .venv/bin/python -c 'import setuptools, sys; print(sys.prefix, setuptools.__file__)')" = \
			"/workspace/app/.venv $(ws exec "$id" -- sh -c 'ls -d $PWD/.venv/lib/python3*/site-packages/setuptools/__init__.py')" ]
		# by its own first line, which names /workspace
		ws exec "$id" -- .venv/bin/pip list --format freeze | grep -q '^setuptools=='
	done
	ws exec second -- sh -c 'rm -r .venv/lib'
	ws exec first -- .venv/bin/pip --version
	# other files of the base do not matter, these do
	echo more >>"$T/app/README.md"
	commit_all
	create_with third "$inputs"
	[ "$(events third)" = reused ]
	ws exec third -- .venv/bin/pip --version
	[ "${WSISO_LONG:-}" = 1 ] || return 0
	echo '# none' >>"$T/app/requirements.txt"
	commit_all
	ws snapshot create --spec "$(spec_with fourth "$inputs")" --setup --progress json 2>"$T/fourth.err"
	[ "$(events fourth)" = "started done" ]
}

# new_npm: $T/app with a package.json and a lock file for at least a hundred packages
new_npm() {
	setup_repo "npm ci --no-audit --no-fund --cafile $CERTIFICATES && ls node_modules | wc -l"
	jq -n '{name: "app", version: "1.0.0", private: true, dependencies: {express: "^4.19.0", eslint: "^8.57.0"}}' \
		>"$T/app/package.json"
	mkdir "$T/npm"
	(cd "$T/app" && HOME=$T/npm timeout 120 npm install --package-lock-only --no-audit --no-fund \
		--cafile $CERTIFICATES >"$T/npm.log" 2>&1 </dev/null 3>&-) || {
		timeout 60 npm ping --cafile $CERTIFICATES >/dev/null 2>&1 3>&- </dev/null || skip "the npm registry is out of reach"
		cat "$T/npm.log"
		return 1
	}
	echo node_modules >"$T/app/.gitignore"
	[ "$(jq '.packages | length' "$T/app/package-lock.json")" -gt 100 ]
	commit_all
}

@test "npm ci of a hundred packages, with a network for the setup alone, serves every later session" {
	only_long
	need_program npm node
	export WS_TIMEOUT=600 # what ws and create_with wait
	new_npm
	local open='{"project_setup": {"network": "share", "inputs": ["package-lock.json"]}}'
	create_with first "$open"
	[ "$(events first)" = "started done" ]
	[ "$(log_of first | grep -xE '[0-9]+')" -gt 100 ]
	local try='const e = require("express")(); require("eslint"); console.log(typeof e.listen)'
	[ "$(ws exec first -- node -e "$try")" = function ]
	# without any network
	[ "$(ws exec first -- readlink /proc/self/ns/net)" != "$(readlink /proc/self/ns/net)" ]
	[ "$(ws exec first -- git status --porcelain)" = "" ]
	SECONDS=0
	create_with second "$open"
	[ "$(events second)" = reused ]
	[ "$SECONDS" -le $((2 * SLOW)) ]
	[ "$(ws exec second -- sh -c 'npx --no-install eslint --version')" = "$(ws exec first -- sh -c 'npx --no-install eslint --version')" ]
	[ "$(layer_of setup first)" = "$(layer_of setup second)" ]
	ws diff second >"$T/diff"
	[ ! -s "$T/diff" ]
	# another lock file: from the start
	jq '.version = "1.0.1"' "$T/app/package-lock.json" >"$T/lock"
	cp "$T/lock" "$T/app/package-lock.json"
	commit_all
	create_with third "$open"
	[ "$(events third)" = "started done" ]
	# and without a network there is nothing to install
	echo >>"$T/app/package-lock.json"
	commit_all
	spec_with fourth '{"project_setup": {"timeout_s": 20, "inputs": ["package-lock.json"]}}' >/dev/null
	[ "$(kind_of create fourth --spec "$T/fourth.json")" = setup-failed ]
}
