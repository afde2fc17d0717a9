#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
load helpers

CLIENT=$SRCDIR/contrib/clients/python

@test "the tests of the Python client pass" {
	need_userns
	PYTHONDONTWRITEBYTECODE=1 TMPDIR=$T timeout -k 5 240 \
		"$PYTHON" -X dev "$CLIENT/test_client.py" >"$T/log" 2>&1 3>&- || {
		cat "$T/log"
		return 1
	}
	grep -q '^OK$' "$T/log"
	refute grep -i 'Warning\|never retrieved\|was destroyed' "$T/log"
}

@test "the client needs nothing but the standard library, and no Python later than 3.9" {
	"$PYTHON" -c '
import ast, sys
tree = ast.parse(open(sys.argv[1]).read(), feature_version=(3, 9))
for node in ast.walk(tree):
    names = []
    if isinstance(node, ast.Import):
        names = [name.name for name in node.names]
    elif isinstance(node, ast.ImportFrom):
        names = [node.module]
    for name in names:
        assert name.split(".")[0] in sys.stdlib_module_names, name
' "$CLIENT/wsiso.py"
}
