# SPDX-License-Identifier: Apache-2.0
"""A small asyncio client of wsiso, for a server's side.

It needs Python 3.9 or later, its standard library, and the wsiso program.

    import wsiso

    client = wsiso.Client(root="/srv/workspaces")
    await client.create("talk1", {
        "repos": [{"name": "app", "path": "/srv/app"}],
    })

    result = await client.exec("talk1", ["make", "check"], timeout=600)
    print(result.status, result.stdout.decode(errors="replace"))

A command's output as it comes, several commands at a time:

    async with await client.start("talk1", ["make"]) as command:
        async for stream, data in command.output():   # "stdout" or "stderr", bytes
            ...
        result = await command.wait()

A server in the background, reached from the next command:

    web = await client.background("talk1", ["python3", "-m", "http.server"])
    await client.exec("talk1", ["curl", "-s", "http://127.0.0.1:8000/"])
    await client.kill("talk1", exec_id=web)

What wsiso refuses or fails to do is an exception of its kind, all of them kinds of
wsiso.Error:

    try:
        await client.exec("talk2", ["true"])
    except wsiso.SessionMissing as error:
        print(error, error.hint)

A child's work comes back into its parent; conflicts are asked about one by one:

    async def resolve(conflict):            # as in merge.schema.json
        if conflict["kind"] == "content":
            return await my_model(conflict)     # bytes of the merged file
        return wsiso.THEIRS                     # or OURS, DELETE; None: left as it is

    await client.create("sub1", {"subagent_isolation": "isolated"}, parent="talk1")
    report = await client.merge("sub1", resolver=resolve)

A command's own failure is no exception: see Result.status and Result.cause. Cancelling
a task that runs a command ends the command with all that it started.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import dataclasses
import json
import logging
import os
import signal
import tempfile
import uuid
from typing import (Any, AsyncIterator, Awaitable, Callable, Dict, Iterator, List, Mapping, Optional, Sequence,
                    Tuple, Union)

log = logging.getLogger("wsiso")

Path = Union[str, "os.PathLike[str]"]

# answers to a conflict of a merge, besides the bytes of a file
OURS, THEIRS, DELETE = "@ours", "@theirs", "@delete"
Answer = Union[bytes, str, None]
Resolver = Callable[[Mapping[str, Any]], Awaitable[Answer]]

GRACE = 2.0  # seconds between the two TERMs of a cancelled command
CHUNK = 64 << 10
LINE_MAX = 4 << 20  # of a status line


# ---- errors ----

class Error(Exception):
    """What wsiso refused or failed to do.

    kind is one word of the list in wsiso(1), hint says what to do, status is the exit
    status of wsiso (for a command that could not be run: 126 or 127).
    """

    kind = "internal"

    def __init__(self, message: str, hint: str = "", status: Optional[int] = None):
        super().__init__(message)
        self.hint = hint
        self.status = status


KINDS: Dict[str, type] = {}


def _kind(kind: str) -> type:
    name = "".join(word.capitalize() for word in kind.split("-"))
    KINDS[kind] = type(name, (Error,), {"kind": kind, "__module__": __name__})
    return KINDS[kind]


Usage = _kind("usage")
Disabled = _kind("disabled")
SpecInvalid = _kind("spec-invalid")
PolicyChanged = _kind("policy-changed")
HostUnsupported = _kind("host-unsupported")
BwrapUnusable = _kind("bwrap-unusable")
OverlayUnavailable = _kind("overlay-unavailable")
SeccompUnavailable = _kind("seccomp-unavailable")
LimitsUnavailable = _kind("limits-unavailable")
HelperMissing = _kind("helper-missing")
RootUnsafe = _kind("root-unsafe")
SessionMissing = _kind("session-missing")
SessionExpired = _kind("session-expired")
SessionExists = _kind("session-exists")
SessionBlocked = _kind("session-blocked")
SessionBusy = _kind("session-busy")
RepoUnusable = _kind("repo-unusable")
BaseMissing = _kind("base-missing")
SnapshotFailed = _kind("snapshot-failed")
SetupFailed = _kind("setup-failed")
ExecMissing = _kind("exec-missing")
SandboxLost = _kind("sandbox-lost")
StateCorrupt = _kind("state-corrupt")
StateVersion = _kind("state-version")
Stale = _kind("stale")
Conflict = _kind("conflict")
DiskFull = _kind("disk-full")
Io = _kind("io")
Timeout = _kind("timeout")
Internal = _kind("internal")


def _error(event: Mapping[str, Any], status: Optional[int]) -> Error:
    """The exception of an error line: a log line, or "failed" of --status-fd."""
    kind = KINDS.get(event.get("kind", ""), Internal)
    message = event.get("msg") or event.get("message") or "no reason given"
    return kind(message, event.get("hint") or "", status)


def _log_lines(text: bytes) -> List[Dict[str, Any]]:
    """The log lines in what wsiso wrote to its standard error."""
    found = []
    for line in text.splitlines():
        with contextlib.suppress(ValueError):
            event = json.loads(line)
            if isinstance(event, dict) and event.get("type") == "log":
                found.append(event)
    return found


def _check(status: int, text: bytes) -> None:
    """Passes warnings on, and raises if the call has failed."""
    last = None
    for event in _log_lines(text):
        if event["level"] == "error":
            last = event
        elif event["level"] == "warning":
            log.warning("%s", event["msg"])
    if status != 0:
        raise _error(last or {"msg": _ending(status, text)}, status)


def _ending(status: int, text: bytes) -> str:
    said = text.decode(errors="replace").strip()
    how = f"status {status}" if status >= 0 else f"signal {-status}"
    return f"wsiso ended with {how}" + (f": {said}" if said else "")


# ---- a command ----

@dataclasses.dataclass(frozen=True)
class Result:
    """How a command ended, and what it wrote."""

    exec_id: str
    status: int  #: the command's own, 124 after a timeout, 128+N after signal N
    cause: str  #: "", "timeout", "signal", "sandbox-lost" or "oom"
    stdout: bytes
    stderr: bytes
    receipt: Mapping[str, Any]  #: what was in force: the line "started" of --status-fd

    @property
    def timed_out(self) -> bool:
        return self.cause == "timeout"


class Command:
    """A command that runs in a session; Client.start makes it.

    As a context manager it ends with the block, with all that it started.
    """

    def __init__(self, client: Client, session: str, exec_id: str,
                 process: asyncio.subprocess.Process, status: asyncio.StreamReader):
        self.session = session
        self.exec_id = exec_id
        self._client = client
        self._process = process
        self._events: Dict[str, Dict[str, Any]] = {}
        self._news = asyncio.Event()
        self._status = asyncio.ensure_future(self._read_status(status))
        # bounded: a reader that is slow slows the command down, as with a pipe
        self._queue: asyncio.Queue[Tuple[str, bytes]] = asyncio.Queue(16)
        self._open = 2
        self._pumps = [asyncio.ensure_future(self._pump("stdout", process.stdout)),
                       asyncio.ensure_future(self._pump("stderr", process.stderr))]

    @property
    def stdin(self) -> asyncio.StreamWriter:
        """Its standard input, if start was told to connect it."""
        return self._process.stdin

    async def started(self) -> Mapping[str, Any]:
        """Waits until it runs; returns the receipt. Raises if nothing ran."""
        await self._news.wait()
        if "started" not in self._events:
            await self.wait()
        return self._events["started"]

    async def output(self) -> AsyncIterator[Tuple[str, bytes]]:
        """What it writes, as it comes: ("stdout" or "stderr", bytes)."""
        while True:
            piece = await self._next()
            if piece is None:
                return
            yield piece

    async def wait(self) -> Result:
        """Waits for its end; the result holds what output() has not delivered."""
        pieces: Dict[str, List[bytes]] = {"stdout": [], "stderr": []}
        async for name, data in self.output():
            pieces[name].append(data)
        status = await self._process.wait()
        await asyncio.shield(self._status)
        stdout, stderr = (b"".join(pieces[name]) for name in ("stdout", "stderr"))
        exited = self._events.get("exited")
        if exited:
            return Result(self.exec_id, exited["status"], exited.get("cause") or "",
                          stdout, stderr, self._events.get("started", {}))
        if "failed" in self._events:
            raise _error(self._events["failed"], status)
        _check(status, stderr)
        raise Internal(_ending(status, stderr), status=status)

    def send_signal(self, number: int) -> None:
        """TERM, INT, HUP, QUIT, USR1 and USR2 reach the command's process group."""
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(number)

    async def end(self, grace: float = GRACE) -> None:
        """Ends it with all that it started; returns when that is gone.

        The first TERM is for the command. The second one, after grace seconds, is for
        its whole tree, which wsiso kills some seconds later. What has made itself
        independent of a command that left in peace is killed by its exec id.
        """
        if self._process.returncode is not None:
            return
        rest = asyncio.ensure_future(self._discard())
        self.send_signal(signal.SIGTERM)
        if not await self._is_gone(grace):
            self.send_signal(signal.SIGTERM)
            await self._process.wait()
        await asyncio.gather(rest, self._status)
        with contextlib.suppress(Error):
            await self._client.kill(self.session, "KILL", exec_id=self.exec_id)

    async def __aenter__(self) -> Command:
        return self

    async def __aexit__(self, *_: object) -> None:
        # a second cancellation must not leave it half ended
        await asyncio.shield(asyncio.ensure_future(self.end()))

    async def _read_status(self, reader: asyncio.StreamReader) -> None:
        try:
            async for line in reader:
                event = json.loads(line)
                self._events[event["type"]] = event
                self._news.set()
        finally:
            self._news.set()

    async def _pump(self, name: str, stream: asyncio.StreamReader) -> None:
        data = b" "
        while data:
            data = await stream.read(CHUNK)
            await self._queue.put((name, data))

    async def _next(self) -> Optional[Tuple[str, bytes]]:
        while self._open:
            name, data = await self._queue.get()
            if data:
                return name, data
            self._open -= bool(name)
        if self._queue.empty():  # for whoever else waits
            self._queue.put_nowait(("", b""))
        return None

    async def _discard(self) -> None:
        async for _ in self.output():
            pass

    async def _is_gone(self, seconds: float) -> bool:
        # not wait_for, in which Python 3.9 may lose a cancellation
        waiter = asyncio.ensure_future(self._process.wait())
        done, _ = await asyncio.wait({waiter}, timeout=seconds)
        waiter.cancel()
        return bool(done)


