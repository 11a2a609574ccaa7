"""`profrun open`: the server of a run's report and traces, and Perfetto's first look at one."""
import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time
import unittest

from harness import PATIENCE_S, TOOL, Case, environment, prog
from ui import UiCase

LINK = re.compile(r"^    (http://127\.0\.0\.1:(\d+)/([0-9a-f]{32}))$", re.M)


class Server:
    """`profrun open` in progress. Speaks HTTP with it, byte by byte where it matters."""

    def __init__(self, case, folder, options=(), **settings):
        self.folder = folder
        env = environment(**settings)
        for name in ("SSH_CONNECTION", "BROWSER", "DISPLAY", "WAYLAND_DISPLAY"):
            if name not in settings:
                env.pop(name, None)
        self.path = folder.rstrip("/") + ".open-stderr"
        with open(self.path, "w") as errors:
            self.child = subprocess.Popen([TOOL, "open", folder, *options], env=env,
                                          cwd=case.base, stdin=subprocess.DEVNULL, stderr=errors)
        case.addCleanup(self.close)
        case.eventually("the link is printed", lambda: "Ctrl-C ends it" in self.err())
        self.link, port, self.once = LINK.findall(self.err())[0]
        self.port = int(port)

    def err(self):
        with open(self.path) as file:
            return file.read()

    def close(self):
        if self.child.poll() is None:
            self.child.kill()
            self.child.wait()

    def get(self, path, method="GET", **headers):
        """Returns the status, the headers and the body."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        with contextlib.closing(connection):
            connection.putrequest(method, path, skip_host="Host" in headers)
            for name, value in headers.items():
                connection.putheader(name, value)
            connection.endheaders()
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()

    def raw(self, request):
        """Returns the first line of the answer to these bytes."""
        with socket.create_connection(("127.0.0.1", self.port), PATIENCE_S) as s:
            s.sendall(request)
            s.shutdown(socket.SHUT_WR)
            answer = b""
            while piece := s.recv(65536):
                answer += piece
        return answer.split(b"\r\n")[0].decode()

    def session(self):
        """Opens the link; returns the path that everything else begins with."""
        status, headers, _ = self.get("/" + self.once)
        assert status == 302, status
        return re.match("/[0-9a-f]{32}/", headers["Location"])[0]


class OpenCase(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.recorded = cls("profiled").profiled([prog("loop"), "20", "plain", "100"],
                                                ["--schedule", "skip_first=10,active=2,repeat=1"],
                                                PACE_MS=50)
        assert cls.recorded.status == 0, cls.recorded.err

    def copy(self):
        """A copy of the run, to be changed."""
        folder = self.folder()
        shutil.copytree(self.recorded.folder, folder)
        shutil.rmtree(os.path.join(folder, "journal"))
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(folder, "report.html"))
        return folder

    def served(self, options=("--no-browser",), **settings):
        return Server(self, self.copy(), options, **settings)


class Serving(OpenCase):
    def test_the_link_works_once(self):
        server = self.served()
        status, headers, body = server.get("/" + server.once)
        self.assertEqual((status, body), (302, b""))
        session = headers["Location"]
        self.assertRegex(session, "^/[0-9a-f]{32}/$")
        self.assertNotIn(server.once, session)
        self.assertNotIn(session.strip("/"), server.err(), "only the browser knows it")
        self.assertEqual(server.get("/" + server.once)[0], 403)
        self.eventually("another link", lambda: len(LINK.findall(server.err())) == 2)
        again = LINK.findall(server.err())[1][2]
        self.assertNotEqual(again, server.once)
        self.assertEqual(server.get("/" + again)[1]["Location"], session)

    def test_the_page_lists_the_files(self):
        server = self.served()
        session = server.session()
        status, headers, body = server.get(session)
        page = body.decode()
        self.assertEqual((status, headers["Content-Type"]), (200, "text/html; charset=utf-8"))
        traces = self.recorded.paths("traces/*/*.pftrace.gz")
        self.assertEqual(len(traces), 2)
        for path in traces:
            name = os.path.relpath(path, self.recorded.folder)
            self.assertIn(f'<a href="{name}" data-trace="{name.split("/", 1)[1]}">', page)
            with open(path, "rb") as file:
                self.assertEqual(server.get(session + name)[2], file.read())
        with open(os.path.join(server.folder, "report.txt")) as file:
            self.assertIn(file.readline().strip().replace("'", "&#39;"), page)
        self.assertNotIn("report.html", page)
        self.assertEqual(json.loads(server.get(session + "report.json")[2])["schema"], 2)
        self.assertEqual(server.get(session + "open.js")[1]["Content-Type"],
                         "text/javascript; charset=utf-8")

    def test_headers_keep_other_sites_out(self):
        server = self.served()
        session = server.session()
        for path in (session, session + "run.json", "/"):
            headers = server.get(path, Origin="https://example.com")[1]
            self.assertEqual((headers["Referrer-Policy"], headers["X-Frame-Options"],
                              headers["Cross-Origin-Resource-Policy"], headers["Cache-Control"]),
                             ("no-referrer", "DENY", "same-origin", "no-store"))
            self.assertIn("default-src 'none'", headers["Content-Security-Policy"])
            self.assertNotIn("Access-Control-Allow-Origin", headers)
            self.assertNotIn("Cross-Origin-Opener-Policy", headers, "Perfetto's docs forbid it")

    def test_without_the_secret(self):
        server = self.served()
        session = server.session()
        wrong = session[:-2] + ("0" if session[-2] != "0" else "1") + "/"
        for path in ("/", "/run.json", "/traces/", "/" + "0" * 32, "/" + "0" * 32 + "/run.json",
                     wrong, wrong + "run.json", session[:20] + "/", "/favicon.ico"):
            with self.subTest(path):
                status, _, body = server.get(path)
                self.assertEqual((status, body), (403, b"403 Forbidden\n"))

    def test_names_that_resolve_to_this_machine(self):
        """DNS rebinding: a page of another site reaches the server under its own name."""
        server = self.served()
        session = server.session()
        for host, status in (("evil.example", 403), (f"evil.example:{server.port}", 403),
                             ("127.0.0.1.evil.example", 403), ("localhost.evil.example:80", 403),
                             ("127.0.0.1:80@evil.example", 403), ("127.0.0.1:", 403),
                             ("localhost:9999", 200), ("127.0.0.1", 200), ("[::1]:80", 200)):
            with self.subTest(host):
                self.assertEqual(server.get(session + "run.json", Host=host)[0], status)

    def test_only_files_of_the_run(self):
        server = self.served()
        with open(os.path.join(server.folder, "secret"), "w") as file:
            file.write("secret")
        traces = os.path.join(server.folder, "traces")
        os.symlink("/etc/passwd", os.path.join(traces, "passwd"))
        os.symlink("/etc", os.path.join(traces, "etc"))
        os.symlink("../run.json", os.path.join(traces, "run.json"))
        os.mkfifo(os.path.join(traces, "fifo"))
        os.mkdir(os.path.join(traces, ".hidden"))
        with open(os.path.join(traces, ".hidden", "file"), "w") as file:
            file.write("secret")
        os.makedirs(os.path.join(server.folder, "journal"))
        with open(os.path.join(server.folder, "journal", "1.journal"), "w") as file:
            file.write("secret")
        os.symlink(os.path.join(server.folder, "traces"), os.path.join(server.folder, "csv"))
        session = server.session()
        trace = os.path.relpath(self.recorded.traces()[0], self.recorded.folder)
        self.assertEqual(server.get(session + trace)[0], 200)
        for path in ("secret", "journal/1.journal", "traces/passwd", "traces/etc/passwd",
                     "traces/run.json", "traces/fifo", "traces/.hidden/file", "traces", "traces/",
                     "csv/" + trace.split("/", 1)[1], "report.html", "run.json/"):
            with self.subTest(path):
                self.assertEqual(server.get(session + path)[0], 404)
        for path in ("../secret", "traces/../run.json", "traces/%2e%2e/secret", "./run.json",
                     "traces//x", "traces/%2e/x", "run.json%00", "traces/..%2fsecret",
                     "..%5csecret", "%", "%4", "%zz", "run.json\x7f"):
            with self.subTest(path):
                self.assertIn(server.raw(f"GET {session}{path} HTTP/1.1\r\nHost: localhost\r\n"
                                         "\r\n".encode()),
                              ("HTTP/1.1 400 Bad Request", "HTTP/1.1 404 Not Found"))
        page = server.get(session)[2].decode()
        for name in ("passwd", "etc", "fifo", "hidden", "secret"):
            self.assertNotIn(f"/{name}", page)

    def test_requests_that_are_none(self):
        server = self.served()
        session = server.session()
        cases = ((b"POST / HTTP/1.1\r\nHost: localhost\r\n\r\n", 405),
                 (b"GET / HTTP/1.1\r\n\r\n", 400),
                 (b"GET / HTTP/1.1\r\nHost: a\r\nHost: localhost\r\n\r\n", 400),
                 (b"GET / HTTP/2.0\r\nHost: localhost\r\n\r\n", 505),
                 (b"GET /\r\n\r\n", 400), (b"\r\n\r\n", 400),
                 (b"GET http://localhost/ HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
                 (b"GET / HTTP/1.1\r\nHost: localhost\r\n folded: x\r\n\r\n", 400),
                 (b"GET /" + b"a" * 3000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
                 (b"GET / HTTP/1.1\r\nX: " + b"a" * 20000 + b"\r\n\r\n", 431))
        for request, status in cases:
            with self.subTest(request[:40]):
                self.assertEqual(server.raw(request).split()[1], str(status))
        self.assertEqual(server.raw(b"GET / HTT"), "", "an incomplete request has no answer")
        status, headers, body = server.get(session + "run.json", "HEAD")
        self.assertEqual((status, body), (200, b""))
        self.assertEqual(int(headers["Content-Length"]),
                         os.path.getsize(os.path.join(server.folder, "run.json")))

    def test_idle_connections_keep_nobody_out(self):
        server = self.served()
        session = server.session()
        with contextlib.ExitStack() as stack:
            for _ in range(80):
                stack.enter_context(socket.create_connection(("127.0.0.1", server.port)))
            self.assertEqual(server.get(session)[0], 200)

    def test_a_large_file_to_a_slow_reader_and_to_one_that_leaves(self):
        server = self.served()
        with open(os.path.join(server.folder, "traces", "big.gz"), "wb") as file:
            file.truncate(64 << 20)
        session = server.session()
        request = f"GET {session}traces/big.gz HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
        with socket.create_connection(("127.0.0.1", server.port)) as leaves:
            leaves.sendall(request)
            leaves.recv(1000)
        with socket.create_connection(("127.0.0.1", server.port)) as slow:
            slow.sendall(request)
            slow.recv(1000)
            self.assertEqual(server.get(session)[0], 200, "others are served meanwhile")
            n = 1000
            while piece := slow.recv(1 << 20):
                n += len(piece)
        self.assertGreater(n, 64 << 20)
        self.assertEqual(len(server.get(session + "traces/big.gz")[2]), 64 << 20)

    def test_an_html_report_comes_first(self):
        server = self.served()
        with open(os.path.join(server.folder, "report.html"), "w") as file:
            file.write("<!doctype html><title>r</title><p>all figures</p>")
        status, headers, _ = server.get("/" + server.once)
        self.assertRegex(headers["Location"], "^/[0-9a-f]{32}/report.html$")
        session = headers["Location"].rsplit("/", 1)[0] + "/"
        status, headers, body = server.get(headers["Location"])
        self.assertEqual(status, 200)
        self.assertTrue(body.startswith(b"<!doctype html><title>r</title><p>all figures</p>\n"))
        self.assertIn(b'href="./"', body)
        self.assertEqual(len(body), int(headers["Content-Length"]))
        self.assertNotIn("connect-src", headers["Content-Security-Policy"])
        self.assertIn(b'href="report.html"', server.get(session)[2])

    def test_names_are_harmless(self):
        folder = self.copy()
        with open(os.path.join(folder, "run.json")) as file:
            run = json.load(file)
        run["run"]["command"] = ["x", "<script>alert(1)</script>", "\u202egnp", "\x1b[2J", '"&\'']
        with open(os.path.join(folder, "run.json"), "w") as file:
            json.dump(run, file)
        evil = os.path.join(folder, "traces", '"><img src=x>\u202e.gz')
        open(evil, "w").close()
        server = Server(self, folder, ("--no-browser",))
        session = server.session()
        page = server.get(session)[2].decode()
        self.assertIn("&#60;script&#62;alert(1)&#60;/script&#62;", page)
        self.assertIn('href="traces/%22%3E%3Cimg%20src%3Dx%3E%E2%80%AE.gz"', page)
        for bad in ("<script>alert", "<img", "\u202e", "\x1b"):
            self.assertNotIn(bad, page)
        self.assertEqual(server.get(session + "traces/%22%3E%3Cimg%20src%3Dx%3E%E2%80%AE.gz")[0],
                         200)


class Ending(OpenCase):
    def test_it_ends_by_itself(self):
        server = self.served(("--no-browser", "--idle", "2"))
        session = server.session()
        began = time.monotonic()
        while time.monotonic() - began < 3:
            self.assertEqual(server.get(session + "run.json")[0], 200)
            time.sleep(0.2)
        self.assertIsNone(server.child.poll(), "requests prolong it")
        began = time.monotonic()
        while server.child.poll() is None and time.monotonic() - began < PATIENCE_S:
            with contextlib.suppress(OSError, http.client.HTTPException):
                server.get("/")  # those that are refused do not
            time.sleep(0.05)
        self.assertEqual(server.child.poll(), 0)
        self.assertIn("profrun: ended after 2 s without a request\n", server.err())

    def test_signals_end_it(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            server = self.served()
            with socket.create_connection(("127.0.0.1", server.port)):
                server.child.send_signal(number)
                self.assertEqual(server.child.wait(PATIENCE_S), 0)

    def test_a_port_of_choice(self):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        server = self.served(("--no-browser", "--port", str(port)))
        self.assertEqual(server.port, port)
        taken = self.tool("open", server.folder, "--port", str(port))
        self.assertEqual((taken.status, taken.out), (1, ""))
        self.assertIn(f"cannot listen on 127.0.0.1, port {port}: Address already in use", taken.err)

    def test_wrong_usage(self):
        for arguments, status, text in ((["/nonexistent"], 1, "no such folder"),
                                        (["/etc/passwd"], 1, "not a run's folder"),
                                        ([self.base], 1, "not the folder of a run"),
                                        (["a", "b"], 2, "got 'b' too"),
                                        (["a", "--ui", "ui.perfetto.dev"], 2, "begins with https"),
                                        (["a", "--port", "70000"], 2, "a number from 1 to 65535")):
            with self.subTest(arguments):
                run = self.tool("open", *arguments)
                self.assertEqual((run.status, run.out), (status, ""))
                self.assertIn(text, run.err)


class Browser(OpenCase):
    def fake(self):
        """A browser that writes its arguments to a file; returns its path and the file's."""
        path = self.folder()
        with open(path, "w") as file:
            file.write(f'#!/bin/sh\necho "$@" >{path}.part; mv {path}.part {path}.said\n')
        os.chmod(path, 0o755)
        return path, path + ".said"

    def said(self, path):
        self.eventually("the browser is started", lambda: os.path.exists(path))
        with open(path) as file:
            return file.read().split()

    def test_the_users_browser(self):
        browser, said = self.fake()
        server = self.served((), BROWSER=f"/nonexistent:{browser}")
        self.assertEqual(self.said(said), [server.link])
        self.assertIn("opened in the browser", server.err())
        browser, said = self.fake()
        server = self.served((), BROWSER=f"{browser} --new %s --end")
        self.assertEqual(self.said(said), ["--new", server.link, "--end"])

    def test_no_browser(self):
        browser, said = self.fake()
        servers = [self.served((), BROWSER="/nonexistent"), self.served(()),
                   self.served(("--no-browser",), BROWSER=browser)]
        for server in servers:
            self.assertIn("profrun: open this link, which works once:\n", server.err())
        self.assertFalse(os.path.exists(said))

    def test_over_ssh(self):
        browser, said = self.fake()
        server = self.served((), BROWSER=browser, DISPLAY=":0",
                             SSH_CONNECTION="192.0.2.1 5022 192.0.2.7 22")
        user = subprocess.run(["id", "-un"], stdout=subprocess.PIPE, text=True).stdout.strip()
        self.assertIn(f"    ssh -N -L {server.port}:127.0.0.1:{server.port} {user}@192.0.2.7\n",
                      server.err())
        self.assertEqual(server.get("/" + server.once, Host="localhost:8080")[0], 302)
        self.assertFalse(os.path.exists(said))
        server = self.served((), SSH_CONNECTION="192.0.2.1 5022 2001:db8::7 2222")
        self.assertIn(f"{server.port} -p 2222 {user}@2001:db8::7\n", server.err())


