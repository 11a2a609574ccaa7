"""CuPy: a product, elementwise work, a kernel from source, a sum that is read.

usage: cupy_loop.py STEPS
"""
import sys

import cupy

scale = cupy.RawKernel('extern "C" __global__ void scale(float *x, float f) '
                       '{ x[blockIdx.x * blockDim.x + threadIdx.x] *= f; }', "scale")
a = cupy.ones((512, 512), dtype=cupy.float32) / 512
total = 0.0
for _ in range(int(sys.argv[1])):
    b = cupy.tanh(a @ a) + a
    scale((1024,), (256,), (b, cupy.float32(0.5)))
    total += float(b.sum())
print(f"sum {total:.2f}")
