"""PyTorch's memory as profrun reports it, against torch.cuda's own counters and the known sizes of
the model."""
import bisect
import json
import os
import subprocess
import unittest

from test_torch import ON_GPU, python  # noqa: I001, it finds the others
from at_exit import again
from harness import LAUNCHER, Case, environment
from trace import Trace

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(HERE, "memory.py")
SCHEDULE = "skip_first=20,wait=0,warmup=2,active=4,repeat=1"
READS_SNAPSHOT = """
import json, pickle, sys
from torch.cuda import _memory_viz
snapshot = pickle.load(open(sys.argv[1], "rb"))
plots = [_memory_viz.trace_plot(snapshot), _memory_viz.segment_plot(snapshot)]
_memory_viz.trace(snapshot), _memory_viz.segsum(snapshot)
json.dump({"plots": [len(plot) for plot in plots],
           "reserved": sum(s["total_size"] for s in snapshot["segments"]),
           "allocated": sum(s["allocated_size"] for s in snapshot["segments"]),
           "files": sorted({f["filename"] for e in snapshot["device_traces"][0]
                            for f in e["frames"]})},
          sys.stdout)
"""


def setUpModule():
    global PYTHON
    PYTHON = python()


class Memory(Case):
    def run_program(self, *arguments, options=(), **settings):
        """(the run, what the program itself said, the report's memory)"""
        def once():
            folder = self.folder()
            line = [LAUNCHER, *([] if ON_GPU else ["--sim"]), "-o", folder, "--schedule", SCHEDULE,
                    *options, "--", PYTHON, PROGRAM,
                    *arguments]
            return self.execute(line, folder, environment(**settings), timeout=300)
        run = again(once)
        self.assertEqual(run.status, 0, run.err)
        with open(os.path.join(run.folder, "report.json"), encoding="utf-8") as file:
            process, = json.load(file)["processes"]
        return run, json.loads(run.out), process

    def test_totals_are_torchs(self):
        run, said, process = self.run_program(options=("--format", "perfetto,memory"))
        allocator = process["memory"]["allocator"]
        self.assertEqual(allocator["peak_bytes"], said["peak"])
        self.assertEqual(allocator["peak_reserved_bytes"], said["peak_reserved"])
        self.counters_are_torchs(run, said)
        self.kinds_are_right(process, said)
        self.snapshots_are_read(run, said)

    def counters_are_torchs(self, run, said):
        checked = 0
        for path in run.traces_in_order():
            trace = Trace(path)
            step = trace.on("Steps")[0]
            for name, column in (("memory allocated by PyTorch", 1),
                                 ("memory reserved by PyTorch", 2)):
                points = [c for c in trace.counters if trace.tracks[c.track].name == name]
                self.assertTrue(points)
                times = [c.time for c in points]
                for end in said["ends"]:
                    if step.time <= end[0] < step.end:
                        self.assertEqual(points[bisect.bisect_right(times, end[0]) - 1].value,
                                         end[column])
                        checked += 1
        self.assertGreaterEqual(checked, 6)

    def kinds_are_right(self, process, said):
        memory = process["memory"]
        peak = {row["kind"]: row["peak_bytes"] for row in memory["by_kind"]}
        self.assertEqual(peak["parameter"], said["parameters"])
        self.assertEqual(peak["optimizer state"], 2 * said["parameters"])
        self.assertEqual(peak["gradient"], said["parameters"])
        self.assertGreaterEqual(peak["activation"], 6 * 32 * 128 * 4)
        self.assertGreater(peak["temporary"], 0)
        # two of one step, for a while those of two steps
        self.assertIn(peak["input"], range(2 * 32 * 128 * 4, 4 * 32 * 128 * 4 + 1))
        for rows in (memory["by_kind"], memory["by_phase"]):
            self.assertEqual(sum(row["bytes"] for row in rows),
                             memory["allocator"]["recorded_peak_bytes"])
        self.assertFalse(memory["leaks"])
        # blocks and the segments that they lie in are the same memory
        self.assertLessEqual(sum(row["bytes"] for row in memory["at_peak"]),
                             memory["device_peak_bytes"])

    def test_frees_after_an_optimizer_without_blocks(self):
        """Gradients have outlived backward, and scratch of the user's own is no activation."""
        _, said, process = self.run_program("sgd")
        peak = {row["kind"]: row["peak_bytes"] for row in process["memory"]["by_kind"]}
        self.assertEqual(peak.get("gradient"), said["parameters"], peak)
        self.assertLess(peak["activation"], 16 << 20)
        self.assertGreaterEqual(peak["temporary"], 16 << 20)

    def snapshots_are_read(self, run, said):
        paths = run.paths("memory/*/*.pickle")
        self.assertEqual(len(paths), 4)
        done = subprocess.run([PYTHON, "-c", READS_SNAPSHOT, paths[-1]], stdout=subprocess.PIPE,
                              text=True, check=True, env=environment(PYTHONWARNINGS="ignore"))
        found = json.loads(done.stdout[done.stdout.index("{"):])
        self.assertTrue(all(size > 10000 for size in found["plots"]), found)
        self.assertEqual(found["reserved"], said["peak_reserved"])
        self.assertIn(found["allocated"], range(said["left"], said["peak"] + 1))
        self.assertIn(PROGRAM, found["files"])

    def test_a_leak_is_named_by_its_line(self):
        _, _, process = self.run_program("leak")
        with open(PROGRAM, encoding="utf-8") as file:
            line = [number for number, text in enumerate(file, 1) if "# the leak" in text]
        leak, = process["memory"]["leaks"]
        self.assertEqual(([leak["line"]], leak["file"], leak["bytes_per_step"]),
                         (line, PROGRAM, 32 * 128 * 4))
        growth = process["memory"]["growth"]
        self.assertAlmostEqual(growth["bytes_per_step"], 32 * 128 * 4, delta=64)
        self.assertAlmostEqual(growth["steps_left"] * growth["bytes_per_step"],
                               growth["device_bytes"], delta=growth["device_bytes"] / 4)

    def test_a_peak_outside_the_recorded_steps(self):
        _, said, process = self.run_program("grown", PROF_OPENING="off")
        allocator = process["memory"]["allocator"]
        self.assertEqual(allocator["peak_bytes"], said["peak"])
        self.assertGreater(said["peak"], 256 << 20)
        self.assertLess(allocator["recorded_peak_bytes"], 128 << 20)
        self.assertIn("allocations at the run's peak",
                      [gap["what"] for gap in process["unavailable"]])

    def test_off(self):
        _, _, process = self.run_program(PROF_MEMORY="off")
        self.assertIsNone(process["memory"]["allocator"])
        self.assertFalse(process["memory"]["by_kind"])


if __name__ == "__main__":
    unittest.main()
