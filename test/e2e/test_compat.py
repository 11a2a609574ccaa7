"""`report --compat TOOL` computes what the tool computes, to the last digit.

The expected figures come from the tools' own code (peers/README.md).
"""
import glob
import gzip
import json
import os
import unittest

import kineto
from harness import Case

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDERS = [os.path.join(HERE, "peers")] + [f for f in [os.environ.get("PEER_TRACES")] if f]

# HTA's figures: the name in the expected file, and that of our table.
HTA_TABLES = {
    "temporal_breakdown": "temporal_breakdown",
    "comm_comp_overlap": "comm_comp_overlap",
    "idle_time_breakdown": "idle_time_breakdown",
    "queue_length_summary": "queue_length_summary",
    "memory_bw_summary": "memory_bw_summary",
    "user_annotation_gpu": "gpu_user_annotations",
    "user_annotation_cpu": "cpu_user_annotations",
}
HTA_LAUNCHES = {
    "n": "n",
    "cpu_dur_sum": "cpu_duration_sum",
    "gpu_dur_sum": "gpu_duration_sum",
    "launch_delay_sum": "launch_delay_sum",
    "launch_delay_max": "launch_delay_max",
    "n_short_kernels": "n_short_kernels",
    "n_runtime_outliers": "n_runtime_outliers",
    "n_launch_delay_outliers": "n_launch_delay_outliers",
}


def read(path):
    opened = gzip.open(path) if path.endswith(".gz") else open(path, "rb")
    with opened as file:
        return json.load(file)


def expected(suffix):
    """The paths of (trace, expected file) in all folders, by the name of the trace's folder."""
    found = {}
    for path in sorted(p for f in FOLDERS for p in glob.glob(f"{f}/*/*{suffix}*")):
        folder = os.path.dirname(path)
        traces = [t for t in glob.glob(f"{folder}/*.json.gz")
                  if not t.endswith((".hta.json.gz", ".tensorboard.json.gz", "expected.json.gz"))
                  and not os.path.basename(t).startswith("hta.")]
        if len(traces) == 1:
            found[os.path.basename(folder)] = (traces[0], path)
    return found


def hta_rows(rows):
    """Rows of HTA's data frames: {"error": ...} or None if it gave up."""
    if not isinstance(rows, list):
        return []
    prefixes = "queue_length_", "memory_bw_gbps_"
    return [{column.removeprefix(prefixes[0]).removeprefix(prefixes[1]): value
             for column, value in row.items() if column != "index"} for row in rows]


class Compat(Case):
    def compat(self, tool, *paths):
        run = self.tool("report", "--json", "--compat", tool, *paths)
        self.assertEqual((run.status, run.err), (0, ""))
        return json.loads(run.out)


