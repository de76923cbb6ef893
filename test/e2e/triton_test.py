"""PTX that Triton made runs on the simulator: no finding in three orders, results as numpy's.

Installs Triton into an environment of its own in the user's cache the first time (200 MB).
"""

import json
import os
import pathlib
import subprocess
import sys
import unittest

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from harness import CommandTest  # noqa: E402

# Two more parameters than the source has: scratch memory, which these kernels don't use.
SCRATCH = ("null", "null")


def triton_python():
    """The interpreter of an environment with the pinned Triton."""
    requirements = HERE / "requirements-triton.txt"
    version = requirements.read_text().split("==")[1].strip()
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache"))
    directory = cache / "mcc" / f"triton-{version}"
    python = directory / "bin" / "python"
    if not (directory / "complete").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", directory], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "-r", requirements], check=True)
        (directory / "complete").touch()
    return python


def truncate_to_bf16(values):
    return (values.view(np.uint32) >> 16).astype(np.uint16)


class Triton(CommandTest):
    @classmethod
    def setUpClass(cls):
        cls.python = triton_python()

    def setUp(self):
        super().setUp()
        result = subprocess.run([self.python, HERE / "triton_kernels.py", self.directory], check=True,
                                capture_output=True, text=True)
        self.launches = json.loads(result.stdout)
        self.random = np.random.default_rng(0)

    def launch(self, name, grid, *arguments):
        launch = self.launches[name]
        self.succeed("sim", self.directory / f"{name}.ptx", "--orders", 2, "--launch",
                     f"grid={grid} block={launch['threads']} shared={launch['shared']}", "--args", *arguments, *SCRATCH)

    def array(self, name, values):
        values.tofile(self.directory / name)
        return f"in:{self.directory / name}"

    def test_softmax(self):
        x = self.random.standard_normal((6, 200), dtype=np.float32)
        out = self.directory / "y.npy"
        self.launch("softmax", 6, self.array("x", x), f"out:f32:6*200:{out}", "i32:200")
        expected = np.exp(x - x.max(1, keepdims=True))
        expected /= expected.sum(1, keepdims=True)
        np.testing.assert_allclose(np.load(out).reshape(6, 200), expected, atol=1e-6)

    def test_scan(self):
        x = self.random.integers(-50, 50, 512).astype(np.float32)
        out = self.directory / "y.npy"
        self.launch("scan", 1, self.array("x", x), f"out:f32:512:{out}")
        np.testing.assert_array_equal(np.load(out).ravel(), np.cumsum(x))

    def test_matmul(self):
        # f32 goes through tf32 tensor cores: 10 bits of mantissa in the operands.
        for dtype, tolerance in (("fp16", 1e-6), ("bf16", 1e-6), ("fp32", 2e-3)):
            with self.subTest(dtype):
                a = self.random.standard_normal((128, 96), dtype=np.float32)
                b = self.random.standard_normal((96, 64), dtype=np.float32)
                stored = [a, b]
                if dtype == "fp16":
                    stored = [values.astype(np.float16) for values in stored]
                    a, b = (values.astype(np.float64) for values in stored)
                elif dtype == "bf16":
                    stored = [truncate_to_bf16(values) for values in stored]
                    a, b = ((values.astype(np.uint32) << 16).view(np.float32) for values in stored)
                out = self.directory / "c.npy"
                self.launch(f"matmul_{dtype}", "2,1", self.array("a", stored[0]), self.array("b", stored[1]),
                            f"out:f32:128*64:{out}", "i32:128", "i32:64", "i32:96")
                expected = a.astype(np.float64) @ b.astype(np.float64)
                error = np.abs(np.load(out).reshape(128, 64) - expected).max() / np.abs(expected).max()
                self.assertLess(error, tolerance)


if __name__ == "__main__":
    unittest.main()
