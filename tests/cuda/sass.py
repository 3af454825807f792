#!/usr/bin/env python3
"""Looks for one fault of ptxas in the machine code of the kernels that hirc writes; needs no GPU.

    sass.py HIRC MOCK                        examples, attention and a sample of vary/programs.py
    sass.py HIRC MOCK --programs 400 --all   every kernel of these
    sass.py --cubin FILE...                  machine code of kernels, whoever made it

ptxas sometimes keeps a number of 32 bits in half of a register, and then reads all of the register:

    VIMNMX R0, R0, UR4, PT               the lesser of two arguments
    PRMT R34, R0, 0x7610, R34            its lower half; the upper half is what R34 held, and nothing wrote R34
    ISETP.GE.AND P0, PT, R3, R34, PT     32 bits are compared

No emulation of the source shows this. So NVRTC compiles kernels with hirc's options for all ARCHITECTURES, and each
byte of a register is followed through the machine code, along all paths. A byte is stale if nothing wrote it. It is
stale as well if a PRMT kept it beside bytes of another register: where ptxas uses a register again, the kept half is of
a value that nobody needs any more. PRMT and moves pass stale bytes on. The fault is an integer operation that reads a
register of which some bytes are stale and some are not.

Right code reads stale bytes, too, in other ways. Elements of 16 bits are merged in registers by the same PRMT, and are
then stored by STG.U16 or shifted to the upper half: these operations do not count. A register of which all bytes are
stale on some path is loaded and used under the same condition: it does not count either.

The mock's NVRTC collects the sources (HIRC_MOCK_SOURCES)."""
import argparse
import concurrent.futures
import ctypes
import glob
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ARCHITECTURES = [80, 90, 100]
OPTIONS = ["--std=c++17", "--fmad=false", "--disable-warnings"]  # as in src/cuda/cuda_compile.c
A_PROGRAM = 64  # kernels that are compiled together: nvdisasm takes 0.3 s to start
SEED = 1


class Unusable(Exception):
    """The reason why the test cannot run here."""


# ---- machine code

LINE = re.compile(r"\s+/\*([0-9a-f]{4,})\*/\s+(?:(@!?U?P\w+)\s+)?([A-Z][\w.]*)\s*([^;]*?)\s*;")
FUNCTION = re.compile(r"\.text\.(\S+):")
LABEL = re.compile(r"(\S+):\s*$")
TARGET = re.compile(r"`\((\S+)\)$")
REGISTER = re.compile(r"\b(U?)R(\d+)\b")
PREDICATE = re.compile(r"!?U?P[\dT]$")
NO_RESULT = re.compile(r"U?[IFDHP]SETP|FCHK|WARPSYNC|RET|CALL|R2P|BMOV|BR|JM|BAR|NANOSLEEP|DEPBAR")
WIDE = re.compile(r"U?(IMAD\.WIDE|D(ADD|MUL|FMA|MNMX)\b|CS2R(?!\.32)|(F2F|I2F|FRND)\.F64|F2I\.(FTZ\.)?[US]64)")
INTEGER = re.compile(r"U?(ISETP|IADD|IMAD(?!\.MOV)|IMNMX|VIADD|VIMNMX|VIADDMNMX|LEA|IABS|I2F)|R2UR")
MOVE = re.compile(r"U?MOV|U?IMAD\.MOV")
ALL = 15  # bytes of a register, one bit each


