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

# Two collectives whose bucket is far larger than the last column of its table; the limit is 5 % above large weights.
WIDE_STEP = """hircgraph 1
graph wide_step
launch_us 1
hw name=any dram_Bps=1e16
group 0 size=2
coll group=0 size=2 coll=reduce_scatter src=table used=1 mb_ms=1:0.0631196444,2:0.0862392889
storage 0 bytes=6442450944 dev=cuda def=0 kind=input
storage 1 bytes=3221225472 dev=cuda def=1 kind=temp saved=1
storage 2 bytes=3221225472 dev=cuda def=3 kind=temp saved=1
storage 3 bytes=412316860416 dev=cuda def=5 kind=input
node 0 g placeholder in= out=f32[1610612736] bytes=6442450944 time_us=0 kind=input st=0
node 1 c1 reduce_scatter in=0 out=f32[805306368] bytes=3221225472 time_us=142087 kind=comm st=1 group=0 group_size=2 coll=reduce_scatter inbytes=6442450944
node 2 w1 wait in=1 out=f32[805306368] bytes=3221225472 time_us=0 kind=wait st=1 alias=1
node 3 c2 reduce_scatter in=0 out=f32[805306368] bytes=3221225472 time_us=142087 kind=comm st=2 group=0 group_size=2 coll=reduce_scatter inbytes=6442450944
node 4 w2 wait in=3 out=f32[805306368] bytes=3221225472 time_us=0 kind=wait st=2 alias=3
node 5 weights placeholder in= out=f32[103079215104] bytes=412316860416 time_us=0 kind=input st=3
node 6 output output in=2,4 out=none bytes=0 time_us=0 kind=output
end nodes=7 storages=4
"""


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


OLD = """#!/bin/sh
'HIRC' "$@" 2>'FOLDER/timing'
status=$?
sed 's/cpu_ms/ms/g' 'FOLDER/timing' >&2
exit $status
"""
KILLED = """#!/bin/sh
test "$1" != compile || kill -9 $$
exec 'HIRC' "$@"
"""


def bad_hirc_is_told(hirc, script, reason):
    """A hirc that does not state its processor time, or is killed, is named as the reason."""
    with tempfile.TemporaryDirectory() as folder:
        bad = os.path.join(folder, "hirc")
        with open(bad, "w") as out:
            out.write(script.replace("HIRC", hirc).replace("FOLDER", folder))
        os.chmod(bad, 0o755)
        with open(os.path.join(folder, "wide_step.graph"), "w") as out:
            out.write(WIDE_STEP)
        judge = [sys.executable, os.path.join(ROOT, "tools/bench-overlap"), "--runs=1", "--effort=1", "--hirc", bad, folder]
        done = subprocess.run(judge, stdout=subprocess.PIPE, text=True)
    if done.returncode != 1 or reason not in done.stdout:
        sys.exit("bench-overlap reports a bad hirc otherwise:\n" + done.stdout)


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
    bad_hirc_is_told(hirc, OLD, "states no cpu_ms")
    bad_hirc_is_told(hirc, KILLED, "hirc ends with -9")
    with tempfile.TemporaryDirectory() as folder:
        for name, options in KINDS.items():
            path = os.path.join(folder, name + ".graph")
            with open(path, "w") as out:
                subprocess.run([sys.executable, os.path.join(ROOT, "tools/gen_graph"), *options], stdout=out, check=True)
            if schedule(hirc, path) != schedule(hirc, path):
                sys.exit(f"{name}: two runs give two schedules")
        with open(os.path.join(folder, "wide_step.graph"), "w") as out:
            out.write(WIDE_STEP)
        status = subprocess.run(judge + [folder, "--effort", "0", "1", "2"]).returncode
        varied = ["--only=forward|tensor", "--effort", "2", "--perturb", "--limit"]
        sys.exit(status or subprocess.run(judge + [folder, *varied]).returncode)


main()
