#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016 # for the shell inside to expand
#
# Ordinary toolchains in a session whose filter refuses (sandbox.seccomp "enforce"): they
# have to work as they do without. What does not is in wsiso-spec(5), and at the end here.
# The large ones are installed for the full counts (WSISO_LONG=1), and used where they are.
load helpers

setup() {
	ws_setup
	need_userns
	spec "$T/$ID.json" '{"sandbox": {"seccomp": "enforce"}}'
	ws create "$ID" --spec "$T/$ID.json"
}

# inside: the script on stdin, which ends at its first failure
inside() { WS_TIMEOUT=300 ws exec -i "$ID" -- bash -eu -o pipefail; }

# large_program NAME...: one that is not asked for everywhere
large_program() {
	local name
	for name; do
		command -v "$name" >/dev/null || [ "${WSISO_LONG:-}" = 1 ] || skip "$name is not installed"
		need_program "$name"
	done
}

@test "F041: gcc and make -j build and run a program of many files" {
	need_program gcc make
	inside <<-'S'
		mkdir /workspace/c && cd /workspace/c
		for i in $(seq 1 40); do
			echo "int f$i(int x) { return x + $i; }" >f$i.c
		done
		{
			for i in $(seq 1 40); do echo "int f$i(int);"; done
			echo '#include <stdio.h>'
			echo 'int main(void) { int x = 0;'
			for i in $(seq 1 40); do echo "x = f$i(x);"; done
			echo 'printf("%d\n", x); return 0; }'
		} >main.c
		printf 'objects := $(patsubst %%.c,%%.o,$(wildcard *.c))\nmain: $(objects)\n\t$(CC) -o $@ $^\n' >Makefile
		make -s -j8 CFLAGS='-O2 -g -pipe -flto'
		[ "$(./main)" = 820 ]
	S
}

@test "gdb sets a breakpoint, runs, shows a stack, changes a variable and attaches" {
	need_program gcc gdb
	inside <<-'S'
		cd /tmp
		printf '#include <unistd.h>\nint f(int x) { return x * 2; }\nint main(void) { int y = f(21); alarm(60); while (y == 42) pause(); return y; }\n' >d.c
		gcc -g -o d d.c
		gdb -q -batch -ex 'break f' -ex run -ex bt -ex 'set var x = 4' -ex continue ./d </dev/null >out 2>&1
		grep -q '#1 .* main' out
		grep -q 'exited with code 010' out
		./d &
		gdb -q -batch -p $! -ex 'set var y = 5' -ex detach </dev/null >out 2>&1
		kill -ALRM $! || true
		wait $! || [ $? -eq 142 ] || [ $? -eq 5 ]
	S
}

@test "strace follows children and counts their calls" {
	need_program strace
	inside <<-'S'
		cd /tmp
		strace -f -o trace sh -c '/bin/true; /bin/echo hello' >out
		[ "$(cat out)" = hello ]
		[ "$(grep -c 'execve(' trace)" -ge 3 ]
		strace -c -f -o count ls / >/dev/null
		grep -q execve count
	S
}

@test "F041: python: threads, all ways of multiprocessing, asyncio with children, ctypes" {
	inside <<-'S'
		cd /tmp
		cat >p.py <<'P'
		import asyncio, concurrent.futures, ctypes, multiprocessing, socket, threading
		def square(x):
		    return x * x
		async def child():
		    p = await asyncio.create_subprocess_exec("echo", "hi", stdout=asyncio.subprocess.PIPE)
		    return (await p.communicate())[0]
		if __name__ == "__main__":
		    done = []
		    threads = [threading.Thread(target=done.append, args=(i,)) for i in range(50)]
		    [t.start() for t in threads]
		    [t.join() for t in threads]
		    assert len(done) == 50
		    for way in ("fork", "spawn", "forkserver"):
		        with multiprocessing.get_context(way).Pool(4) as pool:
		            assert pool.map(square, range(10))[9] == 81
		    with multiprocessing.Manager() as manager:
		        d = manager.dict(a=1)
		        assert d["a"] == 1
		    with concurrent.futures.ProcessPoolExecutor(2) as pool:
		        assert list(pool.map(square, [3])) == [9]
		    assert asyncio.run(child()) == b"hi\n"
		    assert ctypes.CDLL(None).getpid() > 0
		    server = socket.create_server(("127.0.0.1", 0))
		    client = socket.create_connection(server.getsockname())
		    client.sendall(b"x")
		    assert server.accept()[0].recv(1) == b"x"
		    print("all")
		P
		sed -i 's/^\t*//' p.py
		[ "$(/usr/bin/python3 p.py)" = all ]
	S
}

