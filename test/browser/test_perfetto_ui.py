"""perfetto_ui.py distinguishes good traces from broken ones, never hangs, and uses no network."""
import gzip
import json
import os
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from perfetto_ui import PerfettoUI, TraceError, check_clean, unavailable  # noqa: E402

BIG = 2 ** 53 + 1  # the first integer that a JavaScript number cannot hold


def good_trace():
    events = [{"ph": "M", "name": "process_name", "pid": 7, "args": {"name": "app"}}]
    for i in range(20):
        events.append(
            {"ph": "X", "name": f"call {i}", "pid": 7, "tid": 1, "ts": 100 * i, "dur": 50})
        events.append(
            {"ph": "X", "name": f"kernel {i}", "pid": 7, "tid": 2, "ts": 100 * i + 40, "dur": 50})
    for i in range(5):
        flow = {"name": "launch", "cat": "gpu", "id": i, "pid": 7}
        events.append({**flow, "ph": "s", "tid": 1, "ts": 100 * i + 10})
        events.append({**flow, "ph": "f", "bp": "e", "tid": 2, "ts": 100 * i + 50})
    return json.dumps({"traceEvents": events}).encode()


class PerfettoUITest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        reason = unavailable()
        if reason:
            raise unittest.SkipTest(reason)
        cls.ui = PerfettoUI().__enter__()
        cls.addClassCleanup(cls.ui.__exit__, None, None, None)
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)

    def write(self, name, content):
        path = os.path.join(self.folder.name, name)
        with open(path, "wb") as file:
            file.write(content)
        return path

    def refuses(self, name, content):
        began = time.monotonic()
        with self.assertRaises(TraceError) as caught:
            self.ui.open(self.write(name, content), timeout_s=30)
        self.assertLess(time.monotonic() - began, 40)
        return str(caught.exception)

    def test_good_trace(self):
        trace = self.ui.open(self.write("good.json", good_trace()))
        check_clean(trace)
        self.assertEqual(trace.slices(), 40)
        self.assertEqual(trace.flows(), 5)
        self.assertEqual(
            trace.sql("select count(*) n, max(dur) longest from slice where name glob 'kernel*'"),
            [{"n": 20, "longest": 50000}])
        trace.close()

    def test_values_arrive_intact(self):
        trace = self.ui.open(self.write("values.json", good_trace()))
        self.assertEqual(trace.sql(f"select {BIG} a, -1 b, 1.5 c, null d, 'x' e, x'00ff' f"),
                         [{"a": BIG, "b": -1, "c": 1.5, "d": None, "e": "x", "f": b"\0\xff"}])
        with self.assertRaisesRegex(TraceError, "no such table"):
            trace.sql("select * from nothing_of_this_name")
        trace.close()

    def test_picture(self):
        trace = self.ui.open(self.write("picture.json", good_trace()))
        trace.zoom(0, 500000)
        path = os.path.join(self.folder.name, "picture.png")
        trace.picture(path)
        with open(path, "rb") as file:
            self.assertEqual(file.read(8), b"\x89PNG\r\n\x1a\n")
        trace.close()

    def test_unknown_format_is_refused(self):
        self.assertIn("Cannot open this file", self.refuses("noise.bin", b"\x00\x01hello" * 1000))

    def test_cut_gzip_is_refused(self):
        whole = gzip.compress(good_trace())
        self.assertIn("GZIP", self.refuses("cut.json.gz", whole[:len(whole) // 2]))

    def test_dropped_slices_are_not_clean(self):
        events = [{"ph": "X", "name": "a", "ts": 1, "dur": 10, "pid": 1, "tid": 1},
                  {"ph": "X", "name": "b", "ts": 5, "dur": 20, "pid": 1, "tid": 1}]
        trace = self.ui.open(
            self.write("overlap.json", json.dumps({"traceEvents": events}).encode()))
        with self.assertRaisesRegex(AssertionError,
                                    r"overlap.json: slice_drop_overlapping\w*.*=1 \(error\)"):
            check_clean(trace)
        trace.close()

    def test_missing_file_is_named(self):
        with self.assertRaisesRegex(TraceError, "/nowhere: no such file"):
            self.ui.open("/nowhere")

    def test_nothing_leaves_this_machine(self):
        page = self.ui._context.new_page()
        page.goto(f"{self.ui._base}/index.html")
        went = page.evaluate("() => fetch('http://192.0.2.1/').then(() => true, () => false)")
        page.close()
        self.assertFalse(went)
        self.assertTrue(any("storage.cloud.google.com" in url for url in self.ui.refused),
                        self.ui.refused)


if __name__ == "__main__":
    unittest.main()
