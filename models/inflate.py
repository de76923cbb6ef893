#!/usr/bin/env python3
"""Draws the weights of a model that is kept as a graph only (needs onnx and numpy).

usage: inflate.py NAME.graph.onnx OUT.onnx

Each emptied initializer is drawn from a normal distribution with the mean and standard deviation
recorded in metadata_props["weights"], clipped to the recorded range, from a seed made of its name:
the same file gives the same weights on every machine.
"""

import json
import sys
import zlib

import numpy as np
import onnx


def draw(tensor, mean, deviation, low, high):
    generator = np.random.Generator(np.random.PCG64(zlib.crc32(tensor.name.encode())))
    values = generator.standard_normal(tuple(tensor.dims), dtype=np.float32)
    values = np.clip(values * np.float32(deviation) + np.float32(mean), low, high)
    dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type)
    if np.issubdtype(dtype, np.integer):
        values = np.rint(values)
    return np.ascontiguousarray(values.astype(dtype))


def inflate(source, target):
    model = onnx.load(str(source))
    record = next(prop for prop in model.metadata_props if prop.key == "weights")
    statistics = json.loads(record.value)
    model.metadata_props.remove(record)
    for tensor in model.graph.initializer:
        if tensor.name in statistics:
            tensor.raw_data = draw(tensor, *statistics[tensor.name]).tobytes()
    onnx.save(model, str(target))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    inflate(sys.argv[1], sys.argv[2])
