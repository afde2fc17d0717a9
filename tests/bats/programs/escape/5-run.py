# SPDX-License-Identifier: Apache-2.0
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
