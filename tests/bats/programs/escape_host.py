# SPDX-License-Identifier: Apache-2.0
"""The host that escape.py attacks.

escape_host.py hold FOLDER          a process with a terminal, sockets and shared memory; says
                                    in JSON what they are, and ends at the end of its stdin
escape_host.py with-key COMMAND...  COMMAND in a session keyring with a key, whose number
                                    replaces @KEY@ in its arguments
"""
import ctypes
import json
import os
import platform
import socket
import sys

libc = ctypes.CDLL(None, use_errno=True)
ADD_KEY, KEYCTL = (248, 250) if platform.machine() == "x86_64" else (217, 219)
SESSION_KEYRING = -3
IPC_CREAT, IPC_RMID = 0o1000, 0


def hold(folder):
    name = f"ws-escape-{os.getpid()}"
    _, terminal = os.openpty()
    loopback = socket.create_server(("127.0.0.1", 0), backlog=64)
    abstract = socket.socket(socket.AF_UNIX)
    abstract.bind("\0" + name)
    stream = socket.socket(socket.AF_UNIX)
    stream.bind(folder + "/s")
    datagrams = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    datagrams.bind(folder + "/s.d")
    for listener in abstract, stream:
        listener.listen(64)
    with open("/dev/shm/" + name, "w", encoding="ascii") as file:
        file.write("SECRET")
    key = 0x57000000 + os.getpid()
    shm = libc.shmget(key, ctypes.c_size_t(4096), IPC_CREAT | 0o600)
    spaces = {name: os.stat("/proc/self/ns/" + name).st_ino for name in ("net", "ipc", "pid")}
    print(json.dumps({
        "ns": spaces,
        "pid": os.getpid(), "tty": os.ttyname(terminal), "tty_dev": os.fstat(terminal).st_dev,
        "port": loopback.getsockname()[1], "abstract": name, "socket": folder + "/s",
        "shm_file": "/dev/shm/" + name, "shm_key": key}), flush=True)
    sys.stdin.read()
    libc.shmctl(shm, IPC_RMID, None)
    os.unlink("/dev/shm/" + name)


def with_key(command):
    secret = b"SECRET"
    if libc.syscall(KEYCTL, 1, None) < 0:
        sys.exit("no session keyring")
    number = libc.syscall(ADD_KEY, b"user", b"ws-escape", secret, len(secret), SESSION_KEYRING)
    if number < 0:
        sys.exit("no key")
    command = [argument.replace("@KEY@", str(number)) for argument in command]
    os.execvp(command[0], command)


if sys.argv[1] == "hold":
    hold(sys.argv[2])
else:
    with_key(sys.argv[2:])
