"""What goes wrong with ONNX models, plans and inputs: one clear error, the documented exit code,
and no partial output. (cli_test.py does the same for graphs in text form.)"""

import os
import pathlib
import random
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "models"))
import catalog  # noqa: E402
import numpy as np  # noqa: E402
import onnx  # noqa: E402
from harness import CommandTest, run  # noqa: E402
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

MODEL_ERROR, USAGE_ERROR, ENVIRONMENT_ERROR = 1, 2, 3
MODEL = catalog.fetch("espcn_micro.ts")


class ErrorTest(CommandTest):
    def refuse_model(self, message, model, code=MODEL_ERROR):
        """Compiling fails as documented and leaves the directory as it was."""
        before = sorted(os.listdir(self.directory))
        error = self.refuse(code, message, "compile", model, "-o", self.directory / "out.plan", "--no-cuda")
        self.assertEqual(sorted(os.listdir(self.directory)), before)
        return error

    def save(self, nodes, inputs, outputs, initializers=(), opset=17, **options):
        graph = helper.make_graph(nodes, "g", inputs, outputs, list(initializers))
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
        onnx.save(model, self.directory / "model.onnx", **options)
        return self.directory / "model.onnx"


def floats(name, *shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


class Models(ErrorTest):
    def test_absent(self):
        self.refuse_model("absent.onnx", self.directory / "absent.onnx", ENVIRONMENT_ERROR)

    def test_a_directory(self):
        result = run("compile", self.directory, "-o", self.directory / "out.plan")
        self.assertIn(result.returncode, (MODEL_ERROR, USAGE_ERROR, ENVIRONMENT_ERROR), result.stderr)
        self.assertFalse((self.directory / "out.plan").exists())

    def test_cut_short(self):
        contents = MODEL.read_bytes()
        for length in (0, 1, 10, len(contents) // 2, len(contents) - 1):
            path = self.directory / "cut.onnx"
            path.write_bytes(contents[:length])
            self.refuse_model("cut.onnx", path)

    def test_not_a_model(self):
        path = self.directory / "noise.onnx"
        path.write_bytes(random.Random(1).randbytes(5000))
        self.refuse_model("noise.onnx", path)

    def test_flipped_bits_never_crash(self):
        contents = MODEL.read_bytes()
        generator = random.Random(2)
        path = self.directory / "flipped.onnx"
        for _ in range(40):
            flipped = bytearray(contents)
            for _ in range(3):
                flipped[generator.randrange(len(flipped))] ^= 1 << generator.randrange(8)
            path.write_bytes(flipped)
            result = run("compile", path, "--emit=ir", "-o", self.directory / "ir.txt")
            self.assertIn(result.returncode, (0, MODEL_ERROR), result.stderr)
            (self.directory / "ir.txt").unlink(missing_ok=True)

    def test_missing_external_data(self):
        weights = numpy_helper.from_array(np.ones((64, 64), np.float32), "w")
        model = self.save([helper.make_node("MatMul", ["x", "w"], ["y"], name="product")], [floats("x", 1, 64)],
                          [floats("y", 1, 64)], [weights], save_as_external_data=True, location="weights.bin",
                          size_threshold=0)
        self.succeed("compile", model, "-o", self.directory / "good.plan", "--no-cuda")
        (self.directory / "good.plan").unlink()
        (self.directory / "weights.bin").rename(self.directory / "gone.bin")
        self.refuse_model("weights.bin", model)
        (self.directory / "weights.bin").write_bytes(b"short")
        self.refuse_model("weights.bin", model)

    def test_external_data_stays_in_the_models_directory(self):
        weights = numpy_helper.from_array(np.ones((64, 64), np.float32), "w")
        model = self.save([helper.make_node("MatMul", ["x", "w"], ["y"])], [floats("x", 1, 64)], [floats("y", 1, 64)],
                          [weights], save_as_external_data=True, location="weights.bin", size_threshold=0)
        contents = model.read_bytes()
        for location in (b"/etc/passwd", b"../x/pwd123"):
            self.assertEqual(len(location), len(b"weights.bin"))
            model.write_bytes(contents.replace(b"weights.bin", location))
            self.refuse_model(location.decode(), model)

    def test_unsupported_operators_are_all_reported(self):
        nodes = [helper.make_node("FrobnicateX", ["x"], ["a"], name="first", domain="example.org"),
                 helper.make_node("Relu", ["a"], ["b"], name="fine"),
                 helper.make_node("GrindleY", ["b"], ["y"], name="second", domain="example.org")]
        graph = helper.make_graph(nodes, "g", [floats("x", 1, 4)], [floats("y", 1, 4)])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("example.org", 1)])
        onnx.save(model, self.directory / "model.onnx")
        error = self.refuse_model("FrobnicateX", self.directory / "model.onnx")
        for text in ("first", "GrindleY", "second", "example.org"):
            self.assertIn(text, error)

    def test_shape_conflict(self):
        weights = numpy_helper.from_array(np.ones((5, 7), np.float32), "w")
        model = self.save([helper.make_node("MatMul", ["x", "w"], ["y"], name="product")], [floats("x", 2, 4)],
                          [floats("y", 2, 7)], [weights])
        self.refuse_model("product", model)

    def test_cycle(self):
        model = self.save([helper.make_node("Add", ["x", "b"], ["a"]), helper.make_node("Relu", ["a"], ["b"])],
                          [floats("x", 4)], [floats("b", 4)])
        self.refuse_model("", model)

    def test_full_disk(self):
        result = run("compile", MODEL, "--emit=ir", "-o", "/dev/full")
        self.assertEqual(result.returncode, ENVIRONMENT_ERROR, result.stderr)
        self.assertIn("/dev/full", result.stderr)


