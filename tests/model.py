#!/usr/bin/env python3
"""model.py HIRC: the models of tools/gen_llama are right.

The whole model is checked on 128 ranks. Each small model is checked, and compared with the reference, on several numbers of ranks along tp, pp and dp. The gradients, which
gen_llama writes out, are compared with differences of the loss: a weight W is scaled by 1 + t and 1 - t, and the loss
changes by 2 * t * sum(dW * W).
"""
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
SHAPES = [(2, 2, 1), (2, 1, 2), (1, 2, 2), (1, 4, 1), (2, 2, 2)]  # tp, pp, dp
T = 1e-5
LOSS = """  input labels: i32[b@dp, s] on s0 = iota()
  largest = max(logits0, axis=2, keepdims=true)
  rest = log(sum(exp(logits0 - largest), axis=2, keepdims=true)) + largest
  hit: f64[b@dp, s, v] on s0 = one_hot(labels)
  output loss = sum(rest)*%r - sum(hit*logits0)*%r
"""


def written(*options):
    command = [sys.executable, ROOT / "tools" / "gen_llama", *options]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def ran(hirc, program, *words):
    done = subprocess.run([hirc, *words], input=program, capture_output=True, text=True, check=False)
    if done.returncode or ("--output" not in words[-1] and not done.stdout.startswith("ok: ")):
        sys.exit("wrong: hirc %s: exit code %d\n%s" % (" ".join(words), done.returncode, (done.stdout + done.stderr)[-900:]))


def numbers(hirc, program, names):
    """Returns outputs of one element."""
    with tempfile.TemporaryDirectory() as folder:
        ran(hirc, program, "run", "-", "--bootstrap=thread", *["--output=%s=%s/%s.npy" % (n, folder, n) for n in names])
        return {n: struct.unpack("<d", pathlib.Path(folder, n + ".npy").read_bytes()[-8:])[0] for n in names}


def test_ranks(hirc):
    for tp, pp, dp in SHAPES:
        for options in (["--micro-batches=1"], ["--micro-batches=3", "--backward"]):
            program = written("--small", "--tp=%d" % tp, "--pp=%d" % pp, "--dp=%d" % dp, *options)
            ran(hirc, program, "check", "-")
            ran(hirc, program, "run", "-", "--check", "--bootstrap=thread")
            print("right: tp=%d, pp=%d, dp=%d, %s" % (tp, pp, dp, " ".join(options)))


def test_gradients(hirc):
    one = ["--small", "--tp=1", "--pp=1", "--dp=1"]
    backward = written(*one, "--backward").rstrip()[:-1]
    weights = re.findall(r"^  output d(\w+):", backward, re.M)
    backward += "".join("  output sum_%s = sum(d%s*%s)\n" % (w, w, w) for w in weights) + "}\n"
    sums = numbers(hirc, backward, ["sum_" + w for w in weights])
    tokens = int(re.search(r"^const s = (\d+)", backward, re.M)[1])
    forward = written(*one).rstrip()[:-1] + LOSS % (1 / tokens, 1 / tokens) + "}\n"
    for weight in weights:
        loss = [numbers(hirc, re.sub(r"(input %s: .*scale=)(\S+)\)" % weight,
                                     lambda m, by=by: "%s%r)" % (m[1], float(m[2])*by), forward), ["loss"])["loss"]
                for by in (1 + T, 1 - T)]
        difference, product = (loss[0] - loss[1]) / (2 * T), sums["sum_" + weight]
        if abs(difference - product) > 1e-6 * (abs(product) + 1e-3):
            sys.exit("wrong: d%s: sum(dW * W) is %r, the loss changes by %r" % (weight, product, difference))
    print("right: gradients of %d weights" % len(weights))


def test_whole(hirc):
    ran(hirc, written(), "check", "-")
    print("right: the whole model")


test_whole(sys.argv[1])
test_ranks(sys.argv[1])
test_gradients(sys.argv[1])
