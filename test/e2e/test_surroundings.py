"""The library in unusual surroundings.

stderr is closed, full or another file, the environment was emptied, the collector does not end.
"""
import glob
import os
import resource
import shutil
import signal
import subprocess
import sys
import unittest

from harness import (
    LIBRARY,
    PACED,
    PATIENCE_S,
    ROOT,
    SIM,
    Case,
    Run,
    collectors,
    environment,
    journals,
    prog,
    unsanitized,
)
from test_trigger import STEADY, Live

# Signals are handled as in a C program; Python ignores both.
USES_CUDA = """
import ctypes, os, signal, sys
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
runtime, memory = ctypes.CDLL("libcudart.so.13"), ctypes.c_void_p()
{before}
for i in range(20):
    assert runtime.cudaMalloc(ctypes.byref(memory), ctypes.c_size_t(64)) == 0
    assert runtime.cudaFree(memory) == 0
print("done", flush=True)
"""
WRONG = "PROF_SCHEDULE: "  # the beginning of the line that reports a wrong value


def program(before=""):
    return [sys.executable, "-c", USES_CUDA.format(before=before)]


class Stderr(Case):
    """The library warns of a wrong setting in the first call."""

    def warned(self, stderr, before="", limit=None):
        env = environment(LD_PRELOAD=LIBRARY, PROF_OUT=self.folder(), PROF_SCHEDULE="nonsense")
        child = subprocess.Popen(program(before), env=env, stdout=subprocess.PIPE, stderr=stderr,
                                 text=True, preexec_fn=limit)
        try:
            out, err = child.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            child.kill()
            child.communicate()
            self.fail("it did not end")
        self.assertEqual((child.returncode, out), (0, "done\n"))
        return err

    def test_the_warning_is_printed(self):
        self.assertIn(WRONG, self.warned(subprocess.PIPE))

    def test_closed_pipe(self):
        reads, writes = os.pipe()
        os.close(reads)
        self.warned(writes)
        os.close(writes)

    def test_full_pipe(self):
        reads, writes = os.pipe()
        os.set_blocking(writes, False)
        with self.assertRaises(BlockingIOError):
            while True:
                os.write(writes, b"x" * 4096)
        os.set_blocking(writes, True)
        self.warned(writes)
        os.close(reads)
        os.close(writes)

    def test_a_file_at_its_limit(self):
        path = os.path.join(self.base, "log")
        with open(path, "wb") as file:
            file.write(b"x" * 1024)
        with open(path, "ab") as file:
            self.warned(file, limit=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024)))
        self.assertEqual(os.path.getsize(path), 1024)

    def test_another_file_with_stderrs_number(self):
        path = os.path.join(self.base, "data")
        self.warned(subprocess.DEVNULL,
                    f"os.close(2); assert os.open({path!r}, os.O_WRONLY | os.O_CREAT) == 2")
        self.assertEqual(os.path.getsize(path), 0)


class Environment(Case):
    def test_emptied_before_the_first_call(self):
        run = self.profiled(program("os.environ.clear()"), PROF_SCHEDULE="always")
        self.assertEqual((run.status, run.out), (0, "done\n"), run.err)
        (process,) = run.json["processes"]
        self.assertEqual((process["state"], process["records"]["calls"]), ("ended", 40))

    def test_settings_made_by_the_program_count(self):
        run = self.profiled(program("os.environ.update(PROF_SCHEDULE='always', RANK='3')"),
                            PROF_SCHEDULE="off")
        (process,) = run.json["processes"]
        self.assertEqual((process["rank"], process["records"]["calls"]), ("3", 40), run.err)


