#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""tree_tool.py make DIR SEED: a tree of files, links, folders and odd names.
tree_tool.py change DIR SEED: edits, adds, deletes, moves, type swaps and modes at random.
tree_tool.py show DIR [modes]: a line for each file and link, sorted: what git knows of it."""
import hashlib
import os
import random
import shutil
import stat
import sys

NAMES = [b"a", b"b", b"c d", b"e\tf", b"g\xff\xfe", "h\u00e4".encode(), b'i"j', b"k\\l",
         b"-m", b"n'o", b".p", b"q\nr", b"s$t", b"readme.txt"]


def content(rng):
    kind = rng.randrange(6)
    if kind == 0:
        return b""
    if kind == 1:
        return rng.randbytes(rng.randrange(1, 3000))
    if kind == 2:
        return b"no newline at the end"
    if kind == 3:
        return b"\r\n".join(b"line %d" % rng.randrange(9) for _ in range(5)) + b"\r\n"
    return b"".join(b"line %d\n" % rng.randrange(40) for _ in range(rng.randrange(1, 60)))


def entries(top):
    for base, dirs, files in os.walk(top):
        if b".git" in dirs:
            dirs.remove(b".git")
        dirs.sort()
        for name in sorted(dirs + files):
            yield os.path.join(base, name)


def is_folder(path):
    return os.path.isdir(path) and not os.path.islink(path)


def remove(path):
    if is_folder(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)


def put(rng, path):
    remove(path)
    if rng.random() < 0.15:
        os.symlink(rng.choice([b"a", b"../b", b"/etc/passwd", b"nowhere\xff"]), path)
        return
    with open(path, "wb") as f:
        f.write(content(rng))
    os.chmod(path, rng.choice([0o644, 0o755]))


def edit(rng, path):
    with open(path, "rb") as f:
        lines = f.read().splitlines(True)
    lines.insert(rng.randrange(len(lines) + 1), b"edited %d\n" % rng.randrange(1000))
    if rng.random() < 0.5:
        del lines[rng.randrange(len(lines))]
    if rng.random() < 0.5:
        with open(path, "wb") as f:
            f.write(b"".join(lines))
        return
    with open(path + b".new", "wb") as f:
        f.write(b"".join(lines))
    os.chmod(path + b".new", stat.S_IMODE(os.stat(path).st_mode))
    os.rename(path + b".new", path)


def folder(rng, top):
    path = os.path.join(top, rng.choice(NAMES))
    for _ in range(rng.randrange(3)):
        path = os.path.join(path, rng.choice(NAMES))
    at = top
    for part in os.path.relpath(path, top).split(b"/"):
        at = os.path.join(at, part)
        if os.path.lexists(at) and not is_folder(at):
            remove(at)
        os.makedirs(at, exist_ok=True)
    return path


def step(rng, top):
    have = list(entries(top))
    files = [p for p in have if os.path.isfile(p) and not os.path.islink(p)]
    folders = [p for p in have if is_folder(p)]
    what = rng.randrange(9)
    if what == 0 and have:
        remove(rng.choice(have))
    elif what in (1, 2) and files:
        edit(rng, rng.choice(files))
    elif what == 3 and files:
        path = rng.choice(files)
        os.chmod(path, os.stat(path).st_mode ^ 0o111)
    elif what == 4 and have:  # of another type
        path = rng.choice(have)
        remove(path)
        if rng.random() < 0.5:
            os.mkdir(path)
            put(rng, os.path.join(path, rng.choice(NAMES)))
        else:
            put(rng, path)
    elif what == 5 and folders:  # the same folder anew: opaque
        path = rng.choice(folders)
        shutil.rmtree(path)
        os.mkdir(path)
        put(rng, os.path.join(path, rng.choice(NAMES)))
    elif what == 6 and have:
        to = os.path.join(folder(rng, top), rng.choice(NAMES))
        path = rng.choice(have)
        if os.path.lexists(path) and not to.startswith(path) and not path.startswith(to):
            remove(to)
            shutil.move(os.fsdecode(path), os.fsdecode(to))
    elif what == 7 and files:
        os.utime(rng.choice(files))
    else:
        put(rng, os.path.join(folder(rng, top), rng.choice(NAMES)))


def show(top, modes):
    for path in entries(top):
        st = os.lstat(path)
        if stat.S_ISLNK(st.st_mode):
            kind, data = "link", os.readlink(path)
        elif stat.S_ISREG(st.st_mode):
            kind = "exec" if st.st_mode & 0o100 else "file"
            with open(path, "rb") as f:
                data = f.read()
        elif modes:
            kind, data = "other", b""
        else:
            continue
        if modes:
            kind += " %o" % st.st_mode
        print(kind, hashlib.sha256(data).hexdigest(), os.path.relpath(path, top))


def main():
    op, top = sys.argv[1], os.fsencode(sys.argv[2])
    if op == "show":
        show(top, "modes" in sys.argv[3:])
        return
    rng = random.Random(int(sys.argv[3]))
    for _ in range(40 if op == "make" else rng.randrange(1, 25)):
        if op == "make":
            put(rng, os.path.join(folder(rng, top), rng.choice(NAMES)))
        else:
            step(rng, top)


main()
