#!/usr/bin/env python3
"""progress.py HIRC: bars of progress appear on a terminal, and are gone at the end; elsewhere there are none. Colours of
--color=auto appear on a terminal, unless NO_COLOR is set or TERM is dumb."""
import os
import pty
import re
import select
import subprocess
import sys
import tempfile

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


def expect(what, ok):
    global failures
    if not ok:
        print(f"failed: {what}")
        failures += 1


def on_terminal(folder, *words, **environment):
    """Returns the output on a terminal of 60 columns, and the exit code."""
    leader, follower = pty.openpty()
    import fcntl
    import struct
    import termios
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
    run = subprocess.Popen([HIRC, *words], cwd=folder, stdin=subprocess.DEVNULL, stdout=follower, stderr=follower,
                           env={**os.environ, "TERM": "xterm", **environment})
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
    """Returns the visible text: \r goes to the start of a line, CSI K erases from there."""
    lines = []
    for line in out.decode().replace("\r\n", "\n").split("\n"):
        line = re.split(r"\r\x1b\[K", line)[-1]
        lines.append(re.sub(r"\x1b\[[0-9;]*m", "", line))
    return "\n".join(lines)


def check(folder, words, what, end):
    """A bar that says `what` appears and is removed; the visible text at the end matches `end`, a regular expression.
    In a pipe there is no bar."""
    out, got = on_terminal(folder, *words, HIRC_PROGRESS="now")
    bars, seen = BAR.findall(out), screen(out)
    expect(f"{words}: exit code {got}: {out!r}", got == 0)
    expect(f"{words}: no bar: {out[-300:]!r}", bars)
    expect(f"{words}: a bar says {bars[:1]}", any(re.search(what, text) for _, text in bars))
    expect(f"{words}: a bar is wider than the terminal: {bars}", not any(len(text) > 60 for _, text in bars))
    expect(f"{words}: left to see: {seen!r}", re.search(end, seen) and not re.search(r"\[=* *\] +\d", seen))
    run = subprocess.run([HIRC, *words], cwd=folder, capture_output=True,
                         env={**os.environ, "TERM": "xterm", "HIRC_PROGRESS": "now"})
    expect(f"{words}: {run.returncode}, a pipe gets {run.stderr!r}",
           run.returncode == 0 and b"\x1b[K" not in run.stderr + run.stdout)


def check_none(folder, words, **environment):
    """The same command shows no bar."""
    out, got = on_terminal(folder, *words, HIRC_PROGRESS="now", **environment)
    expect(f"{words} {environment} shows {out!r}", got == 0 and b"\x1b[K" not in out)


def check_color(folder, colored, *words, **environment):
    out, _ = on_terminal(folder, *words, **{"NO_COLOR": "", **environment})
    expect(f"{words} {environment}: {out!r}", (b"\x1b[" in out) == colored)


with tempfile.TemporaryDirectory() as folder:
    for words in (["compile", "none.hir"], ["fmt", "none.hir"], ["import", "none.hir"], ["test", "none.hir"]):
        check_color(folder, True, *words)
        check_color(folder, False, *words, TERM="dumb")
        check_color(folder, False, *words, NO_COLOR="1")
        check_color(folder, False, *words, "--color=never")
        check_color(folder, True, *words, "--color=always", TERM="dumb", NO_COLOR="1")
    with open(os.path.join(folder, "q.hir"), "w") as file:
        file.write(PROGRAM)
    ring = os.path.join(os.environ["HIRC_ROOT"], "examples", "ag_matmul.hir")

    words = ["check", ring, "--np=64", "--each-rank"]
    check(folder, words, rb"^checking \d+ ranks", r"^ok: \d+ ranks")
    check_none(folder, words + ["--quiet"])
    check(folder, ["check", ring, "--family=np=2..4", "--each-rank"], rb"^checking np = \d+", r"^ok: np = 2 … \d+: ")
    words = ["bench", "q.hir", "--np=2", "--samples=4"]
    check(folder, words, rb"^q\.hir", r"(?m)^q,")
    check_none(folder, words, HIRC_FLAGS="--quiet")
    check_none(folder, words, TERM="dumb")
    check(folder, ["bench", "allreduce", "--np=2", "-e", "4K", "--samples=4"], rb"^allreduce, \d+ byte",
          r"(?m)^# Avg bus bandwidth")
    check(folder, ["tune", ring, "--np=2", "--measure=2", "--limit=4"], rb"^(running|looking at candidates)",
          r"# hirc run ")
    words = ["run", ring, "--np=2", "--check"]
    check(folder, words, rb"^the reference", r"^ok: 2 ranks")
    check_none(folder, words + ["--quiet"])
    mlp = os.path.join(os.environ["HIRC_ROOT"], "examples", "fsdp_mlp_backward.hir")
    for words, end in ((["check", mlp, "--effort=2"], r"^ok: 4 ranks"), (["compile", mlp, "--effort=2"], r"^%HostIrContainer"),
                       (["sim", mlp, "--effort=2"], r"(?m)^step time")):
        check(folder, words, rb"^trying changes: ", end)
        check_none(folder, words + ["--quiet"])
sys.exit(failures != 0)
