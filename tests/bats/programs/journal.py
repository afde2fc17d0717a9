# SPDX-License-Identifier: Apache-2.0
"""journal.py FILE MESSAGE: a systemd journal file with one entry.

The format is systemd's (JOURNAL_FILE_FORMAT). Nothing looks entries up by a match in it,
so the hash tables are empty and the hashes are only equal where they must be.
"""
import struct
import sys

path, message = sys.argv[1:]
OBJECT = struct.Struct("<BB6xQ")
HASH = 0x1234567890ABCDEF
TIME = 1700000000000000
BOOT = bytes(range(16))
DATA, ENTRY, DATA_TABLE, FIELD_TABLE, ENTRY_ARRAY = 1, 3, 4, 5, 6
HEADER_SIZE = 240

body = bytearray()


def add(kind, payload):
    while (HEADER_SIZE + len(body)) % 8:
        body.append(0)
    offset = HEADER_SIZE + len(body)
    body.extend(OBJECT.pack(kind, 0, OBJECT.size + len(payload)) + payload)
    return offset


data_table = add(DATA_TABLE, bytes(16 * 16)) + OBJECT.size
field_table = add(FIELD_TABLE, bytes(16 * 16)) + OBJECT.size
entry_at = 0
fields = [b"MESSAGE=" + message.encode(), b"PRIORITY=3", b"SYSLOG_IDENTIFIER=app",
          b"_BOOT_ID=" + BOOT.hex().encode()]
# an entry stands after its data, whose sizes are known
sizes = [OBJECT.size + 48 + len(f) for f in fields]
at = HEADER_SIZE + len(body)
for size in sizes:
    at = (at + 7) // 8 * 8 + size
entry_at = (at + 7) // 8 * 8
offsets = [add(DATA, struct.pack("<QQQQQQ", HASH, 0, 0, entry_at, 0, 1) + f) for f in fields]
entry = add(ENTRY, struct.pack("<QQQ16sQ", 1, TIME, 1000000, BOOT, HASH)
            + b"".join(struct.pack("<QQ", o, HASH) for o in offsets))
assert entry == entry_at
array = add(ENTRY_ARRAY, struct.pack("<QQ", 0, entry))
while len(body) % 8:
    body.append(0)
header = b"LPKSHHRH" + struct.pack("<IIB7x16s16s16s16s", 0, 0, 0, b"f" * 16, b"m" * 16, BOOT, b"s" * 16)
header += struct.pack("<QQ", HEADER_SIZE, len(body))
header += struct.pack("<QQQQ", data_table, 256, field_table, 256)
header += struct.pack("<QQQQQQQQQ", array, len(offsets) + 4, 1, 1, 1, array, TIME, TIME, 1000000)
header += struct.pack("<QQQQ", len(offsets), 0, 0, 1)
assert len(header) == HEADER_SIZE, len(header)
with open(path, "wb") as f:
    f.write(header + body)
