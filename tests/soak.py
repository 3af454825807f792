#!/usr/bin/env python3
"""soak.py HIRC: random programs, one after the other, for --seconds, on a machine that treats them badly.

Each program runs as processes, as threads, under mpirun or on the mock GPU (--mock FOLDER). Some jobs have little
memory, few descriptors or busy loops beside them. Of some, a process is stopped for a while, or gets a signal at a
random moment. Each job must end; a job that was left alone must be right, and none may be wrong or crash. Behind it no
process, no file in /dev/shm and no temporary file may stay: these are counted. The same --seed draws the same jobs.
"""
import argparse
import collections
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests", "vary"))
import programs  # noqa: E402

LIMIT = 90  # seconds in which a job must end; ranks give up after TIMEOUT
TIMEOUT = 15
GRACE = 5  # seconds in which processes of an ended job leave
SIGNALS = [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGSEGV]
CRASHES = [128 + signal.SIGSEGV, 128 + signal.SIGABRT, 128 + signal.SIGBUS, 70, 3]
# Files of other programs: Open MPI's, and of the compiler that the mock's NVRTC runs. They stay where these are killed.
OF_OTHERS = re.compile(r"vader_segment|ompi|sm_segment|pmix|prterun|^cc\w{6}\.")
TOKEN = "HIRC_SOAK"


