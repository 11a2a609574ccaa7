"""Steps that are iterations of a loop, from the stacks of the opening: the reported programs of
test/cases, and further kinds in test/cases/loops.cu. The right numbers are in the sources.
"""
import json
import os
import re
import unittest

from harness import KEEPS_UP, LAUNCHER, ROOT, Case, environment, prog, unsanitized

CASES = {
    "rk4_stages": 500,
    "streams_depth_first": 200,
    "device_sync_threads": 400,
    "two_streams_in_turn": 100,
    "two_devices_in_turn": 200,
}
# two nested loops: either may be called the step if the report names the other one
KINDS = {"stages": {60}, "solver": {40, 180}, "devices": {50}, "pool": {120}, "recursion": {45},
         "callbacks": {70}, "branches": {90}, "speculative": {60}, "decode": {200}, "polls": {70}}


# Optimized programs: the code after a check that ends in exit(), or after std::mutex::lock()'s
# std::__throw_system_error(), is often the middle of the main loop.
CHECKED = ["O2/sensor_ring", "O3/sensor_ring", "O3/multigrid"]
# Optimized, with debug information: the loops begin with their bodies, and often in functions that
# are inlined there. The other places were once the names of these loops. All calls of `replicas`
# are in inner loops.
LINES = {"lbm_cavity": "lbm_cavity.cu:89", "cg_heat": "cg_heat.cu:59",
         "nbody_graph": "nbody_graph.cu:86", "sensor_ring": "sensor_ring.cu:51",
         "replicas": None}


def right_loop(name):
    """Returns the line and the iterations that the program's author names in its first line."""
    with open(os.path.join(ROOT, "test", "steps", "fresh", name + ".cu")) as file:
        line, iterations = re.search(r"loop at line (\d+); iterations (\d+)",
                                     file.readline()).groups()
    return int(line), int(iterations)


EXCEPTIONS = ["retries", "callees", "skipped", "nested", "halved", "guarded", "attempted",
              "inside_handler", "until_thrown"]
# the last calls of an iteration, where an inner loop makes all launches
ENDS = ["polls", "allocates", "calls_back", "makes_streams"]
UNROLLED = ["counted", "down", "inner", "numbered", "twice", "colours", "epochs"]
ENDLESS = ["while_true", "while_one", "for_ever", "do_while", "while_condition"]


