"""The library, without launcher and collector, changes nothing in how an application lives.

Forks, exits, threads, signals, descriptors: each program does what it does without profrun, and its
CUDA calls are in the journal wherever there can be one.
"""
import os
import resource
import signal
import subprocess
import sys
import unittest

from harness import EVERYTHING, LIBRARY, PATIENCE_S, Case, environment, prog


def count(journal, *categories):
    return sum(1 for call in journal.calls() if call.category in categories)


# At the first call /proc can no longer be read: the journal takes the only descriptor left.
OUT_OF_DESCRIPTORS = """
import ctypes, resource, time
runtime, memory = ctypes.CDLL("libcudart.so.13"), ctypes.c_void_p()
resource.setrlimit(resource.RLIMIT_NOFILE, (4, 4))
for i in range(200):
    assert runtime.cudaMalloc(ctypes.byref(memory), ctypes.c_size_t(64)) == 0
    assert runtime.cudaFree(memory) == 0
    if i == 100:
        time.sleep(0.5)
print("freed")
"""


# A runtime that finds no driver, as on a machine without a GPU, and 200 calls of it.
NO_DRIVER = "int cudaFree(void *memory) { (void)memory; return 35; }"
CALLS_WITHOUT_DRIVER = """
import ctypes
runtime = ctypes.CDLL("libcudart.so.13")
print(sum(runtime.cudaFree(None) for _ in range(200)))
"""


class Unchanged(Case):
    """Base class: checks that output and exit status are the same with and without the library."""

    def both(self, command, stdin="", **settings):
        bare = self.bare(command, stdin, **settings)
        run = self.preloaded(command, stdin, **{**EVERYTHING, **settings})
        self.assertEqual(run.out, bare.out)
        self.assertEqual(run.status, bare.status)
        self.assertEqual(run.other_err(), bare.err)
        return run

    def launches(self, run):
        """Returns the number of launches in each journal, sorted."""
        return sorted(count(journal, "launch") for journal in run.journals())


class ShortChildren(Case):
    CHILDREN = 100
    # The loader alone touches 6 more pages for any preloaded library.
    MOST_ADDED_PAGES = 45

    def pages(self, **settings):
        """Returns how many pages a child of a shell touches for the first time, or copies."""
        loop = "for i in {1..%d}; do /bin/true; done" % self.CHILDREN
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt
        subprocess.run(["/bin/bash", "-c", loop], check=True, env=environment(**settings))
        return (resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt - before) / self.CHILDREN

    def test_children_that_never_use_cuda_touch_few_pages(self):
        bare = self.pages()
        preloaded = self.pages(LD_PRELOAD=LIBRARY, PROF_OUT=os.path.join(self.base, "none"))
        self.assertLess(preloaded - bare, self.MOST_ADDED_PAGES)


class Forks(Unchanged):
    def test_fork_before_cuda(self):
        run = self.both([prog("fork"), "before"])
        self.assertEqual(self.launches(run), [2, 3])
        parent, child = sorted(run.journals(), key=lambda j: count(j, "launch"))
        self.assertEqual(child.ppid, parent.pid)

    def test_fork_after_cuda_child_without(self):
        run = self.both([prog("fork"), "after"])
        self.assertEqual(self.launches(run), [4], "the child has no journal")
        self.assertTrue(run.journal().ended_ticks)

    def test_fork_after_cuda_child_tries(self):
        run = self.both([prog("fork"), "after-tries"])
        self.assertIn(4, self.launches(run))
        child, parent = sorted(run.journals(), key=lambda j: count(j, "launch"))
        self.assertEqual(child.ppid, parent.pid)
        # a thread of the parent may have held CUPTI's lock, which would never be free in the child
        self.assertIn("forked after CUDA was used", child.info["cupti"])
        self.assertNotIn("cupti", parent.info)

    def test_grandchild(self):
        self.assertEqual(self.launches(self.both([prog("fork"), "grandchild"])), [3])

    def test_child_that_calls__exit(self):
        run = self.both([prog("fork"), "leaving-child"])
        self.assertEqual(self.launches(run), [3])
        self.assertTrue(run.journal().ended_ticks)


