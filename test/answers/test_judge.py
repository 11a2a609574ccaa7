"""Tests judge.py with made-up reports."""
import copy
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import cases  # noqa: E402
import judge  # noqa: E402

SYNC = cases.Case("explicit_sync", ("sync",), "sync", "line")
CLEAN = cases.Case("clean_gpu", ("gpu",))
SOURCE, (LINE,) = SYNC.source, SYNC.planted()


def report(verdict="sync", **lists):
    process = {"pid": 1, "steps": {"count": 60}, "bound": {"verdict": verdict},
               "replay": {"error_pct": -1.0}, "syncs": [], "advice": []}
    process.update(lists)
    return {"schema": 2, "processes": [
        {"pid": 2, "steps": {"count": 0}, "bound": {"verdict": "unknown"}}, process]}


def wait(file=SOURCE, line=LINE, recoverable=0.9, whole=1.0):
    return {"file": file, "line": line, "recoverable_ms_per_step": recoverable,
            "line_ms_per_step": whole}


def advice(expected, where=f"{SOURCE}:{LINE}"):
    return {"what": "fix it", "where": where, "expected_ms_per_step": expected}


class JudgeTest(unittest.TestCase):
    def judged(self, case, found, steps=60, slow=3.0, fixed=2.0):
        return judge.judge(case, found, steps, slow, fixed)

    def test_a_right_report_is_right(self):
        outcome = self.judged(SYNC, report(syncs=[wait()]))
        self.assertTrue(outcome.right, outcome)
        self.assertEqual(outcome.where, f"explicit_sync.py:{LINE}")

    def test_another_line_or_file_is_wrong(self):
        next_line = self.judged(SYNC, report(syncs=[wait(line=LINE + 1), wait()]))
        self.assertTrue(next_line.file_right)
        self.assertFalse(next_line.line_right or next_line.right)
        elsewhere = self.judged(SYNC, report(syncs=[wait(file="/tmp/explicit_sync.py")]))
        self.assertFalse(elsewhere.file_right or elsewhere.line_right)
        self.assertFalse(self.judged(SYNC, report()).line_right)

    def test_lines_by_gpu_time(self):
        """The first line by all time is the wait for the graph."""
        lines = [{"file": SOURCE, "line": LINE + 1, "gpu_ms_per_step": None},
                 {"file": SOURCE, "line": LINE + 2, "gpu_ms_per_step": 0.4},
                 {"file": SOURCE, "line": LINE, "gpu_ms_per_step": 0.5}]
        case = cases.Case("explicit_sync", ("gpu",), "gpu", "whatif")
        found = report("gpu", lines=lines)
        for promised, is_near in ((1.1, True), (1.3, False)):
            outcome = judge.judge(case, found, 60, 3.0, 2.0, promised)
            self.assertTrue(outcome.line_right)
            self.assertEqual(outcome.right, is_near)

    def test_another_verdict_is_wrong(self):
        self.assertFalse(self.judged(SYNC, report("gpu", syncs=[wait()])).right)

    def test_another_accepted_verdict_is_right(self):
        either = cases.Case("explicit_sync", ("copy", "sync"), "sync", "line")
        self.assertTrue(self.judged(either, report("sync", syncs=[wait()])).right)

    def test_an_unclear_verdict_must_name_the_cause(self):
        either = cases.Case("explicit_sync", ("sync", "unclear"), "sync", "line",
                            between=("gpu", "sync"))
        found = report("unclear", syncs=[wait()])
        bound = judge.main_process(found)["bound"]
        for between, right in ((["gpu", "sync"], True), (["gpu", "host", "sync"], True),
                               (["gpu", "host"], False), ([], False)):
            bound["between"] = between
            self.assertEqual(self.judged(either, found).verdict_right, right, between)
            self.assertFalse(self.judged(SYNC, found).verdict_right)

    def test_steps_may_be_off_by_one(self):
        self.assertTrue(self.judged(SYNC, report(syncs=[wait()]), steps=61).right)
        self.assertFalse(self.judged(SYNC, report(syncs=[wait()]), steps=62).right)

    def test_a_gain_must_be_near(self):
        for whole, near in ((0.81, True), (0.79, False), (1.19, True), (1.21, False)):
            self.assertEqual(self.judged(SYNC, report(syncs=[wait(whole=whole)])).near, near, whole)
        # Two percent of the step count as noise, however small the gain.
        self.assertTrue(
            self.judged(SYNC, report(syncs=[wait(whole=0.05)]), slow=3.0, fixed=3.0).near)
        self.assertFalse(
            self.judged(SYNC, report(syncs=[wait(whole=0.07)]), slow=3.0, fixed=3.0).near)

    def test_a_gain_that_is_not_promised_counts_as_zero(self):
        self.assertEqual(self.judged(SYNC, report(syncs=[wait(line=LINE - 1)])).predicted_ms, 0)

    def test_advice_has_its_place_in_one_text(self):
        self.assertEqual(judge.place(advice(1, "/a/b.py:12 in forward")), ("/a/b.py", 12))
        self.assertEqual(judge.place(advice(1, "/a:b/c.cpp:7")), ("/a:b/c.cpp", 7))
        self.assertEqual(judge.place(advice(1, "everywhere")), ("everywhere", 0))
        self.assertEqual(judge.place(advice(1, None)), ("", 0))

    def test_promises_to_a_clean_program_are_false_alarms(self):
        self.assertEqual(self.judged(CLEAN, report("gpu", advice=[advice(0.08)])).alarms, ())
        self.assertEqual(
            len(self.judged(CLEAN, report("gpu", advice=[advice(0.1)], syncs=[wait()])).alarms), 2)

    def test_every_key_names_an_existing_line(self):
        for case in cases.CASES:
            if case.row or case.gain:
                self.assertTrue(case.planted(), case.name)
            else:
                self.assertEqual(case.planted(), [], case.name)

    def test_f1_is_the_mean_over_classes(self):
        right, wrong = (self.judged(SYNC, report(verdict, syncs=[wait()]))
                        for verdict in ("sync", "gpu"))
        clean = self.judged(CLEAN, report("gpu"))
        self.assertEqual(judge.f1([right, clean]), 1.0)
        # sync: precision 1, recall 1/2; gpu: precision 1/2, recall 1.
        self.assertAlmostEqual(judge.f1([right, wrong, clean]), 2 / 3)

    def test_goals_that_are_missed_are_named(self):
        right = self.judged(SYNC, report(syncs=[wait()]))
        self.assertEqual(judge.missed(judge.summary([right])), [])
        wrong = copy.copy(right)
        wrong.line_right = wrong.near = False
        self.assertEqual(len(judge.missed(judge.summary([right, wrong]))), 2)
        wrong.problem = "no report"
        self.assertIn("without_report 1, goal 0", judge.missed(judge.summary([right, wrong])))


if __name__ == "__main__":
    unittest.main()
