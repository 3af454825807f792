#!/usr/bin/env python3
"""Every operation × dtype × layout × values × 1 to 4 ranks, compared with NumPy.

    run.py --hirc HIRC --all                       every case
    run.py --hirc HIRC --sample 40s --seed 3       cases drawn by a seed, for 40 seconds; or --sample 5000, that many
    run.py --hirc HIRC --only add/0/f32            all cases whose name begins with this
    run.py --hirc HIRC --show add/0/f32/whole      prints the program of the first of them
    run.py --hirc HIRC --same --sample 2000        all ways to run give the same bits
    run.py --hirc HIRC --cuda ...                  on the GPU that the libraries found show, the mock's included
    run.py --list                                  the rows of the table, and where hir(5) differs from NumPy

A case is OPERATION/FORM/DTYPE/LAYOUT/VALUES/RANKS; operations.py is the table; layouts.py and values.py define the
other words. Up to 100 cases form one program; if it fails, its cases are run alone. Exit code: 1 when something was
wrong, or when src/ir/ops.def and the table differ; 77 without NumPy. With ml_dtypes the conversions of bf16 and of
the 8-bit floats, on which all comparisons depend, are compared with it; without it a note says so.
"""
import argparse
import collections
import concurrent.futures
import multiprocessing
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import warnings

try:
    import numpy
    import cases
    import dtypes
    import operations
except ModuleNotFoundError as missing:
    if missing.name not in ("numpy", "cases", "dtypes", "operations"):
        raise
    print("numbers: skipped: this Python has no NumPy" if missing.name == "numpy" else f"numbers: {missing}")
    sys.exit(77)

warnings.simplefilter("ignore", RuntimeWarning)  # NumPy warns about the values that are tested
AT_ONCE, AT_ONCE_CUDA = 100, 25  # cases in a program; for a GPU, kernels must be compiled
SHOWN = 3  # failures shown for an operation
TIMEOUT_S = 240
WAYS = {  # --same: other ways to run a program; each must give the bits of the first
    "thread": ["--bootstrap=thread", "--engine=inline"],
    "lanes": ["--bootstrap=thread", "--engine=lanes"],
    "fork": ["--bootstrap=fork", "--transport=shm"],
    "repeat": ["--bootstrap=thread", "--repeat=3"],
    "fork, lanes": ["--bootstrap=fork", "--engine=lanes", "--repeat=3"],
    "adversary": ["--bootstrap=thread", "--adversary=5"],
    "mpi": ["--transport=mpi"],
    "mixed": ["--transport=mixed"],
}
BY_MPI = ("mpi", "mixed")  # MPI has its own order of ranks, so a reduction over ranks is compared with NumPy instead
CUDA_WAYS = {
    "peers": ["--bootstrap=thread", "--transport=peers"],
    "no graph": ["--bootstrap=thread", "--transport=peers", "--repeat=3", "--no-graph"],
    "graph": ["--bootstrap=thread", "--transport=peers", "--repeat=3"],
    "cuda-ipc": ["--bootstrap=fork", "--transport=cuda-ipc", "--repeat=2"],
}
MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
       "OMPI_MCA_mpi_yield_when_idle": "1"}
options = None  # of the command line; processes of the pool share them
chosen = []


def program(batch):
    """Returns the text of a program of these cases, which have one number of ranks."""
    lines = ["mesh m(x = np)", "mesh root(x) = {0}"] + ["mesh other(x) = {1}"] * (batch[0].ranks > 1)
    lines.append("program numbers on m {")
    for k, case in enumerate(batch):
        lines += ["  " + line for line in case.statements(k)]
    return "\n".join(lines) + "\n}\n"


def command(ranks, way, data):
    """Returns a command. way: options, of which --transport=mpi and mixed need a launcher."""
    launched = any(x in ("--transport=mpi", "--transport=mixed") for x in way)
    before = ["mpirun", "-n", str(ranks), "--bind-to", "none"] if launched else []
    np = [] if launched else [f"--np={ranks}"]
    target = ["--target=cuda"] if options.cuda else []
    return [*before, options.hirc, "run", "p.hir", *np, *target, *way, *data]


class Refused(Exception):
    """A program that did not run, with hirc's message in one line."""


def write_inputs(folder, batch, operands):
    for k, case in enumerate(batch):
        for name, tensor, a in zip(case.inputs(k), case.form.operands, case.files(operands[k])):
            dtypes.write(f"{folder}/{name}.npy", case.dtype_of(tensor), a)
    pathlib.Path(folder, "p.hir").write_text(program(batch), encoding="utf-8")


