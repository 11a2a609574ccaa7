"""PyTorch scripts with a planted cause, and what the report says of them: steps, milliseconds,
phases, verdict, line (reports.py). However a script ends (exception, os._exit, Ctrl-C), profrun
must not change its output or exit status, and must keep what was recorded before."""
import fcntl
import json
import os
import pty
import signal
import subprocess
import termios
import time
import unittest

import reports
from at_exit import again
from sim_case import PRELOADED, STEPS_OFF, SimCase, report_of
from harness import LAUNCHER, Run, environment
from trace import Trace

ARMED = 10
SCHEDULE = f"skip_first=20,wait=0,warmup=2,active={ARMED},repeat=1"


def lists(process):
    return {"sync": process["syncs"], "advice": process["advice"],
            "leak": process["memory"]["leaks"]}


def place(row):
    """(file, line) of a row; advice has both in one text."""
    if "file" in row:
        return row["file"], row["line"]
    file, _, line = row["where"].partition(":")
    return file, int(line.split()[0]) if line else 0


class Reports(SimCase):
    def report(self, key):
        run = self.under_profrun([key.path], SCHEDULE, "--quiet", PYTHONPATH=reports.ANSWERS,
                                 PROFSIM_KERNEL_US=key.kernel_us, STEPS=50, **dict(key.environment))
        self.assertEqual((run.status, run.err), (0, ""))
        process, = [p for p in report_of(run)["processes"] if not p.get("is_silent")]
        return process, json.loads(run.out.splitlines()[-1])

    def wrong(self, key, process, said):
        """What of the key the report does not say: {name: what it says}."""
        found = {}
        steps, lengths = process["steps"], process["baseline"]["step_ms"]
        if abs(steps["count"] - said["steps"]) > STEPS_OFF or len(steps["recorded"]) != ARMED:
            found["steps"] = (steps, said)
        if key.waits and self.is_off(lengths, said):
            found["ms"] = (lengths, said)
        if key.verdicts and process["bound"]["verdict"] not in key.verdicts:
            found["verdict"] = process["bound"]
        phases = {row["name"]: row for row in process["phases"]}
        if not set(key.phases) <= {name for name, row in phases.items()
                                   if row["host_ms_per_step"] > 0}:
            found["phases"] = phases
        if not set(key.parts) <= {part["name"] for row in phases.values()
                                  for part in row.get("parts", ())}:
            found["parts"] = phases
        if not set(key.copies) <= {(row["kind"], row["memory"]) for row in process["copies"]}:
            found["copies"] = process["copies"]
        if key.row:
            found.update(self.wrong_row(key, lists(process)[key.row], said))
        if key.why and not (process["advice"] and process["advice"][0]["why"].startswith(key.why)):
            found["why"] = process["advice"][:1]
        if set(process["self"]["losses"].values()) != {0}:
            found["losses"] = process["self"]["losses"]
        return found

    def is_off(self, lengths, said):
        """Compares the report's step time with the program's own clock. Uses the median, or the
        minimum where other work on the machine delayed enough steps to shift a median. The
        program's steps do not begin where the report's do, so a delayed step is not the same one in
        both. Where only some steps wait for the GPU, the others are launches only, which take as
        long as the machine makes them; the mean is then the GPU's."""
        pairs = [(lengths["p50"], said["median_ms"]), (lengths["min"], said["least_ms"])]
        pairs += [(lengths["mean"], said["mean_ms"])] if "mean_ms" in said else []
        return all(abs(ours - own) > 0.1 + 0.15 * own for ours, own in pairs)

    def wrong_row(self, key, rows, said):
        found, top = {}, rows[0] if rows else {"file": None, "line": 0}
        file, line = place(top)
        if not file or not os.path.samefile(file, key.path) or line not in key.planted():
            found["line"] = rows[:2]
        if key.kind and top.get("kind") != key.kind:
            found["kind"] = rows[:2]
        if key.per_step and abs(top.get("per_step", 0) - key.per_step) > 0.001:
            found["per_step"] = rows[:2]
        if "allocated" in said and abs(sum(row["bytes_per_step"]
                                           for row in rows) / said["allocated"] - 1) > 0.05:
            found["bytes"] = (rows, said)
        return found

    def check(self, key):
        process, said = self.report(key)
        wrong = self.wrong(key, process, said)
        self.assertEqual(set(wrong), set(key.not_yet), json.dumps(wrong, indent=1)[:4000])


for _key in reports.KEYS:
    setattr(Reports, f"test_{_key.name}", lambda self, key=_key: self.check(key))


class Endings(SimCase):
    """ends.py stops in its 41st step of a thousand, behind the recorded ones or in them."""

    def end(self, how, schedule=""):
        script = [os.path.join(reports.SCRIPTS, "ends.py"), how]
        if how == "wait":
            return again(lambda: self.interrupted(script, schedule))
        return self.under_profrun(script, schedule) if schedule else self.alone(script)

    def interrupted(self, script, schedule):
        """Presses Ctrl-C on a terminal of the script's own: the kernel signals the launcher and all
        that it started."""
        folder, (master, terminal) = self.folder(), pty.openpty()
        command = [LAUNCHER, "--sim", "-o", folder, "--schedule", schedule, "--", self.interpreter,
                   *script]
        env = environment()
        if not schedule:
            command, env = command[command.index("--") + 1:], environment(LD_PRELOAD=PRELOADED)
        child = subprocess.Popen(command, env=env, text=True, stdin=terminal,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 preexec_fn=lambda: (os.setsid(),
                                                     fcntl.ioctl(0, termios.TIOCSCTTY, 0)))
        os.close(terminal)
        out = ""
        try:
            while "step 40 " not in out:
                line = child.stdout.readline()
                self.assertTrue(line, "it ended by itself")
                out += line
            time.sleep(0.5)  # it goes to sleep
            os.write(master, b"\x03")
            rest, err = child.communicate(timeout=60)
        finally:
            child.kill()
            os.close(master)
        return Run(child.returncode, out + rest, err, folder)

    def check(self, how, status):
        """With the recorded steps behind it, and in the midst of recording."""
        alone = self.end(how)
        self.assertEqual(alone.status, status, alone.err)
        for schedule, armed in (("skip_first=20,wait=0,warmup=2,active=3,repeat=1", 3),
                                ("skip_first=20,wait=0,warmup=2,active=900", None)):
            run = self.end(how, schedule)
            self.assertEqual((run.status, run.out, run.other_err()),
                             (alone.status, alone.out, alone.err))
            process, = run.json["processes"]
            self.assertLessEqual(abs(process["steps"]["count"] - 41), STEPS_OFF, process)
            self.assertEqual(run.trace_steps(),
                             process["steps"]["recorded"][:len(run.trace_steps())])
            self.assertGreaterEqual(len(run.trace_steps()), armed or 15)
            kernels = [len([s for s in Trace(path).slices if "correlation" in s.args
                            and "at::native" in s.name])
                       for path in run.traces_in_order()[:-1]]
            self.assertEqual(len(set(kernels)), 1, kernels)
            self.assertTrue(os.path.exists(os.path.join(run.folder, "report.json")), run.err)

    def test_exception(self):
        self.check("exception", 1)

    def test_os_exit(self):
        self.check("_exit", 7)

    def test_ctrl_c(self):
        self.check("wait", -signal.SIGINT)


if __name__ == "__main__":
    unittest.main()
