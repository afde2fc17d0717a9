# SPDX-License-Identifier: Apache-2.0
"""Tests of the client against a real wsiso: the one that WSISO names, else that in PATH.

    WSISO=/opt/wsiso/bin/wsiso python3 test_client.py

It works below TMPDIR (/var/tmp), which must be on a filesystem that can carry an overlay.
"""

import asyncio
import glob
import hashlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import wsiso

WSISO = os.environ.get("WSISO") or shutil.which("wsiso")
GIT = ["git", "-c", "user.name=Tester", "-c", "user.email=tester@example.org",
       "-c", "init.defaultBranch=main", "-c", "commit.gpgSign=false"]


def make_repository(path):
    env = dict(os.environ, GIT_CONFIG_GLOBAL="/dev/null", GIT_CONFIG_NOSYSTEM="1")
    os.mkdir(path)
    with open(os.path.join(path, "greeting"), "w") as file:
        file.write("hello\n")
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "first"]):
        subprocess.run(GIT + words, cwd=path, env=env, check=True)


async def eventually(what, seconds=10):
    """Waits until what(), or what it awaits, is true."""
    end = time.monotonic() + seconds
    while True:
        value = what()
        if asyncio.iscoroutine(value):
            value = await value
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError("it never came true")
        await asyncio.sleep(0.05)


