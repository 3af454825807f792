#!/usr/bin/env python3
"""diagnostics.py HIRC: compares the table of diagnostics (src/base/diagnostics.def) with the code and the examples.

Numbers must be in order, each name must be used in src/, and options named in texts must exist. The example
tests/diag/E0203.hir is a golden test. Its expected output must have that number and no other; after the line `fixed:`,
where its command runs with the fix, it must have no number. `hirc check`, `sim` and `compile` must report the errors
that `hirc run` finds in a plan.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "tests" / "diag"
HIRC = os.path.abspath(sys.argv[1])
SECONDS = 60
# Errors in the plan of a rank, which commands that make a plan report. compile makes it after all passes.
OF_THE_PLAN = {"E0705", "E0706", "E0708", "E0710", "E0716", "E0717", "E0718", "E0720", "E0721", "E0722"}
MOST_WITHOUT = 30  # rows without an example, each for an error that no command can show
failures = []


def fail(number, what):
    failures.append(number)
    print(f"{number}: {what}", flush=True)


def numbers(text):
    return set(re.findall(r"(?:error|warning): .*\[([EW]\d{4})\]$", text, re.MULTILINE))


def check_example(row):
    """Checks the commands of a test and its expected output."""
    number = row["number"]
    head, _, output = (EXAMPLES / f"{number}.hir").read_text(encoding="utf-8").partition("\n# EXPECT:\n")
    commands = re.findall(r"^# RUN: (%S/example .*)$", head, re.MULTILINE)
    broken, line, fixed = output.partition("# fixed:")
    is_change = row["fix"][0] in "-+ "
    if numbers(broken) != {number}:
        fail(number, f"the example reports {sorted(numbers(broken)) or 'nothing'}")
    if number[0] == "E" and not re.search(r"; test \$\? = [1-9]\d*$", commands[0]):
        fail(number, "the example is accepted: exit code 0")
    if re.search(r"\b(error|warning): ", fixed):
        fail(number, f"the fix is not accepted: {fixed}")
    if is_change != bool(line) or is_change != (len(commands) == 2):
        fail(number, "a fix that changes lines is run by a second command, and no other is")
    if is_change:
        change = re.findall(r"^([-+]) (.*)$", row["fix"], re.MULTILINE)
        command = row["command"]
        if ("-", command) in change:
            command = "".join(text for sign, text in change if sign == "+")
        if commands[1] != f"%S/example %s --fixed && {command} >/dev/null":
            fail(number, f"the second command is not that of the fix: {command}")


def check_gate(row):
    """`hirc check`, `sim` and `compile` must report what `hirc run` reports."""
    number, command = row["number"], row["command"]
    for asks in ("check", "sim", "compile"):
        if (asks == "compile" and "--passes=" in command) or (asks == "check" and number == "E0716"):  # a race
            continue
        asked = command.replace("hirc run", f"'{HIRC}' {asks}").replace(" --check", "").replace(" --no-check", "")
        with tempfile.TemporaryDirectory(prefix="diagnostics-") as folder:
            done = subprocess.run(["sh", "-c", f"'{EXAMPLES}/example' '{EXAMPLES}/{number}.hir' && {asked}"], cwd=folder,
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
                                  timeout=SECONDS)
        text = done.stdout + done.stderr
        found = sorted(n for n in numbers(text) if n[0] == "E")
        if found != [number] or done.returncode == 0:
            fail(number, f"hirc {asks} reports {found or 'nothing'}, exit code {done.returncode}: {text[:600]}")


def all_options():
    """Returns the options of all commands."""
    def ask(*words):
        return subprocess.run([HIRC, *words], check=True, capture_output=True, text=True).stdout
    commands = re.findall(r"^  (\w+) ", ask("--help"), re.MULTILINE)
    return {"--version"}.union(*(re.findall(r"^  (?:-\w, )?(--[\w-]+)", ask(c, "--help"), re.MULTILINE) for c in commands
                                 if c != "hirc"))


def check_table(table):
    known = all_options()
    source = "".join(path.read_text() for pattern in ("src/*/*.[ch]", "grammar/*")
                     for path in ROOT.glob(pattern))
    used = set(re.findall(r"\b[EW]_[A-Z_]+\b", source))
    digits = [row["number"][1:] for row in table]
    if digits != sorted(set(digits)):
        fail("table", "numbers are not in order, or one is there twice")
    for row in table:
        if row["number"][0] != row["name"][0]:
            fail(row["number"], f"is called {row['name']}")
        if row["name"] not in used:
            fail(row["number"], f"{row['name']} is used nowhere in src/")
        if not row["text"].endswith(".") or row["title"][-1:] == "." or not row["title"]:
            fail(row["number"], "a text is sentences, a title is none")
        words = " ".join((row["text"], row["fix"], row["reason"] or ""))
        for option in set(re.findall(r"(?<!\S)`?(--[a-z][a-z-]*)", words)) - known:
            fail(row["number"], f"no command has an option {option}")
        for sentence in (row["reason"], row["fix"] if row["fix"][0] not in "-+ " else None):
            if sentence is not None and not sentence.endswith("."):
                fail(row["number"], f"no sentence: {sentence!r}")
    without = [row["number"] for row in table if row["command"] is None]
    if len(without) > MOST_WITHOUT:
        fail("table", f"{len(without)} rows have no example: {' '.join(without)}")


def main():
    listed = subprocess.run([HIRC, "explain", "--list", "--json"], check=True, capture_output=True, text=True).stdout
    table = json.loads(listed)
    check_table(table)
    rows = [row for row in table if row["command"] is not None]
    for row in rows:
        check_example(row)
    of_the_plan = [row for row in rows if row["number"] in OF_THE_PLAN]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(check_gate, of_the_plan))
    print(f"{len(table)} numbers, {len(rows)} examples, {len(table) - len(rows)} without, "
          f"{len(of_the_plan)} of the plan; {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
