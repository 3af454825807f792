#!/usr/bin/env python3
"""overlap.py HIRC [--shared]: schedules of graphs, judged by tools/bench-overlap.

tools/gen_graph makes graphs of several kinds; with --shared they are those in $HIRC_SHARED/graphs (exit code 77 if
there are none). Two runs must give the same bytes.
"""
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
KINDS = {
    "forward": ["--stage=forward", "--layers=4"],
    "backward": ["--stage=backward", "--layers=4"],
    "train": ["--stage=train", "--layers=3", "--ranks=256"],
    "tensor_parallel": ["--stage=train", "--layers=3", "--tensor-parallel=8", "--seed=2"],
    "wait_views": ["--stage=train", "--layers=2", "--wait-views", "--seed=4"],
    "experts": ["--stage=backward", "--layers=3", "--experts", "--seed=3"],
}


def schedule(hirc, graph):
    passes = "--passes=schedule-overlap{effort=2}"
    return subprocess.run([hirc, "sim", graph, passes, "--schedule=-"], stdout=subprocess.PIPE, check=True).stdout


def main():
    hirc = sys.argv[1]
    judge = [sys.executable, os.path.join(ROOT, "tools/bench-overlap"), "--hirc", hirc, "--runs=1"]
    if len(sys.argv) > 2:
        shared = os.environ.get("HIRC_SHARED") or os.path.join(os.path.dirname(ROOT), "shared")
        folder = os.path.join(shared, "graphs")
        if not os.path.isdir(folder):
            print(f"{folder} is not there")
            sys.exit(77)
        sys.exit(subprocess.run(judge + [folder, "--effort=1"]).returncode)
    with tempfile.TemporaryDirectory() as folder:
        for name, options in KINDS.items():
            path = os.path.join(folder, name + ".graph")
            with open(path, "w") as out:
                subprocess.run([sys.executable, os.path.join(ROOT, "tools/gen_graph"), *options], stdout=out, check=True)
            if schedule(hirc, path) != schedule(hirc, path):
                sys.exit(f"{name}: two runs give two schedules")
        sys.exit(subprocess.run(judge + [folder, "--effort", "0", "1", "2"]).returncode)


main()
