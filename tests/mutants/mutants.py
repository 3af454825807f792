#!/usr/bin/env python3
"""Faults in passes, and the checks that find them.

    mutants.py --hirc build/release/hirc                      all patches
    mutants.py --hirc build/release/hirc --work DIR zero-copy/   those whose names contain a word

PASS/NAME.patch is a fault in a pass: lines of comment, then a patch of src/. The first lines say what is wrong, in plain
words. `# RUN: FILE OPTION…` names a program that the fault changes, by its path in the source tree, and the options of
`hirc compile`.

The source tree is copied, built once, and built again with each patch. Each program is compiled by both builds. If the
outputs are the same, the patch does not reach the program. Otherwise the faulty build must not accept the program. These
checks are asked, one after the other, and the first that reports is the verdict:

    differs      hirc compile --prove: the program computes another function
    not related  hirc compile --prove: it is not proved that the program computes the same function
    order        hirc check: a race, a missing wait, a buffer that is not allocated, or operations that do not match
    verify       the verifier and the contracts of the passes
    refused      the faulty pass, or a later one, reports an error or crashes

A program that all of them accept is run and compared with its source. If its numbers are wrong, the checks have a hole.
If they are right, the patch is no fault. Both fail the test, as do a patch that does not apply or does not compile, and
a patch that reaches none of its programs.
"""
import argparse
import collections
import filecmp
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
VERDICTS = ("differs", "not related", "order", "verify", "refused", "accepted")
NO_LIBRARIES = ["-DHIRC_%s=OFF" % name for name in ("MPI", "BLAS", "ONEDNN", "CUDA", "PROTOBUF")]
TIMEOUT = 60  # seconds of one command


class Failure(Exception):
    """The reason why a patch fails the test."""


def call(command, text=None):
    """Returns exit code, standard output, standard error. A command that does not end has the code 124."""
    try:
        done = subprocess.run([str(word) for word in command], input=text, capture_output=True, text=True,
                              timeout=TIMEOUT, check=False, cwd=ROOT)
    except subprocess.TimeoutExpired:
        return 124, "", "did not end within %d s" % TIMEOUT
    return done.returncode, done.stdout, done.stderr


def list_files(top):
    """Returns the files of a source tree, by their paths in it, without builds and hidden folders."""
    found = set()
    for folder, inner, names in os.walk(top):
        inner[:] = [name for name in inner if name not in ("build", "shared") and not name.startswith(".")]
        found.update(os.path.relpath(os.path.join(folder, name), top) for name in names)
    return found


class Patch:
    """A patch file: .comment, and .runs, the words of its RUN lines."""

    def __init__(self, path):
        self.path = path
        self.name = "%s/%s" % (path.parent.name, path.stem)
        self.comment, self.runs = [], []
        for line in path.read_text().splitlines():
            if not line.startswith("#"):
                break
            words = line[1:].split()
            if words and words[0] == "RUN:":
                self.runs.append(words[1:])
            else:
                self.comment.append(line[1:].strip())
        if not self.comment or not self.runs:
            raise Failure("%s needs a comment and a line `# RUN: FILE OPTION…`" % self.name)


