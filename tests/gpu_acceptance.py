"""gpu_acceptance.py HIRC REFERENCE MOCK: tools/gpu-acceptance on the mock of NVIDIA's libraries.

What is checked passes there; what is measured has a row, whatever its figure; what the machine has not got is said.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

TOOL = pathlib.Path(__file__).resolve().parent.parent / "tools" / "gpu-acceptance"
hirc, reference, mock = sys.argv[1:]


def run(*options, **more):
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "XDG_CACHE_HOME": folder, "PATH": os.environ["PATH"], **more}
        done = subprocess.run([sys.executable, TOOL, "--small", "--hirc", hirc, "--reference", reference, *options],
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

code, out, rows = run("--rows=checks", **with_mock)
expect("all examples pass", code == 0 and "all goals were met" in out, out)
for row in ("measured programs", "examples, 1 rank, nccl", *(f"examples, {n} ranks, peers" for n in (2, 4, 8)),
            "examples, 2 ranks, cuda-ipc"):
    expect(f"{row} passes", row in rows and rows[row][1:2] == ["3 of 3"] and rows[row][6] == "yes", out)
expect("all ways of messages pass", rows["messages, 2 ranks, cuda-ipc"][1:2] == ["4 of 4"], out)

code, out, rows = run("--rows=checks", HIRC_MOCK_FAIL="cuLaunchKernel", **with_mock)
expect("what fails is no pass", code == 1 and rows["examples, 2 ranks, peers"][6] == "no" and
       "cuLaunchKernel" in out, out)

code, out, rows = run("--rows=matmul,chain,issue,linear,profile", **with_mock)
expect("a miss is exit code 1", code == 1, out)
torch = rows["matmul 128×128×128, bf16, torch"]
expect("a row without PyTorch says so", torch[6] == "not run: no no-such-python", out)
for row in ("matmul 128×128×128, bf16", "pointwise chain, 1 MiB"):
    expect(f"{row} has figures", float(rows[row][4]) > 0 and rows[row][6] in ("yes", "no"), out)
for row in ("a statement, issued", "a statement, replayed"):
    expect(f"{row} has a figure", float(rows[row][1].split()[0]) > 0 and "no-such-python" in rows[row][3], out)
for s in (1, 2, 4, 8):
    expect(f"s={s} has a figure and no goal", rows[f"row-parallel linear, t=h=64, s={s}"][5:] == ["", ""], out)
expect("the profile's row has figures", float(rows["exposed in the profile, 4 ranks"][4]) >= 1, out)
print("ok")
