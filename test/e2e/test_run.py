"""profrun.sh passes on the application's output, status, signals and input.

Also: which files remain, and what happens when a process of the run is killed.
"""
import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import time
import unittest

from harness import (
    LAUNCHER,
    LIBRARY,
    PATIENCE_S,
    Case,
    applications,
    children,
    environment,
    process_name,
    prog,
    read_proc,
    script,
)
from test_trigger import Live
from trace import Trace

STEPS = {"PROF_STEP": "kernel:first", "PROF_SCHEDULE": "always"}


def signal_state(pid):
    """Returns which signals wait for a process, and which it blocks, ignores and handles."""
    lines = read_proc(pid, "status").decode().splitlines()
    return " ".join([str(pid), *(x for x in lines if re.match("Name|State|S(ig|hd)[PBIC]", x))])


class Transparent(Case):
    VICTIMS = [
        ["shared"], ["legacy"], ["per_thread"], ["driver_dlsym"], ["driver_getproc", "self"],
        ["fork", "before"], ["fork", "after"], ["fork", "after-tries"], ["fork", "grandchild"],
        ["fork", "leaving-child"], ["spawn", "exec"], ["spawn", "vfork"],
        ["spawn", "failing-vfork"], ["spawn", "spawn"], ["spawn", "system"], ["ends", "return"],
        ["ends", "exit"], ["ends", "_exit"], ["ends", "_Exit"], ["ends", "quick_exit"],
        ["ends", "thread"], ["ends", "abort"], ["ends", "kill"], ["ends", "term"], ["ends", "segv"],
        ["threads", "ending"], ["threads", "many"], ["threads", "late"], ["threads", "during-exit"],
        ["process", "resets"], ["process", "closes-all"], ["process", "chdir"],
        ["process", "limits"], ["process", "umask"], ["process", "errno"], ["process", "handler"],
        ["process", "no-cuda"], ["process", "fails"], ["lookups"], ["loop", "20", "graph"]]

    def test_output_and_status_of_every_victim(self):
        for name, *arguments in self.VICTIMS:
            with self.subTest(victim=[name, *arguments]):
                try:
                    command = [prog(name), *arguments]
                except unittest.SkipTest:
                    continue
                bare, run = self.bare(command), self.profiled(command)
                if name != "lookups":  # its messages contain file names
                    self.assertEqual(run.out, bare.out)
                # As a shell does, the launcher may return 128 + n for a death by signal n.
                statuses = {bare.status, 128 - bare.status} if bare.status < 0 else {bare.status}
                self.assertIn(run.status, statuses)
                self.assertEqual(run.other_err(), bare.err)

    def test_standard_input(self):
        run = self.profiled([prog("process"), "input"], stdin="one\ntwo\n")
        self.assertEqual(run.out, "read one\nread two\ninput good\n")

    def test_environment_is_kept(self):
        code = ("import os; print(os.environ['KEPT'], os.environ.get('LD_LIBRARY_PATH', "
                "'').endswith('/mine'))")
        line, folder, env = self.launched([sys.executable, "-c", code], KEPT="kept")
        env["LD_LIBRARY_PATH"] = "/mine"
        self.assertEqual(self.execute(line, folder, env).out, "kept True\n")

    def test_preloads_of_the_user_are_kept(self):
        code = "import os; print(os.environ['LD_PRELOAD'])"
        line, folder, env = self.launched([sys.executable, "-c", code])
        env["LD_PRELOAD"] = os.path.join(os.path.dirname(LIBRARY), "sim", "libcudart.so.13")
        self.assertIn(env["LD_PRELOAD"], self.execute(line, folder, env).out)

    def test_quiet(self):
        self.assertEqual(self.profiled([prog("loop"), "30"], ["--quiet"]).err, "")

    def test_folder_with_a_blank(self):
        folder = os.path.join(self.folder(), "my runs")
        run = self.profiled([prog("loop"), "300"], ["-o", folder, "--schedule", "always"])
        shown = os.path.relpath(folder, self.base)
        self.assertIn(f"  Report: '{shown}/report.html'\n", run.err)
        self.assertIn(f"  Traces: '{shown}/traces' (steps 0-299), open in ", run.err)

    def test_no_cuda(self):
        run = self.profiled([prog("process"), "no-cuda"])
        self.assertEqual(run.status, 6)
        self.assertEqual(len(run.own_lines()), 1, run.err)
        self.assertFalse(os.path.exists(run.folder))


