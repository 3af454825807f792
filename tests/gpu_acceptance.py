"""gpu_acceptance.py HIRC REFERENCE MOCK alone|several: runs tools/gpu-acceptance on the mock of NVIDIA's libraries:
its rows of one rank and of checks, or those of several ranks and of calls that end before all is done.

Checks pass on the mock; measurements have a row, with any figure; what the machine lacks is reported.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

TOOL = pathlib.Path(__file__).resolve().parent.parent / "tools" / "gpu-acceptance"
hirc, reference, mock, part = sys.argv[1:]


def run(*options, folder=None, **more):
    with tempfile.TemporaryDirectory() as own:
        environment = {**os.environ, "XDG_CACHE_HOME": own, **more}
        done = subprocess.run([sys.executable, TOOL, "--small", "--hirc", hirc, "--reference", reference,
                               "--build", folder or own, *options],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment, check=False)
    rows = {words[0]: words for words in
            ([cell.strip() for cell in line.strip("|").split("|")] for line in done.stdout.splitlines()
             if line.startswith("| "))}
    return done.returncode, done.stdout, rows


def expect(what, truth, text):
    if not truth:
        sys.exit(f"{what}:\n{text}")


with_mock = {"LD_LIBRARY_PATH": mock, "HIRC_TORCH_PYTHON": "no-such-python"}

code, out, rows = run(LD_LIBRARY_PATH="")
if code != 77:
    print("there is a GPU here: tools/gpu-acceptance is for it")
    sys.exit(77)
expect("without a GPU it is skipped", "there is no GPU here" in out, out)

def one_rank_and_checks():
    code, out, rows = run("--rows=checks", **with_mock)
    expect("all examples pass", code == 0 and "all goals were met" in out, out)
    expect("programs of several ranks pass", rows["measured programs, 4 ranks"][1:2] == ["16 of 16"], out)
    for row in ("measured programs", "examples, 1 rank, nccl", *(f"examples, {n} ranks, peers" for n in (2, 4, 8)),
                "examples, 2 ranks, cuda-ipc"):
        expect(f"{row} passes", row in rows and rows[row][1:2] == ["3 of 3"] and rows[row][6] == "yes", out)
    expect("all ways of messages pass", rows["messages, 2 ranks, cuda-ipc"][1:2] == ["4 of 4"], out)
    numbers = rows["operations compared with NumPy"]
    expect("operations are compared", numbers[1] == "0 of 40 wrong" or "no Python has NumPy" in numbers[6], out)
    expect("random programs pass", rows["random programs"][1:2] == ["4 of 4, 0 refused"], out)

    code, out, rows = run("--rows=checks", HIRC_MOCK_FAIL="cuLaunchKernel", **with_mock)
    expect("what fails is no pass", code == 1 and rows["examples, 2 ranks, peers"][6] == "no" and
           "cuLaunchKernel" in out, out)

    sys.path.insert(0, str(TOOL.parent / "gpu"))
    from peaks import Peaks  # pylint: disable=import-outside-toplevel
    h100 = Peaks({"clock_khz": 1980000, "multiprocessors": 132, "memory_khz": 2619000, "memory_bits": 5120, "major": 9, "minor": 0})
    expect("1100 Tflop/s are above the peak of an H100", "at most 1071" in h100.above(1000, flops=1100e9), "")
    expect("3 TB/s are not", h100.above(1000, flops=900e9, moved=3e9) is None, "")
    expect("4 TB/s are", "4000 GB/s, but the device moves at most 3352" in h100.above(1000, moved=4e9), "")
    expect("nothing is known of the mock", Peaks({"major": 9, "minor": 0}).above(1, flops=1e30) is None, "")

    code, out, rows = run("--rows=matmul,chain,norms,attention,layer,decode,issue,linear,profile", **with_mock)
    expect("a miss is exit code 1", code == 1, out)
    torch = rows["matmul 128×128×128, bf16, torch"]
    expect("a row without PyTorch says so", torch[6] == "not run: no no-such-python", out)
    for name in ("layernorm", "rmsnorm", "softmax", "residual"):
        expect(f"{name} needs PyTorch", rows[f"{name} of 64×128, bf16"][6] == "not run: no no-such-python", out)
    for row in ("attention, b=2, s=16, 2 heads of 16, bf16", "attention and its gradients, b=2, s=16, 2 heads of 16, bf16",
                "layer, b=2, s=16, 2 heads of 16, bf16", "memory of the layer, b=2, s=16",
                "decoding, 2 layers, b=2, 16 keys, 2 heads of 16, bf16"):
        expect(f"{row} needs PyTorch", rows[row][1] and rows[row][6] == "not run: no no-such-python", out)
    for row in ("matmul 128×128×128, bf16", "pointwise chain, 1 MiB"):
        expect(f"{row} has figures", float(rows[row][4]) > 0 and rows[row][6] in ("yes", "no"), out)
    for row in ("a statement, issued", "a statement, replayed"):
        expect(f"{row} has a figure", float(rows[row][1].split()[0]) > 0 and "no-such-python" in rows[row][3], out)
    for s in (1, 2, 4, 8):
        expect(f"s={s} has a figure and no goal", rows[f"row-parallel linear, t=h=64, s={s}"][5:] == ["", ""], out)
    expect("the profile's row has figures", float(rows["exposed in the profile, 4 ranks"][4]) >= 1, out)


def several_ranks():
    # A sanitizer that finds nothing, and one that finds an error in processes.
    with tempfile.TemporaryDirectory() as folder:
        tool = pathlib.Path(folder) / "compute-sanitizer"
        for finds in (False, True):
            tool.write_text("#!/bin/sh\nwhile [ \"$1\" != 99 ]; do shift; done; shift\n" +
                            ("case $* in *cuda-ipc*) exit 99;; esac\n" if finds else "") + 'exec "$@"\n')
            tool.chmod(0o755)
            code, out, rows = run("--rows=sanitizer", PATH=f"{folder}:{os.environ['PATH']}", **with_mock)
            for kind in ("memcheck", "racecheck"):
                expect(f"{kind} of threads is clean", rows[f"compute-sanitizer {kind}, threads"][1] == "1 of 1", out)
                expect(f"{kind} of processes", rows[f"compute-sanitizer {kind}, processes"][1] == f"{0 if finds else 1} of 1", out)
            expect("what it finds is a goal that was missed", code == (1 if finds else 0), out)

    # In parts: rows that were run are not run again, and the table is complete.
    with tempfile.TemporaryDirectory() as folder:
        code, out, rows = run("--rows=overlap,predict", "--minutes=0.01", folder=folder, **with_mock)
        expect("a part ends with 3", code == 3 and "--continue goes on with overlap" in out, out)
        kept = len((pathlib.Path(folder) / "acceptance" / "journal.jsonl").read_text().splitlines())
        code, out, rows = run("--rows=overlap,predict", "--continue", folder=folder, **with_mock)
        whole = len((pathlib.Path(folder) / "acceptance" / "journal.jsonl").read_text().splitlines())
        expect("the rest is run", code in (0, 1) and whole > kept, out)
        again = run("--rows=overlap,predict", "--continue", "--minutes=0.001", folder=folder, **with_mock)
        expect("nothing is run twice", again[2] == rows and again[0] == code, again[1])
        for case, sizes in (("ag_matmul", "m=64, k=32, n=64"), ("matmul_rs", "m=64, k=32, n=64"),
                            ("row_parallel_linear", "t=64, h=16")):
            for kind in ("serial", "compute", "copies"):
                expect(f"{case}, {kind}, is predicted", float(rows[f"{case} {sizes}, {kind}"][4]) > 0, out)
            expect(f"{case} is compared", re.search(rf"\| {case} {sizes}, pipeline of .* one after the other \| [0-9.]+ \|", out), out)
        expect("predictions have an error", rows["error of predictions, median"][5] == "≤ 10 %", out)

    code, out, rows = run("--rows=transports", HIRC_MOCK_DEVICES="2", **with_mock)
    expect("transports are measured on one GPU, or said to be absent", code == 0 and "nccl is not measured: " in out, out)
    expect("both are beside each other", rows["allreduce of 16 KiB, 4 ranks, peers"][3] == "cuda-ipc", out)


{"alone": one_rank_and_checks, "several": several_ranks}[part]()
print("ok")
