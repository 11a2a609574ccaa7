"""Threads are alive while the process ends: it ends as it does without profrun."""
import glob
import signal
import sys
import unittest

from harness import EVERYTHING, LIBRARY, Case, prog

# A daemon thread is in C++ code that calls Python while the interpreter ends. The interpreter frees
# its modules near its end. That gives the thread time to call.
WANTS_THE_INTERPRETER = """
import ctypes, sys, threading, time, types
class Module(types.ModuleType):
    def __del__(self, sleep=time.sleep):
        sleep(5)
sys.modules["last"] = Module("last")
runtime, memory = ctypes.CDLL("libcudart.so.13"), ctypes.c_void_p()
is_calling = threading.Event()
@ctypes.CFUNCTYPE(None)
def back():
    runtime.cudaMalloc(ctypes.byref(memory), ctypes.c_size_t(64))
    runtime.cudaFree(memory)
    is_calling.set()
calls_back = ctypes.CDLL(sys.argv[1]).calls_back
threading.Thread(target=calls_back, args=[back], daemon=True).start()
is_calling.wait()
print("main is done", flush=True)
"""


class AliveAtExit(Case):
    def test_threads_of_cpp(self):
        """With the allocator of the system, and with each other one that is installed."""
        allocators = [None, *glob.glob("/usr/lib/*/libtcmalloc_minimal.so.4"),
                      *glob.glob("/usr/lib/*/libjemalloc.so.2")]
        for allocator in allocators:
            for how, status in (("return", 2), ("exit", 3), ("quick-exit", 4)):
                command = [prog("alive_at_exit"), how]
                own = [allocator] if allocator else []
                bare = self.bare(command, LD_PRELOAD=":".join(own))
                self.assertEqual((bare.status, bare.err), (status, ""))
                for settings in (EVERYTHING, {"PROF_SCHEDULE": "off"}, {}):
                    with self.subTest(allocator=allocator, how=how, settings=settings):
                        run = self.preloaded(command, LD_PRELOAD=":".join([LIBRARY, *own]),
                                             **settings)
                        self.assertEqual((run.status, run.out, run.other_err()),
                                         (bare.status, bare.out, ""))

    def test_a_thread_that_wants_the_interpreter(self):
        """Python before 3.14 ends it, and C++ then ends the process: with profrun and without."""
        command = [sys.executable, "-c", WANTS_THE_INTERPRETER, prog("calls_back.so")]
        bare = self.bare(command)
        self.assertEqual(bare.out, "main is done\n", bare.err)
        if sys.version_info < (3, 14):
            self.assertEqual(bare.err, "terminate called without an active exception\n")
            self.assertEqual(bare.status, -signal.SIGABRT)
        run = self.profiled(command, **EVERYTHING)
        self.assertEqual((run.status, run.out, run.other_err()), (bare.status, bare.out, bare.err))


if __name__ == "__main__":
    unittest.main()