class Soak:
    def __init__(self, o):
        self.o = o
        self.scratch = tempfile.mkdtemp(prefix="hirc-soak-")
        self.temporary = os.path.join(self.scratch, "tmp")
        os.mkdir(self.temporary)
        self.token = os.path.basename(self.scratch)
        self.environment = dict(os.environ, TMPDIR=self.temporary, XDG_CACHE_HOME=os.path.join(self.scratch, "cache"),
                                NO_COLOR="1", OPENBLAS_NUM_THREADS="1", OMPI_ALLOW_RUN_AS_ROOT="1",
                                OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1",
                                OMPI_MCA_mpi_yield_when_idle="1", **{TOKEN: self.token})
        version = subprocess.run([o.hirc, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout
        self.ways = ["fork", "thread"]
        if re.search("features:.* mpi", version) and shutil.which("mpirun"):
            self.ways.append("mpirun")
        if o.mock and re.search("features:.* cuda", version):
            self.ways.append("mock")
        self.counts = collections.Counter()
        self.left = collections.Counter({"processes": 0, "/dev/shm": 0, "temporary files": 0})
        self.failed = []
        self.shared = set(os.listdir("/dev/shm"))

    def processes(self):
        """The processes of the job that runs: their environment has the token."""
        found = []
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{name}/environ", "rb") as file:
                    if f"{TOKEN}={self.token}".encode() in file.read().split(b"\0"):
                        found.append(int(name))
            except OSError:
                pass
        return found

    def command(self, way, file, program, ranks):
        end = ["run", file, "--check", f"--timeout={TIMEOUT}", *program.options(), *program.flags]
        if way == "thread":
            end.append("--bootstrap=thread")
        return (["mpirun", "-np", str(ranks)] if way == "mpirun" else []) + [self.o.hirc, *end]

    def job(self, number):
        r = random.Random(f"soak {self.o.seed}/{number}")
        way = r.choice(self.ways)
        program = programs.draw(self.o.seed, number, way == "mock")
        file = os.path.join(self.scratch, "program.hir")
        with open(file, "w", encoding="utf-8") as out:
            out.write(program.text)
        environment = dict(self.environment)
        if way == "mock":
            environment["LD_LIBRARY_PATH"] = self.o.mock
        if r.random() < 0.5:
            del environment["OPENBLAS_NUM_THREADS"]
        first = subprocess.run([self.o.hirc, "run", file, "--check", "--bootstrap=thread", *program.options()],
                               env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        found = re.search(r"^ok: (\d+) rank", first.stdout, re.M)
        if not found:  # a program that hirc refuses
            self.counts["refused"] += 1
            return
        own = way in ("fork", "thread")  # MPI and the mock themselves do not survive such limits
        memory = own and r.random() < 0.3 and r.randrange(60, 600) << 20
        files = own and r.random() < 0.3 and r.randrange(6, 64)
        busy = r.random() < 0.3
        fate = r.choice(["alone", "alone", "stop", "signal"])
        # The handler that Open MPI has for crashes takes locks, and may wait for ever.
        sent, victim, delay = r.choice(SIGNALS[:-1] if way == "mpirun" else SIGNALS), r.random(), r.random() ** 2

        def limits():
            os.setsid()
            if memory:
                resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
            if files:
                resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))

        loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() if busy else 0)]
        with open(os.path.join(self.scratch, "out"), "w+b") as out:
            job = subprocess.Popen(self.command(way, file, program, int(found[1])), env=environment, stdout=out,
                                   stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, preexec_fn=limits)
            if fate != "alone":
                time.sleep(delay)
                self.strike(fate, sent, victim, job)
            try:
                code = job.wait(LIMIT)
            except subprocess.TimeoutExpired:
                code = None
            out.seek(0)
            text = out.read().decode(errors="replace")
        for loop in loops:
            loop.kill()
            loop.wait()
        what = (f"job {number}: {way}, {fate}{f' {sent.name}' if fate == 'signal' else ''}"
                f"{f', {memory >> 20} MiB' if memory else ''}{f', {files} files' if files else ''}{', busy' if busy else ''}")
        wrong = None
        if code is None:
            wrong = f"did not end in {LIMIT} s"
        elif fate != "signal" and code and not (memory or files):
            wrong = f"exit code {code}"
        elif fate != "signal" and (code < 0 or code in CRASHES):
            wrong = f"crash, exit code {code}"
        elif code == 3 or "wrong:" in text:
            wrong = "wrong numbers"
        elif fate != "signal" and code and not text.strip():
            wrong = f"exit code {code} without a message"
        self.counts[f"{way}, {fate}"] += 1
        left = self.leftovers()
        if left:
            wrong = f"{wrong + ', ' if wrong else ''}left {left}"
        if wrong:
            self.failed.append(what)
            print(f"failed: {what}: {wrong}\n{text[-1500:]}\n{program.text}", flush=True)

    def strike(self, fate, sent, victim, job):
        all_of_job = sorted(self.processes())
        if job.poll() is not None or not all_of_job:
            return
        pid = all_of_job[int(victim * len(all_of_job))]
        try:
            os.kill(pid, signal.SIGSTOP if fate == "stop" else sent)
            if fate == "stop":
                time.sleep(0.3)
                os.kill(pid, signal.SIGCONT)
        except ProcessLookupError:
            pass

    def leftovers(self):
        """Counts what the job left, and removes it."""
        end = time.monotonic() + GRACE
        while self.processes() and time.monotonic() < end:
            time.sleep(0.02)
        processes = self.processes()
        for pid in processes:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        now = set(os.listdir("/dev/shm"))
        shared = [name for name in now - self.shared if not OF_OTHERS.search(name)]
        self.shared = now
        temporary = [name for name in os.listdir(self.temporary) if not OF_OTHERS.search(name)]
        for name in os.listdir(self.temporary):
            path = os.path.join(self.temporary, name)
            if os.path.isdir(path):
                shutil.rmtree(path, ignore_errors=True)
            else:
                os.unlink(path)
        self.left["processes"] += len(processes)
        self.left["/dev/shm"] += len(shared)
        self.left["temporary files"] += len(temporary)
        return ", ".join([f"{len(processes)} processes"] * bool(processes) + shared + temporary)

    def run(self):
        end, number = time.monotonic() + self.o.seconds, self.o.first
        try:
            while time.monotonic() < end and len(self.failed) < 10:
                self.job(number)
                number += 1
        finally:
            shutil.rmtree(self.scratch, ignore_errors=True)
        print(f"seed {self.o.seed}: {sum(self.counts.values())} jobs: "
              + "; ".join(f"{kind} {n}" for kind, n in sorted(self.counts.items())))
        print("left: " + ", ".join(f"{n} {kind}" for kind, n in self.left.items()))
        print(f"{len(self.failed)} failed")
        return 1 if self.failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("hirc")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first job")
    parser.add_argument("--mock", help="folder of the mock's libraries")
    sys.exit(Soak(parser.parse_args()).run())


main()