class LookUps(Unchanged):
    def test_our_failed_lookups_set_no_error_of_the_application(self):
        run = self.both([prog("last_error")], PROF_CUPTI="/no/such/libcupti.so", PROF_STACKS="none",
                        PROF_STEP="api")
        self.assertEqual(run.out, "nothing\n")

    def test_a_missing_driver_is_not_searched_for_at_each_call(self):
        """A search takes 20 us."""
        os.mkdir(libraries := self.folder())
        subprocess.run(["gcc", "-shared", "-o", os.path.join(libraries, "libcudart.so.13"),
                        "-x", "c", "-"], input=NO_DRIVER, text=True, check=True)
        run = self.both([sys.executable, "-c", CALLS_WITHOUT_DRIVER], LD_LIBRARY_PATH=libraries,
                        LD_DEBUG="libs", LD_DEBUG_OUTPUT=os.path.join(libraries, "searched"))
        self.assertEqual(run.out, "7000\n")
        self.assertEqual(len(run.journal().calls()), 200)
        searched = ""
        for name in os.listdir(libraries):
            with open(os.path.join(libraries, name), errors="replace") as file:
                searched += file.read()
        self.assertIn("find library=libcudart.so.13", searched)
        self.assertLess(searched.count("find library=libcuda.so"), 10)


class Spawns(Unchanged):
    def test_exec_leaves_a_journal_for_each_program(self):
        run = self.both([prog("spawn"), "exec"])
        self.assertEqual(self.launches(run), [2, 3])
        self.assertEqual(len({journal.pid for journal in run.journals()}), 1)

    def test_vfork(self):
        self.assertEqual(self.launches(self.both([prog("spawn"), "vfork"])), [2, 2])

    def test_failing_vfork_does_not_end_the_parents_recording(self):
        run = self.both([prog("spawn"), "failing-vfork"])
        self.assertEqual(self.launches(run), [3])

    def test_posix_spawn(self):
        self.assertEqual(self.launches(self.both([prog("spawn"), "spawn"])), [1, 2])

    def test_system(self):
        self.assertEqual(self.launches(self.both([prog("spawn"), "system"])), [1])


