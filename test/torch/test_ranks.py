"""Multi-process jobs: torchrun with two and eight ranks (gloo), DataLoaders with workers by fork
and by spawn. There is one folder, with a set of files for each rank. Workers leave no files. The
report says which rank the others wait for."""
import bisect
import os
import re
import unittest

from sim_case import STEPS_OFF, SimCase, report_of
from test_torch import HERE
from journal import STEP  # noqa: E402  (its folder is known from here on)

SCHEDULE = "skip_first=20,wait=0,warmup=2,active=5,repeat=1"
ARMED = 5
SLEPT_MS = 20  # ddp.py: four samples of 5 ms in a batch of the slow rank's


class Torchrun(SimCase):
    def check(self, ranks, steps, slow):
        command = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}",
                   os.path.join(HERE, "ranks", "ddp.py"),
                   str(steps), str(slow)]
        run = self.under_profrun(command, SCHEDULE)
        self.assertEqual(run.status, 0, run.err)
        # ranks that print at the same time: the ends of their lines may come together
        said = re.findall(r"rank \d+ of \d+: \d+ steps", run.out)
        self.assertEqual(sorted(said), [f"rank {r} of {ranks}: {steps} steps"
                                        for r in range(ranks)])
        self.assertEqual(len(run.journals()), ranks, "torchrun itself has none")
        self.assertEqual(sorted(os.listdir(os.path.join(run.folder, "traces"))),
                         sorted(str(r) for r in range(ranks)))
        report = report_of(run)
        processes = {p["rank"]: p for p in report["processes"]}
        self.assertEqual(sorted(processes), list(range(ranks)))
        self.assertEqual(len({tuple(p["steps"]["recorded"]) for p in processes.values()}), 1,
                         "all ranks take the same steps")
        for rank, process in processes.items():
            self.assertLessEqual(abs(process["steps"]["count"] - steps), STEPS_OFF, rank)
            self.assertEqual(len(process["steps"]["recorded"]), ARMED)
            self.assertEqual(len(os.listdir(os.path.join(run.folder, "traces", str(rank)))), ARMED)
            self.assertEqual(set(process["self"]["losses"].values()), {0}, process["self"])
        return run, report

    def test_two_ranks_and_a_straggler(self):
        run, report = self.check(2, 60, 1)
        found = report["ranks"]["straggler"]
        self.assertEqual((found["rank"], found["phase"]), (1, "data"), report["ranks"])
        self.assertGreaterEqual(found["phase_ms"], SLEPT_MS)
        self.assertAlmostEqual(found["ms_per_step"], found["phase_ms"],
                               delta=0.25 * found["phase_ms"])
        verdicts = {p["rank"]: p["bound"]["verdict"] for p in report["processes"]}
        self.assertEqual(verdicts, {0: "collective", 1: "input"})
        self.assertIn("for rank 1: its data phase is", run.err)

    def test_a_rank_that_waits_within_its_steps(self):
        """When the rank first waits, one more step has begun than has ended, and DDP's first step
        ends unlike the others. Steps still end with the optimizer; none is a part of a step."""
        command = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2",
                   os.path.join(HERE, "ranks", "sleeper.py"), "60"]
        run = self.under_profrun(command, SCHEDULE)
        self.assertEqual(run.status, 0, run.err)
        for process in report_of(run)["processes"]:
            self.assertLessEqual(abs(process["steps"]["count"] - 60), STEPS_OFF, process["rank"])
            # each step includes the 5 ms that rank 1 sleeps
            self.assertGreater(process["baseline"]["step_ms"]["min"], 4, process["rank"])
        causes = {p["rank"]: {p["bound"]["verdict"], *p["bound"]["between"]}
                  for p in report_of(run)["processes"]}
        self.assertIn("host", causes[1])
        self.assertIn("collective", causes[0])
        self.assertNotIn("host", causes[0])  # its wait for rank 1 is no stall of its own

    def test_eight_ranks(self):
        """With few cores the ranks mostly wait for a core. The report must still name the rank that
        sleeps."""
        _, report = self.check(8, 40, 5)
        self.assertEqual([row["rank"] for row in report["ranks"]["list"]], list(range(8)))
        data_ms = {row["rank"]: row["data_ms"] for row in report["ranks"]["list"]}
        self.assertEqual(max(data_ms, key=data_ms.get), 5, data_ms)
        waits_ms = {row["rank"]: row["collective_ms"] for row in report["ranks"]["list"]}
        self.assertEqual(min(waits_ms, key=waits_ms.get), 5, waits_ms)
        self.assertEqual((report["ranks"]["straggler"]["rank"],
                          report["ranks"]["straggler"]["phase"]), (5, "data"))


