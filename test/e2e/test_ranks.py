"""Several ranks of one job: which are profiled, and that all of them record the same steps.

They do so regardless of when each rank detects its steps.
"""
import os
import re
import subprocess
import unittest

from harness import NO_OPENING, PACED, Case, Run, journals, prog
from journal import STEP
from test_regime import COUNTING

RECORD = 3  # enum sched_action of core/runtime/kinds.h
# RANK and LOCAL_WORLD_SIZE as torchrun sets them; each rank waits `delay` seconds before it starts.
JOB = ('for spec in {specs}; do (sleep ${{spec#*:}}; RANK=${{spec%:*}} LOCAL_WORLD_SIZE={size} '
       'exec {command}) & done; wait')


class Ranks(Case):
    SETTINGS = NO_OPENING

    def job(self, specs, command, size=None, **settings):
        """Runs a job. specs: RANK:DELAY of each rank; size: the value of LOCAL_WORLD_SIZE."""
        text = JOB.format(specs=" ".join(specs), size=size or len(specs),
                          command=" ".join(map(str, command)))
        return self.profiled(["sh", "-c", text], **settings)

    def armed(self, run):
        """Returns the recorded steps by rank."""
        return {int(p["rank"]): p["steps"]["recorded"] for p in run.json["processes"]}

    def test_listed_ranks_only(self):
        run = self.job(["0:0", "1:0", "2:0", "3:0"], [prog("loop"), 20, "plain"],
                       PROF_RANKS="0,2-3", PROF_STEP="kernel:first", PROF_LOG="info")
        self.assertEqual(run.status, 0, run.err)
        self.assertEqual(sorted(self.armed(run)), [0, 2, 3])
        self.assertEqual(run.json["ranks_left_out"], [1])
        self.assertEqual(len(run.journals()), 3)
        said = [line for line in run.err.splitlines()
                if "PROF_RANKS=0,2-3 does not include it" in line]
        self.assertEqual(len(said), 1, run.err)
        self.assertIn("rank 1 (from RANK) is not profiled", said[0])
        self.assertIn("profrun: rank 1 not profiled (PROF_RANKS=0,2-3)", run.err)
        self.assertEqual(sorted(os.listdir(os.path.join(run.folder, "traces"))), ["0", "2", "3"])

    def test_no_rank_of_this_machine(self):
        run = self.job(["0:0", "1:0"], [prog("loop"), 20, "plain"], PROF_RANKS="8-15")
        self.assertEqual((run.status, run.journals()), (0, []), run.err)
        self.assertEqual(run.json["ranks_left_out"], [0, 1])

    def test_a_process_without_a_rank_is_profiled(self):
        run = self.profiled([prog("loop"), "20", "plain"], PROF_RANKS="3", PROF_STEP="kernel:first")
        self.assertEqual(len(run.journals()), 1, run.err)

    def test_an_excluded_rank_makes_no_folder(self):
        """Even without the launcher."""
        run = self.preloaded([prog("loop"), "20", "plain"], PROF_OUT="", PROF_RANKS="1", RANK="0")
        self.assertEqual((run.status, run.out), (0, "20 steps\n"), run.err)
        self.assertEqual([name for name in os.listdir(self.base) if name.startswith("profrun-")],
                         [])

    def test_bad_list(self):
        run = self.profiled([prog("loop"), "20", "plain"], PROF_RANKS="0,two", RANK="1",
                            PROF_STEP="kernel:first")
        self.assertEqual([line for line in run.own_lines() if "PROF_RANKS" in line],
                         ["profrun: PROF_RANKS: 'two' is not a rank; expected all or ranks from "
                          "0 on, for example 0,3-5; using the default all"])
        self.assertEqual(len(run.journals()), 1)

    def same_steps(self, specs, steps, **settings):
        run = self.job(specs, [prog("loop"), steps, "plain", 500], **PACED, **settings)
        armed = self.armed(run)
        start = run.json["ranks_start"]["step"]
        self.assertEqual(sorted(armed), list(range(len(specs))), run.err)
        self.assertEqual(armed, {rank: [start + 2, start + 3, start + 4] for rank in armed},
                         run.json["ranks_start"])
        return run

    def test_same_steps(self):
        self.same_steps(["0:0", "1:0"], 500)

    def test_same_steps_of_late_ranks(self):
        run = self.same_steps(["0:0.3", "1:0", "2:0.1", "3:0.4"], 1000)
        self.assertEqual((run.json["ranks_start"]["ranks"], run.json["ranks_start"]["of"]), (4, 4))

    def test_an_excluded_rank_is_not_awaited(self):
        run = self.job(["0:0", "1:0"], [prog("loop"), 500, "plain", 500], PROF_RANKS="1", **PACED)
        self.assertEqual(self.armed(run),
                         {1: [run.json["ranks_start"]["step"] + k for k in (2, 3, 4)]})

    def test_a_rank_that_ended_is_not_awaited(self):
        """Rank 1 is over before its steps are known."""
        text = (
            f"RANK=1 LOCAL_WORLD_SIZE=2 {prog('loop')} 2 plain; "
            f"RANK=0 LOCAL_WORLD_SIZE=2 {prog('loop')} 500 plain 500"
        )
        run = self.profiled(["sh", "-c", text], **PACED)
        start = run.json["ranks_start"]
        self.assertEqual(start["ranks"], 2)
        self.assertEqual(self.armed(run)[0], [start["step"] + k for k in (2, 3, 4)])

    def test_a_rank_that_ended_before_the_other_knew_its_steps(self):
        """No schedule for 60 steps would have begun sooner."""
        one = "RANK={} LOCAL_WORLD_SIZE=2 " + prog("loop") + " 60 plain 5000; "
        run = self.profiled(["sh", "-c", one.format(0) + one.format(1)], **PACED)
        remark, = [p["diagnostic"] for p in run.json["processes"] if p["rank"] == "0"]
        self.assertIn("the run had 60 steps, and the first step to record was 12 (counted from 0), "
                      "but steps were detected too late to record it (ranks start together",
                      remark)
        self.assertTrue(remark.endswith("PROF_SCHEDULE=always"), remark)
        self.assertNotIn("skip_first", remark)

    def test_time_slices_of_ranks_begin_together(self):
        """Two programs that never repeat: learning ended without a step, 1.6 s apart."""
        odd = "(sleep {}; echo odd {} | RANK={} LOCAL_WORLD_SIZE=2 {}) & "
        run = self.profiled(["sh", "-c", odd.format(0, 8500, 0, prog("steady"))
                                         + odd.format(1.6, 6500, 1, prog("steady")) + "wait"],
                            PROF_LEARN_S=1,
                            PROF_SCHEDULE="skip_first=1,wait=0,warmup=0,active=2,repeat=1")
        self.assertEqual({p["steps"]["detector"] for p in run.json["processes"]}, {"slices"},
                         run.err)
        begun = []
        for journal in run.journals():
            slices = sorted((r for r in journal.of(STEP) if r.event == "begin"),
                            key=lambda r: r.ticks)
            begun.append([journal.ns(r.ticks) / 1e9 for r in slices if r.action >= RECORD])
        self.assertEqual([len(times) for times in begun], [2, 2], begun)
        for one, other in zip(*begun):
            # with the first launch of a whole second; the process may get no processor just then
            self.assertAlmostEqual(one, other, delta=0.5)
            self.assertLess(max(one % 1, other % 1), 0.5)

    def asked_for_two(self, specs, steps, is_ready, *options):
        """Returns the steps that `trigger` prints once both ranks are ready, and the ended run."""
        text = JOB.format(specs=specs, size=2, command=f"{prog('loop')} {steps} plain 500")
        line, folder, env = self.launched(
            ["sh", "-c", text], ["--schedule", "off", *options], **PACED
        )
        with subprocess.Popen(
            line,
            env=env,
            cwd=self.base,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as job:
            self.eventually(
                "two ranks are ready",
                lambda: [is_ready(journal) for journal in journals(folder)] == [True, True],
            )
            asked = self.tool("trigger", folder, "--steps", "2")
            _, err = job.communicate()
        windows = [(int(first), int(last))
                   for first, last in re.findall(r"steps (\d+) to (\d+) are recorded", asked.out)]
        self.assertEqual(len(windows), 2, asked.out + asked.err)
        return windows, Run(0, "", err, folder)

    def test_trigger_names_the_same_steps(self):
        """Of ranks that are some hundred steps apart."""
        windows, run = self.asked_for_two(
            "0:0 1:0.2", 5000, lambda journal: journal.step_state in COUNTING
        )
        self.assertEqual(windows[0], windows[1])
        self.assertEqual(self.armed(run), {0: list(windows[0]), 1: list(windows[0])})

    def test_trigger_of_steps_of_time(self):
        """Their numbers tell how long a rank has run: the same ones would come at other times."""
        windows, run = self.asked_for_two(
            "0:0 1:1.2", 5000, lambda journal: journal.current_step > 0, "--step", "time:100"
        )
        first, second = sorted(journal.first_point[1] for journal in run.journals())
        self.assertGreater(second - first, 1e9)
        begun = [min(journal.ns(r.ticks) for r in journal.of(STEP)
                     if r.event == "begin" and r.action >= RECORD) for journal in run.journals()]
        # a rank may get no processor for a while, and then begins its steps late
        self.assertLess(abs(begun[0] - begun[1]), (second - first) / 2)
        self.assertNotEqual(*windows)

    def test_two_jobs_in_one_run(self):
        """The ranks of the first job do not count in the second job: neither its start, nor that
        they have ended."""
        once = "for r in 0 1; do RANK=$r LOCAL_WORLD_SIZE=2 {} {} plain 500 & done; wait; "
        run = self.profiled(
            ["sh", "-c", once.format(prog("loop"), 800) + once.format(prog("loop"), 500)], **PACED
        )
        by_rank = [(p["rank"], p["steps"]["recorded"]) for p in run.json["processes"]]
        self.assertEqual(len(by_rank), 4, run.err)
        for _, armed in by_rank:
            self.assertEqual(len(armed), 3, by_rank)
        self.assertEqual(by_rank[0][1], by_rank[1][1])
        self.assertEqual(by_rank[2][1], by_rank[3][1])


if __name__ == "__main__":
    unittest.main()
