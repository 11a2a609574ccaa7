"""The lines of optimized C++ and CUDA code (test/prog/regions.cu): of inlined functions and OpenMP
regions the user's statement, never the pragma, the kernel's definition or a header of CUDA's."""
import json
import os
import re
import unittest

from harness import EVERYTHING, ROOT, Case, prog

SOURCES = ("regions.cu", "regions.h")


def marked():
    """{(file, line)} of the marks, and of other calls, which may take several lines."""
    found, several = set(), set()
    for name in SOURCES:
        with open(os.path.join(ROOT, "test", "prog", name), encoding="utf-8") as file:
            text = file.read().split("\n")
        found |= {(name, i + 1) for i, line in enumerate(text) if "// line: " in line}
        several |= {(name, i + back) for i, line in enumerate(text) if "// no line" in line
                    for back in (-1, 0, 1)}
    return found, several


class CppLines(Case):
    def lines_of(self, level):
        run = self.profiled([prog(f"regions_{level}")], **EVERYTHING)
        self.assertEqual(run.status, 0, run.err)
        with open(os.path.join(run.folder, "report.json"), encoding="utf-8") as file:
            process, = json.load(file)["processes"]
        return process, {(os.path.basename(row["file"]), row["line"]) for row in process["lines"]}

    def test_lines_are_statements_of_the_user(self):
        found, several = marked()
        for level in ("O1", "O2", "O3"):
            with self.subTest(level=level):
                process, lines = self.lines_of(level)
                self.assertLessEqual(lines, found | several)
                self.assertLessEqual(found, lines)
                for row in process["syncs"]:
                    self.assertIn((os.path.basename(row["file"]), row["line"]), found)

    def test_cpu_time_is_at_statements_of_the_user(self):
        """One thread works in a region, and the other one waits for its end. A thread that waits
        for a processor has no stack, so on a busy machine a run may not show the line."""
        with open(os.path.join(ROOT, "test", "prog", "regions.cu"), encoding="utf-8") as file:
            text = file.read().split("\n")
        (guilty,) = [i + 1 for i, line in enumerate(text) if "// on the host" in line]
        for level in ("O1", "O2", "O3"):
            with self.subTest(level=level):
                seen = set()
                for _ in range(6):
                    process, _ = self.lines_of(level)
                    lines = [text[row["line"] - 1] for row in process["host"]
                             if (row["file"] or "").endswith("regions.cu")]
                    pragma = "#pragma omp parallel"
                    self.assertFalse([line for line in lines if line.startswith(pragma)])
                    seen |= {row["line"] for row in process["host"]
                             if row["self_ms_per_step"] > 0.1}
                    if seen & {guilty, guilty - 1}:
                        break
                self.assertTrue(seen & {guilty, guilty - 1}, seen)

    def test_a_cpp_program_is_not_told_of_python(self):
        process, _ = self.lines_of("O2")
        text = json.dumps(process)
        told = "non_blocking|DataLoader|prefetch_factor|PyTorch modules"
        self.assertIsNone(re.search(told, text))


if __name__ == "__main__":
    unittest.main()
