"""Triggers (PROF_TRIGGER, profrun.sh trigger) and the flight recorder (PROF_SCHEDULE=flight=K).

The program runs steps on command.
"""
import json
import os
import re
import signal
import subprocess
import time
import unittest

from harness import LAUNCHER, LIBRARY, NO_OPENING, SLOWER, TOOL, Case, Run, environment, prog
from trace import Trace

STEADY = "kernel:first"  # detects its steps at once


class Live:
    """A run of test/prog/steady in progress."""

    def __init__(self, case, line, folder, env):
        self.folder = folder
        self.errors = open(folder + ".stderr", "w+")
        self.child = subprocess.Popen(line, env=env, text=True, cwd=case.base,
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      stderr=self.errors, start_new_session=True)
        case.addCleanup(self.close)
        self.expect("ready")

    def expect(self, word):
        line = self.child.stdout.readline().strip()
        assert line.startswith(word), f"{line!r} instead of {word}; stderr: {self.err()}"
        return line

    def send(self, command):
        self.child.stdin.write(f"{command}\n")
        self.child.stdin.flush()

    def do(self, command):
        """Sends a command; returns the answer before `done`, if any."""
        self.send(command)
        line = self.child.stdout.readline().strip()
        if line.startswith("done"):
            return ""
        self.expect("done")
        return line

    def go(self, pause_us=200):
        self.send(f"go {pause_us}")
        self.expect("going")

    def stop(self):
        self.send("0")
        self.expect("done")
        self.expect("done")

    def err(self):
        self.errors.seek(0)
        return self.errors.read()

    def end(self):
        """Ends the program; returns the finished run."""
        if not self.child.stdin.closed:
            self.child.stdin.close()
        out = self.child.stdout.read()
        status = self.child.wait(60)
        return Run(status, out, self.err(), self.folder)

    def close(self):
        if self.child.poll() is None:
            os.killpg(self.child.pid, signal.SIGKILL)
            self.child.wait()
        for file in (self.child.stdin, self.child.stdout, self.errors):
            file.close()

    def pid(self):
        """Returns the pid of the application, which must have a journal."""
        (name,) = os.listdir(os.path.join(self.folder, "journal"))
        return int(name.split(".")[0])


class TriggerCase(Case):
    def start(self, schedule, step=STEADY, options=(), **settings):
        if step:
            settings["PROF_STEP"] = step
        line, folder, env = self.launched(prog("steady"), ["--schedule", schedule, *options],
                                          **settings)
        return Live(self, line, folder, env)

    def facts(self, run):
        (process,) = run.json["processes"]
        return {**process, **process["steps"]}

    def eventually_on_disk(self, live, steps):
        run = Run(0, "", "", live.folder)
        self.eventually(f"traces {steps} (there are {run.trace_steps()})",
                        lambda: set(steps) <= set(run.trace_steps()))

    def check_trigger(self, run, cause, n):
        """Checks the one trigger of a run: n complete steps on disk, from the step it named."""
        (trigger,) = self.facts(run)["triggers"]
        self.assertEqual((trigger["by"], trigger["n"]), (cause, n))
        self.assertEqual(run.trace_steps(), list(range(trigger["first"], trigger["first"] + n)),
                         run.err)
        for path in run.traces():
            kernels = [s.name for s in Trace(path).on("Stream") if s.name.endswith("us")]
            self.assertEqual(sorted(kernels),
                             sorted(["first_10us", "spin_5us", "spin_5us", "last_15us"]))


