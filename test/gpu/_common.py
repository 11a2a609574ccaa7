"""What the cases with real programs share: the interpreter that has PyTorch, a run alone and one
under profrun, its results."""
import concurrent.futures
import glob
import json
import os
import signal
import subprocess
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAMS = os.path.join(ROOT, "test", "gpu", "programs")
TORCH = os.path.join(ROOT, "test", "torch")
sys.path.insert(0, TORCH)
from test_torch import BUILD, LAUNCHER, ON_GPU, SIM, environment, python  # noqa: E402

AT_ONCE = 4 if ON_GPU else 2
LIMIT_S = 150
PRELOADED = " ".join(os.path.join(SIM, name)
                     for name in ("libcudart.so.13", "libcupti.so.13", "libprofsim_libs.so"))
# On the simulated GPU an autograd thread may still want the interpreter at exit, with profrun and
# without; see sim_case.py.
DIES_AT_EXIT, TRIES = "terminate called without an active exception", 4


class Done:
    """A run that is over. `status` is "time-out" where it did not end."""

    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out, err

    def last_words(self):
        lines = [line.strip() for line in (self.err or self.out).splitlines() if line.strip()]
        return lines[-1][:200] if lines else "it says nothing"


def execute(command, env, folder, limit_s=LIMIT_S):
    os.makedirs(folder, exist_ok=True)
    child = subprocess.Popen(command, env=env, cwd=folder, text=True, errors="replace",
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, start_new_session=True)
    try:
        out, err = child.communicate(timeout=limit_s)
        return Done(child.returncode, out, err)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        out, err = child.communicate()
        return Done("time-out", out, err)


def again(run):
    for _ in range(1 if ON_GPU else TRIES):
        done = run()
        if DIES_AT_EXIT not in done.err:
            break
    return done


def settings(**more):
    return environment(HF_HUB_OFFLINE=1, TOKENIZERS_PARALLELISM="false",
                       XLA_PYTHON_CLIENT_PREALLOCATE="false", **more)


def alone(command, folder, **more):
    env = settings(**more, **({} if ON_GPU else {"LD_PRELOAD": PRELOADED}))
    return again(lambda: execute(command, env, folder))


def under_profrun(command, folder, schedule, *options, **more):
    """The run; what was recorded is in folder/run."""
    out, tries = os.path.join(folder, "run"), iter(range(TRIES))

    def run():
        where = f"{out}-{next(tries)}"
        line = [LAUNCHER, *([] if ON_GPU else ["--sim"]), "-o", where, "--schedule", schedule,
                *options, "--", *command]
        done = execute(line, settings(**more), folder)
        if os.path.lexists(out):
            os.unlink(out)
        os.symlink(where, out)
        return done
    return again(run)


def of_all_processes(folder, name):
    """The processes of run.json or report.json; none where there is no such file."""
    try:
        with open(os.path.join(folder, "run", name), encoding="utf-8") as file:
            return json.load(file)["processes"]
    except (FileNotFoundError, ValueError):
        return []


def main_process(folder):
    """run.json's and report.json's process with the most calls, or (None, None)."""
    processes = of_all_processes(folder, "run.json")
    if not processes:
        return None, None
    ran = max(processes, key=lambda p: p["records"]["calls"])
    return ran, next((p for p in of_all_processes(folder, "report.json") if p["pid"] == ran["pid"]),
                     None)


def journal_path(folder, ran):
    return os.path.join(folder, "run", ran["journal"])


def traces(folder):
    """Paths of the traces, by step."""
    found = glob.glob(os.path.join(folder, "run", "traces", "*", "step-*.pftrace.gz"))
    return sorted(found, key=lambda path: int(os.path.basename(path).split("-")[1].split(".")[0]))


def losses(folder):
    """Returns {what: how many} over all processes of the run, without zeros."""
    total = {}
    for process in of_all_processes(folder, "run.json"):
        for what, n in process["losses"].items():
            if n:
                total[what] = total.get(what, 0) + n
    return total


def lacks(interpreter, statement):
    """Why this interpreter cannot run `statement`, or None."""
    done = subprocess.run([interpreter, "-c", statement],
                          env=settings(**({} if ON_GPU else {"LD_PRELOAD": PRELOADED})),
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    return (done.stderr.strip().splitlines()[-1][:200] if done.returncode and done.stderr.strip()
            else None)


def interpreter_or_none(case):
    """The interpreter that has PyTorch; says why the case is skipped where there is none."""
    try:
        found = python()
    except unittest.SkipTest as why:
        print(f"skip {case}: {why}")
        return None
    why = lacks(found, "import torch; assert torch.cuda.is_available(), 'PyTorch sees no GPU'")
    if why:
        print(f"skip {case}: {why}")
    return None if why else found


def each(function, rows):
    """Yields function(row) for all rows, AT_ONCE at a time, in the rows' order, each as soon as it
    and those before it are ready."""
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        yield from pool.map(function, rows)


def conclude(outcomes):
    """Prints (name, None or why not, is a skip) as result lines; the exit status."""
    for name, why, is_skip in outcomes:
        print(f"skip {name}: {why}" if is_skip else f"not ok {name}: {why}" if why
              else f"ok {name}")
    return int(any(why and not is_skip for _, why, is_skip in outcomes))
