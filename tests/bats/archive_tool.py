#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""archive_tool.py list: the names of all cases.
archive_tool.py CASE IN OUT OUTSIDE: a session's archive (tar), spoiled in one way that
somebody may hope leads to the folder OUTSIDE, or makes a session that is none.
archive_tool.py all IN OUT OUTSIDE: each case, in the file of that name in the folder OUT."""
import io
import json
import sys
import tarfile

CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def entry(name, kind=tarfile.REGTYPE, data=b"", **more):
    info = tarfile.TarInfo(name)
    info.type, info.size, info.mode = kind, len(data), 0o755 if kind == tarfile.DIRTYPE else 0o644
    for key, value in more.items():
        setattr(info, key, value)
    return info, data


def at(entries, name):
    """Where the entry NAME is."""
    return next(i for i, (info, _) in enumerate(entries) if info.name == name)


def behind(name, *new):
    def spoil(entries, outside):
        where = at(entries, name) + 1
        entries[where:where] = [n(outside) if callable(n) else n for n in new]
    return spoil


def in_changes(label, *new):
    """In the folder that session() has made for it, the last of changes/app."""
    CASES[label] = behind("changes/app/zz", *new)


in_changes("dotdot", entry("changes/app/zz/../../../../x"))
in_changes("dotdot_name", entry("changes/app/zz/..", tarfile.DIRTYPE))
in_changes("dot_name", entry("changes/app/zz/."))
in_changes("absolute", lambda outside: entry(outside + "/x"))
in_changes("no_parent", entry("changes/app/zz/no/x"))
in_changes("double_slash", entry("changes/app/zz//x"))
in_changes("through_link", lambda o: entry("changes/app/zz/l", tarfile.SYMTYPE, linkname=o),
           entry("changes/app/zz/l/x"))
in_changes("link_then_folder", lambda o: entry("changes/app/zz/l", tarfile.SYMTYPE, linkname=o),
           entry("changes/app/zz/l", tarfile.DIRTYPE, mode=0o777))
in_changes("folder_then_link", entry("changes/app/zz/l", tarfile.DIRTYPE, mode=0o777),
           lambda o: entry("changes/app/zz/l", tarfile.SYMTYPE, linkname=o))
in_changes("link_then_file", lambda o: entry("changes/app/zz/l", tarfile.SYMTYPE, linkname=o + "/secret"),
           entry("changes/app/zz/l", data=b"written"))
in_changes("hardlink", lambda o: entry("changes/app/zz/h", tarfile.LNKTYPE, linkname=o + "/secret"))
in_changes("hardlink_beside", entry("changes/app/zz/h", tarfile.LNKTYPE, linkname="changes/app/new"))
in_changes("hardlink_up", entry("changes/app/zz/h", tarfile.LNKTYPE, linkname="../../../../x", data=b"data"))
in_changes("empty_link", entry("changes/app/zz/l", tarfile.SYMTYPE, linkname=""))
in_changes("null_device", entry("changes/app/zz/d", tarfile.CHRTYPE, devmajor=1, devminor=3))
in_changes("block_device", entry("changes/app/zz/d", tarfile.BLKTYPE, devmajor=8, devminor=0))
in_changes("setuid", entry("changes/app/zz/s", mode=0o4755))
in_changes("setgid", entry("changes/app/zz/s", mode=0o2755))
in_changes("setuid_folder", entry("changes/app/zz/s", tarfile.DIRTYPE, mode=0o4755))
in_changes("twice", entry("changes/app/zz/a"), entry("changes/app/zz/a", data=b"again"))
in_changes("unsorted", entry("changes/app/zz/b"), entry("changes/app/zz/a"))
in_changes("late_whiteout", entry("changes/app/zz/a"),
           entry("changes/app/zz/b", tarfile.CHRTYPE, devmajor=0, devminor=0))
in_changes("whiteout_and_file", entry("changes/app/zz/a", tarfile.CHRTYPE, devmajor=0, devminor=0),
           entry("changes/app/zz/a"))
in_changes("long_name", entry("changes/app/zz/" + "x" * 256))
in_changes("not_enough", entry("changes/app/zz/a", data=b"abc", size=1 << 50))


def with_xattr(label, path, kind, name, value="y"):
    in_changes(label, entry(path, kind, pax_headers={"SCHILY.xattr." + name: value}))


with_xattr("xattr_trusted", "changes/app/zz/a", tarfile.DIRTYPE, "trusted.overlay.opaque")
with_xattr("xattr_redirect", "changes/app/zz/a", tarfile.DIRTYPE, "user.overlay.redirect", "/etc")
with_xattr("xattr_metacopy", "changes/app/zz/a", tarfile.REGTYPE, "user.overlay.metacopy", "")
with_xattr("xattr_whiteout", "changes/app/zz/a", tarfile.REGTYPE, "user.overlay.whiteout")
with_xattr("xattr_opaque_file", "changes/app/zz/a", tarfile.REGTYPE, "user.overlay.opaque")
with_xattr("xattr_opaque_x", "changes/app/zz/a", tarfile.DIRTYPE, "user.overlay.opaque", "x")
with_xattr("xattr_capability", "changes/app/zz/a", tarfile.REGTYPE, "security.capability")
with_xattr("xattr_user", "changes/app/zz/a", tarfile.REGTYPE, "user.mine")
in_changes("acl", entry("changes/app/zz/a", pax_headers={"SCHILY.acl.access": "user::rwx,user:1000:rwx,group::r-x,mask::rwx,other::r-x"}))

CASES["whiteout_in_base"] = behind("base", entry("base/a", tarfile.CHRTYPE, devmajor=0, devminor=0))
CASES["opaque_base"] = behind("base", entry("base/a", tarfile.DIRTYPE,
                                            pax_headers={"SCHILY.xattr.user.overlay.opaque": "y"}))
CASES["whiteout_in_home"] = behind("home", entry("home/a", tarfile.CHRTYPE, devmajor=0, devminor=0))
CASES["pool_alternates"] = behind("objects/app/objects", entry("objects/app/objects/info", tarfile.DIRTYPE),
                                  lambda o: entry("objects/app/objects/info/alternates", data=o.encode()))
CASES["pool_config"] = behind("objects/app", entry("objects/app/config", data=b"[core]\n"))
CASES["pool_hooks"] = behind("objects/app", entry("objects/app/hooks", tarfile.DIRTYPE))
CASES["pool_link"] = behind("objects/app", lambda o: entry("objects/app/objects", tarfile.SYMTYPE, linkname=o))
CASES["pool_fifo"] = behind("objects/app", entry("objects/app/objects", tarfile.FIFOTYPE))
CASES["another_tree"] = behind("home", entry("other", tarfile.DIRTYPE))
CASES["behind_the_end"] = behind("end", entry("more"))


def drop(label, name):
    def spoil(entries, _):
        entries[:] = [e for e in entries if e[0].name != name and not e[0].name.startswith(name + "/")]
    CASES["without_" + label] = spoil


for _label, _name in (("manifest", "session.json"), ("spec", "config.json"), ("base", "base"),
                      ("changes", "changes"), ("home", "home"), ("objects", "objects/app"), ("end", "end")):
    drop(_label, _name)


@case
def base_is_a_link(entries, outside):
    drop("", "base")
    CASES.pop("without_")(entries, outside)
    entries[2:2] = [entry("base", tarfile.SYMTYPE, linkname=outside)]


def manifest(label, change):
    def spoil(entries, outside):
        where = at(entries, "session.json")
        doc = json.loads(entries[where][1])
        change(doc, outside)
        entries[where] = entry("session.json", data=json.dumps(doc).encode())
    CASES["manifest_" + label] = spoil


manifest("repo_name", lambda d, o: d["repos"][0].update(name="../x"))
manifest("repo_name_git", lambda d, o: d["repos"][0].update(name=".git"))
manifest("revision", lambda d, o: d["repos"][0].update(revision="--upload-pack=x"))
manifest("branch", lambda d, o: d["repos"][0].update(branch="../../x"))
manifest("id", lambda d, o: d.update(id="x\n../y"))
manifest("id_long", lambda d, o: d.update(id="x" * 129))
manifest("vcs", lambda d, o: d["repos"][0].update(vcs="hg"))
manifest("twice", lambda d, o: d["repos"].append(d["repos"][0]))
manifest("no_repos", lambda d, o: d.pop("repos"))
manifest("format", lambda d, o: d.update(format="other"))
manifest("newer", lambda d, o: d.update(version=2))


@case
def spec_is_no_object(entries, _):
    entries[at(entries, "config.json")] = entry("config.json", data=b"[]")


@case
def spec_network(entries, _):
    spec = json.dumps({"sandbox": {"unshare_net": False}})
    entries[at(entries, "config.json")] = entry("config.json", data=spec.encode())


def spoil(name, source, target, outside):
    with tarfile.open(source) as tar:
        entries = [(m, tar.extractfile(m).read() if m.isreg() else b"") for m in tar]
    CASES[name](entries, outside)
    with tarfile.open(target, "w", format=tarfile.PAX_FORMAT) as tar:
        for info, data in entries:
            # the bytes there are, whatever the size says
            tar.addfile(info)
            tar.fileobj.write(data + bytes(-len(data) % 512))
            tar.offset += len(data) + -len(data) % 512


def main():
    if sys.argv[1] == "list":
        print("\n".join(sorted(CASES)))
        return
    name, source, target, outside = sys.argv[1:]
    for case_name in sorted(CASES) if name == "all" else ():
        spoil(case_name, source, target + "/" + case_name, outside)
    if name != "all":
        spoil(name, source, target, outside)


main()
