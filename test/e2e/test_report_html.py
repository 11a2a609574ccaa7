"""report.html: every figure is report.json's, it needs nothing but itself, and names are inert."""
import json
import os
import re
import unittest

import kineto
from harness import Case, prog, script
from page import Page, value_at

EVIL = "</script><img src=x onerror=alert(1)>'\"&\u202e\x1b[31m"
LISTS = {"idle", "gpu", "gpu_use", "syncs", "lines", "host", "kernels", "copies", "calls"}


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


class Html(Case):
    def check_table(self, table, rows):
        self.assertEqual(len(table.rows), len(rows), table.path)
        for cells, row in zip(table.rows, rows, strict=True):
            self.assertEqual(len(cells), len(table.keys), table.path)
            for key, cell in zip(table.keys, cells, strict=True):
                value = value_at(row, key)
                if cell["v"] is not None or type(value) in (int, float):
                    self.assertAlmostEqual(cell["v"], value, delta=1e-6 * abs(value),
                                           msg=f"{table.path} {key}")

    def check_figures(self, page, report):
        """Compares every number of the page with report.json; returns how many there are."""
        self.assertEqual(page.json("report-json"), report)
        n = 0
        for table in page.tables:
            root = report if table.process is None else report["processes"][table.process]
            rows = value_at(root, table.path)
            if table.path == "baseline":  # one row for each kind of steps
                rows = [rows[kind] for kind in ("step_ms", "warm_up_ms", "recorded_ms")
                        if rows[kind]]
            elif table.path == "phases":
                rows = [row for phase in rows for row in (phase, *phase["parts"])]
            self.check_table(table, rows)
            n += sum(cell["v"] is not None for row in table.rows for cell in row)
        for process, path, value in page.figures:
            self.assertAlmostEqual(value, value_at(report["processes"][process], path))
        return n + len(page.figures)

    def check_alone(self, text, page):
        """The page refers to nothing outside itself, and says so to the browser."""
        self.assertLess(len(text), 2 << 20)
        for tag, name, value in page.attributes:
            if name in ("src", "srcset", "action", "data"):
                self.fail(f"<{tag} {name}={value}>")
            if name == "href":
                self.assertTrue(value.startswith(("#", "data:")), value)
        self.assertEqual(re.findall(r"@import|url\(|fetch\(|XMLHttpRequest|WebSocket|https?://",
                                    text), [])
        self.assertEqual(text.count("default-src 'none'"), 1)

    def check_links(self, page):
        self.assertEqual(len(page.ids), len(set(page.ids)))
        links = [value[1:] for tag, name, value in page.attributes
                 if tag == "a" and name == "href"]
        self.assertGreater(len(links), 3)
        self.assertEqual(set(links) - set(page.ids), set())


    def check_says(self, page, *texts):
        self.assertEqual([text for text in texts if text not in page.text], [])


