"""The judge of test/steps/fresh.py, and the headers of the programs that it judges."""
import importlib.util
import json
import os
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
STEPS = os.path.join(os.path.dirname(HERE), "steps")
SPEC = importlib.util.spec_from_file_location("fresh", os.path.join(STEPS, "fresh.py"))
fresh = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(fresh)

HEADER = "# step: loop at line 3; iterations 40; or: loop at lib/b.py:7; iterations 200\n"


class Judge(unittest.TestCase):
    def judge(self, count, confidence, line=9, file="a.py", second=None):
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, "a.py")
            with open(program, "w", encoding="utf-8") as file_:
                file_.write(HEADER)
            loop = {"file": "/x/" + file, "line": line, "iterations": count, "instead": second}
            steps = {"count": count, "confidence": confidence, "loop": loop}
            with open(os.path.join(folder, "run.json"), "w", encoding="utf-8") as file_:
                json.dump({"processes": [{"devices": [0], "steps": steps if count else {}}]}, file_)
            return fresh.Result(program, folder, 0).kind

    def test_right_by_line(self):
        self.assertEqual(self.judge(10, 0.99, line=3), "right")
        self.assertEqual(self.judge(10, 0.99, line=7, file="lib/b.py"), "right")
        self.assertEqual(self.judge(10, 0.99, line=7), "SURE AND WRONG")

    def test_right_by_count(self):
        for count in (39, 40, 41, 199, 200, 201):
            self.assertEqual(self.judge(count, 0.99), "right", count)
        for count in (38, 42, 198, 202):
            self.assertEqual(self.judge(count, 0.99), "SURE AND WRONG", count)

    def test_right_by_second(self):
        second = {"file": "/x/a.py", "line": 3, "iterations": 10}
        self.assertEqual(self.judge(10, 0.69, second=second), "right by second")
        self.assertEqual(self.judge(10, 0.71, second=second), "wrong")
        self.assertEqual(self.judge(10, 0.69, second=dict(second, line=4)), "unclear")

    def test_wrong(self):
        self.assertEqual(self.judge(10, 0.9), "SURE AND WRONG")
        self.assertEqual(self.judge(10, 0.89), "wrong")
        self.assertEqual(self.judge(10, 0.69), "unclear")
        self.assertEqual(self.judge(0, None), "no steps")

    def test_headers(self):
        paths = fresh.chosen([])
        self.assertGreaterEqual(len(paths), 26)
        for path in paths:
            for answer in fresh.answers(path):
                self.assertTrue(fresh.begins_loop(answer), answer)


if __name__ == "__main__":
    unittest.main()
