#!/usr/bin/env python3
"""Checks that the man pages are complete.

    tests/manual_pages.py HIRC

Each command of src/cli/commands.def has a page hirc-COMMAND(1), with examples, which hirc(1) names. The page names
each option of `hirc COMMAND --help`, or refers to a page of a command that does. hirc-passes(7) has a section for
each pass of src/pass/passes.def, in its order. Pages of hirc named in other pages exist.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def names(text):
    """Returns the options that a page names, as typed."""
    words = set()
    for line in text.replace("\\-", "-").split("\n"):
        if re.search(r"\bFl\b", line):
            words.update("-" + word for word in line.split())
    return words


def main():
    hirc = sys.argv[1]
    pages = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "man").glob("*.[1-9]")}
    commands = re.findall(r"^COMMAND\((\w+),", (ROOT / "src/cli/commands.def").read_text(encoding="utf-8"), re.MULTILINE)
    wrong = []
    for command in commands:
        name = f"hirc-{command}.1"
        page = pages.get(name)
        if page is None:
            wrong.append(f"man/{name}: is missing")
            continue
        if not re.search(rf"^\.It Xr hirc-{command} 1", pages["hirc.1"], re.MULTILINE):
            wrong.append(f"man/hirc.1: does not name hirc-{command}(1) among the commands")
        if "\n.Sh EXAMPLES\n" not in page:
            wrong.append(f"man/{name}: has no examples")
        known = names(page)
        for other in re.findall(r"\.Xr hirc-(\w+) 1", page):
            known |= names(pages.get(f"hirc-{other}.1", ""))
        help_text = subprocess.run([hirc, command, "--help"], stdout=subprocess.PIPE, text=True, check=True, timeout=60).stdout
        options = re.findall(r"^  (-[-\w]+)(?:, (--[-\w]+))?", help_text, re.MULTILINE)
        for option in (one for pair in options for one in pair if one):
            if option not in known and option.replace("--", "--no-", 1) not in known:
                wrong.append(f"man/{name}: names no option {option}, nor does a page that it refers to")
    passes = re.findall(r'^PASS\(\w+, "([\w-]+)"', (ROOT / "src/pass/passes.def").read_text(encoding="utf-8"), re.MULTILINE)
    sections = re.findall(r"^\.Ss (\S+)$", pages["hirc-passes.7"].replace("\\-", "-"), re.MULTILINE)
    if [section for section in sections if section != "Trials"] != passes:
        wrong.append("man/hirc-passes.7: has no section for each pass, in the order of passes.def")
    for name, page in sorted(pages.items()):
        for other, section in re.findall(r"^\.(?:It )?Xr (hir\S*) (\d)", page, re.MULTILINE):
            if f"{other}.{section}" not in pages:
                wrong.append(f"man/{name}: refers to {other}({section}), which there is not")
    print("\n".join(wrong + [f"{len(commands)} commands, {len(passes)} passes, {len(pages)} pages, {len(wrong)} wrong"]))
    return 1 if wrong or not commands or not passes else 0


sys.exit(main())
