"""scripts/check-layers on small trees: what it must complain of, and what it must let pass."""
import os
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Layers(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.root = temporary.name

    def write(self, path, text, product="tool"):
        """Writes a source file and compiles it as the Makefile does."""
        source = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(source), exist_ok=True)
        with open(source, "w", encoding="utf-8") as file:
            file.write(text)
        if product and path.endswith(".c"):
            target = os.path.join(self.root, "build/obj", product, path[:-2] + ".o")
            os.makedirs(os.path.dirname(target), exist_ok=True)
            subprocess.run(["cc", "-fvisibility=hidden", f"-I{self.root}", "-c", source,
                            "-o", target], check=True)

    def check(self):
        run = subprocess.run([os.path.join(ROOT, "scripts/check-layers"), self.root],
                             stdout=subprocess.PIPE, text=True, check=False)
        return run.returncode, run.stdout

    def test_calls_to_earlier_layers_pass(self):
        self.write("core/util/map.h", "int map_find(void);\n")
        self.write("core/util/map.c", "int map_find(void) { return 1; }\n")
        self.write("core/model/model.c",
                   '#include "core/util/map.h"\nint model_make(void) { return map_find(); }\n')
        self.write("export/main.c",
                   "int model_make(void);\nint main(void) { return model_make(); }\n")
        self.assertEqual(self.check(), (0, ""))

    def test_an_include_of_a_later_layer(self):
        self.write("core/model/model.h", "int model_make(void);\n")
        self.write("core/util/map.c",
                   '#include "core/model/model.h"\n#include "map.h"\n', product=None)
        status, said = self.check()
        self.assertEqual(status, 1)
        self.assertIn('core/util/map.c:1: core/util may not include core/model '
                      '("core/model/model.h")',
                      said)
        self.assertIn('core/util/map.c:2: "map.h" is not written from the repository\'s root', said)

    def test_a_call_of_a_later_layer_that_no_include_shows(self):
        self.write("core/model/model.c", "int model_make(void) { return 1; }\n")
        self.write("core/util/map.c",
                   "int model_make(void);\nint map_find(void) { return model_make(); }\n")
        status, said = self.check()
        self.assertEqual(status, 1)
        self.assertIn("core/util/map.c: core/util may not use core/model "
                      "(model_make of core/model/model.c)",
                      said)

    def test_a_variable_of_a_later_layer(self):
        self.write("export/main.c", "int main_options = 1;\n")
        self.write("core/util/map.c",
                   "extern int main_options;\nint map_find(void) { return main_options; }\n")
        self.assertIn("core/util/map.c: core/util may not use export "
                      "(main_options of export/main.c)",
                      self.check()[1])

    def test_files_in_a_cycle(self):
        self.write("export/one.c", "int two(void);\nint one(void) { return two(); }\n")
        self.write("export/two.c", "int three(void);\nint two(void) { return three(); }\n")
        self.write("export/three.c", "int one(void);\nint three(void) { return one(); }\n")
        self.write("export/four.c", "int one(void);\nint four(void) { return one(); }\n")
        status, said = self.check()
        self.assertEqual(status, 1)
        self.assertIn("3 files form a dependency cycle: "
                      "export/one.c, export/three.c, export/two.c\n",
                      said)
        self.assertIn("    export/one.c needs export/two.c: two\n", said)
        self.assertNotIn("four", said)

    def test_folders_in_a_cycle(self):
        self.write("core/util/one.c", "int two(void);\nint one(void) { return two(); }\n")
        self.write("core/model/two.c", "int two(void) { return 1; }\n")
        self.write("core/model/three.c", "int one(void);\nint three(void) { return one(); }\n")
        said = self.check()[1]
        self.assertIn("2 folders form a dependency cycle: core/model, core/util\n", said)
        self.assertNotIn("files depend", said)

    def test_the_library_is_a_graph_of_its_own(self):
        """Its objects of core/runtime define the same symbols as the tool's."""
        for product in ("lib", "tool"):
            self.write("core/runtime/log.c", "int log_line(void) { return 1; }\n", product)
        self.write("preload/hooks.c",
                   "int log_line(void);\nint hooks(void) { return log_line(); }\n", "lib")
        self.assertEqual(self.check(), (0, ""))
        self.write("preload/hooks.c",
                   "int report(void);\nint hooks(void) { return report(); }\n", "lib")
        self.write("core/util/report.c", "int report(void) { return 1; }\n", "lib")
        self.assertIn("preload may not use core/util (report of core/util/report.c)",
                      self.check()[1])

    def test_an_object_whose_source_is_gone_does_not_count(self):
        self.write("core/model/model.c", "int model_make(void) { return 1; }\n")
        self.write("core/util/map.c",
                   "int model_make(void);\nint map_find(void) { return model_make(); }\n")
        os.remove(os.path.join(self.root, "core/util/map.c"))
        self.assertEqual(self.check(), (0, ""))

    def test_the_journal_is_closed_above_the_model(self):
        """Through no include, also not through another header's."""
        self.write("core/runtime/record.h", "struct record;\n")
        self.write("core/source/journal/dict.h", '#include "core/runtime/record.h"\n')
        self.write("core/source/process/parts.h", '#include "core/source/journal/dict.h"\n')
        self.write("core/source/process/driver.h", "struct driver;\n")
        self.write("core/source/process/driver.c", '#include "core/source/process/driver.h"\n'
                   '#include "core/source/process/parts.h"\n', product=None)
        self.write("export/good.c", '#include "core/source/process/driver.h"\n', product=None)
        self.write("export/one.c", '#include "core/source/journal/dict.h"\n', product=None)
        self.write("export/two.c", '#include "core/source/process/parts.h"\n', product=None)
        self.write("core/analysis/three.c", '#include "core/runtime/record.h"\n', product=None)
        self.write("core/verdict/four.h", '#include "core/source/process/driver.h"\n')
        self.assertEqual(self.check(), (1, """\
core/analysis/three.c:1: core/analysis may not include core/runtime/record.h \
("core/runtime/record.h")
core/verdict/four.h:1: core/verdict may not include core/source/process \
("core/source/process/driver.h")
export/one.c:1: export may not include core/source/journal ("core/source/journal/dict.h")
export/two.c:1: export may not include core/source/journal \
("core/source/process/parts.h" includes core/source/journal/dict.h)
"""))

    def test_calls_of_what_reads_journals(self):
        self.write("core/runtime/journal.c", "int journal_open(void) { return 1; }\n")
        self.write("core/runtime/err.c", "int err_set(void) { return 1; }\n")
        self.write("core/steps/learn.c", "int learn_start(void) { return 1; }\n")
        self.write("core/whatif/replay.c",
                   "int err_set(void);\nint replay(void) { return err_set(); }\n")
        self.write("core/analysis/idle.c",
                   "int replay(void);\nint idle(void) { return replay(); }\n")
        self.write("export/main.c",
                   "int journal_open(void);\nint learn_start(void);\nint err_set(void);\n"
                   "int main(void) { return journal_open() + learn_start() + err_set(); }\n")
        self.assertEqual(self.check(), (1, """\
core/analysis/idle.c: core/analysis may not use core/whatif (replay of core/whatif/replay.c)
export/main.c: export may not use core/runtime/journal.c (journal_open of core/runtime/journal.c)
export/main.c: export may not use core/steps (learn_start of core/steps/learn.c)
"""))

    def test_nothing_is_built(self):
        self.write("core/util/map.c", "int map_find(void) { return 1; }\n", product=None)
        status, said = self.check()
        self.assertEqual(status, 77)
        self.assertIn("nothing is built", said)
