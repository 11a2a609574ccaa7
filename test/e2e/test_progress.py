"""What the launcher shows on a terminal while the application runs."""
import os
import re
import signal
import sys
import unittest

from harness import PATIENCE_S, Case, children, prog, read_proc
from screen import SHELL, Screen, Terminal

# Prints whole lines, lines in two parts and a progress bar, while a child makes steps.
TALKER = """
import subprocess, sys, time
child = subprocess.Popen([sys.argv[1], "1200", "plain", "3000"], stdout=subprocess.DEVNULL)
i = 0
while child.poll() is None:
    print(f"line {i} ", end="", flush=True)
    time.sleep(.03)
    print(f"has an end {i}", flush=True)
    print(f"bar {i} of many\\rbar", end="\\r", flush=True)
    time.sleep(.03)
    i += 1
print("\\n" + str(i) + " lines")
"""
SUMMARY = re.compile(r"profrun: [^\r\n]*: exit 0 after ")
STATUS = re.compile(r"profrun: .*; step [\d,]+; \d+\.\d+ ms.*; \d+ dropped")


class Progress(Case):
    def on_terminal(self, command, options=(), rows=24, columns=80, **settings):
        line, _, env = self.launched(command, options, **{"TERM": "xterm", **settings})
        return Terminal(line, env, rows, columns)

    def talker(self, **settings):
        return self.on_terminal([sys.executable, "-c", TALKER, prog("loop")], **settings)

    def assert_intact(self, lines):
        """Whether the application's lines are all there, in order, and without any other text."""
        own = [line for line in lines if line.startswith(("line ", "bar"))]
        said = [int(line.split()[0]) for line in lines if re.fullmatch(r"\d+ lines", line)]
        self.assertEqual(len(said), 1, lines)
        for i, line in enumerate(own):
            self.assertRegex(line, rf"^line {i} has an end {i}$|^bar {i - 1} of many$")
        self.assertGreaterEqual(len(own), said[0])

    def test_the_status_line_leaves_the_output_alone(self):
        terminal = self.talker()
        terminal.read_until(lambda shown: len(STATUS.findall(shown)) > 1, PATIENCE_S)
        during = Screen()
        during.write(terminal.shown)
        self.assertEqual(terminal.end(), 0)
        after = Screen()
        after.write(terminal.shown)
        self.assertRegex(during.last_row(), STATUS)
        self.assertNotIn("dropped", "\n".join(during.text()[:-1]), "it is in one row only")
        self.assertRegex(terminal.shown, r"^profrun: profiling \S+ .* into \S+; Ctrl-C ends it")
        self.assert_intact(after.text())
        self.assertFalse([line for line in after.text() if STATUS.search(line)], "it is removed")
        self.assertEqual(after.bottom, after.rows - 1, "the terminal scrolls as a whole again")

    def test_utilization_is_shown_when_it_is_known(self):
        terminal = self.talker()
        known = re.compile(r"recorded \d+-\d+; step .* ms; GPU utilization \d+ %; ")
        terminal.read_until(known.search, PATIENCE_S)
        self.assertEqual(terminal.end(), 0)

    def test_a_terminal_of_unknown_size(self):
        for settings in ({"rows": 0, "columns": 0}, {"TERM": "dumb"}):
            with self.subTest(settings):
                terminal = self.talker(**settings)
                self.assertEqual(terminal.end(), 0)
                before_summary = SUMMARY.split(terminal.shown)[0]
                self.assertNotIn("\x1b[", before_summary)
                pieces = re.split(r"[\r\n]+", before_summary)
                self.assertTrue([piece for piece in pieces if STATUS.match(piece)], pieces)
                for piece in pieces:
                    self.assertFalse(re.search("(line|bar).*profrun: ", piece) or
                                     re.search("dropped.*(line|bar)", piece), piece)

    def assert_silent(self, terminal):
        self.assertEqual(terminal.end(), 0)
        self.assertNotIn("profrun: profiling", terminal.shown)
        self.assertNotIn(" dropped", SUMMARY.split(terminal.shown)[0])

    def test_switched_off(self):
        self.assert_silent(self.talker(PROF_PROGRESS="off"))
        self.assert_silent(self.talker(options=["--quiet"]))
        self.assert_silent(self.talker(RANK="1"))

    def test_not_on_a_terminal(self):
        run = self.profiled([prog("loop"), "600", "plain", "3000"])
        self.assertNotIn("profrun: profiling", run.err)
        self.assertNotIn("\x1b", run.err)

    def test_an_application_that_reads_keys(self):
        keys = "import sys, tty; tty.setcbreak(0)\n" + TALKER
        terminal = self.on_terminal([sys.executable, "-c", keys, prog("loop")])
        self.assertEqual(terminal.end(), 0)
        self.assertNotRegex(terminal.shown, STATUS)

    def test_an_application_that_begins_to_read_keys(self):
        """An editor or pager draws on all rows, so the status line gives up its own."""
        code = TALKER.replace("    i += 1\n", "    i += 1\n    if i == 40:\n"
                              "        import tty; tty.setcbreak(0); print('keys', flush=True)\n")
        terminal = self.on_terminal([sys.executable, "-c", code, prog("loop")])
        terminal.read_until(lambda shown: "keys\r\n" in shown, PATIENCE_S)
        self.assertRegex(terminal.shown, STATUS)
        terminal.read_until(lambda shown: shown.count("\x1b[r"), PATIENCE_S)
        n = len(terminal.shown)
        self.assertEqual(terminal.end(), 0)
        self.assertNotRegex(terminal.shown[n:], STATUS)
        screen = Screen()
        screen.write(terminal.shown)
        self.assertEqual(screen.bottom, screen.rows - 1)

    def test_an_application_that_ends_while_it_reads_keys(self):
        code = TALKER + "\nimport tty; tty.setcbreak(0)"
        terminal = self.on_terminal([sys.executable, "-c", code, prog("loop")])
        self.assertEqual(terminal.end(), 0)
        self.assertRegex(terminal.shown, STATUS)
        screen = Screen()
        screen.write(terminal.shown)
        self.assertEqual(screen.bottom, screen.rows - 1, "the terminal scrolls as a whole")

    def test_stopped_and_continued(self):
        """A shell's part: the launcher in its own group, stopped by the terminal's Ctrl-Z."""
        line, _, env = self.launched([sys.executable, "-c", TALKER, prog("loop")], TERM="xterm")
        terminal = Terminal([sys.executable, "-c", SHELL, *line], env)
        terminal.read_until(lambda shown: STATUS.search(shown), PATIENCE_S)
        os.write(terminal.fd, b"\x1a")
        terminal.read_until(lambda shown: "stopped True" in shown, PATIENCE_S)
        screen = Screen()
        screen.write(terminal.shown)
        self.assertEqual(screen.bottom, screen.rows - 1, "the shell has the whole terminal")
        self.assertNotRegex("\n".join(screen.text()), STATUS)
        n = len(terminal.shown)
        os.write(terminal.fd, b"\n")
        terminal.read_until(lambda shown: STATUS.search(shown[n:]), PATIENCE_S)
        terminal.end()
        self.assertIn("ended 0", terminal.shown)


if __name__ == "__main__":
    unittest.main()
