#!/usr/bin/env python3
"""overlap.py HIRC [--shared]: schedules of graphs, judged by tools/bench-overlap.

tools/gen_graph makes graphs of several kinds, which are also perturbed and scheduled in less memory; with --shared they are those in $HIRC_SHARED/graphs (exit code 77 if
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


def failures_are_told(judge):
    """The table goes on after a graph that cannot be read, and after one that cannot be scheduled."""
    node = "node 0 a op in= out=f32[1] bytes=4 time_us=%s kind=compute st=0\n"
    storage = "hircgraph 1\nstorage 0 bytes=4 dev=cuda def=0 kind=temp\n"
    graphs = {"damaged": "hircgraph 1\nnode 0\n", "empty": "", "endless": storage + node % "1e30" + "end nodes=1 storages=1\n",
              "good": storage + node % 5 + "end nodes=1 storages=1\n"}
    with tempfile.TemporaryDirectory() as folder:
        for name, text in graphs.items():
            with open(os.path.join(folder, name + ".graph"), "w") as out:
                out.write(text)
        done = subprocess.run(judge + [folder, "--effort", "1"], stdout=subprocess.PIPE, text=True)
    told = [line.split()[0] for line in done.stdout.splitlines() if line.strip()]
    if done.returncode != 1 or [word for word in told if word.strip(":") in graphs] != ["damaged:", "empty:", "endless:", "good"]:
        sys.exit("bench-overlap reports damaged graphs otherwise:\n" + done.stdout)


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
    failures_are_told(judge)
    with tempfile.TemporaryDirectory() as folder:
        for name, options in KINDS.items():
            path = os.path.join(folder, name + ".graph")
            with open(path, "w") as out:
                subprocess.run([sys.executable, os.path.join(ROOT, "tools/gen_graph"), *options], stdout=out, check=True)
            if schedule(hirc, path) != schedule(hirc, path):
                sys.exit(f"{name}: two runs give two schedules")
        status = subprocess.run(judge + [folder, "--effort", "0", "1", "2"]).returncode
        varied = ["--only=forward|tensor", "--effort", "2", "--perturb", "--limit"]
        sys.exit(status or subprocess.run(judge + [folder, *varied]).returncode)


main()
