"""Reads the tables in src/: operations, dtypes and others that scripts need.

Rows are found by a pattern, without the preprocessor: a row begins with its macro's name at the start of a line.
"""
import pathlib
import re

SOURCE = pathlib.Path(__file__).resolve().parents[1] / "src"


def rows(path, pattern):
    found = re.findall(pattern, (SOURCE / path).read_text(encoding="utf-8"), re.MULTILINE)
    assert found, f"{path}: nothing looks like {pattern}"
    return found


def operations():
    """Returns (name, nvFuser's name, attributes) of each operation."""
    pointwise = [(name, name, "") for name in rows("base/pointwise.def", r'^POINTWISE\([A-Z0-9_]+, (\w+)')]
    collectives = rows("base/collectives.def",
                       r'^COLLECTIVE\(\w+, (?!NONE)\w+, (\w+), (\w+), .*, "([^"]*)", "[^"]*"\)$')
    others = rows("ir/ops.def", r'^OP\(\w+, "(\w+)", "([\w.]+)", \w+, .*?, "([^"]*)", "')
    after = [name for name, _, _ in others].index("collective_permute")
    return pointwise + others[:after] + collectives + others[after:]


def scalar_keys():
    """Returns the keys of scalar operands: root, peer, …"""
    keys = rows("ir/ops.def", r'\bKEYS?\(("[^)]*")\)')
    return sorted({key for text in keys for key in re.findall(r'"(\w+)"', text)})


def dtypes():
    """Returns (name, nvFuser's name) of each dtype."""
    return rows("base/dtypes.def", r'^DTYPE\([A-Z0-9]+, (\w+), "(\w+)"')
