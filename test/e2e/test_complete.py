"""Which launches have GPU times: in report.json, and as an exit status (--require-complete)."""
import json
import os
import sys
import unittest

from harness import EVERYTHING, Case, prog

INCOMPLETE = 125
LOOP = 20  # steps of test/prog/loop: four kernels each, after a warm-up of two launches
LAUNCHES = 4 * LOOP + 2


class Complete(Case):
    def loop(self, options=(), **settings):
        return self.profiled([prog("loop"), str(LOOP)], options,
                             **{"PROF_STEP": "kernel:first", **EVERYTHING, **settings})

    def completeness(self, run):
        (process,) = run.json["processes"]
        with open(os.path.join(run.folder, "report.json")) as file:
            (reported,) = json.load(file)["processes"]
        self.assertEqual(process["completeness"], reported["completeness"])
        return reported["completeness"]

    def test_all_launches(self):
        found = self.completeness(self.loop())
        self.assertEqual((found["launches"], found["captured"], found["pct"]),
                         (LAUNCHES, LAUNCHES, 100))
        (window,) = found["windows"]
        self.assertEqual(window["steps"], list(range(LOOP)))
        self.assertEqual((window["launches"], window["captured"], window["why"]),
                         (LAUNCHES, LAUNCHES, None))

    def test_two_windows(self):
        found = self.completeness(
            self.loop(PROF_SCHEDULE="skip_first=4,wait=2,warmup=1,active=2,repeat=2", PACE_MS=50,
                      PROF_OPENING="off"))
        self.assertEqual([w["steps"] for w in found["windows"]], [[7, 8], [12, 13]])
        self.assertEqual([w["launches"] for w in found["windows"]], [8, 8])
        self.assertEqual((found["launches"], found["pct"]), (16, 100))

    def test_a_graph_is_one_launch(self):
        run = self.profiled([prog("loop"), str(LOOP), "graph"], PROF_STEP="graph", **EVERYTHING)
        found = self.completeness(run)
        self.assertEqual((found["launches"], found["captured"]), (LOOP + 2, LOOP + 2))

    def test_what_cupti_drops(self):
        found = self.completeness(self.loop(PROFSIM_CUPTI="drop:3"))
        self.assertEqual(found["launches"], LAUNCHES)
        self.assertLess(found["captured"], LAUNCHES)
        (window,) = found["windows"]
        self.assertRegex(window["why"], r"^CUPTI dropped \d+ records; record fewer steps")

    def test_without_cupti(self):
        for settings, why in (({"PROFSIM_CUPTI": "missing"}, "CUPTI cannot be started"),
                              ({"PROF_CUPTI": "off"}, "PROF_CUPTI=off")):
            found = self.completeness(self.loop(**settings))
            self.assertEqual((found["launches"], found["captured"], found["pct"]),
                             (LAUNCHES, 0, 0))
            self.assertIn(why, found["windows"][0]["why"])

    def test_required(self):
        hundred = ["--require-complete", "100"]
        run = self.loop(hundred)
        self.assertEqual(run.status, 0, run.err)
        self.assertNotIn("--require-complete", run.err)
        run = self.loop([*hundred, "--quiet"], PROFSIM_CUPTI="drop:3")
        self.assertEqual(run.status, INCOMPLETE)
        self.assertRegex(run.err, r"^profrun: --require-complete 100: process \d+: \d+ of "
                         rf"{LAUNCHES} launches have GPU times\n$")
        self.assertEqual(self.loop(["--require-complete=1"], PROFSIM_CUPTI="drop:20").status, 0)
        self.assertEqual(self.loop(PROFSIM_CUPTI="drop:20").status, 0)

    def test_the_applications_own_failure_wins(self):
        fails = "import subprocess, sys; subprocess.run(sys.argv[1:]); sys.exit(3)"
        run = self.profiled([sys.executable, "-c", fails, prog("loop"), "20"],
                            ["--require-complete", "100"], PROFSIM_CUPTI="missing", **EVERYTHING)
        self.assertEqual(run.status, 3)
        self.assertIn("--require-complete 100: process", run.err)

    def test_nothing_recorded(self):
        for command, settings in (([prog("loop"), "20"], {"PROF_SCHEDULE": "off"}), (["true"], {})):
            run = self.profiled(command, ["--require-complete", "1"], **settings)
            self.assertEqual(run.status, INCOMPLETE, run.err)
            self.assertIn("no launch was recorded", run.err)

    def test_wrong_usage(self):
        for value in ("0", "101", "many", "", "-1"):
            run = self.profiled(["true"], ["--require-complete", value])
            self.assertEqual(run.status, 2, run.err)
            self.assertIn("a percentage above 0 and up to 100", run.err)


if __name__ == "__main__":
    unittest.main()
