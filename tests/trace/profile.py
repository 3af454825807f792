"""profile.py TIME_US: checks that the tables of `hirc run --profile`, on standard input, are consistent.

The time of a communication is the sum of its exposed and its hidden part, to the nanosecond. No rank hides more than
it works. wall = work + exposed + idle. Each execution of a communication takes TIME_US or more. Prints the parts that
do not depend on time."""
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
    if late < 0 or int(worst) >= ranks:  # the rank with the least time may hide less than each one does in all
        sys.exit(f"{name}: worst {most} ns of rank {worst}, late {late} ns")
    print(f"{name}: {count} of {of} ranks, {size} MiB, {'hidden in part' if hidden else 'not hidden'}")
print(f"{ranks} ranks")