class Hta(Compat):
    maxDiff = None

    def check(self, tool, trace, result):
        ours, theirs = self.compat(tool, trace), read(result)
        for name, table in HTA_TABLES.items():
            self.assertEqual(ours[table], hta_rows(theirs[name]), table)
        breakdown = theirs["kernel_breakdown"]
        self.assertEqual(ours["gpu_kernel_types"], hta_rows(breakdown["types"]))
        self.assertEqual(ours["gpu_kernels"], hta_rows(breakdown["kernels"]))
        self.assertEqual([s["step"] for s in ours["profiler_steps"]], theirs["profiler_steps"])
        launches = {str(row["rank"]): row for row in ours["cuda_kernel_launch_stats"]}
        self.assertEqual(launches.keys(), theirs["launch_stats"].keys())
        for rank, stats in theirs["launch_stats"].items():
            self.assertEqual({n: launches[rank][n] for n in HTA_LAUNCHES.values()},
                             {ours: stats[name] for name, ours in HTA_LAUNCHES.items()})

    def test_every_figure_is_hta_s(self):
        for suffix, tool in (("hta.json", "hta"), ("hta.last.json", "hta-last-step")):
            found = expected(suffix)
            self.assertGreaterEqual(len(found), 7)
            for name, (trace, result) in found.items():
                with self.subTest(trace=name, tool=tool):
                    self.check(tool, trace, result)

    def test_operators_and_their_delays_are_hta_s(self):
        found = expected("hta.delays.json")
        self.assertGreaterEqual(len(found), 2)
        for name, (trace, result) in found.items():
            for tool, rows in read(result).items():
                with self.subTest(trace=name, tool=tool):
                    ours = self.compat(tool, trace)["aten_op_kernels_and_delay"]
                    self.assertEqual([{**row, "rank": 0} for row in rows],
                                     [{**row, "rank": 0} for row in ours])

    def test_operators_without_work_have_no_delays(self):
        """HTA gives up if a launch in an operator has no work."""
        t = kineto.Trace()
        t.operator("aten::mm", 100, 50)
        t.launch("gemm", 110, 200, 50)
        path = t.write(os.path.join(self.base, "trace.json"))
        (row,) = self.compat("hta", path)["aten_op_kernels_and_delay"]
        self.assertEqual(row, {
            "rank": 0, "aten_op_name": "aten::mm", "kernel_sequence": "gemm",
            "occurrence_count": 1, "avg_aten_op_launch_delay": 10, "avg_runtime_delay": 90})
        t.call("cudaLaunchKernel", 120, 5)
        path = t.write(os.path.join(self.base, "trace2.json"))
        self.assertEqual(self.compat("hta", path)["aten_op_kernels_and_delay"], [])

    def test_the_text_has_the_same_figures(self):
        trace, result = expected("hta.json")["amd_trace"]
        run = self.tool("report", "--compat", "hta", trace)
        self.assertEqual((run.status, run.err), (0, ""))
        self.assertIn("Holistic Trace Analysis 0.6.1", run.out)
        self.assertIn("idle_time(us) 8780, compute_time(us) 96", " ".join(run.out.split()))
        self.assertIn("idle_time_pctg 98.53", " ".join(run.out.split()))
        self.assertEqual(read(result)["temporal_breakdown"][0]["idle_time_pctg"], 98.53)

    def test_other_tools_and_runs_are_refused(self):
        trace, _ = expected("hta.json")["amd_trace"]
        run = self.tool("report", "--compat", "nsight", trace)
        self.assertEqual(run.status, 2)
        self.assertIn("expected hta|", run.err)


def tb_costs(row):
    return {name.replace("CpuOp", "CPU Exec"): value for name, value in row.items()}


def known(row):
    return [value for value in list(row.values())[1:] if value is not None]


