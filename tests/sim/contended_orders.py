#!/usr/bin/env python3
"""Random programs: the scheduler and the simulator give one time, to the nanosecond, where work and communication slow
each other.

    contended_orders.py HIRC [COUNT]

Without launches the host of the scheduler's model and a device with one stream do the same. The time of the order as
it is written, in the remark of schedule-overlap, is the step of `hirc sim`. Each collective has figures of its own in
the cluster, and collectives of two communicators share a link in every other cluster.
"""
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile

KINDS = {
    "allreduce": ("f32[64] partial(%s)", "f32[64]"),
    "allgather": ("f32[64@%s]", "f32[64]"),
    "reduce_scatter": ("f32[64] partial(%s)", "f32[64@%s]"),
}


def cluster_of(r):
    def factor():
        return 1000 + r.choice([0, 0, r.randrange(1, 1800)])

    stated = [{"collective": kind, "compute_per_mille": factor(), "comm_per_mille": factor()} for kind in KINDS]
    tables = [{"collective": kind, "ranks": 2, "span": 4, "bytes_ns": [[256, r.randrange(500, 9000)]]} for kind in KINDS]
    link = {"span": 4, "alpha_ns": 1000, "bytes_per_s": 1000000000, "shared": r.randrange(2)}
    return {
        "version": 1, "name": "random", "launch_ns": 0,
        "device": {"memory_bytes": 1 << 30, "memory_bytes_per_s": 10**9, "flops_per_s": {"f32": 10**9}},
        "links": [link], "collectives": tables,
        "contention": {"compute_per_mille": 1000, "comm_per_mille": 1000, "collectives": stated},
    }


def program_of(r):
    inputs, lines, open_comms = [], [], []
    for k in range(r.randrange(4, 16)):
        if r.randrange(3) == 0 and open_comms:
            lines.append(f"wait({open_comms.pop(r.randrange(len(open_comms)))})")
        elif r.randrange(2):
            kind, axis = r.choice(list(KINDS)), r.choice("xy")
            source, result = (text.replace("%s", axis) for text in KINDS[kind])
            inputs.append(f"input X{k}: {source}")
            lines += [f"Z{k}: {result} = allocate()", f"Z{k} <- {kind}(X{k}, axis={axis}) as c{k}"]
            open_comms.append(f"c{k}")
        else:
            lines += [f"A{k}: f32[64] = allocate()", f'A{k} <- extern "a"() {{time={r.randrange(1, 9000)}}}']
    lines += [f"wait({comm})" for comm in open_comms]
    body = "".join(f"  {line}\n" for line in inputs + lines)
    return f"mesh m(y = 2, x = 2)\nprogram p on m {{\n{body}}}\n"


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{command}: exit code {done.returncode}\n{done.stderr[-2000:]}")
    return done.stdout + done.stderr


def main():
    hirc, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 60
    bad = slowed = compared = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        program, cluster = folder / "p.hir", folder / "c.json"
        for seed in range(count):
            r = random.Random(seed)
            program.write_text(program_of(r))
            figures = cluster_of(r)
            cluster.write_text(json.dumps(figures))
            remarks = run([hirc, "compile", program, f"--cluster={cluster}", "--passes=schedule-overlap{effort=0}", "--remarks"])
            scheduled = re.search(r"instead of ([0-9.]+)", remarks)
            step = json.loads(run([hirc, "sim", program, f"--cluster={cluster}", "--passes=", "--json"]))["step_ns"]
            del figures["contention"]
            figures["links"][0]["shared"] = 0
            cluster.write_text(json.dumps(figures))
            slowed += step != json.loads(run([hirc, "sim", program, f"--cluster={cluster}", "--passes=", "--json"]))["step_ns"]
            compared += scheduled is not None
            if scheduled and round(float(scheduled[1]) * 1000) != step:
                print(f"seed {seed}: the scheduler says {scheduled[1]} us, the simulator {step} ns\n{program.read_text()}")
                bad += 1
    print(f"{count} programs, {compared} compared, {slowed} slowed by contention, {bad} bad")
    sys.exit(bad > 0 or min(compared, slowed) < count // 3)


main()
