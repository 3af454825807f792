#!/usr/bin/env python3
"""diagnostics.py HIRC [NUMBER...]: the table of diagnostics (src/base/diagnostics.def) against hirc.

Each example is run by its command and has to report its number before any other error, with a sentence for whoever
made the mistake; with its fix, where that is a change of the example, it has to be accepted: exit code 0 without an
error, nor the warning that the row is about. Each name has to be used in src/, numbers have to be in order, and
options that texts name have to be there.
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
HIRC, ONLY = os.path.abspath(sys.argv[1]), sys.argv[2:]
SECONDS = 60
# What an example needs of a build: a feature of `hirc --version`.
NEEDS = {"hirc sim": "cjson", "--witness": "cjson", "hirc tune": "cjson", "--bootstrap=mpi": "mpi"}
# What the plan of a rank refuses, and so do the commands that ask it; compile asks after all passes.
OF_THE_PLAN = {"E0705", "E0706", "E0708", "E0710", "E0716", "E0717", "E0718", "E0720", "E0721", "E0722"}
MOST_WITHOUT = 30  # rows without an example; each is one that nobody runs
failures = []


def fail(number, what):
    failures.append(number)
    print(f"{number}: {what}", flush=True)


def files(example):
    """Name and text of each file of an example."""
    parts = re.split(r"^==> (\S+) <==\n", "==> a.hir <==\n" + example, flags=re.MULTILINE)
    return [(name, text) for name, text in zip(parts[1::2], parts[2::2]) if text]


def run(command, example):
    """Exit code and output of a command, in a folder with the files of the example."""
    with tempfile.TemporaryDirectory(prefix="diagnostics-") as folder:
        for name, text in files(example):
            pathlib.Path(folder, name).write_text(text)
        pathlib.Path(folder, "bin").mkdir()
        pathlib.Path(folder, "bin", "hirc").symlink_to(HIRC)
        environment = {**os.environ, "PATH": f"{folder}/bin:{os.environ['PATH']}"}
        for name in ("HIRC_FLAGS", "HIRC_CACHE"):
            environment.pop(name, None)
        done = subprocess.run(["sh", "-c", command], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, errors="replace", timeout=SECONDS)
        return done.returncode, done.stdout + done.stderr


def numbers(text):
    return re.findall(r"\[([EW]\d{4})\]$", text, re.MULTILINE)


def check(row):
    number, command, example = row["number"], row["command"], row["example"]
    code, text = run(command, example)
    found = [n for n in numbers(text) if n[0] == "E" or n == number]
    if found[:1] != [number]:
        fail(number, f"the example reports {found[:1] or 'nothing'}: {text[:600]}")
    if number[0] == "E" and code == 0:
        fail(number, "the example is accepted: exit code 0")
    if number in OF_THE_PLAN:
        check_gate(number, command, example)
    if row["was"] is None:
        return
    if (command + "\0" + example).count(row["was"]) != 1:
        return fail(number, f"{row['was']!r} does not stand once in the command or the example")
    code, text = run(command.replace(row["was"], row["fix"]), example.replace(row["was"], row["fix"]))
    left = [n for n in numbers(text) if n[0] == "E" or n == number]
    if code or left:
        fail(number, f"the fix is not accepted, exit code {code}: {text[:600]}")


def check_gate(number, command, example):
    """`hirc check`, `sim` and `compile` report what `hirc run` does."""
    for asks in ("check", "sim", "compile"):
        if (asks == "compile" and "--passes=" in command) or (asks == "check" and number == "E0716"):  # a race
            continue
        code, text = run(command.replace("hirc run", f"hirc {asks}").replace(" --check", "").replace(" --no-check", ""), example)
        found = [n for n in numbers(text) if n[0] == "E"]
        if found[:1] != [number] or code == 0:
            fail(number, f"hirc {asks} reports {found[:1] or 'nothing'}, exit code {code}: {text[:600]}")


def all_options():
    """The options of all commands."""
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
        for sentence in (row["reason"], row["fix"] if row["was"] is None else None):
            if sentence is not None and not sentence.endswith("."):
                fail(row["number"], f"no sentence: {sentence!r}")
    without = [row["number"] for row in table if row["reason"] is not None]
    if len(without) > MOST_WITHOUT:
        fail("table", f"{len(without)} rows have no example: {' '.join(without)}")


def main():
    features = subprocess.run([HIRC, "--version"], check=True, capture_output=True, text=True).stdout
    listed = subprocess.run([HIRC, "explain", "--list", "--json"], check=True, capture_output=True, text=True).stdout
    table = json.loads(listed)
    check_table(table)
    rows = [row for row in table if row["reason"] is None and (not ONLY or row["number"] in ONLY)]
    lacking = [row for row in rows if any(word in row["command"] and not re.search(rf"\b{feature}\b", features)
                                          for word, feature in NEEDS.items())]
    rows = [row for row in rows if row not in lacking]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(check, rows))
    print(f"{len(table)} numbers, {len(rows)} examples, {len(lacking)} that this build lacks a library for, "
          f"{len([row for row in table if row['reason'] is not None])} without; {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