class Loops(Case):
    def steps(self, command, **settings):
        run = self.profiled(command, **settings)
        self.assertEqual(run.status, 0, run.err)
        with open(os.path.join(run.folder, "report.json")) as file:
            (process,) = json.load(file)["processes"]
        return run, process["steps"], process

    def test_reported_programs(self):
        for name, count in CASES.items():
            with self.subTest(name):
                run, steps, process = self.steps([prog("case_" + name)], PROFSIM_DEVICES="2")
                self.assertEqual((steps["count"], steps["loop"]["iterations"]), (count, count))
                self.assertEqual(os.path.basename(steps["loop"]["file"]), name + ".cu")
                self.assertEqual(run.trace_steps(), [12, 13, 14])
                self.assertGreater(process["gpu"][0]["busy_pct"], 0)

    def test_other_kinds(self):
        for kind, counts in KINDS.items():
            with self.subTest(kind):
                _, steps, _ = self.steps([prog("case_loops"), kind], PROFSIM_DEVICES="3")
                self.assertIn(steps["count"], counts)
                self.assertEqual(os.path.basename(steps["loop"]["file"]), "loops.cu")

    def test_calls_that_never_return_hide_no_loop(self):
        for name in CHECKED:
            with self.subTest(name):
                _, count = right_loop(os.path.basename(name))
                _, steps, _ = self.steps([prog("fresh/" + name)])
                self.assertEqual((steps["count"], steps["loop"]["iterations"]), (count, count))

    def check_levels(self, program, kind, check):
        """Calls check(steps, line) for the kind, built without optimization and with it."""
        with open(os.path.join(ROOT, "test", "cases", program + ".cu")) as file:
            lines = file.read().splitlines()
        (line,) = [n for n, text in enumerate(lines, 1) if text.endswith("// step of " + kind)]
        for name in "case_" + program, "case_O2/" + program:
            with self.subTest(name, kind=kind):
                check(self.steps([prog(name), kind])[1], line)

    def check_right(self, steps, line):
        loop = steps["loop"]
        self.assertEqual((steps["count"], loop["iterations"], loop["line"]), (60, 60, line))

    def check_not_sure(self, steps, line):
        if steps["count"] != 60:
            self.assertLess(steps["confidence"], 0.7)
            self.assertEqual(steps["loop"]["instead"]["line"], line)

    def test_a_handler_is_in_the_loop_that_it_continues(self):
        for kind in EXCEPTIONS:
            self.check_levels("exceptions", kind, self.check_right)

    def test_loops_without_code_of_their_own_have_the_line_of_their_statement(self):
        for kind in ENDLESS:
            self.check_levels("endless", kind, self.check_right)

    def test_an_unrolled_loop_counts_the_iterations_of_the_source(self):
        for kind in UNROLLED:
            self.check_levels("unrolled", kind, self.check_61)

    def check_61(self, steps, line):
        loop = steps["loop"]
        self.assertEqual((steps["count"], loop["iterations"], loop["line"]), (61, 61, line))

    def test_threads_in_turns_are_not_sure(self):
        """An iteration of all threads may be the step, or one of each."""
        run, steps, _ = self.steps([prog("case_loops"), "in_turns"])
        self.assertIn(steps["count"], range(1, 3 * 60 + 2))
        self.assertLess(steps["confidence"], 0.9)
        again = self.report_by(run, f"loops.cu:{steps['loop']['line']}")
        self.assertEqual(json.loads(again.out)["processes"][0]["steps"]["confidence"], 1)

    def test_any_call_may_end_an_iteration(self):
        for kind in ENDS:
            self.check_levels("ends_of_inner_loops", kind, self.check_right)

    def test_launches_that_count_no_loop_are_not_sure(self):
        self.check_levels("exceptions", "epochs", self.check_not_sure)

    def report_by(self, run, place):
        return self.execute([LAUNCHER, "report", run.folder, "--json", "--step", "loop:" + place],
                            run.folder, environment())

    def test_optimized_loops_have_the_line_of_their_statement(self):
        for name, other in LINES.items():
            with self.subTest(name):
                line, count = right_loop(name)
                run, steps, _ = self.steps([prog("fresh/O2g/" + name)])
                loop = steps["loop"]
                self.assertEqual((os.path.basename(loop["file"]), loop["line"]),
                                 (name + ".cu", line))
                self.assertAlmostEqual(steps["count"], count, delta=2)
                if "opening_s" not in steps:
                    self.assertEqual(loop["iterations"], count)
                for place in filter(None, (f"{name}.cu:{line}", other)):
                    again = self.report_by(run, place)
                    self.assertEqual(again.status, 0, again.err)
                    chosen = json.loads(again.out)["processes"][0]["steps"]
                    self.assertEqual((chosen["count"], chosen["loop"]["line"]),
                                     (loop["iterations"], line))
                self.assertIn("shows no loop at this line",
                              self.report_by(run, f"{name}.cu:{line - 1}").err)

    def test_a_loop_that_only_starts_threads(self):
        """The copies, or all calls, are on new threads, so the outer loop makes no call."""
        for kind in "threads", "lives", "parts":
            with self.subTest(kind):
                _, steps, _ = self.steps([prog("case_loops"), kind])
                self.assertEqual((steps["count"], steps["loop"]["iterations"]), (60, 60))

    def test_nested_loops_are_named_and_the_recording_can_be_cut_again(self):
        run, steps, _ = self.steps([prog("case_rk4_stages")])
        (inner,) = steps["loop"]["inner"]
        self.assertEqual(inner["iterations"], 2000)
        self.assertEqual(steps["loop"]["instead"], inner)
        option = "loop:{}:{}".format(os.path.basename(inner["file"]), inner["line"])
        text = " ".join(run.err.split())
        self.assertIn("to choose it: --step " + option, text)
        again = self.execute([LAUNCHER, "report", run.folder, "--json", "--step", option],
                             run.folder, environment())
        self.assertEqual(again.status, 0, again.err)
        other = json.loads(again.out)["processes"][0]["steps"]
        self.assertEqual((other["count"], other["loop"]["line"]), (2000, inner["line"]))

    @unsanitized(KEEPS_UP)
    def test_loops_before_and_after_the_steps_are_mentioned(self):
        run, steps, _ = self.steps([prog("case_loops"), "phases"])
        others = steps["loop"]["others"]
        self.assertEqual(steps["count"], 60)
        self.assertEqual({loop["iterations"] for loop in others}, {25, 120})
        for loop in others:
            self.assertTrue(0.01 <= loop["share"] < 0.9, loop)
            self.assertIn(f"loops.cu:{loop['line']} ({loop['iterations']} iterations, "
                          f"{100 * loop['share']:.0f} % of the time)", " ".join(run.err.split()))
        self.assertLess(sum(loop["share"] for loop in others), 1)

    def test_a_loop_can_be_chosen_for_the_run(self):
        _, steps, _ = self.steps([prog("case_rk4_stages")])
        inner = steps["loop"]["inner"][0]
        _, chosen, _ = self.steps([prog("case_rk4_stages")],
                                  PROF_STEP="loop:rk4_stages.cu:%d" % inner["line"])
        self.assertEqual(chosen["count"], 2000)

    def after_the_opening(self, *kind, **settings):
        """The steps of a program that is longer than its opening."""
        run, steps, _ = self.steps([prog("case_loops"), *kind], PROF_OPENING="1s,1MB", **settings)
        self.assertTrue(run.trace_steps(), run.err)
        return run, steps

    def test_a_loop_is_counted_after_the_opening(self):
        """No launch occurs once in each step, but each step has three rounds of the same two."""
        run, steps = self.after_the_opening("stages", "6000")
        self.assertEqual(steps["count"], 6000)
        self.assertGreater(steps["confidence"], 0.7)
        self.assertLess(steps["loop"]["iterations"], 5000)
        self.assertEqual((run.trace_steps(), steps["schedule_shift"]), ([12, 13, 14], 0))
        again = self.execute([LAUNCHER, "report", run.folder, "--json"], run.folder, environment())
        self.assertEqual(json.loads(again.out)["processes"][0]["steps"], steps)

    def test_iterations_of_one_or_two_launches_are_counted_after_the_opening(self):
        for kind in "one_launch", "two_launches":
            with self.subTest(kind):
                _, steps = self.after_the_opening(kind, "12000")
                self.assertAlmostEqual(steps["count"], 12000, delta=2)

    def test_an_anchor_is_missed_by_threads_with_few_launches_each(self):
        """The steps of the second half differ, and no thread makes many of their launches."""
        run, steps = self.after_the_opening("threads_later", "16000")
        self.assertGreaterEqual(run.journal().lost, 1)
        is_right = abs(steps["count"] - 16000) < 160
        self.assertTrue(is_right or steps["confidence"] < 0.7 or "lost_after" in steps, steps)

    def test_the_chosen_loop_is_counted_after_the_opening(self):
        _, steps, _ = self.steps([prog("case_loops"), "stages"])
        (inner,) = steps["loop"]["inner"]
        run, steps = self.after_the_opening("stages", "6000",
                                            PROF_STEP="loop:loops.cu:%d" % inner["line"])
        self.assertEqual((steps["count"], steps["confidence"]), (18000, 1))
        self.assertNotIn("step unclear", run.err)

    def test_a_loop_that_launches_do_not_show_is_not_counted_after_the_opening(self):
        """No kernel is launched equally often in each iteration."""
        _, steps, _ = self.steps([prog("case_loops"), "branches"])
        run, chosen = self.after_the_opening("branches", "20000", PROF_STEP="loop:loops.cu:%d"
                                             % steps["loop"]["line"])
        self.assertTrue(100 < chosen["count"] < 19000, chosen["count"])
        self.assertIn("only the steps of the opening are counted", run.err)

    def test_loops_decide_if_every_step_is_recorded(self):
        always = {"PROF_SCHEDULE": "always"}
        for name, count in CASES.items():
            with self.subTest(name):
                run, steps, _ = self.steps([prog("case_" + name)], PROFSIM_DEVICES="2", **always)
                self.assertEqual((steps["count"], steps["loop"]["iterations"]), (count, count))
                self.assertEqual(steps["recorded"][-1], count - 1)
                again = self.execute([LAUNCHER, "report", run.folder, "--json"], run.folder,
                                     environment())
                self.assertEqual(json.loads(again.out)["processes"][0]["steps"], steps)
        for kind, counts in KINDS.items():
            with self.subTest(kind):
                _, steps, _ = self.steps([prog("case_loops"), kind], PROFSIM_DEVICES="3", **always)
                self.assertIn(steps["count"], counts)
        _, steps = self.after_the_opening("stages", "6000", **always)
        self.assertEqual(steps["count"], 6000)
        self.assertLess(steps["loop"]["iterations"], 5000)
        self.assertGreater(steps["confidence"], 0.7)

    def test_an_anchor_that_misses_an_iteration_in_each_run_is_not_sure(self):
        """Iterations of two launches: a trigram lacks the first one of each request, which most
        of the requests show only after the opening."""
        _, steps, _ = self.steps([prog("fresh/O2/graph_decode")], PROF_OPENING="0.008s",
                                 PROFSIM_LAUNCH_US="10")
        self.assertTrue(abs(steps["count"] - 1280) <= 1 or steps["confidence"] < 0.9, steps)

    def test_loops_decide_without_an_opening_if_every_step_is_recorded(self):
        """The launches alone count each round of an iteration as a step."""
        _, steps, _ = self.steps([prog("case_loops"), "stages", "1000"], PROF_OPENING="off",
                                 PROF_SCHEDULE="always")
        self.assertEqual((steps["count"], steps["loop"]["iterations"]), (1000, 1000))

    def test_the_flight_recorder_learns_loops(self):
        """If nobody has asked for steps, those of the opening are cut anew at the end."""
        for opening in "off", "10s,64MB":
            for schedule in "flight=4", "flight=4,skip_first=50":
                with self.subTest(schedule, opening=opening):
                    run, steps, _ = self.steps([prog("case_loops"), "stages", "1000"],
                                               PROF_OPENING=opening, PROF_SCHEDULE=schedule)
                    self.assertEqual((steps["count"], steps["loop"]["iterations"]), (1000, 1000))
                    self.assertEqual(run.trace_steps(), [996, 997, 998, 999])
        _, steps = self.after_the_opening("stages", "6000", PROF_SCHEDULE="flight=4")
        self.assertEqual((steps["count"], steps["recorded"][-1]), (6000, 5999))
        self.assertGreater(steps["confidence"], 0.7)

    def test_launches_alone_are_not_sure(self):
        """No loop is learned, so the launches' answer of 3,000 steps is not sure."""
        for settings in {"PROF_OPENING": "off"}, {"PROF_STACKS": "none"}:
            with self.subTest(settings):
                run, steps, _ = self.steps([prog("case_loops"), "stages", "1000"], **settings,
                                           PROF_SCHEDULE="skip_first=10,wait=6,active=3")
                self.assertGreater(steps["count"], 1100)
                self.assertLess(steps["confidence"], 0.7)
                self.assertNotIn("loop", steps)
                self.assertIn("step unclear", run.err)

    def test_a_line_without_a_loop(self):
        run, _, _ = self.steps([prog("case_rk4_stages")])
        again = self.execute([LAUNCHER, "report", run.folder, "--step", "loop:rk4_stages.cu:2"],
                             run.folder, environment())
        self.assertIn("the recording shows no loop at this line", again.err)
        self.assertNotEqual(again.status, 0)
        wrong = self.execute([LAUNCHER, "report", run.folder, "--step", "sync"], run.folder,
                             environment())
        self.assertIn("expected loop:FILE:LINE", wrong.err)
        self.assertEqual(wrong.status, 2)

    def test_the_report_made_later_is_the_same(self):
        run, steps, _ = self.steps([prog("case_loops"), "pool"])
        again = self.execute([LAUNCHER, "report", run.folder, "--json"], run.folder, environment())
        self.assertEqual(json.loads(again.out)["processes"][0]["steps"], steps)


if __name__ == "__main__":
    unittest.main()
