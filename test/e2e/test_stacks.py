"""Stacks in the journal: the right frames in the right order, and the settings for them.

Oracles: nm's symbols of the mapped files, and Python's own view of its stack.
"""
import bisect
import json
import os
import subprocess
import sys

from harness import BUILD, ROOT, SIM, Case
from test_python_frames import INTERPRETERS
from trace import Trace

PROG = os.path.join(BUILD, "test", "prog")
PLUGINS = [os.path.join(PROG, f"plugin_{name}.so") for name in ("first", "other")]
READABLE = sorted(row for minor, rows in INTERPRETERS.items() if minor not in ("3.6", "3.7")
                  for row in rows)
UNMERGED, BY_NAME = 2, 4
ALWAYS = {"PROF_SCHEDULE": "always", "PROF_CUPTI": "off"}


class Symbols:
    """Finds the function of an offset, with nm."""

    def __init__(self):
        self.tables = {}

    def at(self, path, offset):
        if path not in self.tables:
            rows = []
            for flags in (["-n"], ["-nD"]):
                listed = subprocess.run(["nm", *flags, path], stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
                rows += [line.split() for line in listed.stdout.splitlines()]
            self.tables[path] = sorted((int(row[0], 16), row[2].split("@")[0]) for row in rows
                                       if len(row) == 3 and row[1] in "tTwW")
        table = self.tables[path]
        place = bisect.bisect(table, (offset, "\x7f")) - 1
        return table[place][1] if place >= 0 else "?"


def frames(journal, stack, symbols):
    """Returns the frames, innermost first: ("native", function, module) or ("python", qualname,
    file)."""
    found = []
    for frame in journal.frames(stack):
        if frame.kind == "python":
            code = journal.codes[frame.code]
            found.append(("python", journal.strings[code.name], journal.strings[code.file]))
        elif frame.module:
            path = journal.modules[frame.module].path
            found.append(("native", symbols.at(path, frame.offset - 1), os.path.basename(path)))
        else:
            found.append(("native", "?", "-"))
    return found


class Stacks(Case):
    def profile(self, *command, **settings):
        run = self.preloaded(list(command), **{**ALWAYS, **settings})
        self.assertEqual(run.status, 0, run.err)
        return run, run.journal()

    def call(self, journal, name, number=0):
        return [c for c in journal.calls() if c.name == name][number]


class Native(Stacks):
    def program(self, **settings):
        run, journal = self.profile(os.path.join(PROG, "stacks"), *PLUGINS, **settings)
        return run, journal, Symbols()

    def test_a_chain_of_functions(self):
        _, journal, symbols = self.program()
        functions = [row[1]
                     for row in frames(journal, self.call(journal, "cudaMemset").stack, symbols)]
        self.assertEqual(functions[:6],
                         ["innermost", "middle", "middle", "middle", "middle", "main"])
        self.assertEqual(functions[-1], "_start")

    def test_a_plugin_in_the_place_of_another(self):
        run, journal, symbols = self.program()
        self.assertEqual(len(set(run.out.split())), 1,
                         "the plugins were not loaded at the same address: nothing was tested")
        for number, name in ((1, "first"), (2, "other")):
            found = frames(journal, self.call(journal, "cudaMemset", number).stack, symbols)
            self.assertEqual([row[1:] for row in found[:3]],
                             [(f"plugin_{name}", f"plugin_{name}.so"),
                              ("plugin_work", f"plugin_{name}.so"), ("from_plugin", "stacks")])

    def test_modules_have_their_build_ids(self):
        _, journal, _ = self.program()
        for module in journal.modules.values():
            if os.path.exists(module.path):
                notes = subprocess.run(["readelf", "-n", module.path], stdout=subprocess.PIPE,
                                       stderr=subprocess.DEVNULL, text=True)
                if "Build ID" in notes.stdout:
                    self.assertIn(module.build_id, notes.stdout)

    def test_depth(self):
        _, journal, symbols = self.program(PROF_STACK_DEPTH="3")
        call = self.call(journal, "cudaMemset")
        self.assertEqual([row[1] for row in frames(journal, call.stack, symbols)],
                         ["innermost", "middle", "middle"])
        self.assertTrue(journal.stacks[call.stack].flags & 1, "not marked as truncated")

    def test_only_calls_that_may_wait(self):
        _, journal, _ = self.program(PROF_STACKS="sync")
        for call in journal.calls():
            waits = call.category in ("sync", "memcpy", "memset", "alloc", "free", "event", "query")
            self.assertEqual(bool(call.stack), waits, call.name)

    def test_none(self):
        _, journal, _ = self.program(PROF_STACKS="none")
        self.assertEqual({c.stack for c in journal.calls()}, {0})
        self.assertFalse(journal.stacks or journal.modules)

    def test_without_libunwind(self):
        """On a machine without it one line says so, and the program runs."""
        folder = self.folder()
        os.mkdir(folder)
        open(os.path.join(folder, "libunwind.so.8"), "w").close()
        run, journal = self.profile(os.path.join(PROG, "stacks"), LD_LIBRARY_PATH=f"{folder}:{SIM}")
        self.assertEqual(len([line for line in run.own_lines() if "libunwind" in line]), 1, run.err)
        self.assertEqual({c.stack for c in journal.calls()}, {0})


class WithPython(Stacks):
    def program(self, python=sys.executable, **settings):
        run, journal = self.profile(python, os.path.join(ROOT, "test/prog/stacks.py"),
                                    os.path.join(SIM, "libcudart.so.13"), **settings)
        return json.loads(run.out), journal, frames(journal, self.call(journal, "cudaMemset").stack,
                                                    Symbols())

    def test_frames_are_merged(self):
        """By the library, for each interpreter here that allows it."""
        for version, python in READABLE:
            with self.subTest(version):
                seen, journal, found = self.program(python)
                flags = journal.stacks[self.call(journal, "cudaMemset").stack].flags
                self.assertEqual([row[1] for row in found if row[0] == "python"],
                                 [name for name, _ in seen])
                if version.startswith(("3.8.", "3.9.")):
                    self.assertEqual(flags, UNMERGED | BY_NAME)
                    continue
                self.assertEqual(flags, 0)
                kinds = [row[0] for row in found]
                first, last = kinds.index("python"), len(kinds) - kinds[::-1].index("python")
                self.assertIn("native", kinds[:first], "no frame of ctypes")
                self.assertIn("native", kinds[first:last], "no frame of map()")
                self.assertNotIn("_PyEval_EvalFrameDefault", [row[1] for row in found])
                self.assertEqual(found[-1][1], "_start")

    def test_frames_are_merged_by_name(self):
        """In the report's stacks, for interpreters whose frames have a marker and for others."""
        for version, python in READABLE:
            with self.subTest(version):
                run = self.profiled([python, os.path.join(ROOT, "test/prog/stacks.py"),
                                     os.path.join(SIM, "libcudart.so.13")],
                                    **ALWAYS)
                trace = Trace(run.traces()[0])
                (call,) = [s for s in trace.slices if s.name == "cudaMemset"]
                stack = call.args["stack"].split("\n")
                places = [next(i for i, row in enumerate(stack) if name in row)
                          for name in ("forward (", "<lambda> (", "layer (", "<module> (")]
                self.assertEqual(places, sorted(places), stack)
                self.assertFalse([row for row in stack if "EvalFrameDefault" in row], stack)
                self.assertEqual(call.args["line"].rsplit("/", 1)[-1],
                                 "stacks.py:%d" % json.loads(run.out)[0][1])

    def test_python_off(self):
        _, journal, found = self.program(PROF_PYTHON="off")
        self.assertEqual({row[0] for row in found}, {"native"})
        self.assertFalse(journal.codes)


if __name__ == "__main__":
    import unittest
    unittest.main()