def execute(folder, batch, way):
    """Returns the results of each case."""
    data = [f"--input={name}={name}.npy" for k, case in enumerate(batch) for name in case.inputs(k)]
    data += [f"--output={name}={name}.npy" for k, case in enumerate(batch) for name in case.outputs(k)]
    try:
        done = subprocess.run(command(batch[0].ranks, way, data), cwd=folder, capture_output=True, text=True, check=False,
                              timeout=TIMEOUT_S, env={**os.environ, **MPI, "OPENBLAS_NUM_THREADS": "1", "NO_COLOR": "1"})
    except subprocess.TimeoutExpired:
        raise Refused(f"did not end within {TIMEOUT_S} s") from None
    if done.returncode:
        lines = [x for x in done.stderr.splitlines() if re.search(r"error|Sanitizer", x)] or done.stderr.splitlines()[-1:]
        raise Refused(f"exit {done.returncode}: {(lines or ['no message'])[0]}")
    out = []
    for k, case in enumerate(batch):
        try:
            out.append([dtypes.read(f"{folder}/{name}.npy", case.result_dtype(r), case.result_shape(r))
                        for r, name in enumerate(case.outputs(k))])
        except (OSError, ValueError) as why:
            raise Refused(f"{case.name}: {why}") from None
    return out


def ways():
    if options.same:
        found = dict(CUDA_WAYS if options.cuda else WAYS)
        for name in ("mpi", "mixed"):
            if name in found and not options.mpi:
                del found[name]
        return found
    return {"": options.way}


def compare(batch):
    """Returns (case, error) for the wrong cases. A program that fails is halved."""
    with tempfile.TemporaryDirectory(dir=options.memory) as folder:
        operands = [case.operands() for case in batch]
        write_inputs(folder, batch, operands)
        try:
            return (compare_ways if options.same else compare_values)(folder, batch, operands)
        except Refused as why:
            if len(batch) == 1:
                return [(batch[0], str(why))]
    half = len(batch) // 2
    return compare(batch[:half]) + compare(batch[half:])


def compare_values(folder, batch, operands):
    wrong = []
    for case, a, results in zip(batch, operands, execute(folder, batch, options.way)):
        try:
            found = case.wrong(a, results)
        except Exception as why:
            raise RuntimeError(f"the table has no value of {case.name}") from why
        if found:
            k, count, at, got, want = found
            name = "Y" if len(results) == 1 else f"result {k + 1}"
            index = ", ".join(map(str, at))
            wrong.append((case, f"{name}[{index}]: got {got}, want {want}; {count} of {results[k].size} elements"))
    return wrong


def compare_ways(folder, batch, operands):
    wrong, first = {}, None
    for name, way in ways().items():
        if "--transport=cuda-ipc" in way and batch[0].ranks == 1:
            continue
        results = execute(folder, batch, way)
        first = first or (name, results)
        for case, a, mine, theirs in zip(batch, operands, results, first[1]):
            if name in BY_MPI and case.reduces() and not case.wrong(a, mine):
                continue
            for k, pair in enumerate(zip(mine, theirs)):
                if case not in wrong and (dtypes.bits_of(pair[0]) != dtypes.bits_of(pair[1])).any():
                    wrong[case] = f"{name} and {first[0]} differ: " + difference(case.result_dtype(k), *pair)
    return list(wrong.items())


def difference(t, a, b):
    differ = dtypes.bits_of(a) != dtypes.bits_of(b)
    at = tuple(int(i) for i in numpy.argwhere(differ)[0])
    bits = [f"{cases.show(t, x[at])} ({int(dtypes.bits_of(x)[at]):#x})" for x in (a, b)]
    return f"{bits[0]} and {bits[1]} at {list(at)}; {int(differ.sum())} of {a.size} elements"


def still_refused(case):
    """Returns what is wrong with a case that, by the table, is not executed yet."""
    found = compare([case])
    if found and "not executed yet" in found[0][1]:
        return []
    return found or [(case, "it runs now: take it from not_yet= of its form")]


def compare_range(batch):
    """Compares the cases in a range of `chosen`, in a process of the pool."""
    batch = [chosen[k] for k in batch]
    runs = [case for case in batch if not case.is_not_yet]
    found = compare(runs) if runs else []
    for case in batch:
        found += still_refused(case) if case.is_not_yet else []
    return len(batch), [(case.name, str(case), case.row.op, why) for case, why in found]


def in_order_of_draw(everything, seed):
    """Returns cases by operation and dtype in turn, shuffled within each."""
    groups = collections.defaultdict(list)
    for case in everything:
        groups[case.row.op, case.t.name].append(case)
    draw = random.Random(seed)
    order = sorted(groups)
    draw.shuffle(order)
    for group in groups.values():
        draw.shuffle(group)
    while groups:
        for key in [k for k in order if k in groups]:
            yield groups[key].pop()
            if not groups[key]:
                del groups[key]


def batches():
    """Yields numbers of cases with one number of ranks."""
    waiting = collections.defaultdict(list)
    for k, case in enumerate(chosen):
        waiting[case.ranks].append(k)
        if len(waiting[case.ranks]) == options.at_once:
            yield waiting.pop(case.ranks)
    yield from waiting.values()