class Ends(Unchanged):
    ORDERLY = ("return", "exit", "_exit", "_Exit", "quick_exit", "thread")
    DEATHS = {"abort": signal.SIGABRT, "kill": signal.SIGKILL, "term": signal.SIGTERM,
              "segv": signal.SIGSEGV}

    def test_orderly_ends_lose_nothing(self):
        for how in self.ORDERLY:
            with self.subTest(how=how):
                run = self.both([prog("ends"), how])
                self.assertEqual(run.status, 3)
                journal = run.journal()
                self.assertTrue(journal.ended_ticks)
                # asked for before the driver's exit handlers, after which it does not answer
                self.assertEqual(len(journal.devices), 1)
                self.assertEqual(count(journal, "launch"), 8)
                kernels = [r for r in journal.gpu() if r.work == "kernel"]
                self.assertEqual(len(kernels), 8,
                                 "kernels that were running at the end are recorded, too")
                self.assertEqual([r for r in kernels if r.flags & 1], [], "each kernel has an end")

    def test_exit_while_the_loader_loads(self):
        code = f"import ctypes; ctypes.CDLL({prog('leaving.so')!r})"
        self.assertEqual(self.both([sys.executable, "-c", code]).status, 5)

    def test_killed_processes_keep_their_journal(self):
        for how, number in self.DEATHS.items():
            with self.subTest(how=how):
                run = self.both([prog("ends"), how])
                self.assertEqual(run.status, -number)
                journal = run.journal()
                self.assertFalse(journal.ended_ticks)
                self.assertEqual(count(journal, "launch"), 8)

    def test_a_death_is_reported(self):
        """Also without a report on stderr, and for a process whose signal only its parent knows."""
        run = self.profiled([prog("ends"), "segv"], PROF_SCHEDULE="off")
        self.assertIn("ended by signal 11 (Segmentation fault)", run.err)
        self.assertRegex(self.tool("info", run.folder).out,
                         r"state +ended by signal 11 \(Segmentation fault\)")
        run = self.profiled(["sh", "-c", f"{prog('ends')} segv; true"], PROF_SCHEDULE="off")
        self.assertIn("killed (the journal has no end record)", run.err)
        self.assertRegex(self.tool("info", run.folder).out,
                         r"state +killed \(the journal has no end record\)")
        self.assertNotIn("signal 11", run.err)
        self.assertNotIn("killed", self.profiled([prog("ends"), "return"], PROF_SCHEDULE="off").err)

    def test_signals_from_outside(self):
        for number, how, status in ((signal.SIGINT, "waits", 5), (signal.SIGTERM, "waits", 5),
                                    (signal.SIGTERM, "waits-for-death", -signal.SIGTERM),
                                    (signal.SIGKILL, "waits-for-death", -signal.SIGKILL)):
            with self.subTest(signal=number.name, how=how):
                run = self.preloaded_and_signalled([prog("ends"), how], number)
                self.assertEqual(run.returncode, status)

    def preloaded_and_signalled(self, command, number):
        folder = self.folder()
        env = environment(
            LD_PRELOAD=os.path.join(os.path.dirname(prog("ends")), "../../libprofrun.so"),
            PROF_OUT=folder)
        child = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True)
        try:
            while child.stdout.readline() not in ("ready\n", ""):
                pass
            child.send_signal(number)
            child.stdout.read()
            child.wait(PATIENCE_S)
        finally:
            child.kill()
            child.wait()
            child.stdout.close()
        return child


class Threads(Unchanged):
    def test_threads_that_end_pass_their_chunks_on(self):
        journal = self.both([prog("threads"), "ending"]).journal()
        self.assertEqual(count(journal, "launch"), 200)
        # the main thread, and one that continues where the ended one was
        self.assertLessEqual(len({call.slot for call in journal.calls()}), 4)
        self.assertLess(len(journal.chunk_states), 60, "at most one chunk per thread")

    def test_many_threads_at_once(self):
        journal = self.both([prog("threads"), "many"], PROF_PAIRING="interval").journal()
        by_thread = {}
        for call in journal.calls():
            if call.category == "launch":
                by_thread[call.slot] = by_thread.get(call.slot, 0) + 1
        self.assertEqual(len(by_thread), 16)
        self.assertEqual(set(by_thread.values()), {100})
        pairs = journal.pairs()
        kernels = [r for r in journal.gpu() if r.work == "kernel"]
        self.assertEqual(len(kernels), 1600)
        self.assertTrue(all(pairs.get(r.correlation) for r in kernels))

    def test_threads_that_begin_together(self):
        """One of them does the setup, which takes some ms; the others' calls proceed meanwhile."""
        for _ in range(5):
            self.both([prog("together"), "4", "2000"], PROF_SCHEDULE="off")
        self.both([prog("together"), "4", "2000"], PROF_SCHEDULE="always")

    def test_threads_whose_first_calls_choose_devices(self):
        """The device that a thread chooses during another thread's setup is remembered."""
        for _ in range(3):
            run = self.both([prog("together"), "4", "3000", "devices"], PROF_SCHEDULE="always",
                            PROFSIM_DEVICES="4")
            devices = {}
            for call in run.journal().calls():
                if call.category == "launch":
                    devices.setdefault(call.slot, set()).add(call.device)
            self.assertTrue(devices)
            self.assertEqual({len(chosen) for chosen in devices.values()}, {1})
            self.assertEqual(len(set.union(*devices.values())), len(devices), devices)

    def test_threads_that_are_cancelled(self):
        """A thread cancelled within a call would keep the runtime's locks and ours."""
        run = self.both([prog("threads"), "cancelled"])
        self.assertEqual(run.out, "60000 calls\n")
        self.both([prog("threads"), "cancelled"], PROF_SCHEDULE="off")

    def test_thread_that_outlives_main(self):
        journal = self.both([prog("threads"), "late"]).journal()
        self.assertEqual(count(journal, "launch"), 6)
        self.assertTrue(journal.ended_ticks)

    def test_threads_that_keep_calling_while_the_process_ends(self):
        for _ in range(10):
            run = self.both([prog("threads"), "during-exit"])
            self.assertEqual(run.status, 4)
            self.assertTrue(run.journal().ended_ticks)


