"""The CUDA runtime by ctypes: dlsym on a handle, from a program that is linked with no CUDA
library."""
import ctypes
import sys

cuda = ctypes.CDLL(sys.argv[1] if len(sys.argv) > 1 else "libcudart.so.13")


def check(status):
    if status:
        sys.exit(f"CUDA error {status}")


memory, stream = ctypes.c_void_p(), ctypes.c_void_p()
data, back = ctypes.create_string_buffer(b"there and back", 64), ctypes.create_string_buffer(64)
check(cuda.cudaStreamCreate(ctypes.byref(stream)))
check(cuda.cudaMalloc(ctypes.byref(memory), ctypes.c_size_t(64)))
check(cuda.cudaMemcpy(memory, data, ctypes.c_size_t(64), 1))
for _ in range(3):
    check(cuda.cudaMemsetAsync(ctypes.c_void_p(memory.value + 32), 7, ctypes.c_size_t(32), stream))
check(cuda.cudaStreamSynchronize(stream))
check(cuda.cudaMemcpy(back, memory, ctypes.c_size_t(64), 2))
check(cuda.cudaFree(memory))
print(back.value.decode(), back.raw[32])
