"""Each entry point of CUDA: every call is recorded once and paired with its GPU work.

The simulated GPU's own list of what it ran is the oracle.
"""
import os
import sys
import unittest

from harness import BUILD, EVERYTHING, Case, prog, script, truth
from journal import GPU_WORK

LAUNCH_CU = ["cudaMalloc", "cudaMemcpy", "cudaMemcpy", "cudaStreamCreate", *["LAUNCH"] * 5,
             "cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaFree"]
WORK = ["cudaMalloc", "cudaMemcpy", *["cudaLaunchKernel"] * 3, "cudaDeviceSynchronize",
        "cudaMemcpy", "cudaFree"]
DRIVER = ["cuDevicePrimaryCtxRetain", "cuCtxSetCurrent", "cuModuleGetFunction", "cuMemAlloc_v2",
          "cuMemcpyHtoD_v2",
          *["cuLaunchKernel"] * 3, "cuMemcpyDtoHAsync_v2", "cuStreamSynchronize",
          "cuCtxSynchronize", "cuMemFree_v2"]
CTYPES = ["cudaStreamCreate", "cudaMalloc", "cudaMemcpy", *["cudaMemsetAsync"] * 3,
          "cudaStreamSynchronize", "cudaMemcpy", "cudaFree"]
# Driver calls that the runtime makes outside of hooked functions: to create a context and to get
# kernels' names.
BY_ITSELF = {"cuDevicePrimaryCtxRetain", "cuCtxSetCurrent", "cuModuleGetFunction",
             "cuLibraryGetKernel", "cuKernelGetFunction"}
# CUPTI interpolates GPU times to ticks of the journal's clock, each a third of a nanosecond.
CLOCK_NS = 3000


def twins(names, suffixes):
    return [name + suffixes.get(name, "") for name in names]


