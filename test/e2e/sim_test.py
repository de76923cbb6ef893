"""The simulator as users meet it: `run --device sim`, `profile` and `sim`."""

import json
import pathlib
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from harness import DATA, CommandTest, read_npz, run  # noqa: E402

MODEL = DATA / "small.ir"

# y[i] = x[i] + x[i + shift], one thread per element.
PTX = """.version 8.0
.target sm_80
.address_size 64
.visible .entry add(.param .u64 x, .param .u64 y) {
.reg .b32 %r<4>; .reg .f32 %f<4>; .reg .b64 %rd<6>;
ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y];
mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 4;
add.s64 %rd4, %rd1, %rd3; add.s64 %rd5, %rd2, %rd3;
ld.global.f32 %f1, [%rd4]; ld.global.f32 %f2, [%rd4+SHIFT];
add.f32 %f3, %f1, %f2;
st.global.f32 [%rd5], %f3;
ret;
}
"""


class SimPlanTest(CommandTest):
    @classmethod
    def setUpClass(cls):
        cls.shared = tempfile.mkdtemp(prefix="mcc-e2e-")
        cls.addClassCleanup(shutil.rmtree, cls.shared)
        cls.plan = pathlib.Path(cls.shared) / "small.plan"
        result = run("compile", MODEL, "-o", cls.plan, "--no-cuda", "--sim-arch", "sm_80,sm_90", "--host-isa", "v3")
        assert result.returncode == 0, result.stderr


class Device(SimPlanTest):
    def test_targets(self):
        report = self.succeed_json("inspect", self.plan)
        self.assertEqual([(target["name"], target["kind"]) for target in report["targets"]],
                         [("compute_80", "ptx"), ("compute_90", "ptx"), ("x86-64-v3", "host")])

    def test_default_ptx_is_not_repeated(self):
        plan = self.directory / "p"
        self.succeed("compile", MODEL, "-o", plan, "--no-host", "--arch", "sm_80", "--sim-arch", "sm_80")
        report = self.succeed_json("inspect", plan)
        self.assertEqual([target["name"] for target in report["targets"]], ["sm_80", "compute_80"])

    def test_same_results_as_the_host(self):
        results = []
        for device in ("host", "sim:80,orders=1", "sim:90", "sim:checks=0"):
            self.succeed("run", self.plan, "--device", device, "--seed", 5, "-o", self.directory / "out.npz")
            results.append(read_npz(self.directory / "out.npz"))
        for result in results[1:]:
            for name, values in results[0].items():
                for expected, actual in zip(values, result[name], strict=True):
                    self.assertAlmostEqual(expected, actual, delta=1e-5)

    def test_verify(self):
        report = self.succeed_json("verify", MODEL, self.plan, "--device", "sim", "--layers")
        self.assertTrue(report["ok"])

    def test_refusals(self):
        self.refuse(3, "--sim-arch sm_75", "run", self.plan, "--device", "sim:75")
        self.refuse(2, "no option of the device sim", "run", self.plan, "--device", "sim:order=3")


class Profile(SimPlanTest):
    def test_counters_do_not_depend_on_threads(self):
        first = self.succeed_json("profile", self.plan, "--threads", 1)
        second = self.succeed_json("profile", self.plan, "--threads", 2)
        self.assertEqual(first, second)
        self.assertEqual(first["totals"]["launches"], len(first["launches"]))
        self.assertEqual(first["gpu"]["name"], "h100")
        for launch in first["launches"]:
            self.assertGreater(launch["counters"]["warp_instructions"], 0)
            self.assertEqual(sum(launch["counters"]["by_class"].values()), launch["counters"]["warp_instructions"])
            self.assertGreaterEqual(launch["estimate"]["total_us"], launch["estimate"]["memory_us"])

    def test_slower_memory_takes_longer(self):
        def memory(gpu):
            return sum(launch["estimate"]["memory_us"] for launch in
                       self.succeed_json("profile", self.plan, "--gpu", gpu)["launches"])
        self.assertGreater(memory("l4"), memory("b200"))

    def test_drawing(self):
        page = self.directory / "page.html"
        table = self.succeed("profile", self.plan, "--gpu", "a100", "--html", page)
        self.assertIn("not a measurement", table)
        text = page.read_text()
        self.assertIn("on a100", text)
        self.assertIn("<circle", text)
        self.assertNotIn("<script", text)

    def test_devices_that_count_nothing(self):
        self.refuse(2, "counts nothing", "profile", self.plan, "--device", "host")


class PtxFile(CommandTest):
    def write(self, shift):
        path = self.directory / "k.ptx"
        path.write_text(PTX.replace("SHIFT", str(shift)))
        return path

    def test_list(self):
        report = self.succeed_json("sim", self.write(0))
        self.assertEqual(report["architecture"], 80)
        self.assertEqual([p["name"] for p in report["kernels"][0]["parameters"]], ["x", "y"])

    def test_run(self):
        out = self.directory / "y.raw"
        arguments = ("--launch", "grid=1 block=64", "--args", "iota:f32:64", f"out:f32:64:{out}")
        self.assertIn("instructions:", self.succeed("sim", self.write(0), *arguments))
        self.assertEqual(len(out.read_bytes()), 256)
        result = run("sim", self.write(4), *arguments, "--json")
        self.assertEqual(result.returncode, 5, result.stderr)
        finding = json.loads(result.stdout)["findings"][0]
        self.assertEqual((finding["kind"], finding["thread"][0], finding["buffer"]), ("out-of-bounds", 63, "arg0"))

    def test_refusals(self):
        self.refuse(2, "argument", "sim", self.write(0), "--launch", "grid=1 block=64", "--args", "iota:f32:64")
        self.refuse(2, "speed", "sim", self.write(0), "--launch", "speed=1", "--args", "null", "null")
        empty = self.directory / "empty.ptx"
        empty.write_text("")
        self.refuse(1, "no kernel", "sim", empty)
        self.refuse(3, "absent.ptx", "sim", self.directory / "absent.ptx")


if __name__ == "__main__":
    unittest.main()
