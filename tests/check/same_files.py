#!/usr/bin/env python3
"""A program that every rank gets as a file of its own has the verdict and the predicted times of the program in one
file: the examples and the variations, without symmetric memory, on 2 and 4 ranks.

same_files.py HIRC
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def run(hirc, *words):
    """Returns the exit code, and the first line that begins as `ok:` or `step time` do, or an error."""
    done = subprocess.run([hirc, *words], capture_output=True, text=True, check=False)
    line = re.search(r"^(?:ok:|step time|.*: error:).*", done.stdout + done.stderr, re.MULTILINE)
    return done.returncode, line.group() if line else ""


def main():
    hirc, bad, compared = sys.argv[1], 0, 0
    for path in sorted([*(ROOT / "examples").glob("*.hir"), *(ROOT / "tests/vary/programs").glob("*.hir")]):
        if " symmetric" in path.read_text(encoding="utf-8"):
            continue
        for ranks in 2, 4:
            for command in "check", "sim":
                one = run(hirc, command, str(path), "--np=%d" % ranks)
                files = run(hirc, command, *[str(path)] * ranks)
                if "the files are for" in files[1]:
                    continue  # its meshes have another size
                compared += 1
                if one != files:
                    bad += 1
                    print("%s, %d ranks: %s has %s, as files %s" % (path.name, ranks, command, one, files))
    print("%d compared, %d bad" % (compared, bad))
    return 1 if bad or compared < 50 else 0


if __name__ == "__main__":
    sys.exit(main())
