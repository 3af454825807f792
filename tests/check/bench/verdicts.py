#!/usr/bin/env python3
"""Checks the table of README.md against the programs beside it: verdicts.py

A folder is a class and has a row. The first comment of a program begins with `Right:` or `Wrong:`. `hirc check`
refuses a program with `# EXIT: 1`, warns of a wrong one by a warning in its output, and accepts the others; the golden
tests say that it does.

  --update                  write the numbers of programs and of hirc's verdicts
  --run HIRC [--tsan HIRC]  run all programs, print each that a run shows, and write these columns, too;
                            the second HIRC is built with the preset tsan
"""
import argparse
import collections
import pathlib
import re
import subprocess
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
PROGRAM = re.compile(r"# RUN: (hirc check( --\S+)* %b|(?P<files>\S+/example %s && hirc check( \S+\.hir)+))\n"
                     r"(?P<exit># EXIT: 1\n)?# (?P<truth>Right|Wrong): ")
ROW = re.compile(r"^\| `(\w+)` (?:\| [-\d]+ ){7}\|$", re.MULTILINE)
TOTAL = re.compile(r"^\| all (?:\| [-\d]+ ){7}\|$", re.MULTILINE)
SEEDS = range(1, 9)
SECONDS = 60


class Program:
    def __init__(self, path):
        text = path.read_text()
        match = PROGRAM.match(text)
        if not match:
            sys.exit(f"{path}: a program begins with `# RUN: hirc check %b`, `# EXIT: 1` if it fails, "
                     "and `# Right: …` or `# Wrong: …`")
        self.path = path
        self.wrong = match["truth"] == "Wrong"
        self.runs = match["files"] is None  # `hirc run` takes one file
        self.refused = match["exit"] is not None
        self.found = self.refused or (self.wrong and re.search(r"^# \S+: warning: ", text, re.MULTILINE) is not None)


def run(command):
    """Returns the exit code and the output; a run that does not end counts as failed."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return 4, ""
    return done.returncode, done.stdout + done.stderr


def shown_by(program, hirc, tsan):
    """Returns one truth for each of plain run, adversary and TSan: the run says that the program is wrong."""
    if not program.runs:
        return False, False, False
    command = ["run", str(program.path), "--no-check", "--timeout=2"]
    plain = run([hirc, *command, "--check"])[0] != 0
    adversary = any(run([hirc, *command, "--check", f"--adversary={seed}"])[0] != 0 for seed in SEEDS)
    threads = ["--bootstrap=thread", "--engine=lanes", "--repeat=20"]
    races = tsan and "ThreadSanitizer: data race" in run(["setarch", "-R", tsan, *command, *threads])[1]
    return plain, adversary, races


def measure(classes, hirc, tsan):
    """Returns for each class how many wrong programs plain run, adversary and TSan show."""
    figures = {}
    for name, programs in classes.items():
        count = [0, 0, 0]
        for program in programs:
            shown = shown_by(program, hirc, tsan)
            for k, yes in enumerate(shown):
                count[k] += bool(yes) and program.wrong
            words = [word for word, yes in zip(("run", "adversary", "TSan"), shown) if yes]
            if words:
                print(f"{'wrong' if program.wrong else 'RIGHT'} {name}/{program.path.stem}: {' '.join(words)}", flush=True)
        figures[name] = [str(number) for number in count[:2]] + [str(count[2]) if tsan else "-"]
    return figures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--run", metavar="HIRC")
    parser.add_argument("--tsan", metavar="HIRC")
    options = parser.parse_args()

    classes = collections.defaultdict(list)
    for path in sorted(FOLDER.glob("*/*.hir")):
        classes[path.parent.name].append(Program(path))
    readme = FOLDER / "README.md"
    text, wrong = readme.read_text(), []
    rows = ROW.findall(text)
    wrong += [f"the class `{name}` has no row" for name in sorted(set(classes) - set(rows))]
    wrong += [f"the row `{name}` has no folder" for name in rows if name not in classes]
    wrong += [f"`hirc check` {'refuses' if program.refused else 'accepts'} {name}/{program.path.name}, which is "
              f"{'wrong' if program.wrong else 'right'}"
              for name, programs in classes.items() for program in programs if program.found != program.wrong]
    measured = measure(classes, options.run, options.tsan) if options.run else {}

    total = [0] * 7
    def write(match):
        name, cells = match[1], match[0].strip("| ").split(" | ")[5:]
        programs = classes[name]
        numbers = [sum(not p.wrong for p in programs), sum(p.wrong for p in programs),
                   sum(not p.wrong and not p.refused for p in programs), sum(p.wrong and p.found for p in programs)]
        cells = [str(number) for number in numbers] + measured.get(name, cells)
        for k, cell in enumerate(cells):
            total[k] += int(cell) if cell != "-" else 0
        return f"| `{name}` | " + " | ".join(cells) + " |"

    table = ROW.sub(write, text)
    table = TOTAL.sub("| all | " + " | ".join(map(str, total)) + " |", table)
    if options.update or options.run:
        readme.write_text(table)
    elif table != text:
        wrong.append("the table is not that of the programs: tests/check/bench/verdicts.py --update")
    for line in wrong:
        print(f"tests/check/bench: {line}")
    sys.exit(1 if wrong else 0)


main()