class Signals(Case):
    def start(self, command, options=(), stdin=subprocess.DEVNULL, **settings):
        line, folder, env = self.launched(command, options, **settings)
        child = subprocess.Popen(
            line,
            env=env,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.addCleanup(self.end, child)
        return child, folder

    def end(self, child):
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        child.communicate()

    def ready(self, child):
        while (line := child.stdout.readline()) != "ready\n":
            self.assertTrue(line, "ended before it was ready")

    def interrupted(self, how, number, group, statuses):
        child, folder = self.start([prog("ends"), how], **STEPS)
        self.ready(child)
        (os.killpg if group else os.kill)(child.pid, number)
        out, err = child.communicate(timeout=PATIENCE_S)
        self.assertIn(child.returncode, statuses, err)
        self.assertTrue(os.path.exists(os.path.join(folder, "run.json")))
        return out

    def test_control_c_reaches_an_application_that_handles_it(self):
        self.assertEqual(self.interrupted("waits", signal.SIGINT, True, {5}), "signal 2\n")

    def test_term_to_the_launcher_reaches_an_application_that_handles_it(self):
        self.assertEqual(self.interrupted("waits", signal.SIGTERM, False, {5}), "signal 15\n")

    # Prints each signal that comes, until its input ends. Python runs handlers between bytecodes: a
    # signal just before a read() that waits would be handled only after it.
    COUNTS = """
import os, select, signal, sys
seen = []
def count(number, frame):
    seen.append(number)
    os.write(1, b"got %d\\n" % number)  # at once: another handler may interrupt this one
for number in {signals}:
    try:
        signal.signal(number, count)
    except OSError:
        pass
print("ready", flush=True)
while not select.select([sys.stdin], [], [], 0.02)[0]:
    pass
sys.stdin.readline()
print(len(seen), "signals:", sorted(seen), flush=True)
"""
    THREE = COUNTS.format(signals="(signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)")
    # Any signal but what ends or stops it come what may, and its children's.
    EVERY = COUNTS.format(
        signals="signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD}"
    )
    SETTLE_S = 0.3  # in which a signal would come a second time

    def counted(self, send, program=THREE):
        child, _ = self.start([sys.executable, "-c", program], stdin=subprocess.PIPE)
        self.ready(child)
        send(child)
        time.sleep(self.SETTLE_S)
        out, err = child.communicate("\n", timeout=PATIENCE_S)
        self.assertEqual(child.returncode, 0, err)
        return out

    def sent(self, child, send, target, number):
        """Sends a signal and waits until the application has it."""
        send(target, number)
        if not select.select([child.stdout], [], [], PATIENCE_S)[0]:
            self.fail("\n".join(signal_state(pid) for pid in (child.pid, *children(child.pid))))
        self.assertEqual(child.stdout.readline(), f"got {int(number)}\n")

    def test_a_signal_to_the_group_comes_once(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1):
            out = self.counted(lambda child: self.sent(child, os.killpg, child.pid, number))
            self.assertEqual(out, f"1 signals: [{int(number)}]\n")

    def test_a_signal_to_the_launcher_comes_once(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1):
            out = self.counted(lambda child: self.sent(child, os.kill, child.pid, number))
            self.assertEqual(out, f"1 signals: [{int(number)}]\n")

    def is_pending(self, pid, number):
        with open(f"/proc/{pid}/status") as file:
            sets = re.findall(r"^S(?:ig|hd)Pnd:\s*(\w+)", file.read(), re.M)
        return any(int(word, 16) >> (number - 1) & 1 for word in sets)

    def test_signals_to_launcher_and_group_come_once_each(self):
        """The kernel keeps one pending signal of a kind: the next one is sent once the launcher
        has taken the last one."""
        def send_and_wait(child, how):
            self.sent(child, how, child.pid, signal.SIGTERM)
            self.eventually("the launcher has taken it",
                            lambda: not self.is_pending(child.pid, signal.SIGTERM))

        def send(child):
            for _ in range(3):
                send_and_wait(child, os.kill)
                send_and_wait(child, os.killpg)

        self.assertEqual(self.counted(send), "6 signals: [15, 15, 15, 15, 15, 15]\n")

    def test_two_signals_to_the_group_at_once_come_once_each(self):
        """As from Slurm, which sends SIGCONT and SIGTERM. The launcher asks its watchdog about one
        signal when both have arrived."""
        def send(child):
            os.kill(child.pid, signal.SIGSTOP)
            os.killpg(child.pid, signal.SIGTERM)
            os.killpg(child.pid, signal.SIGUSR1)
            os.kill(child.pid, signal.SIGCONT)
            self.assertEqual({child.stdout.readline() for _ in range(2)}, {"got 15\n", "got 10\n"})

        self.assertEqual(self.counted(send), "2 signals: [10, 15]\n")

    def on_terminal(self, code):
        """Starts Python code on a new terminal and waits for "ready"."""
        line, _, env = self.launched([sys.executable, "-c", code])
        pid, terminal = pty.fork()
        if not pid:
            os.execve(line[0], line, env)
        shown = b""
        while b"ready" not in shown:
            shown += os.read(terminal, 4096)
        return pid, terminal, shown

    def test_control_c_on_a_terminal_comes_once(self):
        pid, terminal, shown = self.on_terminal(self.THREE)
        os.write(terminal, b"\x03")
        while b"got 2" not in shown:
            shown += os.read(terminal, 4096)
        time.sleep(self.SETTLE_S)
        os.write(terminal, b"\n")
        try:
            while piece := os.read(terminal, 4096):
                shown += piece
        except OSError:  # the other end of the terminal is closed
            pass
        os.close(terminal)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0, shown)
        self.assertIn(b"1 signals", shown)

    def watchdog(self, child):
        """The process that shares the application's group; it may have yet to name itself."""
        return self.eventually(
            "the watchdog",
            lambda: [pid for pid in children(child.pid) if process_name(pid) == "group"],
        )[0]

    def test_signals_come_once_after_the_watchdog_was_killed(self):
        def send(child):
            os.kill(self.watchdog(child), signal.SIGKILL)
            for number in (signal.SIGTERM, signal.SIGUSR1):
                self.sent(child, os.kill, child.pid, number)

        self.assertEqual(self.counted(send, self.EVERY), "2 signals: [10, 15]\n")

    def test_an_earlier_timer_reaches_the_application(self):
        line, _, env = self.launched([sys.executable, "-c", self.EVERY])
        with subprocess.Popen(
            line,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: signal.setitimer(signal.ITIMER_REAL, 4),
        ) as child:
            self.ready(child)  # before the timer expires
            self.assertEqual(child.stdout.readline(), "got 14\n")
            self.assertEqual(child.communicate("\n", timeout=PATIENCE_S)[0], "1 signals: [14]\n")

    def test_a_terminal_that_goes_ends_the_application(self):
        pid, terminal, _ = self.on_terminal(
            "import time\nprint('ready', flush=True)\ntime.sleep(600)"
        )
        os.close(terminal)
        self.addCleanup(lambda: process_name(pid) and os.kill(pid, signal.SIGKILL))
        _, status = self.eventually(
            "it ends", lambda: (ended := os.waitpid(pid, os.WNOHANG))[0] and ended
        )
        self.assertEqual(os.waitstatus_to_exitcode(status), -signal.SIGHUP)

    def test_the_watchdog_ends_with_the_launcher(self):
        child, _ = self.start([sys.executable, "-c", self.THREE], stdin=subprocess.PIPE)
        self.ready(child)
        watchdog = self.watchdog(child)
        os.kill(child.pid, signal.SIGKILL)
        self.eventually("the watchdog is gone", lambda: process_name(watchdog) != "group")

    def test_control_c_kills_an_application_that_does_not_handle_it(self):
        self.interrupted("waits-for-death", signal.SIGINT, True, {130, -signal.SIGINT})

    def test_term_to_the_launcher_kills_an_application_that_does_not_handle_it(self):
        self.interrupted("waits-for-death", signal.SIGTERM, False, {143, -signal.SIGTERM})

    def test_killing_the_application_keeps_completed_steps(self):
        child, folder = self.start([prog("loop"), "100000", "plain", "1000"],
                                   PROF_STEP="kernel:first",
                                   PROF_SCHEDULE="skip_first=0,wait=1,warmup=1,active=2,repeat=0")
        self.eventually("traces of steps", lambda: len(list_traces(folder)) >= 4)
        (application,) = applications(folder)
        os.kill(application, signal.SIGKILL)
        child.communicate(timeout=PATIENCE_S)
        self.assertIn(child.returncode, {137, -signal.SIGKILL})
        closed = list_traces(folder)
        self.assertGreaterEqual(len(closed), 4)
        for path in closed[:3]:
            self.assertEqual(len([s for s in Trace(path).on("GPU 0 Stream 13")]), 6)
        self.assertEqual(read_json(folder)["processes"][0]["state"], "killed")

    def test_killing_the_collector_leaves_what_export_needs(self):
        line, folder, env = self.launched(
            prog("steady"),
            PROF_STEP="kernel:first",
            PROF_SCHEDULE="skip_first=100,wait=0,warmup=1,active=2,repeat=1",
        )
        live = Live(self, line, folder, env)
        live.do(50)
        os.kill(self.collector(folder), signal.SIGKILL)
        live.do(250)
        run = live.end()
        self.assertEqual(run.status, 0, run.err)
        self.assertIn("export", run.err)
        self.assertEqual(list_traces(folder), [])
        run = self.tool("export", folder, "--format", "perfetto")
        self.assertEqual(run.status, 0, run.err)
        self.assertEqual([os.path.basename(path) for path in list_traces(folder)],
                         ["step-101.pftrace.gz", "step-102.pftrace.gz"])
        for path in list_traces(folder):
            self.assertEqual(
                len([s for s in Trace(path).on("GPU 0 Stream") if s.name.endswith("us")]), 4
            )

    def test_removing_the_journal_ends_nothing(self):
        child, folder = self.start([prog("loop"), "100000", "plain", "1000"],
                                   PROF_SCHEDULE="skip_first=100000,active=1")
        self.eventually("run.json", lambda: os.path.exists(os.path.join(folder, "run.json")))
        self.eventually("the collector has found it", lambda: read_json(folder).get("processes"))
        (application,) = applications(folder)
        shutil.rmtree(os.path.join(folder, "journal"))
        os.kill(application, signal.SIGKILL)
        out, err = child.communicate(timeout=PATIENCE_S)
        self.assertIn(child.returncode, {137, -signal.SIGKILL})
        self.assertNotIn("never used CUDA", err)
        self.assertNotIn("collector died", err)
        (process,) = read_json(folder)["processes"]
        self.assertEqual(process["state"], "killed")
        self.assertIn("cannot open", process["trouble"])

    def test_killing_the_launcher_does_not_stop_the_rest(self):
        child, folder = self.start([prog("loop"), "300", "plain", "1000"], PROF_STEP="kernel:first",
                                   PROF_SCHEDULE="skip_first=100,wait=0,warmup=1,active=2,repeat=1")
        self.eventually("a journal", lambda: os.path.exists(os.path.join(folder, "journal")))
        child.kill()
        self.eventually("traces", lambda: len(list_traces(folder)) == 2)
        self.eventually("the end in run.json",
                        lambda: [p["state"] for p in read_json(folder)["processes"]] == ["ended"])

    def test_a_steps_trace_is_there_before_the_run_ends(self):
        child, folder = self.start(
            [prog("loop"), "10000000", "plain", "1000"],
            PROF_STEP="kernel:first",
            PROF_SCHEDULE="skip_first=5,wait=0,warmup=1,active=1,repeat=1",
        )
        self.eventually("the trace of step 6", lambda: list_traces(folder))
        self.assertIsNone(child.poll(), "the run ended first")


