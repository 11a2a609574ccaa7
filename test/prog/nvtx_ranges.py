"""NVTX and the CUDA runtime by ctypes: ranges around calls on two threads. First argument: the
library with NVTX's functions."""
import ctypes
import sys
import threading

nvtx, cuda = ctypes.CDLL(sys.argv[1]), ctypes.CDLL("libcudart.so.13")
nvtx.nvtxRangeStartA.restype = ctypes.c_uint64
nvtx.nvtxRangeEnd.argtypes = [ctypes.c_uint64]


def check(status):
    if status:
        sys.exit(f"CUDA error {status}")


def work(name):
    nvtx.nvtxRangePushA(name.encode())
    memory = ctypes.c_void_p()
    check(cuda.cudaMalloc(ctypes.byref(memory), ctypes.c_size_t(64)))
    nvtx.nvtxRangePushW("f\u00fcllen")
    check(cuda.cudaMemset(memory, 7, ctypes.c_size_t(64)))
    nvtx.nvtxRangePop()
    check(cuda.cudaFree(memory))
    nvtx.nvtxRangePop()


check(cuda.cudaFree(None))
started = nvtx.nvtxRangeStartA(b"both threads")
other = threading.Thread(target=work, args=["second thread"])
other.start()
work("first thread")
other.join()
nvtx.nvtxRangeEnd(started)
print("done")
