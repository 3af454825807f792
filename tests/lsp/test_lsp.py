#!/usr/bin/env python3
"""test_lsp HIRC [NAME…]: every request of `hirc lsp` over the real protocol, also on broken texts.

Without names it runs all tests but `random_edits`, `large` and `bench`, which prints times."""
import os
import pathlib
import random
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from client import URI, Client, Failure  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
HIRC = sys.argv[1]

PROGRAM = """\
# RUN: hirc compile %s --passes=propagate-shardings,allocate{hoist=1} --dump
param t = 10
const np = 4
mesh ring(x = np)
program demo on ring {
  input X: f32[t@x, 8]
  input W: f32[8, 8] = random(seed=1, scale=0.5)
  H = matmul(X, W)
  acc: f32[t@x, 8] = allocate(zero_init=true)
  for i in 0..2 {
    let k = i + 1
    acc <- add(H, X)
  }
  s = get_current_stream()
  set_stream(s)
  G: f32[t, 8] = allgather(acc, axis=x)
  schedule G { split 0 inner 2 }
  output Y: f32[t, 8] = relu(G)
  deallocate(acc)
}
"""


def expect(got, wanted):
    assert got == wanted, f"\n  got    {got!r}\n  wanted {wanted!r}"


def contains(text, *pieces):
    for piece in pieces:
        assert text and piece in text, f"{piece!r} is not in {text!r}"


def fails(code, piece, call, *args, **more):
    try:
        result = call(*args, **more)
    except Failure as failure:
        expect(failure.code, code)
        contains(failure.message, piece)
    else:
        raise AssertionError(f"no error {code}, but {result!r}")


def opened(text=PROGRAM, *options, **more):
    c = Client(HIRC, *options, **more)
    c.open(text)
    return c


# ---- the protocol


RING = """mesh ring(x = 4)
program t on ring {
  input X: f32[8@x, 6]
  input W: f32[6, 5]
  output Y: f32[8@stream(4), 5] = allocate()
  main = get_current_stream()
  for i in 0..4 parallel(stream) {
    set_stream(i)
    synchronize(main)
    G: f32[8@stream(4), 6] = allocate()
    G <- broadcast_from(X, axis=x, root=i) as c
      wait(c)
    y = shard_by_stream(Y, i)
      y <- matmul(G, W)
    deallocate(G)
  }
  set_stream(main)
  for j in 0..4 {
    synchronize(j)
  }
}
"""


def test_life():
    c = Client(HIRC, start=False)
    fails(-32002, "`initialize` comes first", c.request, "textDocument/hover", {})
    result = c.request("initialize", {"capabilities": {}})["capabilities"]
    expect(result["positionEncoding"], "utf-16")
    expect(result["textDocumentSync"], {"openClose": True, "change": 2})
    fails(-32600, "comes once", c.request, "initialize", {})
    fails(-32601, "no method 'workspace/symbol'", c.request, "workspace/symbol", {"query": ""})
    fails(-32602, "not open", c.request, "textDocument/hover", {"textDocument": {"uri": URI}})
    c.notify("$/setTrace", {"value": "off"})
    c.open(PROGRAM)
    fails(-32602, "position", c.of_document, "hover")
    expect(c.request("shutdown", None), None)
    fails(-32600, "after `shutdown`", c.of_document, "hover")
    c.notify("exit", None)
    expect(c.process.wait(60), 0)


def test_ends():
    for data, told in ((b"", b""), (b"Content-Length: 10\r\n\r\n{", b""),
                       (b"Content-Length: 99999999999999999999\r\n\r\n", b"such a length")):
        done = subprocess.run([HIRC, "lsp"], input=data, stdout=subprocess.PIPE, timeout=60)
        expect((done.returncode, told in done.stdout, bool(done.stdout)), (1, True, bool(told)))
    c = Client(HIRC)
    c.notify("exit", None)
    expect(c.process.wait(60), 1)