class WithoutLauncher(Case):
    def test_export_makes_traces_from_the_librarys_journal(self):
        run = self.preloaded([prog("loop"), "12"], PROF_STEP="kernel:first",
                             PROF_SCHEDULE="skip_first=2,wait=0,warmup=1,active=2,repeat=1")
        self.assertEqual(os.listdir(run.folder), ["journal"])
        self.assertEqual(run.err, "")
        exported = self.tool("export", run.folder, "--format", "perfetto")
        self.assertEqual(exported.status, 0, exported.err)
        self.assertEqual(run.trace_steps(), [3, 4])

    def test_export_detects_the_steps(self):
        run = self.preloaded(script("demo.py") + ["--steps", "40"], PROF_SCHEDULE="always")
        exported = self.tool("export", run.folder, "--format", "perfetto")
        self.assertEqual(exported.status, 0, exported.err)
        self.assertEqual(run.trace_steps(), list(range(40)))

    def test_default_folder(self):
        command = [prog("loop"), "2"]
        self.execute(command, self.base, environment(LD_PRELOAD=LIBRARY), cwd=self.base)
        self.assertTrue(
            [name for name in os.listdir(self.base) if name.startswith("profrun-loop-")])

    def test_export_writes_the_same_as_the_collector(self):
        run = self.profiled([prog("loop"), "12"], PROF_STEP="kernel:first",
                            PROF_SCHEDULE="skip_first=2,wait=0,warmup=1,active=2,repeat=1")
        again = self.folder()
        self.assertEqual(
            self.tool("export", run.folder, "--format", "perfetto", "-o", again).status, 0)
        for path in run.traces():
            name = os.path.basename(path)
            (other,) = [os.path.join(base, name) for base, _, files in os.walk(again)
                        if name in files]
            one, two = Trace(path).slices, Trace(other).slices
            self.assertEqual([(s.name, s.args) for s in one], [(s.name, s.args) for s in two])
            # while the program ran, the clock's rate was known a little less exactly
            for a, b in zip(self.recorded_times(one), self.recorded_times(two), strict=True):
                self.assertAlmostEqual(a, b, delta=1000)

    @staticmethod
    def recorded_times(slices):
        """Begins and ends, except where one cause of idle time follows another in the same gap.
        That boundary is an estimate from the median time between the calls around the step, and
        the collector may have read fewer of these calls than an export reads."""
        times = [t for s in slices for t in (s.time, s.end)]
        begins = {s.time for s in slices if "cause" in s.args}
        estimated = begins & {s.end for s in slices if "cause" in s.args}
        return [t for t in times if t not in estimated]

    def test_link_to_the_launcher(self):
        link = os.path.join(self.base, "profrun")
        os.symlink(LAUNCHER, link)
        run = self.execute([link, "--version"], self.base, environment())
        self.assertEqual(run.status, 0, run.err)


