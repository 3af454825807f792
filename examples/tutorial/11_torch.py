# A training step whose weights are spread over ranks, scheduled by hirc inside torch.compile.
#   PYTHONPATH=tools/python HIRC=$(which hirc) torchrun --nproc-per-node=4 examples/tutorial/11_torch.py
import torch
import torch.distributed as dist
from torch.distributed._functional_collectives import all_gather_tensor_autograd as gather

import hirc.torch


class Layer(torch.nn.Module):
    """A linear layer. Each rank keeps a part of the weights, and gathers the others when it needs them."""

    def __init__(self, width):
        super().__init__()
        self.part = torch.nn.Parameter(torch.randn(width // dist.get_world_size(), width) / width)

    def forward(self, x):
        return torch.relu(x @ gather(self.part, 0, dist.group.WORLD))


dist.init_process_group("gloo")
torch.manual_seed(0)
model = torch.nn.Sequential(*[Layer(1024) for _ in range(4)])

overlap = hirc.torch.OverlapPass(cluster="h100")
torch._inductor.config.post_grad_custom_post_pass = overlap
step = torch.compile(model)

step(torch.randn(2048, 1024)).square().mean().backward()
if dist.get_rank() == 0:
    for schedule in overlap.schedules:
        print(schedule)
dist.destroy_process_group()
