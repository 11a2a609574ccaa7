"""`profrun top` and the list of `profrun trigger`, on runs in progress."""
import fcntl
import json
import os
import re
import signal
import struct
import subprocess
import sys
import termios
import unittest

from harness import NO_OPENING, PATIENCE_S, TOOL, Run, environment, prog
from page import Page
from screen import SHELL, Screen, Terminal
from test_open import Server
from test_trigger import Live, TriggerCase

HEAD = re.compile(r"profrun top  \d\d:\d\d:\d\d  (\d+) process(?:es)? of (\d+) runs?, (.*)")
RECORDED = "skip_first=2,warmup=0,active=3,repeat=1"


class TopCase(TriggerCase):
    def running(self, schedule=RECORDED, **settings):
        """A run with recorded steps, which goes on making steps."""
        live = self.start(schedule, **{**NO_OPENING, **settings})
        live.do(12)
        live.go(2000)
        self.eventually("report.json has the GPU's utilization", lambda: self.gpus(live.folder))
        self.eventually("run.json has the steps", lambda: self.has_saved_steps(live.folder))
        return live

    def gpus(self, folder):
        try:
            (process,) = self.report(folder)["processes"]
        except (OSError, ValueError):
            return []
        return process["gpu"]

    def has_saved_steps(self, folder):
        processes = Run(0, "", "", folder).json["processes"]
        return processes and processes[0]["steps"]["step_ms"]

    def saved_steps(self, folder):
        processes = Run(0, "", "", folder).json["processes"]
        return processes and processes[0]["steps"]["count"]

    def report(self, folder):
        with open(os.path.join(folder, "report.json")) as file:
            return json.load(file)

    def on_terminal(self, *arguments, rows=24, columns=80, **settings):
        env = environment(**{"TERM": "xterm", "LANG": "C.UTF-8", **settings})
        env.pop("LC_ALL", None)
        terminal = Terminal([TOOL, "top", *arguments], env, rows, columns)
        self.addCleanup(terminal.close)
        return terminal

    def screen(self, terminal, rows=24, columns=80):
        """The screen after all that was written since the terminal had this size."""
        screen = Screen(rows, columns)
        shown = terminal.shown[getattr(terminal, "sized_at", 0):]
        screen.write(re.sub("\x1b[^A-Za-z78]*$", "", shown))  # an escape sequence may be cut
        return screen

    def lines(self, terminal, **size):
        return ["".join(line).rstrip() for line in self.screen(terminal, **size).lines]

    def see(self, terminal, pattern, **size):
        """Waits until a line of the screen matches; returns the match."""
        found = []

        def is_there(_):
            found[:] = [match for line in self.lines(terminal, **size)
                        if (match := re.search(pattern, line))]
            return found

        terminal.read_until(is_there, PATIENCE_S)
        return found[0]


