"""hirc from Python: a thin layer over its command line.

    import hirc, numpy

    program = hirc.Program('''
    mesh m(x = np)
    program product on m {
      input A: f32[64@x, 32]
      input B: f32[16, 32]
      output C: f32[64, 16] = linear(A, B)
    }
    ''')
    a, b = numpy.ones((64, 32), "f4"), numpy.ones((16, 32), "f4")
    c = hirc.run(program, {"A": a, "B": b}, ranks=4)["C"]   # a @ b.T
    print(hirc.compile(program, ranks=4))                   # what the ranks do

A program is a Program, its text (a str with a newline), or the path of a file (any other str, or os.PathLike).

The program that runs is the one in this package; the environment variable HIRC names another. Only run needs NumPy,
and only from_fx needs torch.
"""
from .arrays import from_bf16, run, to_bf16
from .command import Diagnostic, Error, HircWarning, binary, version
from .program import Program, check, compile, from_fx, sim  # noqa: A004: named as the command

__all__ = ["Diagnostic", "Error", "HircWarning", "Program", "binary", "check", "compile", "from_bf16", "from_fx", "run",
           "sim", "to_bf16", "version"]