class Triggers(TriggerCase):
    def trigger(self, *arguments):
        run = self.tool("trigger", *[str(a) for a in arguments])
        return run

    def test_by_folder(self):
        live = self.start("off")
        live.do(5)
        live.go()
        asked = self.trigger(live.folder)
        self.assertEqual((asked.status, asked.err), (0, ""))
        said = re.fullmatch(r"process (\d+): steps (\d+) to (\d+) are recorded, after 2 "
                            r"warm-up steps; traces go to (.*)/traces\n",
                            asked.out)
        self.assertTrue(said, asked.out)
        self.assertEqual((int(said[1]), said[4]), (live.pid(), live.folder))
        first = int(said[2])
        self.assertEqual(int(said[3]), first + 2)
        self.eventually_on_disk(live, [first, first + 1, first + 2])
        live.stop()
        self.check_trigger(live.end(), "trigger", 3)

    def test_by_pid_and_number_of_steps(self):
        for pid in ("application", "launcher"):
            with self.subTest(pid):
                live = self.start("skip_first=1,warmup=0,active=1,repeat=1")
                live.do(5)
                live.go()
                asked = self.trigger(live.pid() if pid == "application" else live.child.pid,
                                     "--steps", 7)
                self.assertEqual(asked.status, 0, asked.err)
                live.stop()
                live.do(20)
                run = live.end()
                (trigger,) = self.facts(run)["triggers"]
                self.assertEqual(trigger["n"], 7)
                self.assertEqual(run.trace_steps(),
                                 [1] + list(range(trigger["first"], trigger["first"] + 7)))
                self.assertIn(f"steps {trigger['first']} to {trigger['first'] + 6} are recorded; ",
                              asked.out)

    def test_by_signal(self):
        live = self.start("off", PROF_TRIGGER="signal")
        live.do(5)
        os.kill(live.pid(), signal.SIGUSR2)
        live.do(20)
        self.assertEqual(live.end().status, 0)
        self.check_trigger(Run(0, "", "", live.folder), "signal", 3)
        self.assertEqual(Run(0, "", "", live.folder).trace_steps(), [7, 8, 9])

    def test_by_a_slow_step(self):
        live = self.start("off", PROF_TRIGGER="slow:1000")
        live.do(20)
        live.do("slow 500")
        live.do(20)
        run = live.end()
        slow = [t for t in self.facts(run)["triggers"]]
        self.assertTrue(slow and all(t["by"] == "slow step" for t in slow), slow)
        # Step 20 was slow, 21 and 22 are warm-up. Step 19 lasts until this test asks for step 20,
        # which may take as long on a busy machine.
        (first,) = {t["first"] for t in slow} & {22, 23}
        self.assertLessEqual({first, first + 1, first + 2}, set(run.trace_steps()))

    def test_auto_detected_steps(self):
        live = self.start("off", step=None)
        live.do(5)
        live.go(1000)
        self.assertIn(" are recorded", self.trigger(live.folder, "--steps", 2).out)
        live.stop()
        live.do(20)
        run = live.end()
        self.check_trigger(run, "trigger", 2)

    def test_before_any_step_is_known(self):
        live = self.start("off", step=None)
        live.send("odd 4000")
        asked = self.trigger(live.folder, "--steps", 2)
        self.assertEqual(asked.status, 0, asked.err)
        self.assertIn(": no steps detected yet: time slices ", asked.out)
        live.expect("done")
        run = live.end()
        (trigger,) = self.facts(run)["triggers"]
        numbers = [trigger["first"], trigger["first"] + 1]
        self.assertEqual(run.trace_steps(), numbers)
        for path in run.traces():
            (step,) = [s for s in Trace(path).slices if s.name.startswith("step ")]
            self.assertLess(50e6, step.end - step.time)

    def test_again_and_again(self):
        live = self.start("off", PROF_TRIGGER="signal")
        live.do(5)
        for _ in range(5):
            os.kill(live.pid(), signal.SIGUSR2)
            live.do(10)
        run = live.end()
        self.assertEqual([t["first"] for t in self.facts(run)["triggers"]], [7, 17, 27, 37, 47])
        self.assertEqual(run.trace_steps(),
                         [s for first in (7, 17, 27, 37, 47) for s in range(first, first + 3)])

    def test_the_application_handles_the_signal(self):
        live = self.start("off", PROF_TRIGGER="signal")
        live.do("handler")
        live.do(300)
        os.kill(live.pid(), signal.SIGUSR2)
        live.do(10)
        self.assertIn("signals 1", live.do("state"))
        live.do(300)
        run = live.end()
        self.assertEqual(run.trace_steps(), [])
        self.assertEqual(run.err.count("the application has replaced the SIGUSR2 handler"), 1,
                         run.err)

    def test_nothing_listens(self):
        live = self.start("off", PROF_TRIGGER="signal")
        asked = self.trigger(live.folder)
        self.assertEqual((asked.status, asked.out), (1, ""))
        self.assertIn(" cannot be triggered: its PROF_TRIGGER does not include file; it includes "
                      "signal, so use kill -USR2",
                      asked.err)

    def test_no_step_begins(self):
        live = self.start("off")
        live.do(5)
        asked = self.trigger(live.folder)
        self.assertEqual(asked.status, 0)
        self.assertIn("the request was sent, but within 2 s no new step began", asked.out)
        live.do(20)
        run = live.end()
        self.assertEqual(run.trace_steps(), [7, 8, 9])

    def test_without_a_collector(self):
        folder = self.folder()
        settings = {"LD_PRELOAD": LIBRARY, "PROF_OUT": folder, "PROF_SCHEDULE": "off",
                    "PROF_TRIGGER": "file", "PROF_STEP": STEADY}
        live = Live(self, [prog("steady")], folder, environment(**settings))
        live.do(5)
        live.go()
        asked = self.trigger(live.pid())
        self.assertEqual(asked.status, 1)
        self.assertIn("no traces are written, because its collector has ended; start another with "
                      f"`profrun collect {folder} &`",
                      asked.err)
        live.stop()
        live.do(20)
        live.end()
        self.assertEqual(self.tool("export", folder, "--format", "perfetto").status, 0)
        self.assertEqual(len(Run(0, "", "", folder).trace_steps()), 3)

    def test_nothing_to_trigger(self):
        live = self.start("off")
        live.do(5)
        run = live.end()
        cases = (([run.folder], 1, "the run has ended"), ([os.getpid()], 1, "is not profiled"),
                 (["999999999"], 1, "there is no process 999999999"),
                 (["/nonexistent"], 1, "no such run"), ([self.base], 1, "not the folder of a run"),
                 ([run.folder, "--steps", "0"], 2, "--steps takes a number from 1"),
                 ([run.folder, "--steps"], 2, "needs a number"),
                 ([run.folder, "--now"], 2, "no option '--now'"),
                 ([run.folder, "2"], 2, "got '2' too"))
        for arguments, status, text in cases:
            with self.subTest(arguments):
                asked = self.trigger(*arguments)
                self.assertEqual((asked.status, asked.out), (status, ""))
                self.assertIn(text, asked.err)
                self.assertEqual(len(asked.err.splitlines()), 1)

    def test_before_the_first_cuda_call(self):
        line, folder, env = self.launched("cat")
        with subprocess.Popen(line, env=env, cwd=self.base, stdin=subprocess.PIPE,
                              stdout=subprocess.DEVNULL) as job:
            self.eventually("run.json", lambda: os.path.exists(os.path.join(folder, "run.json")))
            asked = self.trigger(folder)
            job.communicate(b"")
        self.assertEqual((asked.status, asked.out), (1, ""))
        self.assertIn("no process of this run has called CUDA, so there is no journal/", asked.err)

    def test_bad_values(self):
        for value, text in (("sgnal", "(did you mean signal?)"),
                            ("slow:x", "expected a factor from 1.1 to 1000"),
                            ("none,file", "none cannot be combined"),
                            ("slow", "slow needs a factor: slow:FACTOR, for example slow:3")):
            with self.subTest(value):
                run = self.profiled([prog("loop"), "5"], PROF_TRIGGER=value)
                (line,) = [line for line in run.err.splitlines() if "PROF_TRIGGER" in line]
                self.assertIn(text, line)
                self.assertIn("using the default file", line)
                self.assertEqual(run.status, 0)