class Instruction:
    """An instruction: the registers it writes (`to`), its other operands, and its successors."""

    def __init__(self, address, predicate, name, operands):
        self.address, self.name, self.text = address, name, "%s %s" % (name, operands)
        self.operands = [o.strip() for o in re.findall(r"(?:\[[^]]*\]|\([^)]*\)|[^,[(])+", operands)]
        self.to, first = [], 0
        while first < len(self.operands) and PREDICATE.match(self.operands[first]):
            first += 1
        result = first < len(self.operands) and re.fullmatch(r"(U?)R(\d+|Z)", self.operands[first])
        if result and not NO_RESULT.match(name):
            if result[2] != "Z":
                register = number(result)
                self.to = [register + k for k in range(self.width())]
            self.operands = self.operands[first + 1:]
        self.falls = bool(predicate) or not (
            name.split(".")[0] in ("EXIT", "RET") or (name.startswith("BRA") and len(self.operands) == 1))

    def width(self):
        if re.match(r"U?(LD|ATOM)", self.name):
            return 4 if ".128" in self.name else 2 if ".64" in self.name else 1
        return 2 if WIDE.match(self.name) else 1

    def reads(self):
        return [number(m) for o in self.operands for m in REGISTER.finditer(o)]


def number(match):
    """Returns the number of a register; uniform ones come after the others."""
    return int(match[2]) + (256 if match[1] else 0)


def functions(text):
    """Yields name, instructions and places of labels (the index of an instruction) of each function of a disassembly.
    """
    name, code, places = None, [], {}
    for line in text.splitlines():
        found = FUNCTION.match(line)
        if found:
            if name:
                yield name, code, places
            name, code, places = found[1], [], {}
        elif name and LABEL.match(line):
            places[LABEL.match(line)[1]] = len(code)
        elif name and LINE.match(line):
            code.append(Instruction(*LINE.match(line).groups()))
    if name:
        yield name, code, places


def stale_of(state, register):
    return state >> 4 * register & ALL


def permuted(i, state):
    """Returns the stale bytes of the result of a PRMT."""
    found = [REGISTER.search(o) for o in (i.operands[0], i.operands[2])]
    source = [number(m) if m else None for m in found]
    stale = [stale_of(state, r) if r is not None else 0 for r in source]
    if not re.fullmatch(r"0x[0-9a-f]+", i.operands[1]):
        return ALL if any(stale) else 0
    made, selector = 0, int(i.operands[1], 16)
    kept = [source[selector >> 4 * k + 2 & 1] == i.to[0] and (selector >> 4 * k & 3) == k for k in range(4)]
    for k in range(4):
        from_stale = stale[selector >> 4 * k + 2 & 1] >> (selector >> 4 * k & 3) & 1
        if from_stale or (kept[k] and not all(kept)):
            made |= 1 << k
    return made


def step(i, state):
    """Returns the stale bytes after an instruction."""
    made = 0
    if i.to and i.name.startswith(("PRMT", "UPRMT")):
        made = permuted(i, state)
    elif i.to and MOVE.match(i.name):
        for register in i.reads():
            made |= stale_of(state, register)
    for register in i.to:
        state &= ~(ALL << 4 * register)
    return state | (made << 4 * i.to[0] if made else 0)


def is_fault(i, state):
    if not INTEGER.match(i.name) or "0x10000" in i.operands or ".U16" in i.name or ".S16" in i.name:
        return False
    return any(stale_of(state, register) not in (0, ALL) for register in i.reads())


def faults(code, places):
    """Returns the instructions that read a register of which some bytes are stale and some are not."""
    follow, writes = [], {}
    for k, i in enumerate(code):
        if i.name.startswith(("BRX", "JM")):
            raise ValueError("%s is not followed" % i.text)
        follow.append([k + 1] if i.falls and k + 1 < len(code) else [])
        if i.name.startswith(("BRA", "CALL")):
            follow[k].append(places[TARGET.search(i.text)[1]])
    for k, i in enumerate(code):
        if i.name.startswith("CALL"):  # the called function may write before it returns
            seen, reached, writes[k] = set(), follow[k][-1:], 0
            while reached:
                at = reached.pop()
                if at not in seen:
                    seen.add(at)
                    reached += follow[at]
                    for register in code[at].to:
                        writes[k] |= ALL << 4 * register
    before = [None] * len(code)
    before[0], work = (1 << 4 * 512) - 1, [0]
    while work:
        k = work.pop()
        after = step(code[k], before[k])
        for to in follow[k]:
            state = after & ~writes.get(k, 0) if to == k + 1 else after
            if before[to] is None or before[to] | state != before[to]:
                before[to] = state | (before[to] or 0)
                work.append(to)
    return [i for k, i in enumerate(code) if before[k] is not None and is_fault(i, before[k])]