def test_malformed():
    c = Client(HIRC)
    for data, code in ((b"nonsense\r\n\r\n", -32700), (b"Content-Length: x\r\n\r\n", -32700),
                       (b"Content-Length: 3\r\n\r\n{a}", -32700), (b"Content-Length: 2\r\n\r\n[]", -32600),
                       (b"Content-Length: 4\r\n\r\nnull", -32600), (b"Content-Length: 0\r\n\r\n", -32700),
                       (b'Content-Length: 8\r\n\r\n{"id":7}', -32600)):
        c.raw(data)
        message = c.receive()
        expect((message["error"]["code"], data[:30]), (code, data[:30]))
    c.raw(b"x" * 50000 + b"\r\n\r\n")
    fails(-32601, "nowhere", c.request, "nowhere", {})
    for params in (None, [], 7, {"textDocument": 3}, {"textDocument": {"uri": 5}}, {"textDocument": {"uri": URI}}):
        for method in ("didOpen", "didChange", "didClose"):
            c.notify("textDocument/" + method, params)
        fails(-32602, "not open", c.request, "textDocument/completion", params)
    c.raw(b"content-type: a/b\r\nCONTENT-LENGTH:  46 \r\n\r\n" + b'{"jsonrpc":"2.0","id":"q","method":"nowhere!!"}'[:46])
    expect(c.receive()["error"]["code"], -32700)
    c.open(PROGRAM)
    where = {"line": 2 ** 40, "character": -1}
    fails(-32602, "position", c.request, "textDocument/hover", {"textDocument": {"uri": URI}, "position": where})
    where = {"line": 2 ** 40, "character": 2 ** 50}
    expect(c.request("textDocument/hover", {"textDocument": {"uri": URI}, "position": where}), None)
    c.change({"range": {"start": {"line": 3, "character": 0}, "end": {"line": 1, "character": 0}}, "text": "?"},
             {"text": 5}, {"range": 5, "text": "?"}, 5)
    contains(c.hover("output |Y"), "tensor")
    expect(c.end(), 0)


def test_cancel():
    c = opened()
    first, one = c.ask("textDocument/documentSymbol", {"textDocument": {"uri": URI}})
    second, two = c.ask("textDocument/documentSymbol", {"textDocument": {"uri": URI}})
    c.raw(c.frame(one) + c.frame(two) + c.frame({"method": "$/cancelRequest", "params": {"id": second}}) +
          c.frame({"method": "$/cancelRequest", "params": {"id": 99}}))
    assert c.answer(first)
    fails(-32800, "cancelled", c.answer, second)
    expect(c.end(), 0)


def test_sync():
    for encodings in (None, ["utf-32", "utf-8"]):
        c = Client(HIRC, encodings=encodings)
        expect(c.encoding, "utf-8" if encodings else "utf-16")
        c.open("# \U0001F600 grüße\n" + PROGRAM.replace("program demo", "program `dé\U0001F600mo`"))
        expect(c.diagnostics(), [])
        start = c.text.index("\U0001F600mo` on")
        c.edit(start + 1, start + 3, "\U0001F680ü")
        expect(c.diagnostics(), [])
        at = c.text.index("`dé")
        expect(c.slice(c.at("definition", at + 1)["range"]), "`dé\U0001F600\U0001F680ü`")
        c.edit(c.find("relu(|G"), c.find("relu(G|"), "Gu")
        [one] = c.diagnostics()
        expect((c.slice(one["range"]), one["message"]), ("Gu", "unknown tensor 'Gu'\ndid you mean 'G'?"))
        c.change({"range": {"start": c.position(c.find("relu(G|u")), "end": c.position(c.find("relu(Gu|"))},
                  "text": ""}, {"range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}},
                                "text": "# a line\n"})
        c.text = "# a line\n" + c.text.replace("Gu)", "G)")
        expect(c.diagnostics(), [])
        contains(c.hover("|G: f32"), "tensor, defined in line 18")
        c.set(PROGRAM.replace("\n", "\r\n"))
        expect(c.diagnostics(), [])
        expect(c.at("definition", "relu(|G")["range"]["start"], {"line": 15, "character": 2})
        c.notify("textDocument/didClose", {"textDocument": {"uri": URI}})
        expect(c.receive()["params"], {"uri": URI, "diagnostics": []})
        expect(c.end(), 0)


