"""Runs mcc as users do; shared by the end-to-end tests. Needs nothing but the standard library."""

import array
import json
import os
import pathlib
import subprocess
import tempfile
import unittest
import zipfile

MCC = os.environ.get("MCC", "mcc")
DATA = pathlib.Path(__file__).resolve().parent.parent / "data"


def run(*arguments, **options):
    """The finished process; text output, 5 minutes at most."""
    command = [MCC, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, **options)


class CommandTest(unittest.TestCase):
    """A test with a temporary directory of its own."""

    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="mcc-e2e-")
        self.addCleanup(holder.cleanup)
        self.directory = pathlib.Path(holder.name)

    def succeed(self, *arguments, **options):
        result = run(*arguments, **options)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def succeed_json(self, *arguments):
        return json.loads(self.succeed(*arguments, "--json"))

    def refuse(self, code, message, *arguments, **options):
        """Exactly one error line, with `message` in it, and the exit code."""
        result = run(*arguments, **options)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        self.assertIn(message, result.stderr)
        self.assertEqual(result.stdout, "")
        return result.stderr


def npy(shape, values, code="f"):
    """The bytes of a .npy file: floats ("f") or 64-bit integers ("q")."""
    kind = {"f": "<f4", "q": "<i8", "d": "<f8"}[code]
    dims = "".join(f"{dim}," for dim in shape)
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': ({dims}), }}"
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + array.array(code, values).tobytes()


def write_npz(path, arrays, compression=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, contents in arrays.items():
            archive.writestr(name + ".npy", contents)


def read_npz(path):
    """name -> list of floats (only f4 arrays)."""
    result = {}
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            contents = archive.read(name)
            start = 10 + int.from_bytes(contents[8:10], "little")
            result[name.removesuffix(".npy")] = list(array.array("f", contents[start:]))
    return result
