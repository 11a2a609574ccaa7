"""Somebody truncates the journal during a run: the application goes on."""
import signal
import unittest

from harness import EVERYTHING, Case, prog


class BusError(Case):
    def truncated(self, how):
        folder = self.folder()
        return self.preloaded([prog("bus_error"), folder, how], PROF_OUT=folder, **EVERYTHING)

    def test_the_program_goes_on(self):
        run = self.truncated("plain")
        self.assertEqual((run.status, run.out), (0, "done\n"), run.err)
        self.assertRegex(run.err, r"was truncated: nothing more is recorded\n$")
        self.assertEqual(len(run.err.splitlines()), 1)

    def test_the_programs_own_handler_gets_its_own_faults(self):
        run = self.truncated("own")
        self.assertEqual((run.status, run.out), (0, "done\n"), run.err)

    def test_the_programs_own_faults_end_it(self):
        self.assertEqual(self.truncated("default").status, -signal.SIGBUS)


if __name__ == "__main__":
    unittest.main()
