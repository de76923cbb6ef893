"""Two compiles of one model give the same bytes, whatever the directory, threads and cache."""

import os
import pathlib
import shutil
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "models"))
import catalog  # noqa: E402
from harness import CommandTest  # noqa: E402


class Determinism(CommandTest):
    def compile(self, model, name, *options, **settings):
        plan = self.directory / name
        self.succeed("compile", model, "-o", plan, *options, **settings)
        return plan.read_bytes()

    def check(self, name, *options):
        model = catalog.fetch(name)
        cache = self.directory / "cache"
        first = self.compile(model, "first", *options, "--cache-dir", cache, "--threads", 1)
        warm = self.compile(model, "warm", *options, "--cache-dir", cache)
        self.assertEqual(first, warm, "a compile from the kernel cache differs")
        elsewhere = self.directory / "elsewhere"
        elsewhere.mkdir()
        shutil.copy(model, elsewhere / model.name)
        (elsewhere / "tmp").mkdir()
        environment = dict(os.environ, TMPDIR=str(elsewhere / "tmp"), LC_ALL="C.UTF-8", TZ="Asia/Tokyo")
        other = self.compile(elsewhere / model.name, "other", *options, "--no-cache", "--threads", 3, cwd=elsewhere,
                             env=environment)
        self.assertEqual(first, other, "a compile elsewhere differs")

    def test_all_targets(self):
        self.check("espcn_micro.ts")

    def test_convolutions(self):
        self.check("resnet_micro.ts", "--no-cuda")

    def test_decoder(self):
        self.check("llama_micro.ts", "--no-cuda")

    def test_newer_exporter(self):
        self.check("bert_micro.dynamo", "--no-cuda")


if __name__ == "__main__":
    unittest.main()
