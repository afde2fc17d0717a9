# SPDX-License-Identifier: Apache-2.0
# ---- what only root can do on the host; nothing of it leaves a trace there ----

def past_the_check(function, code):
    """It fails with that code once it was allowed to try."""
    ctypes.set_errno(0)
    if function() < 0 and ctypes.get_errno() != code:
        must(-1)


def nameless_file_in(folder):
    os.close(os.open(folder, os.O_TMPFILE | os.O_RDWR, 0o600))


def write_the_same(path):
    same = content(there(path))
    with open(path, "wb", buffering=0) as file:
        file.write(same)


@attempt("host")
def read_the_hosts_passwords():
    expect(b"root:" in content("/etc/shadow"))


@attempt("host")
def read_a_file_that_only_root_may():
    expect(b"SECRET" in content(FACTS["home"] + "/../root-only"))


@attempt("host")
def write_below_usr():
    nameless_file_in("/usr")


@attempt("host")
def write_below_etc():
    nameless_file_in("/etc")


@attempt("host")
def write_the_core_pattern():
    write_the_same("/proc/sys/kernel/core_pattern")


@attempt("host")
def write_the_path_of_the_module_loader():
    write_the_same("/proc/sys/kernel/modprobe")


@attempt("host")
def open_sysrq():
    os.close(os.open(there("/proc/sysrq-trigger"), os.O_WRONLY))


@attempt("host")
def make_a_cgroup():
    def make(folder):
        path = f"{folder}/ws-escape.{os.getpid()}"
        os.mkdir(path)
        os.rmdir(path)
    any_of(make, ["/sys/fs/cgroup", "/sys/fs/cgroup/pids", "/sys/fs/cgroup/memory",
                  "/sys/fs/cgroup/unified"])


@attempt("host")
def make_the_hosts_disk():
    path = FACTS["scratch"] + f"/disk.{os.getpid()}"
    os.mknod(path, stat.S_IFBLK | 0o600, FACTS["disk"])
    os.unlink(path)


@attempt("host")
def make_a_memory_device():
    path = FACTS["scratch"] + f"/kmem.{os.getpid()}"
    os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 1))
    os.unlink(path)


@attempt("host")
def give_a_file_capabilities():
    path = FACTS["scratch"] + f"/caps.{os.getpid()}"
    with open(path, "w", encoding="ascii"):
        pass
    try:
        os.setxattr(path, "security.capability", struct.pack("<IIIII", 0x02000001, 1 << 21, 0, 0, 0))
    finally:
        os.unlink(path)


@attempt("host")
def load_a_module():
    past_the_check(lambda: libc.syscall(ctypes.c_long(175 if X86 else 105), b"x" * 64,
                                        ctypes.c_long(64), b""), errno.ENOEXEC)


@attempt("host")
def load_a_bpf_program():
    code = struct.pack("<BBhiBBhi", 0xb7, 0, 0, 0, 0x95, 0, 0, 0)
    text, words = ctypes.create_string_buffer(code, 16), ctypes.create_string_buffer(b"GPL")
    attributes = ctypes.create_string_buffer(128)
    struct.pack_into("<IIQQ", attributes, 0, 1, 2, ctypes.addressof(text), ctypes.addressof(words))
    must(libc.syscall(ctypes.c_long(321 if X86 else 280), ctypes.c_long(5), attributes,
                      ctypes.c_long(128)))


@attempt("host")
def set_the_clock():
    timex = ctypes.create_string_buffer(256)
    must(libc.adjtimex(timex))
    struct.pack_into("I", timex, 0, 2)  # its frequency, to what it is
    must(libc.adjtimex(timex))


@attempt("host")
def switch_swap_off():
    past_the_check(lambda: libc.swapoff(b"/nonexistent"), errno.ENOENT)


@attempt("host")
def read_the_kernels_log():
    must(libc.klogctl(3, ctypes.create_string_buffer(4096), 4096))


@attempt("host")
def enter_the_hosts_mount_namespace():
    any_of(lambda pid: must(libc.setns(os.open(f"/proc/{pid}/ns/mnt", os.O_RDONLY), 0)),
           [1, FACTS["pid"]])


@attempt("host")
def see_the_host_through_pid_1():
    any_of(lambda pid: expect(b"SECRET" in content(f"/proc/{pid}/root{FACTS['secret']}")),
           [1, FACTS["pid"]])


@attempt("host")
def trace_a_host_process():
    must(libc.ptrace(0x4206, FACTS["pid"], None, None))


@attempt("host")
def open_the_hosts_password_file_by_handle():
    """shocker itself."""
    handle = (ctypes.c_uint * 34)(128)
    mount_id = ctypes.c_int()
    must(libc.name_to_handle_at(AT_FDCWD, b"/etc/passwd", handle, ctypes.byref(mount_id), 0))
    must(libc.open_by_handle_at(os.open("/etc", os.O_RDONLY), handle, os.O_RDONLY))


@attempt("host")
def become_another_user():
    os.setgroups([])
    os.setresuid(65534, 65534, 65534)


@attempt("host")
def run_before_all_others():
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))


@attempt("host")
def raise_its_own_priority():
    os.nice(-1)


@attempt("host")
def mount_over_the_host():
    mount(b"tmpfs", b"/mnt", b"tmpfs", 0)
    must(libc.umount2(b"/mnt", 2))


@attempt("host")
def change_the_hosts_network():
    request = struct.pack("16sH14x", b"lo", 0x49)
    fcntl.ioctl(socket.socket(socket.AF_INET, socket.SOCK_DGRAM), 0x8914, request)
