#!/usr/bin/env python3
"""Makes variations of the example programs and checks that hirc takes them all.

    vary.py --hirc build/dev/hirc --count 60            each compiles, and its dump is a fixed point
    vary.py --hirc build/dev/hirc --count 40 --check    and its results equal the reference
    vary.py --hirc build/dev/hirc --show 17             prints variation 17

A variation is an example after a few edits that keep its sense: other names, extents, dtypes, chunk counts, meshes,
layouts and statement orders, operations before and after it, and a second copy of it beside it. Variation k of a seed
is always the same. A variation that fails is reduced to the edits that make it fail, and kept in a folder with the
command and the output.
"""
import argparse
import concurrent.futures
import copy
import itertools
import pathlib
import random
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TOKEN = re.compile(r"`[^`]*`|[A-Za-z_]\w*|\d+(?:\.\d+)?|\"[^\"]*\"|<-|\.\.|\s+|.", re.S)
NAME = re.compile(r"`[^`]*`|[A-Za-z_]\w*")
TYPED = re.compile(r"(`[^`]*`|[A-Za-z_]\w*)(\s*:\s*)([a-z]\w*)\[([^\]]*)\]")
KEYWORDS = set("param const mesh group program on input output inout let for in parallel if else schedule extern as "
               "and or not rank streams np".split())
FLOATS = ("f64", "f32", "bf16", "f16")
MOST_RANKS = 6
SKIP_CODE = 77


# ---- programs


class Statement:
    """One statement, or a block with its contents, or a definition with its schedule."""

    def __init__(self, text):
        self.text = text

    def targets(self):
        """Returns the names defined, and the sign after them."""
        head = re.match(r"(?:input|inout|output)\b", self.text)
        text = self.text[head.end():] if head else self.text
        depth = 0
        for at, token in tokens(text):
            depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(token, 0)
            if depth == 0 and token in ("=", "<-"):
                return [m.group(1) for m in re.finditer(r"(?:^|,)\s*(`[^`]*`|[A-Za-z_]\w*)", flat(text[:at]))], token
        return (NAME.findall(flat(text))[:1], ":") if head and head.group() != "output" else ([], "")

    def kind(self):
        word = NAME.match(self.text)
        return word.group() if word and word.group() in ("input", "inout", "output", "for", "if", "let") else ""

    def defines(self):
        names, sign = self.targets()
        return names if sign in ("=", ":") else []

    def has_effect(self):
        names, sign = self.targets()
        acts = sign == "<-" or not sign and self.kind() != "output"
        return acts or bool(re.search(r"\ballocate\(|\bselect\(|\bas\s", self.text))


def tokens(text):
    at = 0
    for match in TOKEN.finditer(text):
        yield match.start(), match.group()
        at = match.end()
    assert at == len(text)


def flat(text):
    """Returns the text without the parts in brackets."""
    out, depth = "", 0
    for _, token in tokens(text):
        depth -= token in ")]}"
        out += token if depth == 0 and token not in ")]}" else ""
        depth += token in "([{"
    return out


