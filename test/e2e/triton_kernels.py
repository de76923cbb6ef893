"""Kernels of Triton's, compiled to PTX without a GPU: triton_kernels.py DIRECTORY writes them there.

Runs in an environment that has triton; triton_test.py makes it. Prints a JSON object: for each file
the threads of a block and the bytes of dynamic shared memory that it must be launched with.
"""

import json
import pathlib
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def softmax(x, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * n + i, mask=i < n, other=-float("inf"))
    v = tl.exp(v - tl.max(v, 0))
    tl.store(y + row * n + i, v / tl.sum(v, 0), mask=i < n)


@triton.jit
def scan(x, y, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y + i, tl.cumsum(tl.load(x + i), 0))


@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    total = tl.zeros((BM, BN), tl.float32)
    for s in range(0, K, BK):
        total += tl.dot(tl.load(a + m[:, None] * K + (s + k)[None, :]), tl.load(b + (s + k)[:, None] * N + n[None, :]))
    tl.store(c + m[:, None] * N + n[None, :], total)


def main(directory):
    launches = {}

    def write(name, kernel, types, constants):
        signature = types | {key: "constexpr" for key in constants}
        compiled = triton.compile(ASTSource(kernel, signature, constexprs=constants), target=GPUTarget("cuda", 80, 32))
        (pathlib.Path(directory) / f"{name}.ptx").write_text(compiled.asm["ptx"])
        launches[name] = {"threads": 32 * compiled.metadata.num_warps, "shared": compiled.metadata.shared}

    write("softmax", softmax, {"x": "*fp32", "y": "*fp32", "n": "i32"}, {"BLOCK": 256})
    write("scan", scan, {"x": "*fp32", "y": "*fp32"}, {"BLOCK": 512})
    for dtype in ("fp16", "bf16", "fp32"):
        write(f"matmul_{dtype}", matmul, {"a": f"*{dtype}", "b": f"*{dtype}", "c": "*fp32", "M": "i32", "N": "i32", "K": "i32"},
              {"BM": 64, "BN": 64, "BK": 32})
    print(json.dumps(launches))


if __name__ == "__main__":
    main(sys.argv[1])
