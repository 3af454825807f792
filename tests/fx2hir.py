#!/usr/bin/env python3
"""tools/fx2hir.py on a model of two layers: its output, and that hirc schedules it.

    fx2hir.py HIRC

Runs by the Python of the environment variable HIRC_TORCH_PYTHON, which has torch, if it is set; without torch it is
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
import warnings

if os.environ.get("HIRC_TORCH_PYTHON") and not os.environ.get("HIRC_TORCH_STARTED"):
    os.environ["HIRC_TORCH_STARTED"] = "1"
    os.execv(os.environ["HIRC_TORCH_PYTHON"], [os.environ["HIRC_TORCH_PYTHON"], *sys.argv])
try:
    import torch
    import torch.distributed as dist
    import torch.distributed._functional_collectives as functional
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.proxy_tensor import make_fx
    from torch.fx.passes.fake_tensor_prop import FakeTensorProp
    from torch.testing._internal.distributed.fake_pg import FakeStore
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)
HIRC = os.path.abspath(sys.argv[1])
TOOL = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "tools", "fx2hir.py")
sys.path.insert(0, os.path.dirname(TOOL))
import fx2hir  # noqa: E402

RANKS = [0, 1, 2, 3]
warnings.simplefilter("ignore")  # torch renames its parts, and the compiler here only keeps graphs


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
    """Makes a graph by hand, with operations of later versions of torch."""
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
    gathered = node(large, ops.all_gather_into_tensor.default, x, 8, "7")
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
    check(text.startswith("group g7(8)\ngroup dp(2) = {0 4}\n"), text)
    check("(x) {kind=allgather, group=g7}" in statement(text, "all_gather_into_tensor_default"), text)
    check("kind=allreduce, group=dp, op=sum, view=(0), writes=(0)" in statement(text, "all_reduce__default"), text)
    check("f32[4, 2], `all_reduce_coalesced_default.1`: bf16[32]" in text, text)
    check("(`all_reduce_coalesced_default.1`) {kind=wait" in statement(text, "wait_tensor_default_3"), text)
    hirc(text, "compile", "-", "--passes=schedule-overlap", "--cluster=h100")


def compiled(function, *inputs, **options):
    """Returns the graphs that torch.compile makes of a function and of its derivative."""
    from torch._dynamo.backends.common import aot_autograd

    graphs = []
    keep = lambda module, inputs: graphs.append(module) or module
    done = torch.compile(function, backend=aot_autograd(fw_compiler=keep, bw_compiler=keep), **options)(*inputs)
    if done.requires_grad:
        done.sum().backward()
    return graphs


def check_compiled():
    """Tensor parallelism by DTensor, as torch.compile traces it, forward and backward."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    model = torch.nn.Sequential(torch.nn.Linear(256, 1024), torch.nn.GELU(), torch.nn.Linear(1024, 256))
    mesh = init_device_mesh("cpu", (4,), mesh_dim_names=("tp",))
    parallelize_module(model, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
    x = torch.randn(64, 256, requires_grad=True)
    texts = [written(module) for module in compiled(model, x)]
    check(len(texts) == 2, str(len(texts)))
    for text in texts:
        check(statement(text, "all_reduce(_1)?").count("kind=allreduce, group=g") == 1, text)
        check("(4) = {0 1 2 3}" in text, text)
        check("flops=8388608" in text, text)  # 2 * 64 * 256 * 256, one rank's part
        hirc(text, "compile", "-", "--passes=schedule-overlap", "--cluster=h100", "--verify-each")
        check("step time" in hirc(text, "sim", "-", "--cluster=h100"), text)

    if hasattr(getattr(torch.compiler, "config", None), "compile_on_one_rank"):  # groups are objects of the graph
        torch._dynamo.reset()
        with torch.compiler.config.patch(compile_on_one_rank=True):
            text = written(compiled(lambda x: functional.all_reduce(x, "sum", dist.group.WORLD), torch.empty(8))[0])
        check("(4) = {0 1 2 3}" in text and "get_attr" in text, text)


def check_counts():
    """Products inside operations that are made of others, inside functions, and inside modules."""
    model = torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.Linear(4, 2)))
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        FakeTensorProp(model, mode).propagate(torch.empty(16, 8))
    text = written(model)
    check("flops=1024" in statement(text, "_0") and "flops=256" in statement(text, "_1"), text)


class Exported(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.randn(64, 32))
        self.register_buffer("count", torch.zeros(3))

    def forward(self, x):
        self.count.add_(1)
        low, high = torch.split(x.t().t(), 32, dim=1)
        return functional.all_reduce(torch.cat([high, low], 1) @ self.w, "sum", dist.group.WORLD)


def check_effects():
    """Random numbers, checks, and operations that torch cannot see through keep their order."""

    def step(x):
        first = torch.rand(4)
        torch.ops.aten._assert_async(x.sum() > 0)
        return x + first, torch.rand(4)

    with FakeTensorMode():
        text = written(make_fx(step)(torch.empty(4)))
    check('  `hirc.effects`: i64[] = extern "effects"() {kind=input, time=0, bytes=(0)}' in text, text)
    for name, position in (("rand", 0), ("_assert_async", 1), ("rand_1", 0)):
        line = next(line for line in text.splitlines() if f"  {name}: " in line or f'name="{name}"' in line)
        check(f"`hirc.effects`) {{" in line and f"writes=({position})" in line, line)
    check("effects" not in statement(text, "sum_1"), text)
    hirc(text, "compile", "-", "--stop-after=parse")