class Program:
    def __init__(self, path):
        text = re.sub(r"#[^\n]*", "", path.read_text())
        head, rest = re.split(r"^program\b", text, maxsplit=1, flags=re.M)
        self.declarations = [line.strip() for line in head.splitlines() if line.strip()]
        self.header, body = rest.split("{", 1)
        self.header = self.header.strip()
        self.body = []
        lines, depth = [], 0
        for line in body.rsplit("}", 1)[0].splitlines():
            if not line.strip():
                continue
            lines.append(line.strip())
            depth += sum({"{": 1, "(": 1, "[": 1, "}": -1, ")": -1, "]": -1}.get(t, 0) for _, t in tokens(line))
            if depth == 0:
                statement = "\n".join(lines)
                if statement.startswith("schedule") and self.body:
                    self.body[-1].text += "\n" + statement
                else:
                    self.body.append(Statement(statement))
                lines = []
        self.np = 0  # --np; 0: as stated in the file
        self.run = []  # further options of `hirc run`

    def text(self):
        body = "".join(f"  {line}\n" for s in self.body for line in s.text.split("\n"))
        return "".join(f"{d}\n" for d in self.declarations) + f"program {self.header} {{\n{body}}}\n"

    def declared(self, word):
        """Returns (name, text after it) of the declarations of one kind."""
        return [m.groups() for d in self.declarations if (m := re.fullmatch(word + r"\s+(`[^`]*`|\w+)\s*(.*)", d))]

    def meshes(self):
        """Returns name: ([axis names], [sizes], number of ranks it needs) of each mesh."""
        out = {}
        for name, rest in self.declared("mesh"):
            match = re.fullmatch(r"\(([^)]*)\)\s*(?:=\s*(.*))?", rest)
            axes = [a.split("=") for a in match.group(1).split(",")]
            names = [a[0].strip() for a in axes]
            if match.group(2):
                rows = [r.split() for r in re.findall(r"[\d ]+", match.group(2)) if r.split()]
                sizes = [len(rows[0])] if len(names) == 1 else [len(rows), len(rows[0])]
                devices = [int(d) for row in rows for d in row]
            else:
                sizes = [self.value(a[1]) for a in axes]
                devices = range(product(sizes))
            out[name] = (names, sizes, max(devices) + 1)
        return out

    def values(self):
        known = {"np": self.np or 1}
        for word in ("const", "param"):
            for name, rest in self.declared(word):
                if name != "np" or not self.np:
                    known[name] = evaluate(rest.lstrip("= "), known)
        return known

    def value(self, expression):
        return evaluate(expression, self.values())

    def ranks(self):
        return max([ranks for _, _, ranks in self.meshes().values()] + [1])

    def tensors(self):
        lines = [Statement(line.strip()) for s in self.body for line in s.text.split("\n")]
        return list(dict.fromkeys(name for s in lines if s.kind() not in ("for", "if", "let") for name in s.defines()))

    def set_declaration(self, word, name, rest):
        pattern = word + r"\s+" + re.escape(name) + r"(?!\w)"
        at = next(i for i, d in enumerate(self.declarations) if re.match(pattern, d))
        self.declarations[at] = f"{word} {name}{rest}"

    def replace(self, pattern, with_):
        self.declarations = [re.sub(pattern, with_, d) for d in self.declarations]
        for s in self.body:
            s.text = re.sub(pattern, with_, s.text)

    def rename(self, names):
        """Replaces names, except attribute keys and operations."""
        def renamed(text, is_declaration):
            flags = [m.span() for m in re.finditer(r"\bcontiguity\s*\([^)]*\)", text)]
            starts = [at for at, _ in tokens(text)]
            parts, depth = [t for _, t in tokens(text)], 0
            solid = [i for i, t in enumerate(parts) if not t.isspace()]
            after = {i: parts[solid[k + 1]] if k + 1 < len(solid) else "" for k, i in enumerate(solid)}
            before = {i: parts[solid[k - 1]] if k else "" for k, i in enumerate(solid)}
            for i, token in enumerate(parts):
                depth += (token in "(") - (token in ")")
                if token in names and not any(low <= starts[i] < high for low, high in flags):
                    is_key = depth and after[i] == "=" and not is_declaration
                    is_call = after[i] == "(" and not is_declaration
                    if not is_key and not is_call and before[i] != "@" or before[i] == "@" and not is_call:
                        parts[i] = names[token]
            return "".join(parts)
        self.declarations = [renamed(d, True) for d in self.declarations]
        self.header = renamed(self.header, False)
        for s in self.body:
            s.text = renamed(s.text, False)


def product(numbers):
    out = 1
    for n in numbers:
        out *= n
    return out