@test "F041: node: workers, children, files, sockets, also with io_uring asked for" {
	large_program node
	inside <<-'S'
		cd /tmp
		cat >n.js <<'N'
		const { Worker, isMainThread, parentPort } = require('worker_threads');
		const { execFileSync } = require('child_process');
		const fs = require('fs/promises');
		const net = require('net');
		if (!isMainThread) {
			parentPort.postMessage(6 * 7);
		} else {
			(async () => {
				const answers = await Promise.all([1, 2, 3, 4].map(() => new Promise((ok, bad) => {
					const w = new Worker(__filename);
					w.on('message', ok);
					w.on('error', bad);
				})));
				await Promise.all(Array.from({ length: 50 }, (_, i) => fs.writeFile(`/tmp/n${i}`, 'x')));
				const server = net.createServer((c) => c.end('y')).listen(0, () => {
					net.connect(server.address().port).on('data', (d) => {
						console.log(answers.join(), execFileSync('echo', ['hi']).toString().trim(), d.toString());
						server.close();
					});
				});
			})();
		}
		N
		[ "$(node n.js)" = '42,42,42,42 hi y' ]
		[ "$(UV_USE_IO_URING=1 node n.js)" = '42,42,42,42 hi y' ]
	S
}

@test "npm installs a local package with its scripts, and runs them" {
	only_long
	large_program npm node
	inside <<-'S'
		mkdir -p /workspace/lib /workspace/app && cd /workspace/lib
		echo '{"name": "lib", "version": "1.0.0", "main": "i.js", "scripts": {"install": "echo built >built"}}' >package.json
		echo 'module.exports = 5;' >i.js
		npm pack --silent >/dev/null
		cd ../app
		npm init -y >/dev/null
		npm install --no-audit --no-fund --offline ../lib/lib-1.0.0.tgz >/dev/null
		npm pkg set scripts.start='node -p "require(\"lib\")"'
		[ "$(npm run --silent start)" = 5 ]
		[ -e node_modules/lib/built ]
	S
}

@test "F041: java compiles and runs threads, processes and a mapped file" {
	only_long
	large_program java javac
	inside <<-'S'
		cd /tmp
		cat >M.java <<'J'
		import java.nio.channels.FileChannel;
		import java.nio.file.*;
		import java.util.stream.IntStream;
		public class M {
			public static void main(String[] a) throws Exception {
				int sum = IntStream.rangeClosed(1, 1000).parallel().sum();
				Thread t = new Thread(() -> System.gc());
				t.start();
				t.join();
				Process p = new ProcessBuilder("echo", "hi").start();
				String said = new String(p.getInputStream().readAllBytes()).trim();
				try (FileChannel c = FileChannel.open(Path.of("/tmp/map"), StandardOpenOption.CREATE,
						StandardOpenOption.READ, StandardOpenOption.WRITE)) {
					c.map(FileChannel.MapMode.READ_WRITE, 0, 4096).put(0, (byte) 7);
				}
				System.out.println(sum + " " + said);
			}
		}
		J
		javac M.java
		[ "$(java M)" = '500500 hi' ]
		[ "$(java -XX:+UseZGC M)" = '500500 hi' ]
	S
}

@test "F041: go builds and runs goroutines and a child" {
	only_long
	large_program go
	inside <<-'S'
		mkdir /tmp/g && cd /tmp/g
		cat >m.go <<'G'
		package main

		import (
			"fmt"
			"os/exec"
			"sync"
		)

		func main() {
			var wg sync.WaitGroup
			var mu sync.Mutex
			n := 0
			for i := 0; i < 200; i++ {
				wg.Add(1)
				go func() { mu.Lock(); n++; mu.Unlock(); wg.Done() }()
			}
			wg.Wait()
			out, err := exec.Command("echo", "hi").Output()
			fmt.Println(n, string(out[:2]), err)
		}
		G
		go mod init m 2>/dev/null
		CGO_ENABLED=0 GOFLAGS=-mod=mod go build -o m .
		[ "$(./m)" = '200 hi <nil>' ]
		go vet .
	S
}

