# SPDX-License-Identifier: Apache-2.0
# tab.py LINE SHELL OPTIONS...: starts that interactive shell on a terminal of its own, types
# LINE and a TAB, and prints what the line has become. The shell's start-up file makes the
# prompt "READY> " and binds control-G to print "LINE<", the line and ">".
import os
import pty
import re
import select
import signal
import sys
import time

LIMIT = 20  # seconds
CONTROL_G = bytes([7])


def read_until(terminal, pattern):
    seen = b""
    end = time.monotonic() + LIMIT
    while not re.search(pattern, seen):
        left = max(0, end - time.monotonic())
        if not select.select([terminal], [], [], left)[0]:
            sys.exit(f"no answer; so far: {seen!r}")
        try:
            seen += os.read(terminal, 4096)
        except OSError:
            sys.exit(f"the shell has ended: {seen!r}")
    return re.search(pattern, seen).group(1)


def main():
    line, shell = sys.argv[1], sys.argv[2:]
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "dumb"
        os.environ["COLUMNS"] = "500"
        os.execvp(shell[0], shell)
    try:
        read_until(terminal, rb"(READY> )")
        os.write(terminal, line.encode() + b"\t" + CONTROL_G)
        print(read_until(terminal, rb"LINE<([^\r\n]*)>").decode())
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


main()