class Plans(ErrorTest):
    def setUp(self):
        super().setUp()
        self.plan = self.directory / "good.plan"
        self.succeed("compile", MODEL, "-o", self.plan, "--no-cuda", "--host-isa", "v3")
        self.outputs = self.directory / "out.npz"

    def refuse_run(self, code, message, *arguments):
        error = self.refuse(code, message, "run", *arguments, "--output", self.outputs)
        self.assertFalse(self.outputs.exists())
        return error

    def test_truncated(self):
        contents = self.plan.read_bytes()
        for length in (0, 1, 63, 64, len(contents) // 2, len(contents) - 1):
            path = self.directory / "cut.plan"
            path.write_bytes(contents[:length])
            self.refuse_run(MODEL_ERROR, "cut.plan", path)

    def test_every_flipped_bit_is_noticed(self):
        contents = self.plan.read_bytes()
        generator = random.Random(3)
        path = self.directory / "flipped.plan"
        for _ in range(40):
            flipped = bytearray(contents)
            flipped[generator.randrange(len(flipped))] ^= 1 << generator.randrange(8)
            path.write_bytes(flipped)
            result = run("run", path, "--output", self.outputs)
            # A bit of the padding between sections may change nothing.
            self.assertIn(result.returncode, (0, MODEL_ERROR), result.stderr)
            if result.returncode != 0:
                self.assertIn("flipped.plan", result.stderr)
                self.assertFalse(self.outputs.exists())
            self.outputs.unlink(missing_ok=True)

    def test_foreign(self):
        self.refuse_run(MODEL_ERROR, "not an mcc plan", MODEL)
        self.refuse_run(MODEL_ERROR, "not an mcc plan", "/bin/ls")

    def test_inputs(self):
        def saved(**arrays):
            np.savez(self.directory / "in.npz", **arrays)
            return self.directory / "in.npz"

        good = np.zeros((1, 3, 16, 16), np.float32)
        self.succeed("run", self.plan, "--input", saved(x=good), "--output", self.outputs)
        self.outputs.unlink()
        for bad, message in ((good[:, :2], "axis 1"), (good[0], "axes"), (good.astype("f8"), "f32"),
                             (good.astype("i4"), "f32"), (good[:, :, :0], "between 1 and")):
            self.refuse_run(USAGE_ERROR, message, self.plan, "--input", saved(x=bad))
        self.refuse_run(USAGE_ERROR, "other", self.plan, "--input", saved(other=good))
        self.refuse_run(ENVIRONMENT_ERROR, "absent.npz", self.plan, "--input", self.directory / "absent.npz")

    def test_full_disk(self):
        result = run("run", self.plan, "--output", "/dev/full")
        self.assertEqual(result.returncode, ENVIRONMENT_ERROR, result.stderr)


if __name__ == "__main__":
    unittest.main()
