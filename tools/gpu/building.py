"""Builds hirc and the references of gpu-acceptance, on a machine that may have neither Bison nor re2c."""
import hashlib
import os
import pathlib
import re
import shutil
import sys
import sysconfig
import tempfile
from commands import run

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
GENERATED = ("hir_parser.c", "hir_parser.h", "hir_lexer.c")
CUDA = pathlib.Path(os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH") or "/usr/local/cuda")


def fail(text):
    print(f"gpu-acceptance: {text}", file=sys.stderr)
    sys.exit(2)


def hash_lines():
    return "".join(f"{hashlib.sha256((ROOT / 'grammar' / name).read_bytes()).hexdigest()}  {name}\n"
                   for name in ("hir.y", "hir.re"))


def prepare(folder):
    """Writes the files that Bison and re2c make, and the grammar they were made from."""
    with tempfile.TemporaryDirectory() as build:
        for command in (("cmake", "-S", ROOT, "-B", build, "-DHIRC_MPI=OFF", "-DHIRC_GENERATED="),
                        ("cmake", "--build", build, "--target", "generate")):
            code, out = run(*command)
            if code:
                fail(f"{' '.join(map(str, command))} failed:\n{out[-2000:]}")
        folder.mkdir(parents=True, exist_ok=True)
        for name in GENERATED:
            shutil.copyfile(pathlib.Path(build) / "generated" / name, folder / name)
    (folder / "grammar.sha256").write_text(hash_lines(), encoding="utf-8")
    print(f"gpu-acceptance: {folder} holds {', '.join(GENERATED)}")


def package_folders(kind):
    """Returns the folders of packages that PyTorch depends on; kind is include or lib."""
    return sorted(pathlib.Path(sysconfig.get_paths()["purelib"]).glob(f"nvidia/*/{kind}"))


def build(o):
    """Builds hirc and the references, as o.hirc and o.reference."""
    command = ["cmake", "-S", ROOT, "-B", o.build, "-DCMAKE_BUILD_TYPE=Release", "-DHIRC_MPI=OFF"]
    if not (o.build / "CMakeCache.txt").exists() and shutil.which("ninja"):
        command += ["-G", "Ninja"]
    if not o.generated and (ROOT / "build" / "generated" / "grammar.sha256").exists():
        o.generated = ROOT / "build" / "generated"
    if o.generated:
        command.append(f"-DHIRC_GENERATED={o.generated.resolve()}")
    for name in ("cuda", "cublasLt", "nvrtc", "nccl"):
        if (CUDA / "include" / f"{name}.h").exists():
            command.append(f"-DCUDA_{name}_INCLUDE_DIR={CUDA / 'include'}")
            continue
        for folder in package_folders("include"):
            if (folder / f"{name}.h").exists():
                command.append(f"-DCUDA_{name}_INCLUDE_DIR={folder}")
    code, out = run(*command)
    if code != 0:
        fail(f"CMake failed:\n{out[-3000:]}")
    if not re.search(r"features: [^ ]*\bcuda\b", out):
        fail("hirc is built without --target=cuda here: cuda.h, cublasLt.h, nvrtc.h and nccl.h are needed; "
             "CUDA_HOME says where they are")
    code, out = run("cmake", "--build", o.build, "--parallel", os.cpu_count() or 1, "--target", "hirc", "gpu_reference",
                    limit=None)
    if code != 0:
        fail(f"the build failed:\n{out[-3000:]}")
    o.hirc, o.reference = o.build / "hirc", o.build / "tests" / "gpu_reference"


def library_path():
    """Returns an LD_LIBRARY_PATH for libraries that the loader does not find by itself."""
    folders = [x for x in os.environ.get("LD_LIBRARY_PATH", "").split(":") if x]
    for names in (("libcublasLt.so.13", "libcublasLt.so.12"), ("libnvrtc.so.13", "libnvrtc.so.12"), ("libnccl.so.2",)):
        loads = any(run(sys.executable, "-c", f"import ctypes; ctypes.CDLL('{name}')")[0] == 0 for name in names)
        places = [CUDA / "lib64", *package_folders("lib")]
        found = [str(place) for name in names for place in places if (place / name).exists()]
        if not loads and found and found[0] not in folders:
            folders.append(found[0])
    return ":".join(folders)
