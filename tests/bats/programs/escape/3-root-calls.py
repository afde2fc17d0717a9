# SPDX-License-Identifier: Apache-2.0
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
    try:
        mount(b"tmpfs", b"/tmp", b"tmpfs", 0)
    except OSError:
        pass  # /tmp may be a mount of its own, which will do
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
        pass  # the same here
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
