# SPDX-License-Identifier: Apache-2.0
"""A hostile payload: every attempt to get out, by name.

escape.py FACTS KIND...: runs the attempts of these kinds, each in a child of its own, and
prints "can NAME" or "cannot NAME: why" for each. FACTS is JSON: what the attacker was told of
the host (paths, PIDs, names), and what is to be attacked.

The kinds say which weakness of a sandbox an attempt needs (see escape.bash):
    bare    nothing but a mount namespace that shows the host
    root    capabilities in a user namespace of its own
    calls   no system call filter
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
    last = OSError(errno.ENOENT, "nothing to try")
    for item in items:
        try:
            return function(item)
        except OSError as error:
            last = error
    raise last


def expect(truth, why="not so"):
    if not truth:
        raise OSError(errno.ENOENT, why)


def content(path):
    with open(path, "rb", buffering=0) as file:
        return file.read(4096)


# ---- files of the host, and of other sessions ----

@attempt("bare")
def read_a_credential_in_home():
    expect(b"SECRET" in content(FACTS["secret"]))


@attempt("bare")
def read_it_by_dot_dot():
    expect(b"SECRET" in content("/tmp/../proc/self/root/" + "../" * 20 + FACTS["secret"]))


@attempt("bare")
def write_into_home():
    with open(FACTS["home"] + "/.ssh/authorized_keys", "w", encoding="ascii") as file:
        file.write("planted")


@attempt("bare")
def link_a_credential_out():
    os.link(FACTS["secret"], FACTS["drop"])


@attempt("bare")
def read_another_sessions_file():
    expect(b"OTHER" in content(FACTS["other"]))


@attempt("bare")
def read_the_state_folder():
    expect("wsiso.json" in os.listdir(FACTS["root"]))


@attempt("bare")
def write_the_state_folder():
    with open(FACTS["root"] + "/sessions/planted", "w", encoding="ascii"):
        pass


@attempt("bare")
def see_the_hosts_shared_memory():
    expect(b"SECRET" in content(FACTS["shm_file"]))


@attempt("bare")
def search_all_mounts_for_the_secret():
    with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as file:
        points = [line.split()[4] for line in file]
    any_of(lambda p: expect(b"SECRET" in content(p.rstrip("/") + FACTS["secret"])), points)


# ---- what the caller holds ----

@attempt("bare")
def read_an_inherited_descriptor():
    any_of(lambda fd: expect(b"SECRET" in os.pread(fd, 100, 0)), range(3, 64))


@attempt("bare")
def write_through_stdins_file():
    expect(stat.S_ISREG(os.fstat(0).st_mode), "no file")
    os.write(os.open("/proc/self/fd/0", os.O_WRONLY), b"EVIL")


@attempt("bare")
def truncate_stdins_file():
    expect(stat.S_ISREG(os.fstat(0).st_mode), "no file")
    os.close(os.open("/proc/self/fd/0", os.O_RDWR | os.O_TRUNC))


@attempt("bare")
def read_the_callers_environment():
    expect(os.environ.get("ESCAPE_TOKEN") == "SECRET")


@attempt("bare")
def open_the_callers_terminal():
    fd = os.open(FACTS["tty"], os.O_RDWR | os.O_NOCTTY)
    expect(os.fstat(fd).st_dev == FACTS["tty_dev"], "another terminal")


@attempt("bare")
def type_into_the_callers_terminal():
    fd = os.open(FACTS["tty"], os.O_RDWR)
    expect(os.fstat(fd).st_dev == FACTS["tty_dev"], "another terminal")
    os.setsid()
    fcntl.ioctl(fd, termios.TIOCSCTTY, 0)
    fcntl.ioctl(fd, termios.TIOCSTI, b"x")


@attempt("bare")
def read_a_key_of_the_caller():
    buffer = ctypes.create_string_buffer(64)
    expect(call("keyctl", 11, FACTS["key"], buffer, 64) > 0 and b"SECRET" in buffer.raw)


@attempt("bare")
def find_a_key_of_the_caller():
    call("keyctl", 10, -3, b"user", b"ws-escape", 0)


# ---- processes ----

@attempt("bare")
def signal_a_host_process():
    os.kill(FACTS["pid"], 0)


@attempt("bare")
def signal_a_host_process_by_pidfd():
    call("pidfd_send_signal", call("pidfd_open", FACTS["pid"], 0), 0, None, 0)


@attempt("bare")
def change_a_host_process_priority():
    os.setpriority(os.PRIO_PROCESS, FACTS["pid"], os.getpriority(os.PRIO_PROCESS, FACTS["pid"]))


@attempt("bare")
def queue_a_signal_to_a_host_process():
    must(libc.sigqueue(FACTS["pid"], 0, None))


@attempt("bare")
def change_a_host_process_limits():
    limit = (ctypes.c_ulong * 2)()
    must(libc.prlimit(FACTS["pid"], 4, None, limit))


@attempt("bare")
def move_a_host_process_to_another_cpu():
    os.sched_setaffinity(FACTS["pid"], os.sched_getaffinity(FACTS["pid"]))


@attempt("bare")
def trace_pid_1_or_the_shepherd():
    any_of(lambda pid: must(libc.ptrace(0x4206, pid, None, None)), FACTS["targets"])


@attempt("bare")
def read_its_memory():
    def read(pid):
        with open(f"/proc/{pid}/maps", encoding="utf-8") as file:
            first = file.readline()
        expect(first, "no memory")
        start = int(first.split("-")[0], 16)
        buffer = ctypes.create_string_buffer(16)
        local = (ctypes.c_void_p * 2)(ctypes.addressof(buffer), 16)
        remote = (ctypes.c_void_p * 2)(start, 16)
        must(libc.process_vm_readv(pid, local, ctypes.c_ulong(1), remote, ctypes.c_ulong(1),
                                   ctypes.c_ulong(0)))
    any_of(read, FACTS["targets"])


@attempt("bare")
def open_its_memory_for_writing():
    any_of(lambda pid: os.open(f"/proc/{pid}/mem", os.O_RDWR), FACTS["targets"])


@attempt("bare")
def steal_its_descriptors():
    def steal(pid):
        fd = call("pidfd_open", pid, 0)
        any_of(lambda n: call("pidfd_getfd", fd, n, 0), range(0, 64))
    any_of(steal, FACTS["targets"])


@attempt("bare")
def open_its_descriptors():
    any_of(lambda pid: any_of(lambda n: os.readlink(f"/proc/{pid}/fd/{n}"), range(0, 64)),
           FACTS["targets"])


@attempt("bare")
def enter_its_root():
    any_of(lambda pid: os.listdir(f"/proc/{pid}/root/"), FACTS["targets"])


@attempt("bare")
def enter_its_working_folder():
    any_of(lambda pid: os.listdir(f"/proc/{pid}/cwd/"), FACTS["targets"])


@attempt("bare")
def read_its_environment():
    any_of(lambda pid: content(f"/proc/{pid}/environ"), FACTS["targets"])


@attempt("bare")
def open_its_program():
    any_of(lambda pid: os.open(f"/proc/{pid}/exe", os.O_RDONLY), FACTS["targets"])


@attempt("bare")
def make_it_the_first_to_be_killed():
    def choose(pid):
        with open(f"/proc/{pid}/oom_score_adj", "w", encoding="ascii") as file:
            file.write("900")
    any_of(choose, FACTS["targets"])


# ---- sockets and shared memory ----

@attempt("bare")
def connect_to_the_hosts_loopback():
    socket.create_connection(("127.0.0.1", FACTS["port"]), 3)


@attempt("bare")
def connect_to_an_abstract_socket():
    socket.socket(socket.AF_UNIX).connect("\0" + FACTS["abstract"])


@attempt("bare")
def connect_to_a_pathname_socket():
    socket.socket(socket.AF_UNIX).connect(FACTS["socket"])


@attempt("bare")
def send_to_a_datagram_socket():
    socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"x", FACTS["socket"] + ".d")


@attempt("bare")
def attach_the_hosts_shared_memory():
    must(libc.shmget(FACTS["shm_key"], ctypes.c_size_t(0), 0))


# ---- capabilities ----

@attempt("root")
def mount_a_tmpfs():
    mount(b"tmpfs", b"/tmp", b"tmpfs", 0)


@attempt("root")
def bind_the_root():
    mount(b"/", b"/tmp", None, MS_BIND | MS_REC)


@attempt("root")
def remount_usr_writable():
    mount(None, b"/usr", None, MS_REMOUNT | MS_BIND)


@attempt("root")
def unmount_what_hides():
    must(libc.umount2(FACTS["hidden"].encode(), 2))


@attempt("root")
def pivot_the_root():
    mount(b"tmpfs", b"/tmp", b"tmpfs", 0)
    os.chdir("/tmp")
    call("pivot_root", b".", b".")


@attempt("root")
def change_the_root():
    os.chroot("/tmp")


@attempt("root")
def clone_a_tree():
    call("open_tree", AT_FDCWD, b"/", 1 | 0x8000)


@attempt("root")
def open_a_filesystem():
    call("fsopen", b"tmpfs", 0)


@attempt("root")
def set_a_mounts_flags():
    attributes = (ctypes.c_ulong * 4)(0, 1, 0, 0)
    call("mount_setattr", AT_FDCWD, b"/usr", 0, attributes, 32)


@attempt("root")
def a_mount_namespace_without_a_user_namespace():
    must(libc.unshare(CLONE_NEWNS))


@attempt("root")
def a_pid_namespace_without_a_user_namespace():
    must(libc.unshare(CLONE_NEWPID))


@attempt("root")
def a_network_namespace_without_a_user_namespace():
    must(libc.unshare(CLONE_NEWNET))


@attempt("root")
def enter_the_mount_namespace_of_another():
    any_of(lambda pid: must(libc.setns(os.open(f"/proc/{pid}/ns/mnt", os.O_RDONLY), 0)),
           FACTS["targets"])


@attempt("root")
def enter_its_namespaces_by_pidfd():
    any_of(lambda pid: must(libc.setns(call("pidfd_open", pid, 0), CLONE_NEWNS)), FACTS["targets"])


@attempt("root")
def rename_the_host():
    socket.sethostname("escaped")


@attempt("root")
def listen_to_all_packets():
    socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)


@attempt("root")
def send_raw_packets():
    socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)


@attempt("root")
def change_another_network_setting():
    request = struct.pack("16sH14x", b"lo", 0)
    fcntl.ioctl(socket.socket(socket.AF_INET, socket.SOCK_DGRAM), 0x8914, request)


@attempt("root")
def open_by_a_handle():
    """As shocker did: a file by its handle, past every folder on the way."""
    handle = (ctypes.c_uint * 34)(128)
    mount_id = ctypes.c_int()
    try:
        mount(b"tmpfs", FACTS["scratch"].encode(), b"tmpfs", 0)
    except OSError:
        pass
    path = FACTS["scratch"] + f"/handle.{os.getpid()}"
    os.mkdir(path)  # the kernel gives out no more than folders in a user namespace
    try:
        must(libc.name_to_handle_at(AT_FDCWD, path.encode(), handle, ctypes.byref(mount_id), 0))
        must(libc.open_by_handle_at(os.open(FACTS["scratch"], os.O_RDONLY), handle,
                                    os.O_RDONLY | os.O_DIRECTORY))
    finally:
        os.rmdir(path)


# ---- calls that a filter refuses ----

@attempt("calls")
def a_user_namespace_by_unshare():
    must(libc.unshare(CLONE_NEWUSER))


def as_child(pid):
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


@attempt("calls")
def a_user_namespace_by_clone():
    as_child(call("clone", CLONE_NEWUSER | signal.SIGCHLD, None, None, None, None))


@attempt("calls")
def a_user_namespace_by_clone3():
    as_child(call("clone3", (ctypes.c_ulong * 8)(CLONE_NEWUSER, 0, 0, 0, signal.SIGCHLD), 64))


@attempt("calls")
def a_namespace_in_which_it_mounts():
    must(libc.unshare(CLONE_NEWUSER | CLONE_NEWNS))
    mount(b"tmpfs", b"/tmp", b"tmpfs", 0)


@attempt("calls")
def a_user_namespace_by_the_i386_call():
    """int 0x80, from a page of its own code: unshare is 310 there."""
    expect(X86, "not on this machine")
    page = mmap.mmap(-1, 4096, prot=7)
    page.write(bytes.fromhex("53 89f8 89f3 cd80 5b c3"))
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    result = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int)(address)(310, CLONE_NEWUSER)
    if result < 0:
        raise OSError(-result, os.strerror(-result))


@attempt("calls")
def a_sandbox_of_its_own():
    pid = os.fork()
    if pid == 0:
        null = os.open("/dev/null", os.O_RDWR)
        os.dup2(null, 2)
        os.execvp("unshare", ["unshare", "-Urm", "mount", "-t", "tmpfs", "none", "/tmp"])
    expect(os.waitpid(pid, 0)[1] == 0, "unshare -Urm failed")


@attempt("calls")
def set_up_an_io_uring():
    call("io_uring_setup", 1, ctypes.create_string_buffer(120))


@attempt("calls")
def handle_page_faults():
    call("userfaultfd", 1 | os.O_CLOEXEC)


@attempt("calls")
def count_performance_events():
    attributes = ctypes.create_string_buffer(128)
    struct.pack_into("IIQQQQQ", attributes, 0, 1, 128, 0, 0, 0, 0, 0x60)
    call("perf_event_open", attributes, 0, -1, -1, 0)


@attempt("calls")
def make_a_key():
    call("add_key", b"user", b"ws-made", b"x", 1, -3)


@attempt("calls")
def join_a_keyring():
    call("keyctl", 1, None)


@attempt("calls")
def use_the_kernels_ciphers():
    socket.socket(38, socket.SOCK_SEQPACKET)


@attempt("calls")
def talk_to_the_hypervisor():
    socket.socket(40, socket.SOCK_STREAM)


@attempt("calls")
def watch_files_of_others():
    must(libc.fanotify_init(0x200, os.O_RDONLY))


@attempt("calls")
def type_into_its_own_terminal():
    _, slave = os.openpty()
    os.setsid()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    fcntl.ioctl(slave, termios.TIOCSTI, b"x")


@attempt("calls")
def the_same_with_high_bits_in_the_request():
    """The kernel looks at 32 bits: a filter that compares 64 would let this pass."""
    _, slave = os.openpty()
    os.setsid()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    must(libc.ioctl(slave, ctypes.c_ulong(0x100005412), b"x"))


# ---- running them ----

def result_of(function):
    """'' if it succeeded, or why not."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        signal.alarm(5)
        try:
            if FACTS.get("own_mounts"):
                must(libc.unshare(CLONE_NEWNS))
            function()
            said = ""
        except OSError as error:
            said = f"{errno.errorcode.get(error.errno, error.errno)} {error.strerror}"
        except Exception as error:  # the attempt itself is at fault
            said = f"broken: {error!r}"
        os.write(write, said.encode() + b".")
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        said = pipe.read().decode()
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):  # a filter may kill
        killed = os.WTERMSIG(status)
        return "SIGSYS" if killed == signal.SIGSYS else f"broken: signal {killed}"
    return said[:-1]


def victim():
    """A process like those that are attacked, for a sandbox that has none of its own."""
    pid = os.fork()
    if pid == 0:
        time.sleep(60)
        os._exit(0)
    return pid


def main():
    own = victim() if FACTS.get("weak") else 0
    FACTS["targets"] = [own] if own else [pid for pid in (1, os.getppid(), FACTS["pid"]) if pid > 0]
    for kind, function in ATTEMPTS:
        name = function.__name__
        if kind in sys.argv[2:] and name not in FACTS["allowed"]:
            why = result_of(function)
            print(f"cannot {name}: {why}" if why else f"can {name}", flush=True)
    if own:
        os.kill(own, signal.SIGKILL)
    print("done")


main()
