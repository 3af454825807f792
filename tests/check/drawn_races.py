"""Helpers of the scripts that draw programs and search races in them: text with steps, pairs, the comparison."""
import random
import subprocess
import sys


class Program:
    """The text, and the action of each line."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines = []
        self.steps = []  # (line number, what, argument) or ("loop", count, steps)
        self.names = 0

    def line(self, steps, indent, text, what=None, argument=None):
        self.lines.append(indent + text)
        if what:
            steps.append((len(self.lines), what, argument))

    def unrolled(self, steps=None, i=None):
        for step in self.steps if steps is None else steps:
            if step[0] == "loop":
                for k in range(step[1]):
                    yield from self.unrolled(step[2], k)
            else:
                yield (*step, i)


def pairs(accesses, before):
    """Returns the accesses of two lines that nothing orders: (line, what it writes, what it reads), and the accesses
    before each."""
    found = set()
    for late, (line, writes, reads) in enumerate(accesses):
        for early in range(late):
            other, other_writes, other_reads = accesses[early]
            if early not in before[late] and (writes & (other_writes | other_reads) or reads & other_writes):
                found.add((line, other))
    return found


def compare(draw, races, named, both=False):
    """Compares the races in each drawn program with those that hirc names in its output. both: a pair may be named in
    either order."""
    hirc, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 200
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    wrong = racy = 0
    for k in range(count):
        program = draw(seed * 1000003 + k)
        text = "\n".join(program.lines) + "\n"
        want = races(program)
        run = subprocess.run([hirc, "check", "-", "--passes="], input=text, capture_output=True, text=True, timeout=60,
                             check=False)
        got = named(run.stderr)
        known = want | {(b, a) for a, b in want} if both else want
        racy += bool(want)
        # Drawn statements may read unwritten elements, or another block than the one that they write.
        refused = "[E0603]" in run.stderr or "[E07" in run.stderr
        if run.returncode != (refused or bool(want)) or bool(got) != bool(want) or not got <= known:
            wrong += 1
            print(f"program {k} of seed {seed}: exit {run.returncode}; races {sorted(want)}, found {sorted(got)}")
            print(text + run.stdout + run.stderr)
    print(f"{count - wrong} of {count} as they should be, {racy} with races")
    sys.exit(wrong != 0)
