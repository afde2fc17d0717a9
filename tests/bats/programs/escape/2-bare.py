# SPDX-License-Identifier: Apache-2.0
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
def read_back_stdouts_file():
    expect(stat.S_ISREG(os.fstat(1).st_mode), "no file")
    os.close(os.open("/proc/self/fd/1", os.O_RDWR))


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


# ---- namespaces of the host ----

def in_the_hosts(name):
    expect(os.stat(f"/proc/self/ns/{name}").st_ino == FACTS["ns"][name], "its own")


@attempt("bare")
def be_in_the_hosts_network():
    in_the_hosts("net")


@attempt("bare")
def be_in_the_hosts_ipc_namespace():
    in_the_hosts("ipc")


@attempt("bare")
def be_in_the_hosts_pid_namespace():
    in_the_hosts("pid")


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
