"""Everything was killed, and the journal is read where its clock cannot be read any more."""
import os
import signal
import struct
import subprocess
import time
import unittest

from harness import EVERYTHING, Case, Run, applications, prog, read_proc
from journal import HEADER, Journal

TSC = 1
FIRST_POINT = HEADER.size - 7 * 8  # ticks, monotonic and real time; then the last point
LAST_POINT = HEADER.size - 4 * 8
ANOTHER_BOOT_NS = 10**13


class Clock(Case):
    def killed(self, after_s):
        """Returns the journal of a run whose processes were all killed. It seems to be written
        during another boot of the machine."""
        line, folder, env = self.launched([prog("loop"), "100000000", "plain", "1000"],
                                          **EVERYTHING, PROF_KEEP_TRACES=1)
        child = subprocess.Popen(line, env=env, stdout=subprocess.DEVNULL, cwd=self.base,
                                 stderr=subprocess.DEVNULL, start_new_session=True)
        collector = self.collector(folder)
        (path,) = self.eventually("the application has a journal",
                                  lambda: Run(0, "", "", folder).paths("journal/*.journal"))
        (application,) = applications(folder)
        time.sleep(after_s)
        self.eventually("a reading", lambda: Journal(path, header_only=True).last_point[0])
        for pid in collector, child.pid, application:
            os.kill(pid, signal.SIGKILL)
        child.wait()
        # until then a killed process may still be seen
        self.eventually("its last thread ends", lambda: not read_proc(application, "stat"))
        self.eventually("no command takes it for a running process",
                        lambda: "running" not in self.tool("info", path).out)
        journal = Journal(path, header_only=True)
        if journal.clock_kind != TSC:
            self.skipTest("the time-stamp counter is not the clock here")
        with open(path, "r+b") as file:
            file.seek(FIRST_POINT + 16)
            file.write(struct.pack("<Q", journal.first_point[2] - ANOTHER_BOOT_NS))
        return folder, path, journal

    def test_its_rate_is_known(self):
        folder, path, journal = self.killed(2)
        before = time.monotonic_ns()
        self.assertLess(journal.last_point[1], before)
        self.assertEqual(journal.ended_ticks, 0)
        self.assertNotIn("estimated", self.tool("info", path).out)
        report = self.tool("report", folder)
        self.assertEqual((report.status, report.err), (0, ""))
        self.assertNotIn("clock", report.out)

    def test_an_unknown_rate_is_said(self):
        folder, path, _ = self.killed(0)
        with open(path, "r+b") as file:
            file.seek(LAST_POINT)
            file.write(bytes(24))
        self.assertIn("estimated", self.tool("info", path).out)
        for words in ["report"], ["export"]:
            with self.subTest(words=words):
                run = self.tool(words[0], folder)
                self.assertEqual(run.status, 1)
                self.assertIn("the rate of its clock is unknown", run.err)


if __name__ == "__main__":
    unittest.main()