def test_queue():
    """Of several changes that wait together, only the last state is read."""
    c = opened()
    c.diagnostics()
    frames = b""
    for k in range(50):
        c.version += 1
        frames += c.frame({"method": "textDocument/didChange",
                           "params": {"textDocument": {"uri": URI, "version": c.version},
                                      "contentChanges": [{"text": PROGRAM + f"# {k}\nwrong {k}\n" * (k < 49)}]}})
    c.raw(frames)
    expect(c.diagnostics(), [])
    assert len(c.notices) < 10, len(c.notices)
    expect(c.end(), 0)


# ---- features


def test_diagnostics():
    c = opened(PROGRAM.replace("relu(G)", "relu(G, G)"))
    [one] = c.diagnostics()
    expect((one["severity"], one["source"], one["code"], one["message"], c.slice(one["range"])),
           (1, "hirc", "E0402", "relu takes 1 operand, not 2", "relu"))
    c.set(PROGRAM.replace("  H = matmul(X, W)\n", "  H = matmul(X, W)\n  H = neg(X)\n"))
    [one] = c.diagnostics()
    expect(one["message"], "tensor 'H' is defined twice")
    [related] = one["relatedInformation"]
    expect((related["message"], related["location"]["range"]["start"]),
           ("the first definition is here: give one of them another name", {"line": 7, "character": 2}))
    c.set(PROGRAM.replace("axis=x)", "axis="))  # G is used, and schedules it: no further message may come from that
    messages = c.diagnostics()
    assert messages and all("unknown" not in m["message"] for m in messages), messages
    c.set("")
    [one] = c.diagnostics()
    contains(one["message"], "holds no program", "write `program NAME on MESH { … }`")
    c.set("é" * 30 + "\xff")
    assert c.diagnostics()
    expect(c.end(), 0)


def test_check():
    """In a program without errors: the findings of check, and outputs that nothing writes."""
    c = opened(RING)
    expect(c.diagnostics(), [])
    c.set(RING.replace("      wait(c)\n", ""))
    one = c.diagnostics()[0]
    expect((one["severity"], c.slice(one["range"])), (1, "y"))
    contains(one["message"], "race: matmul reads 'G' on stream 0", "`wait(c)` before the matmul orders them")
    c.set(RING.replace("      y <- matmul(G, W)\n", ""))
    contains(c.diagnostics()[0]["message"], "Y")
    c.set("param t = -64\nprogram p {\n  input X: f32[t]\n  output Y = relu(X)\n}\n")
    one = c.diagnostics()[0]
    expect((one["code"], c.slice(one["range"])), ("E0315", "X"))
    contains(one["message"], "an extent of 'X' is negative: t is -64")
    c.set("param t = 6\nprogram p {\n  input X: f32[t]\n  output Y: f32[4] = relu(X)\n}\n")
    one = c.diagnostics()[0]
    expect((one["code"], c.slice(one["range"])), ("E0417", "output"))
    contains(one["message"], "relu gives f32[t], not f32[4]")
    for path in sorted((pathlib.Path(os.environ["HIRC_ROOT"]) / "examples").glob("*.hir")):
        c.set(path.read_text())
        expect((path.name, c.diagnostics()), (path.name, []))
    expect(c.end(), 0)


def test_hover():
    c = opened()
    contains(c.hover("input |X"), "X: f32[t@x, 8]", "shape 10 x 8, 320 bytes", "axis 0 over `x` of `mesh ring(x = 4)`",
             "ranks 0-2 hold 3 x 8, 96 bytes; rank 3 holds 1 x 8, 32 bytes", "`input X: f32[t@x, 8]`",
             "defined in line 6, used 2 times")
    contains(c.hover("add(|H"), "chosen by propagate-shardings", "H: f32[t@x, 8]", "`H = matmul(X, W)`", "ranks 0-2")
    contains(c.hover("input |W"), "replicated on `mesh ring(x = 4)`", "ranks 0-3 hold 8 x 8, 256 bytes")
    contains(c.hover("param |t"), "param t = 10", "value 10")
    contains(c.hover("const |np"), "const np = 4", "const, defined in line 3, used 1 time")
    contains(c.hover("f32[t@|x, 8]\n  input"), "axis of mesh `ring`, 4 ranks")
    contains(c.hover("on |ring"), "mesh ring(x = np)", "4 devices")
    contains(c.hover("H = |matmul"), "**matmul**", "attributes: `accumulate`", "2 operands")
    contains(c.hover("|zero_init"), "`zero_init=` of **allocate**")
    contains(c.hover("input X: |f32"), "4 bytes, float of nvFuser")
    contains(c.hover("for |i in"), "for i in 0..2", "loop index")
    contains(c.hover("set_stream(|s)"), "s = get_current_stream()", "stream")
    expect(c.hover("output| Y"), None)
    c.set(PROGRAM.replace("t = 10", "t"))
    contains(c.hover("param |t"), "no value")
    assert "shape" not in c.hover("input |X")
    c.set(PROGRAM.replace("X: f32[t@x, 8]", "X: f32[4@x, 16@block(2)@stream(4)]"))
    contains(c.hover("input |X"), "ranks 0-3 hold 1 x 16, 64 bytes")
    c.set(PROGRAM.replace("X: f32[t@x, 8]", "X: f32[t@block(2)@x, 8]"))
    contains(c.hover("input |X"), "ranks 0-1 hold 4 x 8, 128 bytes; rank 2 holds 2 x 8, 64 bytes; rank 3 holds 0 x 8")
    expect(c.end(), 0)
    c = opened(PROGRAM.replace("t = 10", "t"), "-D", "t=12", "--np", "4")
    contains(c.hover("input |X"), "ranks 0-3 hold 3 x 8")
    expect(c.end(), 0)


