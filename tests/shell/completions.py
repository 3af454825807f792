#!/usr/bin/env python3
"""completions.py HIRC SHELL: asks the shell's script for completions.

With bash each command of `hirc --help` and each option of `hirc COMMAND --help` must be among the completions, so
that none is forgotten.
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
    """Returns the spellings of options, and for each the words of its value."""
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
                         cwd=folder, env=ENVIRONMENT, check=True, capture_output=True, text=True)
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
    offers(["compile", ""], ["a.hir", "b.hir", "d\\ d.hir", "programs/"])
    offers(["compile", "--np", "2", "a"], ["a.hir"])
    offers(["compile", "-D", "s", "=", "2", "b"], ["b.hir"])
    offers(["compile", "e"], ["e.npy"])  # not a program: any file
    offers(["compile", "--dump", "--", "-"], [])
    offers(["compile", "-o", "e"], ["e.npy"])
    offers(["run", "--input", "=", "X", "=", "e"], ["e.npy"])
    offers(["compile", "--dump-dir", "=", ""], ["programs/"])
    offers(["compile", "~/file"], ["~/files/"])
    offers(["compile", "d\\ "], ["d\\ d.hir"])
    offers(["help", "comp"], ["compile", "completions"])
    offers(["sim", "--slow", "=", "3", ":", "1"], [])
    offers(["import", "c"], ["c.graph"])
    offers(["bench", "allg"], ["allgather"])
    offers(["bench", "a"], ["allgather", "allreduce", "all_to_all", "all_to_allv", "all", "a.hir"])
    offers(["completions", ""], ["bash", "zsh", "fish"])
    offers(["nothing", "--d"], [])
    os.mkdir(os.path.join(folder, "a b"))
    offers(["compile", "~/files/a\\ "], ["~/files/a\\ b/"])
    offers(["compile", "--nothing", "=", ""], [])


# ---- fish and zsh

def fish(script, folder, words):
    run = subprocess.run(["fish", "--no-config", "-c", f"source {script}; complete -C '{' '.join(['hirc', *words])}'"],
                         cwd=folder, env=ENVIRONMENT, capture_output=True, text=True)
    expect(f"fish says {run.stderr!r} for {words}", not run.stderr)
    return [offer.split("\t")[0] for offer in run.stdout.splitlines()]


ZSH = r"""
compadd() { while [[ $1 == -* ]]; do [[ $1 == -[dS] ]] && shift; shift; done; print -rl -- ${(P)1}; }
script=$1
shift
words=("$@") CURRENT=$# PREFIX=${@[-1]}
source $script
"""


def zsh(script, folder, words):
    run = subprocess.run(["zsh", "-f", "-c", ZSH, "zsh", script, "hirc", *words],
                         cwd=folder, env=ENVIRONMENT, capture_output=True, text=True)
    expect(f"zsh says {run.stderr!r} for {words}", not run.stderr)
    return [line for line in run.stdout.splitlines() if line]


def others(script, folder):
    ask = {"fish": fish, "zsh": zsh}[SHELL]
    open(os.path.join(folder, "a.hir"), "w").close()
    open(os.path.join(folder, "d d.hir"), "w").close()

    def offers(words, want):
        got = ask(script, folder, words)
        expect(f"{words}: {got} in place of {want}", sorted(got) == sorted(want))

    offers(["comp"], ["compile", "completions"])
    offers(["opt", "--dump=h"], ["--dump=hir"])
    offers(["run", "--transport", "s"], ["shm"])
    offers(["run", "--no-g"], ["--no-graph"])
    offers(["compile", "--passes=allocate,as"], ["--passes=allocate,assign-streams"])
    offers(["compile", "--np", "2", "a"], ["a.hir"])
    offers(["compile", "d\\ "], ["d d.hir"])
    offers(["compile", "--dump-di"], ["--dump-dir="])
    offers(["bench", "allg"], ["allgather"])


if SHELL != "bash" and not shutil.which(SHELL):
    print(f"skipped: no {SHELL}")
    sys.exit(77)
with tempfile.TemporaryDirectory() as folder:
    script = os.path.join(folder, "script")
    with open(script, "w") as file:
        file.write(hirc("completions", SHELL))
    os.mkdir(os.path.join(folder, "files"))
    os.mkdir(os.path.join(folder, "bin"))
    os.symlink(HIRC, os.path.join(folder, "bin", "hirc"))
    ENVIRONMENT = {**os.environ, "PATH": os.path.join(folder, "bin") + ":" + os.environ["PATH"], "HOME": folder}
    (bash if SHELL == "bash" else others)(script, os.path.join(folder, "files"))
sys.exit(failures != 0)
