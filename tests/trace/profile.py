"""profile.py TIME_US: whether the tables of `hirc run --profile`, on standard input, are right in themselves.

The time of a communication is what is exposed of it and what is hidden, to the nanosecond; no rank hides more than it
works; wall = work + exposed + idle. Each execution of a communication takes TIME_US or more. Prints what is of the
program: no time."""
import re
import sys


def ns(text):
    return round(float(text) * 1000)


least, work, rows, ranks = ns(sys.argv[1]), 0, [], 0
for line in sys.stdin:
    if match := re.match(r"(.+?) +(\d+) +(\d+) +([\d.]+) +([\d.]+) +([\d.]+) +([\d.]+) +([\d.]+) +([\d.]+) +(\d+)$", line):
        rows.append(match.groups())
    elif match := re.match(r"(\d+) +([\d.]+) = +([\d.]+) \+ +([\d.]+) \+ +([\d.]+)$", line):
        wall, *parts = map(ns, match.groups()[1:])
        if wall != sum(parts):
            sys.exit(f"rank {match[1]}: {wall} ns are not the sum of {parts}")
        work, ranks = max(work, parts[0]), ranks + 1
for name, count, of, size, *times, worst in rows:
    time, exposed, hidden, late, most = map(ns, times)
    if time != exposed + hidden:
        sys.exit(f"{name}: {time} ns are not {exposed} + {hidden}")
    if hidden > work:
        sys.exit(f"{name}: {hidden} ns are hidden by {work} ns of work")
    if time < least * int(count):
        sys.exit(f"{name}: {count} took {time} ns")
    if late < 0 or int(worst) >= ranks:  # the rank that took least may hide less than each one does in all
        sys.exit(f"{name}: worst {most} ns of rank {worst}, late {late} ns")
    print(f"{name}: {count} of {of} ranks, {size} MiB, {'hidden in part' if hidden else 'not hidden'}")
print(f"{ranks} ranks")