class Tree:
    """A copy of the source tree with a build of its own."""

    def __init__(self, folder):
        self.source, self.build = folder / "tree", folder / "build"
        self.hirc = self.build / "hirc"
        self.applied = None

    def copy(self):
        """Makes the copy equal to the source tree; files that are equal already keep their time."""
        wanted, there = (list_files(folder) for folder in (ROOT, self.source))
        for name in there - wanted:
            (self.source / name).unlink()
        for name in wanted:
            source, to = ROOT / name, self.source / name
            if name in there and filecmp.cmp(source, to, shallow=False):
                continue
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, to)
            shutil.copymode(source, to)

    def prepare(self):
        self.copy()
        command = ["cmake", "-S", self.source, "-B", self.build, "-DCMAKE_BUILD_TYPE=Release", *NO_LIBRARIES]
        if shutil.which("ninja"):
            command += ["-G", "Ninja"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        self.make()

    def make(self):
        done = subprocess.run(["cmake", "--build", self.build, "--target", "hirc"], capture_output=True, text=True,
                              check=False)
        if done.returncode:
            raise Failure("does not compile:\n%s%s" % (done.stdout[-3000:], done.stderr))

    def patch(self, path, *options):
        return subprocess.run(["patch", "-p1", "-s", "-d", self.source, "-i", path, "--no-backup-if-mismatch", *options],
                              capture_output=True, text=True, check=False)

    def apply(self, patch):
        if self.patch(patch.path, "--dry-run").returncode:
            raise Failure("does not apply: make the patch again of the source as it is now")
        self.patch(patch.path)
        self.applied = patch
        self.make()

    def restore(self):
        if self.applied and self.patch(self.applied.path, "-R").returncode:
            sys.exit("cannot undo %s in %s" % (self.applied.name, self.source))
        self.applied = None


def compiled(hirc, words, *options):
    return call([hirc, "compile", *words, "--dump=hir", *options])


def find_verdict(hirc, words):
    """Returns the verdict on a program, and the first line of the message."""
    code, dump, errors = compiled(hirc, words, "--prove")
    if code == 124:
        raise Failure("`%s` does not end: choose another fault" % " ".join(words))
    line = next((x for x in errors.splitlines() if "error" in x), errors.strip().split("\n")[-1])
    if code:
        known = re.search(r"\[E06(18|19|21)\]", errors)
        if known:
            return "not related" if known[1] == "21" else "differs", line
        return "refused", line or "exit code %d" % code
    code, _, errors = call([hirc, "check", "-", "--passes=", "--strict"], dump)
    if code:
        return "order", next((x for x in errors.splitlines() if "error" in x), errors.strip())
    code, _, errors = compiled(hirc, words, "--verify-each")
    if code:
        return "verify", next((x for x in errors.splitlines() if "error" in x), errors.strip())
    return "accepted", ""


def run_says(hirc, words):
    """Returns what a run of an accepted program shows."""
    _, dump, _ = compiled(hirc, words)
    defines = [words[k:k + 2] for k in range(len(words)) if words[k] == "-D"]
    ranks = [w for w in words if w.startswith("--np=")]
    code, _, errors = call([hirc, "run", "-", "--passes=", "--no-check", "--bootstrap=thread", "--timeout=20", *ranks,
                            "--check=" + words[0], *sum(defines, [])], dump)
    return {0: "the numbers of its run are right", 3: "the numbers of its run are WRONG"}.get(
        code, "its run fails: " + errors.strip()[:300])


def judge(o, tree, patch):
    """Returns the verdict on each program that the patch reaches, as triples: words, verdict, message."""
    found = []
    for words in patch.runs:
        code, right, errors = compiled(o.hirc, words)
        if code:
            raise Failure("`%s` does not compile without the patch: %s" % (" ".join(words), errors.strip()[:300]))
        code, mutant, _ = compiled(tree.hirc, words)
        if not code and mutant == right:
            continue
        verdict, line = find_verdict(tree.hirc, words)
        found.append((words, verdict, run_says(tree.hirc, words) if verdict == "accepted" else line))
    if not found:
        raise Failure("reaches none of its programs: they are compiled as before")
    return found


def is_strongest(found):
    """Returns the verdict that the table counts: the first of VERDICTS, and accepted before all others."""
    verdicts = [verdict for _, verdict, _ in found]
    return "accepted" if "accepted" in verdicts else min(verdicts, key=VERDICTS.index)


def show_table(counts):
    columns = ("mutants",) + VERDICTS
    print("| pass | %s |\n|---|%s" % (" | ".join(columns), "---|" * len(columns)))
    for name in sorted(counts) + [None]:
        row = counts[name] if name else sum(counts.values(), collections.Counter())
        cells = [sum(row.values())] + [row[v] for v in VERDICTS]
        print("| %s | %s |" % (name or "all", " | ".join(map(str, cells))))


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--hirc", required=True, type=pathlib.Path, help="hirc without a fault")
    p.add_argument("--work", type=pathlib.Path, help="keep the copy and its build here, and use it again")
    p.add_argument("--verbose", action="store_true", help="print the message of each verdict")
    p.add_argument("names", nargs="*", help="words of the names of patches; none: all patches")
    o = p.parse_args()
    o.hirc = o.hirc.resolve()
    paths = [x for x in sorted(HERE.glob("*/*.patch"))
             if not o.names or any(n in "%s/%s" % (x.parent.name, x.stem) for n in o.names)]
    if not paths:
        p.error("no patch has such a name")
    if not shutil.which("patch") or not shutil.which("cmake"):
        print("skipped: patch or cmake is not installed")
        return 77
    folder = tempfile.TemporaryDirectory() if not o.work else None
    tree = Tree(pathlib.Path(folder.name) if folder else o.work.resolve())
    tree.prepare()
    counts, failed = collections.defaultdict(collections.Counter), 0
    for path in paths:
        try:
            patch = Patch(path)
            tree.apply(patch)
            found = judge(o, tree, patch)
            verdict = is_strongest(found)
            counts[path.parent.name][verdict] += 1
            bad = verdict == "accepted"
            print("%-12s %s" % (verdict, patch.name))
            for words, each, line in found:
                if o.verbose or each == "accepted":
                    print("    %s: %s%s" % (" ".join(words), each, ": " + line if line else ""))
        except Failure as e:
            bad = True
            print("%-12s %s/%s: %s" % ("FAILED", path.parent.name, path.stem, e))
        finally:
            tree.restore()
        failed += bad
        sys.stdout.flush()
    show_table(counts)
    if failed:
        print("%d of %d patches failed" % (failed, len(paths)))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
