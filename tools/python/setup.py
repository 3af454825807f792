"""The wheel: the modules, and the program with its libraries, which `cmake --install` has put into the folder
$HIRC_INSTALLED.

The program does not depend on Python's version: the wheel is for any Python 3, and for the platform that the program
needs. That is manylinux_X_Y if all libraries are beside the program or belong to a platform of manylinux. X.Y is the
first glibc whose platform has the symbols of glibc, libstdc++ and libgcc that the program and these libraries need.
Otherwise it is linux, which only machines like this one can be expected to run.
"""
import glob
import os
import platform
import re
import shutil
import subprocess

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py
from wheel.bdist_wheel import bdist_wheel

SYSTEM = re.compile(r"(ld-linux.*|lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+))\.so\.\d+$")
# The last versions of symbols of libstdc++ and libgcc on a platform with a glibc, as auditwheel lists them. Later
# versions are on no platform.
PLATFORMS = [((2, 24), {"GLIBCXX": (3, 4, 22), "CXXABI": (1, 3, 10), "GCC": (4, 8, 0)}),
             ((2, 28), {"GLIBCXX": (3, 4, 25), "CXXABI": (1, 3, 11), "GCC": (7, 0, 0)}),
             ((2, 34), {"GLIBCXX": (3, 4, 29), "CXXABI": (1, 3, 13), "GCC": (7, 0, 0)}),
             ((2, 35), {"GLIBCXX": (3, 4, 30), "CXXABI": (1, 3, 13), "GCC": (12, 0, 0)}),
             ((2, 38), {"GLIBCXX": (3, 4, 32), "CXXABI": (1, 3, 14), "GCC": (13, 0, 0)}),
             ((2, 39), {"GLIBCXX": (3, 4, 33), "CXXABI": (1, 3, 15), "GCC": (14, 0, 0)})]
NAMED = {"GLIBC_ABI_DT_RELR": (2, 36), "CXXABI_TM_1": (2, 24), "CXXABI_FLOAT128": (2, 24)}


def installed():
    folder = os.environ.get("HIRC_INSTALLED")
    if not folder or not os.path.exists(os.path.join(folder, "bin", "hirc")):
        raise SystemExit("HIRC_INSTALLED must name a folder that `cmake --install BUILD --prefix FOLDER` made; "
                         "`tools/package wheel` does this")
    return folder


def carried():
    """Yields (path, path in the package) of the program and of the libraries beside it."""
    top = installed()
    libraries = os.path.join(top, "lib", "hirc")
    found = [(os.path.join(top, "bin", "hirc"), "bin/hirc")]
    for name in sorted(os.listdir(libraries)) if os.path.isdir(libraries) else []:
        found.append((os.path.join(libraries, name), f"lib/hirc/{name}"))
    return found


def licences():
    """Returns the paths of hirc's licence and of those of the libraries."""
    documents = os.path.join(installed(), "share", "doc", "hirc")
    return glob.glob(os.path.join(documents, "LICENSE")) + sorted(glob.glob(os.path.join(documents, "licences", "*")))


def name_of(path):
    """Returns the name of a library by which the loader looks for it (DT_SONAME)."""
    match = re.search(r"\(SONAME\).*\[(.*)\]", read("-d", path))
    return match.group(1) if match else os.path.basename(path)


def read(option, path):
    return subprocess.run(["readelf", "-W", option, path], capture_output=True, text=True, check=True).stdout


def asked(path, beside):
    """Returns the versions of symbols that a file needs from libraries that are not beside it."""
    library, found = None, set()
    for section in re.split(r"\n(?=Version )", read("-V", path)):
        if not section.startswith("Version needs"):
            continue
        for kind, name in re.findall(r"\b(File|Name): (\S+)", section):
            if kind == "File":
                library = name
            elif library not in beside:
                found.add(name)
    return found


def glibc_of(version):
    """Returns the first glibc whose platform has a version of symbols, as (2, 34); None: no known platform has it."""
    family, _, number = version.partition("_")
    if version in NAMED or not re.fullmatch(r"\d+(\.\d+)+", number):
        return NAMED.get(version)
    numbers = tuple(map(int, number.split(".")))
    if family == "GLIBC":
        return numbers[:2]
    return next((glibc for glibc, last in PLATFORMS if numbers <= last.get(family, ())), None)


def platform_tag():
    machine = platform.machine()
    files = [path for path, _ in carried()]
    try:
        beside = {name_of(path) for path in files}
        needed = {name for path in files for name in re.findall(r"\(NEEDED\).*\[(.*)\]", read("-d", path))}
        versions = {glibc_of(version) for path in files for version in asked(path, beside)}
    except (OSError, subprocess.CalledProcessError):
        return f"linux_{machine}"
    if not versions or None in versions or any(name not in beside and not SYSTEM.match(name) for name in needed):
        return f"linux_{machine}"
    return "manylinux_{}_{}_{}".format(*max(versions), machine)


class Build(build_py):
    """Copies the files of the package; a library under the one name that the loader looks for, since wheels have no
    links."""

    def run(self):
        super().run()
        done = set()
        for path, place in carried():
            if place.startswith("lib/"):
                place = f"lib/hirc/{name_of(path)}"
            if place in done:
                continue
            done.add(place)
            to = os.path.join(self.build_lib, "hirc", place)
            os.makedirs(os.path.dirname(to), exist_ok=True)
            shutil.copyfile(path, to)
            os.chmod(to, 0o755)
        for path in licences():
            to = os.path.join(self.build_lib, "hirc", "licences", os.path.basename(path))
            os.makedirs(os.path.dirname(to), exist_ok=True)
            shutil.copyfile(path, to)


class Wheel(bdist_wheel):
    def finalize_options(self):
        super().finalize_options()
        self.root_is_pure = False

    def get_tag(self):
        return "py3", "none", platform_tag()


class Carrier(Distribution):
    def has_ext_modules(self):
        return True


if __name__ == "__main__":
    said = subprocess.run([os.path.join(installed(), "bin", "hirc"), "--version"], stdout=subprocess.PIPE, text=True,
                          check=True)
    setup(version=said.stdout.split()[1], distclass=Carrier, cmdclass={"build_py": Build, "bdist_wheel": Wheel})
