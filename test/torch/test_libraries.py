"""Library calls in PyTorch programs: FLOP counts against torch.profiler's with_flops, DDP over the
simulated NCCL."""
import collections
import os
import subprocess
import unittest

from sim_case import SimCase, report_of
from test_torch import HERE
from journal import LIBRARY  # found through test_torch
from trace import Trace

SCHEDULE = "skip_first=15,wait=0,warmup=2,active=4,repeat=1"


class Operations(SimCase):
    def check(self, dtype):
        run = self.under_profrun([os.path.join(HERE, "flops.py"), "30", dtype], SCHEDULE, "--step",
                                 "nvtx:step")
        self.assertEqual(run.status, 0, run.err)
        process, = report_of(run)["processes"]
        expected = float(run.out.split()[-1])
        for part in ("lines", "operators", "kernels"):
            self.assertEqual(sum(x["flops"] or 0 for x in process[part]), expected, part)
        for x in process["kernels"]:
            if x["flops"]:
                self.assertAlmostEqual(x["tflops"], x["flops"] / (x["gpu_ms_per_step"] * 1e9),
                                       delta=0.01 * x["tflops"])
        return run

    def test_float32(self):
        run = self.check("float32")
        self.assertEqual({c.type for c in run.journal().of(LIBRARY) if "m" in c}, {0})

    def test_bfloat16(self):
        run = self.check("bfloat16")
        self.assertEqual({c.type for c in run.journal().of(LIBRARY) if "m" in c}, {14})


class Convolutions(SimCase):
    """torchvision's resnet18: 20 forward convolutions. Each has a gradient of its weights, all but
    the first one of its input."""
    WGRAD_US = 70

    def test_resnet18_forward_and_backward(self):
        """How long which convolution takes is set, so where the report puts the time is known."""
        if subprocess.run([self.interpreter, "-c", "import torchvision"],
                          stderr=subprocess.DEVNULL).returncode:
            self.skipTest("torchvision could not be had from PyPI")
        run = self.under_profrun([os.path.join(HERE, "users", "resnet18.py"), "40"], SCHEDULE,
                                 PROFSIM_KERNEL_TIMES=f"wgrad={self.WGRAD_US}")
        self.assertEqual(run.status, 0, run.err)
        process, = report_of(run)["processes"]
        kernels = {x["name"].split("_")[2]: x for x in process["kernels"]
                   if x["name"].endswith("cudnn")}
        self.assertEqual({name: x["per_step"] for name, x in kernels.items()},
                         {"fprop": 20, "dgrad": 19, "wgrad": 20})
        self.assertAlmostEqual(kernels["wgrad"]["gpu_ms_per_step"], 20 * self.WGRAD_US / 1e3,
                               delta=0.02)
        operators = {x["name"]: x for x in process["operators"]}
        backward = operators["aten::convolution_backward"]["self_gpu_ms_per_step"]
        self.assertGreater(backward, 20 * self.WGRAD_US / 1e3)
        for path in run.traces_in_order():
            self.check_trace(Trace(path))

    def check_trace(self, trace):
        """The spans of cuDNN's calls lie within the operators that made them; their arrows lead to
        cuDNN's kernels."""
        spans = [s for s in trace.slices if s.name == "cudnnBackendExecute"]
        self.assertEqual(len(spans), 59)
        arrows = dict(trace.flows_in)
        reached = [arrows[flow].name.split("_")[2] for flow, call in trace.flows_out
                   if flow in arrows
                   and any(s.track == call.track and s.time <= call.time and call.end <= s.end
                           for s in spans)]
        self.assertEqual(collections.Counter(reached), {"fprop": 20, "dgrad": 19, "wgrad": 20})


class Nccl(SimCase):
    STEPS, SLEPT_MS = 40, 25

    def test_two_ranks_one_of_which_sleeps(self):
        command = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2",
                   os.path.join(HERE, "ranks", "nccl.py"), "--steps",
                   str(self.STEPS), "--sleep", "1", str(self.SLEPT_MS)]
        run = self.under_profrun(command, SCHEDULE)
        self.assertEqual(run.status, 0, run.err)
        self.assertEqual(sorted(run.out.splitlines()),
                         [f"rank {r} of 2: {self.STEPS} steps, gathered [7, 8]" for r in range(2)])
        processes = {p["rank"]: p for p in report_of(run)["processes"]}
        rows = {rank: [x for x in p["collectives"] if x["name"] == "ncclAllReduce"]
                for rank, p in processes.items()}
        parameters = 256 * 256 * 2 + 256 * 2 + 256 * 10 + 10
        for rank in (0, 1):
            self.assertEqual(sum(x["bytes_per_step"] for x in rows[rank]), 4 * parameters)
            self.assertEqual({x["ranks"] for x in rows[rank]}, {2})
        waits = {rank: sum(x["wait_ms_per_step"] for x in rows[rank]) for rank in rows}
        self.assertGreater(waits[0], 0.8 * self.SLEPT_MS)
        self.assertLess(waits[1], 0.2 * self.SLEPT_MS)
        self.assertEqual(rows[0][0]["last_rank"], 1)
        self.assertEqual(processes[0]["bound"]["verdict"], "collective")


if __name__ == "__main__":
    unittest.main()
