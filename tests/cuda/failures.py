#!/usr/bin/env python3
"""Lets each call of a run to NVIDIA's libraries fail: the first and the last call of each name; with two ranks, the
middle one; with four processes, each one. The run must end with an exit code and a message that names the call and has
the library's own text. Then: libraries that are absent.

    failures.py HIRC MOCK [PART...]     MOCK: the folder of the libraries of tests/mock; PART: a way, or libraries
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

PROGRAM = """\
const np = 2
mesh line(x = np)
program failures on line {
  input X: f32[np@x, 8]
  input Y: f32[np@x, 8]
  input B: bf16[8, 8@x]
  input V: f32[8, 8]
  M: f32[np@x, 8] = matmul(X, V)
  output P: f32[np@x, 8] = relu(M)
  output R: bf16[8] = sum(B, axis=1)
  output G: f32[np, 8] = set(X)
  output Q: f32[np@x, 1, 8] = allocate()
  send(Y, peer=device(x, (axis_index(x) + 1) % np)) as s
  recv(Q, peer=device(x, (axis_index(x) + np - 1) % np)) as r
  wait(s)
  wait(r)
  T: f32[np, 8] = set(X)
  output E: f32[np, 8@x] = neg(T)
}
"""
WAYS = {  # name: options, environment
    "alone": (["--np=1", "--bootstrap=thread"], {}),
    "peers": (["--np=2", "--bootstrap=thread"], {}),
    "nccl": (["--np=2", "--bootstrap=fork", "--transport=nccl"], {"HIRC_MOCK_DEVICES": "2"}),
    "ipc": (["--np=2", "--bootstrap=fork", "--transport=cuda-ipc"], {}),
    "heap": (["--np=2", "--bootstrap=fork", "--zero-copy"], {}),
    "heap, threads": (["--np=2", "--bootstrap=thread", "--zero-copy"], {}),
    "four": (["--np=4", "--bootstrap=fork", "--transport=cuda-ipc"], {}),
    "nccl, threads": (["--np=2", "--bootstrap=thread", "--transport=nccl"], {"HIRC_MOCK_DEVICES": "2"}),
}
PROCESSES = {"nccl": 2, "ipc": 2, "heap": 2, "four": 4}  # each counts its own calls
CALL = re.compile(r"(cublasLt|nvrtc|nccl|cu)[A-Z]\w+")
# The error texts of the mock libraries.
TEXT = {"cu": "CUDA_ERROR_", "cublasLt": "cuBLASLt: ", "nvrtc": "NVRTC: NVRTC_ERROR_", "nccl": ": "}
# Statements that messages name if the last call of that name belongs to one.
STATEMENT = {"cublasLtMatmul": "(in  M <- matmul(X, V)  (", "cuLaunchKernel": "(in  ", "ncclSend": "(in  ", "ncclRecv": "(in  "}
# For a way that shares most of its calls with others: the calls to test.
ONLY = {"heap": re.compile(r"cuMem(GetAlloc|Create|Release|Export|Import|Address|Map|Unmap|SetAccess)|cuCtxSynchronize"),
        "heap, threads": re.compile(r"cuMem(Create|Release|Retain|Map|Unmap|SetAccess)"),
        "ipc": re.compile(r"cuIpc|cuStream(Wait|Write)Value|cuDeviceGet|cuMemsetD8|cuStreamSynchronize|cuMem(Alloc|cpyDtoD)$")}
# Calls that fail for lack of memory, as the message says.
MEMORY = {"cuMemAlloc": " has no memory for the ", "cuMemCreate": " has no memory for the ",
          "cuMemHostAlloc": "no pinned memory for the "}
# If cuBLASLt does not compute a product, a kernel does; a driver of unknown version may work.
HELPED = {"cublasLtMatmulAlgoGetHeuristic", "cuDriverGetVersion"}
# A name that has another name in the library.
NAME = {"cuGraphInstantiateWithFlags": "cuGraphInstantiate"}
LIBRARIES = ["libcuda.so.1", "libcublasLt.so.13", "libnvrtc.so.13", "libnccl.so.2"]
# If these are missing, those of CUDA 12 are used.
OLDER = {"libcublasLt.so.13": "libcublasLt.so.12", "libnvrtc.so.13": "libnvrtc.so.12"}


class Tests:
    def __init__(self, hirc, mock, folder):
        self.hirc, self.mock, self.folder = hirc, mock, folder
        self.program = folder / "failures.hir"
        self.program.write_text(PROGRAM)
        self.wrong, self.runs = 0, 0

    def run(self, way, mock=None, **more):
        """Returns exit code, standard error, and None or the reason why the run is wrong in any case."""
        options, environment = WAYS[way]
        environment = dict(os.environ, **environment, LD_LIBRARY_PATH=str(mock or self.mock), **more)
        if way == "four":  # with the kernels of the first run, which the mock compiles slowly
            environment["XDG_CACHE_HOME"] = str(self.folder)
        else:
            environment["HIRC_CACHE"] = "off"
        self.runs += 1
        command = [self.hirc, "run", self.program, "--target=cuda", "--repeat=3", f"--output=P={self.folder}/P.npy", *options]
        try:
            result = subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                    text=True, timeout=60, check=False)
        except subprocess.TimeoutExpired:
            return None, "", "no end after 60 s"
        why = None
        if result.returncode < 0 or result.returncode >= 70:
            why = f"exit code {result.returncode}"
        elif "Sanitizer" in result.stderr or "runtime error:" in result.stderr:
            why = "a sanitizer's message"
        elif "mock: " in result.stderr:
            why = "a call that no correct caller makes"
        return result.returncode, result.stderr, why

    def say(self, what, why, text):
        self.wrong += 1
        print(f"{what}: {why}\n{text}", flush=True)

    def run_and_count(self, way, **more):
        """As run; also returns how often each call was made, by name."""
        log = self.folder / "log"
        log.unlink(missing_ok=True)
        result = self.run(way, HIRC_MOCK_LOG=str(log), **more)
        count = {}
        for line in log.read_text().splitlines():
            if match := CALL.match(line):
                count[match[0]] = count.get(match[0], 0) + 1
        return (*result, count)

    def calls(self, way):
        code, text, why, count = self.run_and_count(way)
        if why or code:
            self.say(way, why or f"exit code {code}", text)
        return count

    def fails(self, way, call, which):
        name = NAME.get(call, call)
        code, text, why, count = self.run_and_count(way, HIRC_MOCK_FAIL=f"{call}:{which}")
        line = next((l for l in text.splitlines() if l.startswith("hirc: ") and f" {name}: " in l), "")
        processes = PROCESSES.get(way, 1)
        if not why and code == 0 and (call in HELPED or count.get(call, 0) < which * processes):
            return  # the number of calls may differ from run to run
        if not why and code == 1 and MEMORY.get(call, "hirc: none") in text:
            return
        if not why and code != 1:
            why = f"exit code {code}"
        elif not why and (not line or TEXT[CALL.match(call)[1]] not in line):
            why = "no message that names the call and the failure"
        elif not why and which > 1 and STATEMENT.get(call, "") not in line:
            why = "no statement"
        if why:
            self.say(f"{way}, HIRC_MOCK_FAIL={call}:{which}", why, text)

    def absent(self, way, library):
        """The file with the library's name is not a library, or lacks its calls."""
        folder = self.folder / library
        folder.mkdir()
        for other in LIBRARIES:
            (folder / other).symlink_to(self.mock / other)
        (folder / library).unlink()
        (folder / library).write_text("no library")
        self.needs(way, folder, library, "")
        (folder / library).unlink()
        (folder / library).symlink_to(self.mock / ("libnccl.so.2" if library != "libnccl.so.2" else "libnvrtc.so.13"))
        self.needs(way, folder, library, "undefined symbol")

    def needs(self, way, folder, library, why_not, **more):
        code, text, why = self.run(way, mock=folder, **more)
        names = f"{library} or {OLDER[library]}" if library in OLDER else library
        line = next((l for l in text.splitlines() if f"--target=cuda needs {names}, " in l), "")
        if why or code != 5 or not line or why_not not in line:
            self.say(f"{way}, without {library}", why or f"exit code {code}", text)

    def versions(self):
        """Libraries of CUDA 12, and drivers older than the libraries."""
        for version, good, why_not in (12040, 12, None), (13000, 12, None), (12040, 13, "; newer ones need a newer driver than this"):
            folder = self.folder / f"driver {version}, libraries {good}"
            folder.mkdir()
            for library in LIBRARIES:
                older = OLDER.get(library, library)
                for name in {library, older}:
                    if name == (older if good == 12 else library):
                        (folder / name).symlink_to(self.mock / library)
                    else:
                        (folder / name).write_text("no library")
            if why_not:
                self.needs("alone", folder, "libnvrtc.so.12", why_not, HIRC_MOCK_VERSION=str(version))
                continue
            code, text, why = self.run("alone", mock=folder, HIRC_MOCK_VERSION=str(version))
            if why or code:
                self.say(folder.name, why or f"exit code {code}", text)
        self.needs("alone", self.mock, "libcuda.so.1", "it is of CUDA 11.4, and 12.0 is the first that will do",
                   HIRC_MOCK_VERSION="11040")


def main():
    hirc, mock = (pathlib.Path(a).resolve() for a in sys.argv[1:3])
    only = sys.argv[3:]
    with tempfile.TemporaryDirectory() as folder:
        t = Tests(hirc, mock, pathlib.Path(folder))
        for way in WAYS:
            if only and way not in only:
                continue
            for call, count in sorted(t.calls(way).items()):
                if not ONLY.get(way, CALL).match(call):
                    continue
                last = max(1, count // PROCESSES.get(way, 2)) if way != "alone" else count
                for which in range(1, last + 1) if way == "four" else {1, last}:
                    t.fails(way, call, which)
        for library in LIBRARIES if not only or "libraries" in only else []:
            t.absent("nccl" if library == "libnccl.so.2" else "alone", library)
        if not only or "libraries" in only:
            t.versions()
        print(f"{t.runs} runs, {t.wrong} wrong")
        return 1 if t.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