def test_navigate():
    c = opened()
    for use, line in (("matmul(|X", 5), ("axis=|x", 3), ("on |ring", 3), ("i |+ 1", None), ("let k = |i", 9),
                      ("relu(|G", 15), ("schedule |G", 15), ("[t@|x, 8] = allo", 3), ("set_stream(|s", 13),
                      ("x = |np", 2), ("|acc <-", 8), ("= |relu", None)):
        got = c.at("definition", use)
        expect((use, got and got["range"]["start"]["line"]), (use, line))
    found = c.at("references", "input |X", context={"includeDeclaration": True})
    expect([c.slice(x["range"]) for x in found], ["X"] * 3)
    expect(len(c.at("references", "input |X", context={"includeDeclaration": False})), 2)
    expect(len(c.at("references", "mesh ring(|x", context={"includeDeclaration": True})), 4)
    expect([x["kind"] for x in c.at("documentHighlight", "allgather(|acc")], [3, 3, 2, 2])
    expect(c.at("references", "|program demo", context={"includeDeclaration": True}), None)
    expect(c.end(), 0)


def test_rename():
    c = opened()
    place = c.at("prepareRename", "relu(|G")
    expect((c.slice(place["range"]), place["placeholder"]), ("G", "G"))
    edits = c.at("rename", "relu(|G", newName="all")["changes"][URI]
    text = c.apply(edits)
    expect((text.count("all: f32"), text.count("relu(all)"), text.count("schedule all")), (1, 1, 1))
    c.set(text)
    expect(c.diagnostics(), [])
    c.set(c.apply(c.at("rename", "mesh ring(|x", newName="for")["changes"][URI]))
    expect(c.text.count("@`for`"), 2)
    expect(c.diagnostics(), [])
    expect(c.at("prepareRename", "mesh ring(|`for`")["placeholder"], "for")
    c.set(c.apply(c.at("rename", "mesh ring(|`for`", newName="x")["changes"][URI]))
    expect(c.text, text)
    fails(-32803, "'X' is the name of a tensor, defined in line 6", c.at, "rename", "relu(|all", newName="X")
    c.set(text.replace("let k = i + 1", "let k = i + 1\n    let n = k * i"))
    fails(-32803, "'i' is the name of a loop index, defined in line 10", c.at, "rename", "let |k", newName="i")
    fails(-32803, "no name", c.at, "prepareRename", "= |relu")
    fails(-32803, "no name", c.at, "rename", "= |relu", newName="y")
    fails(-32602, "is no name", c.at, "rename", "relu(|all", newName="")
    fails(-32602, "is no name", c.at, "rename", "relu(|all", newName="a`b")
    fails(-32602, "newName", c.at, "rename", "relu(|all")
    expect(c.end(), 0)