class Process(Unchanged):
    def test_device_reset_in_the_middle(self):
        journal = self.both([prog("process"), "resets"]).journal()
        self.assertEqual(count(journal, "launch"), 7)
        self.assertEqual(sum(r.work == "kernel" for r in journal.gpu()), 7,
                         "the records of both contexts must be there")

    def test_closing_every_descriptor(self):
        journal = self.both([prog("process"), "closes-all"]).journal()
        self.assertEqual(count(journal, "launch"), 30006)
        self.assertEqual(journal.dropped_records, 0)

    def test_no_descriptor_left(self):
        """The process is not taken for dead although it could not read its start time."""
        run = self.profiled([sys.executable, "-c", OUT_OF_DESCRIPTORS], PROF_SCHEDULE="always")
        self.assertEqual((run.status, run.out), (0, "freed\n"), run.err)
        (process,) = run.json["processes"]
        self.assertEqual((process["state"], process["records"]["calls"]), ("ended", 400))

    def test_chdir(self):
        run = self.both([prog("process"), "chdir"])
        self.assertEqual(count(run.journal(), "launch"), 6)

    def test_chdir_with_a_relative_folder(self):
        self.both([prog("process"), "chdir"], PROF_OUT="relative")
        self.assertTrue(os.listdir(os.path.join(self.base, "relative", "journal")))

    def test_file_size_limit(self):
        run = self.both([prog("process"), "limits"])
        self.assertEqual(run.status, 0)
        self.assertEqual(len(run.own_lines()), 1, run.err)

    def test_umask(self):
        self.both([prog("process"), "umask"])

    def test_errno_survives_every_call(self):
        run = self.both([prog("process"), "errno"])
        self.assertEqual(run.out, "errno good\n")

    def test_signal_handler_that_calls_cuda(self):
        journal = self.both([prog("process"), "handler"]).journal()
        self.assertEqual((count(journal, "launch"), count(journal, "memset")), (200, 200))

    def test_a_call_that_is_left_by_a_jump(self):
        """The thread's later calls are recorded, and the jump is reported."""
        run = self.both([prog("process"), "jumps"])
        self.assertEqual(run.out, "1 jumps\njumping good\n")
        self.assertGreaterEqual(count(run.journal(), "launch"), 200 + 50 - 1,
                                "all but those from deeper in the stack than the abandoned call")
        self.assertEqual([line for line in run.own_lines() if "longjmp or an exception" in line],
                         run.own_lines())
        self.assertEqual(len(run.own_lines()), 1)

    def test_no_cuda_no_file_no_thread(self):
        run = self.both([prog("process"), "no-cuda"])
        self.assertEqual((run.status, run.paths("*"), run.err), (6, [], ""))
        self.assertEqual(self.both([prog("process"), "threads"]).out, "one thread\n")

    def test_standard_input(self):
        run = self.both([prog("process"), "input"], stdin="one\ntwo\n")
        self.assertEqual(count(run.journal(), "launch"), 2)

    def test_failing_calls_fail_in_the_same_way(self):
        run = self.both([prog("process"), "fails"])
        failed = [c for c in run.journal().calls() if c.status]
        self.assertEqual([c.name for c in failed], ["cudaMalloc", "cudaMemcpy"])

    def test_planted_failures(self):
        run = self.both([prog("process"), "resets"], PROFSIM_FAIL="cudaDeviceSynchronize:2:700")
        self.assertNotEqual(run.status, 0)


if __name__ == "__main__":
    unittest.main()
