"""The application's NVTX ranges, from C and from Python.

Checks what is recorded and when, and that calls return what NVTX promises.
"""
import os
import sys
import unittest

from harness import LIBRARY, NO_OPENING, ROOT, Case, prog
from trace import Trace

EVERYTHING = {"PROF_SCHEDULE": "always", "PROF_STEP": "time:60000"}
TWO_STEPS = {"PROF_STEP": "kernel:first",
             "PROF_SCHEDULE": "skip_first=1,wait=0,warmup=0,active=2,repeat=1"}
RANGE = 13


def ranges(journal, slot=None):
    """Returns {(slot or None, id): [name, domain, begin, end or None]} from the records, after
    checking that each range begins once and ends at most once."""
    found = {}
    for r in journal.of(RANGE):
        key = (r.slot if r.event in ("push", "pop") else None, r.id)
        if r.event in ("push", "start"):
            assert key not in found, f"{key} begins twice"
            found[key] = [r.name, r.domain, r.ticks, None]
    for r in journal.of(RANGE):
        key = (r.slot if r.event in ("push", "pop") else None, r.id)
        if r.event in ("pop", "end"):
            assert found[key][3] is None, f"{key} ends twice"
            found[key][3] = r.ticks
    return {key: value for key, value in found.items() if slot in (None, key[0])}


class Recorded(Case):
    def test_ranges_around_recorded_steps(self):
        run = self.profiled([prog("nvtx"), "steps", "6"], **TWO_STEPS, **NO_OPENING)
        self.assertEqual(run.out.splitlines(), ["1 0 0 2 2 1"] * 6, "the levels count per domain")
        journal = run.journal()
        marks = {r.number: r.ticks for r in journal.of(2)}
        self.assertEqual(sorted(marks), list(range(6)))
        found = ranges(journal)
        names = sorted(r[0] for r in found.values())
        # Ranges that were open when step 1 began, those of steps 1 and 2, and those of step 3 from
        # before its first kernel.
        self.assertEqual(names, sorted(["program", "epoch"] + ["step 1", "step 2", "step 3"]
                                       + ["load a batch"] * 6 + ["forwärts 🚀"] * 2))
        self.assertEqual({r[1] for r in found.values() if r[0] == "load a batch"}, {"loader"})
        self.assertEqual({r[1] for r in found.values() if r[0] != "load a batch"}, {None})
        for name, _, begin, end in found.values():
            self.assertIsNotNone(end, f"{name} was written open and never closed")
            self.assertLess(begin, end)
            self.assertLess(begin, marks[3])
            self.assertGreater(end, marks[1])
        self.assertEqual([r.name for r in journal.of(RANGE) if r.event == "mark"], ["half way"] * 2)
        colors = {r.color for r in journal.of(RANGE) if r.name == "load a batch"}
        self.assertEqual(colors, {0xff00ff00})

    def test_each_thread_has_its_own_ranges(self):
        journal = self.profiled([prog("nvtx"), "threads", "12"], **EVERYTHING).journal()
        for i in range(12):
            slot, = {r.slot for r in journal.of(RANGE) if r.name == f"thread {i}"}
            # a thread may continue the slot of one that has ended
            there = ranges(journal, slot).values()
            outer, = (r for r in there if r[0] == f"thread {i}")
            inner, = (r for r in there if r[0] == "work" and outer[2] <= r[2] <= outer[3])
            self.assertLessEqual(inner[3], outer[3])
            calls = [c for c in journal.calls(slot) if outer[2] <= c.begin <= outer[3]]
            self.assertTrue(calls)
            self.assertEqual(len(calls),
                             len([c for c in calls if inner[2] <= c.begin and c.end <= inner[3]]))

    def test_fork(self):
        journals = self.profiled([prog("nvtx"), "fork"], **EVERYTHING).journals()
        self.assertEqual(len(journals), 2)
        for journal in journals:
            names = sorted(r[0] for r in ranges(journal).values())
            self.assertEqual(
                names, ["both", *(["child alone"] if len(names) > 2 else []), "parent and child"])
            self.assertTrue(all(r[3] for r in ranges(journal).values()))

    def test_ranges_that_do_not_nest(self):
        run = self.profiled([prog("nvtx"), "lost"], **EVERYTHING)
        self.assertEqual(run.out.split(), ["-1", "99", "-1"],
                         "no range to pop; level 99; no range left")
        found = ranges(run.journal())
        self.assertEqual(len([r for r in found.values() if r[0] == "deep"]), 64)
        crossing = [r for r in found.values() if r[0] != "deep"]
        (_, _, begin, end), (_, _, other_begin, other_end) = sorted(crossing, key=lambda r: r[2])
        self.assertTrue(begin < other_begin < end < other_end)

    def test_python(self):
        run = self.profiled([sys.executable, os.path.join(ROOT, "test", "prog", "nvtx_ranges.py"),
                             prog("nvtx_functions.so")],
                            **EVERYTHING)
        self.assertEqual((run.status, run.out), (0, "done\n"), run.err)
        found = ranges(run.journal())
        self.assertEqual(sorted(r[0] for r in found.values()), sorted(
            ["both threads", "first thread", "füllen", "füllen", "second thread"]))


