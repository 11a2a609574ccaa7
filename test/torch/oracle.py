"""Runs a training script unchanged inside torch.profiler. A step ends with each step of an
optimizer.

usage: oracle.py TRACE SCRIPT [ARGUMENT...]
       TRACE: Kineto's JSON of SEEN steps, after SKIPPED ones
"""
import os
import runpy
import sys

from torch.optim.optimizer import register_optimizer_step_post_hook
from torch.profiler import ProfilerActivity, profile, schedule

SKIPPED, SEEN = 20, 6


def main():
    trace, *sys.argv = sys.argv[1:]
    sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
    profiler = profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA],
                       schedule=schedule(skip_first=SKIPPED, wait=0, warmup=1, active=SEEN,
                                         repeat=1))
    hook = register_optimizer_step_post_hook(lambda *_: profiler.step())
    with profiler:
        runpy.run_path(sys.argv[0], run_name="__main__")
    hook.remove()
    profiler.export_chrome_trace(trace)


if __name__ == "__main__":
    main()