def evaluate(expression, known):
    """Returns the value of an extent; `/` of integers must divide."""
    def ceil_div(a, b):
        return -(-a // b)
    text = "".join(str(known.get(t, t)) for _, t in tokens(expression)).replace("/", "//")
    functions = {"ceilDiv": ceil_div, "floorDiv": lambda a, b: a // b, "min": min, "max": max}
    return eval(text, {"__builtins__": {}}, functions)


def axes_of(text):
    """Returns the axes of a type: [extent, [placements]]."""
    out, depth, axis = [], 0, ""
    for _, token in tokens(text + ","):
        depth += (token == "(") - (token == ")")
        if token == "," and depth == 0:
            extent, *places = axis.split("@")
            out.append([extent.strip(), [p.strip() for p in places]])
            axis = ""
        else:
            axis += token
    return out if text.strip() else []


def axes_text(axes):
    return ", ".join("@".join([extent, *places]) for extent, places in axes)


def type_of(program, name):
    """Returns (dtype, axes) of the type stated for a tensor; None if none is stated."""
    for s in program.body:
        if name in s.defines():
            for match in TYPED.finditer(s.text):
                if match.group(1) == name:
                    return match.group(3), axes_of(match.group(4))
    return None


# ---- edits: each takes the program and a source of random numbers; one that does not apply does nothing


def edit_names(p, r):
    """New names for everything; some look like operations, like numbers of the other surface, or like nothing at all.
    """
    odd = ["T3", "T0", "i0", "i2", "c1", "sum", "relu", "`odd name`", "`for`", "main", "x", "X", "Y",
           "_", "block", "stream", "mesh0"]
    fresh = odd + [f"{a}{b}" for a in ("alpha", "Beta", "g_") for b in range(99)]
    old = p.tensors() + [n for w in ("param", "const", "mesh", "group") for n, _ in p.declared(w)]
    old += [a for axes, _, _ in p.meshes().values() for a in axes]
    text = p.text()
    for pattern in (r"\bfor\s+(\w+)\s+in\b", r"\blet\s+(\w+)\s*=", r"\bas\s+(\w+)"):
        old += re.findall(pattern, text)
    r.shuffle(fresh)
    used = set(NAME.findall(text))
    fresh = [n for n in [f"more{k}" for k in range(len(old))] + fresh if n not in used]
    p.rename({n: fresh.pop() for n in dict.fromkeys(old) if n not in KEYWORDS})
    p.header = re.sub(r"^\w+", r.choice(["v", "main", "`a program`", "T1"]), p.header)


def edit_extents(p, r):
    """Extents that need not divide by anything and may be smaller than the mesh."""
    small = list(range(1, 14)) + [16, 17, 24, 30]
    for _ in range(200):
        for name, _ in p.declared("param"):
            p.set_declaration("param", name, f" = {r.choice(small)}")
        if extents_fit(p):
            return
    fits = 2 * product(set(s for _, sizes, _ in p.meshes().values() for s in sizes))
    for name, _ in p.declared("param"):
        p.set_declaration("param", name, f" = {fits}")


def extents_fit(p):
    """Returns true if extents divide where they must: at a swizzle, in `/`, and where a view regroups them."""
    known = p.values()
    sizes = {a: s for axes, all_sizes, _ in p.meshes().values() for a, s in zip(axes, all_sizes)}
    for s in p.body:
        for match in TYPED.finditer(s.text):
            for extent, places in axes_of(match.group(4)):
                try:
                    n = evaluate(extent, known)
                except (SyntaxError, NameError):
                    continue
                for place in places:
                    swizzle = re.fullmatch(r"swizzle1d\((.*)\)", place)
                    if swizzle and n % sizes[swizzle.group(1)]:
                        return False
    return True


def edit_dtype(p, r):
    dtype = r.choice(FLOATS)

    def other(match):
        name, colon, old, axes = match.groups()
        return f"{name}{colon}{dtype if old in FLOATS else old}[{axes}]"
    for s in p.body:
        s.text = TYPED.sub(other, s.text)


def edit_chunks(p, r):
    """Other chunk counts, and loops that are not stream-parallel."""
    if any(s.kind() in ("for", "if") for s in p.body):
        return
    used = set(re.findall(r"@(?:stream|serial)\(([^()]*)\)", p.text()))
    for count in sorted(used):
        new = str(r.choice([1, 2, 3, 4, 5, 7]))
        if any(name == count and name != "np" for name, _ in p.declared("const")):
            p.set_declaration("const", count, f" = {new}")
        else:
            p.replace(r"@(stream|serial)\(" + re.escape(count) + r"\)", rf"@\1({new})")
    if r.random() < 0.3:
        p.replace(r"@stream\(", "@serial(")


def edit_ranks(p, r):
    """Another number of ranks, other mesh shapes."""
    if any(name == "np" for name, _ in p.declared("const")):
        p.np = r.choice([1, 2, 3, 4, 5])
    for name, (axes, sizes, _) in p.meshes().items():
        rest = dict(p.declared("mesh"))[name]
        if "np" in rest or "{" in rest:
            continue
        for _ in range(50):
            new = [r.choice([1, 2, 3, 4]) for _ in sizes]
            if product(new) <= MOST_RANKS:
                p.set_declaration("mesh", name, "(" + ", ".join(f"{a} = {n}" for a, n in zip(axes, new)) + ")")
                break
    if not extents_fit(p):
        edit_extents(p, r)


def edit_devices(p, r):
    """Devices in any order, with gaps."""
    for name, (axes, sizes, _) in p.meshes().items():
        devices = r.sample(range(product(sizes) + 2), product(sizes))
        rows = [" ".join(map(str, devices[i:i + sizes[-1]])) for i in range(0, len(devices), sizes[-1])]
        if len(axes) > 2:
            continue
        listed = "{" + rows[0] + "}" if len(axes) == 1 else "{" + " ".join("{" + row + "}" for row in rows) + "}"
        p.set_declaration("mesh", name, "(" + ", ".join(axes) + f") = {listed}")
    if p.np or any(n == "np" for n, _ in p.declared("const")):
        size = p.values()["np"]
        p.declarations = [d for d in p.declarations if not re.match(r"const\s+np\b", d)]
        p.declarations.insert(0, f"const ring_size = {size}")
        p.replace(r"\bnp\b", "ring_size")
        p.np = 0


def edit_order(p, r):
    """Statements in another order that their uses allow."""
    left, done, out = list(p.body), set(), []
    tensors = {name for s in p.body for name in s.defines()}
    while left:
        ready = []
        for i, s in enumerate(left):
            uses = (set(NAME.findall(s.text)) & tensors) - set(s.defines())
            first_effect = not any(t.has_effect() or t.kind() in ("for", "if", "let") for t in left[:i])
            if uses <= done and (first_effect or not (s.has_effect() or s.kind() in ("for", "if", "let"))):
                ready.append(i)
        s = left.pop(r.choice(ready))
        done |= set(s.defines())
        out.append(s)
    p.body = out


def pointwise(r, operand):
    forms = ["relu({})", "gelu({})", "-{}", "{} * 0.5", "{} + 1.0", "abs({})", "{} - {}", "maximum({}, 0.25)"]
    return r.choice(forms).format(operand, operand)


def edit_before(p, r):
    """An operation between an input and its uses."""
    inputs = [s for s in p.body if s.kind() == "input" and any(d in s.text for d in FLOATS)]
    if not inputs or any(s.kind() in ("for", "if") for s in p.body):
        return
    s = r.choice(inputs)
    name = s.targets()[0][0]
    dtype, axes = type_of(p, name)
    new = f"before_{len(p.body)}"
    rest = p.body[p.body.index(s) + 1:]
    for t in rest:
        t.text = re.sub(r"(?<![\w`])" + re.escape(name) + r"(?![\w`]|\s*=)", new, t.text)
    stated = f": {dtype}[{axes_text(axes)}]" if r.random() < 0.5 else ""
    p.body.insert(p.body.index(s) + 1, Statement(f"{new}{stated} = {pointwise(r, name)}"))


def edit_after(p, r):
    """An operation on an output."""
    outputs = [s for s in p.body if s.kind() == "output" and s.targets()[1] == "=" and len(s.targets()[0]) == 1]
    if not outputs:
        return
    s = r.choice(outputs)
    name = s.targets()[0][0]
    typed = type_of(p, name)
    if typed and typed[0] not in FLOATS:
        return
    new = f"after_{len(p.body)}"
    s.text = s.text[len("output"):].strip()
    stated = f": {typed[0]}[{axes_text(typed[1])}]" if typed and r.random() < 0.5 else ""
    p.body.append(Statement(f"output {new}{stated} = {pointwise(r, name)}"))


def edit_double(p, r):
    """A second copy of the whole program, separate, fed by the first, or added to it."""
    if len(p.body) > 24:
        return
    names = {n: f"{n}_b" if not n.startswith("`") else f"`{n[1:-1]} b`" for n in p.tensors()}
    second = copy.deepcopy(p)
    text = second.text()
    names.update({n: f"{n}_b" for n in re.findall(r"\bas\s+(\w+)", text)})
    second.rename(names)
    outputs = [n for s in p.body if s.kind() == "output" for n in s.targets()[0]]
    how = r.choice(["apart", "fed", "shared", "added"])
    inputs = [s for s in second.body if s.kind() == "input"]
    if how == "shared" and inputs:
        s = r.choice(inputs)
        second.body.remove(s)
        new = s.targets()[0][0]
        old = next(n for n, m in names.items() if m == new)
        second.rename({new: old})
    if how == "fed" and outputs and inputs and (type_of(p, outputs[0]) or [""])[0] in FLOATS:
        s = r.choice(inputs)
        name = s.targets()[0][0]
        dtype, axes = type_of(second, name)
        if dtype == type_of(p, outputs[0])[0]:
            at = second.body.index(s)
            for t in second.body[at + 1:]:
                t.text = re.sub(r"(?<![\w`])" + re.escape(name) + r"(?![\w`]|\s*=)", "fed", t.text)
            second.body[at + 1:at + 1] = [Statement(f"total = mean(abs({outputs[0]}))"),
                                          Statement(f"fed: {dtype}[{axes_text(axes)}] = {name} * total")]
    p.body += second.body
    if how == "added" and outputs and outputs[0] in names:
        p.body.append(Statement(f"output both = {outputs[0]} + {names[outputs[0]]}"))


def edit_layouts(p, r):
    """Other placements of inputs and outputs."""
    if any(s.kind() in ("for", "if") for s in p.body):
        return
    meshes = list(p.meshes().values())
    if len(meshes) != 1 or "partial" in p.text(): # there would be no pending sum for the partial results
        return
    for s in p.body:
        if s.kind() not in ("input", "output") or "partial" in s.text or "schedule" in s.text or r.random() < 0.5:
            continue
        def placed(match):
            free = list(meshes[0][0])
            r.shuffle(free)
            axes = []
            for extent, _ in axes_of(match.group(4)):
                places = []
                while free and r.random() < 0.4:
                    places.append(free.pop())
                if r.random() < 0.2:
                    places.append(f"stream({r.choice([2, 3])})")
                axes.append([extent, places])
            if sum("stream" in place for _, places in axes for place in places) > 1:
                return match.group()
            return f"{match.group(1)}{match.group(2)}{match.group(3)}[{axes_text(axes)}]"
        s.text = TYPED.sub(placed, s.text, count=1)


def edit_types(p, r):
    """Leaves out types of intermediates where they are not needed."""
    needed = re.compile(r"\b(set|cast|full|uniform|reshape|allocate|iota|broadcast|dispatch|combine|extern|partial|schedule|stream|"
                        r"all_to_all|\w+_from|reduce\w*)\b")
    for s in p.body:
        match = TYPED.match(s.text)
        if match and s.targets()[1] == "=" and not needed.search(s.text) and re.match(r"\s*=", s.text[match.end():]):
            s.text = match.group(1) + s.text[match.end():] if r.random() < 0.5 else s.text


def edit_run(p, r):
    """Ranks that are threads, other numbers of streams."""
    p.run = [f"--bootstrap={r.choice(['fork', 'thread'])}", f"--streams={r.choice([0, 1, 2, 3])}"]


EDITS = [edit_run, edit_extents, edit_dtype, edit_chunks, edit_ranks, edit_before, edit_after, edit_double, edit_types,
         edit_layouts, edit_devices, edit_order, edit_names]
RARE = {edit_layouts: 0.25, edit_devices: 0.3, edit_types: 0.3, edit_double: 0.3}


def choose(seed, number, examples):
    """The example and the edits of one variation."""
    r = random.Random(f"{seed}:{number}")
    example = examples[number % len(examples)]
    return example, [(edit, r.random()) for edit in EDITS if r.random() < RARE.get(edit, 0.5)]


def build(example, edits):
    p = Program(example)
    for edit, seed in edits:
        edit(p, random.Random(seed))
    return p


# ---- trials

MOST_UNDECIDED = 0.03  # of the variations


class Trial:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.files = itertools.count()
        self.undecided = 0  # runs that the comparison cannot judge: outputs of a few elements of bf16

    def command(self, *words):
        try:
            result = subprocess.run([self.options.hirc, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                    stderr=subprocess.STDOUT, timeout=60, check=False)
            return result.returncode, result.stdout.decode(errors="replace")
        except subprocess.TimeoutExpired:
            return 99, "no end after 60 s\n"

    def failure(self, program):
        """Returns (failed step, command, output) or None."""
        path = self.folder / f"{next(self.files)}.hir"
        path.write_text(program.text())
        np = [f"--np={program.np}"] if program.np else []
        dump = path.with_suffix(".dump")
        words = ["compile", str(path), *np, "--verify-each", "--verify-roundtrip", "--dump", "-o", str(dump)]
        code, out = self.command(*words)
        if code:
            return "does not compile", words, out
        again = ["compile", str(dump), *np, "--stop-after=parse", "--dump"]
        code, out = self.command(*again)
        if code or out != dump.read_text():
            return "the dump is no fixed point", again, out
        if self.options.check:
            words = ["run", f"--np={program.np or program.ranks()}", str(path), "--check", "--timeout=20", *program.run]
            code, out = self.command(*words)
            refused = code == 1 and "does not divide" in out and "reshape" in out # the expected error
            if code == 3 and "undecided: " in out and "wrong: " not in out:
                self.undecided += 1
            elif code and not refused:
                return f"run ends with {code}", words, out
        return None

    def reduce(self, example, edits, what):
        """Removes edits without which it still fails."""
        for edit in list(edits):
            fewer = [e for e in edits if e is not edit]
            failure = self.failure(build(example, fewer))
            if failure and failure[0] == what:
                edits = fewer
        return edits


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("examples", nargs="*", type=pathlib.Path,
                        help="programs (default: examples/*.hir and programs/*.hir beside this file)")
    parser.add_argument("--hirc", default=str(ROOT / "build" / "dev" / "hirc"), help="the program")
    parser.add_argument("--count", type=int, default=60, metavar="N", help="number of variations (default: 60)")
    parser.add_argument("--first", type=int, default=0, metavar="K", help="number of the first (default: 0)")
    parser.add_argument("--seed", default="1", help="another seed gives other variations (default: 1)")
    parser.add_argument("--check", action="store_true", help="run each and compare with the reference")
    parser.add_argument("--show", type=int, metavar="K", help="print variation K and end")
    parser.add_argument("-j", "--jobs", type=int, default=1, metavar="N",
                        help="variations at the same time (default: 1)")
    options = parser.parse_args()
    here = pathlib.Path(__file__).resolve().parent
    examples = options.examples or sorted((ROOT / "examples").glob("*.hir")) + sorted((here / "programs").glob("*.hir"))
    if options.show is not None:
        example, edits = choose(options.seed, options.show, examples)
        program = build(example, edits)
        print(f"# {example.name}: {', '.join(e.__name__[5:] for e, _ in edits)}; --np={program.np}")
        print(program.text(), end="")
        return 0

    probe = [options.hirc, "run", "--help"]
    if options.check and subprocess.run(probe, stdout=subprocess.DEVNULL, check=False).returncode:
        print("this hirc has no command run")
        return SKIP_CODE

    folder = pathlib.Path(tempfile.mkdtemp(prefix="hirc-vary-"))
    trial = Trial(options, folder)
    failures = 0

    def one(number):
        example, edits = choose(options.seed, number, examples)
        failure = trial.failure(build(example, edits))
        return number, example, edits, failure

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for number, example, edits, failure in pool.map(one, range(options.first, options.first + options.count)):
            if not failure:
                continue
            failures += 1
            what = failure[0]
            edits = trial.reduce(example, edits, what)
            program = build(example, edits)
            what, words, out = trial.failure(program)
            path = folder / f"failed-{number}.hir"
            path.write_text(program.text())
            print(f"FAILED: variation {number}: {what}: {path}\n"
                  f"  {example.name}: {', '.join(e.__name__[5:] for e, _ in edits) or 'as it is'}\n"
                  f"  hirc {shlex.join(words)}")
            print("".join(f"  | {line}\n" for line in out.splitlines()[:12]), end="", flush=True)
    print(f"{options.count - failures} passed, {failures} failed, {trial.undecided} of the first undecided")
    if trial.undecided > max(2, options.count * MOST_UNDECIDED):
        print(f"more than {MOST_UNDECIDED:.0%} are undecided")
        return 1
    if not failures:
        for file in folder.iterdir():
            file.unlink()
        folder.rmdir()
    return 1 if failures else 0


sys.exit(main())
