"""scripts/check-words on small trees: what it must complain of, and what it must let pass."""
import os
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Words(unittest.TestCase):
    def check(self, **files):
        """The script's lines on a tree of these files, named with _ for / and __ for the dot."""
        with tempfile.TemporaryDirectory() as root:
            for name, text in files.items():
                path = os.path.join(root, name.replace("__", ".").replace("_", "/"))
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
            run = subprocess.run([os.path.join(ROOT, "scripts/check-words"), root], stdout=subprocess.PIPE, text=True, check=False)
            self.assertEqual(run.returncode, 1 if run.stdout else 0)
            return run.stdout.splitlines()

    def test_plain_text_passes(self):
        self.assertEqual(self.check(core_map__c="/* Returns the number of steps that were recorded. */\nint map;\n"), [])

    def test_a_line_of_more_than_100_columns(self):
        self.assertEqual(self.check(core_map__c="x" * 100 + "\n" + "x" * 101 + "\n"),
                         ["core/map.c:2: 101 columns, at most 100 are allowed"])
        self.assertEqual(self.check(core_map__c="\t" + "x" * 92 + "\n\t" + "x" * 93 + "\n"),
                         ["core/map.c:2: 101 columns, at most 100 are allowed"])
        self.assertEqual(self.check(core_map__def="x" * 200, docs_measurements_gpu__md="|" + "x" * 200,
                                    docs_hooks__md="Generated from `x` by `y`.\n" + "x" * 200), [])

    def test_a_phrase_in_any_case_and_form(self):
        for text, phrase in (("So many steps", "So many"), ("it was told apart", "told apart"), ("it tells them apart", "tells them apart"),
                             ("it is none of these", "is none of"), ("this mends it", "mends"), ("it is Nobody's", "Nobody's")):
            with self.subTest(text):
                said = self.check(test_a__py=f"x = 1\n# {text}\n")
                self.assertEqual(len(said), 1, said)
                self.assertTrue(said[0].startswith(f'test/a.py:2: "{phrase}": write '), said)

    def test_a_phrase_across_lines(self):
        for text in ("/* There are so\n * many of them. */", "# so\n# many", 'say("so "\n    "many")', "// so\n// many"):
            with self.subTest(text):
                self.assertEqual([line.split(":")[1] for line in self.check(core_a__c="\n" + text)], ["2"])

    def test_parts_of_words_and_code_pass(self):
        self.assertEqual(self.check(test_a__py="if x is None or amend(recommended):\n    so_many = besides\n"), [])

    def test_words_of_the_product_alone(self):
        self.assertEqual(self.check(test_a__py="# behind it\n"), [])
        self.assertEqual(self.check(scripts_a="# behind it\n"), ['scripts/a:1: "behind": write after, below'])
