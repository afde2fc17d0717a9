# SPDX-License-Identifier: Apache-2.0
"""A hostile payload: every attempt to get out, by name.

These files are one program (base first, run last): escape.bash puts them together.

FACTS KIND...: runs the attempts of these kinds, each in a child of its own, and
prints "can NAME" or "cannot NAME: why" for each. FACTS is JSON: what the attacker was told of
the host (paths, PIDs, names), and what is to be attacked.

The kinds say which weakness of a sandbox an attempt needs (see escape.bash):
    bare    nothing but a mount namespace that shows the host
    root    capabilities in a user namespace of its own
    calls   no system call filter
    host    the host's own root, with its capabilities (tests/bats/root)
"""
import ctypes
import errno
import fcntl
import json
import mmap
import os
import platform
import signal
import socket
import stat
import struct
import sys
import termios
import time

FACTS = json.loads(sys.argv[1])
ATTEMPTS = []
libc = ctypes.CDLL(None, use_errno=True)
X86 = platform.machine() == "x86_64"

# by x86_64's numbers and by those that the newer architectures share
NUMBERS = {
    "pivot_root": (155, 41), "add_key": (248, 217), "request_key": (249, 218),
    "keyctl": (250, 219), "perf_event_open": (298, 241), "userfaultfd": (323, 282),
    "pidfd_send_signal": (424, 424), "io_uring_setup": (425, 425), "open_tree": (428, 428),
    "fsopen": (430, 430), "pidfd_open": (434, 434), "clone3": (435, 435),
    "pidfd_getfd": (438, 438), "mount_setattr": (442, 442), "clone": (56, 220),
    "fsconfig": (431, 431), "fsmount": (432, 432), "move_mount": (429, 429),
}
AT_FDCWD = -100
CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x20000, 0x10000000, 0x20000000, 0x40000000
MS_RDONLY, MS_REMOUNT, MS_BIND, MS_REC = 1, 32, 4096, 16384


def attempt(kind):
    """Its function returns normally when the attempt succeeded."""
    def keep(function):
        ATTEMPTS.append((kind, function))
        return function
    return keep


def must(value):
    if value < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return value


def call(name, *args):
    values = [a if isinstance(a, bytes) or a is None or hasattr(a, "_type_") or
              isinstance(a, (ctypes.Array, ctypes.Structure)) else ctypes.c_long(a) for a in args]
    values = [ctypes.byref(v) if isinstance(v, ctypes.Structure) else v for v in values]
    return must(libc.syscall(ctypes.c_long(NUMBERS[name][0 if X86 else 1]), *values))


def mount(source, target, kind, flags, data=None):
    must(libc.mount(source, target, kind, ctypes.c_ulong(flags), data))


def any_of(function, items):
    """Succeeds if the function does for one of the items."""
    first = None
    for item in items:
        try:
            return function(item)
        except OSError as error:
            first = first or error
    raise first


def expect(truth, why="not so"):
    if not truth:
        raise OSError(errno.ENOENT, why)


def content(path):
    with open(path, "rb", buffering=0) as file:
        return file.read(4096)


def there(path):
    if not os.path.exists(path):
        raise OSError(errno.ENOSYS, f"no {path}")
    return path