# ---- the client ----

class Client:
    """Calls of one wsiso on one root folder. Has no state: make as many as you like."""

    def __init__(self, root: Optional[Path] = None, wsiso: Path = "wsiso"):
        self._wsiso = wsiso
        self._root = root

    # -- the life of a session --

    async def create(self, session: str, spec: Optional[Mapping[str, Any]] = None, *,
                     parent: Optional[str] = None, retry: bool = False,
                     archive: Optional[Path] = None) -> Dict[str, Any]:
        """Makes a session; without a spec its config.json is in its folder already.

        A child of parent has its spec, and what the child's adds. One from an archive,
        which export wrote as "session", has the archive's, as far as that is no looser
        than this host's, unless a spec is given.
        """
        words = ["create", session, "--json", *_option("--parent", parent)]
        words += [] if archive is None else ["--from", os.fspath(archive)]
        words += ["--retry"] if retry else []
        if spec is None:
            return json.loads(await self._call(*words))
        return json.loads(await self._call(*words, "--spec", "-",
                                           stdin=json.dumps(spec).encode()))

    async def state(self, session: str) -> Dict[str, Any]:
        return json.loads(await self._call("state", session))

    async def list(self) -> List[Dict[str, Any]]:
        return json.loads(await self._call("list", "--json"))

    async def stop(self, *sessions: str, grace: Optional[float] = None) -> None:
        """Ends the sandboxes and keeps the sessions."""
        await self._call("stop", *_option("--time", grace), *sessions)

    async def delete(self, session: str, *, force: bool = False) -> None:
        await self._call("delete", session, *(["--force"] if force else []))

    async def export(self, session: str, format: str, file: Path, *,
                     repo: Optional[str] = None, compress: Optional[str] = None,
                     ref: Optional[str] = None, base: Optional[str] = None
                     ) -> Dict[str, Any]:
        """Writes "layer", "tar", "patch", "session" or "git-bundle" to a file.

        What it says of it (export.schema.json) has "left_out": where one of these is
        "lost", somebody's work is not in the file, which is there all the same.
        """
        return json.loads(await self._call(
            "export", session, "--json", "--format", format, "--output", os.fspath(file),
            *_option("--repo", repo), *_option("--compress", compress),
            *_option("--ref", ref), *_option("--base", base), good=(0, 1)))

    async def check(self) -> Dict[str, Any]:
        """What wsiso check found; "usable" is the verdict."""
        return json.loads(await self._call("check", "--json", good=(0, 1)))

    # -- changes --

    async def diff(self, session: str) -> Dict[str, Any]:
        """What the session changed against its base, as in diff.schema.json."""
        return json.loads(await self._call("diff", session, "--json"))

    async def merge(self, child: str, *, commits: bool = False,
                    resolver: Optional[Resolver] = None) -> Dict[str, Any]:
        """Brings a child's work into its parent; the report, as in merge.schema.json.

        With commits its git commits come along, not its files alone.

        With "conflicts" nothing was merged. Each is passed to the resolver, as long as
        there are new ones; what it leaves open, or has no resolver, is in the report.
        """
        asked: set = set()
        report = await self._merge(child, commits)
        while resolver is not None and report["result"] == "conflicts":
            answers = []
            for conflict in report["conflicts"]:
                if _conflict_key(conflict) in asked:
                    continue
                asked.add(_conflict_key(conflict))
                answer = await resolver(conflict)
                if answer is not None:
                    answers.append((_path(conflict), answer))
            if not answers:
                break
            report = await self._merge(child, commits, answers)
        return report

    async def merge_abort(self, child: str) -> None:
        """Forgets the answers that a merge with conflicts was given."""
        await self._call("merge", child, "--abort")

    async def _merge(self, child: str, commits: bool,
                     answers: Sequence[Tuple[bytes, Answer]] = ()) -> Dict[str, Any]:
        words: List[Union[str, bytes]] = ["merge", child, "--json"]
        if commits:
            words.append("--commits")
        with tempfile.TemporaryDirectory(prefix="wsiso-merge.") as folder:
            for n, (path, answer) in enumerate(answers):
                where = answer
                if isinstance(answer, bytes):
                    where = os.path.join(folder, str(n))
                    with open(where, "wb") as file:
                        file.write(answer)
                words += ["--resolve", path + b"=" + os.fsencode(where)]
            return json.loads(await self._call(*words, good=(0, 4)))

    # -- commands --

    async def start(self, session: str, argv: Sequence[str], *, stdin: bool = False,
                    timeout: Optional[float] = None, kill_after: Optional[float] = None,
                    exec_id: Optional[str] = None, cwd: Optional[str] = None,
                    env: Optional[Mapping[str, str]] = None) -> Command:
        """Starts a command. Read its output or wait for it: full pipes make it stop.

        Arguments and variables go to wsiso by a file in memory, so nobody on the host
        sees them in a list of processes.
        """
        exec_id = exec_id or "py-" + uuid.uuid4().hex
        status, status_end = os.pipe()
        with open(status_end, "wb", 0), _process_file(argv, cwd, env) as plan:
            transport, reader = await _connect(status)
            try:
                # what goes to standard error is the command's, unless nothing ran
                process = await self._spawn(
                    "--log-level", "error", "exec", session, "--exec-id", exec_id,
                    "--process", f"/dev/fd/{plan}", "--status-fd", str(status_end),
                    *_option("--timeout", timeout), *_option("--kill-after", kill_after),
                    *(["--interactive"] if stdin else []),
                    stdin=stdin, pass_fds=(plan, status_end))
            except BaseException:
                transport.close()
                raise
        return Command(self, session, exec_id, process, reader)

    async def exec(self, session: str, argv: Sequence[str], *,
                   stdin: Optional[bytes] = None, **options: Any) -> Result:
        """Runs a command to its end. Options are those of start."""
        command = await self.start(session, argv, stdin=stdin is not None, **options)
        async with command:
            if stdin is None:
                return await command.wait()
            return (await asyncio.gather(command.wait(), _feed(command.stdin, stdin)))[0]

    async def background(self, session: str, argv: Sequence[str], *,
                         exec_id: Optional[str] = None, cwd: Optional[str] = None,
                         env: Optional[Mapping[str, str]] = None,
                         timeout: Optional[float] = None) -> str:
        """Starts a command that lives on by itself, with a log; returns its exec id."""
        with _process_file(argv, cwd, env) as plan:
            said = await self._call(
                "exec", session, "--detach", "--process", f"/dev/fd/{plan}",
                *_option("--exec-id", exec_id), *_option("--timeout", timeout),
                pass_fds=(plan,))
        return said.decode().strip()

    async def logs(self, session: str, exec_id: str, *, follow: bool = False
                   ) -> AsyncIterator[bytes]:
        """What a command in the background wrote; follow: until nothing of it is left."""
        process = await self._spawn("logs", session, exec_id,
                                    *(["--follow"] if follow else []))
        try:
            while True:
                data = await process.stdout.read(CHUNK)
                if not data:
                    break
                yield data
            text = await process.stderr.read()
            _check(await process.wait(), text)
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.terminate()

    async def wait(self, session: str, exec_id: str) -> Dict[str, Any]:
        """Waits for a command's end; returns what wsiso wait prints: status, cause."""
        return json.loads(await self._call("wait", session, exec_id, "--json"))

    async def ps(self, session: str) -> List[Dict[str, Any]]:
        return json.loads(await self._call("ps", session, "--json"))

    async def kill(self, session: str, signal_name: str = "TERM", *,
                   exec_id: Optional[str] = None) -> None:
        """Signals all processes of a session, or those of one exec.

        ExecMissing: there were none.
        """
        await self._call("kill", session, signal_name, *_option("--exec", exec_id))

    # -- processes --

    async def _spawn(self, *words: Union[str, bytes], stdin: bool = False, pass_fds: Sequence[int] = ()
                     ) -> asyncio.subprocess.Process:
        root = ["--root", os.fspath(self._root)] if self._root is not None else []
        return await asyncio.create_subprocess_exec(
            self._wsiso, *root, "--log-format", "json", *words,
            stdin=asyncio.subprocess.PIPE if stdin else asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            pass_fds=tuple(pass_fds))

    async def _call(self, *words: Union[str, bytes], stdin: Optional[bytes] = None,
                    good: Sequence[int] = (0,), pass_fds: Sequence[int] = ()) -> bytes:
        process = await self._spawn(*words, stdin=stdin is not None, pass_fds=pass_fds)
        try:
            out, text = await process.communicate(stdin)
        finally:
            if process.returncode is None:  # we were cancelled
                process.terminate()
                await asyncio.shield(asyncio.ensure_future(process.wait()))
        _check(0 if out and process.returncode in good else process.returncode, text)
        return out


