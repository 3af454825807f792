#!/usr/bin/env python3
"""Looks at pages of `hirc report` in Chromium, light and dark, 1280 and 400 pixels wide: usage `browser.py HIRC
[FOLDER]`; FOLDER keeps the screenshots.

In each page the window has the requested width and colours, the page does not scroll sideways, wide content scrolls
in its own box, text has a contrast of at least 4.5 to 1 (WCAG AA), no section is empty, and no labels of a picture
overlap. The screenshot has the background of its colour scheme. Exits with 77 if there is no Chromium.
"""
import html
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAMS = ["ag_matmul", "transformer_layer", "moe_layer", "fsdp_transformer_backward"]
BACKGROUND = {"light": (255, 255, 255), "dark": (0x12, 0x16, 0x1C)}

# The page is in a frame, since windows are at least 500 pixels wide. The frame has the window's colour scheme.
FRAME = """<!DOCTYPE html><html><head><meta charset="utf-8"><meta name="color-scheme" content="light dark"></head><body>
<iframe style="border:0;color-scheme:light dark" width="{}" height="900" srcdoc="{}"></iframe></body></html>"""

# A script added to a copy of the page; its findings are the text of an element that --dump-dom prints.
LOOK = r"""<script>
addEventListener('load', () => {
  const faults = [], root = document.documentElement;
  document.querySelectorAll('details').forEach(d => d.open = true);
  const fault = text => faults.length < 20 && faults.push(text);
  if (innerWidth != WIDTH) fault(`the window is ${innerWidth} wide`);
  if (matchMedia('(prefers-color-scheme: dark)').matches != (SCHEME == 'dark')) fault('it is not ' + SCHEME);
  if (root.scrollWidth > innerWidth) fault(`the page is ${root.scrollWidth} wide`);
  const channel = c => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  const bright = c => 0.2126 * channel(c[0]) + 0.7152 * channel(c[1]) + 0.0722 * channel(c[2]);
  const colour = text => { const n = text.match(/[\d.]+/g).map(Number); return n.length < 4 || n[3] ? n : null; };
  const behind = e => { for (; e; e = e.parentElement) { const c = colour(getComputedStyle(e).backgroundColor);
    if (c) return c; } return [255, 255, 255]; };
  const seen = new Set();
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const e = walk.currentNode.parentElement;
    if (!walk.currentNode.data.trim() || e.closest('svg') || !e.getClientRects().length) continue;
    const a = colour(getComputedStyle(e).color), b = behind(e), x = bright(a), y = bright(b);
    const ratio = (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05), key = a + '/' + b;
    if (ratio >= 4.5 || seen.has(key)) continue;
    seen.add(key);
    fault(`'${walk.currentNode.data.trim().slice(0, 30)}' has a contrast of ${ratio.toFixed(2)}`);
  }
  document.querySelectorAll('body *').forEach(e => {
    const r = e.getBoundingClientRect();
    if (e.closest('svg') && e.tagName != 'svg') return;
    if (r.width && (r.right > innerWidth + 1 || r.left < -1) && !e.parentElement.closest('.box, figure'))
      fault(`a ${e.tagName} reaches from ${r.left} to ${r.right}`);
    const style = getComputedStyle(e);
    if (e.scrollWidth > e.clientWidth + 1 && e.clientWidth && style.overflowX != 'auto' && style.display != 'inline' &&
        !e.closest('svg') && !e.parentElement.closest('.box, figure') && !e.matches('.box, figure'))
      fault(`a ${e.tagName} '${e.textContent.slice(0, 30)}' is clipped`);
  });
  document.querySelectorAll('section').forEach(s => { if (s.children.length < 2) fault(`${s.id} is empty`); });
  document.querySelectorAll('svg').forEach(svg => {
    const labels = [...svg.querySelectorAll('text')].map(t => [t.getBoundingClientRect(), t.firstChild.data]);
    labels.sort((a, b) => a[0].left - b[0].left);
    labels.forEach(([a, text], k) => { for (let i = k + 1; i < labels.length && labels[i][0].left < a.right - 1; i++) {
      const b = labels[i][0], down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (down > 0.35 * Math.min(a.height, b.height)) fault(`'${text}' and '${labels[i][1]}' overlap`); } });
  });
  const found = document.createElement('pre');
  found.id = 'found-by-the-test';
  found.textContent = JSON.stringify(faults);
  parent.document.body.append(found);
});
</script>"""


