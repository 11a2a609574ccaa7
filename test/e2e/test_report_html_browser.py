"""report.html in a real browser: what users see, click and type, with and without JavaScript."""
import contextlib
import json
import os
import sys
import unittest

import kineto
from harness import ROOT, Case, script

sys.path.insert(0, os.path.join(ROOT, "test", "browser"))
import perfetto_ui  # noqa: E402

EVIL = "</script><img src=x onerror=alert(1)><b>'\"&\u202e"

# Returns texts with too little contrast: [ratio, text]. Text over a picture or a gradient is not
# considered.
CONTRAST = """() => {
  const numbers = text => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(part => part / 255)
    .map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
    .reduce((sum, part, i) => sum + part * [0.2126, 0.7152, 0.0722][i], 0);
  const background = element => {
    for (let at = element; at; at = at.parentElement) {
      const colour = numbers(getComputedStyle(at).backgroundColor);
      if (colour.length === 3 || colour[3] === 1)
        return colour;
    }
    return [255, 255, 255];
  };
  const bad = [];
  for (const element of document.querySelectorAll("body *")) {
    const text = [...element.childNodes].filter(node => node.nodeType === 3)
      .map(node => node.textContent.trim()).join("");
    if (!text || !element.checkVisibility() || ["SCRIPT", "OPTION"].includes(element.tagName))
      continue;
    const a = light(numbers(getComputedStyle(element).color)), b = light(background(element));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5)
      bad.push([ratio, text.slice(0, 40)]);
  }
  return bad;
}"""


