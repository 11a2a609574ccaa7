"""Another preloaded library wraps CUDA functions, before or after profrun in LD_PRELOAD.

Its functions are called exactly as often as without profrun, and profrun records the program's
calls through each entry point.
"""
import collections
import os
import unittest

from harness import BUILD, EVERYTHING, LIBRARY, Case, prog

REPEAT = 3
RUNTIME = {"cudaMalloc": REPEAT, "cudaMemcpy": 2 * REPEAT}
DRIVER = {"cuMemAlloc_v2": REPEAT, "cuLaunchKernel": REPEAT}
# The program uses the first way twice, before and after the others.
WAYS = {"symbol": {name: 2 * n for name, n in RUNTIME.items()}, "default": RUNTIME,
        "next": RUNTIME, "handle": RUNTIME, "versioned": RUNTIME, "driver": DRIVER,
        "getproc": DRIVER, "entry-point": DRIVER}
ALL = dict(sum((collections.Counter(calls) for calls in WAYS.values()), collections.Counter()))


def interposer(form):
    return os.path.join(BUILD, f"test/prog/interposer_{form}.so")


class Interposers(Case):
    def check(self, form, way, is_first):
        library = interposer(form)
        command = [prog("interposed"), way, str(REPEAT)]
        preloads = f"{LIBRARY}:{library}" if is_first else f"{library}:{LIBRARY}"
        bare = self.bare(command, LD_PRELOAD=library)
        self.assertEqual((bare.status, bare.err), (0, ""))
        run = self.preloaded(command, LD_PRELOAD=preloads, **EVERYTHING)
        self.assertEqual((run.status, run.out, run.err), (0, bare.out, ""))
        return collections.Counter(run.journal().names())

    def check_form(self, form):
        for way, expected in {**WAYS, "all": ALL}.items():
            for is_first in (True, False):
                with self.subTest(way=way, is_first=is_first):
                    names = self.check(form, way, is_first)
                    # A dlsym written in C is itself the caller, so the interposer's search for the
                    # next definition passes over profrun.
                    if form == "name" and is_first and way in ("next", "all"):
                        continue
                    self.assertEqual({name: names[name] for name in expected}, expected)

    def test_goes_on_to_the_next_definition(self):
        self.check_form("next")

    def test_goes_on_by_the_handle_of_the_cuda_library(self):
        self.check_form("handle")

    def test_replaces_dlsym(self):
        self.check_form("name")

    def test_a_runtime_that_only_its_user_sees(self):
        """Without profrun the interposer's search fails, too, and it ends the program."""
        library, command = interposer("next"), [prog("life_unload"), "local"]
        bare = self.bare(command, LD_PRELOAD=library)
        self.assertEqual((bare.status, bare.err.splitlines()[0]), (3, "interposer: no cudaMalloc"))
        for preloads in f"{LIBRARY}:{library}", f"{library}:{LIBRARY}":
            run = self.preloaded(command, LD_PRELOAD=preloads)
            self.assertEqual((run.status, run.out, run.err), (3, bare.out, bare.err))

    def test_interposers_on_both_sides(self):
        command = [prog("interposed"), "all", str(REPEAT)]
        first, second = interposer("next"), interposer("handle")
        bare = self.bare(command, LD_PRELOAD=f"{first}:{second}")
        run = self.preloaded(command, LD_PRELOAD=f"{first}:{LIBRARY}:{second}", **EVERYTHING)
        self.assertEqual((run.status, run.out, run.err), (0, bare.out, ""))


if __name__ == "__main__":
    unittest.main()
