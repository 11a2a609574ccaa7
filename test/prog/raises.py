"""A Python program that ends with an exception, as sys.argv[1] says, after a little CUDA work."""
import ctypes
import sys

cuda = ctypes.CDLL("libcudart.so.13")
memory = ctypes.c_void_p()
for _ in range(3):
    cuda.cudaMalloc(ctypes.byref(memory), ctypes.c_size_t(64))
    cuda.cudaMemsetAsync(memory, 7, ctypes.c_size_t(32), None)
    cuda.cudaStreamSynchronize(None)


def load(number):
    if number == 0:
        raise KeyError("no batch\nafter the first")  # mark: plain, mark: long
    load(number - 1)


if sys.argv[1] == "plain":
    load(2)
elif sys.argv[1] == "chained":
    try:
        load(1)
    except KeyError as error:
        raise ValueError("the data set is empty") from error  # mark: chained
elif sys.argv[1] == "sentence":
    raise ValueError("The data set is empty. Give it a row.")  # mark: sentence
elif sys.argv[1] == "long":
    print("x" * 20000, file=sys.stderr)
    load(900)
elif sys.argv[1] == "handled":
    import traceback
    try:
        load(1)
    except KeyError:
        traceback.print_exc()
