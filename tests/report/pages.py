#!/usr/bin/env python3
"""Reads pages of `hirc report` as a browser does: usage `pages.py HIRC`.

Tags are balanced, ids are unique, links have a target; a page names nothing outside of it and runs nothing. Names and
texts with <, >, & and quotes are shown unchanged. A long program has a page of bounded size.
"""
import html.parser
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FEW = bool(os.environ.get("HIRC_FEW"))
VOID = {"meta", "col", "br"}
LIMIT = 60  # time limit of a command
SECTIONS = "Summary Source Passes Layouts Timeline Memory Remarks Check".split()

NAMES = """# a comment with </td><script>alert(1)</script> & "quotes"
mesh ring(x = 2)
program `<b>bold</b>` on ring {
  input `X<&>"'`: f32[8@x, 4] = file("a<b>&.npy")
  `G</pre>`: f32[8, 4] = set(`X<&>"'`)
  output `Y--></svg>` = relu(`G</pre>`)
}
"""
SERIAL = """mesh ring(x = 2)
program serial on ring {
  input X: f32[64@x, 64]
  input W: f32[64, 64]
  main = get_current_stream()
  G: f32[64, 64] = allocate()
  G <- allgather(X, axis=x) as c
  wait(c)
  output Y: f32[64, 64] = allocate()
  Y <- linear(G, W)
}
"""


class Page(html.parser.HTMLParser):
    def __init__(self, name, text):
        super().__init__(convert_charrefs=True)
        self.name, self.text, self.open, self.ids, self.targets = name, text, [], set(), set()
        self.faults, self.words, self.sections = [], [], []
        self.feed(text)
        self.close()
        if self.open:
            self.fault(f"{self.open} are not closed")
        for target in self.targets - self.ids:
            self.fault(f"#{target} leads nowhere")
        outside = re.sub(r'xmlns="http://www\.w3\.org/2000/svg"', "", text)
        for wrong in ("http:", "https:", "url(", "@import", "javascript:"):
            if wrong in outside:
                self.fault(f"it has {wrong}")
        if "prefers-color-scheme:dark" not in text or not text.startswith("<!DOCTYPE html>"):
            self.fault("it has no dark half, or is no page")

    def fault(self, text):
        self.faults.append(f"{self.name}: {text} (line {self.getpos()[0]})")

    def handle_starttag(self, tag, attributes):
        if tag in ("script", "link", "iframe", "img", "image", "object", "embed", "base"):
            self.fault(f"it has a {tag}")
        for key, value in attributes:
            if key == "id":
                if value in self.ids:
                    self.fault(f"two have the id {value}")
                self.ids.add(value)
            elif key == "href":
                if not value.startswith("#"):
                    self.fault(f"it leads to {value}")
                self.targets.add(value[1:])
            elif key == "src" or key.startswith("on"):
                self.fault(f"it has an attribute {key}")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if not self.open or self.open[-1] != tag:
            self.fault(f"</{tag}> closes {self.open[-1:]}")
        else:
            self.open.pop()

    def handle_data(self, data):
        self.words.append(data)
        if self.open and self.open[-1] == "h2":
            self.sections.append(data)

    def shown(self):
        return "".join(self.words)


def report(hirc, program, *options, source=None):
    command = [hirc, "report", *program.split(), "-o", "-", *options]
    done = subprocess.run(command, input=source, capture_output=True, cwd=ROOT, timeout=LIMIT)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr.decode()}")
    return Page(" ".join([program, *options]), done.stdout.decode("utf-8"))


def expect(page, *texts):
    for text in texts:
        if text not in page.shown():
            page.fault(f"it does not show {text!r}")


def long_program(n):
    lines = ["mesh m(x = 2)", "program long on m {", "  input X0: f32[64@x, 32]"]
    lines += [f"  X{k + 1}: f32[64@x, 32] = {'relu' if k % 10 else 'neg'}(X{k})" for k in range(n)]
    return "\n".join(lines + [f"  output Y = relu(X{n})", "}", ""])


