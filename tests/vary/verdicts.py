#!/usr/bin/env python3
"""Compares the verdict of `hirc check` on a program with runs of it.

    verdicts.py --hirc build/dev/hirc --count 300            300 programs of each drawn kind, seed 1
    verdicts.py --hirc build/dev/hirc --every 5              every fifth given program
    verdicts.py --hirc build/dev/hirc --keep FOLDER          keeps programs with a disagreement

Each program has three verdicts: that of `hirc check`; that of `hirc run --no-check`; that of `hirc run --no-check
--check --adversary=SEED` for three seeds. The programs:

    given     programs of tests and examples, unchanged
    dumps     the same, compiled and printed
    random    those of programs.py and loops.py, which are right
    compiled  the same, compiled and printed
    mutants   dumps of examples and of random programs, with one change (mutations.py)

A mutant that check accepts is compared with the program from which it was made, under eight seeds. If its numbers are
others, it may be a right program of its own: with its own reference it is right under all seeds, too. Its verdict is
`other`. One of each kind of change is kept.

The script prints how often each pair of verdicts occurs, and the verdicts on mutants for each kind of change. A program that check accepts and that a run refuses, or that
hangs, or gives wrong numbers, is a disagreement; so is a random program that check refuses and that runs right, and a
command that crashes. A mutant that check refuses may run right: a race need not show. Disagreements with the same
message are one class, of which the shortest program is kept. Errors about unwritten elements (E0603) and about
elements that no rank holds (E0604) are separate verdicts, as are ranks whose copies of an output are not equal
(E0711): check does not see values, so they do not make the script fail. It also ignores runs that depend on facts
which no check sees, and programs that are wrong before the passes and repaired by them: --check evaluates the program
before the passes.
"""
import argparse
import collections
import concurrent.futures
import pathlib
import random
import re
import subprocess
import sys
import tempfile

import loops
import mutations
import programs

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SEEDS = (1, 2, 3)  # of the adversary: one for each of its orders
MUTANT_SEEDS = range(1, 9)  # for mutants that check accepts
STUCK = 2  # seconds without progress after which a run counts as hanging
LONGEST = 10  # time limit of a command; one that takes longer, though it makes progress, has no verdict
SMALL = {"ag_linear": ["-D", "m=4", "-D", "k=8", "-D", "n=6"], "zero_copy": ["-D", "t=26"]}
KINDS = ["given", "dumps", "random", "compiled", "mutants"]
CHECKED = "ok never-written held-by-none refused unknown no-program long crash".split()
RAN = "right undecided other depends never-written held-by-none unequal refused wrong hang crash long".split()
NAMED = {"E0603": "never-written", "E0604": "held-by-none", "E0711": "unequal", "E0728": "long"}
# A run may fail for reasons that the check does not see: kernels of externs, files, the machine's memory, data as
# indices.
DEPENDS = re.compile(r"error: .*(has no CPU kernel|cannot be opened|has \d+ bytes, this machine|"
                     r"index -?\d+ is outside of the axis|expert -?\d+ is not below|division by zero)")
UNKNOWN = ("E0610", "E0611")
RIGHT = ("right", "undecided", "other")
APART = ("never-written", "held-by-none", "unequal")

# original: the text from which a mutant was made; change: its kind of change
Program = collections.namedtuple("Program", "kind name text options original change", defaults=(None, None))
# check, run: verdicts; why: the message that tells classes apart; said: messages of each command
Verdict = collections.namedtuple("Verdict", "check run why said")


# ---- programs


def given(every):
    """Yields programs of golden tests, one by one, and examples."""
    for path in [*sorted(ROOT.glob("examples/**/*.hir")), *sorted(ROOT.glob("tests/**/*.hir"))][::every]:
        text = path.read_text(errors="replace").split("\n# EXPECT:")[0]
        for number, part in enumerate(re.split(r"^# -----.*$", text, flags=re.M)):
            if re.search(r"^program\b|HostIrContainer", part, re.M):
                yield Program("given", "%s:%d" % (path.relative_to(ROOT), number), part, SMALL.get(path.stem, []))


def drawn(seed, number):
    if number % 2:
        p = loops.Loops(seed, number)
    else:
        p = programs.draw(seed, number)
    return Program("random", "random %d of seed %d" % (number, seed), p.text, p.options())


def compiled(hirc, program, kind):
    """Returns the dump of a program, which needs no passes; None if it does not compile."""
    done = command([hirc, "compile", "-", "--dump=hir", *program.options], program.text)
    if done.returncode or not re.search(r"^program\b", done.stdout, re.M):
        return None
    return Program(kind, program.name, done.stdout, ["--passes="])


def mutant(hirc, seed, number, sources):
    r = random.Random("mutant %d/%d" % (seed, number))
    source = r.choice(sources) if r.random() < 0.6 else drawn(seed, r.randrange(1 << 30))
    dump = compiled(hirc, source, "mutants")
    for _ in range(10):
        changed = mutations.mutant(r, dump.text.splitlines()) if dump else None
        if changed:
            what, lines = changed
            return dump._replace(name="mutant %d of seed %d, %s of %s" % (number, seed, what, source.name),
                                 text="\n".join(lines) + "\n", original=dump.text, change=what)
    return None


