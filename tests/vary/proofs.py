#!/usr/bin/env python3
"""`hirc check A --against B`, compared with what programs compute.

    proofs.py --hirc build/release/hirc --count 200     programs 0 … 199 of seed 1
    proofs.py --hirc build/release/hirc --only 17       one of them

Each random program of programs.py and loops.py is compiled with its options. The dump must be accepted against the program.
Then the dump is changed as in mutations.py, three times. If check says that a changed dump computes the program, its
run must give the numbers of the program. A dump that differs should give other numbers; those that do not are counted,
since a change may have no effect on numbers (a relu of what is positive). Programs that hirc does not take are left
out.
"""
import collections
import concurrent.futures
import random
import re
import sys
import tempfile

import drawn
import loops
import mutations
import programs

CHANGES = 3  # of each dump
NOT_RELATED_MOST = 0.05  # of the dumps that were not changed


def verdict(hirc, text, source, options):
    """Returns computes, differs, not related, or refused."""
    code, out, err = drawn.call([hirc, "check", "-", "--passes=", "--against=" + source, *options], text)
    found = re.search(r"^(computes|not related to) ", out, re.M)
    if found:
        return found[1].replace(" to", "")
    return "differs" if code == 1 and "[E0618]" in err else "refused" if code in (1, 2) else "crash %d" % code


def runs_right(hirc, text, source):
    code, _, _ = drawn.call([hirc, "run", "-", "--passes=", "--no-check", "--bootstrap=thread", "--timeout=20",
                             "--check=" + source], text)
    return {0: "right", 3: "wrong"}.get(code, "fails")


def draw(seed, number):
    return loops.Loops(seed, number) if number % 4 == 3 else programs.draw(seed, number)


def judge(hirc, seed, number):
    """Yields pairs: the kind of program and the verdicts, and the text for a message."""
    program = draw(seed, number)
    with tempfile.NamedTemporaryFile("w", suffix=".hir") as source:
        source.write(program.text)
        source.flush()
        code, dump, _ = drawn.call([hirc, "compile", "-", "--dump=hir", *program.options()], program.text)
        if code:
            return
        first = verdict(hirc, dump, source.name, [])
        yield ("compiled", first), dump
        if first != "computes":
            return
        r = random.Random("proofs %d/%d" % (seed, number))
        for _ in range(CHANGES):
            changed = mutations.mutant(r, dump.splitlines())
            if not changed:
                continue
            text = "\n".join(changed[1]) + "\n"
            said = verdict(hirc, text, source.name, [])
            ran = runs_right(hirc, text, source.name) if said in ("computes", "differs") else ""
            yield ("changed", said, ran), "# %s\n%s" % (changed[0], text)


def is_wrong(key):
    return (key[-1] == "wrong" and key[1] == "computes") or "crash" in key[1] or key == ("compiled", "differs") \
        or key == ("changed", "computes", "fails")


def main():
    args = drawn.options(__doc__, 200, lambda seed, number: draw(seed, number).shown())
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        results = [x for found in pool.map(lambda k: list(judge(args.hirc, args.seed, k)), args.numbers)
                   for x in [(k, text) for k, text in found]]
    counts = collections.Counter(key for key, _ in results)
    shown = collections.Counter()
    for key, text in results:
        shown[key] += 1
        if (is_wrong(key) or args.only is not None) and shown[key] <= 5:
            print("%s:\n%s" % (", ".join(key), text))
    for key, n in sorted(counts.items()):
        print("%5d  %s" % (n, ", ".join(x for x in key if x)))
    compiled = sum(n for key, n in counts.items() if key[0] == "compiled")
    lost = sum(n for key, n in counts.items() if key[0] == "compiled" and key[1] != "computes")
    return 1 if any(is_wrong(key) for key in counts) or lost > NOT_RELATED_MOST * compiled + 1 else 0


if __name__ == "__main__":
    sys.exit(main())
