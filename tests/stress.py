#!/usr/bin/env python3
"""stress.py HIRC: programs that run many times, on a machine that is busy.

Every example, and tests/stress/*.hir, runs --runs times with --check, with each way to start ranks and each available
transport. Beside them busy loops take the cores (--busy). With --delay LIBRARY ranks stop now and then, at any place,
for up to --delay-us, or one of them is a second late in its first exchanges. `hirc run --check --repeat` compares
each run with the first, bit by bit, and starts it from memory without values.
"""
import argparse
import glob
import os
import re
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
AGENT = os.path.join(ROOT, "tests", "host_agent.sh")
LATE_MAPS = 2  # mappings of shared memory, by the board or transport first

# Options added to `hirc run FILE`, by name of the program; the runs without options remain.
OPTIONS = {
    "ag_matmul": [["--pipeline=p2p"], ["--pipeline=permute"], ["--zero-copy"]],
    "matmul_reduce_scatter": [["--pipeline=p2p-put"], ["--zero-copy"]],
    "row_parallel_linear": [["--zero-copy"]],
    "zero_copy": [["--zero-copy"]],
    "ahead": [["-Dw=20000", "-Dn=8"]],
}
# Small shapes for many runs, in place of the larger ones of the example.
SMALL = {"ag_linear": ["-Dm=16", "-Dk=64", "-Dn=64"]}
SYMMETRIC = "--zero-copy"  # needs all ranks on one host


def launches(hirc, ranks, hosts):
    """Returns names and beginnings of commands."""
    yield "fork", [hirc, "run"]
    yield "fork lanes", [hirc, "run", "--engine=lanes"]
    yield "thread", [hirc, "run", "--bootstrap=thread"]
    version = subprocess.run([hirc, "--version"], stdout=subprocess.PIPE, text=True).stdout
    if not re.search("features:.* mpi", version):
        return
    mpirun = ["mpirun", "-np", str(ranks)]
    for transport in "shm", "mpi":
        yield f"mpirun {transport}", [*mpirun, hirc, "run", f"--transport={transport}"]
    if hosts and ranks > 1:
        here = (ranks + 1) // 2
        on = ["--mca", "plm_rsh_agent", AGENT, "--host", f"h0:{here},h1:{ranks - here}"]
        yield "hosts mixed", [*mpirun, *on, hirc, "run", "--transport=mixed"]


def must_start():
    """Exits if mpirun cannot start anything, which is not the fault of a program."""
    done = subprocess.run(["mpirun", "-np", "1", "true"], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if not done.returncode:
        return
    said = "\n".join(line for line in done.stdout.splitlines() if line.strip("- "))
    root = "run as root" in done.stdout
    sys.exit("stress.py: mpirun refuses to run as root; OMPI_ALLOW_RUN_AS_ROOT=1 and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
             "in the environment allow it, --launch='fork|thread' does without mpirun" if root else
             f"stress.py: mpirun starts no process, exit code {done.returncode}:\n{said}")


def run(command, environment, seconds):
    """Returns the error, or None."""
    try:
        done = subprocess.run(command, env=environment, timeout=seconds, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    except subprocess.TimeoutExpired as e:
        return f"did not end in {seconds} s: {(e.stdout or b'').decode()[-500:]}"
    lines = done.stdout.strip().splitlines() or [""]
    if done.returncode or not lines[-1].startswith("ok: "):
        return f"exit code {done.returncode}\n" + "\n".join(lines[-12:])
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("hirc")
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--busy", type=int, default=0, help="busy loops beside the ranks")
    parser.add_argument("--delay", help="the library of delay.c")
    parser.add_argument("--delay-us", type=int, default=0)
    parser.add_argument("--late", action="store_true", help="one rank is late, where it starts and where it maps")
    parser.add_argument("--only", default="", help="programs whose name matches")
    parser.add_argument("--launch", default="", help="ways to start ranks that match")
    parser.add_argument("--seconds", type=float, default=3600, help="of one command")
    o = parser.parse_args()
    hosts = subprocess.run([AGENT, "--works"], stderr=subprocess.DEVNULL).returncode == 0
    files = sorted(glob.glob(f"{ROOT}/examples/*.hir") + glob.glob(f"{ROOT}/tests/stress/*.hir"))
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(o.busy)]
    failed = count = 0
    started = False
    try:
        for file in files:
            name = os.path.basename(file)[:-4]
            if not re.search(o.only, name):
                continue
            first = subprocess.run([o.hirc, "run", "--check", file], stdout=subprocess.PIPE, text=True).stdout
            ranks = int(re.search(r"^ok: (\d+) rank", first, re.M)[1])
            for way, command in launches(o.hirc, ranks, hosts):
                if not re.search(o.launch, way):
                    continue
                if command[0] == "mpirun" and not started:
                    must_start()
                    started = True
                for options in [[], *OPTIONS.get(name, [])]:
                    if SYMMETRIC in options and way.startswith("hosts"):
                        continue
                    places = [None, *range(LATE_MAPS)] if o.late else [None]
                    for place in places:
                        environment = dict(os.environ, OPENBLAS_NUM_THREADS="1")
                        if o.delay:
                            environment.update(LD_PRELOAD=o.delay, DELAY_US=str(o.delay_us))
                        if o.late:
                            environment.update(DELAY_RANK=str(ranks - 1), DELAY_MS="1000")
                        if place is not None:
                            environment.update(DELAY_MAP=str(place))
                        start = time.monotonic()
                        wrong = run([*command, file, *SMALL.get(name, []), "--check", f"--repeat={o.runs}", *options], environment,
                                    o.seconds)
                        what = " ".join([name, f"({way})", *options] + ([f"late {place}"] if o.late else []))
                        print(f"{'failed' if wrong else 'ok':6} {time.monotonic() - start:7.2f} s  {what}"
                              + (f"\n{wrong}" if wrong else ""), flush=True)
                        failed += wrong is not None
                        count += 1
    finally:
        for process in busy:
            process.kill()
            process.wait()
    print(f"{count - failed} passed, {failed} failed")
    sys.exit(failed != 0)


main()
