#!/usr/bin/env python3
"""The Python package `hirc` on arrays of NumPy. tests/python/package.py runs this file with the package on
PYTHONPATH."""
import importlib.util
import os
import pathlib
import stat
import sys
import tempfile
import types
import unittest
import warnings
from unittest import mock

import hirc
import numpy as np

PRODUCT = """mesh m(x = np)
program product on m {
  input A: f32[n@x, k]
  input B: f32[6, k]
  output C: f32[n, 6] = linear(A, B)
}
param n = 8
param k = 4
"""
TYPES = {"f64": "f8", "f32": "f4", "f16": "f2", "i64": "i8", "i32": "i4", "i8": "i1", "u8": "u1", "bool": "?"}


def copies(dtype, shape):
    return hirc.Program(f"mesh m(x = 2)\nprogram p on m {{\n  input X: {dtype}[{shape}]\n"
                        f"  output Y: {dtype}[{shape}] = set(X)\n}}\n")


def numbers(*shape):
    return (np.arange(np.prod(shape)).reshape(shape) % 7 - 3).astype("f4")


class Run(unittest.TestCase):
    def test_product(self):
        a, b = numbers(8, 4), numbers(6, 4)
        for ranks in (1, 2, 4):
            done = hirc.run(PRODUCT, {"A": a, "B": b}, ranks=ranks)
            self.assertEqual(list(done), ["C"])
            np.testing.assert_array_equal(done["C"], a @ b.T)
        self.assertEqual((done["C"].dtype, done["C"].shape), (np.dtype("f4"), (8, 6)))

    def test_defines_and_args(self):
        a, b = numbers(32, 64), numbers(6, 64)
        done = hirc.run(PRODUCT, {"A": a, "B": b}, ranks=2, defines={"n": 32, "k": "8*8"}, args=["--transport=shm", "--check"])
        np.testing.assert_array_equal(done["C"], a @ b.T)

    def test_args_that_inputs_need(self):
        program = PRODUCT.replace("mesh m(x = np)", "const half = 0\nmesh m(x = np / 2, y = half)")
        a, b = numbers(8, 4), numbers(6, 4)
        for args in (["-D", "half=2", "--np=4"], ["-Dhalf=2", "--np", "4"]):
            np.testing.assert_array_equal(hirc.run(program, {"A": a, "B": b}, args=args)["C"], a @ b.T)

    def test_no_room(self):
        a, b = numbers(8, 4), numbers(6, 4)
        with tempfile.TemporaryDirectory() as top:
            full, program = os.path.join(top, "full"), os.path.join(top, "program")
            os.mkdir(full)
            with open(program, "w", encoding="utf-8") as file:
                file.write(f'#!/bin/sh\ncase "$*" in *--output=C={full}/*)\n'
                           "  echo \"hirc: rank 0: error: --output C: cannot be written: No space left on device\" >&2\n"
                           f'  exit 1;;\nesac\nexec "{hirc.binary()}" "$@"\n')
            os.chmod(program, 0o755)
            with mock.patch.object(hirc.arrays, "folder", lambda size: full), mock.patch.dict(os.environ, HIRC=program):
                np.testing.assert_array_equal(hirc.run(PRODUCT, {"A": a, "B": b}, ranks=2)["C"], a @ b.T)

    def test_order_and_strides(self):
        base = numbers(8, 16)
        want = base[:, ::4] @ numbers(6, 4).T
        b = numbers(6, 4)
        for a in (base[:, ::4], np.asfortranarray(base[:, ::4]), np.ascontiguousarray(base[:, ::4].T).T,
                  base[::-1, ::4][::-1], base[:, ::4].astype(">f4"), base[:, ::4].tolist()):
            a = np.asarray(a, dtype="f4") if isinstance(a, list) else a
            np.testing.assert_array_equal(hirc.run(PRODUCT, {"A": a, "B": b}, ranks=2)["C"], want)

    def test_dtypes(self):
        for dtype, descr in TYPES.items():
            x = np.array([0, 1, 1, 0, 1, 0], dtype=descr) if dtype == "bool" else np.arange(6).astype(descr)
            y = hirc.run(copies(dtype, "6"), {"X": x})["Y"]
            self.assertEqual(y.dtype, x.dtype, dtype)
            np.testing.assert_array_equal(y, x)

    def test_bf16(self):
        x = np.array([0, 1, -2.5, 3.14159, 1e30, np.inf, -np.inf, np.nan], dtype="f4")
        raw = hirc.to_bf16(x)
        self.assertEqual(raw.dtype, np.dtype("V2"))
        back = hirc.from_bf16(hirc.run(copies("bf16", "8"), {"X": raw})["Y"])
        np.testing.assert_allclose(back, x, rtol=2**-8)
        self.assertEqual(hirc.from_bf16(hirc.to_bf16(np.float32(1 + 3 * 2**-8))), 1 + 2**-6)  # ties to even
        with self.assertRaisesRegex(TypeError, "V2"):
            hirc.from_bf16(x)

    def test_shapes(self):
        for shape in ((), (1,), (0,), (0, 3), (3, 0), (2, 1, 3, 1)):
            x = np.full(shape, 2.5, "f4")
            y = hirc.run(copies("f32", ", ".join(map(str, shape))), {"X": x})["Y"]
            self.assertEqual(y.shape, shape)
            np.testing.assert_array_equal(y, x)

    def test_big(self):
        x = np.random.default_rng(1).random((2048, 4096), dtype="f4")  # 32 MiB
        y = hirc.run("mesh m(x = 2)\nprogram p on m {\n  input X: f32[2048@x, 4096]\n  output Y: f32[2048, 4096@x] = neg(X)\n}",
                     {"X": x})["Y"]
        np.testing.assert_array_equal(y, -x)

    def test_results_are_the_callers(self):
        x = numbers(6)
        y = hirc.run(copies("f32", "6"), {"X": x})["Y"]
        y[:] = 7
        self.assertTrue((y == 7).all() and type(y) is np.ndarray)
        np.testing.assert_array_equal(x, numbers(6))

    def test_inout_and_several(self):
        done = hirc.run("mesh m(x = 2)\nprogram p on m {\n  input X: f32[4] = iota()\n  inout `a b`: f32[4]\n"
                        "  `a b` <- add(X, X)\n  output V: f32[2] on m, I: i64[2] = topk(X, axis=0, k=2)\n  R = relu(X)\n"
                        "  output R\n}\n", {"a b": np.zeros(4, "f4")})
        self.assertEqual(list(done), ["a b", "V", "I", "R"])
        np.testing.assert_array_equal(done["a b"], [0, 2, 4, 6])
        np.testing.assert_array_equal(done["V"], [3, 2])
        np.testing.assert_array_equal(done["I"], [3, 2])
        np.testing.assert_array_equal(done["R"], [0, 1, 2, 3])

    def test_launched(self):
        """Variables of a launcher change nothing: hirc starts its own ranks."""
        os.environ["OMPI_COMM_WORLD_SIZE"] = "2"
        try:
            np.testing.assert_array_equal(hirc.run(copies("f32", "6"), {"X": numbers(6)})["Y"], numbers(6))
        finally:
            del os.environ["OMPI_COMM_WORLD_SIZE"]

    def test_surface_of_nvfuser(self):
        a, b = numbers(8, 4), numbers(6, 4)
        printed = hirc.compile(PRODUCT, dump="nvfuser", ranks=2)
        np.testing.assert_array_equal(hirc.run(printed, {"A": a, "B": b})["C"], a @ b.T)

    def test_path(self):
        with tempfile.TemporaryDirectory(prefix="a b") as folder:
            path = pathlib.Path(folder, "-p=1.hir")
            path.write_text(PRODUCT)
            a, b = numbers(8, 4), numbers(6, 4)
            for program in (path, str(path)):
                np.testing.assert_array_equal(hirc.run(program, {"A": a, "B": b}, ranks=2)["C"], a @ b.T)
            here = os.getcwd()
            os.chdir(folder)
            try:
                np.testing.assert_array_equal(hirc.run(path.name, {"A": a, "B": b}, ranks=2)["C"], a @ b.T)
            finally:
                os.chdir(here)


    @unittest.skipUnless(os.environ.get("HIRC_TEST_MOCK"), "no mock of NVIDIA's libraries was built")
    def test_cuda_wheels(self):
        """The libraries of NVIDIA's wheels are found in the same places as by Python."""
        with tempfile.TemporaryDirectory() as folder:
            os.makedirs(os.path.join(folder, "nvidia", "cu13"))
            os.symlink(os.environ["HIRC_TEST_MOCK"], os.path.join(folder, "nvidia", "cu13", "lib"))
            sys.path.append(folder)
            try:
                self.assertTrue(hirc.command.environment()["LD_LIBRARY_PATH"].endswith("/nvidia/cu13/lib"))
                done = hirc.run(PRODUCT, {"A": numbers(8, 4), "B": numbers(6, 4)}, ranks=2, args=["--target=cuda"])
            finally:
                sys.path.remove(folder)
        np.testing.assert_array_equal(done["C"], numbers(8, 4) @ numbers(6, 4).T)