class FirstLook(UiCase, OpenCase):
    def looked_at(self, server, errors, n_pinned=3):
        """Clicks on the first trace. Returns the page, the UI's view, and the pinned tracks."""
        self.ui.allowed.append(f"http://127.0.0.1:{server.port}/")
        page = self.ui.page()
        page.on("console", lambda m: errors.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(f"http://127.0.0.1:{server.port}{server.session()}")
        with page.expect_popup() as popup:
            page.click("a[data-trace]")
        view = popup.value
        self.ui.wait_loaded(view, "the trace", PATIENCE_S)
        view.wait_for_function(f"() => app.trace.workspace.pinnedTracks.length >= {n_pinned}",
                               timeout=PATIENCE_S * 1000)
        return page, view, view.evaluate(
            "() => app.trace.workspace.pinnedTracks.map(t => t.name)")

    def test_a_trace_in_perfetto(self):
        """A click hands the trace to the UI, which unfolds the process and pins tracks."""
        server, errors = self.served(("--no-browser", "--ui", self.ui.address + "/")), []
        page, view, pinned = self.looked_at(server, errors)
        self.assertEqual(pinned[0], "Steps")
        self.assertIn("GPU 0 idle", pinned)
        self.assertTrue([name for name in pinned if re.match(r"GPU 0 Stream \d+$", name)], pinned)
        folded = view.evaluate("() => app.trace.workspace.children.filter(t => t.hasChildren && "
                               "!t.expanded).map(t => t.name)")
        self.assertEqual([name for name in folded if name != "System"], [])
        self.assertEqual(page.text_content("#said"), "")
        self.assertEqual([e for e in errors if "favicon" not in e], [])
        view.close()
        page.close()

    def test_pinned_tracks_name_their_gpus(self):
        run = self.profiled([prog("case_two_devices_in_turn")], PROFSIM_DEVICES="2")
        server = Server(self, run.folder, ("--no-browser", "--ui", self.ui.address))
        page, view, pinned = self.looked_at(server, [], n_pinned=5)
        for name in "GPU 0 idle", "GPU 1 idle":
            self.assertEqual(pinned.count(name), 1, pinned)
        for gpu in 0, 1:
            streams = [name for name in pinned if re.match(rf"GPU {gpu} Stream \d+$", name)]
            self.assertEqual(len(streams), len(set(streams)), pinned)
            self.assertTrue(streams, pinned)
        view.close()
        page.close()

    def test_a_server_that_has_ended(self):
        server = self.served(("--no-browser", "--ui", self.ui.address))
        self.ui.allowed.append(f"http://127.0.0.1:{server.port}/")
        page = self.ui.page()
        page.goto(server.link)
        server.close()
        with page.expect_popup() as popup:
            page.click("a[data-trace]")
        page.wait_for_function("() => document.getElementById('said').textContent.includes("
                               "'profrun open has ended?')")
        popup.value.close()
        page.close()


if __name__ == "__main__":
    unittest.main()
