"""Runs a function on ranks with gloo, for the tests torch_*.py: by the Python of HIRC_TORCH_PYTHON, which has torch.

    from torch_ranks import check, ranks
    ranks(function, 2)              # function(rank, count) on two processes

Skips the test (77) if HIRC_TORCH_PYTHON is not set or its Python has no torch.
"""
import os
import socket
import sys
import traceback
import warnings

if "HIRC_TORCH_PYTHON" not in os.environ:
    print("skipped: HIRC_TORCH_PYTHON names no Python with torch")
    sys.exit(77)
if not os.environ.get("HIRC_TORCH_STARTED"):
    os.environ["HIRC_TORCH_STARTED"] = "1"
    os.environ["HIRC"] = os.path.abspath(sys.argv[1])
    os.environ["OMP_NUM_THREADS"] = "1"
    os.execv(os.environ["HIRC_TORCH_PYTHON"], [os.environ["HIRC_TORCH_PYTHON"], *sys.argv])
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, os.pardir, "tools", "python"))
try:
    import torch
    import torch.distributed as dist
    import torch.multiprocessing as multiprocessing
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)


def check(condition, text):
    if not condition:
        frame = sys._getframe(1)
        raise AssertionError(f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}: {text}")


def refused(function, kind, *messages):
    try:
        function()
    except kind as error:
        for message in messages:
            check(message in str(error), f"`{message}` is not in `{error}`")
        return str(error)
    raise AssertionError(f"not refused: {messages[0]}")


def enter(rank, function, count, port, args):
    warnings.simplefilter("ignore")  # torch renames its parts
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=count)
    try:
        function(rank, count, *args)
        dist.barrier()
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)  # others wait in a collective: the parent ends them
    dist.destroy_process_group()


def ranks(function, count, *args):
    """Runs function(rank, count, *args) on processes of this machine."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    try:
        multiprocessing.spawn(enter, (function, count, port, args), nprocs=count)
    except Exception as error:
        sys.exit(f"failed: {function.__name__} on {count} ranks: {error}")
