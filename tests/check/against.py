#!/usr/bin/env python3
"""Checks that compiled examples compute their sources: against.py HIRC [--every N].

Each example and program of the tutorial, on 1, 2, 4 and 8 ranks, with each kind of pipeline, zero-copy, effort,
transform and kind of buckets, in both surfaces: `hirc compile` and then `hirc check - --against` the source, which
must say that it computes the source. With --every, each Nth of these is tried. 08_race.hir is refused by check, as
it should be.
"""
import itertools
import pathlib
import subprocess
import sys
from multiprocessing.pool import ThreadPool

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
OPTIONS = [[], ["--zero-copy"], ["--effort=3"], ["--transform=all"], ["--effort=3", "--transform=all"],
           ["--inter-stream-sync"], ["--offset-streams", "--pipeline=p2p"],
           *(["--pipeline=" + kind] for kind in ("broadcast", "permute", "collective", "p2p", "p2p-put")),
           *(["--bucket-mode=" + mode] for mode in ("pack", "coalesced", "none"))]
AXES = {1: (1, 1), 2: (1, 2), 4: (2, 2), 8: (2, 4)}  # dp, tp: for programs on a mesh of two axes
COMPUTES = "computes "


def call(words, text=None):
    return subprocess.run(words, input=text, capture_output=True, text=True, check=False, timeout=120)


def judge(hirc, path, ranks, options, surface):
    """Returns an error, "" if the dump computes the source, or None if the program is not for so many ranks."""
    sizes = ["--np=%d" % ranks]
    if "const dp" in path.read_text():
        sizes += ["-D", "dp=%d" % AXES[ranks][0], "-D", "tp=%d" % AXES[ranks][1]]
    dump = call([hirc, "compile", str(path), *sizes, *options, surface])
    done = call([hirc, "check", "-", "--against=" + str(path), *sizes], dump.stdout) if dump.returncode == 0 else dump
    if done.returncode == 0 and COMPUTES in done.stdout:
        return ""
    if "[E0701]" in done.stderr:
        return None
    return "%s, %d ranks, %s: %s" % (path.relative_to(ROOT), ranks, " ".join([*options, surface]),
                                     (done.stdout + done.stderr)[:600])


def main():
    hirc, every = sys.argv[1], int(sys.argv[3]) if len(sys.argv) > 3 else 1
    paths = [p for p in sorted(ROOT.glob("examples/**/*.hir")) if p.name != "08_race.hir"]
    work = list(itertools.product(paths, AXES, OPTIONS, ("--dump=hir", "--dump")))[::every]
    with ThreadPool(2) as pool:
        found = pool.starmap(judge, [(hirc, *w) for w in work])
    errors = [e for e in found if e]
    for e in errors[:10]:
        print(e)
    print("%d programs, %d on meshes of other sizes, %d not proved" % (len(found), found.count(None), len(errors)))
    return 1 if errors or found.count("") < len(found) // 2 else 0


if __name__ == "__main__":
    sys.exit(main())