class Wrong(unittest.TestCase):
    A, B = numbers(8, 4), numbers(6, 4)

    def fails(self, kind, text, *args, **more):
        with self.assertRaisesRegex(kind, text) as caught:
            hirc.run(*args, **more)
        return caught.exception

    def test_place(self):
        error = self.fails(hirc.Error, "unknown mesh axis 'X'", PRODUCT.replace("n@x", "n@X"), {"A": self.A, "B": self.B})
        self.assertEqual(error.status, 1)
        first = error.diagnostics[0]
        self.assertEqual((first.file, first.line, first.column, first.severity), ("<stdin>", 3, 17, "error"))
        self.assertIn("did you mean 'x'?", [note.message for note in first.notes])

    def test_arrays(self):
        self.fails(hirc.Error, "A", PRODUCT, {"A": self.A[:4], "B": self.B})
        self.fails(hirc.Error, "A", PRODUCT, {"A": self.A.astype("f8"), "B": self.B})
        self.fails(TypeError, "complex", PRODUCT, {"A": self.A.astype("c8"), "B": self.B})
        self.fails(TypeError, "object", PRODUCT, {"A": self.A.astype(object), "B": self.B})
        self.fails(TypeError, "<U1|str", PRODUCT, {"A": np.array(["a"]), "B": self.B})

    def test_names(self):
        self.fails(ValueError, "no array for 'B'", PRODUCT, {"A": self.A})
        self.fails(ValueError, "'C' is no input of the program; it has 'A', 'B'", PRODUCT, {"A": self.A, "B": self.B, "C": 1})

    def test_arguments(self):
        both = {"A": self.A, "B": self.B}
        self.fails(TypeError, "list of words", PRODUCT, both, args="--check")
        self.fails(ValueError, "whole number", PRODUCT, both, ranks=0)
        self.fails(TypeError, "not int", 3, both)
        self.assertEqual(self.fails(hirc.Error, "unknown option '--nothing'", PRODUCT, both, args=["--nothing"]).status, 2)
        self.fails(hirc.Error, "no-such-file", "no-such-file.hir", both)

    def test_numbers(self):
        with tempfile.TemporaryDirectory() as folder:
            other = os.path.join(folder, "other.hir")
            with open(other, "w", encoding="utf-8") as file:
                file.write(PRODUCT.replace("linear(A, B)", "neg(linear(A, B))").replace(
                    "output C: f32[n, 6] = neg(linear(A, B))", "D = linear(A, B)\n  output C: f32[n, 6] = neg(D)"))
            error = self.fails(hirc.Error, "wrong: rank 0, C", PRODUCT, {"A": self.A, "B": self.B}, ranks=2,
                               args=[f"--check={other}"])
            self.assertEqual(error.status, 3)

    def test_nothing_stays(self):
        with tempfile.TemporaryDirectory() as folder:
            tempfile.tempdir, room = folder, hirc.arrays.folder
            hirc.arrays.folder = lambda size: None
            try:
                hirc.run(PRODUCT, {"A": self.A, "B": self.B}, ranks=2)
                self.fails(hirc.Error, "A", PRODUCT, {"A": self.A[:4], "B": self.B})
            finally:
                tempfile.tempdir, hirc.arrays.folder = None, room
            self.assertEqual(os.listdir(folder), [])

    def test_warning(self):
        text = "mesh m(x = 2)\nprogram p on m {\n  output Z: f32[4] = allocate()\n}\n"
        for function in (hirc.compile, lambda text: hirc.run(text, {}, args=["--no-check"])):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                function(text)
            self.assertEqual([w.category for w in caught], [hirc.HircWarning])  # only once
            self.assertIn("nothing writes the output 'Z'", str(caught[0].message))
            self.assertEqual(caught[0].filename, __file__)