class NeverUsed(Case):
    DRIVER = ("/proc/driver/nvidia", "/dev/nvidiactl", "/dev/nvhost-ctrl", "/dev/dxg")

    def test_the_message_says_why(self):
        run = self.execute([LAUNCHER, "-o", self.folder(), "true"], self.base, environment())
        self.assertEqual((run.status, len(run.err.splitlines())), (0, 1), run.err)
        self.assertIn("true never used CUDA: nothing was recorded", run.err)
        has_driver = any(os.path.exists(path) for path in self.DRIVER)
        self.assertEqual("no NVIDIA driver found: --sim runs" in run.err, not has_driver,
                         run.err)
        self.assertIn("nvcc -cudart shared", self.profiled(["true"]).err)

    def test_not_said_of_a_program_that_called_cuda(self):
        """Its calls are not among those that are recorded, or all failed."""
        scripts = ("CDLL('libcudart.so.13').cudaGetDeviceCount(byref(c_int()))",
                   "CDLL('libcudart.so.13').cudaDriverGetVersion(byref(c_int()))",
                   "CDLL('libcuda.so.1').cuInit(0)")
        for script in scripts:
            with self.subTest(script=script):
                run = self.profiled([sys.executable, "-c", "from ctypes import *; " + script])
                self.assertNotIn("never used CUDA", run.err)
                self.assertIn("loaded the CUDA driver, but made no call", run.err)
                self.assertFalse(os.path.exists(run.folder), run.folder)


class Ranks(Case):
    def test_ranks_name_the_folders(self):
        code = ("import os, subprocess, sys\n"
                "all = [subprocess.Popen([sys.argv[1], '12'], env={**os.environ, 'RANK': str(i)}) "
                "for i in range(2)]\n"
                "sys.exit(max(p.wait() for p in all))\n")
        run = self.profiled([sys.executable, "-c", code, prog("loop")], **STEPS)
        self.assertEqual(run.status, 0, run.err)
        self.assertEqual(sorted(os.listdir(os.path.join(run.folder, "traces"))), ["0", "1"])
        self.assertEqual(len(run.journals()), 2)


def list_traces(folder):
    found = [os.path.join(base, name) for base, _, files in os.walk(os.path.join(folder, "traces"))
             for name in files]
    return sorted(path for path in found if path.endswith(".pftrace.gz"))


def read_json(folder):
    with open(os.path.join(folder, "run.json")) as file:
        return json.load(file)


if __name__ == "__main__":
    unittest.main()
