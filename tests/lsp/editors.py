#!/usr/bin/env python3
"""editors HIRC: the syntax files of tools/editors know every word, and colour examples as `hirc lsp` does.

The TextMate grammar is applied line by line as editors apply it, Vim's file by vim, and the tree-sitter grammar is
evaluated by node and must derive every example; the latter two are left out, with a line that says so, where vim or
node is missing.
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from client import URI, Client  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
EDITORS = ROOT / "tools" / "editors"
PROGRAMS = sorted((ROOT / "examples").glob("*.hir"))
MORE = """\
mesh pod(dp = 2, tp = 2) = {0..3}
group g(4) = {0 1 2 3}
program p on pod { # a comment
  inout X: bf16[8@dp@tp, 4@block(2)] on pod symmetric = file("a.npy")
  A, B: f32[4, 4] = split(X, axis=1, sizes=(2, 2)) as c
  P: f32[4, 4] partial(tp) = matmul(X, `odd name`)
  s = get_current_stream()
  for i in 0..ceilDiv(8, 4) parallel(stream) {
    if i % 2 == 0 and not rank > 1 {
      let k = floorDiv(i, 2) - axis_index(tp)
      acc <- allreduce(P, axis=tp, op=max, group=g) as c1
    } else {
      wait(c1)
    }
  }
  unit { output Y = relu(X) * 2.5e3 }
  Z = extern "f"(X) {kind="gemm", time=3}
  schedule Y { split 0 inner 4; reorder (1, 0); parallelize 0 stream }
  output acc
}
"""
failures = []


def check(ok, text):
    if not ok:
        failures.append(text)


# ---- what the server says, one kind for each word


def server_tokens(hirc, text):
    c = Client(hirc)
    c.open(text)
    legend = c.capabilities["semanticTokensProvider"]["legend"]["tokenTypes"]
    data, line, at, out = c.request("textDocument/semanticTokens/full", {"textDocument": {"uri": URI}})["data"], 0, 0, []
    lines = text.split("\n")
    for i in range(0, len(data), 5):
        down, right, length, kind, _ = data[i: i + 5]
        line, at = line + down, right + (0 if down else at)
        start = len(lines[line].encode("utf-16-le")[: at * 2].decode("utf-16-le"))
        word = lines[line].encode("utf-16-le")[at * 2: (at + length) * 2].decode("utf-16-le")
        out.append((line, start, word, legend[kind]))
    assert c.end() == 0
    return out


KINDS = ("keyword", "type", "function", "number", "string", "comment")  # all files must agree on these


# ---- TextMate


class TextMate:
    def __init__(self, grammar):
        self.grammar = grammar

    def rules(self, patterns):
        for pattern in patterns:
            if "include" in pattern:
                target = self.grammar["repository"][pattern["include"][1:]]
                yield from self.rules([target] if "match" in target or "begin" in target else target["patterns"])
            else:
                yield pattern

    def scopes(self, text):
        """Returns the scope of each character, by line."""
        stack = [({"patterns": self.grammar["patterns"]}, None)]
        out = []
        for line in text.split("\n"):
            scope, at = [""] * len(line), 0
            while True:
                rule, name = stack[-1]
                best = None
                if "end" in rule:
                    best = (re.compile(rule["end"]).search(line, at), None)
                for inner in self.rules(rule["patterns"] if "patterns" in rule else []):
                    found = re.compile(inner.get("match", inner.get("begin"))).search(line, at)
                    if found and (not best or not best[0] or found.start() < best[0].start()):
                        best = (found, inner)
                if not best or not best[0]:
                    scope[at:] = [name or x for x in scope[at:]]
                    break
                found, inner = best
                scope[at: found.start()] = [name or x for x in scope[at: found.start()]]
                here = name if inner is None else inner.get("name", name)
                scope[found.start(): found.end()] = [here or ""] * (found.end() - found.start())
                for group, capture in (inner or {}).get("beginCaptures", {}).items():
                    start, end = found.span(int(group))
                    scope[start:end] = [capture["name"]] * (end - start)
                if inner is None:
                    stack.pop()
                elif "begin" in inner:
                    stack.append((inner, inner.get("name", name)))
                elif found.end() == at and found.end() == found.start():
                    at += 1
                at = max(at, found.end())
                if at >= len(line) and not any("end" in r and re.compile(r["end"]).match(line, at)
                                               for r, _ in stack[1:]):
                    break
            out.append(scope)
        return out


TEXTMATE = {"keyword": "keyword|support.function|storage", "type": "storage.type", "function": "support.function",
            "number": "constant.numeric", "string": "string", "comment": "comment"}


def textmate(programs):
    grammar = TextMate(json.loads((EDITORS / "vscode/syntaxes/hir.tmLanguage.json").read_text()))
    for name, text, tokens in programs:
        scopes = grammar.scopes(text)
        for line, at, word, kind in tokens:
            if kind in KINDS:
                got = scopes[line][at] or "none"
                check(re.match(TEXTMATE[kind], got), f"TextMate: {name}:{line + 1}: '{word}' is {got}, not {kind}")
    for name in ("package.json", "language-configuration.json"):
        json.loads((EDITORS / "vscode" / name).read_text())
    package = json.loads((EDITORS / "vscode/package.json").read_text())
    for path in [x["path"] for x in package["contributes"]["grammars"]] + [package["main"]]:
        check((EDITORS / "vscode" / path).is_file(), f"package.json: no file {path}")


# ---- Vim

VIM = {"keyword": "hir(Keywords|Context|Memories|Operations)", "type": "hirTypes", "number": "hirNumber",
       "function": "hir(Operations|Functions|Primitives)", "string": "hirString",
       "comment": "hir(Comment|Directive|PassList|Passes)"}


def vim(programs):
    if not shutil.which("vim"):
        print("skipped: vim is missing")
        return
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, text, tokens) in enumerate(programs):
            path, script, out = (pathlib.Path(folder) / f"{number}.{x}" for x in ("hir", "vim", "out"))
            path.write_text(text)
            tokens = [token for token in tokens if token[3] in KINDS]
            lines = text.split("\n")
            places = ["[%d, %d]" % (line + 1, len(lines[line][:at].encode()) + 1) for line, at, _, _ in tokens]
            script.write_text("set nocompatible runtimepath^=%s\nfiletype plugin on\nsyntax on\nedit %s\n"
                              "let out = [&filetype]\nfor p in [%s]\n"
                              "  call add(out, synIDattr(synID(p[0], p[1], 1), 'name'))\nendfor\n"
                              "call writefile(out, '%s')\nqall!\n" % (EDITORS / "vim", path, ", ".join(places), out))
            subprocess.run(["vim", "-u", "NONE", "-i", "NONE", "-n", "-es", "-S", str(script)], timeout=60,
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
            got = out.read_text().split("\n") if out.exists() else ["nothing"]
            check(got[0] == "hir", f"vim: {name}: the file type is {got[0]}")
            for (line, _, word, kind), group in zip(tokens, got[1:]):
                check(re.fullmatch(VIM[kind], group or "none"),
                      f"vim: {name}:{line + 1}: '{word}' is {group or 'none'}, not {kind}")


# ---- tree-sitter

EVALUATE = """
const node = (type) => (...members) => ({ type, members: members.map(lift) });
const lift = (x) => x instanceof RegExp ? { type: 'PATTERN', value: x.source }
  : typeof x === 'string' ? { type: 'STRING', value: x } : x;
