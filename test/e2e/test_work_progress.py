"""The line that long commands show on a terminal: report, export, merge, diff, whatif."""
import json
import os
import re
import signal
import subprocess
import time
import unittest

from harness import PATIENCE_S, TOOL, Case, environment
from screen import Screen, Terminal

LINE = re.compile(r"profrun: big\.json(?: \(\d of 2\))?: [a-z ]+(?:, \d+ %)?, (\d+) s")
STOPPED_S = 2.2  # more than the two seconds after which the line is shown


def write_trace(path, n_steps=200, n_kernels=250):
    """A trace of torch.profiler that takes a command some tenths of a second."""
    with open(path, "w") as file:
        file.write('{"schemaVersion": 1, "traceEvents": [\n')
        at = 0
        for step in range(n_steps):
            file.write('{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#%d", "pid": 1, '
                       '"tid": 1, "ts": %d, "dur": %d},\n' % (step, at, n_kernels * 10))
            for i in range(n_kernels):
                number = step * n_kernels + i + 1
                file.write('{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": '
                           '1, "tid": 1, "ts": %d, "dur": 4, "args": {"correlation": %d}},\n'
                           '{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, '
                           '"ts": %d, "dur": 7, "args": {"correlation": %d, "stream": 7, '
                           '"device": 0}},\n' % (at + i * 10, number, at + i * 10 + 2, number))
            at += n_kernels * 10
        file.write('{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "x"}}]}\n')


class WorkProgress(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.trace = os.path.join(cls.base, "big.json")
        write_trace(cls.trace)

    def has_opened_trace(self, pid):
        folder = f"/proc/{pid}/fd"
        try:
            return any(os.path.realpath(os.path.join(folder, fd)) == os.path.realpath(self.trace)
                       for fd in os.listdir(folder))
        except FileNotFoundError:
            return True  # it has ended

    def has_begun(self, pid):
        """Whether the thread that shows the line runs, so that the two seconds count, and the trace
        is open, so that the line names it."""
        try:
            return len(os.listdir(f"/proc/{pid}/task")) > 1 and self.has_opened_trace(pid)
        except FileNotFoundError:
            return True  # it has ended

    def stop(self, pid, is_ready):
        """Stops the command for so long that it takes more than two seconds."""
        until = time.monotonic() + PATIENCE_S
        while not is_ready(pid) and time.monotonic() < until:
            time.sleep(0.001)
        os.kill(pid, signal.SIGSTOP)
        time.sleep(STOPPED_S)
        os.kill(pid, signal.SIGCONT)

    def on_terminal(self, *arguments, is_ready=None, **settings):
        env = environment(**{"TERM": "xterm", **settings})
        terminal = Terminal([TOOL, *arguments], env, columns=200)
        self.addCleanup(terminal.close)
        self.stop(terminal.pid, is_ready or self.has_begun)
        return terminal

    def commands(self):
        other = os.path.join(self.base, "other", "big.json")
        os.makedirs(os.path.dirname(other), exist_ok=True)
        if not os.path.exists(other):
            os.link(self.trace, other)
        yield ["report", self.trace]
        yield ["diff", self.trace, other]
        yield ["merge", self.trace, other, "-o", os.path.join(self.base, "m.zip")]
        yield ["export", self.trace, "-o", self.folder()]
        yield ["whatif", self.trace, "--free", "launch"]

    def test_a_long_command_shows_a_line_and_erases_it(self):
        for arguments in self.commands():
            with self.subTest(arguments[0]):
                terminal = self.on_terminal(*arguments)
                self.assertEqual(terminal.end(), 0, terminal.shown)
                found = LINE.search(terminal.shown)
                self.assertTrue(found, terminal.shown[:600])
                self.assertGreaterEqual(int(found[1]), 2)
                screen = Screen(rows=500, columns=200)
                screen.write(re.sub(r"\x1b\[[0-9;]*m", "", terminal.shown))
                text = "\n".join(screen.text())
                self.assertNotRegex(text, LINE, "it is erased")
                without = subprocess.run([TOOL, *arguments], env=environment(), text=True,
                                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                self.assertEqual(without.stdout.split(), text.split())

    def test_a_short_command_shows_none(self):
        env = environment(TERM="xterm")
        terminal = Terminal([TOOL, "info", self.trace], env)
        self.assertEqual(terminal.end(), 0)
        self.assertNotRegex(terminal.shown, LINE)

    def test_switched_off(self):
        terminal = self.on_terminal("report", self.trace, is_ready=self.has_opened_trace,
                                    PROF_PROGRESS="off")
        self.assertEqual(terminal.end(), 0)
        self.assertNotRegex(terminal.shown, LINE)

    def test_only_if_stderr_is_a_terminal(self):
        child = subprocess.Popen([TOOL, "report", self.trace, "--json"], env=environment(),
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.stop(child.pid, self.has_opened_trace)
        out, err = child.communicate(timeout=PATIENCE_S)
        self.assertEqual((child.returncode, err), (0, b""))
        json.loads(out)

    def test_output_that_is_not_for_the_terminal(self):
        """`profrun report TRACE --json >FILE`: the line is on the terminal, not in the file."""
        path = self.folder()
        terminal = Terminal(["/bin/sh", "-c", f'exec "$0" report "$1" --json >{path}', TOOL,
                             self.trace], environment(TERM="dumb"))
        self.addCleanup(terminal.close)
        self.stop(terminal.pid, self.has_begun)
        self.assertEqual(terminal.end(), 0)
        self.assertRegex(terminal.shown, LINE)
        self.assertNotIn("\x1b", terminal.shown, "blanks erase it on every terminal")
        self.assertRegex(terminal.shown, r"\r +\r$")
        with open(path) as file:
            json.load(file)

    def test_a_narrow_terminal(self):
        terminal = Terminal([TOOL, "report", self.trace, "--json"], environment(TERM="xterm"),
                            columns=30)
        self.addCleanup(terminal.close)
        self.stop(terminal.pid, self.has_begun)
        self.assertEqual(terminal.end(), 0)
        lines = [piece for piece in re.split(r"[\r\n]", terminal.shown) if "profrun: big" in piece]
        self.assertTrue(lines)
        self.assertLessEqual(max(len(line.rstrip()) for line in lines), 29)


if __name__ == "__main__":
    unittest.main()
