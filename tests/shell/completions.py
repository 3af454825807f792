#!/usr/bin/env python3
"""completions.py HIRC SHELL: completions of bash are asked for, those of zsh and fish read by their shells.

Each command of `hirc --help` and each option of `hirc COMMAND --help` has to be among what the shell offers, so
that a command cannot be forgotten.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

HIRC, SHELL = os.path.abspath(sys.argv[1]), sys.argv[2]
failures = 0


def hirc(*words):
    return subprocess.run([HIRC, *words], check=True, capture_output=True, text=True).stdout


def expect(what, ok):
    global failures
    if not ok:
        print(f"failed: {what}")
        failures += 1


def commands():
    listed = hirc("--help").split("Commands:\n")[1].split("\n\n")[0]
    return re.findall(r"^  (\S+)", listed, re.MULTILINE)


def options(command):
    """Spellings, and for each the words of its value."""
    out = {}
    for line in hirc(command, "--help").splitlines():
        match = re.match(r"^  (?:(-\w)(?:, )?)?(?:(--[\w-]+)(?:\[?=(.*?)\]?)?(?:  .*)?)?$", line)
        letter = re.match(r"^  (-\w)[ ,]", line)
        if match and match.group(2):
            values = (match.group(3) or "").split("  ")[0]
            out[match.group(2)] = values.split("|") if "|" in values else []
        if letter:
            out[letter.group(1)] = []
    return out


# ---- bash

DRIVE = r"""
source "$1"
shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_POINT=${#COMP_LINE}
_hirc
printf '%s\n' "${COMPREPLY[@]}"
"""


def complete(script, folder, *words):
    run = subprocess.run(["bash", "--norc", "-c", DRIVE, "bash", script, "hirc", *words],
                         cwd=folder, check=True, capture_output=True, text=True)
    if run.stderr:
        expect(f"bash says {run.stderr!r} for {words}", False)
    return [line for line in run.stdout.splitlines() if line]


def bash(script, folder):
    for name in ("a.hir", "b.hir", "c.graph", "d d.hir", "e.npy"):
        open(os.path.join(folder, name), "w").close()
    os.mkdir(os.path.join(folder, "programs"))

    def offers(words, want):
        got = complete(script, folder, *words)
        expect(f"{words}: {got} in place of {want}", sorted(got) == sorted(want))

    names = commands()
    expect("--help lists compile", "compile" in names)
    got = complete(script, folder, "")
    expect(f"commands: {got}", set(names) <= set(got) and "opt" in got)
    for command in names:
        got = complete(script, folder, command, "-")
        for name, values in options(command).items():
            expect(f"{command} {name}", name in got or name + "=" in got)
            if values:
                offers([command, name, "=", ""], values)
    offers(["com"], ["compile", "completions"])
    offers(["opt", "--dump", "=", "h"], ["hir"])
    offers(["opt", "--dump", "="], ["nvfuser", "hir", "ast", "cost"])
    offers(["opt", "--dump=h"], ["--dump=hir"])  # COMP_WORDBREAKS without `=`
    offers(["run", "--transport", "sh"], ["shm"])
    offers(["run", "--no-g"], ["--no-graph"])
    offers(["compile", "--passes", "=", "al"], ["allocate"])
    offers(["compile", "--passes", "=", "allocate,as"], ["allocate,assign-streams"])
    offers(["compile", "--passes=allocate,as"], ["--passes=allocate,assign-streams"])
    offers(["compile", "--stop-after", "=", "pars"], ["parse"])
    offers(["tune", "--search", "=", "chunks,off"], ["chunks,offset-streams"])
    offers(["sim", "--cluster", "=", "h1"], ["h100"])
    offers(["compile", ""], ["a.hir", "b.hir", "d d.hir", "programs"])
    offers(["compile", "--np", "2", "a"], ["a.hir"])
    offers(["compile", "-D", "s", "=", "2", "b"], ["b.hir"])
    offers(["compile", "e"], ["e.npy"])  # no program: any file
    offers(["compile", "--dump", "--", "-"], [])
    offers(["compile", "-o", "e"], ["e.npy"])
    offers(["run", "--input", "=", "X", "=", "e"], ["e.npy"])
    offers(["compile", "--dump-dir", "=", ""], ["programs"])
    offers(["import", "c"], ["c.graph"])
    offers(["bench", "allg"], ["allgather"])
    offers(["bench", "a"], ["allgather", "allreduce", "all_to_all", "all_to_allv", "all", "a.hir"])
    offers(["completions", ""], ["bash", "zsh", "fish"])
    offers(["nothing", "--d"], [])


# ---- the others: all is there, and the shell can read it

def others(script):
    with open(script) as file:
        text = file.read()
    for command in commands():
        part = re.search({"zsh": rf"_hirc_{command}\(\)\n{{(.*?)\n}}",
                          "fish": rf"\n\n(complete -c hirc -n '__hirc_is {command}'.*?)(?:\n\n|$)"}[SHELL],
                         text, re.DOTALL)
        expect(f"{command} has a part", part)
        for name in options(command) if part else ():
            spelling = {"zsh": rf"'\*{name}[=+\[]",
                        "fish": rf" -{'l' if name.startswith('--') else 's'} {name.lstrip('-')} "}[SHELL]
            expect(f"{command} {name}", re.search(spelling, part.group(1)))
    if failures == 0 and not shutil.which(SHELL):
        print(f"skipped: no {SHELL}")
        sys.exit(77)
    if SHELL == "fish":
        fish(script)
    read = subprocess.run([SHELL, "-n", script], capture_output=True, text=True)
    expect(f"{SHELL} reads it: {read.stderr}", read.returncode == 0 and not read.stderr)


def fish(script):
    def offers(line, want):
        run = subprocess.run(["fish", "--no-config", "-c", f"source {script}; complete -C '{line}'"],
                             capture_output=True, text=True)
        got = [offer.split("\t")[0] for offer in run.stdout.splitlines()]
        expect(f"{line}: {got} in place of {want} {run.stderr}", got == want)

    offers("hirc comp", ["compile", "completions"])
    offers("hirc opt --dump=h", ["--dump=hir"])
    offers("hirc run --transport s", ["shm"])
    offers("hirc run --no-g", ["--no-graph"])
    offers("hirc compile --passes=allocate,as", ["--passes=allocate,assign-streams"])
    offers("hirc bench allg", ["allgather"])


with tempfile.TemporaryDirectory() as folder:
    script = os.path.join(folder, "script")
    with open(script, "w") as file:
        file.write(hirc("completions", SHELL))
    if SHELL == "bash":
        os.mkdir(os.path.join(folder, "files"))
        bash(script, os.path.join(folder, "files"))
    else:
        others(script)
sys.exit(failures != 0)