global.seq = node('SEQ'); global.choice = node('CHOICE'); global.repeat = node('REPEAT');
global.repeat1 = node('REPEAT1'); global.optional = node('OPTIONAL'); global.token = (x) => lift(x);
global.field = (name, x) => lift(x); global.alias = (x) => lift(x);
global.prec = (level, x) => lift(x); global.prec.left = global.prec.right = (a, b) => lift(b === undefined ? a : b);
const $ = new Proxy({}, { get: (_, name) => ({ type: 'SYMBOL', name }) });
global.grammar = (g) => {
  const rules = {};
  for (const name of Object.keys(g.rules)) rules[name] = lift(g.rules[name]($));
  g.extras($); g.conflicts($).forEach((x) => x.forEach((y) => { if (!rules[y.name]) throw y.name; })); g.word($);
  return rules;
};
const path = require('path').resolve(process.argv[1]);
console.log(JSON.stringify((require(path), require.cache[path].exports)));
"""
TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|`[^`\n]+`|[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|[0-9]+|'
                   r"[A-Za-z_]\w*|<-|\.\.|==|!=|<=|>=|[^\s]")


def productions(rules):
    """Returns rules as plain productions: name -> lists of terminals and names."""
    out, count = {}, [0]

    def fresh(alternatives):
        count[0] += 1
        name = f"#{count[0]}"
        out[name] = alternatives
        return name

    def symbols(x):
        kind, members = x["type"], x.get("members", [])
        if kind == "SEQ":
            return [s for m in members for s in symbols(m)]
        if kind == "SYMBOL":
            assert x["name"] in rules, f"no rule {x['name']}"
            return [x["name"]]
        if kind in ("STRING", "PATTERN"):
            return [(kind, x["value"])]
        if kind == "CHOICE":
            return [fresh([symbols(m) for m in members])]
        if kind == "OPTIONAL":
            return [fresh([symbols(members[0]), []])]
        name = fresh([])
        body = symbols(members[0])
        out[name] += [[name] + body, body if kind == "REPEAT1" else []]
        return [name]

    for name, rule in rules.items():
        out[name] = [symbols(rule)]
    return out


def derives(grammar, start, words, reserved):
    """Parses by Earley's algorithm. Returns how many words the grammar takes; if it is all of them, the text is
    derived."""
    nullable = set()
    while True:
        more = {n for n, alternatives in grammar.items()
                if any(all(s in nullable for s in a) for a in alternatives)} - nullable
        if not more:
            break
        nullable |= more

    def matches(terminal, word):
        if terminal[0] == "STRING":
            return terminal[1] == word
        return bool(re.fullmatch(terminal[1], word)) and word not in reserved

    sets = [[] for _ in range(len(words) + 2)]
    seen = [set() for _ in range(len(words) + 2)]

    def add(k, item):
        if item not in seen[k]:
            seen[k].add(item)
            sets[k].append(item)

    add(0, (start, 0, 0, 0))
    for k in range(len(words) + 1):
        waiting = {}
        for name, a, dot, origin in sets[k]:  # the list grows in the loop
            body = grammar[name][a]
            if dot == len(body):
                for item in list(sets[origin]):
                    other = grammar[item[0]][item[1]]
                    if item[2] < len(other) and other[item[2]] == name:
                        add(k, (item[0], item[1], item[2] + 1, item[3]))
            elif isinstance(body[dot], tuple):
                if k < len(words) and matches(body[dot], words[k]):
                    add(k + 1, (name, a, dot + 1, origin))
            else:
                if body[dot] not in waiting:
                    waiting[body[dot]] = True
                    for i in range(len(grammar[body[dot]])):
                        add(k, (body[dot], i, 0, k))
                if body[dot] in nullable:
                    add(k, (name, a, dot + 1, origin))
        if k < len(words) and not sets[k + 1]:
            return k
    done = any(i == (start, 0, len(grammar[start][0]), 0) for i in sets[len(words)])
    return len(words) + 1 if done else len(words)


def tree_sitter(programs):
    if not shutil.which("node"):
        print("skipped: node is missing")
        return
    done = subprocess.run(["node", "-e", EVALUATE, str(EDITORS / "tree-sitter-hir/grammar.js")],
                          stdout=subprocess.PIPE, text=True, check=True, timeout=60)
    rules = json.loads(done.stdout)
    queries = (EDITORS / "tree-sitter-hir/queries/highlights.scm").read_text()
    names = set(rules) | {"primitive_name", "_"}
    for name in re.findall(r"^\(+([a-z_]+)", re.sub(r";.*", "", queries), re.MULTILINE):
        check(name in names, f"highlights.scm: no rule {name}")
    grammar = productions(rules)
    keywords = set(re.findall(r'^KEYWORD\(\w+, "(\w+)"', (ROOT / "src/base/keywords.def").read_text(), re.MULTILINE))
    strings = {s[1] for alternatives in grammar.values() for a in alternatives for s in a if s[0] == "STRING"}
    for word in sorted(keywords - strings):
        check(False, f"grammar.js: no keyword {word}")
    for name, text, _ in programs:
        words = TOKEN.findall(re.sub(r"#.*", "", text))
        k = derives(grammar, "source_file", words, keywords)
        check(k > len(words), f"grammar.js: {name}: not derived at {' '.join(words[max(0, k - 6): k + 1])}")
    words = TOKEN.findall("program p { A = relu(X B = 3 }")
    check(derives(grammar, "source_file", words, keywords) <= len(words), "grammar.js derives what is no program")


def main():
    done = subprocess.run([str(EDITORS / "generate"), "--check"], stderr=subprocess.PIPE, text=True, check=False)
    check(done.returncode == 0, done.stderr.strip())
    texts = [(path.name, path.read_text()) for path in PROGRAMS] + [("more", MORE)]
    programs = [(name, text, server_tokens(sys.argv[1], text)) for name, text in texts]
    textmate(programs)
    vim(programs)
    tree_sitter(programs)
    for text in failures[:40]:
        print(text)
    print(f"{len(failures)} failures of tools/editors over {len(programs)} programs")
    sys.exit(bool(failures))


main()