class Switched(Case):
    def test_off(self):
        run = self.profiled([prog("nvtx"), "steps", "2"], PROF_NVTX="off", **EVERYTHING)
        self.assertEqual(run.out.splitlines(), ["-2 -2 -2 -2 -2 -2"] * 2, "same as without a tool")
        self.assertEqual(run.journal().of(RANGE), [])

    def test_the_library_refuses_when_off(self):
        run = self.preloaded([prog("nvtx"), "steps", "2"], PROF_NVTX="off",
                             NVTX_INJECTION64_PATH=LIBRARY, **EVERYTHING)
        self.assertEqual(run.out.splitlines(), ["-2 -2 -2 -2 -2 -2"] * 2)

    def test_the_users_own_injection_is_kept(self):
        show = [sys.executable, "-c", "import os; print(os.environ['NVTX_INJECTION64_PATH'])"]
        self.assertEqual(self.profiled(show, NVTX_INJECTION64_PATH="/opt/theirs.so").out,
                         "/opt/theirs.so\n")
        self.assertEqual(self.profiled(show).out, LIBRARY + "\n")

    def test_loaded_without_being_preloaded(self):
        """A child dropped LD_PRELOAD but kept the rest of the environment: nothing is recorded, and
        nothing breaks."""
        run = self.bare([prog("nvtx"), "steps", "2"], NVTX_INJECTION64_PATH=LIBRARY)
        self.assertEqual((run.status, run.err), (0, ""))
        self.assertEqual(run.out.splitlines(), ["1 0 0 2 2 1"] * 2)


class Steps(Case):
    """PROF_STEP=nvtx:NAME."""

    def iterations(self, step, n=8, schedule="skip_first=2,wait=0,warmup=1,active=2,repeat=1",
                   **settings):
        return self.profiled([prog("nvtx"), "turns", str(n)],
                             ["--step", step, "--schedule", schedule], **settings)

    def check(self, run, count, numbers, kernels):
        """Checks the step numbers, and that each trace has the kernels of one range."""
        self.assertEqual(run.json["processes"][0]["steps"]["count"], count, run.err)
        self.assertEqual(run.json["processes"][0]["steps"]["detector"], "nvtx")
        self.assertEqual(run.trace_steps(), numbers)
        for path, names in zip(run.traces_in_order(), kernels):
            found = [s.name for s in Trace(path).on("Stream") if s.name.endswith("us")]
            self.assertEqual(found, names)

    def test_of_one_domain(self):
        kernels = ["first_10us", "spin_5us"]
        self.check(self.iterations("nvtx:turn@"), 8, [3, 4], [kernels] * 2)
        self.check(self.iterations("nvtx:turn@inner"), 16, [3, 4], [["spin_5us"], ["first_10us"]])

    def test_of_any_domain(self):
        # Iteration 0 is steps 0 (its own range), 1 and 2.
        run = self.iterations("nvtx:turn",
                              schedule="skip_first=3,wait=0,warmup=1,active=2,repeat=1")
        self.check(run, 24, [4, 5], [["first_10us"], ["spin_5us"]])

    def test_a_range_that_never_begins(self):
        run = self.iterations("nvtx:turm")
        self.assertEqual(run.status, 0)
        self.assertEqual(run.trace_steps(), [0], "the whole run")
        self.assertEqual([line for line in run.err.splitlines() if "no NVTX range" in line],
                         [line for line in run.err.splitlines()
                          if "PROF_STEP=nvtx:turm: no NVTX range of that name began" in line])
        self.assertIn("no NVTX range of that name", run.err)

    def test_ranges_that_are_switched_off(self):
        run = self.iterations("nvtx:turn", PROF_NVTX="off")
        self.assertIn("PROF_NVTX=off", run.err)

    def test_too_few_ranges(self):
        run = self.iterations("nvtx:turn@", n=3, **NO_OPENING)
        self.assertIn("only 3 steps ran, but recording starts at step", run.err)
        self.assertNotIn("no NVTX range", run.err)

    def test_a_forked_child(self):
        """The range began before the fork and before either process's first CUDA call. It is known
        to be open in both."""
        run = self.profiled([prog("nvtx"), "fork"], ["--step", "nvtx:both"])
        self.assertEqual(len(run.json["processes"]), 2)
        self.assertNotIn("no NVTX range", run.err)


if __name__ == "__main__":
    unittest.main()
