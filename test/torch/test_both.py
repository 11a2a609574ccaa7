"""torch.profiler and profrun at once, started and stopped in all orders (both.py). torch's traces
must be those that it writes alone; profrun's recording has a marked gap and continues after it."""
import glob
import os
import unittest

from torch_trace import Kineto
from sim_case import NO_OPENING, SimCase
from test_torch import HERE
from trace import Trace

STEPS, ARMED = range(60), range(22, 42)
SCHEDULE = f"skip_first=20,wait=0,warmup=2,active={len(ARMED)},repeat=1"
PROGRAM = os.path.join(HERE, "both.py")


class Both(SimCase):
    SETTINGS = NO_OPENING

    def windows(self, folder):
        """Returns, for each of torch.profiler's windows, the names of its kernels and copies in
        launch order."""
        found = {}
        for path in glob.glob(os.path.join(folder, "*.json")):
            kineto = Kineto(path)
            found[int(os.path.basename(path)[:-5])] = [
                work.name for kind in ("kernel", "gpu_memcpy", "gpu_memset")
                for work in kineto.work(kind)]
        return found

    def run_kind(self, kind):
        """profrun's run; torch's traces are compared."""
        folders = [os.path.join(self.base, kind + who) for who in ("-alone", "-beside")]
        for folder in folders:
            os.makedirs(folder)
        alone = self.alone([PROGRAM, kind, folders[0]])
        self.assertEqual(alone.status, 0, alone.err)
        run = self.under_profrun([PROGRAM, kind, folders[1]], SCHEDULE, "--step", "nvtx:step")
        self.assertEqual(run.status, 0, run.err)
        self.assertNotIn("unknown buffer", run.err)
        theirs, with_us = self.windows(folders[0]), self.windows(folders[1])
        self.assertTrue(theirs)
        self.assertEqual(with_us, theirs)
        self.assertEqual(run.trace_steps(), list(ARMED))
        return run, theirs

    def kernels(self, run):
        """{step: kernels in profrun's trace of it}."""
        return {number: len([s for s in Trace(path).slices if "correlation" in s.args
                             and "grid" in s.args and s.args.get("kernel") is None])
                for number, path in zip(run.trace_steps(), run.traces_in_order())}

    def states(self, run):
        return [r.state for r in sorted(run.journal().of(4), key=lambda r: r.ticks)]

    def check(self, kind, gaps):
        """`gaps`: steps, any of which torch.profiler had for itself."""
        run, theirs = self.run_kind(kind)
        kernels, states = self.kernels(run), self.states(run)
        whole = [number for number in ARMED if number not in gaps]
        self.assertEqual({number: kernels[number] for number in whole},
                         dict.fromkeys(whole, max(kernels.values())))
        if not gaps:
            self.assertNotIn("yielded", states)
            return theirs
        self.assertIn("yielded", states)
        lost = [number for number in ARMED if kernels[number] < max(kernels.values())]
        self.assertTrue(lost)
        self.assertLessEqual(set(lost), set(gaps))
        if max(gaps) < ARMED[-1]:
            self.assertIn("on", states[states.index("yielded"):], "GPU timing did not resume")
        return theirs

    def test_windows_of_a_schedule(self):
        windows = self.check("windows", [n for n in ARMED if n in range(20, 25)
                                         or n in range(29, 34) or n in range(38, 43)])
        self.assertEqual(len(windows), 4)

    def test_everything_it_can_record(self):
        self.check("everything", [n for n in ARMED if n in range(20, 25) or n in range(29, 34)
                                  or n in range(38, 43)])

    def test_cpu_only(self):
        self.check("cpu_only", [])

    def test_before(self):
        self.check("before", [])

    def test_across_the_beginning(self):
        self.check("across_the_begin", range(15, 29))

    def test_within(self):
        self.check("within", [*range(25, 29), *range(32, 36)])

    def test_across_the_end(self):
        self.check("across_the_end", range(36, 49))

    def test_around(self):
        run, _ = self.run_kind("around")
        self.assertEqual(set(self.kernels(run).values()), {0})

    def test_after(self):
        self.check("after", [])


if __name__ == "__main__":
    unittest.main()
