# SPDX-License-Identifier: Apache-2.0
"""sockets.py DIR connects|refused: unix sockets at DIR/s and, abstract, named DIR."""
import errno
import os
import socket
import sys

folder, want = sys.argv[1:]
got = []
for name in folder + "/s", "\0" + folder:
    for kind in socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET:
        try:
            s = socket.socket(socket.AF_UNIX, kind)
            s.connect(name)
            got.append("connects")
        except OSError as e:
            got.append(errno.errorcode[e.errno])
for family in 38, 40:  # AF_ALG, AF_VSOCK
    try:
        socket.socket(family, socket.SOCK_SEQPACKET if family == 38 else socket.SOCK_STREAM)
        if want == "refused":
            sys.exit("a socket of family %d" % family)
    except OSError:
        pass
a, b = socket.socketpair()
a.send(b"x")
assert b.recv(1) == b"x"
r, w = os.pipe()
os.write(w, b"y")
assert os.read(r, 1) == b"y"
if want == "connects":
    assert got.count("connects") == 2, got
else:
    assert set(got) == {"EACCES"}, got