def test_outline():
    c = opened()
    result = c.of_document("documentSymbol")
    expect([x["name"] for x in result], ["t", "np", "ring", "demo"])
    expect([x["name"] for x in result[2]["children"]], ["x"])
    expect([x["name"] for x in result[3]["children"]], ["X", "W", "H", "acc", "i", "s", "G", "Y"])
    expect([x["name"] for x in result[3]["children"][4]["children"]], ["k"])
    expect(result[3]["children"][0]["detail"], "f32[t@x, 8]")
    for x in result[3]["children"]:
        expect(c.slice(x["selectionRange"]), x["name"])
        contains(c.slice(x["range"]), x["name"])
    expect(c.end(), 0)


def test_format():
    c = opened(PROGRAM.replace("  H = matmul(X, W)", "     H=matmul( X,W )"))
    edits = c.of_document("formatting", options={"tabSize": 2, "insertSpaces": True})
    expect(len(edits), 1)
    want = subprocess.run([HIRC, "fmt", "-"], input=c.text, stdout=subprocess.PIPE, text=True, check=True).stdout
    expect(c.apply(edits), want)
    expect(c.slice(edits[0]["range"]), "     H=matmul( X,W )\n")
    c.set(want)
    expect(c.of_document("formatting"), [])
    c.set(PROGRAM.replace("relu(G)", "relu(G"))
    fails(-32803, "errors of syntax", c.of_document, "formatting")
    expect(c.end(), 0)


def test_completion():
    c = opened()

    def having(mark, *words, without=()):
        got = c.labels(mark)
        for word in words:
            assert word in got, (mark, word, got[:40])
        for word in without:
            assert word not in got, (mark, word, got[:40])

    having("relu(|G", "G", "acc", "X", "allgather", "ceilDiv", "np", without=("Y", "i", "k", "ring"))
    having("add(|H", "H", "i", "k")
    having("allgather(acc, |axis", "axis", "group", "team", "backend", without=("op", "root"))
    having("axis=|x", "x", without=("X", "allgather"))
    having("matmul(X, W|", "W", without=("X",))
    having("zero_init=|true", "true", "false", without=("X",))
    having("t@|x, 8]\n  input", "x", "stream", "swizzle1d", "block", without=("X", "relu"))
    having("f32[|t@x, 8]\n  input", "t", "np", without=("X", "relu"))
    having("input X: |f32", "f32", "bf16", "bool", without=("X",))
    having("on |ring", "ring", without=("x",))
    having("W: f32[8, 8] = |random", "random", "iota", "zeros", "file", without=("relu",))
    having("random(|seed", "seed", "scale")
    having("  |acc <-", "acc", "for", "if", "let", "add", without=("param", "mesh"))
    having("|mesh ring", "mesh", "param", "const", "group", "program", "cluster", without=("let", "add"))
    having("{ |split 0", "split", "parallelize", "contiguity", "allocation", without=("relu",))
    having("schedule |G", "G", without=("relu",))
    having("--passes=|propagate", "propagate-shardings", "stream-loops", "allocate")
    having("--passes=propagate-shardings,all|ocate", "allocate", without=("stream-loops",))
    having("allocate{|hoist", "hoist", without=("allocate",))
    expect(c.labels("# RUN: |hirc"), [])
    [item] = [x for x in c.at("completion", "= relu|(G")["items"] if x["label"] == "relu"]
    expect((item["detail"], c.slice(item["textEdit"]["range"])), ("max(a, 0)", "relu"))
    c.set(PROGRAM.replace("relu(G)", "allreduce(G, op=)"))
    having("op=|)", "sum", "prod", "min", "max", "avg")
    c.set(PROGRAM.replace("relu(G)", "relu("))
    having("relu(|", "G", "acc", "X")
    c.set("const a = 1\n\n")
    having(len(c.text), "mesh", "program")
    expect(c.end(), 0)


def tokens_of(c):
    legend = c.capabilities["semanticTokensProvider"]["legend"]["tokenTypes"]
    data, line, character, out = c.of_document("semanticTokens/full")["data"], 0, 0, []
    assert len(data) % 5 == 0
    for i in range(0, len(data), 5):
        down, right, length, kind, modifiers = data[i: i + 5]
        line, character = line + down, right + (0 if down else character)
        start, end = ({"line": line, "character": x} for x in (character, character + length))
        out.append((c.slice({"start": start, "end": end}), legend[kind], modifiers))
    return out


