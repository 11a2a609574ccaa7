"""While a wrapper has nothing to do, the linker's slots point at the real function.

Calls then do not pass through profrun at all.
"""
import unittest

from harness import NO_OPENING, Case, prog

WINDOW = "skip_first=3,wait=0,warmup=0,active=2,repeat=1"
REPORT = "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE"


class Slots(Case):
    SETTINGS = NO_OPENING

    def where(self, program="slots", **settings):
        """Returns where launches and events go, for each step and for a forked child."""
        run = self.preloaded([prog(program), "8"], PROF_STEP="sync", **settings)
        self.assertEqual((run.status, run.err), (0, ""))
        lines = [line.split() for line in run.out.splitlines()]
        return run, [(words[2], words[4]) for words in lines[:-1]], (lines[-1][2], lines[-1][4])

    def test_nothing_to_do(self):
        _, steps, child = self.where(PROF_SCHEDULE="off")
        self.assertEqual(steps, 8 * [("cuda", "cuda")])
        self.assertEqual(child, ("hook", "hook"), "the child's first call arms")

    def test_a_window(self):
        """Launches count steps; events only matter while steps are recorded."""
        run, steps, _ = self.where(PROF_SCHEDULE=WINDOW)
        self.assertEqual(steps,
                         3 * [("hook", "cuda")] + 2 * [("hook", "hook")] + 3 * [("hook", "cuda")])
        names = [call.name for call in run.journal().calls()]
        self.assertEqual((names.count("cudaLaunchKernel"), names.count("cudaEventRecord")), (4, 2))

    def test_everything(self):
        _, steps, child = self.where(PROF_SCHEDULE="always")
        self.assertEqual((steps, child), (8 * [("hook", "hook")], ("hook", "hook")))

    def test_read_only_slots_are_kept(self):
        for schedule in "off", WINDOW:
            _, steps, child = self.where("slots_now", PROF_SCHEDULE=schedule)
            self.assertEqual((steps, child), (8 * [("hook", "hook")], ("hook", "hook")))

    def at_exit(self, command, names, **settings):
        """Returns where the slots point at exit, in the program or in the library it loads."""
        run = self.profiled(command, SLOTS=" ".join(names), LD_PRELOAD=prog("slots_at_exit.so"),
                            **settings)
        self.assertEqual(run.status, 0, run.err)
        lines = [line.split() for line in run.err.splitlines()]
        return {words[1]: words[2] for words in lines
                if words and words[0] in ("program", "user.so")}

    def test_memory_reports(self):
        command = [prog("c10_main"), prog("c10_new/user.so"), "20", "0"]
        kept = self.at_exit(command, [REPORT], PROF_STEP="sync",
                            PROF_SCHEDULE="skip_first=1000,active=1")
        self.assertEqual(kept, {REPORT: "hook"})
        off = self.at_exit(command, [REPORT], PROF_STEP="sync", PROF_SCHEDULE="always",
                           PROF_MEMORY="off")
        self.assertEqual(off, {REPORT: "cuda"})

    def test_libraries(self):
        names = ["cublasSgemm_v2", "cublasLtMatmul", "ncclBroadcast"]
        recorded = self.at_exit([prog("libraries"), "plt"], names, PROF_SCHEDULE="always")
        self.assertEqual(recorded, {name: "hook" for name in names})
        counted = self.at_exit([prog("libraries"), "plt"], names,
                               PROF_SCHEDULE="skip_first=1000,active=1")
        self.assertEqual(counted,
                         {name: "hook" if name == "ncclBroadcast" else "cuda" for name in names},
                         "NCCL's communicators are always followed")

    def test_a_fork_after_an_object_was_unloaded(self):
        run = self.preloaded(
            [prog("slots_forks"), "gone", prog("slots_caller.so"), prog("slots_other.so")],
            PROF_SCHEDULE="off")
        self.assertEqual((run.status, run.out, run.err), (0, "1\n", ""),
                         "2: the objects were not loaded at the same address")

    def test_an_object_that_is_loaded_again(self):
        """Its slots are as the linker set them."""
        for steps, events in ("6", 1), ("2", 2):
            run = self.preloaded([prog("slots_forks"), "anew", prog("slots_caller.so"), steps],
                                 PROF_STEP="sync", PROF_CUPTI="off",
                                 PROF_SCHEDULE="skip_first=1,wait=0,warmup=0,active=2,repeat=1")
            self.assertEqual((run.status, run.err), (0, ""), "2: it was loaded at another address")
            self.assertEqual([call.name for call in run.journal().calls()].count("cudaEventRecord"),
                             events - 1)

    def test_forks_while_slots_change(self):
        """The loader's lock is held then, and glibc's fork does not release it in the child."""
        run = self.preloaded([prog("slots_forks"), "during", "200", prog("slots_other.so")],
                             PROF_STEP="sync", PROF_CUPTI="off", PROF_STACKS="none",
                             PROF_SCHEDULE="skip_first=1,wait=1,warmup=0,active=1,repeat=0")
        self.assertEqual((run.status, run.out), (0, "200\n"), run.err)


if __name__ == "__main__":
    unittest.main()