class EvaluatesFirst(SimCase):
    """The first steps found are those of the evaluation. Once all ranks train, steps begin anew, at
    the same step in all ranks, whatever number each rank gives it."""
    BATCHES, STEPS = 400, 900

    def iterations(self, run, rank, marks):
        """The program's own number of each recorded step."""
        with open(f"{marks}.{rank}") as file:
            began = [int(line) for line in file]
        (journal,) = [j for j in run.journals() if j.info["rank"] == str(rank)]
        steps = [r for r in journal.of(STEP) if r.event == "begin" and r.number and r.action]
        return [bisect.bisect(began, journal.ns(r.ticks)) - 1 for r in steps]

    def check(self, who):
        marks = os.path.join(self.base, f"marks-{who}")
        command = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2",
                   os.path.join(HERE, "ranks", "evaluates.py"),
                   who, str(self.BATCHES), str(self.STEPS), marks]
        run = self.under_profrun(command, SCHEDULE)
        self.assertEqual(run.status, 0, run.err)
        found = [self.iterations(run, rank, marks) for rank in range(2)]
        # those of the evaluation, or of what was taken for more of it, come before
        found = [iterations[-(2 + ARMED):] for iterations in found]
        self.assertEqual(found[0], found[1], "both record the same steps")
        self.assertEqual(found[0], list(range(found[0][0], found[0][0] + 2 + ARMED)))
        self.assertGreaterEqual(found[0][0], 0, "of the training")
        return {p["rank"]: p["steps"] for p in report_of(run)["processes"]}

    def check_training(self, steps):
        """A rank that was unsure of the evaluation's steps when the training began has recorded
        none of them."""
        if "trains_from" in steps:
            self.assertGreaterEqual(steps["trains_from"], self.BATCHES - 3)
        else:
            self.assertAlmostEqual(steps["count"], self.STEPS, delta=3)

    def test_all_ranks_evaluate(self):
        for steps in self.check("all").values():
            self.check_training(steps)

    def test_one_rank_evaluates(self):
        steps = self.check("first")
        self.check_training(steps[0])
        self.assertNotIn("trains_from", steps[1])


class LoaderWorkers(SimCase):
    def check(self, how):
        command = [os.path.join(HERE, "ranks", "loader.py"), how, "40"]
        alone = self.alone(command)
        run = self.under_profrun(command, SCHEDULE)
        self.assertEqual((run.status, run.out, run.other_err()), (0, alone.out, alone.err))
        process, = run.json["processes"]
        self.assertLessEqual(abs(process["steps"]["count"] - 40), STEPS_OFF)
        self.assertEqual(len(run.journals()), 1, "workers never call CUDA")
        self.assertEqual(len(run.traces()), ARMED)
        said = {line.split(":")[0] for line in run.own_lines()}
        self.assertEqual(said, {"profrun"}, "no line of any process but the launcher's")
        self.assertEqual(len(report_of(run)["processes"]), 1)

    def test_fork(self):
        self.check("fork")

    def test_spawn(self):
        self.check("spawn")


if __name__ == "__main__":
    unittest.main()
