"""The launcher runs the application wherever the application itself could run.

Too few descriptors or processes, no /proc, paths that are too long: the run is at worst not
profiled, which one line on stderr says.
"""
import os
import pwd
import resource
import shutil
import stat
import subprocess
import unittest

from harness import EVERYTHING, LAUNCHER, TOOL, Case, environment, prog

UNPROFILED = "the application runs without profiling"


def limited(what, number):
    """Returns what a child process does to limit itself."""
    return lambda: resource.setrlimit(what, (number, number))


class Resources(Case):
    def run_limited(self, program, limit, command, **settings):
        """Runs PROGRAM without a hang. Returns its status, output and lines on stderr."""
        folder = self.folder()
        line = [*program, "--sim", "-o", folder, "--schedule", "always", "--", *command]
        child = subprocess.run(line, env=environment(**settings), capture_output=True, text=True,
                               cwd=self.base, timeout=100, preexec_fn=limit, check=False)
        return child.returncode, child.stdout, child.stderr.splitlines(), folder

    def check_runs(self, status, out, lines, folder):
        self.assertEqual((status, out), (0, "300 steps\n"), lines)
        if any(UNPROFILED in line for line in lines):
            self.assertEqual(len(lines), 1, lines)
            self.assertFalse(os.path.exists(folder), "an unprofiled run leaves no folder")
            return False
        return True

    def test_few_descriptors(self):
        """The program profrun needs one descriptor more than the application. The launcher is a
        script: dash, the shell of Debian, needs eleven to read one."""
        profiled = {}
        for n in range(5, 15):
            with self.subTest(descriptors=n):
                run = self.run_limited([TOOL, "run"], limited(resource.RLIMIT_NOFILE, n),
                                       [prog("loop"), "300"])
                profiled[n] = self.check_runs(*run)
        self.assertFalse(profiled[5], "the test's lowest limit is too high to test anything")
        self.assertTrue(profiled[14])
        self.assertTrue(self.check_runs(*self.run_limited(
            [LAUNCHER], limited(resource.RLIMIT_NOFILE, 14), [prog("loop"), "300"])))

    def test_closed_standard_files(self):
        """The pipes of launcher and collector may then have the numbers 0, 1 and 2."""
        code = (f"{TOOL} run --sim -o {self.base}/closed --schedule always -- {prog('loop')} 300 "
                "<&- >&- 2>&-")
        run = self.execute(["sh", "-c", code], f"{self.base}/closed", environment())
        self.assertEqual(run.status, 0)
        self.assertEqual(len(run.traces()), 300)

    @unittest.skipUnless(os.geteuid() == 0, "another user's id takes root")
    def test_no_further_process(self):
        nobody = pwd.getpwnam("nobody")
        os.chmod(self.base, stat.S_IRWXU | stat.S_IRWXG | stat.S_IRWXO)

        def limit():
            os.setgid(nobody.pw_gid)
            os.setuid(nobody.pw_uid)
            resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))

        status, out, lines, folder = self.run_limited([TOOL, "run"], limit, ["sh", "-c", "echo hi"])
        self.assertEqual((status, out), (0, "hi\n"), lines)
        self.assertIn(UNPROFILED, lines[-1])
        self.assertFalse(os.path.exists(folder))


class NoProc(Case):
    HIDDEN = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
              'mount -t tmpfs none /proc && exec "$@"', "sh"]

    def test_the_application_runs(self):
        if subprocess.run([*self.HIDDEN, "true"], stderr=subprocess.DEVNULL).returncode:
            self.skipTest("/proc cannot be hidden here")
        line, folder, env = self.launched([prog("loop"), "300"], **EVERYTHING)
        run = self.execute([*self.HIDDEN, *line], folder, env)
        self.assertEqual((run.status, run.out), (0, "300 steps\n"), run.err)
        self.assertEqual(len(run.traces()), 300, run.err)


class Paths(Case):
    def test_a_folder_of_any_length(self):
        for length in (1000, 1016, 1017, 1024, 4095, 4096, 10000):
            with self.subTest(length=length):
                folder = self.base + ("/" + 99 * "x") * ((length - len(self.base)) // 100)
                folder += "y" * (length - len(folder))
                run = self.execute([LAUNCHER, "--sim", "-o", folder, prog("loop"), "300"], folder,
                                   environment(**EVERYTHING))
                self.assertEqual((run.status, run.out), (0, "300 steps\n"), run.err)
                if length <= 1017:
                    self.assertEqual(len(run.traces()), 300)
                else:
                    self.assertEqual(len(run.err.splitlines()), 1, run.err)
                    self.assertIn("has more than 1017 bytes; " + UNPROFILED, run.err)
                shutil.rmtree(self.base + "/" + 99 * "x", ignore_errors=True)


class Collector(Case):
    def test_a_folder_that_is_no_run(self):
        os.mkdir(folder := self.folder())
        run = self.execute([TOOL, "collect", folder], folder, environment())
        self.assertEqual(run.status, 2)
        self.assertEqual(run.err, f"profrun: collect: {folder} is not the folder of a run: no "
                                  "journal is in it\n")

    def test_the_folder_of_a_run(self):
        first = self.preloaded([prog("loop"), "300"], **EVERYTHING)
        run = self.execute([TOOL, "collect", first.folder], first.folder, environment())
        self.assertEqual(run.status, 0, run.err)
        self.assertEqual(len(run.traces()), 300)


if __name__ == "__main__":
    unittest.main()