# ---- compilation

def find_disassembler():
    """Finds nvdisasm, which cuobjdump also runs."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    folders = [os.path.join(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "bin")]
    folders += glob.glob(os.path.join(cache, "hirc-test-tools", "nvidia", "*", "bin"))
    path = os.pathsep.join([os.environ.get("PATH", "")] + folders)
    found = shutil.which("nvdisasm", path=path)
    if not found:
        raise Unusable("no nvdisasm: the CUDA toolkit has it, and tools/install-deps installs the wheel "
                       "nvidia-cuda-nvdisasm")
    return found


def open_nvrtc():
    try:
        return ctypes.CDLL(os.environ.get("HIRC_NVRTC") or "libnvrtc.so.13")
    except OSError as e:
        raise Unusable("no NVRTC: %s; the CUDA toolkit 13 has it, and the wheel nvidia-cuda-nvrtc~=13.0" % e) from e


def compile_sources(text, architecture):
    """Compiles sources to a cubin."""
    nvrtc, program, size = open_nvrtc(), ctypes.c_void_p(), ctypes.c_size_t()

    def call(name, *arguments):
        result = getattr(nvrtc, name)(*arguments)
        if result and name != "nvrtcCompileProgram":
            raise RuntimeError("%s returns %d" % (name, result))
        return result

    def read(what):
        call("nvrtcGet%sSize" % what, program, ctypes.byref(size))
        out = ctypes.create_string_buffer(size.value)
        call("nvrtcGet" + what, program, out)
        return out.raw

    options = [b"--gpu-architecture=sm_%d%s" % (architecture, b"a" * (architecture == 90))] + [o.encode() for o in OPTIONS]
    call("nvrtcCreateProgram", ctypes.byref(program), text.encode(), b"kernels.cu", 0, None, None)
    failed = call("nvrtcCompileProgram", program, len(options), (ctypes.c_char_p * len(options))(*options))
    if failed:
        raise RuntimeError("NVRTC: %s" % read("ProgramLog").decode()[:2000])
    cubin = read("CUBIN")
    call("nvrtcDestroyProgram", ctypes.byref(program))
    return cubin


def one_program(kernels):
    """Returns the text of several kernels: their prelude once, the names they define numbered, macros undefined
    again."""
    prelude, text = None, []
    for k, source in enumerate(kernels):
        start, own = source.index("\n") + 1, source.index("/* the kernel */")
        if prelude is None:
            prelude = source[start:own]
            text.append(prelude)
        assert source[start:own] == prelude
        text.append("#undef hirc_kernel\n#define hirc_kernel hirc_kernel_%d\nnamespace k%d {\n" % (k, k))
        text.append(source[own:] + "}\n")
        text += ["#undef %s\n" % name for name in re.findall(r"#define (\w+)", source[own:])]
    return "".join(text)


def look_at_cubin(disassembler, path):
    """Yields pairs of a function and its first faulty instruction, or None."""
    done = subprocess.run([disassembler, "-c", path], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError("%s: %s" % (disassembler, done.stderr[:500]))
    return [(name, next(iter(faults(code, places)), None)) for name, code, places in functions(done.stdout)]


def look_at(job):
    """Yields titles of the kernels of a program, with the first faulty instruction."""
    kernels, architecture, disassembler = job
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(compile_sources(one_program(kernels), architecture))
        file.flush()
        found = look_at_cubin(disassembler, file.name)
    if len(found) != len(kernels):
        raise RuntimeError("%d functions of %d kernels" % (len(found), len(kernels)))
    return [(kernels[int(name.rsplit("_", 1)[1])].split("\n", 1)[0][3:], i and "/*%s*/ %s" % (i.address, i.text))
            for name, i in found]


# ---- sources

def collect(hirc, mock, count, folder):
    """Collects the sources of the kernels that examples and `count` random programs launch, in an order that depends
    on the sources only."""
    sys.path.insert(0, os.path.join(ROOT, "tests", "vary"))
    import programs  # pylint: disable=import-outside-toplevel
    environment = dict(os.environ, LD_LIBRARY_PATH=mock, HIRC_CACHE="off", HIRC_MOCK_SOURCES=folder)

    def run(arguments, text=None, idle=True):
        """Runs a program. First with kernels and products that do nothing: few programs depend on computed values."""
        command = [hirc, "run"] + arguments + ["--bootstrap=thread"]
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False,
                              env=dict(environment, HIRC_MOCK_IDLE=str(int(idle))))
        ranks = re.search(r"the program needs (\d+) ranks", done.stderr)
        if done.returncode and ranks:
            return run([a for a in arguments if not a.startswith("--np")] + ["--np=" + ranks[1]], text)
        if done.returncode and idle:
            return run(arguments, text, False)
        if done.returncode and not programs.REFUSALS.search(done.stderr):
            raise RuntimeError("%s: %s" % (" ".join(command), done.stderr[:500]))
        return None

    jobs = [([path, "--target=cuda", "--np=2"], None) for path in glob.glob(os.path.join(ROOT, "examples", "*.hir"))]
    attention = [os.path.join(ROOT, "tools", "gpu", "attention_backward.hir"), "--target=cuda", "--np=1", "-Db=1", "-Ds=64"]
    jobs += [(attention + ["-Da=2", "-De=" + e], None) for e in ("128", "24")]  # rows for tensor cores, and others
    jobs.append(([os.path.join(ROOT, "tests", "cuda", "mock", "attention_split.hir"), "--target=cuda", "--np=2"], None))
    for k in range(count):
        p = programs.draw(SEED, k, cuda=True)
        jobs.append((["-"] + p.options() + p.flags, p.text))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda job: run(*job), jobs))
    by_text = {}
    for path in sorted(glob.glob(os.path.join(folder, "*.cu"))):
        with open(path, encoding="utf-8") as file:
            source = file.read()
        by_text.setdefault(source.split("\n", 1)[1], source)  # without the title
    return list(by_text.values())


# ---- the test of the test

FAULTY = [
    # made by ptxas from a sum: R34 was never written
    """LDC R0, c[0x0][0x248] ;
       VIMNMX R0, R0, UR4, PT ;
       PRMT R34, R0, 0x7610, R34 ;
       ISETP.GE.AND P0, PT, R3, R34, PT ;
       EXIT ;""",
    # R2 held another value, which is no longer needed
    """S2R R2, SR_TID.X ;
       LDC R3, c[0x0][0x248] ;
       LOP3.LUT R5, RZ, R2, RZ, 0x33, !PT ;
       PRMT R2, R3, 0x7610, R2 ;
       IMAD.MOV.U32 R7, RZ, RZ, R2 ;
       IMAD.IADD R4, R7, 0x1, R5 ;
       EXIT ;""",
    # all of R8 is written on one path, and the called function writes only R0
    """MOV R8, 0x5 ;
       CALL.REL.NOINC `(f_called) ;
       ISETP.GE.AND P0, PT, R0, R8, PT ;
   @P0 BRA `(.L_x_0) ;
       PRMT R8, R0, 0x7610, R8 ;
