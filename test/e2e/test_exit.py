"""How a run ended is the headline of its report, and run.exit in report.json: exceptions, memory
that ran out, failed CUDA calls, signals."""
import json
import os
import sys
import unittest

from harness import ROOT, Case, prog, script


def line_of(source, mark):
    with open(os.path.join(ROOT, "test", "prog", source), encoding="utf-8") as file:
        return next(number for number, text in enumerate(file, 1) if f"mark: {mark}" in text)


class Exit(Case):
    def end_of(self, command, status, **settings):
        """Runs the program; returns (run, run.exit, the process's report)."""
        run = self.profiled(command, **settings)
        self.assertEqual(run.status, status, run.err)
        with open(os.path.join(run.folder, "report.json"), encoding="utf-8") as file:
            report = json.load(file)
        again = json.loads(self.tool("report", run.folder, "--json").out)
        self.assertEqual(again["run"]["exit"], report["run"]["exit"])
        return run, report["run"]["exit"], report["processes"][0]

    def test_a_good_end(self):
        run, end, process = self.end_of([prog("fails"), "error"], 0)
        self.assertEqual(end, {"status": 0, "signal": None, "exception": None, "file": None,
                               "line": None, "out_of_memory": None, "last_call": None})
        self.assertNotIn("failure", process)
        self.assertNotIn("Ended", run.err)

    def test_out_of_memory(self):
        run, end, process = self.end_of([prog("fails"), "leak"], 3, PROFSIM_MEMORY_MB=64,
                                        PROF_STEP="sync")
        memory = end["out_of_memory"]
        self.assertEqual((end["status"], memory["api"], memory["bytes"]),
                         (3, "cudaMalloc", 1 << 20))
        self.assertEqual((os.path.basename(memory["file"]), memory["line"]),
                         ("fails.c", line_of("fails.c", "leak")))
        self.assertEqual(process["memory"]["at_peak"][0]["line"], line_of("fails.c", "leak"))
        self.assertAlmostEqual(process["memory"]["growth"]["bytes_per_step"], 1 << 20, delta=1e5)
        self.assertIsNone(process["memory"]["growth"]["steps_left"])
        self.assertRegex(run.err, r"Ended by out of memory: cudaMalloc of 1\.0 MiB failed at\s+"
                         r"\S*fails\.c:\d+")
        self.assertIn("memory in use grew by 1.0 MiB per step", run.err)

    def test_a_failed_call(self):
        run, end, process = self.end_of([prog("fails"), "error"], 4, PROF_SCHEDULE="always",
                                        PROFSIM_FAIL="cudaStreamSynchronize:40:700")
        self.assertEqual(end["exception"],
                         "CUDA error 700 (illegal memory access) in cudaStreamSynchronize")
        self.assertIsNone(end["out_of_memory"])
        self.assertEqual(process["failure"]["line"], line_of("fails.c", "synchronize"))
        self.assertIn("Ended by CUDA error 700 (illegal memory access): cudaStreamSynchronize "
                      "failed", " ".join(run.err.split()))

    def test_a_handled_failure_is_not_the_end(self):
        run, end, process = self.end_of([prog("fails"), "handled"], 5)
        self.assertEqual((end["status"], end["out_of_memory"], end["exception"]), (5, None, None))
        self.assertNotIn("failure", process)
        self.assertIn(": exit 5 (the program's status) after ", run.err)

    def test_a_run_without_work_has_one_heading(self):
        code = ("import ctypes, sys\n"
                "ctypes.CDLL('libcudart.so.13').cudaFree(None)\n"
                "sys.exit(3)\n")
        run = self.profiled([sys.executable, "-c", code])
        self.assertEqual(run.status, 3, run.err)
        self.assertEqual(run.err.count("exit 3 "), 1, run.err)

    def test_a_child_without_fork_handlers_writes_to_stderr(self):
        """Such a child knows the journal's address, but has not its memory."""
        code = ("import ctypes, os\n"
                "ctypes.CDLL('libcudart.so.13').cudaFree(None)\n"
                "child = ctypes.CDLL(None)._Fork()\n"
                "if not child:\n"
                "    os.write(2, b'from the child\\n')\n"
                "    os._exit(0)\n"
                "print(os.waitpid(child, 0)[1])\n")
        run = self.profiled([sys.executable, "-c", code])
        self.assertEqual((run.status, run.out), (0, "0\n"), run.err)
        self.assertIn("from the child", run.err)

    def test_signal(self):
        _, end, _ = self.end_of([prog("ends"), "segv"], -11)
        self.assertEqual((end["status"], end["signal"]), (None, 11))

    def test_the_last_call_before_a_signal(self):
        run, end, process = self.end_of([prog("fails"), "crash"], -11)
        self.assertEqual(end["last_call"], process["last_call"])
        self.assertEqual((end["last_call"]["api"], os.path.basename(end["last_call"]["file"]),
                          end["last_call"]["line"]),
                         ("cudaStreamSynchronize", "fails.c", line_of("fails.c", "synchronize")))
        self.assertRegex(" ".join(run.err.split()), r"Ended by signal 11 \(Segmentation fault\).* "
                         r"the last CUDA call was cudaStreamSynchronize at \S*fails\.c:\d+")

    def test_calls_before_an_unrecorded_step_are_not_the_last(self):
        run, end, process = self.end_of([prog("fails"), "crash"], -11, PROF_OPENING="off",
                                        PROF_STEP="sync",
                                        PROF_SCHEDULE="skip_first=2,active=1,repeat=1")
        self.assertEqual((end["signal"], end["last_call"]), (11, None))
        self.assertNotIn("last_call", process)

    def test_calls_of_an_opening_that_ended_are_not_the_last(self):
        """After it, the calls of the loop are not recorded."""
        run, end, process = self.end_of([prog("fails"), "odd-crash"], -11, PROF_OPENING="1MB")
        self.assertEqual((end["signal"], end["last_call"]), (11, None), run.err)

    def test_exceptions(self):
        for how, exception in (("plain", "KeyError: 'no batch\\nafter the first'"),
                               ("chained", "ValueError: the data set is empty"),
                               ("sentence", "ValueError: The data set is empty. Give it a row."),
                               ("long", "KeyError: 'no batch\\nafter the first'")):
            with self.subTest(how=how):
                run, end, _ = self.end_of([*script("raises.py"), how], 1)
                self.assertEqual(end["exception"], exception)
                self.assertEqual((os.path.basename(end["file"]), end["line"]),
                                 ("raises.py", line_of("raises.py", how)))
                self.assertIn(f"Ended by {exception.rstrip('.')}, at ",
                              " ".join(run.err.split()))

    def test_a_handled_exception_is_not_the_end(self):
        run, end, _ = self.end_of([*script("raises.py"), "handled"], 0)
        self.assertIsNone(end["exception"])
        self.assertNotIn("Ended", run.err)


if __name__ == "__main__":
    unittest.main()
