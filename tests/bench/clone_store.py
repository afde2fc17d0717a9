#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""clone_store.py ROOT SESSION SESSIONS SNAPSHOTS

Makes real records many: until ROOT has so many clones of SESSION, each with a private layer of
its own, over so many clones of its snapshot. Only what no command looks at is left out: files
of layers, but for the meta data."""
import hashlib
import json
import os
import pathlib
import shutil
import sys

root, model = pathlib.Path(sys.argv[1]), sys.argv[2]
sessions, snapshots = int(sys.argv[3]), int(sys.argv[4])
os.umask(0o077)


def key_of(text):
    return hashlib.sha256(text.encode()).hexdigest()


def clone_layer(name, to, alternates=None):
    layer = root / "layers" / to
    (layer / "root").mkdir(parents=True)
    shutil.copy2(root / "layers" / name / "meta.json", layer)
    if alternates:
        (layer / alternates).parent.mkdir(parents=True)
        shutil.copy2(root / "layers" / name / alternates, layer / alternates)


def clone_snapshot(first, number):
    key = key_of("snapshot %d" % number)[:32]
    manifest = dict(first, key=key, revision=key_of("commit %d" % number)[:40], layers=[], made=[])
    for name in first["layers"]:
        kind = name.split("-")[0]
        to = "%s-%s-%s" % (kind, key[:16], key_of("layer %d" % number)[:16])
        path = "root/%s/.git/objects/info/alternates" % first["name"]
        clone_layer(name, to, path if kind == "index" else None)
        manifest["layers"].append(to)
        manifest["made"].append(to)
    (root / "snapshots" / (key + ".lock")).touch()
    (root / "snapshots" / (key + ".json")).write_text(json.dumps(manifest, indent=2) + "\n")
    return manifest


def clone_session(first, number, manifest):
    name = "c%06d" % number
    folder, source = root / "sessions" / name, root / "sessions" / model
    own = "git-%s-%s" % (name, key_of(name)[:16])
    folder.mkdir()
    clone_layer(first["stack"][-1], own)
    for part, mode in (("upper", 0o755), ("work", 0o755), ("tmp", 0o1777), ("home", 0o700)):
        (folder / part).mkdir()
        (folder / part).chmod(mode)
    for part in ("config.json", "lock", "use", "used", "seen"):
        shutil.copy2(source / part, folder / part)
    repo = dict(first["repos"][0], snapshot=manifest["key"], revision=manifest["revision"])
    state = dict(first, bundle=str(folder), stack=manifest["layers"] + [own], repos=[repo])
    (folder / "state.json").write_text(json.dumps(state, indent=2) + "\n")


def main():
    first = json.loads((root / "sessions" / model / "state.json").read_text())
    key = first["repos"][0]["snapshot"]
    manifest = json.loads((root / "snapshots" / (key + ".json")).read_text())
    made = []
    for number in range(snapshots):
        path = root / "snapshots" / (key_of("snapshot %d" % number)[:32] + ".json")
        made.append(json.loads(path.read_text()) if path.exists() else clone_snapshot(manifest, number))
    have = sum(name.startswith("c0") for name in os.listdir(root / "sessions"))
    for number in range(have, sessions):
        clone_session(first, number, made[number % snapshots])


main()
