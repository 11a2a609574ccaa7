"""HTA and TensorBoard's plugin compute profrun's figures from the Kineto traces that it writes.

They come from PyPI: `scripts/setup readers` installs them into build/readers-venv (200 MB). Without
it the tests are skipped, and say so.
"""
import json
import os
import subprocess
import unittest

import kineto
from harness import BUILD, Case, script

PYTHON = os.path.join(BUILD, "readers-venv", "bin", "python")
PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "kineto_readers.py")
STEPS = list(range(20, 28))


def read(*arguments):
    made = subprocess.run([PYTHON, PROGRAM, *arguments], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False)
    assert made.returncode == 0, made.stderr
    return json.loads(made.stdout.splitlines()[-1])


@unittest.skipUnless(os.path.exists(PYTHON),
                     "no build/readers-venv: `scripts/setup readers` makes it")
class Readers(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        case = cls()
        run = case.profiled_on_schedule(
            script("demo.py"), options=("--format", "kineto"), PROF_OPENING="off",
            PROF_SCHEDULE="skip_first=20,wait=0,warmup=0,active=8,repeat=1")
        report = case.tool("report", "--json", run.folder)
        cls.ours = json.loads(report.out)["processes"][0]
        cls.theirs = read(os.path.join(run.folder, "kineto"))

    def test_every_analysis_runs(self):
        """Without any operator of PyTorch, HTA looks for a column that it has not made."""
        failed = self.theirs["failed"]
        self.assertEqual(failed.pop("HTA: operators", None), "KeyError: 'thread_id'")
        self.assertEqual(failed, {})

    def test_hta_s_steps_and_kernels(self):
        """HTA rounds each time to a microsecond, so a sum of n times may differ by n."""
        hta = self.theirs["hta"]
        self.assertEqual(hta["steps"], STEPS)
        ours = {k["name"]: (k["per_step"] * len(STEPS), k["gpu_ms_per_step"] * len(STEPS) * 1000)
                for k in self.ours["kernels"]}
        theirs = {k["name"]: k["sum (us)"] for k in hta["kernels"]
                  if k["kernel_type"] == "COMPUTATION"}
        self.assertEqual(theirs.keys(), ours.keys())
        for name, (n, us) in ours.items():
            self.assertAlmostEqual(theirs[name], us, delta=2 * n, msg=name)

    def test_hta_s_busy_time(self):
        (row,) = self.theirs["hta"]["temporal"]
        busy_us = row["kernel_time(us)"] - row["idle_time(us)"]
        ours_us = self.ours["gpu"][0]["busy_ms_per_step"] * len(STEPS) * 1000
        n = self.ours["gpu"][0]["kernels_per_step"] * len(STEPS)
        self.assertAlmostEqual(busy_us, ours_us, delta=2 * n)

    def test_hta_s_launches_are_all_of_them(self):
        """HTA knows the launches of the runtime and cuLaunchKernel, and asynchronous copies."""
        launches = self.theirs["hta"]["launches"]
        self.assertGreaterEqual(len(launches), self.ours["completeness"]["launches"])
        self.assertTrue(self.theirs["hta"]["critical path"]["done"])

    def test_the_plugin_s_steps_and_kernels(self):
        (t,) = self.theirs["plugin"]
        self.assertEqual(t["steps"], [str(step) for step in STEPS])
        ours = {k["name"]: [k["per_step"] * len(STEPS),
                            k["gpu_ms_per_step"] * len(STEPS) * 1000]
                for k in self.ours["kernels"]}
        self.assertEqual(t["kernels"].keys(), ours.keys())
        for name, (n, us) in ours.items():
            self.assertEqual(t["kernels"][name][0], n)
            self.assertAlmostEqual(t["kernels"][name][1], us, delta=1 + 0.01 * n)
        kernel_us = sum(costs[0] for costs in t["costs"])
        self.assertAlmostEqual(kernel_us, sum(us for _, us in ours.values()), delta=20)


@unittest.skipUnless(os.path.exists(PYTHON),
                     "no build/readers-venv: `scripts/setup readers` makes it")
class Ranks(Case):
    def test_hta_compares_the_ranks_of_a_run(self):
        """Rank 1 sleeps before each collective, so the others wait in theirs."""
        run = self.profiled([*script("ranks_job.py"), "60", "3", "1", "20"],
                            options=("--format", "kineto"))
        theirs = read(os.path.join(run.folder, "kineto"), "--ranks")
        self.assertEqual(theirs["ranks"], [0, 1, 2])
        # HTA takes a step's last long kernel, in which nobody waits here: any rank may be last
        self.assertEqual(len(theirs["stragglers"]), 1)
        self.assertEqual(sorted(theirs["overlap"]), ["0", "1", "2"])
        # the file has one window of steps, the run has several
        report = json.loads(self.tool("report", "--json", os.path.join(run.folder, "kineto")).out)
        for p in report["processes"]:
            n_steps = len(p["steps"]["recorded"])
            ours_us = sum(c["gpu_ms_per_step"] for c in p["collectives"]) * 1000 * n_steps
            self.assertAlmostEqual(theirs["communication_us"][str(p["rank"])], ours_us, delta=20)

    def test_hta_finds_the_same_straggler(self):
        """Ranks that meet once per step. HTA takes the rank whose kernel begins last."""
        for late_rank in (0, 2):
            folder = self.folder() + str(late_rank)
            os.makedirs(folder)
            for rank in range(3):
                t = kineto.Trace(rank=rank)
                for i in range(6):
                    at, own = 10000 + 10000 * i, 3000 if rank == late_rank else 500 * rank
                    t.step(i, at, 10000)
                    t.launch("gemm", at + 20, at + 100, 400 + own)
                    t.collective("allreduce", at + 200 + own, at + 600 + own, at + 4000, "0",
                                 "[0, 1, 2]", i)
                t.write(os.path.join(folder, f"rank{rank}.json.gz"))
            with self.subTest(late_rank=late_rank):
                self.assertEqual(read(folder, "--ranks")["stragglers"], [late_rank])
                ranks = json.loads(self.tool("report", "--json", folder).out)["ranks"]
                late = {row["rank"]: row["late_ms"] for row in ranks["list"]}
                self.assertEqual(max(late, key=late.get), late_rank)
                self.assertEqual(ranks["straggler"]["rank"], late_rank)


if __name__ == "__main__":
    unittest.main()
