#!/usr/bin/env python3
"""The Python package.

    package.py HIRC BUILD CMAKE source|wheel|symbols

source: runs api.py, and the example of README.md, with the modules in tools/python and HIRC. wheel: makes a wheel of
what `cmake --install` installs, installs it into its own folder, and runs some of api.py on the program that it
carries, and the command `hirc`. symbols: tests for which glibc the wheel is named. Needs NumPy, and for the wheel
pip, setuptools and wheel, of this Python or the system's; skipped (77) without.
"""
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

HIRC, BUILD, CMAKE, PART = sys.argv[1:]
HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = os.path.join(HERE, os.pardir, os.pardir, "tools", "python")
NEEDS = {"source": ["numpy"], "wheel": ["numpy", "pip", "setuptools", "wheel"], "symbols": ["setuptools", "wheel"]}
ABSENT = [name for name in NEEDS[PART] if importlib.util.find_spec(name) is None]
if ABSENT:
    if sys.executable != "/usr/bin/python3" and os.path.exists("/usr/bin/python3") and not os.environ.get("HIRC_TRIED"):
        os.environ["HIRC_TRIED"] = "1"
        os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.argv])
    print(f"skipped: Python has no {', '.join(ABSENT)}")
    sys.exit(77)


def run(*command, **variables):
    environment = {name: value for name, value in os.environ.items() if name not in ("HIRC", "HIRC_ROOT", "PYTHONPATH")}
    done = subprocess.run(command, env={**environment, "PYTHONDONTWRITEBYTECODE": "1", **variables}, cwd="/", text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode:
        sys.exit(f"failed: {' '.join(command)}\n{done.stdout}")
    return done.stdout


def check(condition, text):
    if not condition:
        sys.exit(f"failed: {sys._getframe(1).f_lineno}: {text}")


def make_wheel(folder):
    """Makes a wheel of the build and returns its path; leaves the source tree as it is."""
    source, installed = os.path.join(folder, "source"), os.path.join(folder, "installed")
    shutil.copytree(PACKAGE, source, ignore=shutil.ignore_patterns("__pycache__", "build", "*.egg-info"))
    run(CMAKE, "--install", BUILD, "--strip", "--prefix", installed)
    run(sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--no-index", "-w", folder, source,
        HIRC_INSTALLED=installed)
    wheels = [name for name in os.listdir(folder) if name.endswith(".whl")]
    check(len(wheels) == 1 and re.fullmatch(r"hirc-[0-9.]+-py3-none-(many)?linux_\w+\.whl", wheels[0]), str(wheels))
    if "libmpi" in run("readelf", "-d", HIRC):
        check("-none-linux_" in wheels[0], f"{wheels[0]}: not every manylinux has libmpi")
    return os.path.join(folder, wheels[0])


SYMBOLS = """
Version definition section '.gnu.version_d' contains 2 entries:
  000000: Rev: 1  Flags: BASE  Index: 1  Cnt: 1  Name: libx.so.1
  0x001c: Rev: 1  Flags: none  Index: 2  Cnt: 1  Name: X_1

Version needs section '.gnu.version_r' contains 2 entries:
 Addr: 0x0000000000003970  Offset: 0x00003970  Link: 7 (.dynstr)
  000000: Version: 1  File: libbeside.so.1  Cnt: 1
  0x0010:   Name: OMP_1.0  Flags: none  Version: 21
  0x0020: Version: 1  File: libc.so.6  Cnt: 2
  0x0030:   Name: GLIBC_2.29  Flags: none  Version: 11
  0x0040:   Name: GLIBC_ABI_DT_RELR  Flags: none  Version: 9
"""


def symbols():
    """Tests the glibc versions that setup.py gives for symbols."""
    spec = importlib.util.spec_from_file_location("hirc_setup", os.path.join(PACKAGE, "setup.py"))
    setup = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(setup)
    known = {"GLIBC_2.2.5": (2, 2), "GLIBC_2.38": (2, 38), "GLIBC_ABI_DT_RELR": (2, 36), "GLIBCXX_3.4": (2, 24),
             "GLIBCXX_3.4.23": (2, 28), "CXXABI_1.3.9": (2, 24), "CXXABI_1.3.13": (2, 34), "CXXABI_FLOAT128": (2, 24),
             "GCC_3.0": (2, 24), "GCC_7.0.0": (2, 28)}
    unknown = ["GLIBC_PRIVATE", "GLIBCXX_3.4.99", "CXXABI_1.3.99", "GCC_99.0.0", "OMP_1.0", "X"]
    for version in [*known, *unknown]:
        check(setup.glibc_of(version) == known.get(version), f"{version}: {setup.glibc_of(version)}")
    setup.read = lambda option, path: SYMBOLS
    found = setup.asked("libx.so.1", {"libbeside.so.1"})
    check(found == {"GLIBC_2.29", "GLIBC_ABI_DT_RELR"}, str(found))


def main():
    if PART == "source":
        print(run(sys.executable, os.path.join(HERE, "api.py"), PYTHONPATH=PACKAGE, HIRC=HIRC))
        with open(os.path.join(PACKAGE, "README.md"), encoding="utf-8") as file:
            example = re.search(r"```python\n(.*?)```", file.read(), re.DOTALL).group(1)
        run(sys.executable, "-c", example, PYTHONPATH=PACKAGE, HIRC=HIRC)
        return
    if PART == "symbols":
        symbols()
        return
    with tempfile.TemporaryDirectory(prefix="hirc wheel ") as folder:
        wheel, target = make_wheel(folder), os.path.join(folder, "target")
        names = zipfile.ZipFile(wheel).namelist()
        check({"hirc/bin/hirc", "hirc/licences/LICENSE", "hirc/py.typed", "hirc/fx.py", "hirc/torch/plan.py"} <= set(names),
              str(names))
        run(sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--target", target, wheel)
        where = run(sys.executable, "-c", "import hirc; print(hirc.binary())", PYTHONPATH=target).strip()
        check(where == os.path.join(target, "hirc", "bin", "hirc"), where)
        some = ["Run.test_product", "Wrong.test_place"]
        print(run(sys.executable, os.path.join(HERE, "api.py"), *some, PYTHONPATH=target))
        version = run(HIRC, "--version")
        for command in ([sys.executable, "-m", "hirc"], [os.path.join(target, "bin", "hirc")]):
            check(run(*command, "--version", PYTHONPATH=target) == version, str(command))


main()
