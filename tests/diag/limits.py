#!/usr/bin/env python3
"""Prints a program that is too deep, too long or too large; without NAME, the names of all of them.

limits.py [NAME]
"""
import sys

N, HUGE = 100000, 1 << 62


def program(body, head="mesh m(x = 2)"):
    return head + "\nprogram p on m {\n  input X: f32[8]\n" + body + "\n  output X\n}\n"


def axis(extent):
    return program("  Y: f32[%s] = full(0.0)" % extent)


CASES = {
    "parentheses": lambda: program("  Y: f32[" + "(" * N + "1" + ")" * N + "] = X"),
    "open": lambda: program("  Y: f32[" + "(" * N),
    "minus": lambda: program("  Y: f32[" + "-" * N + "1] = X"),
    "calls": lambda: program("  Y = " + "relu(" * N + "X" + ")" * N),
    "sums": lambda: program("  Y = " + "X + " * N + "X"),
    "loops": lambda: program("  for i in 0..2 {\n" * N + "}\n" * N),
    "conditions": lambda: program("  if 1 < 2 {\n" * N + "}\n" * N),
    "braces": lambda: "mesh m(x) = " + "{" * N,
    "blocks-of-dumps": lambda: "%HostIrContainer { (T0_g_float[iS1{4}]) -> () :\n" + "".join(
        "  " * (k + 1) + "FOR i%d from 0 to 2:\n" % k for k in range(1000)),
    "ranks": lambda: program("", "mesh m(x = 1000000000)"),
    "ranks-by-axes": lambda: program("", "mesh m(x = 65536, y = %d)" % HUGE),
    "device": lambda: program("", "mesh m(x) = {1000000000}"),
    "devices": lambda: program("", "mesh m(x) = {0..999999999}"),
    "group": lambda: "group g(1000000000)\n" + program(""),
    "mesh-axes": lambda: program("", "mesh m(%s)" % ", ".join("a%d = 1" % k for k in range(1000))),
    "axes": lambda: axis(", ".join("1" for _ in range(N))),
    "placements": lambda: axis("8" + "@stream(2)" * N),
    "partials": lambda: program("  Y: f32[8] partial(" + "x, " * N + "x) = X"),
    "extent": lambda: axis("%d" % (1 << 63)),
    "extents": lambda: axis("%d * 4" % HUGE),
    "padding": lambda: program("  Y = pad(X, axis=0, before=%d, after=%d)" % (HUGE, HUGE)),
    "transforms": lambda: program("  Y = relu(X)\n  schedule Y { " + "split 0 inner 1; " * N + "}"),
    "operands": lambda: program("  Y: f32[8] = cat(" + "X, " * 300000 + "X)"),
    "results": lambda: program(", ".join("Y%d: f32[8]" % k for k in range(300)) + ' = extern "f"(X)'),
    "attributes": lambda: program('  Y: f32[8] = extern "f"(X) {' + ", ".join("a%d=1" % k for k in range(N)) + "}"),
    "numbers": lambda: program('  Y: f32[8] = extern "f"(X) {a=(' + "1, " * 300000 + "1)}"),
    "lets": lambda: program("\n".join(["  let a0 = rank"] + ["  let a%d = a%d + a%d" % (k, k - 1, k - 1)
                                                              for k in range(1, 200)])),
    "name": lambda: program("  " + "a" * (1 << 22) + " = relu(X)"),
    "string": lambda: program('  Y: f32[8] = extern "' + "a" * (1 << 22) + '"(X)'),
    "line": lambda: "#" + "a" * (1 << 26),
}
# These compile.
LARGE = {
    "axis": lambda: axis(HUGE),
    "product": lambda: axis("%d, %d" % (HUGE, HUGE)),
    "bytes": lambda: axis("%d@x" % HUGE),
    "blocks": lambda: axis("8@block(%d)" % HUGE),
}

if len(sys.argv) < 2:
    print("\n".join(CASES))
else:
    sys.stdout.write({**CASES, **LARGE}[sys.argv[1]]())