class Namespaces(Case):
    """Processes whose pid is 1 in their namespace; the collector, outside, sees other pids."""
    OWN_NUMBERS = ["unshare", "--user", "--map-root-user", "--pid", "--fork"]

    def setUp(self):
        if not shutil.which("unshare") or subprocess.run([*self.OWN_NUMBERS, "true"],
                                                         stderr=subprocess.DEVNULL).returncode:
            self.skipTest("no namespace of pids can be made here")

    def states(self, run):
        self.assertEqual(run.status, 0, run.err)
        return [(p["pid"], p["state"], p["steps"]["count"], p["n_traces"])
                for p in run.json["processes"]]

    def test_one(self):
        run = self.profiled([*self.OWN_NUMBERS, prog("loop"), "1000", "plain", "500"], **PACED)
        self.assertEqual(self.states(run), [(1, "ended", 1000, 3)], run.err)

    def test_two_at_a_time_and_one_after_them(self):
        loop = " ".join([*self.OWN_NUMBERS, prog("loop"), "500", "plain", "500"])
        run = self.profiled(["bash", "-c", f"{loop} & {loop} & wait; {loop}"], **PACED)
        self.assertEqual(self.states(run), 3 * [(1, "ended", 500, 3)], run.err)

    def test_killed(self):
        ready = os.path.join(self.base, "ready")
        code = (
            f"{prog('loop')} 1000000 plain 1000 & until [ -e {ready} ]; do sleep 0.1; done; "
            "kill -KILL $!; wait; true"
        )
        line, folder, env = self.launched([*self.OWN_NUMBERS, "--mount-proc", "bash", "-c", code])
        job = subprocess.Popen(
            line,
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.eventually(
            "300 steps",
            lambda: [journal for journal in journals(folder) if journal.current_step > 300],
        )
        open(ready, "w").close()
        _, err = job.communicate(timeout=PATIENCE_S)
        ((_, state, count, _),) = self.states(Run(job.returncode, "", err, folder))
        self.assertEqual(state, "killed")
        self.assertGreater(count, 300)


SANITIZED = """
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
	void *runtime = dlopen("libcudart.so.13", RTLD_NOW), *memory = NULL;
	int (*take)(void **, size_t) = dlsym(runtime, "cudaMalloc");
	int (*give)(void *) = dlsym(runtime, "cudaFree");
	for (int i = 0; i < 20; i++)
		if (take(&memory, 64) || give(memory))
			return 1;
	volatile char *own = malloc(10);
	if (argc == 2)
		free((char *)own);
	puts(getenv("ASAN_OPTIONS"));
	fflush(stdout);
	own[0] = 5;
	argc = own[0];
	if (!argv[1])
		free((char *)own);
	return argc;
}
"""


@unsanitized("it needs ASAN_OPTIONS of its own")
class Sanitizer(Case):
    """AddressSanitizer's runtime ends programs in which another library is loaded before it."""

    def setUp(self):
        self.program = os.path.join(self.base, "sanitized")
        words = ["gcc", "-g", "-w", "-fsanitize=address", "-x", "c", "-", "-o", self.program,
                 "-ldl"]
        if not shutil.which("gcc") or subprocess.run(words, input=SANITIZED, text=True,
                                                     stderr=subprocess.DEVNULL).returncode:
            self.skipTest("gcc has no AddressSanitizer here")

    def test_the_program_runs(self):
        run = self.profiled([self.program], PROF_SCHEDULE="always")
        self.assertEqual((run.status, run.out), (5, "verify_asan_link_order=0\n"), run.err)
        (process,) = run.json["processes"]
        self.assertEqual((process["state"], process["records"]["calls"]), ("ended", 40))

    def test_it_still_finds_errors(self):
        run = self.profiled([self.program, "wrong"], ASAN_OPTIONS="exitcode=77")
        self.assertEqual((run.status, run.out), (77, "exitcode=77:verify_asan_link_order=0\n"),
                         run.err)
        self.assertIn("heap-use-after-free", run.err)

    def test_the_users_options_are_kept(self):
        run = self.profiled([self.program], ASAN_OPTIONS="verify_asan_link_order=1")
        self.assertIn("does not come first", run.err)


class LeftBehind(Case):
    """Programs that a script started and did not wait for."""

    def test_a_program_that_has_not_yet_used_cuda(self):
        begin = os.path.join(self.base, "begin")
        code = (
            f"(until [ -e {begin} ]; do sleep 0.1; done; exec {prog('loop')} 300 plain 500) "
            ">/dev/null 2>&1 & echo started"
        )
        run = self.profiled(["bash", "-c", code], **PACED)
        self.assertEqual((run.status, run.out), (0, "started\n"))
        self.assertIn("of the run still running; traces are written as each step ends", run.err)
        self.assertNotIn("never used", run.err)
        open(begin, "w").close()
        self.eventually("it is recorded to its end",
                        lambda: [p["state"] for p in run.json.get("processes", [])] == ["ended"])
        self.assertEqual(run.json["processes"][0]["steps"]["count"], 300)
        self.assertEqual(len(run.traces()), 3)

    def test_it_uses_no_cuda(self):
        fifo = os.path.join(self.base, "fifo")
        os.mkfifo(fifo)
        run = self.profiled(["bash", "-c", f"(exec cat {fifo}) >/dev/null 2>&1 & echo started"])
        self.assertEqual((run.status, run.out), (0, "started\n"))
        self.assertTrue(collectors(run.folder))
        open(fifo, "w").close()  # ends it
        self.eventually("the collector ends with it", lambda: not collectors(run.folder))


class NoRoom(Case):
    def test_the_file_size_limit_is_reported(self):
        line, folder, env = self.launched([prog("loop"), "5"])
        run = self.execute(["bash", "-c", 'ulimit -f 1024; exec "$@"', "bash", *line], folder, env)
        self.assertEqual((run.status, run.out), (0, "5 steps\n"))
        self.assertIn("ulimit -f", run.err)
        self.assertIn("profrun: nothing could be recorded for ", run.err)
        self.assertNotIn("never used", run.err)

    def test_not_one_byte(self):
        line, folder, env = self.launched([prog("loop"), "5"])
        run = self.execute(["bash", "-c", 'ulimit -f 0; exec "$@"', "bash", *line], folder, env)
        self.assertEqual((run.status, run.out), (0, "5 steps\n"), run.err)
        self.assertEqual(len([l for l in run.err.splitlines() if "never used" in l]), 0)


class Places(Case):
    def test_a_build_folder_with_a_space_in_its_name(self):
        home = os.path.join(self.base, "my programs")
        os.makedirs(os.path.join(home, "build"))
        for name in "profrun.sh", "build/profrun", "build/libprofrun.so":
            shutil.copy(os.path.join(ROOT, name), os.path.join(home, name))
        shutil.copytree(SIM, os.path.join(home, "build", "sim"), symlinks=True,
                        ignore=shutil.ignore_patterns("test"))
        run = self.execute(
            [os.path.join(home, "profrun.sh"), "--sim", "-o", "run", "--", *program()],
            self.folder(), environment())
        self.assertEqual((run.status, run.out, run.other_err()), (0, "done\n", ""))
        self.assertIn("runs without profiling", run.err)

    def test_a_folder_that_is_removed_during_the_run(self):
        line, folder, env = self.launched(
            prog("steady"), PROF_STEP=STEADY,
            PROF_SCHEDULE="skip_first=5,wait=0,warmup=1,active=2,repeat=1")
        live = Live(self, line, folder, env)
        live.do(20)
        self.eventually(
            "traces", lambda: len(glob.glob(os.path.join(folder, "traces", "*", "step-*.gz"))) == 2
        )
        while os.path.exists(folder):  # the collector may rename a file in it just then
            shutil.rmtree(folder, ignore_errors=True)
        live.do(1000)
        run = live.end()
        self.assertEqual(run.status, 0, run.err)
        self.assertNotIn("Traces: ", run.err)


class Words(Case):
    def test_a_command_that_is_not_utf8(self):
        run = self.profiled([*program(), b"\xff-x"], PROF_SCHEDULE="always")
        (process,) = run.json["processes"]
        self.assertTrue(process["command"].endswith(" ?-x"), process["command"])
        self.assertEqual((run.json["run"]["command"][-1], process["records"]["calls"]), ("?-x", 40))


class Collector(Case):
    def test_an_interrupt_ends_the_wait_for_it(self):
        line, folder, env = self.launched(program("sys.stdin.readline()"), PROF_SCHEDULE="always")
        child = subprocess.Popen(
            line,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        collector = self.stop_collector(folder)
        child.stdin.write("\n")
        child.stdin.flush()
        self.assertEqual(child.stdout.readline(), "done\n")
        with self.assertRaises(subprocess.TimeoutExpired):
            child.wait(1)
        child.send_signal(signal.SIGINT)
        try:
            _, err = child.communicate(timeout=PATIENCE_S)
        finally:
            os.kill(collector, signal.SIGCONT)
            child.kill()
        self.assertEqual(child.returncode, 0, "must be the application's own status")
        self.assertIn("profrun: interrupted; traces are still being written", err)


if __name__ == "__main__":
    unittest.main()