class Top(TopCase):
    def test_figures_are_those_of_info_and_report(self):
        live = self.running()
        live.send("0")  # from now on nothing changes
        live.expect("done")
        total = int(live.expect("done").split()[1])
        self.eventually("all steps are saved", lambda: self.saved_steps(live.folder) == total)
        run = Run(0, "", "", live.folder)
        info = self.tool("info", live.folder).out
        report = self.report(live.folder)["processes"][0]
        top = self.tool("top", live.folder, LANG="C.UTF-8")
        self.assertEqual((top.status, top.err), (0, ""))
        row = re.search(rf"^ *{live.pid()} +- +([\d,]+) +(\S+) (.*?) +(\d+) %", top.out, re.M)
        self.assertTrue(row, top.out)
        self.assertRegex(info, r"  steps +\d+, detected ")
        (shown, p50) = re.search(r"  steps +(\d+), detected .*\(p50 ([\d.]+),", info).groups()
        self.assertEqual((row[1].replace(",", ""), shown), (str(total), str(total)))
        self.assertEqual(float(row[2]), float(p50))
        self.assertRegex(row[3], "^[▁▂▃▄▅▆▇█]{11}$")
        self.assertEqual(int(row[4]), round(report["gpu"][0]["busy_pct"]))
        for line in (rf"  run +{re.escape(live.folder)}", "  now +recorded 2-4",
                     r"  GPU +utilization GPU 0 \d+ % \(recorded steps 2-4\)",
                     "  memory +peak .* of device"):
            self.assertRegex(top.out, line)
        self.assertEqual(run.json["processes"][0]["steps"]["action"], "not recording")

    def test_a_screen_of_24_rows(self):
        live = self.running()
        terminal = self.on_terminal(live.folder)
        self.see(terminal, rf"^ *{live.pid()} ")
        self.see(terminal, r"^up/down select   t record the next steps   s sort   q quit$")
        lines = self.lines(terminal)
        self.assertRegex(lines[0], HEAD)
        self.assertTrue(lines[1].startswith("    PID RANK     STEPS"), lines)
        steps = self.see(terminal, rf"^ *{live.pid()} +- +([\d,]+)")[1]
        self.see(terminal, rf"^ *{live.pid()} +- +(?!{steps}\b)")  # it counts
        os.write(terminal.fd, b"q")
        self.assertEqual(terminal.end(), 0)
        self.assertIn("1049", self.screen_before_end(terminal).modes)
        self.assertNotIn("1049", self.screen(terminal).modes)

    def screen_before_end(self, terminal):
        screen = Screen()
        screen.write(terminal.shown[:terminal.shown.rindex("\x1b[?1049l")])
        return screen

    def test_every_exit_restores_the_terminal(self):
        """A shell holds the terminal before and afterwards, and sees its settings."""
        live = self.running()
        shell = """
import os, signal, subprocess, sys, termios
signal.signal(signal.SIGINT, lambda *_: None)  # Ctrl-C reaches the shell, too
before = termios.tcgetattr(0)
status = subprocess.run([sys.argv[1], "top", os.environ["RUN"]]).returncode
print("restored", termios.tcgetattr(0) == before, status, flush=True)
"""
        ways = {"q": 0, "\x03": -signal.SIGINT, "TERM": -signal.SIGTERM, "HUP": -signal.SIGHUP}
        env = environment(TERM="xterm", RUN=live.folder)
        for way, status in ways.items():
            with self.subTest(ascii(way)):
                terminal = Terminal([sys.executable, "-c", shell, TOOL], env)
                self.addCleanup(terminal.close)
                terminal.read_until(lambda shown: "q quit" in shown, PATIENCE_S)
                if len(way) == 1:
                    os.write(terminal.fd, way.encode())
                else:
                    (child,) = self.tops(live.folder)
                    os.kill(child, getattr(signal, "SIG" + way))
                self.assertEqual(terminal.end(), 0)
                self.assertIn(f"restored True {status}", terminal.shown)
                self.assertEqual(self.screen(terminal).modes, {"25"})

    def tops(self, folder):
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    words = file.read().split(b"\0")
            except OSError:
                continue
            if words[:3] == [TOOL.encode(), b"top", folder.encode()]:
                found.append(int(pid))
        return found

    def test_stopped_and_continued(self):
        live = self.running()
        terminal = Terminal([sys.executable, "-c", SHELL, TOOL, "top", live.folder],
                            environment(TERM="xterm"))
        self.addCleanup(terminal.close)
        self.see(terminal, "q quit")
        os.write(terminal.fd, b"\x1a")
        terminal.read_until(lambda shown: "stopped True" in shown, PATIENCE_S)
        self.assertEqual(self.screen(terminal).modes, {"25"})
        n = len(terminal.shown)
        os.write(terminal.fd, b"\n")
        terminal.read_until(lambda shown: "q quit" in shown[n:], PATIENCE_S)
        self.assertEqual(self.screen(terminal).modes, {"1049"})
        os.write(terminal.fd, b"q")
        terminal.read_until(lambda shown: "ended 0" in shown, PATIENCE_S)

    def test_resizing(self):
        live = self.running()
        terminal = self.on_terminal(live.folder)
        self.see(terminal, "q quit")
        for rows, columns in ((40, 120), (10, 80), (30, 40)):
            with self.subTest((rows, columns)):
                terminal.sized_at = len(terminal.shown)
                fcntl.ioctl(terminal.fd, termios.TIOCSWINSZ,
                            struct.pack("HHHH", rows, columns, 0, 0))
                self.see(terminal, "^up/down select", rows=rows, columns=columns)
                lines = self.lines(terminal, rows=rows, columns=columns)
                self.assertTrue(lines[-1].startswith("up/down"), lines)
                bars = max(len(found[0]) for found in map(re.compile("[▁▂▃▄▅▆▇█]+|$").search,
                                                          lines))
                self.assertEqual(bars, {120: 51, 80: 11, 40: min(bars, 11)}[columns], lines)
        os.write(terminal.fd, b"q")
        self.assertEqual(terminal.end(), 0)

    def test_keys(self):
        live = self.running()
        terminal = self.on_terminal(live.folder)
        self.see(terminal, HEAD)
        for expected in ("slowest first", "lowest GPU utilization first", "fewest steps first",
                         "most drops first", "by run"):
            os.write(terminal.fd, b"s")
            self.see(terminal, f"1 process of 1 run, {expected}$")
        os.write(terminal.fd, b"\x1b[B\x1bOA\x1b[5~x")  # arrows and keys without a meaning
        os.write(terminal.fd, b"t")
        said = self.see(terminal, rf"^process {live.pid()}: steps (\d+) to (\d+) are recorded; ")
        self.assertEqual(int(said[2]), int(said[1]) + 2)
        os.write(terminal.fd, b"q")
        self.assertEqual(terminal.end(), 0)
        self.eventually_on_disk(live, range(int(said[1]), int(said[2]) + 1))

    def test_arrows_select(self):
        lives = [self.running() for _ in range(2)]
        terminal = self.on_terminal()  # all jobs of this user, of which there may be more
        pids = {str(live.pid()) for live in lives}
        details = re.compile(r"\x1b\[1mprocess (\d+)[:,]")
        self.see(terminal, "q quit")
        presses = 0
        while not pids <= set(details.findall(terminal.shown)):
            # other jobs come and go; back to the first row from time to time
            os.write(terminal.fd, b"k" * 20 if presses % 20 == 0 else b"\x1b[B")
            presses += 1
            self.assertLess(presses, 1000, terminal.shown[-2000:])
            self.assertTrue(terminal.read())
        os.write(terminal.fd, b"q")
        self.assertEqual(terminal.end(), 0)

    def test_before_steps_are_known(self):
        """What is not known is a dash, with the reason."""
        live = self.start("off", step=None)
        live.do(1)
        self.eventually("run.json has the process",
                        lambda: Run(0, "", "", live.folder).json["processes"])
        top = self.tool("top", str(live.pid()))
        self.assertEqual((top.status, top.err), (0, ""))
        self.assertRegex(top.out, rf"(?m)^ *{live.pid()} +- +- +- +- +- - +- +0$")
        self.assertIn("  steps     detecting steps\n", top.out)
        self.assertIn("known after the first recorded\n            steps\n", top.out)

    def test_a_process_that_hangs(self):
        live = self.running()
        terminal = self.on_terminal(live.folder)
        self.see(terminal, "  now +recorded 2-4$")
        live.stop()
        self.see(terminal, r"  now +recorded 2-4; no step began for \d+ s$")

    def test_names_are_harmless(self):
        """Bytes of the command and the folder that would change the terminal are replaced."""
        line, folder, env = self.launched(["bash", "-c", 'exec -a "$1" "$0"', *self.named()],
                                          ["--schedule", RECORDED], PROF_STEP="kernel:first")
        live = Live(self, line, folder, env)
        live.do(12)
        self.eventually("run.json has the process",
                        lambda: Run(0, "", "", live.folder).json["processes"])
        for run in (self.tool("top", folder), self.tool("trigger")):
            self.assertEqual(run.status, 0)
            self.assertNotIn("\x1b", run.out)
            self.assertIn("evil", run.out)

    def named(self):
        return [prog("steady"), "evil\x1b[2J\x1b]0;title\x07\u202egnp"]

    def test_nothing_runs(self):
        ended = self.start("off")
        ended.do(5)
        run = ended.end()
        for arguments, status, text in (([run.folder], 1, "the run has ended"),
                                        (["/nonexistent"], 1, "no such run"),
                                        ([run.folder, "2"], 2, "got '2' too"),
                                        (["--now"], 2, "no option '--now'")):
            with self.subTest(arguments):
                top = self.tool("top", *arguments)
                self.assertEqual((top.status, top.out), (status, ""))
                self.assertIn(text, top.err)
                self.assertEqual(len(top.err.splitlines()), 1)

    @unittest.skipIf(os.geteuid() != 0, "only root can run a command as another user")
    def test_jobs_of_other_users_are_not_shown(self):
        live = self.running()
        for command in ("top", "trigger"):
            done = subprocess.run([TOOL, command], user=65533, text=True, capture_output=True,
                                  env=environment(), cwd="/")
            self.assertEqual((done.returncode, done.stdout, done.stderr),
                             (1, "", "profrun: no profiled job of this user is running\n"))
        live.stop()

    def test_the_jobs_have_ended_meanwhile(self):
        live = self.running()
        terminal = self.on_terminal(live.folder)
        self.see(terminal, rf"^ *{live.pid()} ")
        live.stop()
        live.end()
        self.see(terminal, r"^No profiled job is running any more\.$")
        os.write(terminal.fd, b"t\x1b[Bs")
        os.write(terminal.fd, b"q")
        self.assertEqual(terminal.end(), 0)