@test "git's everyday commands work" {
	inside <<-'S'
		export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@example.org
		mkdir /workspace/g && cd /workspace/g
		git init -q -b main
		for i in 1 2 3 4 5; do
			echo $i >f$i
			git add f$i
			git commit -q -m "c$i"
		done
		git switch -q -c side HEAD~2
		echo side >side && git add side && git commit -q -m side
		git rebase -q main
		git switch -q main && git merge -q --no-edit side
		echo dirty >>f1 && git stash -q && git stash pop -q
		git commit -q --amend -a -m amended
		git tag v1 && git cherry-pick -n HEAD~1 >/dev/null 2>&1 || git reset -q --hard
		git worktree add -q ../w HEAD~1
		git clone -q . ../clone && git -C ../clone pull -q
		git grep -q 1 -- f1
		git log --stat --oneline >/dev/null
		git bisect start -q HEAD HEAD~3 >/dev/null && git bisect run true >/dev/null && git bisect reset -q
		git gc -q --prune=now
		git fsck --full
		git archive HEAD | tar -t >/dev/null
		git status --short
	S
}

@test "sqlite in WAL mode: several writers and a reader lose nothing" {
	need_program sqlite3
	inside <<-'S'
		cd /workspace
		sqlite3 d.db 'pragma journal_mode=wal; create table t(x)' >/dev/null
		for w in 1 2 3 4; do
			(for i in $(seq 1 25); do echo "insert into t values($i);"; done | sqlite3 -cmd '.timeout 20000' d.db) &
		done
		wait
		[ "$(sqlite3 d.db 'select count(*) from t')" = 100 ]
		[ "$(sqlite3 d.db 'pragma integrity_check')" = ok ]
	S
}

@test "a shell's own tools work: job control, terminals, locks, limits, personalities, archives" {
	ws_pty exec -t "$ID" -- bash -ic 'sleep 60 & jobs; kill %1; tty' >"$T/tty"
	grep -q /dev/pts/ "$T/tty"
	inside <<-'S'
		cd /tmp
		[ "$(script -qec 'echo in' /dev/null </dev/null | tr -d '\r')" = in ]
		seq 20 | xargs -P8 -n1 echo | sort -n | tail -n 1 | grep -qx 20
		flock lock -c true
		[ "$(setarch -R sh -c 'echo plain')" = plain ]
		expect=$(timeout 0.2 sleep 9 || echo $?)
		[ "$expect" = 124 ]
		nice -n 5 ionice -c3 true
		taskset -c 0 true
		mkfifo p && (echo through >p &) && [ "$(cat p)" = through ]
		mkdir -p t/u && echo x >t/u/f && ln t/u/f t/u/g
		tar -czf t.tgz t && rm -r t && tar -xzf t.tgz && cp -a --reflink=auto t t2 && diff -r t t2
		ps -e >/dev/null && top -bn1 >/dev/null && free >/dev/null && df . >/dev/null
		dd if=/dev/zero of=s bs=1M count=1 seek=100 status=none && fallocate -p -o 0 -l 4096 s
	S
}

# ---- what does not work, and how it says so ----

@test "what wsiso-spec(5) names as refused is refused, with an error and not a hang" {
	inside <<-'S'
		refused() {
			! timeout 20 "$@" >out 2>&1
			grep -q -i -e permi -e denied out
		}
		cd /tmp
		refused unshare -Ur true
		refused unshare --mount true
		refused chroot / true
		refused nsenter -t 1 -n true
		! command -v bwrap >/dev/null || refused bwrap --ro-bind / / --unshare-all true
		! command -v perf >/dev/null || ! perf stat true 2>/dev/null
		! command -v keyctl >/dev/null || refused keyctl show
	S
}
