"""Host samples: what the CPU does between two CUDA calls, against programs that measure it.

test/prog/host_work.py does known work. It runs in every CPython that is here.
"""
import json
import os
import unittest

from harness import EVERYTHING, ROOT, Case, prog
from journal import SAMPLE
from test_python_frames import INTERPRETERS

PROGRAM = os.path.join(ROOT, "test/prog/host_work.py")
SAMPLED = ["3.8", "3.9", "3.10", "3.11", "3.12", "3.13"]
KINDS = {"spin": "python", "generate": "python", "compress": "python", "sleep": "sleep",
         "wait": "lock", "read": "io", "collect": "gc"}
BLOCKED = ("sleep", "wait", "read")
PART_S = 0.003  # as in the program
POINTS = 5
LEAST_SAMPLES = 300
# each synchronization ends a step
SETTINGS = {**EVERYTHING, "PROF_STEP": "sync"}


class Host(Case):
    def sampled(self, python, *arguments, **settings):
        """Returns the times that the program measured, and its process in report.json."""
        run = self.profiled([python, PROGRAM, *map(str, arguments)],
                            **{**SETTINGS, **settings})
        self.assertEqual(run.status, 0, run.err)
        report = json.loads(self.tool("report", run.folder, "--json").out)
        return json.loads(run.out), report["processes"][0], run

    def repeatedly(self, check):
        """Checks with more iterations if it fails: on a busy machine samples are few and far
        between."""
        for iterations in (100, 200):
            try:
                return check(iterations)
            except AssertionError as error:
                print(f"# {iterations} iterations: {error}")
        return check(400)

    def check_kind(self, name, rows):
        total_ms = sum(row["total_ms_per_step"] for row in rows)
        right_ms = sum(row["total_ms_per_step"] for row in rows if row["kind"] == KINDS[name])
        # On a busy machine a thread that has slept waits for a CPU: it then counts as running.
        least_ms = 0.5e3 * PART_S if name in BLOCKED else 0.85 * total_ms
        self.assertGreater(right_ms, least_ms, f"{name}: {rows}")
        others_ms = sum(row["total_ms_per_step"] for row in rows
                        if row["kind"] not in (KINDS[name], "python"))
        self.assertLess(others_ms, 0.1 * total_ms, f"{name}: {rows}")

    def check_shares(self, took, process):
        all_ms = sum(row["self_ms_per_step"] for row in process["host"])
        n = 0
        for name, took_s in took.items():
            rows = [row for row in process["host"]
                    if row["function"] == name and row["file"].endswith("host_work.py")]
            seen = 100 * sum(row["total_ms_per_step"] for row in rows) / all_ms
            true = 100 * took_s / sum(took.values())
            self.assertAlmostEqual(seen, true, delta=POINTS,
                                   msg=f"{name}: {seen:.1f} % of the samples, {true:.1f} % of "
                                   f"the time")
            self.check_kind(name, rows)
            n += sum(row["samples"] for row in rows)
        self.assertGreater(n, LEAST_SAMPLES)

    def test_shares(self):
        """Each function has its share of the samples, and its kind."""
        for minor in SAMPLED:
            if minor not in INTERPRETERS:
                print(f"# no CPython {minor} here")
                continue
            version, python = INTERPRETERS[minor][0]
            with self.subTest(version=version):
                self.repeatedly(lambda n: self.check_shares(*self.sampled(python, n)[:2]))

    def check_cause(self, name, cause, iterations):
        took, process, _ = self.sampled(*self.python(), iterations, name)
        # Other programs may have the CPUs for most of the time: no cause of this program.
        waited_ms = sum(row["ms_per_step"] for row in process["idle"]
                        if row["cause"] == "contention")
        longest = next(row for row in process["idle"] if row["cause"] != "contention")
        self.assertEqual((longest["cause"], longest["function"]), (cause, name))
        # A thread that has slept may have to wait for a CPU, which counts as host code.
        least_s = PART_S if name in BLOCKED else took[name] / iterations
        self.assertGreater(longest["ms_per_step"] + waited_ms, 0.6e3 * least_s)
        self.assertTrue(longest["file"].endswith("host_work.py"))

    def test_idle_causes(self):
        """The idle time has the cause that was sampled, and the line of the function."""
        causes = {"spin": "host", "sleep": "sleep", "wait": "lock", "read": "io", "collect": "gc"}
        for name, cause in causes.items():
            with self.subTest(part=name):
                self.repeatedly(lambda n: self.check_cause(name, cause, n))

    def python(self):
        return [INTERPRETERS[minor][0][1] for minor in SAMPLED if minor in INTERPRETERS][-1:]

    def test_the_sampling_thread_keeps_no_process_alive(self):
        """The main thread leaves the process by pthread_exit."""
        for settings in ({"PROF_HOST": "off"}, {}):
            run = self.profiled([prog("ends"), "main-leaves"],
                                **{**EVERYTHING, "PROF_CUPTI": "off", **settings})
            self.assertEqual(run.status, 0, run.err)
            self.assertTrue(run.out.endswith("last thread\n"))

    def test_off(self):
        """Without samples there are no rows, no thread, and the old causes."""
        took, process, run = self.sampled(*self.python(), 50, "sleep", PROF_HOST="off")
        self.assertEqual(process["host"], [])
        journal = run.journal()
        self.assertEqual(journal.of(SAMPLE), [])
        self.assertNotIn("profrun-host", [thread.name for thread in journal.threads.values()])
        self.assertNotIn("sleep", [row["cause"] for row in process["idle"]])

    def test_rate(self):
        """PROF_HOST sets how many samples are taken per second.

        Never more are taken. On a busy machine a sample costs more, and the sampler then takes
        fewer to stay within its share of a core. But it does not know the cost before 32 samples.
        """
        for hz in (100, 500):
            short_s = []
            while not short_s or (short_s[-1] >= 1.2 / hz and len(short_s) < 5):
                took, _, run = self.sampled(*self.python(), 300, "sleep", PROF_HOST=hz)
                journal = run.journal()
                ticks = [sample.ticks for sample in journal.of(SAMPLE)]
                self.assertLess(len(ticks) / sum(took.values()), 1.2 * hz)
                gaps = sorted(b - a for a, b in zip(ticks[:31], ticks[1:32]))
                short_s.append(gaps[len(gaps) // 5] * journal.ns_per_tick() / 1e9)
            self.assertLess(short_s[-1], 1.2 / hz, f"a fifth of the gaps, at {hz} Hz: {short_s}")

    def test_only_outside_calls(self):
        """No sample lies within a call of its thread."""
        self.repeatedly(self.check_only_outside_calls)

    def check_only_outside_calls(self, iterations):
        _, _, run = self.sampled(*self.python(), iterations, "spin", PROFSIM_LAUNCH_US=2000)
        journal = run.journal()
        calls = [(c.begin, c.end) for c in journal.calls() if c.end > c.begin]
        us = 1000 / journal.ns_per_tick()
        samples = journal.of(SAMPLE)
        self.assertGreater(len(samples), 100)
        within = [s for s in samples
                  if any(begin + 50 * us < s.ticks < end - 50 * us for begin, end in calls)]
        self.assertEqual(within, [])


if __name__ == "__main__":
    unittest.main()
