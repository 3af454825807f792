#!/usr/bin/env python3
"""tools/fx2hir.py on a model of two layers: what it writes, and that hirc schedules it.

    fx2hir.py HIRC

Runs by the Python of the environment variable HIRC_TORCH_PYTHON if there is one, which has torch; without torch it is
skipped (77).
"""
import io
import operator
import os
import pickle
import re
import subprocess
import sys
import tempfile

if os.environ.get("HIRC_TORCH_PYTHON") and not os.environ.get("HIRC_TORCH_STARTED"):
    os.environ["HIRC_TORCH_STARTED"] = "1"
    os.execv(os.environ["HIRC_TORCH_PYTHON"], [os.environ["HIRC_TORCH_PYTHON"], *sys.argv])
try:
    import torch
    import torch.distributed as dist
    import torch.distributed._functional_collectives as functional
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.proxy_tensor import make_fx
    from torch.testing._internal.distributed.fake_pg import FakeStore
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)
HIRC = os.path.abspath(sys.argv[1])
TOOL = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "tools", "fx2hir.py")
sys.path.insert(0, os.path.dirname(TOOL))
import fx2hir  # noqa: E402

RANKS = [0, 1, 2, 3]


def step(x, w1, w2, bias):
    for w in (w1, w2):
        gathered = functional.all_gather_tensor(w, 0, RANKS)
        x = torch.relu(x @ gathered.t())
    x.add_(bias)
    halves = torch.split(x, x.shape[0] // 2)
    total = functional.all_reduce(halves[0] + 1, "sum", [0, 1])
    return functional.reduce_scatter_tensor(x, "avg", 0, RANKS), total


def graph():
    with FakeTensorMode():
        inputs = torch.empty(2048, 4096), torch.empty(1024, 4096), torch.empty(1024, 4096), torch.empty(4096)
        return make_fx(step)(*inputs)


def written(module, **options):
    out = io.StringIO()
    fx2hir.write(module, out, **options)
    return out.getvalue()


def statement(text, name):
    return next(line for line in text.splitlines() if re.match(rf"  `?{name}`?:", line))


def check(condition, text):
    if not condition:
        sys.exit(f"failed: {sys._getframe(1).f_lineno}\n{text}")


def refused(function, message):
    try:
        function()
    except fx2hir.Unknown as error:
        check(message in str(error), str(error))
        return
    check(False, f"not refused: {message}")


def hirc(text, *options):
    done = subprocess.run([HIRC, *options], input=text, capture_output=True, text=True)
    check(done.returncode == 0, done.stderr)
    return done.stdout + done.stderr


NEW = ["all_gather_into_tensor(Tensor input, int group_size, str group_name) -> Tensor",
       "all_reduce_(Tensor(a!) input, str reduce_op, str group_name) -> Tensor(a!)",
       "all_reduce_coalesced(Tensor[] inputs, str reduce_op, str group_name) -> Tensor[]",
       "wait_tensor(Tensor tensor) -> Tensor"]


def new_graph():
    """By hand, of the operations that later versions of torch have."""
    if not hasattr(torch.ops._c10d_functional, "all_reduce_coalesced"):
        new_graph.library = torch.library.Library("_c10d_functional", "DEF")
        for schema in NEW:
            new_graph.library.define(schema)
    ops, g = torch.ops._c10d_functional, torch.fx.Graph()
    with FakeTensorMode():
        small, large = torch.empty(4, dtype=torch.bfloat16), torch.empty(32, dtype=torch.bfloat16)
        other = torch.empty(4, dtype=torch.complex64)

    def node(val, target, *args):
        made = g.call_function(target, args)
        made.meta["val"] = val
        return made

    x = g.placeholder("x")
    x.meta["val"] = small
    gathered = node(large, ops.all_gather_into_tensor.default, x, 8, "0")
    reduced = node(small, ops.all_reduce_.default, x, "sum", "dp")
    both = node([other, large], ops.all_reduce_coalesced.default, [x, gathered], "max", "dp")
    parts = [node(v, operator.getitem, both, k) for k, v in enumerate((other, large))]
    waits = [node(v.meta["val"], ops.wait_tensor.default, v) for v in (gathered, reduced, *parts)]
    g.output(tuple(waits))
    return torch.fx.GraphModule({}, g)


def check_new():
    module = new_graph()
    refused(lambda: written(module), "the size of the group 'dp' is not known")
    text = written(module, groups={"dp": [0, 4]})
    check(text.startswith("group g0(8)\ngroup dp(2) = {0 4}\n"), text)
    check("(x) {kind=allgather, group=g0}" in statement(text, "all_gather_into_tensor_default"), text)
    check("kind=allreduce, group=dp, op=sum, view=(0), writes=(0)" in statement(text, "all_reduce__default"), text)
    check("f32[4, 2], `all_reduce_coalesced_default.1`: bf16[32]" in text, text)
    check("(`all_reduce_coalesced_default.1`) {kind=wait" in statement(text, "wait_tensor_default_3"), text)
    hirc(text, "compile", "-", "--passes=schedule-overlap", "--cluster=h100")


def main():
    dist.init_process_group("fake", rank=0, world_size=4, store=FakeStore())
    module = graph()
    text = written(module, times={"mm": 81000}, name="step")
    names = [n.name for n in module.graph.nodes]
    check(all(re.search(rf"\b{n}\b", text) for n in names), text)
    check("g0(4) = {0 1 2 3}" in text or "(4) = {0 1 2 3}" in text, text)
    check("(2) = {0 1}" in text, text)
    check("f32[4096, 4096]" in statement(text, "all_gather_into_tensor"), text)
    check("kind=allgather, group=" in statement(text, "all_gather_into_tensor"), text)
    check("kind=wait, time=0, view=(0)" in statement(text, "wait_tensor"), text)
    check("kind=view, time=0, view=(0)" in statement(text, "t"), text)
    check("{time=81000}" in statement(text, "mm"), text)
    # 2 * 2048 * 4096 * 4096 operations; two operands and a result
    check("flops=68719476736, touches=134217728" in statement(text, "mm_1"), text)
    check("view=(0), writes=(0)" in statement(text, "add_"), text)
    check(re.search(r"  split: f32\[1024, 4096\], `split.1`: f32\[1024, 4096\] = .*view=\(0, 0\)", text), text)
    check('"py.getitem"(split) {kind=view, time=0, view=(0)}' in statement(text, "getitem"), text)
    check("op=sum" in statement(text, "all_reduce") and "op=avg" in statement(text, "reduce_scatter_tensor"), text)
    check("{kind=output, time=0, name=\"output\"}" in text, text)

    hirc(text, "compile", "-", "--stop-after=parse", "--verify-roundtrip")
    scheduled = hirc(text, "compile", "-", "--passes=schedule-overlap", "--cluster=h100", "--dump=hir")
    at = [scheduled.index(f"  {name}: ") for name in ("all_gather_into_tensor_1", "mm", "wait_tensor_1")]
    check(at == sorted(at), scheduled)  # the second gather runs beside the first product
    check("step time" in hirc(text, "sim", "-", "--cluster=h100"), text)

    check("{time=7}" in statement(written(module, times=lambda node: 7 if node.name == "relu" else None), "relu"), "")
    refused(lambda: written(module, times={"mm": -1}), "mm: a time is a whole number of nanoseconds, not -1")

    # without fake tensors: shapes from tensor_meta, storages from the schema
    plain = graph()
    for n in plain.graph.nodes:
        if "tensor_meta" in n.meta and n.op != "output":
            del n.meta["val"]
    other = written(plain, name="step")
    for name in ("t", "add_", "wait_tensor", "mm_1"):
        check(statement(other, name) == statement(text, name), other)
    for n in plain.graph.nodes:
        n.meta.clear()
    refused(lambda: written(plain), "no shape is known")

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "pair.pkl")
        with open(path, "wb") as file:
            pickle.dump((torch.fx.symbolic_trace(torch.nn.Linear(8, 4)), (torch.empty(2, 8),)), file)
        done = subprocess.run([sys.executable, TOOL, path, "--name", "linear"], capture_output=True, text=True)
        check(done.returncode == 0 and "f32[2, 4]" in done.stdout, done.stdout + done.stderr)
        hirc(done.stdout, "compile", "-", "--stop-after=parse")
    check_new()
    print("ok")


main()
