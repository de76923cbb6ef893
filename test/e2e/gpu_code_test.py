"""Compiles models for every default target and checks their GPU code, without a GPU.

    gpu_code_test.py NAME...

Every kernel of the plan must be present in every target, no kernel may spill registers, and every
launch must name a kernel with its ONNX nodes. Skipped where there is no NVRTC.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "models"))
import catalog  # noqa: E402
from harness import MCC, run  # noqa: E402

DEFAULT_ARCHITECTURES = {"sm_80", "sm_89", "sm_90"}


def problems(report):
    """What is wrong with the targets of an `inspect --json` report."""
    found = []
    gpu = [target for target in report["targets"] if target["kind"] == "cubin"]
    missing = DEFAULT_ARCHITECTURES - {target["name"] for target in gpu}
    if missing:
        found.append(f"no GPU code for {sorted(missing)}")
    if not any(target["kind"] == "ptx" for target in report["targets"]):
        found.append("no PTX")
    names = {kernel["name"] for target in report["targets"] for kernel in target["kernels"]}
    for target in report["targets"]:
        here = {kernel["name"]: kernel for kernel in target["kernels"]}
        if names - set(here):
            found.append(f"{target['name']} lacks {sorted(names - set(here))}")
        for kernel in here.values():
            if not kernel["origin"]:
                found.append(f"{target['name']}: {kernel['name']} names no ONNX node")
            if target["kind"] == "cubin" and kernel["spill_bytes"] != 0:
                found.append(f"{target['name']}: {kernel['name']} ({', '.join(kernel['origin'])}) spills "
                             f"{kernel['spill_bytes']} bytes of registers")
    return found


def check(name, directory):
    plan = pathlib.Path(directory) / "model.plan"
    result = run("compile", catalog.fetch(name), "-o", plan)
    if result.returncode != 0:
        return [f"mcc compile exited {result.returncode}: {result.stderr.strip()}"]
    report = json.loads(subprocess.run([MCC, "inspect", plan, "--json"], capture_output=True, text=True,
                                       check=True).stdout)
    if not problems(report):
        print(f"  {report['program']['launches']} launches, {len(report['targets'])} targets, no spills")
    return problems(report)


def main(names):
    findings = json.loads(run("doctor", "--json").stdout)["findings"]
    if not any("nvrtc" in finding["name"].lower() and finding["ok"] for finding in findings):
        print("skipped: no NVRTC here (see mcc doctor)")
        return 0
    failed = 0
    for name in names:
        print(name, flush=True)
        with tempfile.TemporaryDirectory(prefix="mcc-gpu-code-") as directory:
            found = check(name, directory)
        for problem in found:
            print(f"  FAILED: {problem}")
        failed += bool(found)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
