"""CSV tables: read with Python's csv, they add up to the report."""
import collections
import csv
import json
import os
import re

import kineto
from harness import Case, script
from trace import Trace

SETTINGS = {"PROF_OPENING": "off",
            "PROF_SCHEDULE": "skip_first=20,wait=0,warmup=0,active=8,repeat=1"}
STEPS = 8
NAMES = ("calls", "critical_path", "kernels", "lines", "operators", "steps")


def number(text):
    return int(text) if text.isdigit() else text


class Csv(Case):
    def read(self, paths):
        """Returns {table: rows}; each row is a dictionary."""
        self.assertEqual([os.path.basename(path).split(".")[1] for path in paths], list(NAMES))
        tables = {}
        for name, path in zip(NAMES, paths):
            with open(path, newline="", encoding="utf-8") as file:
                text = file.read()
            self.assertTrue(text.endswith("\r\n"))
            rows = list(csv.DictReader(text.splitlines(keepends=True), strict=True))
            for row in rows:
                self.assertNotIn(None, row.keys())
                self.assertNotIn(None, row.values())
            tables[name] = [{key: number(value) for key, value in row.items()} for row in rows]
        return tables

    def written(self, command, **settings):
        run = self.profiled_on_schedule(command, options=("--format", "csv"), **settings)
        self.assertEqual(run.status, 0, run.err)
        report = json.loads(self.tool("report", "--json", run.folder).out)["processes"][0]
        return self.read(run.paths("csv/*/*")), report

    def test_sums_are_those_of_the_report(self):
        t, report = self.written(script("demo.py"), **SETTINGS)
        steps = [row["step"] for row in t["steps"]]  # later ones if the steps are known late
        self.assertEqual(steps, list(range(steps[0], steps[0] + STEPS)))
        self.assertGreaterEqual(steps[0], 20)
        self.assertEqual([row["begin_ns"] for row in t["steps"]][0], 0)
        kernels = collections.defaultdict(lambda: [0, 0])
        for row in t["kernels"]:
            if row["kind"] == "kernel":
                kernels[row["name"]][0] += 1 / STEPS
                kernels[row["name"]][1] += row["duration_ns"] / 1e6 / STEPS
        self.assertEqual(kernels.keys(), {k["name"] for k in report["kernels"]})
        for k in report["kernels"]:
            self.assertAlmostEqual(kernels[k["name"]][0], k["per_step"])
            self.assertAlmostEqual(kernels[k["name"]][1], k["gpu_ms_per_step"], places=3)
        lines = collections.defaultdict(lambda: [0, 0])
        for row in t["lines"]:
            lines[row["file"], row["line"]][0] += row["launches"] / STEPS
            lines[row["file"], row["line"]][1] += row["gpu_work_ns"] / 1e6 / STEPS
        for line in report["lines"]:
            ours = lines[line["file"], line["line"]]
            self.assertAlmostEqual(ours[1], line["gpu_ms_per_step"], places=3)
        calls = collections.Counter(row["step"] for row in t["calls"])
        works = collections.Counter(row["step"] for row in t["kernels"])
        for row in t["steps"]:
            self.assertEqual(row["calls"], calls[row["step"]])
            self.assertEqual(row["kernels"] + row["copies"] + row["memsets"], works[row["step"]])
            self.assertEqual(row["gpu_work_ns"], sum(w["duration_ns"] for w in t["kernels"]
                                                     if w["step"] == row["step"]))
        self.assertEqual(sum(row["launches"] for row in t["steps"]),
                         report["completeness"]["launches"])

    def test_work_refers_to_its_call(self):
        t, _ = self.written(script("demo.py"), **SETTINGS)
        calls = {row["correlation"]: row for row in t["calls"]}
        self.assertEqual(len(calls), len(t["calls"]))
        for row in t["kernels"]:
            call = calls[row["correlation"]]
            self.assertEqual(call["category"], {"kernel": "launch"}.get(row["kind"], row["kind"]))
            self.assertGreaterEqual(row["begin_ns"], call["begin_ns"])
            self.assertEqual(row["line"], call["line"])

    def test_the_critical_path_is_that_of_the_trace(self):
        """One row per slice of the track, which covers the step but for short gaps."""
        run = self.profiled_on_schedule(script("demo.py"), options=("--format", "csv,perfetto"),
                                        **SETTINGS)
        self.assertEqual(run.status, 0, run.err)
        t = self.read(run.paths("csv/*/*"))
        steps = {row["step"]: row for row in t["steps"]}
        path = collections.defaultdict(list)
        for row in t["critical_path"]:
            path[row["step"]].append(row)
            self.assertTrue(row["name"] or row["kind"] not in ("copy", "communication"), row)
        self.assertEqual(path.keys(), steps.keys())
        for trace in run.paths("traces/*/*"):
            step = int(re.search(r"step-(\d+)", trace)[1])
            track = Trace(trace).on("Critical path")
            self.assertEqual([s.end - s.time for s in track],
                             [row["duration_ns"] for row in path[step]])
            self.assertEqual([s.args.get("line", "") for s in track],
                             [f"{os.path.basename(row['file'])}:{row['line']}" if row["line"]
                              else "" for row in path[step]])
        for step, rows in path.items():
            for before, after in zip(rows, rows[1:]):
                gap = after["begin_ns"] - before["begin_ns"] - before["duration_ns"]
                self.assertTrue(0 <= gap < 10000, gap)
            self.assertEqual(rows[0]["begin_ns"], steps[step]["begin_ns"])

    def exported(self, trace):
        """Returns the tables of a trace of torch.profiler, and its path."""
        path = trace.write(os.path.join(self.base, "host_1.1.pt.trace.json"))
        into = self.folder()
        made = self.tool("export", path, "--format", "csv", "--steps", "5-8", "-o", into)
        self.assertEqual(made.status, 0, made.err)
        found = [os.path.join(folder, name) for folder, _, names in os.walk(into)
                 for name in names]
        return self.read(sorted(found)), path

    def test_names_with_commas_quotes_and_line_ends(self):
        trace, odd = kineto.training(), 'void gemm<1, "x">\n(int)'
        for event in trace.events:
            if event["name"] == "gemm":
                event["name"] = odd
        t, _ = self.exported(trace)
        self.assertIn(odd, {row["name"] for row in t["kernels"]})

    def test_operators_of_a_trace(self):
        t, path = self.exported(kineto.training())
        report = json.loads(self.tool("report", "--json", path).out)["processes"][0]
        for operator in report["operators"]:
            rows = [row for row in t["operators"] if row["name"] == operator["name"]]
            self.assertEqual(sum(row["count"] for row in rows), 4 * operator["per_step"])
            for column, figure in (("gpu_work_ns", "gpu_ms_per_step"),
                                   ("self_gpu_work_ns", "self_gpu_ms_per_step"),
                                   ("host_ns", "host_ms_per_step")):
                self.assertAlmostEqual(sum(row[column] for row in rows) / 4e6, operator[figure],
                                       places=3, msg=f"{operator['name']} {column}")
