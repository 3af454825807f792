#!/usr/bin/env python3
"""progress.py HIRC: bars of progress are there on a terminal, and gone at the end; elsewhere there are none."""
import os
import pty
import re
import select
import subprocess
import sys
import tempfile
import time

HIRC = os.path.abspath(sys.argv[1])
BAR = re.compile(rb"\r\x1b\[K\[=* *\] +(\d+) % ([^\r]*)")
failures = 0

PROGRAM = """
mesh m(x = np)
program short on m {
  input A: f32[np@x, 64]
  output Y: f32[64] = sum(A, axis=0)
}
"""
LONG = 0.6  # seconds, of which the first 0.3 have no bar


def expect(what, ok):
    global failures
    if not ok:
        print(f"failed: {what}")
        failures += 1


def on_terminal(folder, *words, environment=None):
    """What comes to a terminal of 60 columns, and the exit code."""
    leader, follower = pty.openpty()
    import fcntl
    import struct
    import termios
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
    run = subprocess.Popen([HIRC, *words], cwd=folder, stdin=subprocess.DEVNULL, stdout=follower, stderr=follower,
                           env={**os.environ, "TERM": "xterm", **(environment or {})})
    os.close(follower)
    out = b""
    while select.select([leader], [], [], 60)[0]:
        try:
            more = os.read(leader, 65536)
        except OSError:  # the other end is closed
            break
        if not more:
            break
        out += more
    os.close(leader)
    return out, run.wait()


def screen(out):
    """What is left to see: \\r goes to the start of a line, CSI K erases from there."""
    lines = []
    for line in out.decode().replace("\r\n", "\n").split("\n"):
        line = re.split(r"\r\x1b\[K", line)[-1]
        lines.append(re.sub(r"\x1b\[[0-9;]*m", "", line))
    return "\n".join(lines)


def long(folder, n, command):
    """A command that takes a while; into a pipe, where it shows no bar."""
    while True:
        words, start = command(n), time.monotonic()
        run = subprocess.run([HIRC, *words], cwd=folder, capture_output=True)
        expect(f"{words}: {run.returncode}, a pipe gets {run.stderr!r}",
               run.returncode == 0 and b"\x1b[K" not in run.stderr + run.stdout)
        if time.monotonic() - start > LONG or run.returncode:
            return n
        n += n // 2


def problems(words, out, got, what, end):
    """What is wrong with what came to a terminal."""
    bars, seen = BAR.findall(out), screen(out)
    if got:
        yield f"{words}: exit code {got}: {out!r}"
    if not bars:
        yield f"{words}: no bar: {out[-300:]!r}"
    elif not any(re.search(what, text) for _, text in bars):
        yield f"{words}: a bar says {bars[:1]}"
    if any(len(text) > 60 for _, text in bars):
        yield f"{words}: a bar is wider than the terminal: {bars}"
    if not re.search(end, seen) or re.search(r"\[=* *\] +\d", seen):
        yield f"{words}: left to see: {seen!r}"


def check(folder, n, command, what, end):
    """A bar that says `what` comes and goes; what is left to see has `end`, a regular expression. The words that it
    took: on a machine that has become faster since n was found, those of a larger one."""
    for _ in range(5):
        words = command(n)
        found = list(problems(words, *on_terminal(folder, *words), what, end))
        if not found:
            break
        n *= 2
    for problem in found:
        expect(problem, False)
    return words


def check_none(folder, words, environment=None):
    """The same has no bar."""
    out, got = on_terminal(folder, *words, environment=environment)
    expect(f"{words} {environment} shows {out!r}", got == 0 and b"\x1b[K" not in out)


with tempfile.TemporaryDirectory() as folder:
    with open(os.path.join(folder, "q.hir"), "w") as file:
        file.write(PROGRAM)
    ring = os.path.join(os.environ["HIRC_ROOT"], "examples", "ag_matmul.hir")

    def bars(n, command, what, end):
        return check(folder, long(folder, n, command), command, what, end)

    words = bars(200, lambda n: ["check", ring, f"--np={n}", "--each-rank"], rb"^checking \d+ ranks",
                 r"^ok: \d+ ranks")
    check_none(folder, words + ["--quiet"])
    bars(36, lambda n: ["check", ring, f"--family=np=2..{n}", "--each-rank"], rb"^checking np = \d+",
         r"^ok: np = 2 … \d+: ")
    words = bars(10000, lambda n: ["bench", "q.hir", "--np=2", f"--samples={n}"], rb"^q\.hir", r"(?m)^q,")
    check_none(folder, words, {"HIRC_FLAGS": "--quiet", "TERM": "dumb"})
    bars(20, lambda n: ["bench", "allreduce", "--np=2", "-e", "4K", f"--samples={n * n}"],
         rb"^allreduce, \d+ byte", r"(?m)^# Avg bus bandwidth")
    bars(2, lambda n: ["tune", ring, "--np=2", f"--measure={n}", "--limit=100"],
         rb"^(running|looking at candidates)", r"# hirc run ")
sys.exit(failures != 0)
