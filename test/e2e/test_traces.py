"""Traces opened in a real Perfetto UI in a real browser.

They come from the example and from programs with nvcc, ctypes, graphs and NVTX. Perfetto reports no
error, and its trace_processor counts the same as the tests' own reader.
"""
import unittest

from harness import prog, script
from trace import Trace
from ui import UiCase

ALWAYS = {"PROF_SCHEDULE": "always", "PROF_STEP": "time:60000"}


class InPerfetto(UiCase):
    def check(self, path):
        ours, theirs = Trace(path), self.opened(path)
        self.assertEqual(theirs.slices(), len(ours.slices) + len(ours.instants))
        self.assertEqual(theirs.flows(), len(ours.flows_in))
        self.assertEqual(theirs.value("select count(*) from counter"), len(ours.counters))
        rows = theirs.sql("select s.ts as ts, s.dur as dur, s.name as name from slice s order by "
                          "s.ts, s.dur desc, s.name")
        wanted = sorted([(s.time, s.end - s.time, s.name) for s in ours.slices]
                        + [(i.time, 0, i.name) for i in ours.instants],
                        key=lambda row: (row[0], -row[1], row[2]))
        self.assertEqual([(row["ts"], row["dur"], row["name"]) for row in rows], wanted)
        # An arrow goes from a call to its work, never back in time.
        self.assertEqual(theirs.value("select count(*) from flow f join slice a on f.slice_out = "
                                      "a.id join slice b on f.slice_in = b.id "
                                      "where b.ts < a.ts"),
                         0)
        # Slices of a track never overlap unless one lies within the other.
        self.assertEqual(
            theirs.value("select count(*) from slice s join slice p on s.parent_id = p.id "
                         "where s.ts < p.ts or s.ts + s.dur > p.ts + p.dur"),
            0)
        return theirs

    def test_example(self):
        run = self.profiled(script("demo.py") + ["--steps", "200"])
        self.assertEqual(len(run.traces()), 3, run.err)
        trace = self.check(run.traces()[1])
        tracks = {row["name"] for row in trace.sql("select name from track")}
        self.assertLessEqual({"Steps", "device memory allocated"}, tracks)
        self.assertTrue([name for name in tracks if name and name.startswith("GPU 0")], tracks)
        self.assertIn("backward", {row["name"] for row in trace.sql("select name from thread")})

    def test_calls_have_the_names_in_the_source(self):
        """__cudaLaunchKernel is nvcc's stub of CUDA 13."""
        run = self.profiled(prog("every_runtime"), **ALWAYS)
        (path,) = run.traces()
        self.assertIn("__cudaLaunchKernel", {call.name for call in run.journal().calls()})
        names = {row["name"] for row in self.check(path).sql("select distinct name from slice")}
        self.assertIn("cudaLaunchKernel", names)
        self.assertEqual([name for name in names if name.startswith("__cuda")], [])

    def test_nvcc_program(self):
        run = self.profiled(prog("shared"), **ALWAYS)
        (path,) = run.traces()
        trace = self.check(path)
        names = [row["name"] for row in trace.sql(
            "select name from slice where category = 'kernel' order by ts")]
        self.assertEqual(names,
                         ["spin_20us(int*)"] * 3 + ["void scale_5us<float>(float*, float)"] * 2)

    def test_ctypes_program(self):
        run = self.profiled(script("ctypes_runtime.py"), **ALWAYS)
        (path,) = run.traces()
        self.assertGreater(self.check(path).slices(), 12)

    def test_graphs(self):
        run = self.profiled([prog("loop"), "6", "graph"], **ALWAYS)
        (path,) = run.traces()
        trace = self.check(path)
        self.assertEqual(trace.value("select count(*) from slice where category = 'kernel'"),
                         6 * 4 + 2)
        # Each graph launch points at the kernels of its nodes.
        self.assertEqual(trace.value("select count(*) from flow f join slice a on f.slice_out = "
                                     "a.id where a.name = 'cudaGraphLaunch'"),
                         24)

    def test_nvtx_ranges(self):
        run = self.profiled([prog("nvtx"), "steps", "6"], PROF_STEP="kernel:first",
                            PROF_SCHEDULE="skip_first=1,wait=0,warmup=0,active=2,repeat=1")
        trace = self.check(run.traces_in_order()[0])
        nested = trace.sql("select s.name as name, s.depth as depth, t.name as thread, "
                           "extract_arg(s.arg_set_id, 'debug.domain') as domain, "
                           "extract_arg(s.arg_set_id, 'debug.begins_before_step') as cut from "
                           "slice s join thread_track k on s.track_id = k.id "
                           "join thread t using(utid) where s.category in ('nvtx', 'launch') "
                           "order by s.ts, s.depth")
        rows = [(row["name"], row["depth"], row["domain"], row["cut"]) for row in nested]
        self.assertEqual(rows,
                         [("program", 0, None, 1), ("step 1", 1, None, 1),
                          ("load a batch", 2, "loader", 1), ("cudaLaunchKernel", 3, None, None),
                          ("forwärts 🚀", 2, None, None), ("cudaLaunchKernel", 3, None, None),
                          ("half way", 3, None, None), ("cudaLaunchKernel", 3, None, None),
                          ("step 2", 1, None, None), ("load a batch", 2, "loader", None)])
        self.assertEqual({row["thread"] for row in nested}, {"nvtx"})
        started = trace.sql("select s.name as name from slice s join process_track k on "
                            "s.track_id = k.id where s.category = 'nvtx' order by s.ts, name")
        self.assertEqual([row["name"] for row in started],
                         ["epoch", "load a batch", "load a batch"])

    def test_ranges_that_do_not_nest(self):
        run = self.profiled([prog("nvtx"), "lost"], **ALWAYS)
        (path,) = run.traces()
        trace = self.check(path)
        self.assertEqual(trace.value("select max(depth) from slice where name = 'deep'"), 63)
        self.assertEqual(
            trace.value("select count(*) from slice where name in ('crosses', 'ends first')"), 2)

    def test_host_times_only(self):
        run = self.profiled([prog("loop"), "6"], PROF_CUPTI="off", **ALWAYS)
        (path,) = run.traces()
        trace = self.check(path)
        self.assertEqual(trace.value("select count(*) from slice where category = 'kernel'"), 0)

    def test_killed(self):
        run = self.profiled([prog("ends"), "kill"], **ALWAYS)
        (path,) = run.traces()
        self.check(path)


if __name__ == "__main__":
    unittest.main()
