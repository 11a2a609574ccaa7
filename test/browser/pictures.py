#!/usr/bin/env python3
"""Makes the pictures of the documentation: pictures.py [NAME...]

Profiles programs on the simulated GPU, and takes screenshots of the report, of `profrun top` and of
Perfetto's UI. Look at each picture afterwards. Needs build/torch-venv and what perfetto_ui.py
needs. Without names, makes all.
"""
import html
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

import perfetto_ui

ROOT = perfetto_ui.ROOT
IMAGES = os.path.join(ROOT, "docs", "images")
LAUNCHER = os.path.join(ROOT, "profrun.sh")
sys.path.insert(0, os.path.join(ROOT, "test", "e2e"))
from screen import Screen, Terminal  # noqa: E402

TOP = """<body style="margin:0;background:#16191d"><pre style="margin:14px;color:#d7dbe0;
font:14px/1.3 'DejaVu Sans Mono',monospace">%s</pre>"""


class Pictures:
    def __init__(self, folder, ui):
        self.folder, self.ui = folder, ui
        self.runs = {}

    def run(self, name, command, **settings):
        """Profiles a program once; returns the run's folder."""
        if name not in self.runs:
            out = os.path.join(self.folder, name)
            subprocess.run([LAUNCHER, "--sim", "--quiet", "-o", out, "--", *command], check=True,
                           cwd=self.folder, env={**os.environ, **settings},
                           stdout=subprocess.DEVNULL)
            self.runs[name] = out
        return self.runs[name]

    def torch(self):
        shutil.copy(os.path.join(ROOT, "test", "browser", "example_train.py"),
                    os.path.join(self.folder, "train.py"))
        bin_ = os.path.join(ROOT, "build", "torch-venv", "bin")
        return self.run("torch", ["python", "train.py"], PROFSIM_KERNEL_US="12",
                        OMP_NUM_THREADS="1", PATH=f"{bin_}:{os.environ['PATH']}")

    def copy_demo(self):
        """The pictures must not show where the repository is."""
        shutil.copy(os.path.join(ROOT, "test", "prog", "demo.py"), self.folder)
        return "demo.py"

    def demo(self):
        return self.run("demo", ["python3", self.copy_demo()])

    def page(self, width, height, scheme="light"):
        context = self.ui.browser().new_context(viewport={"width": width, "height": height},
                                                color_scheme=scheme)
        page = context.new_page()
        page.goto("file://" + os.path.join(self.torch(), "report.html"))
        return page

    def save(self, what, name, **options):
        what.screenshot(path=os.path.join(IMAGES, name + ".png"), **options)

    # ---- report.html ----

    def html_light(self, name):
        self.save(self.page(1280, 1100), name)

    def html_dark(self, name):
        self.save(self.page(1280, 1100, "dark"), name)

    def html_narrow(self, name):
        self.save(self.page(390, 844), name)

    def html_timeline(self, name):
        page = self.page(1280, 900)
        timeline = page.locator(".timeline").first
        timeline.scroll_into_view_if_needed()
        canvas = timeline.locator("canvas")
        for key in "nnnn":
            canvas.press(key)
        self.save(timeline, name)

    def html_flame(self, name):
        page = self.page(1280, 900)
        flame = page.locator(".flame[data-what=cpu]").first
        native = flame.get_by_label("native frames")
        if native.count():
            native.uncheck()
        self.save(flame, name)

    # ---- profrun top ----

    def top(self, name):
        out = os.path.join(self.folder, "top")
        job = subprocess.Popen([LAUNCHER, "--sim", "--quiet", "-o", out, "python3",
                                self.copy_demo(), "--steps", "100000"],
                               cwd=self.folder, stdout=subprocess.DEVNULL)
        try:
            time.sleep(12)
            env = {**os.environ, "TERM": "xterm", "LANG": "C.UTF-8"}
            env.pop("LC_ALL", None)
            terminal = Terminal([os.path.join(ROOT, "build", "profrun"), "top", out], env, 26, 80)
            terminal.read_until(lambda shown: "limit" in shown, 30)
            screen = Screen(26, 80)
            screen.write(re.sub("\x1b[^A-Za-z78]*$", "", terminal.shown))
            terminal.close()
        finally:
            job.terminate()
            job.wait()
        lines = "\n".join("".join(line).rstrip() for line in screen.lines).rstrip()
        page = self.ui.browser().new_page(viewport={"width": 720, "height": 400})
        page.set_content(TOP % html.escape(lines))
        self.save(page, name, full_page=True)

    # ---- Perfetto ----

    def opened(self, folder):
        """Opens the first trace as `profrun open` does."""
        server = subprocess.Popen(
            [os.path.join(ROOT, "build", "profrun"), "open", folder, "--no-browser", "--ui",
             self.ui.address], stderr=subprocess.PIPE, text=True)
        line = next(line for line in server.stderr if "http://127" in line).strip()
        self.ui.allowed.append(line.rsplit("/", 1)[0])
        page = self.ui.page()
        page.goto(line)
        page.goto(page.url.rsplit("/", 1)[0] + "/")
        with page.expect_popup() as popup:
            page.click("a[data-trace]")
        view = popup.value
        self.ui.wait_loaded(view, folder, 60)
        view.wait_for_function("() => app.trace.workspace.pinnedTracks.length > 2")
        view.wait_for_timeout(4000)
        server.terminate()
        server.wait()
        return view

    def first_look(self, name):
        view = self.opened(self.demo())
        view.set_viewport_size({"width": 1280, "height": 760})
        view.wait_for_timeout(2000)
        self.save(view, name)

    def trace(self, name, run, height, select=None, wants="1"):
        """Shows the first trace in which the SQL expression `wants` holds."""
        paths = sorted(os.path.join(base, file) for base, _, files in os.walk(run + "/traces")
                       for file in files)
        for path in paths:
            trace = self.ui.open(path)
            if trace.value(f"select {wants}") or path == paths[-1]:
                break
            trace.close()
        page = trace.page
        target = os.path.join(IMAGES, name + ".png")
        page.set_viewport_size({"width": 1500, "height": 980})  # tracks come where there is room
        trace.picture(target)
        page.set_viewport_size({"width": 1500, "height": height})
        trace.picture(target, expand=False)
        if select:
            (row,) = trace.sql(select)
            page.evaluate("id => app.trace.selection.selectSqlEvent('slice', id, "
                          "{switchToCurrentSelectionTab: true})", row["id"])
            page.wait_for_timeout(1500)
            page.locator(".pf-drawer-panel__tab, .pf-tab, [class*=tab]").get_by_text(
                "Current Selection").first.dblclick()
            page.wait_for_timeout(1000)
            page.mouse.move(400, height - 100)
            page.mouse.wheel(0, 450)  # to the arguments
            trace.picture(target, expand=False)
        trace.close()

    def demo_trace(self, name):
        self.trace(name, self.torch(), 980,
                   "select id from slice where name = 'cuLaunchKernel' and extract_arg(arg_set_id, "
                   "'debug.operator') = 'aten::addmm' limit 1")

    def idle(self, name):
        self.trace(name, self.demo(), 560, wants="(select name from slice where category = 'idle' "
                                                "order by dur desc limit 1) = 'data loading'")


PICTURES = {
    "html-light": Pictures.html_light, "html-dark": Pictures.html_dark,
    "html-narrow": Pictures.html_narrow, "html-timeline": Pictures.html_timeline,
    "html-flame": Pictures.html_flame, "top": Pictures.top, "first-look": Pictures.first_look,
    "demo": Pictures.demo_trace, "idle": Pictures.idle,
}


def main():
    reason = perfetto_ui.unavailable()
    if reason:
        sys.exit(f"pictures.py: {reason}")
    with tempfile.TemporaryDirectory() as folder, perfetto_ui.PerfettoUI() as ui:
        pictures = Pictures(folder, ui)
        for name in sys.argv[1:] or PICTURES:
            PICTURES[name](pictures, name)
            print(os.path.relpath(os.path.join(IMAGES, name + ".png"), ROOT), flush=True)


if __name__ == "__main__":
    main()