class TensorBoard(Compat):
    """Trace by trace: the plugin's results of whole traces, and those of its own unit tests."""
    maxDiff = None

    def check_rows(self, ours, theirs):
        """Ours have all columns of theirs, with the same values."""
        self.assertEqual(len(ours), len(theirs))
        for row, other in zip(ours, theirs):
            self.assertEqual({name: row[name] for name in other}, other)

    def check_steps(self, ours, theirs):
        self.assertEqual([str(s["step"]) for s in ours["steps"]], theirs["steps_names"])
        costs = [tb_costs(row) for row in theirs["steps_costs"]]
        for row in costs:
            if row["Total"] < -2 ** 63:  # no steps and no operators: the plugin's sentinels
                self.assertLess(ours["steps"][0]["Total"], -2 ** 63)
                row["Total"] = ours["steps"][0]["Total"]
        self.check_rows(ours["steps"], costs)

    def check_gpus(self, ours, theirs):
        expected_gpus = [dict(row) for row in theirs["gpu"].values()]
        for row in expected_gpus:
            if "occ" in row:
                row["est_achieved_occupancy_pct"] = row.pop("occ")
        self.assertEqual([str(row["gpu"]) for row in ours["gpus"]], list(theirs["gpu"]))
        self.check_rows(ours["gpus"], expected_gpus)
        overview = ours["overview"][0]
        for name in ("tc_used_ratio", "tc_eligible_ops_kernel_ratio"):
            self.assertEqual(overview[name], theirs[name])

    def check_advice(self, ours, theirs):
        advice = [row["recommendation"] for row in ours.get("recommendations", [])]
        self.assertEqual(len(advice), len(theirs["recommendations"]))
        for said, expected_text in zip(advice, theirs["recommendations"]):
            self.assertTrue(said.startswith(expected_text), said)

    def check_trace(self, ours, theirs):
        self.check_steps(ours, theirs)
        self.check_gpus(ours, theirs)
        self.check_advice(ours, theirs)
        self.check_rows(ours["mean_step"], [tb_costs(theirs["avg_costs"])])
        self.check_rows(ours["communication_overlap"], theirs["comm_overlap"])
        self.assertEqual([known(k) for k in ours["kernels"]][:10],
                         theirs["kernel_table_top10"] or [])
        self.assertEqual(len(ours["kernels"]), theirs["n_kernels"])
        self.assertEqual(len(ours["operators"]), theirs["n_ops"])
        operators = [dict(row, has_call_stack=row["has_call_stack"] == "Yes")
                     for row in ours["operators"][:10]]
        self.check_rows(operators, theirs["op_table_top10"])
        peaks = sorted(row["peak_bytes"] for row in ours["memory_peaks"])
        self.assertEqual(peaks, sorted((theirs.get("memory_peaks") or {}).values()))
        for device, rows in (theirs.get("memory_stats") or {}).items():
            found = [known(row)[1:] for row in ours["memory_by_operator"]
                     if row["device"] == device]
            self.assertEqual(found[:len(rows)], rows)

    def test_every_figure_of_a_trace_is_the_plugin_s(self):
        found = expected(".tensorboard.json")
        self.assertGreaterEqual(len(found), 7)
        for name, (trace, result) in found.items():
            with self.subTest(trace=name):
                self.check_trace(self.compat("tensorboard", trace), read(result))

    def test_every_figure_of_the_plugin_s_unit_tests_is_the_same(self):
        results = glob.glob(os.path.join(HERE, "peers/tensorboard__unit_cases/*.expected.json.gz"))
        self.assertEqual(len(results), 21)
        for result in results:
            with self.subTest(trace=os.path.basename(result)):
                ours = self.compat("tensorboard", result.replace(".expected", ""))
                theirs = read(result)
                self.check_steps(ours, theirs)
                self.check_gpus(ours, theirs)
                self.check_advice(ours, theirs)
                self.check_lists(ours, theirs)

    def test_modules_are_nested_as_in_the_plugin(self):
        """The figures are those of the plugin's module_op.py for its own test."""
        ours = self.compat("tensorboard", os.path.join(
            HERE, "peers/tensorboard__unit_cases/test_build_module_hierarchy.0.json.gz"))
        self.assertEqual([known(row) for row in ours["modules"]],
                         [[0, "Conv2", 100, 1, 0, 211, 211, 0, 0, 211],
                          [0, "MyModule", 0, 3, 0, 633, 447, 0, 0, 211],
                          [1, "Linear", 1, 3, 3, 186, 90, 0, 0, 62]])

    def check_lists(self, ours, theirs):
        names = {"calls": "calls", "host_total_duration": "host", "device_total_duration": "dev",
                 "host_self_duration": "self_host", "device_self_duration": "self_dev"}
        self.assertEqual({o["name"]: {n: o[n] for n in names} for o in ours["operators"]},
                         {o["name"]: {n: o[their] for n, their in names.items()}
                          for o in theirs["ops"]})
        kernels = sorted((k["name"], k["operator"], k["calls"], k["sum (us)"])
                         for k in ours["kernels_by_operator"])
        self.assertEqual(kernels, sorted((k["name"], k["op"], k["calls"], k["total"])
                                         for k in theirs["kernels"]))


del Compat

if __name__ == "__main__":
    unittest.main()
