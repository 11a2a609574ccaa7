"""Compares Python's frames as the library reads them with sys._getframe, in every CPython here.

test/prog/python_frames.py has the cases. It runs inside each interpreter with the library's code
for Python as a shared object. For a missing interpreter a skip says so.
"""
import glob
import os
import shutil
import subprocess
import tempfile
import unittest

from harness import BUILD, ROOT

LIBRARY = os.path.join(BUILD, "test/prog/python_frames.so")
HOST = os.path.join(BUILD, "test/prog/python_host")
PROGRAM = os.path.join(ROOT, "test/prog/python_frames.py")
READABLE = [f"3.{minor}" for minor in range(8, 16)] + ["3.13t", "3.14t", "3.15t"]
TOO_OLD = ["3.6", "3.7"]
# Python 3.12 and later warn of a fork in a process with threads.
WARNS_OF_FORK = {"PYTHONWARNINGS": "ignore::DeprecationWarning"}


def version_of(path):
    """Returns a version such as "3.11.2" or "3.13.5t"; None if the interpreter does not run."""
    question = ("import sys, sysconfig as s; print('%d.%d.%d' % sys.version_info[:3] + 't' * "
                "bool(s.get_config_var('Py_GIL_DISABLED')))")
    try:
        answer = subprocess.run([path, "-c", question], stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL, timeout=60, universal_newlines=True)
    except OSError:
        return None
    return answer.stdout.strip() if not answer.returncode else None


def find_interpreters():
    """Returns paths by minor version ("3.8", "3.13t"): those of pyenv and those in /usr.

    A minor version can have several, such as pyenv's and the system's own.
    """
    patterns = [os.path.join(os.path.expanduser(os.environ.get("PYENV_ROOT", "~/.pyenv")),
                             "versions/*/bin/python3"),
                "/usr/bin/python3", "/usr/bin/python3.[0-9]*[0-9t]",
                "/usr/local/bin/python3.[0-9]*[0-9t]"]
    found, seen = {}, set()
    for path in (path for pattern in patterns for path in sorted(glob.glob(pattern))):
        version = version_of(path)
        if version and version not in seen:
            seen.add(version)
            minor = ".".join(version.split(".")[:2]) + ("t" if version.endswith("t") else "")
            found.setdefault(minor, []).append((version, path))
    return found


INTERPRETERS = find_interpreters()


class Frames(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="python-frames-")
        self.addCleanup(shutil.rmtree, self.folder)

    def run_case(self, path, case):
        child = subprocess.run([path, PROGRAM, LIBRARY, self.folder, case], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, timeout=300, universal_newlines=True,
                               errors="surrogateescape", env={**os.environ, **WARNS_OF_FORK})
        return child.returncode, child.stdout, child.stderr

    def each(self, minor, case):
        """Yields the case's output in each interpreter of this minor version, after checking that
        its exit status is 0 and that it printed nothing on stderr."""
        for version, path in INTERPRETERS[minor]:
            with self.subTest(version=version):
                status, out, err = self.run_case(path, case)
                self.assertEqual((status, err), (0, ""), f"{version} {case}: {out}")
                yield version, out

    def check_ok(self, minor, *cases):
        for case in cases:
            for version, out in self.each(minor, case):
                self.assertTrue(out.startswith("ok"), f"{version} {case}: {out}")

    def check_frames(self, minor):
        self.check_ok(minor, "frames", "depth", "entries", "renamed", "bytecode")
        for version, out in self.each(minor, "version"):
            self.assertEqual(out.split()[0], version)

    def check_reuse(self, minor):
        self.check_ok(minor, "reuse", "cap", "errno")

    def check_lives(self, minor):
        """Checks forks, threads, the interpreter's end, other interpreters in the process."""
        self.check_ok(minor, "fork", "stress", "daemon", "daemon", "daemon")
        for version, out in self.each(minor, "atexit"):
            self.assertRegex(out, r"^atexit: (case_atexit.<locals>.)?bye\nlate: "
                                  r"(case_atexit.<locals>.Late.)?__del__\n$",
                             version)
        for version, out in self.each(minor, "subinterpreter"):
            self.assertRegex(out, r"(?m)^ok 2$", version)
            # Before 3.12 the frames of the first interpreter are shown; 3.12's has no ctypes.
            if int(version.split(".")[1]) >= 13:
                self.assertIn("inside: inside\n", out)

    def check_shifts(self, minor):
        self.check_ok(minor, "shift")

    def check_late(self, minor):
        """Checks a libpython that only its host sees, loaded after the library searched for one."""
        tried = 0
        for version, path in INTERPRETERS[minor]:
            prefix = os.path.dirname(os.path.dirname(path))
            for python in glob.glob(os.path.join(prefix, f"lib/libpython{minor}.so.1.0")):
                tried += 1
                child = subprocess.run([HOST, LIBRARY, python, self.folder], stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, universal_newlines=True, timeout=60,
                                       env={**os.environ, "PYTHONHOME": prefix})
                self.assertEqual((child.returncode, child.stderr), (0, ""), version)
                lines = child.stdout.splitlines()
                self.assertEqual(lines[:4], ["no Python: 0 frames", "not initialized: 0 frames",
                                             "no frames yet: 0 frames", "called: 2 frames"],
                                 version)
                self.assertEqual([line.split("\t")[:3] for line in lines[4:]],
                                 [["<string>", "2", "f"], ["<string>", "3", "<module>"]], version)
        if not tried:
            self.skipTest(f"no libpython{minor}.so on this machine")


def native_only(self, minor):
    for version, path in INTERPRETERS[minor]:
        status, out, err = self.run_case(path, "version")
        self.assertEqual((status, out),
                         (0, f"{version}: profrun does not know the frame layout of this "
                             "version 0\n"))
        self.assertRegex(err, rf"^profrun\[\d+\]: Python {version}: profrun does not know the "
                              r"frame layout of this version; "
                              r"stacks are recorded without Python frames\n$")


def absent(self, minor):
    self.skipTest(f"no CPython {minor} on this machine: its frames are only tested on made memory")


def add_tests():
    checks = {"frames": Frames.check_frames, "reuse": Frames.check_reuse,
              "lives": Frames.check_lives, "shifts": Frames.check_shifts, "late": Frames.check_late}
    wanted = [(minor, checks) for minor in READABLE] + [(minor, {"native_only": native_only})
                                                        for minor in TOO_OLD]
    for minor, tests in wanted:
        for name, function in (tests if minor in INTERPRETERS else {"frames": absent}).items():
            setattr(Frames, f"test_{name}_{minor.replace('.', '_')}",
                    lambda self, f=function, m=minor: f(self, m))


add_tests()

if __name__ == "__main__":
    unittest.main()
