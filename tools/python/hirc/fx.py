"""A torch.fx.GraphModule as a program of `extern` statements, for hirc to schedule and to simulate.

    program = hirc.from_fx(graph_module, times={"mm": 81000}, groups={"dp": 8})

    python3 -m hirc.fx GRAPH [-o FILE.hir] [--times FILE.json] [--group NAME:N]… [--size SYMBOL:N]…
                         [--name PROGRAM]

GRAPH is a file of torch.export.save (.pt2), or a pickled pair of a GraphModule and its example inputs, or a pickled
GraphModule whose nodes have their shapes. (Reading a pickle runs code that is in it: only read what you trust.)

The program has these facts about a node: its name; its target; the tensors that it needs; shape and dtype of its
tensors, from meta["val"] or meta["tensor_meta"]; the operands that it writes, from the schema; the results that share
an operand's storage, from untyped_storage(), or from the schema if there are no fake tensors; for functional
collectives the kind, the group and the reduction; waits, whose result is that of the collective. Tensors of the CPU
take no memory in a graph that also has an accelerator's.

Operations that draw random numbers, check or print, and those of which torch cannot tell, keep their order: each
writes a value `hirc.effects`, which takes no memory.

times: nanoseconds by the name of a node, or a function of a node that returns them, or None if it does not know. A
node without a time gets its operations and bytes (flops=, touches=), a collective or message its group: then the
machine of `hirc … --cluster=` gives their times, by its roofline and its links. Operations are counted as torch
counts them, on tensors without data; for a module or a function, those of the products that it calls.

groups: sizes of process groups, or their lists of ranks, by name, if neither the graph nor an initialised
torch.distributed has them.

sizes: values of symbols for which torch has none, such as the `u0` of a size that depends on data. (Symbols for sizes
of a traced example have that example's values.)
"""
import argparse
import copy
import json
import operator
import pickle
import re
import sys

import torch
from torch.utils import _pytree as pytree

KEYWORDS = set("param const mesh group program on input output inout let for in parallel if else schedule extern as "
               "and or not".split())
DTYPES = {"float64": "f64", "float32": "f32", "bfloat16": "bf16", "float16": "f16", "float8_e4m3fn": "f8e4m3",
          "float8_e5m2": "f8e5m2", "int64": "i64", "int32": "i32", "int8": "i8", "uint8": "u8", "bool": "bool"}
BYTES = {"f64": 8, "f32": 4, "bf16": 2, "f16": 2, "f8e4m3": 1, "f8e5m2": 1, "i64": 8, "i32": 4, "i8": 1, "u8": 1,
         "bool": 1}
COLLECTIVES = {"all_gather_into_tensor": "allgather", "reduce_scatter_tensor": "reduce_scatter",
               "all_reduce": "allreduce", "all_to_all_single": "all_to_all", "broadcast": "broadcast_from",
               "isend": "send", "irecv": "recv"}
REDUCTIONS = {"sum": "sum", "avg": "avg", "max": "max", "min": "min", "product": "prod", "prod": "prod"}
SCALARS = (int, float, bool) + tuple(getattr(torch, n) for n in ("SymInt", "SymFloat", "SymBool") if hasattr(torch, n))
EFFECTS = "hirc.effects"  # no name of a node has a point
FOREIGN = "c10d", "_c10d_functional", "symm_mem"  # operations there act on other ranks
PURE = "_operator", "builtins", "math"
ATTENTION = "flex_attention", "flex_attention_backward"  # their subgraphs change single scores, without effects
OVERLOAD, HIGHER_ORDER = (getattr(getattr(torch, "_ops", None), n, ()) for n in ("OpOverload", "HigherOrderOperator"))


class Unknown(ValueError):
    """The graph lacks a fact; names the node that should have it."""


def name_text(name):
    plain = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) and name not in KEYWORDS
    return name if plain else "`" + re.sub(r"[`\x00-\x1f\x7f]", "_", name) + "`"


def string_text(text):
    return '"' + re.sub(r"[\x00-\x1f\x7f]", "_", text).replace("\\", "\\\\").replace('"', '\\"') + '"'