class ReportOfARunningJob(TopCase):
    def check_is_running(self, text, folder):
        page = Page(text)
        self.assertIn('<span class="running">still running</span>', text)
        self.assertRegex(page.text, r"The job is still running\. These are the figures of the "
                         r"steps that were analyzed until \d{4}-\d\d-\d\dT")
        self.assertIn("they are made at its end", page.text)
        (process,) = page.json("report-json")["processes"]
        (saved,) = self.report(folder)["processes"]
        self.assertEqual((process["state"], process["gpu"]), ("running", saved["gpu"]))
        (busy,) = [value for _, path, value in page.figures if path == "gpu.0.busy_pct"]
        self.assertEqual(busy, saved["gpu"][0]["busy_pct"])

    def test_as_text_and_as_a_page(self):
        live = self.running()
        run = self.tool("report", live.folder)
        self.assertEqual(run.status, 0, run.err)
        self.assertRegex(run.out.splitlines()[0], r"steady.*: still running\b")
        path = os.path.join(self.base, "running.html")
        run = self.tool("report", live.folder, "--html", path)
        self.assertEqual(run.status, 0, run.err)
        with open(path, encoding="utf-8") as file:
            self.check_is_running(file.read(), live.folder)
        live.stop()
        ended = live.end()
        with open(os.path.join(ended.folder, "report.html"), encoding="utf-8") as file:
            self.assertNotIn("still running", Page(file.read()).text)
        with open(os.path.join(ended.folder, "report.txt"), encoding="utf-8") as file:
            self.assertNotIn("still running", file.read())

    def test_in_the_browser(self):
        live = self.running()
        server = Server(self, live.folder, ("--no-browser",))
        path = server.session() + "report.html"
        status, headers, body = server.get(path)
        self.assertEqual((status, headers["Content-Type"]), (200, "text/html; charset=utf-8"))
        text = body.decode()
        self.check_is_running(text[:text.index("</html>") + 8], live.folder)
        for words in "Newer figures", "Traces in Perfetto":
            self.assertIn(words, text)
        self.assertFalse(os.path.exists(os.path.join(live.folder, "report.html")))
        live.stop()
        live.end()
        body = server.get(path)[2].decode()
        self.assertNotIn("still running", body)
        self.assertNotIn("Newer figures", body)


class TriggerList(TopCase):
    def test_running_jobs_ready_to_copy(self):
        lives = [self.running() for _ in range(2)]
        listed = self.tool("trigger")
        self.assertEqual((listed.status, listed.err), (0, ""))
        for live in lives:
            self.assertRegex(listed.out, rf"(?m)^{re.escape(live.folder)}\n +PID +rank +steps +"
                             rf"step ms +command\n +{live.pid()} +- +[\d,]+ +\d+\.\d+ +steady$")
        for word in (str(lives[0].pid()), lives[1].folder):
            asked = self.tool("trigger", word)
            self.assertEqual(asked.status, 0, asked.err)
            self.assertIn(" are recorded", asked.out)
        self.assertIn("To record the next steps of a process: profrun trigger PID\n", listed.out)

    def test_steps_need_a_job(self):
        asked = self.tool("trigger", "--steps", "5")
        self.assertEqual((asked.status, asked.out), (2, ""))
        self.assertIn("which process or run's folder?", asked.err)


if __name__ == "__main__":
    unittest.main()