def check_exported():
    """A graph from a file, whose tensors share no storages."""
    program = torch.export.export(Exported(), (torch.randn(48, 64),))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "step.pt2")
        torch.export.save(program, path)
        command = [sys.executable, "-W", "ignore", TOOL, path]
        done = subprocess.run(command, capture_output=True, text=True)
        check(done.returncode == 1 and "the size of the group '0' is not known" in done.stderr, done.stdout + done.stderr)
        done = subprocess.run([*command, "--group=0:4"], capture_output=True, text=True)
        check(done.returncode == 0, done.stderr)
        done.stderr = subprocess.run([*command, "--group=0:x"], capture_output=True, text=True).stderr
        check("--group=0:x: a group is NAME:N" in done.stderr, done.stderr)
    check("view=(0), writes=(0)" in statement(done.stdout, "add_"), done.stdout)
    check("view=(0, 0)" in statement(done.stdout, "split"), done.stdout)
    check("flops=196608" in statement(done.stdout, "matmul"), done.stdout)
    hirc(done.stdout, "compile", "-", "--passes=schedule-overlap", "--cluster=h100")


def check_symbols():
    """Sizes that depend on data have the stated values; sizes of a trace have its example's values."""

    def step(x, w, splits):
        given = splits.tolist()
        for n in given:
            torch._check(n >= 0)
        return torch.relu(functional.all_to_all_single(x, given, [16] * 4, dist.group.WORLD) @ w)

    inputs = torch.randn(64, 8), torch.randn(8, 8), torch.tensor([16] * 4)
    with torch._dynamo.config.patch(capture_scalar_outputs=True):
        graph, both = compiled(step, *inputs)[0], compiled(step, *inputs, dynamic=True)[0]
    refused(lambda: written(graph), "has no value: state that of u0 and u1 and u2 and u3 in sizes")
    refused(lambda: written(graph, sizes={"u1": 3}), "state that of u0 and u2 and u3 in sizes")
    text = written(graph, sizes={"u0": 10, "u1": 20, "u2": 30, "u3": 40})
    check("f32[100, 8]" in statement(text, "all_to_all_single"), text)
    check("flops=12800" in statement(text, "mm"), text)
    text = written(both, sizes={"u0": 10, "u1": 20, "u2": 30, "u3": 40})
    check("f32[100, 8]" in statement(text, "all_to_all_single"), text)

    graph = compiled(lambda x: torch.relu(functional.all_reduce(x, "sum", dist.group.WORLD)), torch.randn(48, 64),
                     dynamic=True)[0]
    check("f32[48, 64]" in statement(written(graph), "all_reduce"), written(graph))


def check_subgraphs():
    """Subgraphs that are arguments, as flex_attention has them: the program keeps the edges."""
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    bias = torch.randn(4)
    mask = create_block_mask(lambda b, h, q, k: q >= k, None, None, 128, 128, device="cpu")
    attend = lambda q, k, v: flex_attention(q, k, v, lambda s, b, h, i, j: s + bias[h], block_mask=mask)
    graph = compiled(attend, *(torch.randn(2, 4, 128, 16) for _ in range(3)))[0]
    node = next(n for n in graph.graph.nodes if "flex_attention" in str(n.target))
    needed = [n.name for n in node.all_input_nodes]
    line = statement(written(graph), node.name)
    operands = re.search(r"\((.*?)\) \{", line).group(1).split(", ")
    check(operands == needed and any("score" in n or "sdpa" in n for n in needed), f"{line}\n{needed}")
    hirc(written(graph), "compile", "-", "--passes=schedule-overlap", "--cluster=h100", "--verify-each")


def check_messages():
    ops, g = torch.ops._c10d_functional, torch.fx.Graph()
    if not hasattr(ops, "isend"):
        return
    with FakeTensorMode():
        x, none = torch.empty(64), torch.empty(0)
        into = torch.empty(64)
    made = []
    for val, target, *args in ((x, None), (into, None), (none, ops.isend.default, 0, 1, 0, "0"),
                               (into, ops.irecv.default, 1, 3, 0, "0"), (none, ops.wait_tensor.default, 2),
                               (into, ops.wait_tensor.default, 3)):
        node = g.call_function(target, (made[args[0]], *args[1:])) if target else g.placeholder(f"x{len(made)}")
        node.meta["val"] = val
        made.append(node)
    g.output((made[4], made[5]))
    text = written(torch.fx.GraphModule({}, g))
    check("(x0) {kind=send, group=g0}" in statement(text, "isend_default"), text)
    check("(x1) {kind=recv, group=g0, view=(0)}" in statement(text, "irecv_default"), text)
    check("(irecv_default) {kind=wait" in statement(text, "wait_tensor_default_1"), text)
    check("step time" in hirc(text, "sim", "-", "--cluster=h100"), text)


def main():
    dist.init_process_group("fake", rank=0, world_size=4, store=FakeStore())
    for ranks in (RANKS, [0, 1]):  # functional collectives look up a list of ranks among the groups
        dist.new_group(ranks)
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
    check_compiled()
    check_counts()
    check_effects()
    check_exported()
    check_symbols()
    check_subgraphs()
    check_messages()
    print("ok")


main()
