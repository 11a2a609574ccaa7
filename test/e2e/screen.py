"""A small terminal: shows what a user sees of the bytes that were written to a pseudo-terminal."""
import codecs
import fcntl
import os
import pty
import re
import select
import struct
import termios
import time

ESCAPE = re.compile(r"\x1b(?:\[(\??[0-9;]*)([A-Za-z])|([78DM]))")

# A shell's part: runs a command in a group of its own, waits until the terminal's Ctrl-Z stops it,
# and continues it after a line of input.
SHELL = """
import os, signal, subprocess, sys
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
child = subprocess.Popen(sys.argv[1:], preexec_fn=os.setpgrp)
os.tcsetpgrp(0, child.pid)
print("stopped", os.WIFSTOPPED(os.waitpid(child.pid, os.WUNTRACED)[1]), flush=True)
os.tcsetpgrp(0, os.getpgrp())
sys.stdin.readline()
os.tcsetpgrp(0, child.pid)
os.killpg(child.pid, signal.SIGCONT)
print("ended", os.waitstatus_to_exitcode(os.waitpid(child.pid, 0)[1]), flush=True)
"""


class Screen:
    """Knows cursor movement, the scrolling region, erasing, and private modes; nothing else is
    written."""

    def __init__(self, rows=24, columns=80):
        self.rows, self.columns = rows, columns
        self.lines = [[" "] * columns for _ in range(rows)]
        self.scrolled = []  # lines that have left the screen at its top
        self.row = self.column = 0
        self.bottom = rows - 1  # of the scrolling region
        self.saved = (0, 0)
        self.modes = {"25"}  # private modes that are on; 25: the cursor is visible

    def write(self, text):
        at = 0
        while at < len(text):
            match = ESCAPE.match(text, at)
            if match:
                self.escape(match)
                at = match.end()
                continue
            assert text[at] != "\x1b", f"unknown escape sequence: {text[at:at + 8]!r}"
            self.put(text[at])
            at += 1

    def put(self, char):
        if char == "\n":
            self.down()
        elif char == "\r":
            self.column = 0
        elif self.column < self.columns:
            self.lines[self.row][self.column] = char
            self.column += 1

    def down(self):
        if self.row != self.bottom:
            self.row = min(self.row + 1, self.rows - 1)
            return
        self.scrolled.append(self.lines.pop(0))
        self.lines.insert(self.bottom, [" "] * self.columns)

    def escape(self, match):
        numbers, letter, single = match.groups()
        if numbers and numbers.startswith("?"):
            assert letter in "hl", match.group()
            change = self.modes.add if letter == "h" else self.modes.discard
            return change(numbers[1:])
        values = [int(word) for word in numbers.split(";")] if numbers else []
        if single == "7":
            self.saved = (self.row, self.column)
        elif single == "8":
            self.row, self.column = self.saved
        elif single == "D":
            self.down()
        elif letter == "A":
            self.row = max(0, self.row - (values or [1])[0])
        elif letter == "H":
            self.row, self.column = [value - 1 for value in values or [1, 1]]
        elif letter == "J":
            assert values == [2]
            self.lines = [[" "] * self.columns for _ in range(self.rows)]
        elif letter == "K":
            assert values == [2]
            self.lines[self.row] = [" "] * self.columns
        elif letter == "r":
            self.bottom = (values[1] if values else self.rows) - 1
            self.row = self.column = 0
        else:
            assert letter == "m", match.group()

    def text(self):
        """All lines, also those that have left the screen."""
        return ["".join(line).rstrip() for line in self.scrolled + self.lines]

    def last_row(self):
        return "".join(self.lines[-1]).rstrip()


class Terminal:
    """A command on a pseudo-terminal of its own, as the leader of its session."""

    def __init__(self, command, env, rows=24, columns=80):
        """`rows` 0: of unknown size."""
        self.pid, self.fd = pty.fork()
        if not self.pid:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            os.execve(command[0], command, env)
        self.shown = ""
        self.decoder = codecs.getincrementaldecoder("utf-8")()  # a read may split a character

    def read(self, seconds=0.1):
        """Returns whether the command still holds the terminal."""
        if not select.select([self.fd], [], [], seconds)[0]:
            return True
        try:
            piece = os.read(self.fd, 65536)
        except OSError:  # the other end is closed
            return False
        self.shown += self.decoder.decode(piece)
        return bool(piece)

    def read_until(self, condition, within_s):
        until = time.monotonic() + within_s
        while not condition(self.shown):
            assert self.read() and time.monotonic() < until, self.shown[-2000:]

    def close(self):
        """Takes the terminal away from the command, which ends it."""
        if self.fd >= 0:
            os.close(self.fd)
        self.fd = -1

    def end(self):
        """Reads to the end; returns the exit status."""
        while self.read():
            pass
        self.close()
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