class Compile(unittest.TestCase):
    def test_compile(self):
        text = hirc.compile(PRODUCT, ranks=2)
        self.assertIn("allgather", text)
        self.assertEqual(hirc.compile(hirc.Program(text), []), text)  # the output is a program
        self.assertNotIn("allgather", hirc.compile(PRODUCT, ["propagate-shardings"], ranks=2))
        self.assertIn("%HostIrContainer", hirc.compile(PRODUCT, dump="nvfuser", ranks=2))
        self.assertIn("[16@x, 4]", hirc.compile(PRODUCT, [], defines={"n": 16}).replace("n@x, k", "16@x, 4"))
        with self.assertRaises(hirc.Error) as caught:
            hirc.compile("program p {\n  output Y = relu(\n}\n")
        self.assertTrue(caught.exception.diagnostics)

    def test_check_and_sim(self):
        self.assertTrue(hirc.check(PRODUCT, ranks=2).startswith("ok: 2 ranks"))
        self.assertGreater(len(hirc.sim(PRODUCT, ranks=2)), 3)
        with self.assertRaisesRegex(hirc.Error, "receive|recv|deadlock|wait"):
            hirc.check("mesh m(x = 2)\nprogram stuck on m {\n  output Y: f32[4] = allocate()\n"
                       "  recv(Y, peer=1 - rank) as r\n  wait(r)\n}\n")

    def test_version(self):
        self.assertRegex(hirc.version(), r"^hirc \d+\.\d+\.\d+\nfeatures: ")
        self.assertTrue(os.stat(hirc.binary()).st_mode & stat.S_IXUSR)
        with mock.patch.dict(os.environ, HIRC="/bin/false"), self.assertRaises(hirc.Error) as caught:
            hirc.version()
        self.assertEqual(caught.exception.status, 1)


