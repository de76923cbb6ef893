"""scripts/bench/peers: mcc and onnxruntime on one machine, in one run.

The two take turns, round by round, so that a disturbance or a change of the clock hits both; the
table shows the median over the rounds of each round's median latency. Inputs are the manifest's
example inputs, or its first size; both run on the host with the same number of threads.
"""

import argparse
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "models"))
import catalog  # noqa: E402

DEFAULT_MODELS = ["resnet50.ts_static", "bert_base.ts_static"]


def cpu_name():
    try:
        for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


class Mcc:
    """A plan, measured by `mcc run --bench`."""

    def __init__(self, mcc, model, directory):
        self.mcc = mcc
        self.plan = pathlib.Path(directory) / "model.plan"
        self.inputs = pathlib.Path(directory) / "in.npz"
        start = time.monotonic()
        subprocess.run([mcc, "compile", model, "-o", self.plan, "--no-cuda"], check=True)
        self.compile_seconds = time.monotonic() - start

    def measure(self, seconds, threads):
        command = [self.mcc, "run", self.plan, "--device", "host", "--input", self.inputs, "--bench", "--json",
                   "--duration", str(seconds), "--threads", str(threads)]
        report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        return report["latency_ms"]["median"]


class OnnxRuntime:
    """The same model in a session of onnxruntime."""

    def __init__(self, model, threads):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])

    def measure(self, seconds, inputs):
        self.session.run(None, inputs)
        samples = []
        end = time.perf_counter() + seconds
        while time.perf_counter() < end or len(samples) < 3:
            start = time.perf_counter()
            self.session.run(None, inputs)
            samples.append(time.perf_counter() - start)
        return statistics.median(samples) * 1000


def example_inputs(name, session):
    import numpy as np

    types = {"tensor(float)": "f4", "tensor(int64)": "i8", "tensor(int32)": "i4"}
    wanted = [(value.name, np.dtype(types[value.type])) for value in session.get_inputs()]
    return catalog.make_inputs(name, wanted, catalog.size_cases(catalog.entry(name))[0])


def compare(options, name, threads):
    import numpy as np

    model = catalog.fetch(name)
    with tempfile.TemporaryDirectory(prefix="mcc-bench-") as directory:
        ours = Mcc(options.mcc, model, directory)
        theirs = OnnxRuntime(model, threads)
        inputs = example_inputs(name, theirs.session)
        np.savez(ours.inputs, **inputs)
        rounds = [(ours.measure(options.seconds, threads), theirs.measure(options.seconds, inputs))
                  for _ in range(options.rounds)]
    return {"model": name, "threads": threads, "mcc_ms": statistics.median(ours_ms for ours_ms, _ in rounds),
            "onnxruntime_ms": statistics.median(theirs_ms for _, theirs_ms in rounds),
            "ratio": statistics.median(ours_ms / theirs_ms for ours_ms, theirs_ms in rounds),
            "rounds": rounds, "compile_s": ours.compile_seconds}


def main():
    parser = argparse.ArgumentParser(prog="peers", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"of the manifest; default: {' '.join(DEFAULT_MODELS)}")
    parser.add_argument("--threads", default="1,2", help="numbers of threads, default 1,2")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="for each side of a round")
    parser.add_argument("--mcc", default="mcc", help="the program")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    import onnxruntime

    machine = {"cpu": cpu_name(), "processors": os.cpu_count(), "onnxruntime": onnxruntime.__version__,
               "mcc": subprocess.run([options.mcc, "--version"], capture_output=True, text=True).stdout.strip()}
    if not options.json:
        print(f"{machine['cpu']}, {machine['processors']} processors; {machine['mcc']}, "
              f"onnxruntime {machine['onnxruntime']}; medians of {options.rounds} alternating rounds, ms")
        print(f"{'model':28} {'threads':>7} {'mcc':>9} {'onnxruntime':>12} {'mcc / ort':>10}")
    results = []
    for name in options.models or DEFAULT_MODELS:
        for threads in map(int, options.threads.split(",")):
            row = compare(options, name, threads)
            results.append(row)
            if not options.json:
                print(f"{name:28} {threads:7} {row['mcc_ms']:9.2f} {row['onnxruntime_ms']:12.2f} {row['ratio']:10.2f}",
                      flush=True)
    if options.json:
        print(json.dumps({"machine": machine, "results": results}, indent=2))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (catalog.CatalogError, subprocess.CalledProcessError) as error:
        print(f"peers: error: {error}", file=sys.stderr)
        sys.exit(3)