def test_tokens():
    c = opened()
    got = tokens_of(c)
    expect(got[0], (PROGRAM.split("\n")[0], "comment", 0))
    expect(got[1:4], [("param", "keyword", 0), ("t", "parameter", 1), ("10", "number", 0)])
    for one in (("program", "keyword", 0), ("demo", "namespace", 1), ("X", "variable", 1), ("f32", "type", 0),
                ("x", "enumMember", 0), ("np", "parameter", 2), ("matmul", "function", 0), ("acc", "variable", 4),
                ("axis", "property", 0), ("split", "function", 0), ("0.5", "number", 0), ("random", "macro", 0),
                ("let", "keyword", 0), ("i", "parameter", 0)):
        assert one in got, (one, got)
    c.set('# \U0001F600\n  relu(f32 "a\\"b" for 2..3 ')
    expect(tokens_of(c)[1:], [("relu", "function", 0), ("f32", "type", 0), ('"a\\"b"', "string", 0),
                              ("for", "keyword", 0), ("2", "number", 0), ("3", "number", 0)])
    expect(c.end(), 0)


# ---- broken, foreign and large texts


def test_broken():
    """Requests work on the part of a half-written program that could be read."""
    c = opened()
    for broken in ("  H = matmul(X, W", "  H = matmul(X,", "  H = ", "  H: f32[", "  for i in", "  H = }", "  )", '  "x'):
        c.set(PROGRAM.replace("  schedule G { split 0 inner 2 }", broken))
        assert c.diagnostics()
        contains(c.hover("input |X"), "ranks 0-2 hold 3 x 8")
        contains(c.hover("allgather(|acc"), "acc: f32[t@x, 8]")
        if "}" not in broken:  # this ends the program
            expect((broken, c.at("definition", "relu(|G")["range"]["start"]["line"]), (broken, 15))
        expect([x["name"] for x in c.of_document("documentSymbol")][:3], ["t", "np", "ring"])
        assert tokens_of(c)
    c.set(PROGRAM.replace("H = matmul(X, W)", "H = matmul(X, )"))
    contains(c.hover("input |X"), "ranks 0-2 hold 3 x 8")
    c.set(PROGRAM.replace("H = matmul(X, W)", "H = matmul(nothing)"))
    contains(c.hover("|acc <-"), "acc: f32[t@x, 8]")
    expect(c.end(), 0)


def everything(c, at):
    for method in ("hover", "definition", "references", "documentHighlight", "prepareRename", "completion"):
        try:
            c.at(method, at)
        except Failure as failure:
            expect(failure.code, -32803)
    try:
        c.at("rename", at, newName="other")
    except Failure as failure:
        expect(failure.code, -32803)
    try:
        c.of_document("formatting")
    except Failure as failure:
        expect(failure.code, -32803)
    c.of_document("documentSymbol")
    c.of_document("semanticTokens/full")
    c.diagnostics()


def test_random_edits(edits=4 if os.environ.get("HIRC_FEW") else 15):
    """Text cut, doubled and mixed at random: each request is answered, and the server continues."""
    pieces = ["{", "}", "(", ")", "[", "]", "@", "=", ",", "..", "`", '"', "#", "\n", "T0", "é", "\U0001F600", " on ",
              "for i in 0..2 {", "schedule X {", "%HostIrContainer {", "Hirc 1 :", "program p {", "if 1 {", "<-"]
    for seed, path in enumerate(sorted((ROOT / "examples").glob("*.hir"))[::3] +
                                sorted((ROOT / "tests" / "dumps").glob("*.hir"))[::12]):
        whole = path.read_text()
        if len(whole) > 20000:
            continue
        draw, c = random.Random(seed), opened(whole)
        everything(c, draw.randrange(len(whole)))
        for _ in range(edits):
            start = draw.randrange(len(c.text) + 1)
            end = min(len(c.text), start + draw.choice((0, 0, 1, 5, 80)))
            c.edit(start, end, draw.choice((draw.choice(pieces), "", c.text[end: end + 40])))
            everything(c, draw.randrange(len(c.text) + 1))
        expect(c.end(), 0)


