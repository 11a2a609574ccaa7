"""Calls of cuBLAS, cuBLASLt, cuDNN and NCCL, by symbol and by dlsym.

Their facts are recorded, and the launches within them are recorded as without them.
"""
import json
import os
import re
import unittest

from harness import EVERYTHING, LAUNCHER, Case, environment, prog
from journal import LIBRARY
from trace import Trace

PRODUCTS = [("cublasSgemm_v2", 0, 64, 32, 16), ("cublasLtMatmul", 14, 128, 96, 48)]


class Libraries(Case):
    def run_program(self, *arguments, program="libraries", **settings):
        folder = self.folder()
        line = [LAUNCHER, "--sim", "-o", folder, "--", prog(program), *arguments]
        return self.execute(line, folder, environment(**{**EVERYTHING, **settings}))

    def check(self, how):
        run = self.run_program(how)
        self.assertEqual((run.status, run.out.splitlines()),
                         (0, ["gemm 0", "matmul 0", "dnn 0", "nccl 0 of 1: 0"]), run.err)
        return run, run.journal()

    def check_facts(self, how):
        run, journal = self.check(how)
        calls = journal.of(LIBRARY)
        products = [(c.name, c.type, c.m, c.n, c.k) for c in calls if "m" in c]
        self.assertEqual(products, PRODUCTS)
        self.assertEqual([c.name for c in calls if c.family == "cudnn"], ["cudnnBackendExecute"])
        moved = [(c.name, c.count, c.peer, c.rank, c.ranks, c.sequence) for c in calls
                 if "count" in c]
        self.assertEqual(moved, [
            ("ncclAllReduce", 1000, -1, 0, 1, 1), ("ncclAllReduce", 1000, -1, 0, 1, 2),
            ("ncclAllReduce", 1000, -1, 0, 1, 3), ("ncclAllReduce", 500, -1, 0, 1, 4),
            ("ncclBroadcast", 250, 0, 0, 1, 5)])
        self.assertEqual({c.comm for c in calls if "count" in c} & {0}, set(),
                         "the communicator has a name")
        return run, journal

    def test_by_symbol(self):
        self.check_facts("plt")

    def test_by_dlsym(self):
        self.check_facts("dlsym")

    def replay_products(self, **settings):
        """Returns the run and the report's operations of kernels and lines per step."""
        folder = self.folder()
        line = [LAUNCHER, "--sim", "-o", folder, "--", prog("libraries"), "graph", "60"]
        run = self.execute(line, folder, environment(
            PROF_STEP="sync", PROF_SCHEDULE="skip_first=20,wait=0,warmup=2,active=8,repeat=1",
            **settings))
        self.assertEqual(run.status, 0, run.err)
        with open(os.path.join(folder, "report.json"), encoding="utf-8") as file:
            process, = json.load(file)["processes"]
        return run, [sum(row["flops"] or 0 for row in process[kind])
                     for kind in ("kernels", "lines")]

    def test_products_in_a_graph(self):
        """They were captured before the recorded steps, and count once per replay."""
        run, flops = self.replay_products()
        self.assertEqual(flops, [2 * 64 * 32 * (16 + 16 + 8)] * 2)
        shapes = [(c.shape, c.m, c.n, c.k) for c in run.journal().of(LIBRARY) if c.shape]
        self.assertEqual(shapes, [(1, 64, 32, 16), (2, 64, 32, 8)])
        run, flops = self.replay_products(PROF_BLAS="off")
        self.assertEqual((flops, run.journal().of(LIBRARY)), ([0, 0], []))

    def test_launches_inside_are_recorded_once(self):
        run, journal = self.check("plt")
        launches = [c for c in journal.calls() if c.category == "launch"]
        kernels = [r for r in journal.gpu() if r.work == "kernel"]
        self.assertEqual(len(launches), len(kernels))
        inside = [c for c in journal.of(LIBRARY)
                  if any(c.begin <= l.begin and l.end <= c.end for l in launches)]
        self.assertEqual([c.name for c in inside],
                         ["cublasSgemm_v2", "cublasLtMatmul", "cudnnBackendExecute",
                          "ncclAllReduce", "ncclAllReduce", "ncclAllReduce", "ncclGroupEnd"])
        off = self.run_program("plt", PROF_BLAS="off", PROF_NCCL="off").journal()
        self.assertEqual([c.name for c in off.calls()], [c.name for c in journal.calls()])

    def test_a_window_that_begins_within_a_call_of_the_librarys_runtime(self):
        """CUPTI starts in the hook of the driver's launch. The runtime's launch around it was
        entered earlier and has no record."""
        for pairing in ("order", "interval", "external"):
            with self.subTest(pairing=pairing):
                run = self.run_program("plt", PROF_PAIRING=pairing, PROF_STEP="kernel:xmma_gemm",
                                       PROF_SCHEDULE="skip_first=1,active=1,repeat=1")
                (process,) = run.json["processes"]
                self.assertEqual((process["steps"]["recorded"], process["records"]["launches"]),
                                 ([1], process["records"]["paired"]), run.err)
                self.assertEqual((process["losses"]["calls_without_gpu_work"],
                                  process["losses"]["gpu_work_without_call"]),
                                 (0, 0))
                trace = Trace(run.traces_in_order()[0])
                first = min((s for s in trace.slices if "aunchKernel" in s.name),
                            key=lambda s: s.time)
                arrows = dict(trace.flows_in)
                self.assertEqual(["xmma_gemm_bf16" in arrows[flow].name
                                  for flow, call in trace.flows_out if call is first],
                                 [True])

    def test_each_can_be_switched_off(self):
        for setting, left in (("PROF_BLAS", {"nccl"}),
                              ("PROF_NCCL", {"cublas", "cublasLt", "cudnn"})):
            journal = self.run_program("plt", **{setting: "off"}).journal()
            self.assertEqual({c.family for c in journal.of(LIBRARY)}, left)

    def test_nothing_is_recorded_with_schedule_off(self):
        journal = self.run_program("plt", PROF_SCHEDULE="off").journal()
        self.assertEqual(journal.of(LIBRARY), [])

    def test_missing_functions_are_not_found(self):
        alone = self.bare([prog("libraries_none"), "hollow"])
        run = self.preloaded([prog("libraries_none"), "hollow"], **EVERYTHING)
        said = [[re.sub(r" \S+: undefined", " undefined", line) for line in r.out.splitlines()]
                for r in (run, alone)]
        self.assertEqual((run.status, said[0]), (0, said[1]), "apart from the name of the caller")
        self.assertNotIn("is there", alone.out)

    def test_the_trace_has_spans_with_their_launches_in_them(self):
        run, _ = self.check("plt")
        trace = Trace(run.traces()[0])
        spans = {s.name: s for s in trace.slices if s.name.startswith(("cublas", "nccl", "cudnn"))}
        gemm, launches = spans["cublasSgemm_v2"], [s for s in trace.slices
                                                   if "aunchKernel" in s.name]
        self.assertEqual([gemm.args[k] for k in ("m", "n", "k", "flops", "type")],
                         [64, 32, 16, 2 * 64 * 32 * 16, "f32"])
        self.assertAlmostEqual(gemm.args["tflops"], 2 * 64 * 32 * 16 / (gemm.args["gpu_us"] * 1e6),
                               places=9)
        inside = [s for s in launches
                  if s.track == gemm.track and gemm.time <= s.time and s.end <= gemm.end]
        self.assertEqual(len(inside), 1)
        self.assertEqual(spans["ncclAllReduce"].args["bytes"], 2000, "the last one, in the group")
        self.assertIn("cudnnBackendExecute", spans)

    def test_ranks_wait_for_the_sleeping_one(self):
        run = self.run_program("plt", "3")
        self.assertEqual(run.status, 0, run.err)
        with open(os.path.join(run.folder, "report.json")) as file:
            processes = json.load(file)["processes"]
        self.assertEqual(len(processes), 3)
        journals = {next(c.rank for c in j.of(LIBRARY) if "count" in c): j for j in run.journals()}
        self.assertEqual(sorted(journals), [0, 1, 2])
        names = {next(c.comm for c in j.of(LIBRARY) if "count" in c) for j in journals.values()}
        self.assertEqual(len(names), 1, "the communicator has the same name in all ranks")
        rank_of = {journal.pid: rank for rank, journal in journals.items()}
        figures = {rank_of[p["pid"]]: [
            sum(row[name] for row in p["collectives"] if row["name"] == "ncclAllReduce")
            for name in ("wait_ms_per_step", "bytes_per_step")] for p in processes}
        for rank in (0, 2):
            self.assertGreater(figures[rank][0], 30,
                               "three times 30 ms in one step, minus this rank's own delay")
            self.assertEqual(figures[rank][1], 3 * 4000 + 2000)
        self.assertLess(figures[1][0], figures[0][0] / 2, figures)
        self.assertEqual([f for f in os.listdir("/dev/shm") if f.startswith("profsim-nccl")], [])

    def test_a_rank_that_never_comes(self):
        folder = self.folder()
        env = environment(PROFSIM_NCCL_TIMEOUT_S="0.3", LD_PRELOAD="")
        code = ("import ctypes as c; n=c.CDLL('libprofsim_libs.so'); i=(c.c_char*128)(); "
                "n.ncclGetUniqueId(i)\n"
                "class I(c.Structure): _fields_=[('b',c.c_char*128)]\n"
                "x=c.c_void_p(); s=n.ncclCommInitRank(c.byref(x),2,I.from_buffer_copy(i.raw),0); "
                "print(s)")
        run = self.execute(["python3", "-c", code], folder, env)
        self.assertEqual(run.out, "2\n", run.err)
        self.assertIn("NCCL: rank 0 of 2: only 1 ranks came", run.err)


if __name__ == "__main__":
    unittest.main()
