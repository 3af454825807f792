#!/usr/bin/env python3
"""fx2hir: writes a torch.fx.GraphModule as a program of `extern` statements; the module hirc.fx of tools/python.

    import fx2hir
    with open("step.hir", "w") as file:
        fx2hir.write(graph_module, file, times={"mm": 81000}, groups={"dp": 8})

    fx2hir.py GRAPH [-o FILE.hir] [--times FILE.json] [--group NAME:N]… [--size SYMBOL:N]… [--name PROGRAM]
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "python"))
from hirc.fx import Unknown, main, program_text, write  # noqa: E402, F401

if __name__ == "__main__":
    main()