.L_x_0:
       VIADD R9, R8, 0x1 ;
       EXIT ;
f_called:
       LDC R0, c[0x0][0x248] ;
       RET.REL.NODEC R20 `(f) ;""",
    # in a uniform register
    """ULDC UR5, c[0x0][0x248] ;
       UPRMT UR4, UR5, 0x7610, UR4 ;
       UISETP.GE.AND UP0, UPT, UR6, UR4, UPT ;
       EXIT ;""",
]
RIGHT = [
    # an element of 16 bits is stored, another shifted
    """LDG.E.64 R38, [R10.64] ;
       PRMT R46, R38, 0x7610, R46 ;
       STG.E.U16 [R34.64], R46 ;
       PRMT R8, R39, 0x7610, R8 ;
       IMAD.U32 R6, R8, 0x10000, RZ ;
       EXIT ;""",
    # both halves are written before all of it is read
    """LDC R0, c[0x0][0x248] ;
       PRMT R7, R0, 0x7610, R7 ;
       LDG.E.128 R4, [R10.64] ;
       ISETP.GE.AND P0, PT, R3, R4, PT ;
       ISETP.GE.AND P0, PT, R3, R7, PT ;
       EXIT ;""",
    # both halves come from elsewhere; a load and its use under one condition
    """LDG.E.64 R6, [R10.64] ;
       PRMT R4, R6, 0x5410, R7 ;
   @P0 LDG.E R9, [R10.64] ;
   @P0 IADD3 R9, R9, 0x1, RZ ;
       IADD3 R4, R4, 0x1, RZ ;
       EXIT ;""",
]


def self_check():
    """Returns true if the fault is found in FAULTY and nowhere else."""
    ok = True
    for expected, texts in ((True, FAULTY), (False, RIGHT)):
        for text in texts:
            lines = ".text.f:\n" + re.sub("^(?! *[^ ]*:$)", "        /*0000*/ ", text, flags=re.M)
            found = [i for _, code, places in functions(lines) for i in faults(code, places)]
            if bool(found) != expected:
                print("the checker %s:\n%s" % ("reports right code" if found else "misses the fault", lines))
                ok = False
    return ok


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    p.add_argument("hirc", nargs="?")
    p.add_argument("mock", nargs="?", help="the folder of the mock libraries")
    p.add_argument("--programs", type=int, default=24, help="how many of vary/programs.py")
    p.add_argument("--kernels", type=int, default=64, help="a sample of so many for each architecture")
    p.add_argument("--all", action="store_true", help="all kernels for each architecture")
    p.add_argument("--cubin", nargs="+", default=[], metavar="FILE", help="look at these alone")
    o = p.parse_args()
    if not self_check():
        return 1
    try:
        disassembler = find_disassembler()
        open_nvrtc()
    except Unusable as e:
        print(e)
        return 77
    wrong = 0
    for path in o.cubin:
        for name, i in look_at_cubin(disassembler, path):
            wrong += i is not None
            print("%s: %s: %s" % (path, name, i.text if i else "right"))
    if o.cubin:
        return 1 if wrong else 0
    with tempfile.TemporaryDirectory() as folder:
        kernels = collect(o.hirc, o.mock, o.programs, folder)
    print("%d kernels" % len(kernels))
    jobs = []
    for architecture in ARCHITECTURES:
        few = kernels if o.all else random.Random("%d/%d" % (SEED, architecture)).sample(
            kernels, min(o.kernels, len(kernels)))
        jobs += [(few[k:k + A_PROGRAM], architecture, disassembler) for k in range(0, len(few), A_PROGRAM)]
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        results = list(pool.map(look_at, jobs))
    for architecture in ARCHITECTURES:
        looked = [x for job, found in zip(jobs, results) if job[1] == architecture for x in found]
        faulty = [x for x in looked if x[1]]
        wrong += len(faulty)
        print("sm_%d: %d kernels, %d faulty" % (architecture, len(looked), len(faulty)))
        for title, instruction in faulty[:5]:
            print("    %s: %s reads bytes of a register that nothing wrote" % (title, instruction))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