def test_nvfuser():
    text = subprocess.run([HIRC, "compile", str(ROOT / "examples" / "ag_matmul.hir"), "--dump"],
                          stdout=subprocess.PIPE, text=True, check=True).stdout
    c = opened(text)
    expect(c.diagnostics(), [])
    at = text.index("T0_")
    use = text.index("T0_", at + 3)
    expect(c.at("definition", use)["range"], c.at("definition", at)["range"])
    contains(c.hover(use), "shape", "tensor")
    fails(-32803, "nvFuser surface", c.at, "rename", use, newName="X")
    fails(-32803, "not formatted", c.of_document, "formatting")
    assert c.of_document("documentSymbol") and tokens_of(c)
    expect(c.end(), 0)


def large(lines=10000):
    generate = [sys.executable, str(ROOT / "tools" / "gen_program"), str(lines)]
    return subprocess.run(generate, stdout=subprocess.PIPE, text=True, check=True).stdout


def test_large():
    """Each request on 10,000 lines, also with the last line half-written."""
    c = opened(large())
    for broken in (False, True):
        if broken:
            at = c.text.rindex("(")
            c.edit(at, len(c.text), "(v")
        messages = c.diagnostics()
        expect(bool(messages), broken)
        contains(c.hover("|v5000: f32"), "v5000: f32[t@x, 16]", "ranks 0-1 hold 32 x 16", "defined in line 5006")
        use = c.find("add(|v4999, v4998)")
        expect(c.at("definition", use)["range"]["start"], {"line": 5004, "character": 2})
        expect(len(c.at("references", use, context={"includeDeclaration": True})), 3)
        expect(len(c.at("documentHighlight", use)), 3)
        expect(c.at("prepareRename", use)["placeholder"], "v4999")
        expect(len(c.at("rename", use, newName="other")["changes"][URI]), 3)
        fails(-32803, "is the name of a tensor", c.at, "rename", use, newName="v7")
        names = [x["name"] for x in c.of_document("documentSymbol")]
        expect(names[:2], ["t", "ring"])
        assert "v4999" in c.labels(use + 3)
        data = c.of_document("semanticTokens/full")["data"]
        assert len(data) > 5 * 80000, len(data)
        if broken:
            fails(-32803, "errors of syntax", c.of_document, "formatting")
        else:
            expect(c.of_document("formatting"), [])
    expect(c.end(), 0)


def bench():
    """Prints the time of each request on 10,000 lines; nothing fails on time."""
    c = opened(large())
    c.diagnostics()
    where = [c.find(f"|v{k}: f32") for k in range(1000, 9000, 400)]

    def cpu():
        fields = pathlib.Path(f"/proc/{c.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")

    def show(name, call, times=20):
        took, before = [], cpu()
        for k in range(times):
            start = time.perf_counter()
            call(k)
            took.append((time.perf_counter() - start) * 1000)
        took.sort()
        print(f"{name:28} median {took[len(took) // 2]:7.1f} ms   most {took[-1]:7.1f} ms   "
              f"of the server's CPU {(cpu() - before) / times:6.1f} ms")

    def change(k):
        at = where[k] + 1
        c.edit(at, at, "1")
        c.diagnostics()

    def undo(k):
        at = where[k] + 1
        c.edit(at, at + 1, "")
        c.diagnostics()

    for k in range(len(where)):
        where[k] = c.text.index("16]", where[k])
    show("change with an error", change)
    show("change back", lambda k: undo(len(where) - 1 - k))
    use = c.find("add(|v4999, v4998)")
    for method in ("hover", "definition", "references", "completion"):
        show(method, lambda k, m=method: c.at(m, use))
    show("rename", lambda k: c.at("rename", use, newName="other"))
    for method in ("documentSymbol", "formatting", "semanticTokens/full"):
        show(method, lambda k, m=method: c.of_document(m), 5)
    expect(c.end(), 0)


def main():
    tests = {name[5:]: f for name, f in globals().items() if name.startswith("test_")} | {"bench": bench}
    apart = ("bench", "large", "random_edits")
    chosen = sys.argv[2:] or [name for name in tests if name not in apart]
    failed = 0
    for name in chosen:
        try:
            tests[name]()
        except Exception as error:  # noqa: BLE001: each test reports its error
            failed += 1
            import traceback
            traceback.print_exc()
            print(f"FAILED {name}: {error}", file=sys.stderr)
    print(f"{len(chosen) - failed} of {len(chosen)} tests of hirc lsp passed")
    sys.exit(failed > 0)


main()