def items(x):
    """Returns the recorded values of a node as a list: tensors, or objects with a shape, and numbers."""
    if isinstance(x, dict):
        x = list(x.values())
    if isinstance(x, (list, tuple)) and not hasattr(x, "shape"):
        return [i for part in x for i in items(part)]
    return [x]


class Value:
    """A tensor of a node; without dtype, a number that only gives an order."""

    def __init__(self, name, dtype=None, shape=(), storage=None, bytes=0, cpu=False):
        self.name, self.dtype, self.shape = name, dtype, shape
        self.storage, self.bytes, self.cpu = storage, bytes, cpu

    def type(self):
        return f"{self.dtype or 'i64'}[{', '.join(map(str, self.shape))}]"

    def size(self):
        size = BYTES[self.dtype or "i64"]
        for extent in self.shape:
            size *= extent
        return size


class Writer:
    def __init__(self, graph_module, times, groups, sizes, guess=False):
        self.module, self.graph = graph_module, graph_module.graph
        self.sizes, self.guess = dict(sizes or {}), guess  # guess: take PyTorch's guess of a symbol without a value
        self.times = times if callable(times) else lambda node: (times or {}).get(node.name)
        self.given = dict(groups or {})
        self.values = {}  # by node: its list of Value
        self.latest = {}  # by storage: the last value that has it
        self.same = {}    # storages of waits: the storages they wait for
        self.groups = {}  # by a key that identifies the group: name, declaration
        self.members = {}  # by the name of a group: its size, and its ranks if they are known
        self.tables = {}  # by declaration: times by size, as attributes of a group
        self.effects = None  # the value that operations with effects write
        self.accesses = {}  # by node: the storages that it reads, and those that it writes or makes
        self.roots = {}  # by the name of a value without a known storage: the value that it views
        self.lines = []
        devices = {x.device.type for n in self.graph.nodes for x in self.tensors(n)}
        self.accelerated = bool(devices - {"cpu", "meta"})

    # ---- facts from torch

    def whole(self, node, n):
        """Returns a number, or the value of a symbolic one: from sizes, or from the example that torch traced."""
        if isinstance(n, int):
            return n
        symbolic = getattr(n, "node", None)
        expression, traced = getattr(symbolic, "expr", None), getattr(symbolic, "shape_env", None)
        if expression is None:
            raise Unknown(f"{node.name}: the size {n} has no value")
        known = dict(getattr(traced, "backed_var_to_val", None) or getattr(traced, "var_to_val", {}))
        known.update(getattr(traced, "var_to_hint_override", {}))
        known.update({s: self.sizes[str(s)] for s in expression.free_symbols if str(s) in self.sizes})
        missing = sorted(str(s) for s in expression.free_symbols if s not in known)
        if missing and self.guess and hasattr(traced, "optimization_hint"):
            return traced.optimization_hint(expression.xreplace(known))
        if missing:
            raise Unknown(f"{node.name}: the size {n} has no value: state that of {' and '.join(missing)} in sizes")
        return int(expression.xreplace(known))

    @staticmethod
    def recorded(node):
        return node.meta["val"] if "val" in node.meta else node.meta.get("tensor_meta", node.meta.get("example_value"))

    def tensors(self, node):
        return [x for x in items(self.recorded(node)) if isinstance(x, torch.Tensor)]

    def storage(self, tensor):
        try:
            key = tensor.untyped_storage()._cdata
        except (AttributeError, NotImplementedError, RuntimeError):
            return None
        return self.same.get(key, key)

    def value(self, node, x, name):
        dtype, shape = DTYPES.get(str(x.dtype).rsplit(".", 1)[-1]), [self.whole(node, n) for n in x.shape]
        if dtype is None and x.dtype.is_complex:
            dtype = {8: "f32", 16: "f64"}.get(x.dtype.itemsize if hasattr(x.dtype, "itemsize") else x.element_size())
            shape.append(2)
        if dtype is None:
            dtype = "u8"
            shape.append(x.dtype.itemsize if hasattr(x.dtype, "itemsize") else x.element_size())
        value = Value(name, dtype, shape)
        value.bytes = value.size()
        if isinstance(x, torch.Tensor):
            value.cpu = self.accelerated and x.device.type == "cpu"
            value.storage = self.storage(x)
            if value.storage is not None:
                value.bytes = self.whole(node, x.untyped_storage().nbytes())
        return value

    def results(self, node):
        if node.op == "output":
            return []
        recorded = self.recorded(node)
        if recorded is None and (schema := self.schema(node)) is not None and not schema.returns:
            return []
        if recorded is None and node.op == "call_module" and not node.users:
            return []  # a check, such as the _guards_fn of torch.export
        if recorded is None and node.op in ("placeholder", "call_module", "call_method", "call_function") \
                and "val" not in node.meta:
            raise Unknown(f"{node.name}: no shape is known: it has neither meta['val'] nor meta['tensor_meta']; "
                          "run torch.fx.passes.fake_tensor_prop.FakeTensorProp on the graph")
        if node.op == "get_attr" and recorded is None:
            recorded = operator.attrgetter(node.target)(self.module)
            if not hasattr(recorded, "shape"):  # a subgraph, or the process group of a collective
                return [Value(node.name)] if any(self.collective(user) is None for user in node.users) else []
        found = []
        for x in items(recorded):
            if hasattr(x, "shape") and hasattr(x, "dtype"):
                found.append(self.value(node, x, node.name + (f".{len(found)}" if found else "")))
        if not found and node.users:
            found.append(Value(node.name))
        return found

    @staticmethod
    def schema(node):
        return getattr(node.target, "_schema", None)

    def argument(self, node, *names):
        """Returns the value of the argument that the schema calls by one of these names."""
        schema = self.schema(node)
        for k, a in enumerate(schema.arguments if schema else []):
            if a.name in names:
                return node.args[k] if k < len(node.args) else node.kwargs.get(a.name, a.default_value)
        return None

    def nodes_in(self, argument):
        return [x for x in pytree.tree_flatten(argument)[0] if isinstance(x, torch.fx.Node)]

    def marked(self, node, write):
        """Returns the nodes in arguments that the schema marks as written, or as shared with a result."""
        schema = self.schema(node)
        found = []
        for k, a in enumerate(schema.arguments if schema else []):
            if a.alias_info is not None and (a.alias_info.is_write or not write):
                found += self.nodes_in(node.args[k] if k < len(node.args) else node.kwargs.get(a.name))
        return found

    def collective(self, node):
        """Returns (kind of collective, or `wait`, or None)"""
        schema = self.schema(node)
        space, _, name = schema.name.partition("::") if schema else ("", "", "")
        if space not in ("_c10d_functional", "c10d_functional", "_c10d_functional_autograd"):
            return None
        name = re.sub(r"(_coalesced)?(_out)?_?$", "", name)
        if name == "batch_p2p_ops":  # one direction at least, and the other at the same time
            return "send" if "isend" in self.argument(node, "op_list") else "recv"
        return "wait" if name in ("wait_tensor", "wait_tensors") else COLLECTIVES.get(name)

    def group(self, node):
        """Returns the name in the program of a collective's group."""
        name = self.argument(node, "group_name")
        size, ranks = self.argument(node, "group_size"), self.argument(node, "ranks")
        if ranks is not None:
            ranks = [self.whole(node, r) for r in ranks]
            size = self.whole(node, size)
            key, ranks = (tuple(ranks), size), ranks if len(ranks) == size else None
        else:
            if isinstance(name, torch.fx.Node):  # of a ProcessGroup
                name = operator.attrgetter(name.target)(self.module) if name.op == "get_attr" else name.name
            if not isinstance(name, (str, int)):
                name = getattr(name, "group_name", str(name))
            key, ranks = name, None
            if name in self.given:
                given = self.given[name]
                size, ranks = (given, None) if isinstance(given, int) else (len(given), list(given))
            else:
                size, ranks = self.ask_torch(name, size)
        if size is None:
            raise Unknown(f"{node.name}: the size of the group '{name}' is not known: state it in groups")
        if key not in self.groups:
            text = f"g{len(self.groups)}" if name is None else name if re.match(r"[A-Za-z_]", str(name)) else f"g{name}"
            listed = f" = {{{' '.join(map(str, ranks))}}}" if ranks else ""
            self.members[name_text(text)] = self.whole(node, size), ranks
            self.groups[key] = name_text(text), f"group {name_text(text)}({self.whole(node, size)}){listed}"
        return self.groups[key][0]

    @staticmethod
    def ask_torch(name, size):
        try:
            import torch.distributed as dist
            from torch.distributed.distributed_c10d import _resolve_process_group

            if dist.is_initialized():
                ranks = dist.get_process_group_ranks(_resolve_process_group(name))
                return len(ranks), ranks
        except (ImportError, KeyError, RuntimeError, ValueError):
            pass
        return size, None

    def without_data(self, x):
        """Returns the result of a node as tensors of the same shapes without data; anything else unchanged."""
        if not isinstance(x, torch.fx.Node):
            return x
        recorded = self.recorded(x)
        made = [torch.empty([self.whole(x, n) for n in i.shape], dtype=i.dtype, device="meta") if hasattr(i, "shape")
                else self.whole(x, i) if isinstance(i, getattr(torch, "SymInt", ())) else i
                for i in items(recorded)]
        several = isinstance(recorded, (list, tuple, dict)) and not hasattr(recorded, "shape")
        return made if several or len(made) != 1 else made[0]

    @staticmethod
    def composed(node):
        """Returns true if an operation of torch is only made of others."""
        return torch._C._dispatch_has_kernel_for_dispatch_key(node.target.name(), "CompositeImplicitAutograd")

    def called(self, node):
        """Returns the function that a node calls, if it may contain products that torch counts only when called."""
        if node.op == "call_module":
            return copy.deepcopy(operator.attrgetter(node.target)(self.module)).to("meta")
        if node.op == "call_method":
            return lambda first, *rest, **named: getattr(first, node.target)(*rest, **named)
        if node.op != "call_function" or isinstance(node.target, HIGHER_ORDER):
            return None
        if not isinstance(node.target, OVERLOAD):
            return node.target
        return node.target if self.composed(node) else None

    def flops(self, node):
        """Returns the number of operations of products, by torch's own count; 0: there are none, or torch cannot
        tell."""
        from torch.utils import flop_counter

        packet = getattr(node.target, "overloadpacket", None)
        registry = getattr(flop_counter, "flop_registry", None)
        count = (registry if registry is not None else flop_counter.flop_mapping).get(packet) if packet else None
        if count is None:
            try:
                function, counter = self.called(node), flop_counter.FlopCounterMode(display=False)
                if not function:
                    return 0
                args, kwargs = pytree.tree_map(self.without_data, (node.args, node.kwargs))
                with torch.no_grad(), counter:
                    function(*args, **kwargs)
                return int(counter.get_total_flops())
            except Exception:  # some operations do not work without data
                return 0
        args, kwargs = pytree.tree_map(self.without_data, (node.args, node.kwargs))
        out = self.without_data(node)
        if registry is None:
            shape = lambda x: x.shape if isinstance(x, torch.Tensor) else x
            args, kwargs, out = pytree.tree_map(shape, (args, kwargs, out))
            return self.whole(node, count(*args, **kwargs, out_shape=out))
        return self.whole(node, count(*args, **kwargs, out_val=out))

    def has_effect(self, node):
        """Returns true if the tensors of an operation do not show all that it does, or if that is not known."""
        target = node.target
        if node.op in ("placeholder", "get_attr", "output") or self.collective(node):
            return False
        if isinstance(target, OVERLOAD):
            seeded = getattr(getattr(torch, "Tag", None), "nondeterministic_seeded", None)
            schema = target._schema
            silent = not schema.returns and not any(a.alias_info and a.alias_info.is_write for a in schema.arguments)
            return silent or seeded in getattr(target, "tags", ()) or schema.name.partition("::")[0] in FOREIGN
        if isinstance(target, HIGHER_ORDER) and target.__name__ in ATTENTION:
            return False
        return not isinstance(target, str) and getattr(target, "__module__", None) not in PURE \
            or node.op in ("call_module", "call_method")

    # ---- statements

    def operands(self, node):
        """Returns the values that a node needs, each once; of a node with several results, the one that getitem
        takes."""
        if node.target is operator.getitem and isinstance(node.args[1], int):
            there = self.values[node.args[0]]
            return [there[node.args[1]]] if node.args[1] < len(there) else there
        found = []
        for n in node.all_input_nodes:
            taken = self.values[n]
            if self.collective(node) == "wait" and n.target is operator.getitem:
                taken = self.operands(n)  # the collective's own result
            found += [v for v in taken if v not in found]
        return found

    def views(self, node, operands, results, what):
        """Returns, by result, the operand whose storage it has, or -1.

        A graph read from a file has no shared storages. Then the schema tells which results are views, but not for
        operations that are made of others, such as reshape, which may copy.
        """
        shared = [v for n in self.marked(node, False) for v in self.values[n]]
        views = shared if isinstance(node.target, OVERLOAD) and not self.composed(node) else []
        found = []
        for k, r in enumerate(results):
            at = -1
            if what == "wait" and k < len(operands):
                at = k
                if r.storage is not None and operands[k].storage is not None:
                    self.same[r.storage] = r.storage = operands[k].storage
            elif r.storage is not None:
                at = next((i for i, v in enumerate(operands) if v.storage == r.storage), -1)
                if at < 0 and len(views) == 1 and views[0] in operands and r.storage not in self.latest:
                    at = operands.index(views[0])
                    if views[0].storage is not None:
                        self.same[r.storage] = r.storage = views[0].storage
                elif at < 0 and r.storage in self.latest and node.op not in ("placeholder", "get_attr"):
                    operands.append(self.latest[r.storage])
                    at = len(operands) - 1
            elif k < len(shared) and shared[k] in operands:
                at = operands.index(shared[k])
            elif node.target is operator.getitem:
                at = 0
            found.append(at)
        return found

    def kind(self, node, results, views, writes, what):
        if node.op in ("placeholder", "get_attr", "output"):
            return {"placeholder": "input", "get_attr": "attr", "output": "output"}[node.op]
        if what:
            return what
        if results and all(r.dtype is None for r in results) and (
                isinstance(self.recorded(node), SCALARS)):
            return "host"
        if results and min(views) >= 0 and not writes:
            return "view"
        return None

    def statement(self, node):
        results, operands, what = self.results(node), self.operands(node), self.collective(node)
        views = self.views(node, operands, results, what)
        written = [v for n in self.marked(node, True) for v in self.values[n]] if not what == "wait" else []
        writes = sorted({operands.index(v) for v in written if v in operands})
        kind = self.kind(node, results, views, writes, what)
        attributes = [f"kind={kind}"] if kind else []
        attributes += self.cost(node, kind, operands, results)
        if self.has_effect(node):
            if not self.effects:
                self.effects = Value(EFFECTS)
                self.lines.insert(0, f'  {name_text(EFFECTS)}: i64[] = extern "effects"() '
                                     "{kind=input, time=0, bytes=(0)}")
            writes.append(len(operands))
            operands.append(self.effects)
        if what and what != "wait":
            attributes.append(f"group={self.group(node)}")
            how = self.argument(node, "reduceOp", "reduce_op")
            if how is not None and what in ("allreduce", "reduce_scatter"):
                word = str(how).lower().rsplit(".", 1)[-1]  # RedOpType.SUM
                if word not in REDUCTIONS:
                    raise Unknown(f"{node.name}: hirc knows no reduction '{how}'")
                attributes.append(f"op={REDUCTIONS[word]}")
        if results and max(views) >= 0:
            attributes.append(f"view=({', '.join(map(str, views))})")
        sizes, own = [], set()
        for r, view in zip(results, views):
            none = r.dtype is None or r.cpu or r.storage in own or (view < 0 and r.storage in self.latest)
            sizes.append(r.size() if view >= 0 else 0 if none else r.bytes)
            own |= {r.storage} - {None}
        if any(size != r.size() for size, r in zip(sizes, results)):
            attributes.append(f"bytes=({', '.join(map(str, sizes))})")
        if writes:
            attributes.append(f"writes=({', '.join(map(str, writes))})")
        if not results:
            attributes.append(f"name={string_text(node.name)}")
        for r in results:
            if r.storage is not None:
                self.latest[r.storage] = r
        self.record_accesses(node, results, operands, views, writes)
        self.values[node] = results
        left = ", ".join(f"{name_text(r.name)}: {r.type()}" for r in results)
        target = "py.getitem" if node.target is operator.getitem else node.op if node.op in (
            "placeholder", "get_attr", "output") else str(getattr(node.target, "__name__", node.target)
                                                          if self.schema(node) is None else node.target)
        right = f"extern {string_text(target)}({', '.join(name_text(v.name) for v in operands)})"
        self.lines.append(f"  {left + ' = ' if left else ''}{right} {{{', '.join(attributes)}}}")

    def record_accesses(self, node, results, operands, views, writes):
        for r, view in zip(results, views):
            if view >= 0:
                self.roots[r.name] = self.roots.get(operands[view].name, operands[view].name)
        key = lambda v: v.storage if v.storage is not None else self.roots.get(v.name, v.name)
        written = [key(operands[k]) for k in writes] + [key(r) for r, view in zip(results, views) if view < 0]
        self.accesses[node] = {key(v) for v in operands}, set(written)

    def cost(self, node, kind, operands, results):
        time = self.times(node)
        if time is not None:
            if time < 0 or time != int(time):
                raise Unknown(f"{node.name}: a time is a whole number of nanoseconds, not {time}")
            return [f"time={int(time)}"]
        if kind in ("input", "attr", "output", "view", "wait", "host"):
            return ["time=0"]
        if kind:
            return []
        flops, moved = self.flops(node), sum(v.size() for v in operands + results if v.dtype)
        return ([f"flops={flops}"] if flops else []) + [f"touches={moved}"]

    def read(self):
        for node in self.graph.nodes:
            self.statement(node)
        return self

    def text(self, name):
        head = [text + self.tables.get(text, "") for _, text in self.groups.values()]
        return "\n".join(head + [f"program {name_text(name)} {{"] + self.lines + ["}"]) + "\n"


