"""The command line's contract: exit codes, JSON keys, messages, and no partial output."""

import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from harness import DATA, MCC, CommandTest, npy, read_npz, run, write_npz  # noqa: E402

MODEL = DATA / "small.ir"


class PlanTest(CommandTest):
    @classmethod
    def setUpClass(cls):
        cls.shared = tempfile.mkdtemp(prefix="mcc-e2e-")
        cls.addClassCleanup(shutil.rmtree, cls.shared)
        cls.plan = pathlib.Path(cls.shared) / "small.plan"
        # A fixed layout: the number of launches below does not depend on where layouts pay.
        result = run("compile", MODEL, "-o", cls.plan, "--no-cuda", "--layout", "nchw")
        assert result.returncode == 0, result.stderr


class Compile(PlanTest):
    def test_two_compiles_give_the_same_bytes(self):
        for name in ("a", "b"):
            self.succeed("compile", MODEL, "-o", self.directory / name, "--no-cuda", "--no-cache")
        self.assertEqual((self.directory / "a").read_bytes(), (self.directory / "b").read_bytes())

    def test_json(self):
        report = self.succeed_json("compile", MODEL, "-o", self.directory / "p", "--no-cuda", "--layout", "nchw")
        self.assertEqual(report["program"]["launches"], 3)
        self.assertEqual(report["file_bytes"], (self.directory / "p").stat().st_size)

    def test_emit(self):
        self.assertIn("graph \"small\"", self.succeed("compile", MODEL, "--emit=ir"))
        for stage in ("kernels", "host", "cuda"):
            self.assertIn("k0", self.succeed("compile", MODEL, f"--emit={stage}"))
        text = self.succeed("compile", MODEL, "--emit=host")
        self.assertNotIn("probabilities", text)

    def test_usage_errors(self):
        out = self.directory / "p"
        self.refuse(2, "no size", "compile", MODEL, "-o", out, "--dim", "batch=x")
        self.refuse(2, "range is empty", "compile", MODEL, "-o", out, "--dim", "batch=4..1")
        self.refuse(2, "malformed", "compile", MODEL, "-o", out, "--input", "pixels")
        self.refuse(2, "every target", "compile", MODEL, "-o", out, "--no-cuda", "--no-host")
        self.refuse(2, "unknown host instruction set", "compile", MODEL, "-o", out, "--no-cuda", "--host-isa", "v9")
        self.refuse(2, "nonsense", "compile", MODEL, "-o", out, "--disable", "nonsense")
        self.refuse(2, "model", "compile")
        self.assertFalse(out.exists())

    def test_unwritable_and_full_disks(self):
        self.refuse(3, "/nonexistent/p", "compile", MODEL, "-o", "/nonexistent/p", "--no-cuda")

        def limit_file_size():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

        # No file that compiling needs in between is as large as the plan.
        size = self.plan.stat().st_size - 1000
        self.refuse(3, "cannot write the plan file", "compile", MODEL, "-o", self.directory / "p", "--no-cuda",
                  preexec_fn=limit_file_size)
        self.assertEqual(os.listdir(self.directory), [])

    def test_broken_models(self):
        self.refuse(3, "absent.ir", "compile", self.directory / "absent.ir", "-o", self.directory / "p")
        broken = self.directory / "broken.ir"
        broken.write_text(MODEL.read_text()[:-200])
        self.refuse(1, "line", "compile", broken, "-o", self.directory / "p")
        self.assertFalse((self.directory / "p").exists())

    def test_messages_are_plain_when_piped(self):
        result = run("compile", MODEL, "-o", self.directory / "p", "--no-cuda")
        self.assertEqual(result.stderr, "")


