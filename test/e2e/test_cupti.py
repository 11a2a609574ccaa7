"""Runs in which some or all GPU times are missing.

The run continues with host times, and run.json, stderr and the trace say so.
"""
import collections
import os
import sys
import unittest

from harness import PACED, SIM, Case, prog
from journal import CALL, EXTERNAL
from trace import Trace

ARMED = {"PROF_STEP": "kernel:first",
         "PROF_SCHEDULE": "skip_first=2,wait=0,warmup=1,active=2,repeat=1"}
STEP_CALLS = ["cudaMemcpyAsync", *["cudaLaunchKernel"] * 4, "cudaMemcpyAsync",
              "cudaStreamSynchronize"]

# A call that pushed an id must have popped it: the program's own pop would find what is left.
POP = """
import ctypes
runtime, cupti = ctypes.CDLL("libcudart.so.13"), ctypes.CDLL("libcupti.so.13")
memory, left = ctypes.c_void_p(), ctypes.c_uint64()
assert runtime.cudaMalloc(ctypes.byref(memory), ctypes.c_size_t(64)) == 0
for _ in range(5):
    assert runtime.cudaMemset(memory, 0, ctypes.c_size_t(64)) == 0
status = cupti.cuptiActivityPopExternalCorrelationId(5, ctypes.byref(left))
print("popped" if status == 0 else "empty")
"""

WAITS = """
import ctypes
runtime = ctypes.CDLL("libcudart.so.13")
memory = ctypes.c_void_p()
assert runtime.cudaMalloc(ctypes.byref(memory), ctypes.c_size_t(64)) == 0
for _ in range(10):
    assert runtime.cudaMemset(memory, 0, ctypes.c_size_t(64)) == 0
    assert runtime.cudaDeviceSynchronize() == 0
"""

# A subscription of the application, made through dlsym: its callback must run for each call,
# whatever profrun switches on and off meanwhile.
SUBSCRIBER = """
import ctypes, time
runtime, cupti = ctypes.CDLL("libcudart.so.13"), ctypes.CDLL("libcupti.so.13")
n_called = 0
@ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32, ctypes.c_void_p)
def count(*_):
    global n_called
    n_called += 1
subscriber, memory = ctypes.c_void_p(), ctypes.c_void_p()
assert cupti.cuptiSubscribe(ctypes.byref(subscriber), count, None) == 0
assert cupti.cuptiEnableDomain(1, subscriber, 2) == 0  # the runtime's
assert runtime.cudaMalloc(ctypes.byref(memory), ctypes.c_size_t(64)) == 0
for i in range(80):
    before = n_called
    assert runtime.cudaMemcpy(memory, bytes(64), ctypes.c_size_t(64), 1) == 0
    assert n_called > before, i
    time.sleep(0.005)
print("all seen")
"""


