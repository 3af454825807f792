#!/usr/bin/env python3
"""optimum.py OPTIMUM [--first SEED] [--count N] [--nodes N] [--layers] [OPTION…]: draws small graphs, and compares their
schedules and lower bounds with the best of all orders and buckets. OPTIMUM is the program of main.c; it gets the other
options.
"""
import argparse
import subprocess
import sys
import tempfile

from small_graphs import write_graphs


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("optimum")
    p.add_argument("--first", type=int, default=1)
    p.add_argument("--count", type=int, default=1000)
    p.add_argument("--nodes", type=int, default=12)
    p.add_argument("--layers", action="store_true")
    o, more = p.parse_known_args()
    with tempfile.TemporaryDirectory() as folder:
        paths = write_graphs(folder, o.first, o.count, o.nodes, o.layers)
        sys.exit(subprocess.run([o.optimum, *more, *paths]).returncode)


main()