class Graphs(unittest.TestCase):
    """Tests from_fx on a graph of stand-ins for torch's classes; tests/fx2hir.py has graphs of torch itself."""

    def test_from_fx(self):
        if importlib.util.find_spec("torch"):
            self.skipTest("torch itself is here")
        torch, fx = types.ModuleType("torch"), types.ModuleType("torch.fx")
        utils, pytree = types.ModuleType("torch.utils"), types.ModuleType("torch.utils._pytree")

        class Tensor:
            shape, dtype, device = (4, 8), "torch.float32", types.SimpleNamespace(type="cpu")

            def untyped_storage(self):
                raise NotImplementedError

        class Node:
            def __init__(self, op, name, *args):
                self.op, self.name, self.target, self.args, self.kwargs = op, name, name, args, {}
                self.all_input_nodes, self.users, self.meta = list(args), {}, {} if op == "output" else {"val": Tensor()}

        torch.Tensor, fx.Node, torch.fx, torch.utils, utils._pytree = Tensor, Node, fx, utils, pytree
        utils.flop_counter = types.SimpleNamespace(flop_registry={})
        pytree.tree_flatten = lambda x: (list(x) if isinstance(x, (list, tuple)) else [x], None)
        sys.modules.update({"torch": torch, "torch.fx": fx, "torch.utils": utils, "torch.utils._pytree": pytree})
        try:
            x = Node("placeholder", "x")
            y = Node("call_function", "relu", x)
            module = types.SimpleNamespace(graph=types.SimpleNamespace(nodes=[x, y, Node("output", "output", y)]))
            program = hirc.from_fx(module, times={"relu": 70}, name="step")
        finally:
            for name in ("torch", "torch.fx", "torch.utils", "torch.utils._pytree", "hirc.fx"):
                sys.modules.pop(name, None)
        self.assertIn('  relu: f32[4, 8] = extern "relu"(x) {time=70}\n', program.text)
        self.assertIn("relu: f32[4, 8]", hirc.compile(program, []))


if __name__ == "__main__":
    unittest.main()
