#!/usr/bin/env python3
"""Compares the events of each rank according to the walk and to the plan.

    events.py --events build/dev/tests/events --count 300    programs of tests and examples, and 300 drawn with seed 1
    events.py --events build/dev/tests/events --every 10     every tenth given program
    events.py --events build/dev/tests/events --keep FOLDER  keeps programs with a difference

tests/events/events.h defines events and the form of both lists. The programs:

    given     programs of tests and examples: unchanged, if they are lowered; after the passes; with each kind of
              pipeline; in the order of schedule-overlap
    random    those of programs.py and loops.py, which are compiled, with 1, 3, 4 or any number of streams; every fourth
              with the memory that hirc check assumes
    mutants   dumps of these with one change (mutations.py): an error is the same in both lists

Ranks that the plan refuses are not compared; the table says how many there are.
"""
import argparse
import collections
import concurrent.futures
import pathlib
import re
import subprocess
import sys
import tempfile

import verdicts

ROOT = verdicts.ROOT
BATCH = 50  # programs of a process
LONGEST = 300  # seconds of a batch
PIPELINES = ["permute", "collective", "p2p", "p2p-put", "broadcast", "layout"]
STREAMS = ["4", "0", "1", "3"]
LOWERED = re.compile(r"\ballocate\(|ALLOCATE")  # buffers exist: the passes are done
SHOWN = 10  # differences that are printed without --keep


def options_of(path):
    """Returns the values and numbers of ranks in the first commands of a test."""
    lines = [line for line in path.read_text(errors="replace").splitlines() if "RUN:" in line]
    return re.findall(r"-D ?\w+=\w+|--np=\d+", lines[0]) if lines else []


def given(every):
    """Yields programs of tests and examples."""
    for p in verdicts.given(every):
        options = [x.replace(" ", "") for x in options_of(ROOT / p.name.rsplit(":", 1)[0])]
        yield p._replace(options=p.options or options)
    for path in sorted(ROOT.glob("tests/**/*.hostir"))[::every]:
        yield verdicts.Program("given", str(path.relative_to(ROOT)), path.read_text(errors="replace"), [])


def variants(program):
    """Yields a given program unchanged, and after passes."""
    if LOWERED.search(program.text):
        yield program._replace(name=program.name + " as it stands", options=["--passes=", *program.options])
    yield program
    if program.name.startswith("examples/"):
        yield program._replace(name=program.name + " in another order", options=["--effort=3", *program.options])
    if "stream" in program.text:
        for kind in PIPELINES:
            yield program._replace(name="%s --pipeline=%s" % (program.name, kind),
                                   options=["--pipeline=" + kind, *program.options])


def drawn(seed, number):
    p = verdicts.drawn(seed, number)
    more = ["--streams=" + STREAMS[number % len(STREAMS)], *["--as-checked"] * (number % 16 >= 12)]
    return p._replace(options=more + p.options)


def work(o):
    """Yields programs, one by one."""
    files = list(given(o.every)) if "given" in o.kinds else []
    for p in files:
        yield from variants(p)
    for k in range(o.count):
        if "random" in o.kinds:
            yield drawn(o.seed, k)
    sources = [p for p in verdicts.given(1) if p.name.startswith("examples/") and "tutorial" not in p.name]
    for k in range(o.count // 20 if "mutants" in o.kinds and o.hirc else 0):
        p = verdicts.mutant(o.hirc, o.seed, k, sources)
        if p:
            yield p


def batches(programs):
    batch = []
    for p in programs:
        batch.append(p)
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def compare(events, batch):
    """Returns the figures of a batch, by name, and the differences: (program, text)."""
    data = b""
    for p in batch:
        text = p.text.encode()
        data += "\t".join([str(len(text)), p.name.replace("\t", " "), *p.options]).encode() + b"\n" + text
    try:
        done = subprocess.run([events, "--list"], input=data, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              timeout=LONGEST, check=False)
        code, out = done.returncode, done.stdout
    except subprocess.TimeoutExpired as e:
        code, out = "no end", e.stdout or b""
    found, figures, at = [], collections.Counter(), None
    by_name = {p.name: p for p in batch}
    for line in out.decode(errors="replace").splitlines():
        if line.startswith("# "):
            at = by_name.get(line[2:])
        elif line.startswith("figures: "):
            words = line.split()[1:]
            figures.update({name: int(n) for name, n in zip(words[::2], words[1::2])})
        elif line.startswith("  ") and found:
            found[-1][1].append(line)
        else:
            found.append((at, [line]))
    if code not in (0, 1):
        found.append((at, ["the process ended with %s" % code]))
        figures["differences"] += 1
    return figures, found


def keep(folder, number, program):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / ("%d.hir" % number)
    path.write_text("# %s, options: %s\n%s" % (program.name, " ".join(program.options), program.text))
    return path


def measure(events, statements):
    """Measures walks: of operations (tools/gen_program), and of Communications without a wait."""
    text = subprocess.run([sys.executable, ROOT / "tools/gen_program", str(statements)], stdout=subprocess.PIPE,
                          check=True).stdout
    lines = ["mesh m(x = 2)", "program p on m {", "  input A: f32[8@x]", "  output Y: f32[8] = allocate()"]
    lines += ["  Y <- allgather(A, axis=x) as c%d" % k for k in range(statements)] + ["}"]
    failed = 0
    for program in (text, "\n".join(lines).encode()):
        done = subprocess.run([events, "--memory", "--passes=", "-"], input=program, stdout=subprocess.PIPE, check=False)
        print(done.stdout.decode().splitlines()[0])
        failed |= done.returncode
    return failed


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--events", required=True, help="the program tests/events")
    p.add_argument("--hirc", help="makes the mutants")
    p.add_argument("--count", type=int, default=300, help="programs that are drawn")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--every", type=int, default=1, help="take each so many of the files of tests and examples")
    p.add_argument("--kinds", default="given,random,mutants")
    p.add_argument("--jobs", type=int, default=2)
    p.add_argument("--statements", type=int, help="measure the memory of walks of so many statements, too")
    p.add_argument("--keep", type=pathlib.Path, help="folder for programs whose accounts differ")
    o = p.parse_args()
    figures, differences = collections.Counter(), []
    with concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
        for more, found in pool.map(lambda b: compare(o.events, b), batches(work(o))):
            figures.update(more)
            differences += found
    folder = o.keep or (differences and pathlib.Path(tempfile.mkdtemp(prefix="hirc-events-")))
    for number, (program, lines) in enumerate(differences[:None if o.keep else SHOWN]):
        print("\n".join(lines))
        if program:
            print("  %s" % keep(folder, number, program))
    print(", ".join("%d %s" % (n, name) for name, n in figures.items()))
    failed = o.statements and measure(o.events, o.statements)
    return 1 if failed or figures["differences"] or not figures["compared"] else 0


if __name__ == "__main__":
    sys.exit(main())
