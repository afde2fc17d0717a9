#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Random histories for merges, the same for the same seed, inside a session as outside.

  base SEED DIR         makes a tree
  edit SEED SIDE DIR    changes it, as one side does
  list DIR              says what is there, but for git's own and for folders
"""
import hashlib
import os
import random
import shutil
import sys

FOLDERS = ["", "a", "a/b", "a/b/c", "d", "d/e", "f g"]
NAMES = ["one", "two", "three", "x y", "z-", "caf\udce9"]


def tree(top):
    """All paths below it, folders too; git's own are not there."""
    found = []
    for here, folders, files in os.walk(top):
        folders[:] = sorted(n for n in folders if n != ".git")
        for name in sorted(files) + folders:
            found.append(os.path.relpath(os.path.join(here, name), top))
    return sorted(found)


def files_of(top):
    return [p for p in tree(top) if is_file(os.path.join(top, p))]


def is_file(path):
    return os.path.isfile(path) and not os.path.islink(path)


def remove(path):
    if os.path.islink(path) or not os.path.isdir(path):
        os.remove(path)
    else:
        shutil.rmtree(path)


def prune(top, path):
    """Git has no empty folders."""
    path = os.path.dirname(path)
    while path != top and os.path.isdir(path) and not os.listdir(path):
        os.rmdir(path)
        path = os.path.dirname(path)


def text(rng):
    if rng.random() < 0.1:
        return b""
    lines = [b"%d\n" % rng.randrange(4) for _ in range(rng.randrange(1, 25))]
    data = b"".join(lines)
    return data[:-1] if rng.random() < 0.1 else data


def content(rng):
    if rng.random() < 0.12:
        return b"\0" + bytes(rng.randrange(256) for _ in range(20))
    return text(rng)


def write(top, path, data, mode=0o644):
    full = os.path.join(top, path)
    above = os.path.dirname(full)
    if os.path.lexists(full):
        remove(full)
    probe = top
    for part in os.path.relpath(above, top).split("/"):
        probe = os.path.join(probe, part)
        if os.path.lexists(probe) and (os.path.islink(probe) or not os.path.isdir(probe)):
            os.remove(probe)
    os.makedirs(above, exist_ok=True)
    with open(full, "wb") as out:
        out.write(data)
    os.chmod(full, mode)


def any_path(rng):
    return os.path.join(rng.choice(FOLDERS), rng.choice(NAMES))


def any_file(rng, top):
    """Path, path with TOP, bytes and permissions of one that is there."""
    path = rng.choice(files_of(top))
    full = os.path.join(top, path)
    with open(full, "rb") as was:
        return path, full, was.read(), os.stat(full).st_mode & 0o777


def edit_lines(rng, top):
    path, _, data, mode = any_file(rng, top)
    if data.startswith(b"\0"):
        write(top, path, data + bytes([rng.randrange(256)]), mode)
        return
    lines = data.splitlines(True)
    for _ in range(rng.randrange(1, 4)):
        at = rng.randrange(len(lines) + 1)
        kind = rng.random()
        if kind < 0.4:
            lines.insert(at, b"new %d\n" % rng.randrange(3))
        elif at < len(lines) and kind < 0.7:
            del lines[at]
        elif at < len(lines):
            lines[at] = b"changed %d\n" % rng.randrange(3)
    write(top, path, b"".join(lines), mode)


def add(rng, top):
    write(top, any_path(rng), content(rng), rng.choice([0o644, 0o644, 0o755]))


def delete(rng, top):
    path = os.path.join(top, rng.choice(tree(top)))
    remove(path)
    prune(top, path)


def move(rng, top):
    _, full, data, mode = any_file(rng, top)
    os.remove(full)
    prune(top, full)
    write(top, any_path(rng), data, mode)


def chmod(rng, top):
    full = os.path.join(top, rng.choice(files_of(top)))
    os.chmod(full, os.stat(full).st_mode & 0o777 ^ 0o111)


def to_link(rng, top):
    path = os.path.join(top, rng.choice(tree(top)))
    remove(path)
    os.symlink(rng.choice(["one", "../two", "nowhere"]), path)


def to_folder(rng, top):
    path = rng.choice(tree(top))
    full = os.path.join(top, path)
    if os.path.isdir(full) and not os.path.islink(full):
        return
    os.remove(full)
    for name in rng.sample(NAMES, rng.randrange(1, 3)):
        write(top, os.path.join(path, name), content(rng))


def to_file(rng, top):
    path = rng.choice(tree(top))
    write(top, path, content(rng))


KINDS = [edit_lines] * 8 + [add] * 4 + [delete] * 3 + [move] * 2 + [chmod] * 2 + [
    to_link,
    to_folder,
    to_file,
]


def base(seed, top):
    rng = random.Random("%s base" % seed)
    os.makedirs(top, exist_ok=True)
    for _ in range(rng.randrange(6, 22)):
        add(rng, top)
    if rng.random() < 0.5:
        to_link(rng, top)
    write(top, "last", b"there is always one\n")


def edit(seed, side, top):
    rng = random.Random("%s %s" % (seed, side))
    for _ in range(rng.randrange(1, 9)):
        if not files_of(top):
            write(top, "last", b"again\n")
        rng.choice(KINDS)(rng, top)
    write(top, "of " + side, b"of %s\n" % side.encode())


def show(top):
    for path in tree(top):
        full = os.path.join(top, path)
        if os.path.islink(full):
            what = "link " + os.readlink(full)
        elif os.path.isdir(full):
            continue
        else:
            with open(full, "rb") as data:
                what = hashlib.sha256(data.read()).hexdigest()
            what += " x" if os.stat(full).st_mode & 0o100 else " -"
        print(repr(path), what)


def main(argv):
    os.umask(0o022)
    if argv[0] == "base":
        base(argv[1], argv[2])
    elif argv[0] == "edit":
        edit(argv[1], argv[2], argv[3])
    else:
        show(argv[1])


main(sys.argv[1:])
