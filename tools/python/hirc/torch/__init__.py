"""Schedules of hirc for PyTorch: order and buckets of functional collectives in a graph of torch.fx.

    import hirc.torch, torch

    torch._inductor.config.post_grad_custom_post_pass = hirc.torch.OverlapPass(cluster="cluster.json")
    model = torch.compile(model)

OverlapPass is a pass of Inductor. schedule does the same to a GraphModule: one of make_fx, of torch.export, or one that
torch.compile gives to a backend.

The order is found by `hirc compile --passes=schedule-overlap` and proved by `hirc check`. The parts, in order: costs.py
(times of nodes), plan.py (the program, and the schedule of it), writeback.py (the schedule, written into the graph),
agree.py (all ranks decide alike), inductor.py (the pass).

Needs PyTorch 2.5 or newer, and OverlapPass one whose Inductor has control_deps (2.10 or newer).
"""
from .agree import Disagreement
from .inductor import OverlapPass
from .schedule import Schedule, schedule

__all__ = ["Disagreement", "OverlapPass", "Schedule", "schedule"]
