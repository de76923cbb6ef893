#!/usr/bin/env python3
"""The ONNX node conformance suite through the importer and the reference evaluator.

usage: run.py EVALUATOR [--only TEXT] [--update]

EVALUATOR is the onnx_eval test tool. pass.txt lists the cases that must pass, excluded.txt those
that don't, each with its reason. The suite feeds axes, shapes and other parameters as inputs; where
a plan needs them at compile time the case is run again with them as constants, which pass.txt says.
A case in neither list, a listed case that fails and an excluded
one that passes are all errors. --update rewrites both lists (new exclusions get the tool's own
message as their reason). Needs the onnx, numpy and ml_dtypes packages.
"""
import argparse
import os
import pathlib
import selectors
import subprocess
import sys
import tempfile
import warnings

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
TIME_LIMIT_S = 60
MOST_PARAMETERS = 16  # elements of an input that counts as a parameter
RANDOM = ("bernoulli", "random", "training_dropout")
CONSTANT = "constant parameters"


def collect():
    warnings.simplefilter("ignore")
    from onnx.backend.test.case.node import collect_testcases

    cases = {}
    for case in collect_testcases(None):
        # Expanded cases show the same operator by its function body: the suite has them twice.
        cases[case.name] = case
    return cases


class Evaluator:
    """One onnx_eval process; restarted after a crash or a timeout."""

    def __init__(self, path):
        self.path = path
        self.process = None

    def run(self, *words):
        if self.process is None or self.process.poll() is not None:
            self.process = subprocess.Popen(
                [self.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        self.process.stdin.write((" ".join(map(str, words)) + "\n").encode())
        selector = selectors.DefaultSelector()
        selector.register(self.process.stdout, selectors.EVENT_READ)
        line = b""
        while not line.endswith(b"\n"):
            if not selector.select(TIME_LIMIT_S):
                self.process.kill()
                self.process.wait()
                return "error: no answer within %d s" % TIME_LIMIT_S
            chunk = os.read(self.process.stdout.fileno(), 65536)
            if not chunk:
                return "error: the evaluator crashed (status %s)" % self.process.wait()
            line += chunk
        return line.decode(errors="replace").strip()


def from_proto(value):
    from onnx import TensorProto, numpy_helper

    return numpy_helper.to_array(value) if isinstance(value, TensorProto) else value


def plain(array):
    """The array in a dtype that .npy files of the tool use."""
    array = np.asarray(array)
    name = array.dtype.name
    if name in ("int4", "int2"):
        return array.astype(np.int8)
    if name in ("uint4", "uint2"):
        return array.astype(np.uint8)
    if name.startswith(("float4", "float8", "bfloat16")):
        return array.view(np.uint16 if array.dtype.itemsize == 2 else np.uint8)
    return array


def widened(array):
    """What the tool writes for an expected array."""
    array = np.asarray(array)
    if array.dtype.name.startswith(("float4", "float8", "bfloat16", "float6e")):
        return array.astype(np.float32)
    return plain(array)


def check(evaluator, case, folder, constant=False):
    """The problem, or "" when the case passes."""
    import onnx
    from onnx import numpy_helper

    model_path, inputs_path, outputs_path = (folder / n for n in ("m.onnx", "i.npz", "o.npz"))
    for inputs, outputs in case.data_sets:
        inputs, outputs = ([from_proto(v) for v in values] for values in (inputs, outputs))
        for value in [*inputs, *outputs]:
            if not isinstance(value, (np.ndarray, np.generic)):
                return "sequences and optionals are not inputs or outputs of a plan"
            if value.dtype == object or value.dtype.kind in "US":
                return "strings are not supported"
        model = onnx.ModelProto()
        model.CopyFrom(case.model)
        feeds = dict(zip([i.name for i in model.graph.input], inputs))
        if constant:
            for name in [i.name for i in model.graph.input][1:]:
                value = np.asarray(feeds[name])
                if value.ndim <= 1 and value.size <= MOST_PARAMETERS:
                    model.graph.initializer.append(numpy_helper.from_array(value, name))
                    del feeds[name]
            if not model.graph.initializer:
                return "no parameters"
        model_path.write_bytes(model.SerializeToString())
        np.savez(inputs_path, **{n: plain(a) for n, a in feeds.items()})
        answer = evaluator.run(model_path, inputs_path, outputs_path)
        if answer != "ok":
            return answer
        with np.load(outputs_path) as found:
            for name, expected in zip([o.name for o in model.graph.output], outputs):
                expected, actual = widened(expected), found[name]
                if expected.dtype != actual.dtype or expected.shape != actual.shape:
                    return "output %s is %s%s, expected %s%s" % (
                        name, actual.dtype, actual.shape, expected.dtype, expected.shape)
                if any(word in case.name for word in RANDOM):
                    continue  # only shape and type are determined
                try:
                    np.testing.assert_allclose(actual, expected, rtol=case.rtol, atol=case.atol)
                except AssertionError as error:
                    lines = [l.strip() for l in str(error).splitlines() if "ismatch" in l]
                    return "output %s differs: %s" % (name, "; ".join(lines)[:200])
    return ""


def read_list(path):
    entries = {}
    if path.exists():
        for line in path.read_text().splitlines():
            if line and not line.startswith("#"):
                name, _, reason = line.partition("  ")
                entries[name] = reason.strip()
    return entries


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("evaluator")
    parser.add_argument("--only", default="")
    parser.add_argument("--update", action="store_true")
    arguments = parser.parse_args()
    evaluator = Evaluator(arguments.evaluator)
    passing, excluded = read_list(HERE / "pass.txt"), read_list(HERE / "excluded.txt")
    good, bad, errors = [], {}, []
    with tempfile.TemporaryDirectory() as folder:
        for name, case in sorted(collect().items()):
            if arguments.only not in name:
                continue
            problem = check(evaluator, case, pathlib.Path(folder))
            note = ""
            if problem and not check(evaluator, case, pathlib.Path(folder), constant=True):
                problem, note = "", CONSTANT
            if problem:
                bad[name] = problem
                if name not in excluded:
                    errors.append("%s fails: %s" % (name, problem[:400]))
            else:
                good.append(name + ("  " + note if note else ""))
                if note and not arguments.update and passing.get(name) != note:
                    errors.append("%s needs constant parameters" % name)
                if name in excluded:
                    errors.append("%s passes but is excluded (%s)" % (name, excluded[name]))
                elif name not in passing and not arguments.update:
                    errors.append("%s passes but is in no list" % name)
    if arguments.update and not arguments.only:
        (HERE / "pass.txt").write_text("\n".join(good) + "\n")
        lines = ["%s  %s" % (n, excluded.get(n) or p[:200]) for n, p in sorted(bad.items())]
        (HERE / "excluded.txt").write_text(
            "# name  reason\n" + "\n".join(lines) + "\n")
    for error in errors:
        print(error)
    print("%d pass, %d do not" % (len(good), len(bad)))
    return 1 if errors and not arguments.update else 0


if __name__ == "__main__":
    sys.exit(main())
