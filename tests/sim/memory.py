#!/usr/bin/env python3
"""The memory that a simulation predicts is the memory that a run reserves: every example, on 1, 2, 4 and 8 ranks,
rank by rank.

memory.py HIRC
"""
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FORMS = [[], ["--pipeline=p2p"], ["--pipeline=broadcast"], ["--zero-copy"], ["--fuse-pointwise"], ["--effort=1"],
         ["--streams=2"]]


def planned(hirc, arguments):
    """Returns the bytes by rank; None: the program does not run."""
    done = subprocess.run([hirc, "run", *arguments, "--stats", "--bootstrap=thread"], capture_output=True, text=True,
                          check=False)
    if done.returncode:
        return None
    lines = [line.split() for line in done.stdout.splitlines()]
    head = next(k for k, line in enumerate(lines) if line[:2] == ["rank", "tasks"])
    place = lines[head].index("planned_memory")
    return [int(line[place]) for line in lines[head + 1:] if len(line) == len(lines[head]) and line[0].isdigit()]


def main():
    hirc, bad, compared = sys.argv[1], 0, 0
    for example in sorted((ROOT / "examples").glob("*.hir")):
        for ranks in 1, 2, 4, 8:
            for form in FORMS if ranks == 2 else FORMS[:1]:
                arguments = [str(example), "--np=%d" % ranks, *form]
                real = planned(hirc, arguments)
                if real is None:
                    continue
                text = subprocess.run([hirc, "sim", *arguments, "--json"], capture_output=True, text=True,
                                      check=True).stdout
                compared += 1
                for c in json.loads(text)["classes"]:
                    most = max(real[r] for first, last in c["ranks"] for r in range(first, last + 1))
                    if c["peak_bytes"] != most or c["live_bytes"] > most:
                        bad += 1
                        print("%s %s: %s has %d, %d live, runs have %d" % (
                            example.name, arguments[1:], c["name"], c["peak_bytes"], c["live_bytes"], most))
    print("%d compared, %d bad" % (compared, bad))
    return 1 if bad or compared < 50 else 0


if __name__ == "__main__":
    sys.exit(main())
