"""Options and helpers of the scripts that draw random programs."""
import argparse
import subprocess
import sys

TIMEOUT = 120


def options(doc, count, show, *flags):
    """Parses the options; .numbers: numbers of the programs to take. With --show it prints show(seed, number) and
    ends."""
    p = argparse.ArgumentParser(description=doc.split("\n")[0])
    p.add_argument("--hirc", default="hirc")
    p.add_argument("--count", type=int, default=count)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--jobs", type=int, default=2, help="programs at a time, of scripts that take several")
    p.add_argument("--show", type=int, metavar="K", help="print program K")
    p.add_argument("--only", type=int, metavar="K", help="take program K alone")
    for name, what in flags:
        p.add_argument(name, action="store_true", help=what)
    o = p.parse_args()
    if o.show is not None:
        print(show(o.seed, o.show), end="")
        sys.exit(0)
    o.numbers = [o.only] if o.only is not None else range(o.count)
    return o


def take(o, program, wrong):
    """Returns how many programs are wrong. wrong(hirc, program(seed, number)) returns the reason, or None."""
    failed = 0
    for number in o.numbers:
        why = wrong(o.hirc, program(o.seed, number))
        if why:
            failed += 1
            print("program %d (--show %d): %s" % (number, number, why))
    return failed


def call(command, text):
    """Runs a command of hirc that reads the text; the program is verified after each pass. Returns exit code (124: it
    did not end), standard output, standard error."""
    verb = next(k for k, word in enumerate(command) if word in ("check", "compile", "run"))
    command = command[:verb + 1] + ["--verify-each"] + command[verb + 1:]
    try:
        done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    except subprocess.TimeoutExpired:
        return 124, "", "error: did not end within %d s" % TIMEOUT
    return done.returncode, done.stdout, done.stderr
