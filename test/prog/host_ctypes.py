#!/usr/bin/env python3
"""Calls a C function that sleeps, for the tests of host samples of native code.

usage: host_ctypes.py LIBRARY ITERATIONS
"""
import ctypes
import sys

from demo import TO_DEVICE, Cuda

NAP_US = 10000


def call_c(library):
    library.nap_in_c(NAP_US)


def main():
    library = ctypes.CDLL(sys.argv[1])
    cuda = Cuda()
    stream = cuda.made("StreamCreate")
    device = cuda.made("Malloc", ctypes.c_size_t(4096))
    host = ctypes.create_string_buffer(4096)
    for _ in range(int(sys.argv[2])):
        call_c(library)
        cuda.MemcpyAsync(device, host, ctypes.c_size_t(4096), TO_DEVICE, stream)
        cuda.StreamSynchronize(stream)


main()