class Flight(TriggerCase):
    def check_kept(self, run, *kept):
        """Checks (why, first, last) of each batch, and that all of them are on disk."""
        self.assertEqual([(k["why"], k["first"], k["last"]) for k in self.facts(run)["kept"]],
                         list(kept), run.err)
        self.assertEqual(run.trace_steps(),
                         sorted(s for _, first, last in kept for s in range(first, last + 1)))

    def test_exit(self):
        live = self.start("flight=4")
        live.do(50)
        run = live.end()
        self.check_kept(run, ("exit", 46, 49))
        for path in run.traces():
            kernels = [s.name for s in Trace(path).on("Stream") if s.name.endswith("us")]
            self.assertEqual(kernels, ["first_10us", "spin_5us", "spin_5us", "last_15us"])

    def test_exit_with_auto_detected_steps(self):
        live = self.start("flight=4", step=None)
        live.do(200)
        self.assertEqual(len(live.end().trace_steps()), 4)

    def test_crash(self):
        for how, number in (("crash", signal.SIGSEGV), ("abort", signal.SIGABRT)):
            with self.subTest(how):
                live = self.start("flight=4")
                live.do(50)
                live.go()
                live.stop()
                live.send(how)
                run = live.end()
                self.assertEqual(run.status, -number, "the launcher dies as the application did")
                (kept,) = self.facts(run)["kept"]
                self.assertEqual((kept["why"], kept["n"]), ("crash", 4))
                self.assertEqual(len(run.trace_steps()), 4)
                died = (f"Ended by signal {number.value} ({signal.strsignal(number)}), after step "
                        f"{self.facts(run)['last']} began")
                self.assertEqual(" ".join(run.err.split()).count(died), 1, run.err)
                with open(os.path.join(run.folder, "report.txt")) as file:
                    self.assertIn(died, " ".join(file.read().split()))
                self.assertIn(died, " ".join(self.tool("report", run.folder).out.split()))

    def test_kill(self):
        live = self.start("flight=4")
        live.do(50)
        live.go()
        os.kill(live.pid(), signal.SIGKILL)
        run = live.end()
        (kept,) = self.facts(run)["kept"]
        self.assertEqual((kept["why"], kept["n"]), ("crash", 4))

    def test_trigger(self):
        live = self.start("flight=4,active=2")
        live.do(50)
        live.go()
        asked = self.tool("trigger", live.folder)
        self.assertIn("the steps kept by the flight recorder are written, and the next 2; ",
                      asked.out)
        live.stop()
        total = int(live.do(10) or 0)  # on a busy machine, it may have made no step since
        run = live.end()
        (trigger,) = self.facts(run)["triggers"]
        first = trigger["first"]
        batches = [(k["why"], k["first"], k["last"]) for k in self.facts(run)["kept"]]
        self.assertEqual(batches[0], ("trigger", first - 4, first + 1), total)
        self.assertEqual([why for why, _, _ in batches], ["trigger", "exit"])

    def test_trigger_of_a_program_that_hangs(self):
        """The answer says what happens: no step begins, and the kept steps are written."""
        live = self.start("flight=4")
        live.do(50)
        asked = self.tool("trigger", live.folder)
        self.assertIn("no new step began; the steps kept by the flight recorder are written, and "
                      "traces go to ",
                      asked.out)
        self.eventually_on_disk(live, [45, 46, 47, 48])
        live.end()

    def test_signal_to_a_program_that_hangs(self):
        """It begins no more steps. The kept steps are written anyway, while it hangs."""
        live = self.start("flight=4", PROF_TRIGGER="signal")
        live.do(50)
        os.kill(live.pid(), signal.SIGUSR2)
        self.eventually_on_disk(live, [45, 46, 47, 48])
        live.do(10)
        run = live.end()
        self.assertEqual([k["why"] for k in self.facts(run)["kept"]], ["signal", "exit"])

    def test_slow_step(self):
        """The slow step itself is among the written ones."""
        live = self.start("flight=3", PROF_TRIGGER="slow:1000")
        live.do(30)
        live.do("slow 500")
        live.do(30)
        run = live.end()
        batches = [(k["why"], k["first"], k["last"]) for k in self.facts(run)["kept"]]
        self.assertIn(("slow step", 30), [(why, last) for why, _, last in batches])
        (slow,) = [p for p in run.traces() if p.endswith("/step-30.pftrace.gz")]
        (step,) = [s for s in Trace(slow).slices if s.name == "step 30"]
        self.assertGreater(step.end - step.time, 500e6)

    def test_report_says_why(self):
        live = self.start("flight=4")
        live.do(50)
        run = live.end()
        self.assertIn("kept by the flight recorder: exit (steps 46-49)", run.err)
        self.assertIn("kept by the flight recorder: exit (steps 46-49)",
                      self.tool("report", run.folder).out)

    def test_last_step_is_in_no_mean(self):
        """The last step lacks the pause that follows the others' work: it is shown but is not in
        the mean."""
        live = self.start("flight=4")
        live.go(pause_us=20000)
        time.sleep(1)
        live.stop()
        run = live.end()
        (report,) = json.loads(self.tool("report", run.folder, "--json").out)["processes"]
        self.assertEqual(len(report["steps"]["recorded"]), 4)
        self.assertEqual(len(run.traces()), 4)
        self.assertGreater(report["replay"]["measured_ms"], 20)
        (gpu,) = report["gpu"]
        self.assertGreater(gpu["busy_ms_per_step"] + gpu["idle_ms_per_step"], 20)

    def test_export(self):
        """The journal alone gives the same steps."""
        live = self.start("flight=4", PROF_TRIGGER="signal")
        live.do(20)
        os.kill(live.pid(), signal.SIGUSR2)
        live.do(20)
        run = live.end()
        again = self.folder()
        self.assertEqual(
            self.tool("export", run.folder, "--format", "perfetto", "-o", again).status, 0)
        self.assertEqual(
            Run(0, "", "", again).paths("*/*.pftrace.gz")
            and sorted(os.path.basename(p) for p in Run(0, "", "", again).paths("*/*.pftrace.gz")),
            sorted(os.path.basename(p) for p in run.traces()))

    def test_bounded_by_the_buffer(self):
        """Steps that do not fit are discarded, which is reported."""
        live = self.start("flight=1000000", step="time:50", PROF_BUFFER_MB="8")
        live.do(60000)
        run = live.end()
        kept = self.facts(run)["kept"]  # more than one if a busy machine's collector was late
        self.assertGreater(kept[0]["first"], 0)
        self.assertIn("has room for fewer steps", run.err)

    def test_memory_is_bounded(self):
        live = self.start("flight=4", PROF_BUFFER_MB="8")
        for _ in range(30):
            began = time.monotonic()
            live.do(1000)
            # On a loaded machine the collector needs time, too.
            time.sleep(SLOWER * max(0.05, 4 * (time.monotonic() - began)))
        run = live.end()
        self.assertEqual(self.facts(run)["losses"]["dropped"], 0)
        self.assertFalse(self.facts(run)["journal_is_whole"])
        self.check_kept(run, ("exit", 29996, 29999))


