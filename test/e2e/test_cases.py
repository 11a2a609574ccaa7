"""The C++ programs of test/cases, with the answers that their reports must give."""
import json
import os
import unittest

from harness import Case, prog
from test_host_native import is_perf_allowed


class Cases(Case):
    def report(self, name, *arguments, status=0, **settings):
        run = self.profiled([prog("case_" + name), *arguments], **settings)
        self.assertEqual(run.status, status, run.err)
        with open(os.path.join(run.folder, "report.json")) as file:
            (process,) = json.load(file)["processes"]
        return run, process, run.json["processes"][0]

    def kernels(self, process):
        return {k["name"].split("(")[0]: round(k["per_step"], 3) for k in process["kernels"]}

    def assert_complete(self, facts, launches):
        records, losses = facts["records"], facts["losses"]
        self.assertEqual((records["launches"], records["paired"]), (launches, launches))
        self.assertEqual([losses[what] for what in ("dropped", "calls_without_gpu_work",
                                                    "gpu_work_without_call")], [0, 0, 0])

    def test_threads_that_make_the_first_calls_together(self):
        for name, launches in (("threads_first_call", 200), ("first_calls_async", 16 * 11)):
            for _ in range(6):
                with self.subTest(name):
                    run, _, facts = self.report(name)
                    self.assert_complete(facts, launches)
                    bare = [c for c in run.journal().calls()
                            if c.category == "launch" and not c.stack]
                    self.assertEqual(bare, [], "launches without a stack")

    def test_contexts_devices_and_streams_that_change_threads(self):
        """All launches have their work.

        On a busy machine, threads may lose the CPU within calls so that a few launches can have
        the work of several. These are left out and counted.
        """
        for name, launches in (("contexts_migrate", 1200), ("devices_change", 1600),
                               ("stream_per_task", 800)):
            with self.subTest(name):
                n_whole = 0
                for _ in range(3):
                    _, _, facts = self.report(name, PROFSIM_DEVICES="3")
                    records, losses = facts["records"], facts["losses"]
                    without = records["launches"] - records["paired"]
                    self.assertEqual((records["launches"], losses["dropped"]), (launches, 0))
                    self.assertEqual(losses["calls_without_gpu_work"], without)
                    self.assertLess(without, launches / 100)
                    n_whole += not without
                self.assertGreaterEqual(n_whole, 1)

    def test_long_kernels_in_few_steps(self):
        # a busy machine keeps the program from launching in time
        for _ in range(5):
            run, process, facts = self.report("long_kernels_few_steps")
            if process["gpu"][0]["busy_pct"] > 90:
                break
        self.assertEqual(facts["steps"]["count"], 12)
        self.assertEqual(process["bound"]["verdict"], "gpu")
        self.assertGreater(process["gpu"][0]["busy_pct"], 90)
        self.assertEqual(self.kernels(process), {"filter_500us": 20})
        self.assertEqual(len(run.trace_steps()), 3)

    def test_one_kernel(self):
        run, process, facts = self.report("one_kernel")
        self.assertEqual(facts["steps"]["count"], 0)
        self.assertEqual(self.kernels(process), {"reduce_3000us": 1})
        self.assertAlmostEqual(process["kernels"][0]["gpu_ms_per_step"], 3, places=2)
        self.assertEqual(run.trace_steps(), [0])
        self.assertIn("one_kernel.cu", process["lines"][0]["file"])

    def test_releases_at_exit_are_no_part_of_the_run(self):
        _, process, _ = self.report("released_at_exit")
        self.assertEqual(self.kernels(process), {"reduce_3000us": 1})
        self.assertNotIn("sleep", [row["cause"] for row in process["idle"]])
        self.assertGreaterEqual(process["steps"]["after_last_s"], 0.4)

    def test_steps_that_overlap(self):
        """Eight threads take tasks in turn, and a step often ends together with another one."""
        for _ in range(6):
            run, process, _ = self.report("stream_per_task")
            self.assertNotIn("nan", run.err)
            self.assertGreater(process["replay"]["step_ms"], 0)

    def test_nothing_repeats(self):
        run, process, _ = self.report("stages_then_end")
        self.assertEqual(self.kernels(process),
                         dict.fromkeys(("decode_200us", "resize_100us", "detect_900us",
                                        "track_300us", "encode_500us"), 1))
        self.assertIn("no repeating step found", run.err)
        self.assertEqual(run.trace_steps(), [0])

    def test_one_unit_has_a_verdict(self):
        for name in ("one_kernel", "stages_then_end"):
            with self.subTest(name):
                run, process, _ = self.report(name)
                bound = process["bound"]
                verdicts = bound.get("between", [bound["verdict"]])
                self.assertNotIn("unknown", verdicts)
                self.assertNotIn("input", verdicts)
                self.assertLessEqual(bound["confidence"], 0.5)
                self.assertGreaterEqual(process["steps"]["start_up_s"], 0)
                self.assertIn("none detected: the run counts as one unit", run.err)

    def test_computing_on_the_cpu_is_not_data_loading(self):
        """Copies a matrix to the GPU, but no loader was on the stack: this is CPU code."""
        for name in ("reference", "fill", "checksum"):
            with self.subTest(name):
                _, process, _ = self.report("cpu_before_launch", name)
                bound = process["bound"]
                self.assertIn("host", bound.get("between", []) + [bound["verdict"]], bound)
                self.assertNotIn("input", bound.get("between", []) + [bound["verdict"]], bound)
                idle = {row["cause"]: row["ms_per_step"] for row in process["idle"]}
                self.assertNotIn("input", idle)
                self.assertGreater(idle["host"] + idle.get("contention", 0), 250, idle)
                self.assertNotIn("prefetch", " ".join(a["what"] for a in process["advice"]))
                if is_perf_allowed():
                    functions = {(row["function"] or "").split("(")[0]
                                 for row in process["host"]}
                    self.assertIn(name + "_cpu", functions)

    def test_a_wait_for_the_device_is_named(self):
        """Before it the thread copies a few values, but it waits for the other thread's work."""
        run, process, _ = self.report("device_sync_threads")
        waits = {sync["api"]: sync for sync in process["syncs"]}
        device = waits["cudaDeviceSynchronize"]
        self.assertEqual((device["kind"], device["function"]), ("explicit", "serve_small"))
        self.assertEqual(waits["cudaStreamSynchronize"]["kind"], "explicit")
        # a copy of a few values blocks when its thread loses the CPU, but not often
        self.assertFalse([sync for sync in process["syncs"]
                          if sync["kind"] == "item" and sync["per_step"] > 0.1])
        report = self.tool("report", run.folder).out
        rows = report[report.index("Synchronization, ms per step"):].split("\n\n")[0]
        self.assertIn("cudaDeviceSynchronize", rows)

    def advice_on_the_legacy_stream(self, name, least):
        """Returns the advice and the share of the step that it saves. Other load makes steps longer
        or differ so much that no savings are promised: then runs again."""
        best = (None, 0)
        for _ in range(4):
            _, process, _ = self.report(name, PROF_STEP="sync")
            shares = [(a, a["expected_ms_per_step"] / process["replay"]["step_ms"])
                      for a in process["advice"]
                      if "not into the legacy default stream" in a["what"]]
            best = max([best, *shares], key=lambda found: found[1])
            if best[1] > least:
                break
        return best

    def test_launches_into_the_legacy_stream(self):
        """Eight requests in a row take 2.91 ms, two by two on four streams 0.73 ms."""
        programs = (("legacy_stream", "note", 0.6), ("legacy_memset", "clear", 0.3))
        for name, function, least in programs:
            with self.subTest(name):
                advice, share = self.advice_on_the_legacy_stream(name, least)
                self.assertGreater(share, least)
                self.assertIn(function, advice["function"])

    def test_a_program_that_aborts_in_its_sixth_iteration(self):
        run, process, _ = self.report("ends_in_step_five", status=-6)
        self.assertGreaterEqual(len(run.trace_steps()), 1, run.err)
        self.assertEqual(self.kernels(process)["work_9000us"], 3)
        self.assertGreater(process["gpu"][0]["busy_pct"], 50)


if __name__ == "__main__":
    unittest.main()
