"""Traces in the Chrome format hold what the Perfetto traces of the same steps hold: read with
Python's json and, where there is a browser, with Perfetto's own importer."""
import glob
import os
import unittest

from chrome import ChromeTrace
from harness import Case, prog, script
from trace import Trace
from ui import UiCase

ALWAYS = {"PROF_SCHEDULE": "always", "PROF_STEP": "time:60000"}
NVTX = {"PROF_STEP": "kernel:first",
        "PROF_SCHEDULE": "skip_first=1,wait=0,warmup=0,active=2,repeat=1"}
LARGEST_TID = 1 << 22  # of Linux

ARROWS = """select a.ts as out_ts, a.name as out_name, b.ts as in_ts, b.name as in_name
from flow f join slice a on f.slice_out = a.id join slice b on f.slice_in = b.id"""
THREAD_0 = "select count(*) from thread_track join thread using(utid) where tid = 0"


def plain(value):
    """An argument's value as both readers can have it: addresses are text in JSON, and fractions
    are rounded."""
    if isinstance(value, str) and value.startswith("0x"):
        return int(value, 16)
    if isinstance(value, (list, tuple)):
        return tuple(value)
    return value if isinstance(value, (str, int)) else f"{float(value):.6g}"


def rows(slices):
    return sorted((s.time, s.end, s.name, sorted((k, str(plain(v))) for k, v in s.args.items()))
                  for s in slices)


def moments(instants):
    return sorted((i.time, i.name) for i in instants)


def points(counters):
    return sorted((c.time, c.value) for c in counters)


class Both(Case):
    """Each program's steps in both formats."""

    def pairs(self, command, **settings):
        run = self.profiled(command, options=("--format", "perfetto,chrome"), **settings)
        paths = run.traces_in_order()
        self.assertTrue(paths, run.err)
        twins = [path.replace("/traces/", "/chrome/").replace(".pftrace.gz", ".json.gz")
                 for path in paths]
        self.assertEqual(sorted(twins), run.paths("chrome/*/*.json.gz"))
        return list(zip(paths, twins))


class InJson(Both):
    def check(self, command, **settings):
        """The Chrome traces, once they have been compared with Perfetto's."""
        traces = []
        for path, twin in self.pairs(command, **settings):
            ours, theirs = Trace(path), ChromeTrace(twin)
            self.assertEqual(theirs.json["displayTimeUnit"], "ns")
            self.assertEqual(rows(theirs.slices), rows(ours.slices))
            self.assertEqual(moments(theirs.instants), moments(ours.instants))
            self.assertEqual(points(theirs.counters), points(ours.counters))
            self.check_arrows(ours, theirs)
            self.check_threads(ours, theirs)
            traces.append(theirs)
        return traces

    def check_arrows(self, ours, theirs):
        ends = {flow: work.time for flow, work in ours.flows_in}
        self.assertEqual(theirs.flows_out.keys(), theirs.flows_in.keys())
        arrows = theirs.flows_out.items()
        self.assertEqual(sorted((time, theirs.flows_in[id]) for id, time in arrows),
                         sorted((call.time, ends[flow]) for flow, call in ours.flows_out))

    def check_threads(self, ours, theirs):
        real = {t.tid for t in ours.tracks.values() if t.tid}
        (pid,) = {e["pid"] for e in theirs.events}
        tids = {e["tid"] for e in theirs.events} - {pid}
        self.assertNotIn(0, tids)
        self.assertEqual({tid for tid in tids if tid <= LARGEST_TID}, real - {pid})
        self.assertLessEqual({name.split(" / ")[-1] for name in theirs.threads.values()},
                             {t.name for t in ours.tracks.values()})
        ranks = [e["args"]["sort_index"] for e in theirs.of("M")
                 if e["name"] == "thread_sort_index"]
        self.assertEqual(ranks, sorted(set(ranks)))

    def test_example(self):
        self.assertEqual(len(self.check(script("demo.py"))), 3)

    def test_streams_of_a_native_program(self):
        self.check(prog("copies"), **ALWAYS)

    def test_ctypes(self):
        self.check(script("ctypes_runtime.py"), **ALWAYS)

    def test_nvtx_ranges(self):
        names = {s.name for t in self.check([prog("nvtx"), "steps", "6"], **NVTX) for s in t.slices}
        self.assertIn("forwärts 🚀", names)

    def test_ranges_that_do_not_nest(self):
        self.check([prog("nvtx"), "lost"], **ALWAYS)

    def test_graphs(self):
        (trace,) = self.check([prog("loop"), "6", "graph"], **ALWAYS)
        self.assertGreater(len(trace.flows_out), 24)

    def test_library_calls(self):
        self.check([prog("libraries"), "plt"], **ALWAYS)

    def test_export_and_info(self):
        run, into = self.profiled(prog("copies"), **ALWAYS), self.folder()
        made = self.tool("export", run.folder, "--format", "chrome", "-o", into)
        self.assertEqual(made.status, 0, made.err)
        self.assertIn("1 Chrome trace in", made.out)
        (path,) = glob.glob(os.path.join(into, "*", "*.json.gz"))
        t, said = ChromeTrace(path), self.tool("info", path)
        self.assertEqual(said.status, 0, said.err)
        self.assertIn(f"slices     {len(t.slices)}, instants {len(t.instants)}, "
                      f"counter points {len(t.counters)}", said.out)
        self.assertIn(f"flows      {len(t.flows_out)} begin, {len(t.flows_in)} end", said.out)


class InPerfetto(UiCase, Both):
    """The Perfetto UI finds the same in both: times to the nanosecond, names, nesting, arrows."""

    def contents(self, path):
        trace = self.opened(path)
        self.assertEqual(trace.value(THREAD_0), 0)
        tables = [trace.sql("select ts, dur, name, category, depth from slice"), trace.sql(ARROWS),
                  trace.sql("select ts, value from counter")]
        self.assertEqual(trace.flows(), len(tables[1]))
        trace.close()
        return [sorted(tuple(row.values()) for row in table) for table in tables]

    def check(self, command, **settings):
        for path, twin in self.pairs(command, **settings):
            for ours, theirs in zip(self.contents(path), self.contents(twin)):
                self.assertEqual(theirs, ours)

    def test_example(self):
        self.check(script("demo.py"))

    def test_ctypes(self):
        self.check(script("ctypes_runtime.py"), **ALWAYS)

    def test_graphs(self):
        self.check([prog("loop"), "6", "graph"], **ALWAYS)

    def test_nvtx_ranges(self):
        self.check([prog("nvtx"), "steps", "6"], **NVTX)

    def test_ranges_that_do_not_nest(self):
        self.check([prog("nvtx"), "lost"], **ALWAYS)


if __name__ == "__main__":
    unittest.main()