class Cupti(Case):
    def loop(self, **settings):
        run = self.profiled([prog("loop"), "12"], **{**ARMED, **PACED, **settings})
        self.assertEqual((run.status, run.out), (0, "12 steps\n"), run.err)
        self.assertEqual(run.trace_steps(), [3, 4], run.err)
        (process,) = run.json["processes"]
        return run, process, [Trace(path) for path in run.traces_in_order()]

    def check_host_only(self, run, process, traces, *words):
        for trace in traces:
            self.assertEqual([s.name for s in trace.slices if s.args.get("api")],
                             STEP_CALLS[1:] + STEP_CALLS[:1])
            self.assertEqual(trace.on("Stream"), [])
            self.assertTrue([i for i in trace.instants if "no GPU times" in i.name],
                            [i.name for i in trace.instants])
        said = [line for line in run.own_lines() if "no GPU times" in line]
        self.assertEqual(len(said), 1, run.err)
        for word in words:
            self.assertIn(word, said[0])
            self.assertIn(word, str(process["cupti"]))

    def test_every_pushed_id_is_popped(self):
        run = self.profiled([sys.executable, "-c", POP], PROF_SCHEDULE="always",
                            PROF_PAIRING="external")
        self.assertEqual((run.status, run.out), (0, "empty\n"), run.err)
        self.assertEqual(len([r for r in run.journal().of(EXTERNAL)]), 5)

    def test_ok(self):
        run, process, traces = self.loop()
        self.assertEqual(process["cupti"]["state"], "used")
        for trace in traces:
            self.assertEqual(len(trace.on("GPU 0 Stream 13")), 6)
            self.assertEqual([i.name for i in trace.instants], [])
        self.assertNotIn("GPU times", run.err)

    def test_off(self):
        self.check_host_only(*self.loop(PROF_CUPTI="off"), "PROF_CUPTI=off")

    def test_missing(self):
        run, *rest = self.loop(PROFSIM_CUPTI="missing")
        self.check_host_only(run, *rest, "its installation is incomplete")
        self.assertNotIn("another profiler", run.err)

    def test_no_such_library(self):
        self.check_host_only(*self.loop(PROF_CUPTI="/no/such/libcupti.so"), "PROF_CUPTI")

    def test_busy(self):
        self.check_host_only(*self.loop(PROFSIM_CUPTI="busy"), "another profiler")

    def test_records_that_cupti_drops(self):
        run, process, traces = self.loop(PROFSIM_CUPTI="drop:5")
        self.assertGreater(process["losses"]["dropped_by_cupti"], 0)
        self.assertGreater(process["losses"]["calls_without_gpu_work"]
                           + process["losses"]["gpu_work_without_call"],
                           0)
        self.assertIn("CUPTI", run.err)

    def test_buffers_of_few_records(self):
        _, process, traces = self.loop(PROFSIM_CUPTI="full:4")
        self.assertEqual(process["losses"]["calls_without_gpu_work"], 0)
        for trace in traces:
            self.assertEqual(
                len(
                [s for s in trace.slices if trace.tracks[s.track].name.startswith("GPU 0 Stream")]),
                6)

    def test_an_application_with_its_own_profiler(self):
        """The application gets its kernels, in its own clock, even with a flush after its last
        switch. profrun gets the others, from before and after."""
        expected = "20 kernels, 20 in time\n" * 2
        self.assertEqual(self.bare([prog("own_profiler")]).out, expected)
        for pairing in ("order", "interval", "external"):
            with self.subTest(pairing=pairing):
                run = self.profiled([prog("own_profiler")], PROF_SCHEDULE="always",
                                    PROF_PAIRING=pairing)
                self.assertEqual((run.status, run.out), (0, expected), run.err)
                journal = run.journal()
                kernels = [r for r in journal.gpu() if r.work == "kernel"]
                names = collections.Counter(journal.kernel_name(r) for r in kernels)
                self.assertEqual({name: n for name, n in names.items() if "first" in name},
                                 {"first_10us": 60})
                self.assertEqual(names["last_15us"], 0)
                calls = [r.begin for r in journal.of(CALL) if r.category == "launch"]
                self.assertLess(min(calls), min(r.begin for r in kernels))

    def test_an_application_whose_profiler_finalizes_cupti(self):
        """CUPTI's ids restart after that."""
        for pairing in ("order", "interval"):
            with self.subTest(pairing=pairing):
                run = self.profiled([prog("own_profiler"), "finalize"], PROF_SCHEDULE="always",
                                    PROF_PAIRING=pairing)
                self.assertEqual((run.status, run.out), (0, "20 kernels, 20 in time\n" * 2),
                                 run.err)
                (process,) = run.json["processes"]
                self.assertEqual({what: n for what, n in process["losses"].items() if n}, {})

    def test_a_second_cupti_opened_by_the_application(self):
        """It has another version and is opened by path: dlsym must return its own functions."""
        folder = self.folder()
        os.makedirs(folder)
        for version in ("11", "12"):
            path = os.path.join(folder, "libcupti.so." + version)
            with open(os.path.join(SIM, "libcupti.so.13"), "rb") as file:
                image = file.read()
            with open(path, "wb") as file:
                file.write(image.replace(b"libcupti.so.13", b"libcupti.so." + version.encode()))
            script = ("import ctypes; ctypes.CDLL('libcudart.so.13').cudaFree(None); "
                      f"print(ctypes.CDLL({path!r}).cuptiActivityEnable(10))")
            bare = self.bare([sys.executable, "-c", script])
            self.assertEqual(bare.out, "0\n", bare.err)
            for schedule in ("off", "always"):
                run = self.preloaded([sys.executable, "-c", script], PROF_SCHEDULE=schedule)
                self.assertEqual((run.status, run.out), (0, "0\n"), run.err)

    def test_interval_pairing_gives_the_same(self):
        _, process, traces = self.loop(PROF_PAIRING="interval")
        self.assertEqual(process["losses"]["calls_without_gpu_work"], 0)
        for trace in traces:
            self.assertEqual(len(trace.flows_in), 6)

    def test_an_application_with_its_own_subscription(self):
        self.assertEqual(self.bare([sys.executable, "-c", SUBSCRIBER]).out, "all seen\n")
        run = self.profiled([sys.executable, "-c", SUBSCRIBER], PROF_STEP="time:10",
                            PROF_SCHEDULE="skip_first=1,wait=12,warmup=0,active=1,repeat=0")
        self.assertEqual((run.status, run.out), (0, "all seen\n"), run.err)
        self.assertGreater(len(run.trace_steps()), 2)

    def windows(self, *how, **settings):
        """Records three windows, far enough apart for CUPTI to be removed in between, while copies
        within the device run, each as long as a step."""
        schedule = "skip_first=4,wait=60,warmup=0,active=2,repeat=3"
        run = self.profiled([prog("copies"), "200", "4", *how], PROF_STEP="kernel:first",
                            PROF_SCHEDULE=schedule, PROFSIM_D2D_GBPS="16", PROF_OPENING="off",
                            **settings)
        self.assertEqual((run.status, run.out), (0, "200 steps\n"), run.err)
        (process,) = run.json["processes"]
        self.assertEqual(len(process["steps"]["recorded"]), 6)
        return run, process, [Trace(path) for path in run.traces_in_order()]

    @staticmethod
    def work(trace):
        """Counts the GPU's work by name."""
        return collections.Counter(s.name for s in trace.slices
                                   if trace.tracks[s.track].name.startswith("GPU 0 Stream"))

    def test_windows_during_copies_within_the_device(self):
        """CUPTI is finalized. If it were only switched off it would record no kernel, or crash."""
        run, process, traces = self.windows()
        self.assertEqual({what: n for what, n in process["losses"].items() if n}, {})
        for trace in traces:
            self.assertEqual(sum(self.work(trace).values()), 3, self.work(trace))
        self.assertNotIn("GPU times of copies", run.err)
        ids = [r.correlation for r in run.journal().gpu()]
        self.assertEqual(len(set(ids)), len(ids), "CUPTI's ids restart, the journal's must not")

    def test_windows_of_a_program_with_graphs(self):
        """Finalizing CUPTI would break the graphs: copies are left out from the second window on,
        and the traces say so."""
        run, process, traces = self.windows("graph")
        self.assertEqual({what: n for what, n in process["losses"].items() if n}, {})
        for number, trace in enumerate(traces):
            work = self.work(trace)
            self.assertEqual((work["first_10us"], work["last_15us"]), (3, 1), work)
            self.assertEqual(sum(work.values()), 5 if number < 2 else 4, work)
            said = [i.name for i in trace.instants if "no GPU times of copies" in i.name]
            self.assertEqual(len(said), number >= 2, said)
        self.assertIn("copies", str(process["cupti"]))

    # Known faults of versions of CUPTI, see docs/internals/gpu-time.md.

    def test_no_records_of_device_synchronization(self):
        """The calls themselves are recorded, so nothing is missing."""
        for pairing in ("order", "interval"):
            reports = []
            for mode in ("ok", "no-device-sync"):
                run = self.profiled([sys.executable, "-c", WAITS], PROF_SCHEDULE="always",
                                    PROFSIM_CUPTI=mode, PROF_PAIRING=pairing)
                self.assertEqual(run.status, 0, run.err)
                (process,) = run.json["processes"]
                self.assertEqual({what: n for what, n in process["losses"].items() if n}, {})
                reports.append([r.name for r in run.journal().of(CALL)])
            self.assertEqual(reports[0], reports[1])
            self.assertEqual(reports[0].count("cudaDeviceSynchronize"), 10)

    def test_kernels_that_cannot_be_switched_off(self):
        """cuptiActivityDisable would never return: the next windows would not begin."""
        for how in ("plain", "graph"):
            with self.subTest(how=how):
                _, process, _ = self.windows(how, PROFSIM_CUPTI="disable-hangs")
                self.assertEqual({what: n for what, n in process["losses"].items() if n}, {})
                self.assertNotIn("times", process["cupti"])

    def test_flushes_alone(self):
        """NVIDIA does not say when a flush crashes. profrun never flushes during another call."""
        for how in ("plain", "graph"):
            with self.subTest(how=how):
                _, process, _ = self.windows(how, PROFSIM_CUPTI="flush-crashes")
                self.assertEqual({what: n for what, n in process["losses"].items() if n}, {})
        run = self.profiled([prog("own_profiler")], PROF_SCHEDULE="always",
                            PROFSIM_CUPTI="flush-crashes")
        self.assertEqual((run.status, run.out), (0, "20 kernels, 20 in time\n" * 2), run.err)

    def test_records_without_times(self):
        """They are noticed, and the next windows use CUPTI's own clock."""
        run, process, _ = self.windows(PROFSIM_CUPTI="zero-times:3")
        self.assertIn("some GPU work has no times", run.err)
        self.assertIn("some GPU work has no times", process["cupti"]["times"])
        captured = [window["launches"] - window["captured"]
                    for window in process["completeness"]["windows"]]
        self.assertGreater(captured[0], 0)
        self.assertEqual(captured[1:], [0, 0])

    def test_graph_launches_with_wrong_ids(self):
        """Their work gets no call, instead of a wrong one, and the report says why."""
        for pairing in ("order", "interval"):
            with self.subTest(pairing=pairing):
                run, process, traces = self.windows("graph", PROFSIM_CUPTI="graph-ids",
                                                    PROF_PAIRING=pairing)
                self.assertEqual(run.err.count("gives their work wrong ids after"), 1, run.err)
                windows = process["completeness"]["windows"]
                self.assertEqual(windows[0]["captured"], windows[0]["launches"])
                for window in windows[1:]:
                    self.assertLess(window["captured"], window["launches"])
                    self.assertIn("wrong ids", window["why"])
                for trace in traces[2:]:  # two launches of a step are not of the graph
                    self.assertLessEqual(len(trace.flows_in), 2)


if __name__ == "__main__":
    unittest.main()