def _path(entry: Mapping[str, Any]) -> bytes:
    """Its very bytes: a path need not be UTF-8."""
    exact = entry.get("path_base64")
    return base64.b64decode(exact) if exact else entry["path"].encode()


def _conflict_key(conflict: Mapping[str, Any]) -> Tuple[Any, ...]:
    """Another one as soon as a side has changed: so have the names of its files."""
    sides = [conflict[side] or {} for side in ("base", "ours", "theirs")]
    return (_path(conflict), conflict["kind"], *(side.get("file") for side in sides))


def _option(name: str, value: Union[str, float, None]) -> List[str]:
    return [] if value is None else [name, str(value)]


@contextlib.contextmanager
def _process_file(argv: Sequence[str], cwd: Optional[str],
                  env: Optional[Mapping[str, str]]) -> Iterator[int]:
    """What exec --process reads, as a descriptor."""
    plan: Dict[str, Any] = {"args": list(argv), "env": dict(env or {})}
    if cwd is not None:
        plan["cwd"] = cwd
    with open(os.memfd_create("process"), "wb", 0) as file:
        file.write(json.dumps(plan).encode())
        yield file.fileno()


async def _connect(fd: int) -> Tuple[asyncio.BaseTransport, asyncio.StreamReader]:
    """A reader of a pipe, which is its own from now on."""
    reader = asyncio.StreamReader(LINE_MAX)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), open(fd, "rb", 0))
    return transport, reader


async def _feed(writer: asyncio.StreamWriter, data: bytes) -> None:
    # what the command does not want to read is no error
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        writer.write(data)
        await writer.drain()
    writer.close()
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        await writer.wait_closed()
