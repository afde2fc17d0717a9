# SPDX-License-Identifier: Apache-2.0
"""terminal.py SCRIPT COMMAND...: COMMAND on a terminal that SCRIPT, in python, plays.

SCRIPT calls start(), send(text), expect(text), wait(seconds), size(rows, columns), modes(),
signal_it(number) and end(status), where a status of None stands for any.
"""
import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time

SCRIPT, COMMAND = sys.argv[1], sys.argv[2:]
LIMIT = 20

master, slave = pty.openpty()
seen = b""
process = None


def size(rows, columns):
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def modes():
    return termios.tcgetattr(slave)


def own_terminal():
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def start():
    global process, seen
    seen = b""
    process = subprocess.Popen(COMMAND, stdin=slave, stdout=slave, stderr=slave,
                               preexec_fn=own_terminal)


def take(seconds):
    global seen
    if select.select([master], [], [], seconds)[0]:
        seen += os.read(master, 65536)
        return True
    return False


def expect(text):
    """What came before TEXT, and TEXT, are gone after that."""
    global seen
    until = time.monotonic() + LIMIT
    while text.encode() not in seen:
        assert time.monotonic() < until, "no %r in %r" % (text, seen)
        take(0.1)
    seen = seen.split(text.encode(), 1)[1]


def send(text):
    os.write(master, text.encode())


def wait(seconds):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        take(0.05)


def signal_it(number):
    os.kill(process.pid, number)


def end(status):
    until = time.monotonic() + LIMIT
    while process.poll() is None:
        assert time.monotonic() < until, "it does not end: %r" % seen
        take(0.05)
    got = process.returncode
    got = 128 - got if got < 0 else got
    assert status is None or got == status, "status %d: %r" % (got, seen)


try:
    exec(SCRIPT)
finally:
    if process and process.poll() is None:
        process.kill()
        process.wait()
