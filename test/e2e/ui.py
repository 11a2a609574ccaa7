"""Tests that open traces in a real Perfetto UI in a real browser (test/browser/perfetto_ui.py)."""
import os
import sys
import unittest

from harness import ROOT, Case

sys.path.insert(0, os.path.join(ROOT, "test", "browser"))
import perfetto_ui  # noqa: E402


@unittest.skipIf(perfetto_ui.unavailable(), perfetto_ui.unavailable())
class UiCase(Case):
    """One browser serves all tests of a class."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.ui = perfetto_ui.PerfettoUI()
        cls.ui.__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.ui.__exit__(None, None, None)
        super().tearDownClass()

    def opened(self, path):
        """The trace in the UI, which found no error in it."""
        trace = self.ui.open(path)
        perfetto_ui.check_clean(trace)
        return trace