# ---- verdicts


def command(words, text):
    """Runs a command. Exit code None: it did not end."""
    try:
        return subprocess.run(words, input=text, capture_output=True, text=True, errors="replace", timeout=LONGEST,
                              check=False)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(words, None, "", "error: did not end within %d s" % LONGEST)


def message(done):
    """Returns the first error, without the parts that differ from program to program."""
    said = done.stderr + done.stdout
    found = re.search(r"error: (.*)", done.stderr) or re.search(r"^((?:wrong|undecided): .*)", said, re.M)
    text = found[1] if found else "exit code %s" % done.returncode
    code = re.search(r"\[([EW]\d+)\]$", text)
    text = re.sub(r"(\(in  .*| \[[EW]\d+\]$)", "", re.sub(r"'[^']*'", "'…'", text))
    text = re.sub(r"(result of )\w+", r"\1…", re.sub(r"\[\d+(\.\.\d+)?, \d+(\.\.\d+)?\)", "[…)", text))
    text = re.sub(r"wrong: rank.*", "wrong numbers", re.sub(r"-?\d+(\.\d+)?(e[-+]\d+)?", "N", text))
    return "%s %s" % (code[1], text) if code else text


def check_verdict(done):
    if done.returncode == 0:
        return "never-written" if "[W0615]" in done.stderr else "ok"
    if done.returncode not in (1, 2):
        return "long" if done.returncode is None else "crash"
    codes = re.findall(r"error: .*\[(E\d+)\]$", done.stderr, re.M)
    if codes and all(c == codes[0] for c in codes):
        return "unknown" if codes[0] in UNKNOWN else NAMED.get(codes[0], "refused")
    return "refused"


def run_verdict(done):
    if done.returncode == 3 and "[E0711]" in done.stderr:
        return "unequal"
    if done.returncode == 3:
        said = done.stdout + done.stderr
        if re.search(r"^wrong: .*: got ", said, re.M):
            return "wrong"
        return "never-written" if "never written" in said else "undecided" if "undecided: " in said else "wrong"
    if done.returncode == 1 and DEPENDS.search(done.stderr):
        return "depends"
    if done.returncode == 1:
        code = re.search(r"error: .*\[(E\d+)\]", done.stderr)
        return NAMED.get(code and code[1], "refused")
    return {0: "right", 2: "refused", 4: "hang", None: "long"}.get(done.returncode, "crash")


def is_repaired(hirc, program):
    """Returns true if the program is refused without the passes."""
    return check_verdict(command([hirc, "check", "-", "--passes=", *program.options], program.text)) == "refused"


def judge_accepted(hirc, program, done):
    """Compares a mutant that check accepts with the original, then with its own reference."""
    said = [("check", done)]
    with tempfile.NamedTemporaryFile("w", suffix=".hir") as original:
        original.write(program.original)
        original.flush()
        run = [hirc, "run", "-", "--no-check", "--bootstrap=thread", "--timeout=%d" % STUCK, *program.options]
        for reference, found in (("--check=" + original.name, "right"), ("--check", "other")):
            for more in [[], *(["--adversary=%d" % seed] for seed in MUTANT_SEEDS)]:
                done = command([*run, reference, *more], program.text)
                verdict = run_verdict(done)
                if verdict not in RIGHT:
                    said.append((" ".join(["run --no-check", reference, *more]), done))
                    break
                if verdict == "undecided" and found == "right":
                    found = verdict
            else:
                return Verdict("ok", found, "", said)
    return Verdict("ok", verdict, message(done), said)


def judge(hirc, program):
    done = command([hirc, "check", "-", *program.options], program.text)
    check, why = check_verdict(done), message(done)
    if program.original and check == "ok":
        return judge_accepted(hirc, program, done)
    said = [("check", done)]
    run = [hirc, "run", "-", "--no-check", "--bootstrap=thread", "--timeout=%d" % STUCK, *program.options]
    verdict = "right"
    for more in [[], *(["--check", "--adversary=%d" % seed] for seed in SEEDS)]:
        done = command(run + more, program.text)
        said.append((" ".join(["run --no-check", *more]), done))
        now = run_verdict(done)
        if check == "refused" and now == "refused" and not more and message(done) == why:
            return Verdict("no-program", now, why, said)
        if more and now == "refused" and is_repaired(hirc, program):
            now = "depends"
        if RAN.index(now) > RAN.index(verdict):
            verdict = now
        if verdict not in RIGHT:
            why = message(done) if check == "ok" or verdict == "crash" else why
            break
    return Verdict(check, verdict, why, said)


def disagrees(program, v):
    if "crash" in (v.check, v.run):
        return True
    if v.check == "ok":
        return v.run not in (*RIGHT, "depends", "long")
    is_right = program.kind in ("random", "compiled")
    return is_right and v.run in RIGHT and v.check not in ("no-program", "unknown", "long")