class Residue(TriggerCase):
    """Arming and disarming leaves no threads, descriptors or memory."""

    SETTINGS = NO_OPENING

    CYCLES = 300

    def numbers(self, live):
        words = live.do("state").split()
        return {key: int(value) for key, value in zip(words[::2], words[1::2])}

    def settled(self, live, threads):
        """Returns the numbers once the helper thread of the last window has ended."""
        self.eventually("the helper thread ends", lambda: self.numbers(live)["threads"] <= threads)
        return self.numbers(live)

    def test_hundreds_of_windows(self):
        live = self.start("skip_first=10,wait=4,warmup=1,active=1,repeat=0", PROFSIM_LOG="1",
                          PROF_BUFFER_MB="64")
        live.do(5)
        # CUPTI has its own worker thread from the first window on.
        threads = self.numbers(live)["threads"] + 1
        live.do(6 * 20)
        first = self.settled(live, threads)
        for _ in range(self.CYCLES):
            live.do(6)
            self.settled(live, threads)
        last = self.numbers(live)
        run = live.end()
        self.assertGreaterEqual(len(run.trace_steps()), 30)
        self.assertGreaterEqual(self.facts(run)["records"]["kernels"], self.CYCLES * 4)
        self.assertEqual((last["threads"], last["helpers"], last["fds"]),
                         (threads, 0, first["fds"]))
        self.assertLess(last["private_kb"] - first["private_kb"], 1024)
        self.assertIn("CUPTI at the end: 0 kinds and 0 functions are on", run.err)


if __name__ == "__main__":
    unittest.main()