class Run(PlanTest):
    def test_inputs_and_outputs(self):
        values = [((i * 37) % 19 - 9) / 10 for i in range(2 * 8 * 36)]
        (self.directory / "x.npy").write_bytes(npy((2, 8, 6, 6), values))
        write_npz(self.directory / "stored.npz", {"pixels": npy((2, 8, 6, 6), values)})
        write_npz(self.directory / "packed.npz", {"pixels": npy((2, 8, 6, 6), values)}, zipfile.ZIP_DEFLATED)
        header = len((self.directory / "x.npy").read_bytes()) - 4 * len(values)
        (self.directory / "x.raw").write_bytes((self.directory / "x.npy").read_bytes()[header:])
        # Options may come before the plan: each takes one value.
        self.succeed("run", "--input", self.directory / "stored.npz", "--dim", "batch=2", self.plan)
        results = []
        for extra in (["--input", self.directory / "stored.npz"], ["--input", self.directory / "packed.npz"],
                      ["--input", f"pixels={self.directory}/x.npy"],
                      ["--input", f"pixels={self.directory}/x.raw", "--dim", "batch=2"]):
            self.succeed("run", self.plan, "-o", self.directory / "out.npz", *extra)
            results.append(read_npz(self.directory / "out.npz")["probabilities"])
        self.assertEqual(len(results[0]), 16)
        self.assertAlmostEqual(sum(results[0]), 2, places=5)
        for other in results[1:]:
            self.assertEqual(other, results[0])

    def test_sizes(self):
        for batch in (1, 3, 8):
            report = self.succeed_json("run", self.plan, "--dim", f"batch={batch}")
            self.assertEqual(report["outputs"][0]["shape"], [batch, 8])
        self.refuse(2, "between 1 and 8", "run", self.plan, "--dim", "batch=9")

    def test_bench(self):
        report = self.succeed_json("run", self.plan, "--bench", "--iterations", 20, "--threads", 1)
        self.assertEqual(report["iterations"], 20)
        latency = report["latency_ms"]
        self.assertLessEqual(latency["min"], latency["median"])
        for key in ("mean", "p90", "p95", "p99"):
            self.assertGreater(latency[key], 0)
        for key in ("throughput_per_s", "load_ms", "first_run_ms"):
            self.assertGreater(report[key], 0)
        self.assertIn("host", report["device"])

    def test_profile(self):
        rows = self.succeed_json("run", self.plan, "--profile")["profile"]
        self.assertEqual([row["kernel"] for row in rows], ["k0", "k1", "k2"])
        self.assertEqual(rows[0]["origin"], ["Conv_0", "Relu_0"])

    def test_wrong_inputs(self):
        def given(name, contents):
            write_npz(self.directory / "in.npz", {name: contents})
            return self.directory / "in.npz"

        self.refuse(2, "no input \"nothing\"", "run", self.plan, "--input", given("nothing", npy((1,), [0])))
        self.refuse(2, "must hold f32", "run", self.plan, "--input", given("pixels", npy((1, 8, 6, 6), [0] * 288, "d")))
        self.refuse(2, "axis 2 must be 6", "run", self.plan, "--input", given("pixels", npy((1, 8, 7, 6), [0] * 336)))
        self.refuse(2, "4 axes", "run", self.plan, "--input", given("pixels", npy((1,), [0])))
        self.refuse(3, "absent.npz", "run", self.plan, "--input", self.directory / "absent.npz")
        (self.directory / "bad.npz").write_bytes(b"PK nonsense")
        self.refuse(2, "archive", "run", self.plan, "--input", self.directory / "bad.npz")
        self.refuse(3, "/nonexistent", "run", self.plan, "-o", "/nonexistent/out.npz")

    def test_devices(self):
        self.refuse(2, "unknown device", "run", self.plan, "--device", "toaster")
        environment = dict(os.environ, MCC_LIBCUDA="libabsent.so")
        message = self.refuse(3, "no CUDA driver", "run", self.plan, "--device", "cuda", env=environment)
        self.assertEqual(message.count("\n"), 1)