# ---- the table


def put_table(counts):
    """Prints a row for each kind, with the verdicts that occurred."""
    ran = [x for x in RAN if any(key[2] == x for key in counts)]
    for kind in KINDS:
        rows = {c: [counts[kind, c, x] for x in ran] for c in CHECKED if any(counts[kind, c, x] for x in ran)}
        if not rows:
            continue
        print("%-10s%-14s" % (kind, "check \\ run") + "".join("%14s" % x for x in ran))
        for c, row in rows.items():
            print("%-10s%-14s" % ("", c) + "".join("%14s" % (n or "") for n in row))


def put_changes(changes):
    """Prints a row for each kind of change: mutants that check refuses, and verdicts of runs of the others."""
    columns = ["no-program", "refused", *(x for x in RAN if x != "refused" and any(changes[c][x] for c in changes))]
    if changes:
        print("%-20s" % "change" + "".join("%14s" % x for x in columns))
    for change, counts in sorted(changes.items()):
        print("%-20s" % change + "".join("%14s" % (counts[x] or "") for x in columns))


def keep(folder, name, program, v):
    path = folder / ("%s.hir" % name)
    head = ["%s, options: %s" % (program.name, " ".join(program.options) or "none")]
    for what, done in v.said:
        head += ["hirc %s: exit code %s" % (what, done.returncode)] + (done.stdout + done.stderr).splitlines()[:6]
    path.write_text("".join("# %s\n" % line for line in head) + program.text)
    return path


def work(o):
    """Yields the programs, each as a function that makes it."""
    files = list(given(o.every))
    examples = [p for p in given(1) if p.name.startswith("examples/") and "tutorial" not in p.name]
    examples += [p._replace(options=["--pipeline=" + kind]) for kind in ("permute", "collective", "p2p", "p2p-put")
                 for p in examples if "ag_matmul:" in p.name or "_scatter" in p.name]
    examples += [p for p in given(1) if "vary/programs/" in p.name]
    examples += [p._replace(options=["--passes="]) for p in given(1) if "run/symmetric_" in p.name]
    for p in files:
        yield lambda p=p: p
        yield lambda p=p: compiled(o.hirc, p, "dumps")
    for k in range(o.count):
        yield lambda k=k: drawn(o.seed, k)
        yield lambda k=k: compiled(o.hirc, drawn(o.seed, k), "compiled")
        yield lambda k=k: mutant(o.hirc, o.seed, k, examples)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--hirc", required=True)
    p.add_argument("--count", type=int, default=100, help="programs of each kind that is drawn")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--every", type=int, default=1, help="take each so many of the files of tests and examples")
    p.add_argument("--kinds", default=",".join(KINDS))
    p.add_argument("--jobs", type=int, default=2)
    p.add_argument("--keep", type=pathlib.Path, help="folder for programs of disagreements")
    o = p.parse_args()
    kinds = o.kinds.split(",")

    def one(make):
        program = make()
        return program and program.kind in kinds and (program, judge(o.hirc, program))

    counts, changes = collections.Counter(), collections.defaultdict(collections.Counter)
    classes, others = collections.defaultdict(list), collections.defaultdict(list)
    with concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
        for program, v in filter(None, pool.map(one, work(o))):
            counts[program.kind, v.check, v.run] += 1
            if program.change:
                changes[program.change][v.run if v.check == "ok" else "no-program" if v.check == "no-program" else "refused"] += 1
            if v.run == "other":
                others[program.change].append((program, v))
            if disagrees(program, v):
                classes[v.check, v.run, v.why].append((program, v))
    put_table(counts)
    put_changes(changes)
    if (classes or others) and not o.keep:
        o.keep = pathlib.Path(tempfile.mkdtemp(prefix="hirc-verdicts-"))
    elif classes or others:
        o.keep.mkdir(parents=True, exist_ok=True)
    for change, found in sorted(others.items()):
        program, v = min(found, key=lambda x: len(x[0].text))
        print("%d of %s are other programs, right in every order\n    %s: %s" % (
            len(found), change, keep(o.keep, change, program, v), program.name))
    for number, ((check, run, why), found) in enumerate(sorted(classes.items(), key=lambda x: -len(x[1]))):
        program, v = min(found, key=lambda x: len(x[0].text))
        kinds = collections.Counter(p.kind for p, _ in found)
        print("%d: check %s, run %s: %s (%s)\n    %s: %s" % (
            len(found), check, run, why, ", ".join("%d %s" % (n, k) for k, n in kinds.items()),
            keep(o.keep, number, program, v), program.name))
    apart = sum(len(found) for (_, run, _), found in classes.items() if run in APART)
    wrong = sum(map(len, classes.values())) - apart
    print("%d programs, %d disagreements, %d of what is never written or held by no rank; %d classes" % (
        sum(counts.values()), wrong, apart, len(classes)))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