class ClientTest(unittest.IsolatedAsyncioTestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="ws-client.",
                                      dir=os.environ.get("TMPDIR", "/var/tmp"))
        make_repository(os.path.join(cls.folder, "app"))

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    async def asyncSetUp(self):
        self.root = tempfile.mkdtemp(prefix="root.", dir=self.folder)
        with open(os.path.join(self.root, "wsiso.json"), "w") as file:
            json.dump({"linger_s": 10}, file)
        self.client = wsiso.Client(self.root, WSISO)
        self.spec = {
            "repos": [{"name": "app", "path": os.path.join(self.folder, "app")}],
        }
        await self.client.create("s", self.spec)

    async def asyncTearDown(self):
        for session in await self.client.list():
            await self.client.delete(session["id"], force=True)

    async def sh(self, script, **options):
        return await self.client.exec("s", ["sh", "-c", script], **options)

    async def commands(self, word):
        """The processes of the session whose command line holds WORD."""
        return [p for p in await self.client.ps("s") if word in p["command"]]

    async def none_left(self, word):
        return not await self.commands(word)

    # -- the life of a session --

    async def test_create_tells_what_was_made(self):
        made = await self.client.create("other", self.spec)
        self.assertEqual(made["id"], "other")
        self.assertEqual((await self.client.state("other"))["status"], "created")
        self.assertEqual([s["id"] for s in await self.client.list()], ["other", "s"])

    async def test_a_child_has_its_parents_state_of_the_moment(self):
        await self.sh("echo 1 >one")
        made = await self.client.create("child", {"subagent_isolation": "isolated"},
                                        parent="s")
        self.assertEqual(made["wsiso"]["parent"], "s")
        await self.client.exec("child", ["rm", "one"])
        self.assertEqual((await self.sh("cat one")).stdout, b"1\n")
        with self.assertRaises(wsiso.SpecInvalid):
            await self.client.create("open", {"sandbox": {"unshare_net": False}},
                                     parent="s")

    async def family(self, ours, theirs):
        await self.client.create("child", {"subagent_isolation": "isolated"}, parent="s")
        await self.client.exec("child", ["sh", "-c", theirs])
        await self.sh(ours)

    async def test_a_childs_work_comes_back_and_diff_tells_of_it(self):
        await self.family("true", "echo 1 >one; rm greeting")
        report = await self.client.merge("child")
        self.assertEqual(report["result"], "merged")
        changes = [(c["status"], c["path"]) for c in (await self.client.diff("s"))["changes"]]
        self.assertEqual(changes, [("D", "app/greeting"), ("A", "app/one")])
        self.assertEqual((await self.client.merge("child"))["result"], "noop")

    async def test_a_childs_commits_come_along(self):
        await self.family("true", "echo 1 >one; git add one;"
                          " git -c user.name=c -c user.email=c@c commit -qm one; echo 2 >two")
        report = await self.client.merge("child", commits=True)
        self.assertEqual([(c["how"], c["commits"]) for c in report["commits"]],
                         [("fast-forward", 2)])
        done = await self.sh("git log -2 --format=%an; git status --short")
        self.assertEqual(done.stdout, b"Codumentor\nc\n")

    async def test_a_resolver_is_asked_about_each_conflict(self):
        await self.family("echo ours >a; echo ours >b; echo ours >$(printf 'caf\\351')",
                          "echo theirs >a; echo theirs >b; echo theirs >$(printf 'caf\\351')")
        asked = []

        async def resolve(conflict):
            asked.append(conflict["path"])
            if conflict["path"] == "app/a":
                with open(conflict["theirs"]["file"], "rb") as file:
                    return b"both, and " + file.read()
            return wsiso.THEIRS if conflict["path"] == "app/b" else None

        report = await self.client.merge("child", resolver=resolve)
        self.assertEqual(report["result"], "conflicts")
        self.assertEqual(len(report["conflicts"]), 1)
        self.assertEqual(len(asked), 3)

        async def ours(_):
            return wsiso.OURS

        report = await self.client.merge("child", resolver=ours)
        self.assertEqual(report["result"], "merged")
        self.assertEqual((await self.sh("cat a b caf*")).stdout,
                         b"both, and theirs\ntheirs\nours\n")

    async def test_without_a_resolver_conflicts_are_told_and_can_be_given_up(self):
        await self.family("echo ours >a", "echo theirs >a")
        report = await self.client.merge("child")
        self.assertEqual([c["kind"] for c in report["conflicts"]], ["add-add"])
        await self.client.merge_abort("child")
        with self.assertRaises(wsiso.Usage):
            await self.client.merge_abort("child")
        with self.assertRaises(wsiso.Usage):
            await self.client.merge("s")

    async def test_a_stopped_session_goes_on_where_it_was(self):
        await self.sh("echo more >>greeting; echo kept >~/note; sleep 1000 &")
        self.assertEqual((await self.client.state("s"))["status"], "running")
        await self.client.stop("s", grace=1)
        self.assertEqual((await self.client.state("s"))["status"], "stopped")
        result = await self.sh("cat greeting ~/note; pgrep sleep")
        self.assertEqual(result.stdout, b"hello\nmore\nkept\n")

    async def test_delete_refuses_a_busy_session_unless_forced(self):
        await self.client.background("s", ["sleep", "1000"])
        with self.assertRaises(wsiso.SessionBusy):
            await self.client.delete("s")
        await self.client.delete("s", force=True)
        self.assertEqual(await self.client.list(), [])

    async def test_check_says_whether_the_host_is_usable(self):
        report = await self.client.check()
        self.assertTrue(report["usable"])
        self.assertIn("overlay", [item["id"] for item in report["items"]])

    # -- commands --

    async def test_exec_gives_status_and_both_outputs_apart(self):
        result = await self.sh("echo out; echo err >&2; exit 7")
        self.assertEqual((result.status, result.stdout, result.stderr, result.cause),
                         (7, b"out\n", b"err\n", ""))
        self.assertFalse(result.timed_out)

    async def test_the_receipt_says_what_was_in_force(self):
        receipt = (await self.sh("true")).receipt
        self.assertEqual(receipt["type"], "started")
        self.assertIn('"no_new_privs": true', json.dumps(receipt))

    async def test_a_signal_is_told_apart_from_a_status(self):
        result = await self.sh("kill -KILL $$")
        self.assertEqual((result.status, result.cause), (137, "signal"))
        self.assertEqual((await self.sh("exit 137")).cause, "")

    async def test_arguments_variables_and_folder_arrive_as_they_are(self):
        odd = ["a b", "", "-x", "--", "$HOME", "'", '"', "\u00e9\n", chr(1)]
        script = 'pwd; printf "%s" "$SECRET"; printf "[%s]" "$@"'
        result = await self.client.exec("s", ["sh", "-c", script, "sh"] + odd,
                                        env={"SECRET": "two\nlines=1"}, cwd="/tmp")
        wanted = "/tmp\ntwo\nlines=1" + "".join(f"[{word}]" for word in odd)
        self.assertEqual(result.stdout.decode(), wanted)

    async def test_no_argument_and_no_variable_is_seen_on_the_host(self):
        """But for those of the command itself, which is a process like others."""
        command = await self.client.start("s", ["sleep", "5.1234"], env={"A": "s3cr3t"})
        async with command:
            await command.started()
            shown = b""
            for path in glob.glob("/proc/[0-9]*/cmdline"):
                try:
                    with open(path, "rb") as file:
                        line = file.read()
                except OSError:
                    continue
                if b"wsiso" in line:
                    shown += line
            self.assertIn(command.exec_id.encode(), shown)
            self.assertNotIn(b"5.1234", shown)
            self.assertNotIn(b"s3cr3t", shown)

    async def test_stdin_arrives_whole_and_ends(self):
        data = os.urandom(1 << 20)
        result = await self.client.exec("s", ["sha256sum"], stdin=data)
        self.assertEqual(result.stdout.split()[0].decode(), hashlib.sha256(data).hexdigest())
        # not read at all, it does no harm
        self.assertEqual((await self.client.exec("s", ["true"], stdin=data)).status, 0)
        # without it there is none
        self.assertEqual((await self.client.exec("s", ["cat"])).stdout, b"")

    async def test_a_large_output_is_complete(self):
        result = await self.sh("head -c 20000000 /dev/zero; head -c 100000 /dev/zero >&2")
        self.assertEqual((len(result.stdout), len(result.stderr)), (20000000, 100000))

    async def talk(self, me, other):
        """A command that ends only when the other one has been heard of."""
        script = (f"echo {me} is here; until [ -e /tmp/{other}.heard ]; do sleep 0.02; done; "
                  f"echo {me} leaves >&2")
        heard = []
        async with await self.client.start("s", ["sh", "-c", script]) as command:
            async for stream, data in command.output():
                heard.append((stream, data))
                if stream == "stdout":
                    await self.client.exec("s", ["touch", f"/tmp/{me}.heard"])
            self.assertEqual((await command.wait()).status, 0)
        return heard

    async def test_output_comes_as_it_is_written_from_commands_in_parallel(self):
        both = asyncio.gather(self.talk("a", "b"), self.talk("b", "a"))
        self.assertEqual(await asyncio.wait_for(both, 60), [
            [("stdout", b"a is here\n"), ("stderr", b"a leaves\n")],
            [("stdout", b"b is here\n"), ("stderr", b"b leaves\n")]])

    async def test_many_commands_at_once_get_their_own_results(self):
        await self.client.stop("s")
        results = await asyncio.gather(*(
            self.sh(f"echo {i}; echo {i} >n{i}; exit {i}") for i in range(12)))
        self.assertEqual([(r.status, r.stdout) for r in results],
                         [(i, b"%d\n" % i) for i in range(12)])
        self.assertEqual((await self.sh("cat n* | wc -l")).stdout.strip(), b"12")

    async def test_a_conversation_through_stdin_and_stdout(self):
        async with await self.client.start("s", ["cat"], stdin=True) as command:
            output = command.output()
            for line in (b"one\n", b"two\n"):
                command.stdin.write(line)
                self.assertEqual(await output.__anext__(), ("stdout", line))
            command.stdin.close()
            self.assertEqual((await command.wait()).status, 0)

    async def test_a_signal_reaches_the_command(self):
        script = "trap 'echo got it; exit 3' USR1; echo ready; while :; do sleep 0.05; done"
        async with await self.client.start("s", ["sh", "-c", script]) as command:
            await command.output().__anext__()
            command.send_signal(signal.SIGUSR1)
            result = await command.wait()
        self.assertEqual((result.status, result.stdout), (3, b"got it\n"))

    # -- how commands end --

    @staticmethod
    def tree(mark, last="wait"):
        """A shell with three sleeps, one of them in a session of its own."""
        return f"setsid sleep 1{mark} & sleep 2{mark} & sleep 3{mark} & echo up; {last}"

    async def test_a_timeout_ends_the_whole_tree_and_keeps_the_output(self):
        begun = time.monotonic()
        result = await self.sh(self.tree("111"), timeout=1, kill_after=1)
        self.assertLess(time.monotonic() - begun, 15)
        self.assertEqual((result.status, result.cause, result.stdout),
                         (124, "timeout", b"up\n"))
        self.assertTrue(result.timed_out)
        self.assertEqual(await self.commands("111"), [])

    async def test_a_cancelled_command_ends_with_all_that_it_started(self):
        bystander = await self.client.background("s", ["sleep", "4222"])
        task = asyncio.ensure_future(self.sh(self.tree("222")))
        await eventually(lambda: self.commands("sleep 3222"))
        task.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await task
        await eventually(lambda: self.none_left("sleep 1222"))
        self.assertEqual([p["exec"] for p in await self.commands("222")], [bystander])

    async def test_a_cancelled_command_that_is_deaf_to_term_is_killed(self):
        script = "trap '' TERM; " + self.tree("333", "while :; do sleep 0.1; done")
        task = asyncio.ensure_future(self.sh(script, kill_after=1))
        await eventually(lambda: self.commands("sleep 3333"))
        task.cancel()
        await asyncio.sleep(0.1)
        task.cancel()  # impatience does not leave it half ended
        with self.assertRaises(asyncio.CancelledError):
            await task
        await eventually(lambda: self.none_left("333"))

    async def test_a_command_may_be_cancelled_at_any_moment(self):
        for delay in (0, 0.002, 0.005, 0.01, 0.02, 0.05):
            task = asyncio.ensure_future(self.sh(self.tree("444")))
            await asyncio.sleep(delay)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
        await eventually(lambda: self.none_left("444"))
        self.assertEqual((await self.sh("echo fine")).stdout, b"fine\n")

    async def test_leaving_the_block_ends_the_command(self):
        async with await self.client.start("s", ["sh", "-c", "yes; sleep 1555"]) as command:
            async for _ in command.output():
                break
        await eventually(lambda: self.none_left("yes"))
        self.assertEqual(await self.commands("1555"), [])

    async def test_a_cancelled_call_leaves_no_process(self):
        exec_id = await self.client.background("s", ["sleep", "1000"])
        task = asyncio.ensure_future(self.client.wait("s", exec_id))
        await asyncio.sleep(0.3)
        task.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await task
        children = subprocess.run(["ps", "-o", "comm=", "--ppid", str(os.getpid())],
                                  stdout=subprocess.PIPE, check=False).stdout
        self.assertNotIn(b"wsiso", children)

    # -- in the background --

    SERVER = """
import socketserver
class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        print("asked", flush=True)
        self.wfile.write(b"served")
socketserver.TCPServer.allow_reuse_address = True
socketserver.TCPServer(("127.0.0.1", 8765), Handler).serve_forever()
"""
    ASK = "cat </dev/tcp/127.0.0.1/8765"

    async def ask(self):
        return await self.client.exec("s", ["bash", "-c", self.ASK])

    async def answered(self):
        return (await self.ask()).stdout == b"served"

    async def test_a_background_server_is_reached_by_the_next_command(self):
        web = await self.client.background("s", ["python3", "-c", self.SERVER], exec_id="web")
        self.assertEqual(web, "web")
        await eventually(self.answered)
        await self.client.kill("s", exec_id=web)
        ended = await self.client.wait("s", web)
        self.assertEqual((ended["status"], ended["cause"]), (143, "signal"))
        written = b"".join([data async for data in self.client.logs("s", web)])
        self.assertEqual(written, b"asked\n")
        self.assertNotEqual((await self.ask()).status, 0)

    async def test_a_log_is_followed_to_its_end(self):
        talker = await self.client.background(
            "s", ["sh", "-c", "for i in 1 2 3; do echo $i; sleep 0.2; done"])
        written = b"".join([data async for data in self.client.logs("s", talker, follow=True)])
        self.assertEqual(written, b"1\n2\n3\n")
        self.assertEqual((await self.client.wait("s", talker))["status"], 0)

    async def test_what_a_command_leaves_behind_lives_on(self):
        result = await self.sh("sleep 1666 >/dev/null 2>&1 & echo done")
        self.assertEqual(result.stdout, b"done\n")
        left = await self.commands("1666")
        self.assertEqual([p["exec"] for p in left], [result.exec_id])
        await self.client.kill("s", "KILL", exec_id=result.exec_id)
        await eventually(lambda: self.none_left("1666"))

    # -- errors --

    async def test_errors_are_exceptions_of_their_kind(self):
        client, spec = self.client, self.spec
        broken = dict(spec, sandbox={"unshare_nett": True})
        nowhere = dict(spec, repos=[{"name": "app", "path": self.folder + "/nowhere"}])
        for call, kind in (
                (client.state("nobody"), wsiso.SessionMissing),
                (client.exec("nobody", ["true"]), wsiso.SessionMissing),
                (client.background("nobody", ["true"]), wsiso.SessionMissing),
                (client.delete("nobody"), wsiso.SessionMissing),
                (client.state("../x"), wsiso.Usage),
                (client.create("s", spec), wsiso.SessionExists),
                (client.create("t", broken), wsiso.SpecInvalid),
                (client.create("t", nowhere), wsiso.RepoUnusable),
                (client.exec("s", ["no-such-program"]), wsiso.ExecMissing),
                (client.wait("s", "no-such-exec"), wsiso.ExecMissing),
                (client.kill("s", "NOSUCH"), wsiso.Usage),
                (client.exec("s", []), wsiso.Usage),
        ):
            with self.subTest(kind=kind), self.assertRaises(kind) as caught:
                await call
            self.assertIsInstance(caught.exception, wsiso.Error)
            self.assertNotIn("no reason", str(caught.exception))

    async def test_errors_of_commands_that_cannot_run_have_the_status(self):
        for program, status in (("no-such-program", 127), ("/workspace/app/greeting", 126)):
            with self.assertRaises(wsiso.ExecMissing) as caught:
                await self.client.exec("s", [program])
            self.assertEqual(caught.exception.status, status)

    async def test_an_error_has_a_hint(self):
        with self.assertRaises(wsiso.SessionMissing) as caught:
            await self.client.state("nobody")
        self.assertIn("wsiso list", caught.exception.hint)
        self.assertEqual(caught.exception.status, 3)

    async def test_a_lost_sandbox_is_a_cause_and_not_a_status_alone(self):
        task = asyncio.ensure_future(self.sh("sleep 1777"))
        await eventually(lambda: self.commands("1777"))
        os.kill((await self.client.state("s"))["pid"], signal.SIGKILL)
        result = await task
        self.assertEqual((result.status, result.cause), (137, "sandbox-lost"))

    async def test_a_wsiso_that_is_killed_is_an_error(self):
        async with await self.client.start("s", ["sleep", "1888"]) as command:
            await command.started()
            command.send_signal(signal.SIGKILL)
            with self.assertRaises(wsiso.Internal):
                await command.wait()
        await eventually(lambda: self.none_left("1888"))

    async def test_a_session_travels_as_an_archive_and_its_changes_as_a_patch(self):
        await self.sh("echo more >>greeting; echo new >new; touch .wh.x")
        archive = os.path.join(self.folder, "archive")
        told = await self.client.export("s", "session", archive)
        self.assertEqual((told["format"], told["left_out"]), ("session", []))
        try:
            await self.client.create("came", archive=archive)
            result = await self.client.exec("came", ["cat", "greeting", "new"])
            self.assertEqual(result.stdout, b"hello\nmore\nnew\n")
        finally:
            await self.client.delete("came", force=True)
        told = await self.client.export("s", "layer", archive, compress="zstd")
        self.assertEqual([(left["path"], left["lost"]) for left in told["left_out"]],
                         [("workspace/app/.wh.x", True)])
        await self.client.export("s", "patch", archive, repo="app")
        with open(archive) as file:
            self.assertIn("+more\n", file.read())
        with self.assertRaises(wsiso.Usage):
            await self.client.export("s", "zip", archive)
        with self.assertRaises(wsiso.Error):
            await self.client.create("came", archive="/dev/null")

    async def test_the_kinds_are_those_of_wsiso(self):
        out = subprocess.run([WSISO, "features"], stdout=subprocess.PIPE, check=True).stdout
        self.assertEqual(sorted(wsiso.KINDS), sorted(json.loads(out)["error_kinds"]))


if __name__ == "__main__":
    unittest.main(verbosity=2)