class EntryPoints(Case):
    def through(self, command, expected, **settings):
        """Runs the program with both ways of pairing and checks everything that was recorded."""
        for pairing in ("external", "interval"):
            with self.subTest(pairing=pairing):
                path = self.folder() + ".truth"
                run = self.preloaded(command, PROF_PAIRING=pairing, PROFSIM_TRUTH=path,
                                     **EVERYTHING, **settings)
                self.assertEqual((run.status, run.err), (0, ""))
                journal = run.journal()
                names = journal.names()
                if any(name.startswith("cuda") for name in expected):
                    names = [name for name in names if name not in BY_ITSELF]
                self.assertEqual(names, expected)
                self.check_gpu(journal, truth(path))
                self.assertEqual(journal.dropped_records, 0)
                self.assertEqual(run.out, self.bare(command, **settings).out)
        return journal

    def check_gpu(self, journal, rows):
        recorded = [r for r in journal.gpu() if r.work != "sync"]
        pairs = journal.pairs()
        self.assertEqual(len(recorded), len(rows))
        self.assertEqual(sorted(r.correlation for r in recorded),
                         sorted(row.correlation for row in rows))
        for r, row in zip(sorted(recorded, key=lambda r: r.correlation),
                          sorted(rows, key=lambda row: row.correlation)):
            self.assertEqual(r.work, row.work)
            self.assertEqual(r.stream, row.stream)
            if r.work == "kernel":
                self.assertEqual(journal.kernel_name(r), row.name)
            else:
                self.assertEqual(r.bytes, row.bytes)
            self.assertLess(abs(journal.ns(r.begin) - row.start), CLOCK_NS)
            self.assertLess(abs(journal.ns(r.end) - journal.ns(r.begin) - (row.end - row.start)),
                            20)
            call = pairs.get(r.correlation)
            self.assertIsNotNone(call, f"unpaired: {row}")
            self.assertEqual({"kernel": "launch"}.get(r.work, r.work), call.category)
            self.assertLessEqual(call.begin, r.begin)
        paired = {id(call) for call in pairs.values() if call}
        for call in journal.calls():
            if call.category in GPU_WORK:
                self.assertIn(id(call), paired, f"no GPU work for {call.name}")

    def test_nvcc_shared(self):
        names = [name.replace("LAUNCH", "__cudaLaunchKernel") for name in LAUNCH_CU]
        journal = self.through(prog("shared"), names)
        launches = [c for c in journal.calls() if c.category == "launch"]
        self.assertEqual({journal.launch_name(c) for c in launches},
                         {"_Z9spin_20usPi", "_Z9scale_5usIfEvPT_S0_"})
        self.assertEqual({journal.launches[c.arg].grid for c in launches}, {(4, 1, 1), (2, 1, 1)})
        self.assertEqual({journal.launches[c.arg].shared for c in launches}, {0, 128})

    def test_nvcc_legacy_launch(self):
        self.through(prog("legacy"),
                     [name.replace("LAUNCH", "cudaLaunchKernel") for name in LAUNCH_CU])

    def test_nvcc_per_thread_default_stream(self):
        names = [name.replace("LAUNCH", "__cudaLaunchKernel") for name in LAUNCH_CU]
        self.through(prog("per_thread"),
                     twins(names, {"cudaMemcpy": "_ptds", "__cudaLaunchKernel": "_ptsz",
                                   "cudaStreamSynchronize": "_ptsz"}))

    def test_ctypes(self):
        self.through(script("ctypes_runtime.py"), CTYPES)

    def test_ctypes_with_cuda_12(self):
        self.through(script("ctypes_runtime.py") + ["libcudart.so.12"], CTYPES)

    def test_local_extension(self):
        path = os.path.join(BUILD, "test/prog/local_extension.so")
        self.through([prog("local_main"), path], WORK * 2)

    def test_driver_by_dlsym(self):
        self.through(prog("driver_dlsym"), DRIVER)

    def test_driver_by_get_proc_address(self):
        for how in ("v2", "v1", "self"):
            with self.subTest(how=how):
                self.through([prog("driver_getproc"), how], DRIVER)

    def test_driver_twins_by_get_proc_address(self):
        self.through([prog("driver_getproc"), "per-thread"],
                     twins(DRIVER,
                           {"cuMemcpyHtoD_v2": "_ptds", "cuLaunchKernel": "_ptsz",
                            "cuMemcpyDtoHAsync_v2": "_ptsz", "cuStreamSynchronize": "_ptsz"}))

    def test_two_runtimes_in_one_process(self):
        halves = [os.path.join(BUILD, f"test/prog/half_{n}.so") for n in (12, 13)]
        journal = self.through([prog("two_runtimes"), *halves],
                               ["cudaMalloc", "cudaMemset", "cudaMemcpy", "cudaFree"] * 6)
        self.assertEqual([c.arg for c in journal.calls() if c.name == "cudaMemset"], [96, 104] * 3)

    def test_the_device_of_the_current_context(self):
        run = self.preloaded(prog("contexts"), PROFSIM_DEVICES=2, **EVERYTHING)
        self.assertEqual((run.status, run.err), (0, ""))
        fills = [c for c in run.journal().calls() if c.category == "memset"]
        self.assertEqual([c.device for c in fills], [int(word) for word in run.out.split()])

    def test_lookups_without_cuda_are_unchanged(self):
        bare, preloaded = self.bare(prog("lookups")), self.preloaded(prog("lookups"))
        # The message names the library that asked: profrun's, if it asked for the caller.
        self.assertEqual(
            preloaded.out.replace(os.path.join(BUILD, "libprofrun.so"), prog("lookups")), bare.out)
        self.assertEqual(preloaded.paths("*"), [])

    def test_lookups_of_a_runtime_that_only_its_user_sees_are_unchanged(self):
        code = ("import ctypes; one, all = ctypes.CDLL('libcudart.so.13'), ctypes.CDLL(None); "
                "print([hasattr(o, n) for o in (one, all) for n in ('cudaMalloc', 'cuMemAlloc')])")
        for run in (self.bare, self.preloaded):
            self.assertEqual(run([sys.executable, "-c", code]).out,
                             "[True, False, False, False]\n")


if __name__ == "__main__":
    unittest.main()