@unittest.skipIf(perfetto_ui.unavailable(), perfetto_ui.unavailable())
class Browser(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        from playwright.sync_api import sync_playwright
        cls.driver = sync_playwright().start()
        cls.addClassCleanup(cls.driver.stop)
        cls.browser = cls.driver.chromium.launch(
            executable_path=perfetto_ui.chromium(),
            args=["--no-sandbox", "--disable-dev-shm-usage"])
        cls.addClassCleanup(cls.browser.close)

    @contextlib.contextmanager
    def opened(self, path, width=1280, scheme="light", script_runs=True):
        """The page; afterwards fails if it complained, asked for anything, or overflowed."""
        context = self.browser.new_context(viewport={"width": width, "height": 900},
                                           color_scheme=scheme, java_script_enabled=script_runs)
        page, troubles = context.new_page(), []
        page.on("console", lambda message: troubles.append(message.text))
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("dialog", lambda dialog: troubles.append(dialog.message))
        page.on("request", lambda request: request.url.startswith(("data:", "file://" + path))
                or troubles.append(request.url))
        try:
            page.goto("file://" + path)
            yield page
            self.assertEqual(troubles, [])
            self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth"), width)
        finally:
            context.close()


class OfARun(Browser):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        run = cls("setUp").profiled(script("demo.py"))
        cls.path = os.path.join(run.folder, "report.html")
        with open(os.path.join(run.folder, "report.json"), encoding="utf-8") as file:
            cls.process = json.load(file)["processes"][0]

    def table(self, page, name):
        """Opens a table's tab; returns its rows on the screen."""
        page.get_by_role("tab", name=name, exact=True).click()
        return page.locator(f"table[data-list={name.lower()}] tbody tr:visible")

    def test_the_first_screen(self):
        with self.opened(self.path) as page:
            self.assertIn("demo.py", page.locator("h1").inner_text())
            self.assertTrue(page.locator(".verdict").first.is_visible())
            what = page.locator(".advice .what").all_inner_texts()
            self.assertEqual(what[0].lower(), self.process["advice"][0]["what"].lower())
            code = page.locator(".advice pre").first.inner_text()
            self.assertEqual(code, self.process["advice"][0]["source"])
            self.assertEqual(page.locator(".plot svg").count(),
                             1 + ("memory" in page.locator("figure.memory").first.get_attribute(
                                 "class") if page.locator("figure.memory").count() else 0))

    def test_sorting(self):
        with self.opened(self.path) as page:
            rows = self.table(page, "Kernels")
            self.assertEqual(rows.count(), len(self.process["kernels"]))

            def column():
                return [float(value) for value in page.locator(
                    "table[data-list=kernels] td:nth-child(2)").evaluate_all(
                        "cells => cells.map(cell => cell.dataset.v)")]
            heading = page.locator("table[data-list=kernels] th").nth(1)
            wanted = sorted(row["per_step"] for row in self.process["kernels"])
            self.assertGreater(wanted[-1], wanted[0])
            heading.click()
            self.assertEqual(heading.get_attribute("aria-sort"), "descending")
            self.assertEqual(column(), wanted[::-1])
            heading.press("Enter")
            self.assertEqual(column(), wanted)
            page.locator("table[data-list=kernels] th").first.click()
            names = page.locator("table[data-list=kernels] td:first-child").all_inner_texts()
            self.assertEqual(names, sorted(names, key=str.lower))

    def test_searching(self):
        with self.opened(self.path) as page:
            rows = self.table(page, "Kernels")
            name = self.process["kernels"][-1]["name"]
            expected = sum(name in row["name"] for row in self.process["kernels"])
            self.assertLess(expected, rows.count())
            field = page.get_by_label("Search in Kernels")
            field.fill(name.upper())
            self.assertEqual(rows.count(), expected)
            field.fill("no such kernel")
            self.assertEqual(rows.count(), 0)
            field.fill("")
            self.assertEqual(rows.count(), len(self.process["kernels"]))

    def test_the_timeline(self):
        with self.opened(self.path) as page:
            canvas = page.locator(".timeline canvas")
            shown = page.locator(".timeline .bar-of-tools span").first
            canvas.scroll_into_view_if_needed()

            def picture():
                return canvas.evaluate("canvas => canvas.toDataURL()")
            all_of_it, before = shown.inner_text(), picture()
            page.get_by_label("Zoom in").click()
            self.assertNotEqual(shown.inner_text(), all_of_it)
            self.assertNotEqual(picture(), before)
            zoomed = shown.inner_text()
            canvas.press("ArrowRight")
            self.assertNotEqual(shown.inner_text(), zoomed)
            canvas.press("0")
            self.assertEqual(shown.inner_text(), all_of_it)
            box = canvas.bounding_box()
            page.mouse.move(box["x"] + 300, box["y"] + 100)
            page.mouse.down()
            page.mouse.move(box["x"] + 200, box["y"] + 100)
            page.mouse.up()
            self.assertEqual(shown.inner_text(), all_of_it)  # nothing is left and right of it
            canvas.press("n")
            chosen = page.locator(".details b").inner_text()
            self.assertIn("cu", chosen)
            canvas.press("n")
            canvas.press("Enter")
            self.assertNotEqual(shown.inner_text(), all_of_it)
            self.assertIn("line: demo.py", page.locator(".details").inner_text())

    def test_a_slice_under_the_pointer_and_its_arrows(self):
        with self.opened(self.path) as page:
            canvas = page.locator(".timeline canvas")
            canvas.scroll_into_view_if_needed()
            box = canvas.bounding_box()
            texts = set()
            for x in range(5, int(box["width"]), 25):
                page.mouse.move(box["x"] + x, box["y"] + 47)  # the first row of the first track
                texts.add(page.locator("#tip").inner_text())
            self.assertTrue(any("Critical path" in text for text in texts), texts)
            before = canvas.evaluate("canvas => canvas.toDataURL()")
            page.get_by_label("all arrows").check()
            self.assertNotEqual(canvas.evaluate("canvas => canvas.toDataURL()"), before)

    def test_flame_graphs(self):
        with self.opened(self.path) as page:
            flame = page.locator(".flame[data-what=gpu]")
            frames = flame.locator(".frames i")
            n = frames.count()
            self.assertGreater(n, 5)
            leaf = flame.locator(".frames i.f-g").first
            name = leaf.inner_text()
            leaf.click()
            self.assertEqual(flame.locator(".frames i.f-g").count(), 1)
            self.assertEqual(flame.locator(".frames i:not(.parent)").inner_text(), name)
            flame.get_by_role("button", name="Show all").click()
            self.assertEqual(frames.count(), n)
            flame.get_by_label("Search frames").fill(name)
            self.assertIn("found", flame.locator(".search span").inner_text())
            self.assertGreater(flame.locator(".frames i.found").count(), 0)
            frames.first.focus()
            page.keyboard.press("ArrowDown")
            focused = page.evaluate("document.activeElement.getAttribute('aria-label')")
            self.assertIn("per step", focused)
            self.assertFalse(focused.startswith("all"))
            page.keyboard.press("Enter")
            self.assertGreater(flame.locator(".frames i.parent").count(), 0)
            page.keyboard.press("Escape")
            self.assertEqual(flame.locator(".frames i.parent").count(), 0)

    def test_values_under_the_pointer(self):
        with self.opened(self.path) as page:
            plot = page.locator("figure.steps:not(.memory) .plot")
            plot.scroll_into_view_if_needed()
            box = plot.bounding_box()
            page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 30)
            self.assertRegex(page.locator("#tip").inner_text(), r"^step \d+: [\d.]+ ms")

    def test_light_and_dark(self):
        def background(page):
            return page.evaluate("getComputedStyle(document.body).backgroundColor")
        with self.opened(self.path, scheme="light") as page:
            light = background(page)
            page.locator("#theme").click()
            dark = background(page)
            self.assertNotEqual(dark, light)
        with self.opened(self.path, scheme="dark") as page:
            self.assertEqual(background(page), dark)
            page.locator("#theme").press("Enter")
            self.assertEqual(background(page), light)

    def test_contrast(self):
        for scheme in "light", "dark":
            with self.subTest(scheme=scheme), self.opened(self.path, scheme=scheme) as page:
                page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
                for _ in range(2):  # the system's theme, then the other one
                    self.assertEqual(page.evaluate(CONTRAST), [])
                    page.locator("#theme").click()

    def test_narrow_screens(self):
        for width in 390, 320, 768:
            with self.subTest(width=width), self.opened(self.path, width) as page:
                page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
                self.assertTrue(page.locator(".verdict").first.is_visible())

    def test_narrow_screens_with_large_text(self):
        for width in 390, 320:
            with self.subTest(width=width), self.opened(self.path, width) as page:
                page.add_style_tag(content="html { font-size: 24px } body { font-size: 22px }")

    def test_a_long_step_is_labelled_within_the_chart(self):
        with self.opened(self.path, 320) as page:
            # only a run with a long step has a label of its own
            page.evaluate("""() => {
                document.querySelectorAll(".plot .label").forEach(label => label.remove());
                document.querySelector(".plot").insertAdjacentHTML(
                    "beforeend", "<span class='label' style='left:0%;top:10%'></span>");
            }""")
            for x in range(0, 101, 5):
                side, other = ("left", "right") if x <= 50 else ("right", "left")
                page.evaluate(f"""() => {{
                    const label = document.querySelector(".plot .label");
                    label.textContent = "step 123456: 1,234.5 ms";
                    label.style.{other} = "auto";
                    label.style.{side} = "{min(x, 100 - x)}%";
                }}""")
                self.assertLessEqual(
                    page.evaluate("document.documentElement.scrollWidth"), 320, x)

    def test_the_keyboard(self):
        with self.opened(self.path) as page:
            page.keyboard.press("Tab")
            self.assertEqual(page.evaluate("document.activeElement.className"), "skip")
            seen = []
            for _ in range(80):
                page.keyboard.press("Tab")
                seen.append(page.evaluate(
                    "[document.activeElement.tagName, document.activeElement.id, "
                    "parseFloat(getComputedStyle(document.activeElement).outlineWidth)]"))
            self.assertEqual(seen[0][:2], ["BUTTON", "theme"])
            self.assertEqual(seen[1][0], "A")
            tags = {tag for tag, _, _ in seen}
            self.assertLessEqual({"TH", "CANVAS", "I", "INPUT", "SUMMARY"}, tags)
            self.assertEqual([one for one in seen if not one[2]], [])

    def test_print(self):
        with self.opened(self.path) as page:
            page.emulate_media(media="print")
            self.assertFalse(page.locator("nav").is_visible())
            self.assertEqual(page.locator(".list:not(:visible)").count(), 0)

    def test_without_javascript(self):
        with self.opened(self.path, script_runs=False) as page:
            for name in "kernels", "lines", "idle", "syncs":
                rows = page.locator(f"table[data-list={name}] tbody tr:visible")
                self.assertEqual(rows.count(), len(self.process[name]), name)
            self.assertEqual(page.locator("#theme:visible, .search:visible").count(), 0)
            self.assertGreater(page.locator(".track svg rect").count(), 10)
            self.assertGreater(page.locator(".flame .frames i").count(), 5)
            self.assertTrue(page.locator(".plot svg path").first.is_visible())