def chromium():
    for name in ("chromium", "chromium-browser", "google-chrome", "chrome"):
        if shutil.which(name):
            return shutil.which(name)
    print("no Chromium is here")
    sys.exit(77)


class Browser:
    def __init__(self, folder):
        self.program, self.folder = chromium(), folder
        self.environment = {k: v for k, v in os.environ.items() if k != "LD_LIBRARY_PATH"}

    def run(self, page, width, height, scheme, *options):
        command = [self.program, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                   f"--user-data-dir={self.folder}/profile", f"--window-size={width},{height}",
                   f"--blink-settings=preferredColorScheme={int(scheme == 'light')}", *options, f"file://{page}"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=self.environment)
        if done.returncode:
            sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr[-2000:]}")
        return done.stdout

    def look(self, page, width, scheme):
        copy = f"{self.folder}/look.html"
        script = LOOK.replace("WIDTH", str(width)).replace("SCHEME", f"'{scheme}'")
        with open(page, encoding="utf-8") as given, open(copy, "w", encoding="utf-8") as out:
            out.write(FRAME.format(width, html.escape(given.read().replace("</body>", script + "</body>"))))
        dom = self.run(copy, 1400, 1000, scheme, "--dump-dom")
        found = re.search(r'<pre id="found-by-the-test">(.*?)</pre>', dom, re.DOTALL)
        return json.loads(html.unescape(found.group(1))) if found else ["the page was not looked at"]

    def corner(self, page, width, scheme, picture):
        self.run(page, width, 900, scheme, f"--screenshot={picture}")
        return first_pixel(picture, width)


def first_pixel(path, width):
    """Returns the colour of the top left pixel, which no filter of an image's rows has changed."""
    with open(path, "rb") as file:
        data = file.read()
    at, body = 8, b""
    while at < len(data):
        n, kind = struct.unpack(">I4s", data[at:at + 8])
        if kind == b"IHDR" and struct.unpack(">I", data[at + 8:at + 12])[0] != width:
            return None
        body += data[at + 8:at + 8 + n] if kind == b"IDAT" else b""
        at += n + 12
    return tuple(zlib.decompressobj().decompress(body, 4)[1:4])


def main():
    hirc = os.path.abspath(sys.argv[1])
    keep = os.path.abspath(sys.argv[2]) if len(sys.argv) > 2 else None
    faults, views = [], 0
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        browser = Browser(folder)
        for program in PROGRAMS:
            page = f"{folder}/{program}.html"
            subprocess.run([hirc, "report", f"examples/{program}.hir", "-o", page], cwd=ROOT, check=True,
                           stdout=subprocess.DEVNULL)
            for width in (1280, 400):
                for scheme in ("light", "dark"):
                    name = f"{program}, {width} pixels, {scheme}"
                    faults += [f"{name}: {x}" for x in browser.look(page, width, scheme)]
                    views += 1
                    if keep or program == PROGRAMS[0]:
                        picture = f"{keep or folder}/{program}.{width}.{scheme}.png"
                        if browser.corner(page, width, scheme, picture) != BACKGROUND[scheme]:
                            faults.append(f"{name}: the screenshot has another background, or width")
    for fault in faults[:40]:
        print(fault)
    if faults:
        sys.exit(f"{len(faults)} faults in {views} views")
    print(f"{views} views")


main()