class Damage(PlanTest):
    def test_plans(self):
        good = self.plan.read_bytes()
        bad = self.directory / "bad.plan"
        cases = {
            "is truncated": good[: len(good) // 2],
            "too short": good[:100][:70],
            "not an mcc plan": b"\x7fELF" + good[4:],
            "damaged": good[: len(good) // 3] + bytes([good[len(good) // 3] ^ 1]) + good[len(good) // 3 + 1:],
        }
        for message, contents in cases.items():
            bad.write_bytes(contents)
            for command in (["run", bad], ["inspect", bad], ["verify", MODEL, bad]):
                result = run(*command)
                self.assertEqual(result.returncode, 1, result.stderr)
                self.assertEqual(result.stdout, "")
                if message != "too short":
                    self.assertIn(message, result.stderr)
        self.refuse(3, "No such file", "inspect", self.directory / "absent.plan")


class Inspect(PlanTest):
    def test_json(self):
        report = self.succeed_json("inspect", self.plan, "--dim", "batch=4")
        self.assertEqual(report["program"]["launches"], 3)
        self.assertEqual(report["arena"]["dims"], {"batch": 4})
        self.assertGreaterEqual(report["arena"]["sum_bytes"], report["arena"]["bytes"])
        self.assertGreaterEqual(report["arena"]["bytes"], report["arena"]["lower_bound_bytes"])
        self.assertGreater(report["weights_bytes"], 0)
        self.assertEqual(report["inputs"], [{"name": "pixels", "dtype": "f32", "shape": ["batch", 8, 6, 6]}])
        self.assertEqual([target["name"] for target in report["targets"]], ["x86-64-v3", "x86-64-v4"])
        for target in report["targets"]:
            self.assertEqual(target["kind"], "host")
            self.assertGreater(target["bytes"], 0)
            self.assertEqual([kernel["name"] for kernel in target["kernels"]], ["k0", "k1", "k2"])
            self.assertEqual(target["kernels"][0]["origin"], ["Conv_0", "Relu_0"])
        self.assertIn("host_compiler", report["toolchain"])

    def test_text(self):
        text = self.succeed("inspect", self.plan, "--kernels")
        for word in ("pixels", "batch", "arena", "x86-64-v4", "Softmax_0"):
            self.assertIn(word, text)


class Verify(PlanTest):
    def test_agreement(self):
        report = self.succeed_json("verify", MODEL, self.plan, "--dim", "batch=3", "--layers")
        self.assertTrue(report["ok"])
        self.assertEqual(report["layers_checked"], 3)
        self.assertIsNone(report["first_difference"])

    def test_first_difference(self):
        # A plan of a model with another weight: its first kernel departs.
        other = self.directory / "other.ir"
        other.write_text(MODEL.read_text().replace("0.4, -0.5", "0.4, -0.6"))
        result = run("verify", other, self.plan, "--dim", "batch=2", "--layers")
        self.assertEqual(result.returncode, 5, result.stderr)
        self.assertIn("first difference in kernel k0", result.stdout)
        self.assertIn("Conv_0", result.stdout)


class Others(CommandTest):
    def test_version_and_help(self):
        self.assertRegex(self.succeed("--version"), r"^mcc \d+\.\d+\.\d+\n$")
        self.assertIn("compile", self.succeed("--help"))
        self.assertEqual(run().returncode, 2)
        self.assertEqual(run("nonsense").returncode, 2)

    def test_opt(self):
        text = self.succeed("opt", MODEL)
        self.assertIn("fused", text)
        self.assertIn("%6 = softmax", self.succeed("opt", MODEL, "-O0", "--stop-after", 0))
        self.assertEqual(self.succeed("opt", input=MODEL.read_text()), text)
        self.refuse(2, "nonsense", "opt", MODEL, "-p", "nonsense")
        self.assertIn("level", self.succeed("opt", "--list"))

    def test_doctor(self):
        result = run("doctor", "--json")
        self.assertIn(result.returncode, (0, 3))
        self.assertIn("findings", result.stdout)

    def test_completion(self):
        for shell in ("bash", "zsh", "fish"):
            self.assertIn("inspect", self.succeed("completion", shell))
        script = self.succeed("completion", "bash") + "COMP_WORDS=(mcc run --be); COMP_CWORD=2; _mcc; echo \"${COMPREPLY[@]}\"\n"
        answer = subprocess.run(["bash"], input=script, capture_output=True, text=True)
        self.assertEqual(answer.stdout.strip(), "--bench")

    def test_ops(self):
        operators = self.succeed_json("ops")["operators"]
        self.assertIn("Conv", {operator["name"] for operator in operators})
        self.refuse(2, "nonsense", "ops", "nonsense")


if __name__ == "__main__":
    print("testing", MCC)
    unittest.main()
