"""Other preloaded libraries: allocators, AddressSanitizer's runtime, and interposers of CUDA.

The interposers wrap CUDA functions (one of them also dlsym) and print how often they were called,
so that a call that bypasses them, or comes twice, is a difference of the output.
"""
import functools
import glob
import os
import subprocess

import common

# Programs whose output does not depend on time or on addresses.
PROGRAMS = (["interposed", "all", "3"], ["interposed", "handle", "5"],
            ["interposed", "getproc", "5"], ["interposed", "entry-point", "5"],
            ["threads", "ending"], ["driver_dlsym"],
            ["driver_getproc", "v2"], ["driver_getproc", "v1"], ["contexts"], ["fork", "before"],
            ["life_threads", "keys"], ["life_objects", "exit"], ["life_unload", "local"],
            ["loop", "300"])
FORMS = ("next", "handle", "name")
ALLOCATORS = {"tcmalloc": ("libtcmalloc_minimal.so.4", "libtcmalloc-minimal4"),
              "jemalloc": ("libjemalloc.so.2", "libjemalloc2")}
# Without --sim, which preloads the simulated GPU's libraries: a library that is preloaded after
# those wraps nothing. The programs find them through LD_LIBRARY_PATH.
OPTIONS = ()
# AddressSanitizer demands to be first. Programs here leak on purpose.
SANITIZER = {"ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0"}
RUNS, RUNS_SHORT = 5, 1  # of each library and place


def allocator(name):
    return (glob.glob(f"/usr/lib/*/{ALLOCATORS[name][0]}") or [None])[0]


def sanitizer():
    try:
        path = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True,
                              text=True, check=False).stdout.strip()
    except FileNotFoundError:
        return None
    return os.path.realpath(path) if os.path.isabs(path) else None


def libraries():
    """Returns the path of each library, None for one that is not installed."""
    found = {name: allocator(name) for name in ALLOCATORS}
    found["asan"] = sanitizer()
    for form in FORMS:
        found[f"interposer-{form}"] = os.path.join(common.PROGRAMS, f"interposer_{form}.so")
    return found


def missing():
    packages = {**{name: package for name, (_, package) in ALLOCATORS.items()},
                "asan": "gcc's AddressSanitizer"}
    return [f"{packages[name]}: no case with {name}"
            for name, path in libraries().items() if not path]


def with_preloads(before, after, command):
    """Returns a command line that puts libraries around those that are preloaded already."""
    code = f'LD_PRELOAD="{before}${{LD_PRELOAD:+:$LD_PRELOAD}}:{after}" exec "$@"'
    return ["sh", "-c", code, "sh", *command]


def one_run(name, place_in_list, place):
    known, chance = libraries(), place.chance
    chosen = {"before": [], "after": []}
    chosen[place_in_list].append(known[name])
    # One interposer at most: two of them call each other without end, also without profrun.
    for other in ALLOCATORS:
        if not name.startswith(("asan", other)) and known[other] and chance.random() < 0.3:
            chosen[chance.choice(("before", "after"))].append(known[other])
            break
    program = chance.choice(PROGRAMS)
    command = with_preloads(":".join(chosen["before"]), ":".join(chosen["after"]),
                            common.program(*program))
    schedule = chance.choice(("always", "off", "flight=3"))
    return place.check(command, OPTIONS, PROF_SCHEDULE=schedule, PROFSIM_DEVICES="2", **SANITIZER)


def around_the_launcher(name, place):
    """The library is in the environment of the launcher and the collector, too."""
    program = place.chance.choice(PROGRAMS)
    return place.check(common.program(*program), OPTIONS, PROF_SCHEDULE="always",
                       PROFSIM_DEVICES="2", LD_PRELOAD=libraries()[name], **SANITIZER)


def cases(_chance, is_short):
    for name, path in libraries().items():
        if not path:
            continue
        for i in range(RUNS_SHORT if is_short else RUNS):
            for place_in_list in "before", "after":
                yield common.Case(f"{name}-{place_in_list}/{i}",
                                  functools.partial(one_run, name, place_in_list))
            if not name.startswith("interposer"):  # they print at the end of every process
                yield common.Case(f"{name}-everywhere/{i}",
                                  functools.partial(around_the_launcher, name))


GROUP = common.Group("preloads", cases, missing)
