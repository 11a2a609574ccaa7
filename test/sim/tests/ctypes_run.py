"""The runtime by ctypes, as a Python extension without headers uses it: dlsym on a handle."""
import ctypes
import sys

rt = ctypes.CDLL("libcudart.so.13")
failed = False


def check(good, name):
    global failed
    failed |= not good
    print("ok" if good else "not ok", "ctypes: " + name + ("" if good else ": it does not hold"))


count, pointer = ctypes.c_int(), ctypes.c_void_p()
check(rt.cudaGetDeviceCount(ctypes.byref(count)) == 0 and count.value == int(sys.argv[1]),
      "PROFSIM_DEVICES")
check(rt.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(100)) == 0, "cudaMalloc")
text, back = ctypes.create_string_buffer(b"hello", 100), ctypes.create_string_buffer(100)
check(rt.cudaMemcpy(pointer, text, ctypes.c_size_t(100), 1) == 0, "copy in")
check(rt.cudaMemcpy(back, pointer, ctypes.c_size_t(100), 2) == 0 and back.value == b"hello",
      "copy out")
other = ctypes.c_void_p()
check(rt.cudaSetDevice(1) == 0 and rt.cudaMalloc(ctypes.byref(other), ctypes.c_size_t(100)) == 0,
      "a second device")
check(rt.cudaMemcpyPeer(other, 1, pointer, 0, ctypes.c_size_t(100)) == 0, "copy to a peer")
back = ctypes.create_string_buffer(100)
check(rt.cudaMemcpy(back, other, ctypes.c_size_t(100), 2) == 0 and back.value == b"hello",
      "and from there")
check(rt.cudaFree(pointer) == 0 and rt.cudaFree(other) == 0, "cudaFree")
sys.exit(failed)
