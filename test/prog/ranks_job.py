#!/usr/bin/env python3
"""A job of several ranks on one machine, each a process: in every step, all of them meet in two
collectives. One rank comes late, because it sleeps longer on a line of its own.

usage: ranks_job.py STEPS RANKS SLOW_RANK SLOW_MS

Prints nothing. RANK and LOCAL_WORLD_SIZE are set as torchrun sets them. RANK_DIGITS=N in the
environment: RANK has leading zeros.
"""
import ctypes
import os
import sys
import time

from demo import Cuda, Dim3, spin

FLOAT, SUM, COUNT = 7, 0, 1 << 20


def nccl():
    for name in ("libprofsim_libs.so", "libnccl.so.2"):
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return sys.exit("ranks_job.py: no NCCL here")


def late(ms):
    time.sleep(ms / 1000)  # the line that makes the others wait


def work(identity, rank, ranks, steps, slow_rank, slow_ms):
    os.environ["RANK"] = str(rank).zfill(int(os.environ.get("RANK_DIGITS", "1")))
    os.environ["LOCAL_WORLD_SIZE"] = str(ranks)
    os.execv(sys.executable, [sys.executable, __file__, "--rank", identity.hex(), str(rank),
                              str(ranks), str(steps), str(slow_rank), str(slow_ms)])


def run(identity, rank, ranks, steps, slow_rank, slow_ms):
    cuda, library = Cuda(), nccl()
    code = ".version 7.0\n.target sm_75\n.address_size 64\n" + spin("forward_200us")
    kernel = cuda.made("LibraryGetKernel",
                       cuda.made("LibraryLoadData", code.encode(), None, None, 0, None, None, 0),
                       b"forward_200us")
    stream, memory = cuda.made("StreamCreateWithFlags", 1), cuda.made("Malloc",
                                                                     ctypes.c_size_t(4 * COUNT))
    comm = ctypes.c_void_p()
    id_type = ctypes.c_char * 128
    wrapped = type("Id", (ctypes.Structure,), {"_fields_": [("bytes", id_type)]})
    if library.ncclCommInitRank(ctypes.byref(comm), ranks, wrapped.from_buffer_copy(identity),
                                rank):
        sys.exit("ranks_job.py: the ranks do not meet")
    for _ in range(steps):
        if rank == slow_rank:
            late(slow_ms)
        cuda.LaunchKernel(kernel, Dim3(32, 1, 1), Dim3(128, 1, 1), None, ctypes.c_size_t(0), stream)
        for _ in range(2):
            library.ncclAllReduce(memory, memory, ctypes.c_size_t(COUNT), FLOAT, SUM, comm, stream)
        cuda.StreamSynchronize(stream)


def main():
    if sys.argv[1] == "--rank":
        run(bytes.fromhex(sys.argv[2]), *map(int, sys.argv[3:7]), float(sys.argv[7]))
        return
    steps, ranks, slow_rank = map(int, sys.argv[1:4])
    identity = ctypes.create_string_buffer(128)
    if nccl().ncclGetUniqueId(identity):
        sys.exit("ranks_job.py: NCCL gives no id")
    children = []
    for rank in range(ranks):
        child = os.fork()
        if not child:
            work(identity.raw, rank, ranks, steps, slow_rank, sys.argv[4])
        children.append(child)
    sys.exit(any(os.waitpid(child, 0)[1] for child in children))


if __name__ == "__main__":
    main()
