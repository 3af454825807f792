"""The wheel: the modules, and of what `cmake --install` put below the folder $HIRC_INSTALLED the program and its
libraries.

The program is not Python's: the wheel is for any Python 3, and for the platform that the program needs. That is
manylinux_X_Y, where X.Y is the first glibc whose platform has the symbols of glibc and libstdc++ that it and the
libraries beside it ask for, if all other libraries are beside it or belong to a platform of manylinux; else linux, which
only this machine and its like can be expected to run.
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
# The last N of GLIBCXX_3.4.N that a platform with this glibc has; what is beyond the last row is of no platform.
LIBSTDCXX = [(24, (2, 24)), (25, (2, 28)), (29, (2, 34)), (30, (2, 35)), (32, (2, 38)), (33, (2, 39))]


def installed():
    folder = os.environ.get("HIRC_INSTALLED")
    if not folder or not os.path.exists(os.path.join(folder, "bin", "hirc")):
        raise SystemExit("HIRC_INSTALLED must name a folder that `cmake --install BUILD --prefix FOLDER` made; "
                         "`tools/package wheel` does this")
    return folder


def carried():
    """(path, path in the package) of the program and of the libraries beside it."""
    top = installed()
    libraries = os.path.join(top, "lib", "hirc")
    found = [(os.path.join(top, "bin", "hirc"), "bin/hirc")]
    for name in sorted(os.listdir(libraries)) if os.path.isdir(libraries) else []:
        found.append((os.path.join(libraries, name), f"lib/hirc/{name}"))
    return found


def licences():
    """Paths of hirc's licence and those of the libraries."""
    documents = os.path.join(installed(), "share", "doc", "hirc")
    return glob.glob(os.path.join(documents, "LICENSE")) + sorted(glob.glob(os.path.join(documents, "licences", "*")))


def name_of(path):
    """A library's name, by which it is looked for (DT_SONAME)."""
    match = re.search(r"\(SONAME\).*\[(.*)\]", read("-d", path))
    return match.group(1) if match else os.path.basename(path)


def read(option, path):
    return subprocess.run(["readelf", "-W", option, path], capture_output=True, text=True, check=True).stdout


def platform_tag():
    machine = platform.machine()
    files = [path for path, _ in carried()]
    try:
        beside = {name_of(path) for path in files}
        needed = {name for path in files for name in re.findall(r"\(NEEDED\).*\[(.*)\]", read("-d", path))}
        asked = "".join(read("-V", path) for path in files)
    except (OSError, subprocess.CalledProcessError):
        return f"linux_{machine}"
    versions = [tuple(map(int, v)) for v in re.findall(r"Name: GLIBC_(\d+)\.(\d+)", asked)]
    if not versions or any(name not in beside and not SYSTEM.match(name) for name in needed):
        return f"linux_{machine}"
    for n in map(int, re.findall(r"Name: GLIBCXX_3\.4\.(\d+)", asked)):
        has = next((glibc for last, glibc in LIBSTDCXX if n <= last), None)
        if has is None:
            return f"linux_{machine}"
        versions.append(has)
    return "manylinux_{}_{}_{}".format(*max(versions), machine)


class Build(build_py):
    """Copies what the package carries; a library by the one name that it is looked for, as wheels have no links."""

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


said = subprocess.run([os.path.join(installed(), "bin", "hirc"), "--version"], stdout=subprocess.PIPE, text=True,
                      check=True)
setup(version=said.stdout.split()[1], distclass=Carrier, cmdclass={"build_py": Build, "bdist_wheel": Wheel})
