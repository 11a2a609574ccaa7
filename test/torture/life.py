"""The life cycle of processes and threads, under settings chosen at random.

Each mode of the programs runs several times: with and without launcher and collector, recorded or
not, with different ways of pairing, stacks and sampling.
"""
import functools

import common

MODES = {
    "life_threads": ("many", "churn", "small-stacks", "detached", "fibers", "cancelled", "keys"),
    "life_processes": ("daemon", "exec-chain", "tree", "fork-among-threads", "raw-clone", "spawns",
                       "vforks"),
    "life_signals": ("timers", "faults", "blocked", "ends-in-handler", "killed-by-timer"),
    "life_objects": ("return", "exit", "quick-exit", "thread", "terminate"),
    "life_unload": ("local", "global", "deepbind", "threads", "namespace"),
    "fork": ("before", "after", "after-tries", "grandchild", "leaving-child"),
    "spawn": ("exec", "vfork", "failing-vfork", "spawn", "system"),
    "ends": ("return", "exit", "_exit", "_Exit", "quick_exit", "abort", "kill", "term", "segv",
             "thread", "main-leaves"),
    "threads": ("ending", "many", "late", "during-exit", "cancelled"),
    "process": ("resets", "closes-all", "chdir", "limits", "umask", "errno", "handler", "no-cuda",
                "input", "fails"),
}
SETTINGS = {
    "PROF_SCHEDULE": ("always", "always", "off", "flight=3", "wait=1,warmup=1,active=2,repeat=0"),
    "PROF_STEP": ("auto", "sync", "time:1", "api"),
    "PROF_PAIRING": ("order", "interval", "external"),
    "PROF_STACKS": ("all", "sync", "none"),
    "PROF_HOST": ("1000", "10000", "off"),
    "PROF_OPENING": ("10s,64MB", "off"),
    "PROF_CUPTI": ("auto", "auto", "off"),
    "PROF_BUFFER_MB": ("8", "256"),
    "PROF_TRIGGER": ("file", "file,signal", "slow:2", "none"),
    "PROF_FORMAT": ("perfetto", "perfetto,chrome,folded,memory"),
}
# CUPTI's threads live on: only without them does the process end with its last thread. CUDA's own
# threads on a real GPU have the same effect, without profrun.
FIXED = {("ends", "main-leaves"): {"PROF_CUPTI": "off"}}
ROUNDS = 3


def one_life(name, mode, place):
    chance = place.chance
    settings = {key: chance.choice(values) for key, values in SETTINGS.items()}
    settings.update(FIXED.get((name, mode), {}))
    return place.check(common.program(name, mode), stdin=b"one\ntwo\n",
                       is_launched=chance.random() < 0.7, **settings)


def cases(chance, is_short):
    every = [(name, mode) for name, modes in MODES.items() for mode in modes]
    chosen = chance.sample(every, 14) if is_short else ROUNDS * every
    for i, (name, mode) in enumerate(chosen):
        yield common.Case(f"{name}-{mode}/{i}", functools.partial(one_life, name, mode))


GROUP = common.Group("life", cases, common.nothing_missing)
