#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""merge_equal.py REPORT GIT_CONFLICTS GIT_TREE OUR_TREE

REPORT: the JSON of the first merge. GIT_CONFLICTS: "git ls-files -u -z" after git's. The
trees are what merge_history.py lists, ours with every conflict answered by @ours: they
must be equal but for what is in conflict.
"""
import base64
import json
import os
import sys


def ours(report):
    paths = set()
    for c in report["conflicts"]:
        path = c["path"].encode()
        if "path_base64" in c:
            path = base64.b64decode(c["path_base64"])
        paths.add(os.fsdecode(path).split("/", 1)[1])
    return paths


def gits(data):
    """A file that has to make room for a folder stands beside it, as NAME~BRANCH."""
    paths = set()
    for line in data.split(b"\0"):
        if line:
            path = os.fsdecode(line.split(b"\t", 1)[1])
            for side in ("~HEAD", "~theirs"):
                path = path[: -len(side)] if path.endswith(side) else path
            paths.add(path)
    return paths


def listed(file, conflicts):
    with open(file, encoding="utf-8") as lines:
        kept = []
        for line in lines:
            path = eval(line[: line.rindex("'") + 1]) if line[0] == "'" else line
            near = any(
                path == c or path.startswith(c + "/") or path.startswith(c + "~")
                for c in conflicts
            )
            if not near:
                kept.append(line)
        return kept


def main(report, conflicts, git_tree, our_tree):
    with open(report, encoding="utf-8") as f:
        found = ours(json.load(f))
    with open(conflicts, "rb") as f:
        wanted = gits(f.read())
    if found != wanted:
        print("only git:", sorted(map(ascii, wanted - found)))
        print("only wsiso:", sorted(map(ascii, found - wanted)))
        return 1
    a, b = listed(git_tree, wanted), listed(our_tree, wanted)
    for line in sorted(set(a) ^ set(b)):
        print("only git:" if line in a else "only wsiso:", line, end="")
    return a != b


sys.exit(main(*sys.argv[1:]))
