"""Kineto traces that profrun writes: their events, and profrun's own figures read from them."""
import collections
import glob
import gzip
import json
import os
import re
from decimal import Decimal

import kineto
from harness import KEEPS_UP, PACED, Case, prog, script, unsanitized
from ui import UiCase

WINDOW = "skip_first=20,wait=0,warmup=0,active=8,repeat=1"
SETTINGS = {"PROF_OPENING": "off", "PROF_SCHEDULE": WINDOW}
EVERYTHING = {"PROF_SCHEDULE": "always", "PROF_STEP": "time:60000"}
GPU = ("kernel", "gpu_memcpy", "gpu_memset")


# Readers' doubles have a grain of 1 ns, so an event may seem to begin before another has ended.
GRAIN_US = 0.002


class KinetoTrace:
    """The events of one file; `exact`: times as written, else as readers round them."""

    def __init__(self, path, exact=True):
        with gzip.open(path, "rt", encoding="utf-8") as file:
            self.lines = file.read().splitlines()
        self.json = json.loads("\n".join(self.lines), parse_float=Decimal if exact else float)
        self.grain = 0 if exact else GRAIN_US
        self.events = self.json["traceEvents"]

    def spans(self, *categories):
        return [e for e in self.events if e["ph"] == "X" and e["cat"] in categories]

    def crossings(self):
        """Returns pairs of events of a track of which the second ends after the first."""
        tracks, found = collections.defaultdict(list), []
        for e in self.events:
            if e["ph"] == "X" and e["cat"] not in ("Trace", "gpu_user_annotation"):
                tracks[e["pid"], e["tid"]].append((e["ts"], -(e["ts"] + e["dur"]), e["name"]))
        for events in tracks.values():
            around = []
            for begin, end, name in sorted(events):
                while around and -around[-1][1] <= begin + self.grain:
                    around.pop()
                if around and -end > -around[-1][1]:
                    found.append((around[-1], (begin, end, name)))
                around.append((begin, end, name))
        return found


class Counters(Case):
    def test_queues_and_bandwidth_are_counters(self):
        """Four launches while the first kernel runs, a copy of 1 MB in 100 us after them. The last
        step launches work that the next one waits for: its queue is one curve."""
        t = kineto.Trace()
        for i in range(2):
            at = 1000 + 1000 * i
            t.step(i, at, 1000)
            for k in range(4):
                t.launch("k", at + 10 + 10 * k, at + (12 if k == 0 else 200 * k), 150)
            t.call("cudaMemcpyAsync", at + 60, 15)
            t.gpu("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", at + 800, 100, bytes=1000000)
        t.launch("late", 1990, 2005, 3)
        path = t.write(os.path.join(self.base, "host_1.1.pt.trace.json"))
        out = os.path.join(self.base, "out")
        self.assertEqual(self.tool("export", path, "--format", "kineto", "-o", out).status, 0)
        (made,) = glob.glob(os.path.join(out, "**", "*.gz"), recursive=True)
        found = collections.defaultdict(list)
        events = KinetoTrace(made).events
        begin = min(e["ts"] for e in events if e["name"] == "ProfilerStep#0")
        for e in events:
            if e["ph"] == "C":
                self.assertEqual((e["pid"], e["cat"]), (0, "counter"))
                (value,) = e["args"].values()
                found[e["name"], e.get("id")].append((e["ts"] - begin, value))
        self.assertEqual(found["Memcpy HtoD", None], [(800, 10), (900, 0), (1800, 10), (1900, 0)])
        step = [(10, 1), (12, 0), (20, 1), (30, 2), (40, 3), (60, 4), (200, 3), (400, 2), (600, 1),
                (800, 0)]
        self.assertEqual(found["Queue Length", 7],
                         [*step, (990, 1), (1005, 0), *((ns + 1000, n) for ns, n in step)])
        self.assertEqual(len(found), 2)


