#!/usr/bin/env python3
"""Calls C functions that sleep, for the tests of host samples of native code.

usage: host_ctypes.py LIBRARY ITERATIONS
"""
import ctypes
import sys
import time

from demo import TO_DEVICE, Cuda

NAP_US = 10000


def call_c(library):
    library.nap_in_c(NAP_US)


def call_python():
    time.sleep(NAP_US / 1e6)


def main():
    library = ctypes.CDLL(sys.argv[1])
    cuda = Cuda()
    stream = cuda.made("StreamCreate")
    device = cuda.made("Malloc", ctypes.c_size_t(4096))
    host = ctypes.create_string_buffer(4096)
    for _ in range(int(sys.argv[2])):
        call_c(library)
        call_python()
        cuda.MemcpyAsync(device, host, ctypes.c_size_t(4096), TO_DEVICE, stream)
        cuda.StreamSynchronize(stream)


main()