def run_all(report):
    """Returns how many were compared."""
    end = time.monotonic() + options.seconds if options.seconds else None
    compared, running, more = 0, set(), batches()
    with concurrent.futures.ProcessPoolExecutor(options.jobs, multiprocessing.get_context("fork")) as pool:
        while True:
            while len(running) < 2 * options.jobs and not (end and time.monotonic() > end):
                batch = next(more, None)
                if batch is None:
                    break
                running.add(pool.submit(compare_range, batch))
            if not running:
                return compared
            done, running = concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
            for future in done:
                count, found = future.result()
                compared += count
                for case in sorted(found):
                    report.add(*case)


def again(name):
    words = [f"--only '{name}'"] + [f"--seed {options.seed}"] * (options.seed != 1) + ["--cuda"] * options.cuda
    return f"{sys.argv[0]} --hirc {options.hirc} {' '.join(words)}" + " --same" * options.same


class Report:
    """Prints failures at once, some of each kind."""

    def __init__(self):
        self.shown, self.count = collections.Counter(), collections.Counter()

    def add(self, name, text, op, why):
        self.count[op] += 1
        kind = name if options.every else (op, re.sub(r"\[.*|\d.*", "", why))
        self.shown[kind] += 1
        if self.shown[kind] <= SHOWN:
            print(f"wrong: {text}: {why}\n       {again(name)}", flush=True)

    def finish(self):
        for op, count in sorted(self.count.items()):
            print(f"wrong: {count} of {op}")
        return sum(self.count.values())


def select():
    everything = cases.of(options.seed, options.only or options.show)
    absent = {line.split()[0] for line in operations.missing() if line.endswith("is not in ops.def")}
    everything = [case for case in everything if case.row.op not in absent]
    if options.cuda and options.same:
        everything = [case for case in everything if case.ranks > 1]
    if not options.sample:
        return everything
    found = re.fullmatch(r"(\d+)(s?)", options.sample)
    if not found:
        sys.exit("numbers: --sample takes seconds, as 40s, or a number of cases")
    options.seconds = int(found[1]) if found[2] else None
    drawn = list(in_order_of_draw(everything, options.seed))
    return drawn if found[2] else drawn[:int(found[1])]


def list_rows():
    for row in operations.ROWS:
        print(f"{row.op}: {len(row.forms)} form{'s' * (len(row.forms) > 1)}" + f"; {row.note}" * bool(row.note))
    for op, why in operations.EXEMPT.items():
        print(f"{op}: no row: {why}")


def main():
    global options
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--hirc", default="hirc")
    what = p.add_mutually_exclusive_group()
    what.add_argument("--all", action="store_true", help="every case, which is what is taken without another word")
    what.add_argument("--sample", metavar="N", help="so many cases, or seconds: 40s")
    p.add_argument("--only", metavar="NAME", help="cases whose name begins so")
    p.add_argument("--show", metavar="NAME", help="print the program of the first case whose name begins so")
    p.add_argument("--list", action="store_true", help="print the rows")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--cuda", action="store_true", help="by --target=cuda")
    p.add_argument("--same", action="store_true", help="compare the bits of all ways to run, not with NumPy")
    p.add_argument("--every", action="store_true", help="print every failure, not some of each kind")
    p.add_argument("--jobs", type=int, default=os.cpu_count())
    p.add_argument("--at-once", type=int, help="cases of a program")
    options = p.parse_args()
    options.at_once = options.at_once or (AT_ONCE_CUDA if options.cuda else AT_ONCE)
    if options.list:
        return list_rows()
    options.hirc = shutil.which(options.hirc) or options.hirc
    options.hirc = os.path.abspath(options.hirc) if os.path.exists(options.hirc) else options.hirc
    options.way, options.seconds = ["--bootstrap=thread"], None
    operations.on_gpu = options.cuda
    options.memory = "/dev/shm" if os.path.isdir("/dev/shm") and os.access("/dev/shm", os.W_OK) else None
    options.mpi = bool(shutil.which("mpirun")) and not options.cuda
    chosen.extend(select())
    if options.show:
        for case in chosen[:1]:
            print(f"# {case}: {case.name}\n{program([case])}", end="")
        return 0 if chosen else sys.exit(f"numbers: no case is called {options.show}")
    differ = dtypes.cross_check()
    if differ is None:
        print("numbers: note: there is no ml_dtypes, which conversions of bf16 and the 8-bit floats are compared with")
    errors = operations.missing() + [f"ml_dtypes differs: {line}" for line in differ or []]
    for line in errors:
        print(f"wrong: {line}")
    start = time.monotonic()
    report = Report()
    compared = run_all(report)
    wrong = report.finish() + len(errors)
    print(f"numbers: {compared} compared, {wrong} wrong, in {time.monotonic() - start:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
