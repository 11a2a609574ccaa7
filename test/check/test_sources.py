"""Sources of runs are exchangeable: what reads a journal is not needed by what reads a run."""
import os
import subprocess
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.path.join(ROOT, "build", "test", "unit", "test_text_source")
JOURNAL = {"reader_open", "ingest_open", "dict_add", "journal_stacks", "pair_match"}


class Sources(unittest.TestCase):
    def symbols(self):
        if not os.path.exists(PROGRAM):
            self.skipTest(f"{PROGRAM} is not built")
        table = subprocess.run(["nm", "-P", PROGRAM], check=True, stdout=subprocess.PIPE, text=True)
        return {line.split()[0] for line in table.stdout.splitlines()}

    def test_a_run_without_a_journal_links_nothing_that_reads_one(self):
        symbols = self.symbols()
        self.assertIn("analyzer_add", symbols)
        self.assertEqual(symbols & JOURNAL, set())