class Kineto(Case):
    def exported(self, command, **settings):
        run = self.profiled_on_schedule(command, options=("--format", "kineto"), **settings)
        self.assertEqual(run.status, 0, run.err)
        (path,) = run.paths("kineto/*.gz")
        return run, path

    def check_form(self, path):
        """What HTA and TensorBoard's plugin need, and what is always true."""
        t = KinetoTrace(path)
        for e in t.events:
            self.assertIn("name", e)
            if e["ph"] == "X":
                self.assertGreaterEqual(e["dur"], 0)
                self.assertTrue({"cat", "ts", "pid", "tid", "args"} <= e.keys())
        self.assertEqual(t.events[-1]["name"], "Record Window End")
        self.assertEqual(t.crossings(), [])
        self.assertEqual(KinetoTrace(path, exact=False).crossings(), [])
        calls = {e["args"]["correlation"]: e for e in t.spans("cuda_runtime", "cuda_driver")}
        self.assertEqual(len(calls), len(t.spans("cuda_runtime", "cuda_driver")))
        self.assertGreater(min(calls), 0)
        works = t.spans(*GPU, "cuda_sync")
        self.assertTrue(works)
        for w in works:
            self.assertIn(w["args"]["correlation"], calls)
        begun = [e["id"] for e in t.events if e["ph"] == "s"]
        ended = [e["id"] for e in t.events if e["ph"] == "f"]
        self.assertEqual(len(begun), len(set(begun)))
        self.assertEqual(set(begun), set(ended))
        self.assertEqual(len(ended), len(t.spans(*GPU)))
        ids = [e["args"]["External id"] for e in t.spans("cpu_op", "user_annotation")]
        self.assertEqual(len(ids), len(set(ids)))
        self.assertEqual(len([e for e in t.events if e["ph"] == "M"]),
                         len({(e["name"], e["pid"], e["tid"]) for e in t.events
                              if e["ph"] == "M"}))
        return t

    def processes(self, run, path):
        """What profrun reports of the run and of the trace."""
        found = []
        for what in (run.folder, path):
            made = self.tool("report", "--json", what)
            self.assertEqual((made.status, made.err), (0, ""))
            found.append(json.loads(made.out)["processes"][0])
        return found

    def check_round_trip(self, run, path, tolerance=0.05):
        ours, theirs = self.processes(run, path)
        self.assertEqual(theirs["steps"]["recorded"], ours["steps"]["recorded"])
        kernels = [{k["name"]: (k["per_step"], k["gpu_ms_per_step"]) for k in p["kernels"]}
                   for p in (ours, theirs)]
        self.assertEqual(kernels[1], kernels[0])
        gpus = [[(g["busy_ms_per_step"], g["idle_ms_per_step"], g["kernels_per_step"])
                 for g in p["gpu"]] for p in (ours, theirs)]
        self.assertEqual(gpus[1], gpus[0])
        use = [[(g["sm_efficiency_pct"], g["occupancy_pct"]) for g in p["gpu"]]
               + [(k["name"], k["occupancy_pct"]) for k in p["kernels"]] for p in (ours, theirs)]
        self.assertEqual(use[1], use[0])
        self.assertIsNotNone(ours["gpu"][0]["sm_efficiency_pct"])
        for name in ("launches", "captured"):
            self.assertEqual(theirs["completeness"][name], ours["completeness"][name])
        self.assertEqual(len(theirs["syncs"]), len(ours["syncs"]))
        for a, b in zip(ours["syncs"], theirs["syncs"]):
            self.assertAlmostEqual(b["blocked_ms_per_step"], a["blocked_ms_per_step"],
                                   delta=tolerance)
        return ours, theirs

    def check_lines(self, ours, theirs):
        waits = [[(s["file"], s["line"], s["per_step"]) for s in p["syncs"]]
                 for p in (ours, theirs)]
        self.assertEqual(waits[1], waits[0])
        lines = [{(x["file"], x["line"]): (x["launches_per_step"], x["gpu_ms_per_step"])
                  for x in p["lines"]} for p in (ours, theirs)]
        self.assertEqual(lines[1], lines[0])

    @unsanitized(KEEPS_UP)
    def test_python_program(self):
        run, path = self.exported(script("demo.py"), **SETTINGS)
        t = self.check_form(path)
        host, pid, ns = re.match(r"(.*)_(\d+)\.(\d+)\.pt\.trace\.json\.gz",
                                 os.path.basename(path)).groups()
        self.assertEqual(t.json["host_name"], host)
        self.assertEqual({e["pid"] for e in t.spans("cuda_runtime")}, {int(pid)})
        steps = {e["name"]: e for e in t.spans("user_annotation")}
        self.assertEqual(set(steps), {f"ProfilerStep#{n}" for n in range(20, 28)})
        began_us = Decimal(ns) / 1000 - Decimal(t.json["baseTimeNanoseconds"]) / 1000
        self.assertEqual(steps["ProfilerStep#20"]["ts"], began_us)
        ours, theirs = self.check_round_trip(run, path)
        self.check_lines(ours, theirs)
        functions = {e["name"].split(": ")[-1] for e in t.spans("python_function")}
        self.assertLessEqual({"<module>", "main", "Model.forward"} - {"main"}, functions)
        kernel = t.spans("kernel")[0]["args"]
        self.assertEqual(kernel["stream"] > 0, True)
        self.assertIn("est. achieved occupancy %", kernel)
        device = t.json["deviceProperties"][0]
        self.assertEqual((device["computeMajor"], device["numSms"]), (9, 132))
        self.assertEqual(ours["pid"], int(pid))

    def test_verdict_of_a_program_that_waits(self):
        """A loop of launches and a wait: nothing else can be the bottleneck."""
        run, path = self.exported([prog("loop"), "40"], **PACED, **SETTINGS)
        self.check_form(path)
        ours, theirs = self.check_round_trip(run, path)
        verdicts = [{p["bound"]["verdict"], *p["bound"]["between"]} - {"unclear"}
                    for p in (ours, theirs)]
        self.assertTrue(verdicts[0] & verdicts[1], verdicts)

    def test_copies_streams_and_memsets(self):
        _, path = self.exported([prog("copies"), "6"], **EVERYTHING)
        t = self.check_form(path)
        copies = t.spans("gpu_memcpy")
        self.assertTrue(copies)
        for e in copies:
            self.assertRegex(e["name"], r"^Memcpy [HDAP]to[HDAP] \(\w+ -> \w+\)$")
            if e["dur"]:
                self.assertAlmostEqual(float(e["args"]["memory bandwidth (GB/s)"]),
                                       e["args"]["bytes"] / float(e["dur"]) / 1000, places=3)

    def test_waits_have_no_stream(self):
        _, path = self.exported([prog("loop"), "6"], **EVERYTHING)
        waits = KinetoTrace(path).spans("cuda_sync")
        self.assertTrue(waits)
        self.assertEqual({e["args"]["stream"] for e in waits}, {-1})
        self.assertLessEqual({e["args"]["cuda_sync_kind"] for e in waits},
                             {"Stream Sync", "Context Sync", "Event Sync", "Stream Wait Event"})

    def test_graphs(self):
        _, path = self.exported([prog("loop"), "6", "graph"], **EVERYTHING)
        t = self.check_form(path)
        (launch,) = {e["name"] for e in t.spans("cuda_runtime") if "GraphLaunch" in e["name"]}
        self.assertEqual(launch, "cudaGraphLaunch")
        nodes = [e for e in t.spans("kernel") if e["args"].get("graph node id")]
        self.assertGreaterEqual(len(nodes), 24)

    def test_ranges_are_annotations_of_cpu_and_gpu(self):
        _, path = self.exported([prog("nvtx"), "steps", "6"], PROF_STEP="kernel:first",
                                PROF_OPENING="off",
                                PROF_SCHEDULE="skip_first=1,wait=0,warmup=0,active=2,repeat=1")
        t = self.check_form(path)
        names = {e["name"] for e in t.spans("user_annotation")}
        self.assertIn("forwärts 🚀", names)
        works = t.spans(*GPU)
        on_gpu = t.spans("gpu_user_annotation")
        self.assertIn("forwärts 🚀", {e["name"] for e in on_gpu})
        for e in on_gpu:  # from the begin of its first work to the end of its last
            begins = {w["ts"] for w in works if w["tid"] == e["tid"]}
            ends = {w["ts"] + w["dur"] for w in works if w["tid"] == e["tid"]}
            self.assertIn(e["ts"], begins)
            self.assertIn(e["ts"] + e["dur"], ends)

    def test_names_are_escaped(self):
        _, path = self.exported(prog("odd_names"), **EVERYTHING)
        self.check_form(path)

    def test_windows_are_files(self):
        run = self.profiled_on_schedule(
            script("demo.py"), options=("--format", "kineto"), PROF_OPENING="off",
            PROF_SCHEDULE="skip_first=20,wait=5,warmup=0,active=2,repeat=2")
        steps = [[e["name"] for e in KinetoTrace(path).spans("user_annotation")]
                 for path in run.paths("kineto/*.gz")]
        self.assertEqual(steps, [["ProfilerStep#25", "ProfilerStep#26"],
                                 ["ProfilerStep#32", "ProfilerStep#33"]])
        rank = self.profiled(script("demo.py"), options=("--format", "kineto"), RANK="3",
                             LOCAL_RANK="0", WORLD_SIZE="8", **SETTINGS)
        (path,) = rank.paths("kineto/*.gz")
        head = [line for line in KinetoTrace(path).lines if re.search(r'"rank":\s+\d', line)]
        self.assertRegex(head[0], r'^"distributedInfo": .*"rank": 3')


