"""Compiles models of models/manifest.json, runs them and compares with onnxruntime.

    models_test.py [--device=sim:80] NAME...

On the host, or on the PTX simulator, which also fails on every finding.

Every output must lie within the manifest's tolerance of onnxruntime's, relative to the output's
largest magnitude; integer and boolean outputs must be equal. Dynamic models run at several sizes
from one plan. Decoders feed their KV cache back for some steps.
"""

import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "models"))
import catalog  # noqa: E402
from harness import MCC  # noqa: E402


class Failure(Exception):
    """A model that doesn't compile, run or agree; the text says how."""


def call(*arguments):
    result = subprocess.run([MCC, *map(str, arguments)], capture_output=True, text=True, timeout=1200)
    if result.returncode != 0:
        raise Failure(f"mcc {arguments[0]} exited {result.returncode}: {result.stderr.strip()}")
    return result.stdout


class Model:
    """One compiled model and the reference that it is compared with."""

    def __init__(self, name, directory, device="host"):
        import onnxruntime

        self.name = name
        self.device = device
        self.entry = catalog.entry(name)
        self.directory = pathlib.Path(directory)
        path = catalog.fetch(name)
        self.plan = self.directory / f"{name}.plan"
        targets = ["--no-cuda"] if device == "host" else ["--no-cuda", "--no-host", "--sim-arch", "sm_80"]
        call("compile", path, "-o", self.plan, *targets)
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.intra_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self.input_types = [(value.name, numpy_type(value.type)) for value in self.session.get_inputs()]
        self.output_names = [value.name for value in self.session.get_outputs()]

    def run(self, inputs):
        import numpy as np

        np.savez(self.directory / "in.npz", **inputs)
        call("run", self.plan, "--device", self.device, "--input", self.directory / "in.npz", "--output",
             self.directory / "out.npz")
        with np.load(self.directory / "out.npz") as outputs:
            return {name: outputs[name] for name in self.output_names}

    def compare(self, inputs, label):
        """Runs both; returns onnxruntime's outputs, so that errors don't add up over steps."""
        reference = dict(zip(self.output_names, self.session.run(None, inputs)))
        actual = self.run(inputs)
        worst = 0.0
        for name, expected in reference.items():
            worst = max(worst, difference(f"{label}: output {name}", actual[name], expected, self.entry["tolerance"]))
        print(f"  {label}: largest relative difference {worst:.2e}", flush=True)
        return reference

    def check(self):
        for case in catalog.size_cases(self.entry):
            inputs = catalog.make_inputs(self.name, self.input_types, case)
            self.compare(inputs, "example inputs" if case is None else " ".join(f"{k}={v}" for k, v in case.items()))
        self.check_cache()

    def check_cache(self):
        """Decodes greedily: present.* of one step is past_key_values.* of the next."""
        import numpy as np

        steps = self.entry.get("cache_steps", 0)
        if steps == 0:
            return
        inputs = catalog.make_inputs(self.name, self.input_types, {"B": 2, "S": 4, "P": 3}, seed=7)
        for step in range(steps):
            outputs = self.compare(inputs, f"step {step + 1} with the cache fed back")
            length = inputs["attention_mask"].shape[1]
            following = {name.replace("present", "past_key_values"): array for name, array in outputs.items()
                         if name.startswith("present")}
            following["input_ids"] = outputs["logits"][:, -1:].argmax(axis=-1).astype(np.int64)
            following["attention_mask"] = np.ones((2, length + 1), np.int64)
            following["position_ids"] = np.full((2, 1), length, np.int64)
            inputs = following


def numpy_type(onnx_type):
    import numpy as np

    return np.dtype({"tensor(float)": "f4", "tensor(double)": "f8", "tensor(float16)": "f2", "tensor(int64)": "i8",
                     "tensor(int32)": "i4", "tensor(uint8)": "u1", "tensor(int8)": "i1", "tensor(bool)": "?"}[onnx_type])


def difference(label, actual, expected, tolerance):
    import numpy as np

    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        raise Failure(f"{label} is {actual.dtype} {actual.shape}, but must be {expected.dtype} {expected.shape}")
    if expected.size == 0:
        return 0.0
    if expected.dtype.kind != "f":
        if not np.array_equal(actual, expected):
            raise Failure(f"{label} differs in {np.count_nonzero(actual != expected)} of {expected.size} values")
        return 0.0
    if not np.array_equal(np.isnan(actual), np.isnan(expected)):
        raise Failure(f"{label}: NaN in other places")
    scale = float(np.nanmax(np.abs(expected))) or 1.0
    relative = float(np.nanmax(np.abs(actual.astype("f8") - expected))) / scale
    if not relative <= tolerance:
        raise Failure(f"{label} differs by {relative:.3g} of its largest magnitude; {tolerance:g} is allowed")
    return relative


def main(arguments):
    failures = 0
    device = "host"
    if arguments and arguments[0].startswith("--device="):
        device = arguments.pop(0).removeprefix("--device=")
    for name in arguments:
        print(name, flush=True)
        with tempfile.TemporaryDirectory(prefix="mcc-models-") as directory:
            try:
                Model(name, directory, device).check()
            except (Failure, catalog.CatalogError) as failure:
                print(f"  FAILED: {failure}", flush=True)
                failures += 1
    print(f"{len(arguments) - failures} of {len(arguments)} models agree with onnxruntime")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
