"""Calls from Python functions that a test knows, one of them called back from C. Prints the stack
that Python itself sees.

usage: stacks.py LIBCUDART
"""
import ctypes
import json
import sys

cuda = ctypes.CDLL(sys.argv[1])
memory = ctypes.c_void_p()


def seen():
    """(function, line) from the caller outwards."""
    frame, found = sys._getframe(1), []
    while frame:
        found.append((getattr(frame.f_code, "co_qualname", frame.f_code.co_name), frame.f_lineno))
        frame = frame.f_back
    return found


class Model:
    def forward(self, value):
        # One line, so that the call and seen() report the same line.
        cuda.cudaMemset(memory, value, ctypes.c_size_t(64)); self.stack = seen()  # noqa: E702
        return value


def layer(model, value):
    return list(map(lambda v: model.forward(v), [value]))


cuda.cudaMalloc(ctypes.byref(memory), ctypes.c_size_t(4096))
model = Model()
layer(model, 7)
cuda.cudaDeviceSynchronize()
print(json.dumps(model.stack))
