"""Somebody truncates the journal during a run: the application and the collector go on."""
import signal
import unittest

from harness import EVERYTHING, LAUNCHER, Case, prog


class BusError(Case):
    def truncated(self, how):
        folder = self.folder()
        return self.preloaded([prog("bus_error"), folder, how], PROF_OUT=folder, **EVERYTHING)

    def test_the_program_goes_on(self):
        run = self.truncated("plain")
        self.assertEqual((run.status, run.out), (0, "done\n"), run.err)
        self.assertRegex(run.err, r"was truncated: nothing more is recorded\n$")
        self.assertEqual(len(run.err.splitlines()), 1)

    def test_the_collector_goes_on(self):
        folder = self.folder()
        run = self.execute([LAUNCHER, "--sim", "-o", folder, "--", prog("bus_error"), folder,
                            "read"], folder, self.environment(**EVERYTHING))
        self.assertEqual((run.status, run.out), (0, "done\n"), run.err)
        said = [line for line in run.err.splitlines() if "truncated to 4096 of" in line]
        self.assertEqual(len(said), 1, run.err)
        self.assertRegex(said[0], r"^profrun: .*\.journal: the journal was truncated to 4096 of "
                                  r"\d+ bytes during the run: \d+ of \d+ chunks of records are "
                                  r"lost$")
        self.assertEqual(len(run.json["processes"]), 1)
        self.assertIn("was truncated", run.json["processes"][0]["damage"])

    def test_the_programs_own_handler_gets_its_own_faults(self):
        run = self.truncated("own")
        self.assertEqual((run.status, run.out), (0, "done\n"), run.err)

    def test_the_programs_own_faults_end_it(self):
        self.assertEqual(self.truncated("default").status, -signal.SIGBUS)


if __name__ == "__main__":
    unittest.main()