class OfARun(Html):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.run_ = cls("setUp").profiled(script("demo.py"))
        cls.text = read(os.path.join(cls.run_.folder, "report.html"))
        cls.page = Page(cls.text)
        cls.report = json.loads(read(os.path.join(cls.run_.folder, "report.json")))

    def test_every_figure_is_that_of_report_json(self):
        self.assertGreater(self.check_figures(self.page, self.report), 100)
        self.assertEqual(LISTS - {table.path for table in self.page.tables}, set())

    def test_it_needs_nothing_but_itself(self):
        self.check_alone(self.text, self.page)
        self.check_links(self.page)

    def test_the_first_screen(self):
        process = self.report["processes"][0]
        self.assertTrue(process["advice"])
        for advice in process["advice"]:
            self.check_says(self.page, advice["what"], advice["source"] or "")
        self.check_says(self.page, *process["bound"]["evidence"], "PROF_SCHEDULE")

    def test_names_of_json_are_no_words(self):
        words = {"cpu": "CPU code", "launch_delay": "launch delay"}
        kinds = {row["kind"] for row in self.report["processes"][0]["critical_path_kinds"]}
        self.assertIn("cpu", kinds)
        for kind in kinds & set(words):
            self.assertIn(words[kind], self.page.text)
        self.assertNotRegex(self.page.text, r"launch_delay|\bcpu\b")

    def test_an_unknown_overhead_has_no_figure(self):
        own = self.report["processes"][0]["self"]
        low, high = own["overhead_ci"] or (0, 0)
        is_measured = high > 0 and (low > 0 or "overhead unknown" not in self.page.text)
        paths = [path for _, path, _ in self.page.figures]
        self.assertEqual("self.overhead_pct" in paths, is_measured, own)

    def test_the_views_fit_the_report(self):
        process, views = self.report["processes"][0], self.page.json("views-json")["0"]
        steps = views["steps"]
        self.assertEqual(len(steps["ms"]), -(-steps["shown"] // steps["per"]))
        for step, ms in zip(steps["longest"][::2], steps["longest"][1::2], strict=True):
            point = (step - steps["first"]) // steps["per"]
            self.assertLessEqual(ms, steps["high_ms"][point] + 1e-3)
            self.assertGreater(ms, 1.4 * process["baseline"]["step_ms"]["p50"])
        self.assertAlmostEqual(max(steps["high_ms"]), max(
            process["baseline"]["step_ms"]["max"],
            (process["baseline"]["warm_up_ms"] or {"max": 0})["max"]), places=3)
        timeline = views["timeline"]
        self.assertIn(timeline["step"], process["steps"]["recorded"])
        kinds = {track["kind"] for track in timeline["tracks"]}
        self.assertLessEqual({"thread", "stream", "idle"}, kinds)
        self.assertGreater(len(timeline["arrows"]), 20)
        flame = {graph["what"]: graph for graph in views["flame"]}
        works = sum(row["gpu_ms_per_step"] for row in process["kernels"])
        self.assertGreaterEqual(flame["gpu"]["total"] / 1e6, 0.95 * works)
        for graph in flame.values():
            depths, values = graph["tree"][::3], graph["tree"][2::3]
            top = sum(v for depth, v in zip(depths, values, strict=True) if not depth)
            self.assertLessEqual(top, graph["total"])
            self.assertGreater(top, 0.9 * graph["total"])

    def test_static_flame_graphs_have_their_whole_width(self):
        graphs = self.page.json("views-json")["0"]["flame"]
        widths = [float(width) for tag, name, value in self.page.attributes
                  if (tag, name) == ("i", "style")
                  for width in re.findall(r"^left:[\d.]+%;width:([\d.]+)%;top:0px$", value)]
        self.assertGreater(sum(widths), 95 * len(graphs))
        self.assertLess(sum(widths), 101 * len(graphs))

    def test_the_command_writes_the_same(self):
        path = os.path.join(self.base, "again.html")
        run = self.tool("report", self.run_.folder, "--html", path)
        self.assertEqual((run.status, run.out, run.err), (0, "", ""))
        page = Page(read(path))
        again = json.loads(self.tool("report", self.run_.folder, "--json").out)
        self.assertGreater(self.check_figures(page, again), 100)
        timeline, before = (p.json("views-json")["0"]["timeline"] for p in (page, self.page))
        self.assertEqual(timeline["step"], before["step"])

    def test_wrong_usage(self):
        path = os.path.join(self.base, "none.html")
        run = self.tool("report", self.run_.folder, self.run_.folder, "--html", path)
        self.assertEqual(run.status, 2)
        self.assertIn("--html FILE takes one run", run.err)
        self.assertFalse(os.path.exists(path))
        run = self.tool("report", self.run_.folder, "--html", "/proc/none/none.html")
        self.assertEqual(run.status, 1)
        self.assertRegex(run.err, r"^profrun: .+\n$")


class OfOtherRuns(Html):
    def html_of(self, path):
        to = os.path.join(self.base, "report.html")
        run = self.tool("report", path, "--html", to)
        self.assertEqual((run.status, run.err), (0, ""))
        text = read(to)
        page = Page(text)
        self.check_alone(text, page)
        self.check_links(page)
        report = json.loads(self.tool("report", path, "--json").out)
        self.check_figures(page, report)
        return page

    def write(self, trace):
        folder = self.folder()
        os.makedirs(folder)
        return trace.write(os.path.join(folder, "trace.json"))

    def test_a_run_without_steps(self):
        run = self.profiled([prog("case_one_kernel")])
        page = Page(read(os.path.join(run.folder, "report.html")))
        self.assertEqual(page.text.count("per step"), 0)
        self.check_says(page, "in the whole run")
        self.assertEqual(page.json("views-json")["0"]["timeline"]["shown_ns"],
                         page.json("views-json")["0"]["timeline"]["ns"])

    def test_a_run_that_dies(self):
        for _ in range(4):  # half of all durations are rounded up
            run = self.profiled([prog("case_ends_in_step_five")])
            page = Page(read(os.path.join(run.folder, "report.html")))
            self.check_says(page, "Ended by signal 6", "ended by signal 6")
            self.check_figures(page, json.loads(read(os.path.join(run.folder, "report.json"))))

    def test_a_trace_of_another_tool(self):
        page = self.html_of(self.write(kineto.training(30)))
        self.check_says(page, "Step times of the whole run", "Timeline of step", "Not available")

    def test_ranks_side_by_side(self):
        folder = self.folder()
        os.makedirs(folder)
        for i, trace in enumerate(kineto.job()):
            trace.write(os.path.join(folder, f"rank{i}.json"))
        page = self.html_of(folder)
        self.assertEqual([row[0]["v"] for row in page.table("ranks.list", None).rows], [0, 1])
        self.assertEqual({t.process for t in page.tables if t.path == "kernels"}, {0, 1})

    def test_hostile_names(self):
        trace = kineto.training()
        for event in trace.events:
            for part in "gemm", "aten::relu", "train.py", "Net_0":
                event["name"] = event["name"].replace(part, part + EVIL)
        page = self.html_of(self.write(trace))
        self.assertNotIn("img", page.tags)
        self.assertEqual(re.findall("[\u202e\x00-\x08\x0b-\x1f]", page.text), [])
        self.check_says(page, "relu</script><img src=x onerror=alert(1)>'\"&\ufffd\ufffd[31m")
        self.assertNotIn("onerror", {name for _, name, _ in page.attributes})
        operators = page.json("report-json")["processes"][0]["operators"]
        self.assertIn("aten::relu" + EVIL, [row["name"] for row in operators])

    def test_a_step_with_many_calls_is_cut(self):
        """A page of a step with 30,000 launches has room for its beginning."""
        trace = kineto.Trace()
        for step in range(2):
            trace.step(step, 10 ** 6 * step, 10 ** 6)
            for i in range(15000):
                at = 10 ** 6 * step + 60 * i
                trace.launch("kernel", at, at + 20, 30)
        page = self.html_of(self.write(trace))
        timeline = page.json("views-json")["0"]["timeline"]
        self.assertLess(timeline["shown_ns"], 0.6 * timeline["ns"])
        n = sum(len(track["slices"]) // 5 for track in timeline["tracks"])
        self.assertGreater(n, 8000)
        self.assertLessEqual(n, 13000)
        self.check_says(page, "too many calls")

    def test_reasons_are_not_cut(self):
        """The reason names two further lines, in files with long names."""
        trace = kineto.Trace()
        for step in range(8):
            trace.step(step, 10000 * step, 10000)
            for line in range(3):
                begin = 10000 * step + 100 + 3200 * line
                trace.python(f"module_number_{line}_of_the_model_of_the_example.py({20 + line}): f",
                             begin, 3000, CallFrom="train.py:14")
                for i in range(30):
                    trace.launch("add", begin + 100 * i + 10, begin + 100 * i + 20, 5)
        report = json.loads(self.tool("report", self.write(trace), "--json").out)
        (why,) = [advice["why"] for advice in report["processes"][0]["advice"]
                  if advice["cause"] == "launch"]
        self.assertRegex(why, r"example.py:2\d [\d.]+ ms, module_\w+\.py:2\d [\d.]+ ms$")

    def test_tables_are_marked_up(self):
        page = self.html_of(self.write(kineto.training()))
        heads = re.findall(r'<th scope="col"', read(os.path.join(self.base, "report.html")))
        self.assertEqual(len(heads), sum(len(table.keys) for table in page.tables))


if __name__ == "__main__":
    unittest.main()