class OfOtherRuns(Browser):
    def html_of(self, *traces):
        folder = self.folder()
        os.makedirs(folder)
        for i, trace in enumerate(traces):
            trace.write(os.path.join(folder, f"rank{i}.json"))
        path = os.path.join(folder, "report.html")
        self.assertEqual(self.tool("report", folder, "--html", path).status, 0)
        return path

    def test_ranks(self):
        with self.opened(self.html_of(*kineto.job())) as page:
            self.assertEqual(page.locator("#process option").count(), 2)
            self.assertEqual(page.locator("article:visible").count(), 1)
            first = page.locator("article:visible h2").first.inner_text()
            page.locator("#process").select_option(index=1)
            self.assertEqual(page.locator("article:visible").count(), 1)
            self.assertNotEqual(page.locator("article:visible h2").first.inner_text(), first)
            page.get_by_role("link", name="Timeline").click()
            self.assertTrue(page.locator("article:visible canvas").is_visible())

    def test_hostile_names(self):
        trace = kineto.training()
        for event in trace.events:
            for part in "gemm", "aten::relu", "train.py", "Net_0":
                event["name"] = event["name"].replace(part, part + EVIL)
        for script_runs in True, False:
            with self.opened(self.html_of(trace), script_runs=script_runs) as page:
                self.assertEqual(page.locator("body img, body b b").count(), 0)
                text = page.locator("body").inner_text()
                self.assertEqual(text.count("\u202e"), 0)
                self.assertGreater(text.count("aten::relu</script><img src=x"), 0)
                if script_runs:
                    page.locator(".timeline canvas").press("n")
                    page.locator(".flame .frames i").nth(3).hover()


if __name__ == "__main__":
    unittest.main()