class InPerfetto(UiCase):
    """The files of several steps in the Perfetto UI, which counts what it could not show."""

    @unsanitized(KEEPS_UP)
    def test_kineto_and_several_steps(self):
        run = self.profiled_on_schedule(script("demo.py"), options=("--format", "kineto"),
                                        **SETTINGS)
        (path,) = run.paths("kineto/*.gz")
        trace = self.opened(path)
        events = KinetoTrace(path).events
        shown = [e for e in events if e["ph"] in ("X", "i")]
        self.assertEqual(trace.value("select count(*) from slice where dur >= 0"), len(shown))
        counted = [e for e in events if e["ph"] == "C"]
        self.assertGreater(len(counted), 0)
        self.assertEqual(trace.value("select count(*) from counter"), len(counted))
        trace.close()
        into = self.folder()
        made = self.tool("export", run.folder, "--format", "perfetto,chrome", "--steps", "20-27",
                         "-o", into)
        self.assertEqual(made.status, 0, made.err)
        counts = []
        for suffix in (".pftrace.gz", ".json.gz"):
            (path,) = glob.glob(f"{into}/*/steps-20-27{suffix}")
            trace = self.opened(path)
            counts.append([trace.value(f"select count(*) from {table}")
                           for table in ("slice", "flow")])
            trace.close()
        self.assertEqual(counts[0], counts[1])
