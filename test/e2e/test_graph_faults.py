"""Programs with a fault inside a CUDA graph (test/graphs/*.cpp): the report names the captured
line, and promises about what the fix saves."""
import json
import os
import re
import unittest

from harness import ROOT, SIM, Case, environment, prog

SOURCES = os.path.join(ROOT, "test", "graphs")
# A graph launch begins a step.
SETTINGS = {"PROF_STEP": "graph", "STEPS": "120",
            "PROF_SCHEDULE": "skip_first=60,wait=0,warmup=2,active=24,repeat=1"}
SLOW_COPIES = {"PROFSIM_D2H_GBPS": "4"}
NEAR = 0.15  # of what the fix saves; the host's part of a step varies on a busy machine
HOST_MS = 0.5  # of the host function; on a busy machine it takes longer
TRIES = 4
UNSURE = ("unclear", "unknown")  # allowed, because other programs may disturb the run


def planted(name):
    with open(os.path.join(SOURCES, name + ".cpp"), encoding="utf-8") as file:
        return [number for number, text in enumerate(file, 1) if "PLANTED" in text]


class GraphFaults(Case):
    def measured(self, name, **settings):
        """Returns what the fix saves, in ms per step, without profrun."""
        env = environment(LD_LIBRARY_PATH=SIM, ROUNDS=5, STEPS=30, **settings)
        out = json.loads(self.execute([prog(f"graphs/{name}")], self.folder(), env).out)
        return out["slow_ms"] - out["fixed_ms"]

    def report(self, name, **settings):
        run = self.profiled([prog(f"graphs/{name}")], **SETTINGS, **settings)
        self.assertEqual(run.status, 0, run.err)
        with open(os.path.join(run.folder, "report.json"), encoding="utf-8") as file:
            process, = json.load(file)["processes"]
        return run, process

    @staticmethod
    def by_gpu_time(process):
        """Returns {line of the program: GPU ms per step}, the greatest first."""
        rows = sorted((row for row in process["lines"] if row["gpu_ms_per_step"]),
                      key=lambda row: -row["gpu_ms_per_step"])
        return {row["line"]: row["gpu_ms_per_step"] for row in rows}

    def without_line(self, run, name, line):
        done = self.tool("whatif", run.folder, "--without", f"{name}.cpp:{line}")
        self.assertEqual(done.status, 0, done.err)
        return float(re.search(r"without the whole line.* shorter by ([\d.]+) ms", done.out)[1])

    def assert_saving(self, name, **settings):
        """The replay without the planted line saves what the fix saves."""
        line = planted(name)[0]
        for _ in range(TRIES):
            run, process = self.report(name, **settings)
            saved, promised = self.measured(name, **settings), self.without_line(run, name, line)
            if abs(promised - saved) <= NEAR * saved:
                return process
        return self.fail(f"{name}: {promised} ms promised, the fix saves {saved} ms")

    def test_kernel_that_nothing_needs(self):
        process = self.assert_saving("extra_kernel")
        line, = planted("extra_kernel")
        self.assertEqual(next(iter(self.by_gpu_time(process))), line)
        self.assertIn(process["bound"]["verdict"], ("gpu", *UNSURE))

    def test_copy_that_nothing_needs(self):
        process = self.assert_saving("copy_out", **SLOW_COPIES)
        self.assertEqual(next(iter(self.by_gpu_time(process))), planted("copy_out")[0])
        self.assertIn(process["bound"]["verdict"], ("copy", *UNSURE))

    def test_chain_of_small_kernels(self):
        line, = planted("tiny_kernels")
        _, process = self.report("tiny_kernels")
        times = self.by_gpu_time(process)
        self.assertEqual(next(iter(times)), line)
        self.assertAlmostEqual(times[line], 120 * 0.004, places=3)

    def test_towers_in_one_stream(self):
        line, = planted("serial")
        _, process = self.report("serial")
        times = self.by_gpu_time(process)
        self.assertEqual(next(iter(times)), line)
        self.assertAlmostEqual(times[line], 4 * 0.16, places=3)

    def test_host_function(self):
        line, = planted("host_node")
        for _ in range(TRIES):
            _, process = self.report("host_node")
            gap = max(process["idle"], key=lambda row: row["ms_per_step"])
            self.assertEqual((gap["cause"], gap["line"]), ("graph_host", line))
            promised = [row["interval_ms"] for row in process["advice"] if row["line"] == line]
            near = [least * (1 - NEAR) <= HOST_MS <= most * (1 + NEAR) for least, most in promised]
            if any(near):
                break
        self.assertTrue(any(near), promised)
        self.assertNotEqual(process["bound"]["verdict"], "gpu")


if __name__ == "__main__":
    unittest.main()