def program_text(graph_module, *, times=None, groups=None, sizes=None, name=None):
    """Returns the text of a GraphModule's program. Raises Unknown if the graph lacks a fact."""
    return Writer(graph_module, times, groups, sizes).read().text(name or "graph")


def write(graph_module, file, **options):
    """Writes program_text to a file that is open for text. Writes nothing if it raises Unknown."""
    file.write(program_text(graph_module, **options))


def read_graph(path):
    if path.endswith(".pt2"):
        return torch.export.load(path).graph_module
    with open(path, "rb") as file:
        graph = pickle.load(file)
    if isinstance(graph, torch.fx.GraphModule):
        return graph
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.passes.fake_tensor_prop import FakeTensorProp

    graph, inputs = graph
    FakeTensorProp(graph, FakeTensorMode(allow_non_fake_inputs=True)).propagate(*inputs)
    return graph


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0],
                                     epilog=__doc__.split("\n\n", 2)[2],
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph", metavar="GRAPH")
    parser.add_argument("-o", dest="output", metavar="FILE", help="write to a file instead of standard output")
    parser.add_argument("--times", metavar="FILE.json", help="an object of nanoseconds by the names of nodes")
    parser.add_argument("--group", metavar="NAME:N", action="append", default=[], help="the size of a process group")
    parser.add_argument("--size", metavar="SYMBOL:N", action="append", default=[],
                        help="the value of a symbol in sizes, such as u0")
    parser.add_argument("--name", default="graph", help="of the program")
    options = parser.parse_args()
    numbers = {"group": {}, "size": {}}
    for option, found in numbers.items():
        for text in getattr(options, option):
            word, _, number = text.rpartition(":")
            if not word or not number.isdigit() or not int(number):
                parser.error(f"--{option}={text}: a {option} is {'NAME' if option == 'group' else 'SYMBOL'}:N")
            found[word] = int(number)
    times = None
    if options.times:
        with open(options.times, encoding="utf-8") as file:
            times = json.load(file)
    try:
        text = program_text(read_graph(options.graph), times=times, groups=numbers["group"], sizes=numbers["size"],
                            name=options.name)
    except Unknown as error:
        sys.exit(f"fx2hir: {error}")
    if options.output:
        with open(options.output, "w", encoding="utf-8") as file:
            file.write(text)
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main()
