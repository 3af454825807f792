#!/usr/bin/env python3
"""Tests the packages of `cmake --install` and CPack: the files, their modes, and that the program runs where it is
moved to.

    packages.py BUILD CMAKE CPACK install|deb|tgz

No package is installed: `tools/package --test` does that, in its own Debian. Skipped (77) if Debian's tools are not
installed.
"""
import gzip
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile

BUILD, CMAKE, CPACK, PART = sys.argv[1:]
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "HIRC_ROOT"}


def check(condition, text):
    if not condition:
        sys.exit(f"failed: {sys._getframe(1).f_lineno}: {text}")


def run(*command, folder=None, **more):
    done = subprocess.run(command, cwd=folder, env={**ENVIRONMENT, **more}, capture_output=True, text=True, check=False)
    check(done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


def sources(folder, suffix):
    return {name for name in os.listdir(os.path.join(ROOT, folder)) if re.search(suffix, name)}


def tree(top):
    return {os.path.relpath(os.path.join(folder, name), top) for folder, _, names in os.walk(top) for name in names}


def check_files(top, debian):
    """Below top, which has bin and share, all files must be there and no others, readable by all and writable by the
    owner."""
    pages = {f"share/man/man{name[-1]}/{name}{'.gz' if debian else ''}" for name in sources("man", r"\.[1-9]$")}
    documents = {"README.md", "copyright", "changelog.gz"} if debian else {"README.md", "LICENSE"}
    zsh = "vendor-completions" if debian else "site-functions"
    vim = {os.path.join(folder, "hir.vim") for folder in ("ftdetect", "ftplugin", "syntax")}
    want = {"bin/hirc", "share/bash-completion/completions/hirc", f"share/zsh/{zsh}/_hirc",
            "share/fish/vendor_completions.d/hirc.fish"} | pages
    want |= {f"share/doc/hirc/{name}" for name in documents}
    want |= {f"share/hirc/examples/{name}" for name in tree(os.path.join(ROOT, "examples"))}
    want |= {f"share/hirc/editors/{name}" for name in tree(os.path.join(ROOT, "tools/editors")) - {"generate"}}
    want |= {f"share/{folder}/{name}" for folder in ("vim/vimfiles", "nvim/site") for name in vim}
    found = {name for name in tree(top) if not name.startswith("lib/hirc/")}
    check(found == want, f"missing: {sorted(want - found)}, not expected: {sorted(found - want)}")
    for folder, names, files in os.walk(top):
        for name in names + files:
            path = os.path.join(folder, name)
            mode, runs = stat.S_IMODE(os.lstat(path).st_mode), name in names or path == os.path.join(top, "bin/hirc")
            link = os.path.islink(path) or "/lib/hirc/" in path
            check(link or mode == (0o755 if runs else 0o644), f"{path}: mode {mode:o}")


def check_links(top):
    """README's links to files lead to files."""
    folder = os.path.join(top, "share/doc/hirc")
    with open(os.path.join(folder, "README.md"), encoding="utf-8") as file:
        links = re.findall(r"\]\(([^)#]+)|(?:src|href)=\"([^\"#]+)", file.read())
    for link in {a or b for a, b in links}:
        check("://" in link or os.path.exists(os.path.join(folder, link)), f"README.md links to {link}, which is not there")


def check_runs(top, debian):
    """Runs the program of the package from another folder, with the package's examples and completions."""
    program, share = os.path.join(top, "bin/hirc"), os.path.join(top, "share")
    version = run(program, "--version", folder="/")
    with open(os.path.join(ROOT, "CMakeLists.txt"), encoding="utf-8") as file:
        number = re.search(r"project\(hirc VERSION (\S+)", file.read()).group(1)
    check(re.fullmatch(rf"hirc {re.escape(number)}\nfeatures: [a-z0-9 ]*\n", version), version)
    for name in ("row_parallel_linear.hir", "ag_matmul.hir"):
        out = run(program, "run", "--np=4", os.path.join(share, "hirc/examples", name), "--check", folder="/")
        check(out.startswith("ok: 4 ranks"), out)
    with open(os.path.join(share, "bash-completion/completions/hirc"), encoding="utf-8") as file:
        check(file.read() == run(program, "completions", "bash", folder="/"), "completions of bash")
    page = os.path.join(share, "man/man1/hirc.1" + (".gz" if debian else ""))
    with gzip.open(page, "rt", encoding="utf-8") if debian else open(page, encoding="utf-8") as file:
        check(".Dt HIRC 1" in file.read(), page)
    return version


def check_control(package, features):
    """Checks the fields of a Debian package: it depends on all packages with libraries that the program is linked
    with."""
    fields = dict(re.findall(r"(?m)^([A-Z]\S*): (.*(?:\n .*)*)", run("dpkg-deb", "-f", package)))
    check({"Package", "Version", "Architecture", "Maintainer", "Section", "Priority", "Description", "Depends"} <= set(fields),
          f"{sorted(fields)}")
    check(fields["Package"] == "hirc" and fields["Architecture"] == run("dpkg", "--print-architecture").strip(), str(fields))
    needs = {"mpi": "openmpi|mpich", "blas": "blas|atlas", "onednn": "libdnnl", "cjson": "libcjson1",
             "protobuf": "libprotobuf-c1", "zlib": "zlib1g"}
    for library in ["libc6"] + [needs[name] for name in features.split() if name in needs]:
        check(re.search(library, fields["Depends"]), f"{library} is not in Depends: {fields['Depends']}")
    check(("openmpi-bin" in fields.get("Recommends", "")) == ("mpi" in features.split()), str(fields))
    check("\n " in fields["Description"], "no long description")


def main():
    if PART == "deb" and not all(shutil.which(name) for name in ("dpkg-deb", "dpkg-shlibdeps", "file", "gzip")):
        print("skipped: dpkg-deb, dpkg-shlibdeps, file and gzip are needed")
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="hirc packages ") as folder:
        if PART == "install":
            first, top = os.path.join(folder, "built for here"), os.path.join(folder, "but", "moved there")
            os.mkdir(os.path.dirname(top))
            run(CMAKE, "--install", BUILD, "--prefix", first)
            os.rename(first, top)
        else:
            run(CPACK, "-G", PART.upper(), "-B", folder, "-D", "CPACK_DEBIAN_COMPRESSION_TYPE=gzip", folder=BUILD)
            packages = [name for name in os.listdir(folder) if name.endswith((".deb", ".tar.gz"))]
            check(len(packages) == 1, str(packages))
            package, there = os.path.join(folder, packages[0]), os.path.join(folder, "not where it was built")
            os.mkdir(there)
            if PART == "deb":
                run("dpkg-deb", "-x", package, there)
                top = os.path.join(there, "usr")
                check(os.listdir(there) == ["usr"], str(os.listdir(there)))
            else:
                run("tar", "-xf", package, "-C", there)
                check([name + ".tar.gz" for name in os.listdir(there)] == packages, str(os.listdir(there)))
                top = os.path.join(there, packages[0][:-len(".tar.gz")])
        check_files(top, PART == "deb")
        check_links(top)
        version = check_runs(top, PART == "deb")
        if PART == "deb":
            check_control(package, version.split("features:")[1])
    print("ok")


main()
