"""Models of the tests torch_*.py. Each is a function of the number of ranks that returns (model, inputs); the weights
are the same on all ranks, or shards of the same."""
import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
import torch.nn.functional as F
from torch import nn
from torch.distributed.device_mesh import init_device_mesh

WIDTH, ROWS = 256, 512


def mlp(layers, width=WIDTH, bias=True):
    return nn.Sequential(*[m for _ in range(layers) for m in (nn.Linear(width, width, bias=bias), nn.GELU())])


def inputs(rows=ROWS):
    generator = torch.Generator().manual_seed(dist.get_rank() + 1)
    return (torch.randn(rows, WIDTH, generator=generator),)


# ---- tensor parallelism by DTensor


def tensor_parallel(count):
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
            self.norm = nn.LayerNorm(WIDTH)

        def forward(self, x):
            return self.norm(x + self.down(F.gelu(self.up(x))))

    model = nn.Sequential(Layer(), Layer())
    mesh = init_device_mesh("cpu", (count,), mesh_dim_names=("tp",))
    plan = {f"{k}.{name}": how() for k in (0, 1) for name, how in (("up", ColwiseParallel), ("down", RowwiseParallel))}
    generator = torch.Generator().manual_seed(1)
    return parallelize_module(model, mesh, plan), (torch.randn(ROWS, WIDTH, generator=generator),)


# ---- torchtitan's SimpleFSDP, written out: parameters are shards, and a parametrization gathers them


class AllGather(torch.autograd.Function):
    """Gathers a shard; the derivative is the mean of the gradients, scattered."""

    @staticmethod
    def forward(context, shard):
        return functional.wait_tensor(functional.all_gather_tensor(shard, 0, dist.group.WORLD))

    @staticmethod
    def backward(context, gradient):
        return functional.wait_tensor(functional.reduce_scatter_tensor(gradient, "avg", 0, dist.group.WORLD))


class Gathered(nn.Module):
    def forward(self, shard):
        return AllGather.apply(shard)


def shard_parameters(model, count):
    from torch.nn.utils import parametrize

    for module in list(model.modules()):
        for name, parameter in list(module.named_parameters(recurse=False)):
            part = parameter.data.chunk(count)[dist.get_rank()].clone()
            setattr(module, name, nn.Parameter(part))
            parametrize.register_parametrization(module, name, Gathered(), unsafe=True)
    return model


def simple_fsdp(count):
    return shard_parameters(mlp(6), count), inputs()


def fsdp2(count):
    from torch.distributed.fsdp import fully_shard

    model, mesh = mlp(4), init_device_mesh("cpu", (count,))
    for layer in model:
        if isinstance(layer, nn.Linear):
            fully_shard(layer, mesh=mesh)
    return fully_shard(model, mesh=mesh), inputs()


# ---- a mixture of experts: tokens go to the ranks of their experts, and back


class Experts(nn.Module):
    """Each rank has an expert. Equal shares of its tokens go to all experts, and all its tokens to a shared one."""

    def __init__(self, count):
        super().__init__()
        self.count, self.norm = count, nn.LayerNorm(WIDTH)
        self.shared, self.router = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, count)
        self.up, self.down = nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(2 * WIDTH, WIDTH)

    def exchange(self, x):
        parts = [x.shape[0] // self.count] * self.count
        return functional.wait_tensor(functional.all_to_all_single_autograd(x, parts, parts, dist.group.WORLD))

    def forward(self, x):
        h = self.norm(x)
        weight, order = self.router(h).softmax(1).max(1).values, torch.argsort(h.sum(1))
        there = self.exchange(h[order] * weight[order, None])
        done = self.exchange(self.down(F.gelu(self.up(there))))
        return x + self.shared(h) + torch.zeros_like(x).index_copy(0, order, done)


def experts(count):
    return nn.Sequential(Experts(count), Experts(count)), inputs()


# ---- models as users write them


class Block(nn.Module):
    def __init__(self, heads):
        super().__init__()
        self.heads, self.first, self.second = heads, nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.query, self.key, self.value, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        h = self.first(x)
        parts = [p(h).unflatten(-1, (-1, WIDTH // self.heads)).transpose(1, 2)
                 for p in (self.query, self.key, self.value)]
        h = F.scaled_dot_product_attention(*parts, is_causal=True).transpose(1, 2).flatten(2)
        x = x + self.out(h)
        return x + self.down(F.gelu(self.up(self.second(x))))


class Gpt(nn.Module):
    def __init__(self, words=512, length=64):
        super().__init__()
        self.tokens, self.places = nn.Embedding(words, WIDTH), nn.Embedding(length, WIDTH)
        self.blocks = nn.ModuleList(Block(8) for _ in range(2))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, words, bias=False)

    def forward(self, tokens):
        x = self.tokens(tokens) + self.places(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def gpt(count):
    from torch.distributed.tensor import Replicate, Shard
    from torch.distributed.tensor.parallel import (ColwiseParallel, PrepareModuleInput, RowwiseParallel,
                                                   SequenceParallel, parallelize_module)

    model, mesh = Gpt(), init_device_mesh("cpu", (count,), mesh_dim_names=("tp",))
    parallelize_module(model, mesh, {
        "norm": SequenceParallel(),
        "head": ColwiseParallel(input_layouts=Shard(1), output_layouts=Replicate())})
    for block in model.blocks:
        parallelize_module(block, mesh, {
            "query": ColwiseParallel(), "key": ColwiseParallel(), "value": ColwiseParallel(), "out": RowwiseParallel(),
            "up": ColwiseParallel(), "down": RowwiseParallel()})
    return model, (torch.randint(0, 512, (4, 64), generator=torch.Generator().manual_seed(1)),)


def data_parallel(count):
    return nn.parallel.DistributedDataParallel(mlp(4)), inputs()


ALL = {f.__name__: f for f in (tensor_parallel, simple_fsdp, fsdp2, experts, gpt, data_parallel)}