def pages(hirc):
    examples = sorted(x for x in os.listdir(f"{ROOT}/examples") if x.endswith(".hir"))
    for name in examples[::4] if FEW else examples:
        page = report(hirc, f"examples/{name}")
        for section in SECTIONS:
            if section not in page.sections:
                page.fault(f"it has no section {section}")
        if len(page.text) > 500_000:
            page.fault(f"it takes {len(page.text)} bytes")
        again = report(hirc, f"examples/{name}")
        if page.text != again.text:
            page.fault("the second time it is another")
        yield page
    others = ["names", "operations", "two_meshes", "nvfuser_p2p", "double_buffer", "several_results", "uneven"]
    for name in others[::3] if FEW else others:
        yield report(hirc, f"tests/compile/{name}.hir")
    page = report(hirc, "tests/sim/two_layers.graph")
    expect(page, "step time, predicted", "live memory over time")
    yield page
    yield report(hirc, "examples/ag_matmul.hir", "--np=8", "--pipeline=permute")
    yield report(hirc, "examples/ag_matmul.hir", "--np=3", "--stop-after=parse")
    yield report(hirc, "examples/ag_matmul.hir", "--effort=1", "--memory-limit=60K", "--cluster=h100")

    page = report(hirc, "-", "--title", "<i>&amp;</i>", source=NAMES.encode())
    expect(page, "<i>&amp;</i>", "</td><script>alert(1)</script> & \"quotes\"", "`X<&>\"'`", "`Y--></svg>`",
           "hirc report -o - '--title=<i>&amp;</i>' -")
    yield page
    page = report(hirc, "examples/ag_matmul.hir", os.fsdecode(b"--title=bad \xff\xc3"))
    expect(page, "bad \ufffd\ufffd")
    yield page

    page = report(hirc, "-", "--passes=", source=SERIAL.encode())
    expect(page, "No pass ran.", "In order.", "live memory over time")
    yield page

    page = report(hirc, "examples/ag_matmul.hir", "--run")
    expect(page, "step time, measured", "Measured, by a run on this machine")
    yield page

    page = report(hirc, "examples/ag_matmul.hir examples/ag_matmul.hir")
    expect(page, "in examples/ag_matmul.hir", "In order.")
    yield page

    count = 1000 if FEW else 4000
    page = report(hirc, "-", source=long_program(count).encode())
    expect(page, "more lines: ", f"print-after=allocate")
    if len(page.text) > 1_500_000:
        page.fault(f"it takes {len(page.text)} bytes")
    yield page


def measured(hirc):
    with tempfile.TemporaryDirectory() as folder:
        trace = f"{folder}/a<b>.json"
        subprocess.run([hirc, "run", "examples/moe_layer.hir", f"--trace={trace}"], cwd=ROOT, check=True,
                       timeout=LIMIT)
        with open(trace, encoding="utf-8") as file:
            json.load(file)
        page = report(hirc, "examples/moe_layer.hir", f"--trace={trace}")
        expect(page, f"Measured, as {trace} says it", "ratio")
        return page


def told(hirc):
    """A command shown on a page must print the page's figures."""
    with open(f"{ROOT}/examples/ag_matmul.hir", encoding="utf-8") as file:
        more = "".join(f"  input More{k}: f32[8]\n" for k in range(16))
        source = re.sub(r"(?m)^(program .*\{\n)", lambda match: match.group(1) + more, file.read()).encode()
    page = report(hirc, "-", "--np=8", "--pipeline=p2p", "--streams=1", source=source)
    command = re.search(r"<code>(hirc sim [^<]* --memory=[^<]*)</code>", page.text)
    step = re.search(r"<b>([^<]*)</b><span>step time, predicted", page.text)
    if not command or not step:
        page.fault("it has no step time, or no command for what is live at the peak")
        return page
    words = command.group(1).split()[1:]
    done = subprocess.run([hirc, *words], input=source, capture_output=True, cwd=ROOT, timeout=LIMIT)
    said = re.search(r"step time +(.*)", done.stdout.decode())
    if not said or said.group(1) != step.group(1):
        page.fault(f"{command.group(1)} says {said and said.group(1)}, the page {step.group(1)}")
    return page


def main():
    hirc = sys.argv[1]
    faults, count = [], 0
    for page in [*pages(hirc), measured(hirc), told(hirc)]:
        faults += page.faults
        count += 1
    for fault in faults[:20]:
        print(fault)
    if faults:
        sys.exit(f"{len(faults)} faults in {count} pages")
    print(f"{count} pages")


main()
