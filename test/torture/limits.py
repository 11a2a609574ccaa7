"""Limits of resources, full and read-only disks, and folders that change during a run.

Whatever the limit, the application does what it does bare under the same limit; at worst it is not
profiled.
"""
import functools
import os
import shutil
import subprocess

import common
from harness import LAUNCHER, TOOL

MIB = 1 << 20
PROGRAM = ("loop", "400", "plain", "200")
RUNS, RUNS_SHORT = 12, 1  # of each kind


def limited(options, place, program=PROGRAM, tool=(LAUNCHER,), **settings):
    """Compares the program under limits, which launcher and collector have, too."""
    limits = ["prlimit", *options, "--"]
    command = common.program(*program)
    settings = {"PROF_SCHEDULE": "always", **settings}
    line = [*limits, *tool, "--sim", "-o", place.folder, "--", *command]
    return (place.compare([*limits, *command], line, **settings) + place.folder_faults())


def files(place):
    """The launcher's shell needs eleven descriptors, `profrun run` four (docs/reliability.md)."""
    is_script = place.chance.random() < 0.5
    n = place.chance.randint(11 if is_script else 5, 40)
    return limited([f"--nofile={n}"], place, tool=[LAUNCHER] if is_script else [TOOL, "run"])


def file_size(place):
    size = int(2 ** place.chance.uniform(0, 27))
    return limited([f"--fsize={size}"], place, PROF_BUFFER_MB=place.chance.choice((8, 256)))


def needed_bytes(command):
    """Returns how much address space the program needs, to one MiB."""
    low, high = MIB, 1 << 40
    while high - low > MIB:
        middle = (low + high) // 2
        done = subprocess.run(["prlimit", f"--as={middle}", "--", *command], check=False,
                              env=common.environment(), capture_output=True)
        low, high = (low, middle) if done.returncode == 0 else (middle, high)
    return high


def address_space(place):
    """More than the program needs by 16 MiB at least: the library alone maps 6."""
    needed = needed_bytes(common.program(*PROGRAM))
    size = needed + 16 * MIB + int(2 ** place.chance.uniform(20, 32))
    return limited([f"--as={size}"], place, PROF_BUFFER_MB=place.chance.choice((8, 256, 1024)))


def stack(place):
    size = place.chance.randint(128 << 10, 1 << 20)
    return limited([f"--stack={size}"], place,
                   program=place.chance.choice((PROGRAM, ("life_threads", "churn"))))


def others(place):
    return limited(["--memlock=0", "--core=0", "--sigpending=0", "--msgqueue=0", "--rtprio=0"],
                   place, PROF_TRIGGER="file,signal")


# Mounts a file system of its own at $1 for the command after $3 and copies the run's folder to $2.
# MOUNT are its options. FILL_S: when something else fills the rest of it, in seconds.
ON_A_DISK = """
at=$1 copy=$2 tool=$3; shift 3
mount -t tmpfs -o "$MOUNT" none "$at" || exit 99
[ -z "$FILL_S" ] || (sleep "$FILL_S"; exec cat /dev/zero >"$at/filler") >/dev/null 2>&1 &
"$@"; status=$?
[ -z "$FILL_S" ] || wait
[ ! -d "$at/run/journal" ] || "$tool" report "$at/run" >/dev/null 2>&1
[ $? -le 1 ] || exit 98
[ ! -d "$at/run" ] || cp -r "$at/run" "$copy" || exit 97
exit $status
"""
PRIVATE = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"])]


def can_mount():
    done = subprocess.run([*PRIVATE, "mount", "-t", "tmpfs", "none", "/mnt"], check=False,
                          capture_output=True)
    return done.returncode == 0


def on_a_disk(place, mount, fill_s="", **settings):
    at = os.path.join(place.base, "disk")
    os.mkdir(at)
    command = common.program(*PROGRAM)
    line = [*PRIVATE, "sh", "-c", ON_A_DISK, "sh", at, place.folder, TOOL,
            LAUNCHER, "--sim", "-o", f"{at}/run", "--", *command]
    return place.compare(command, line, MOUNT=mount, FILL_S=fill_s, PROF_SCHEDULE="always",
                         **settings) + place.folder_faults()


def small_disk(place):
    size_kib = int(2 ** place.chance.uniform(2, 16))
    return on_a_disk(place, f"size={size_kib}k", PROF_BUFFER_MB=place.chance.choice((8, 256)))


def filled_disk(place):
    return on_a_disk(place, "size=64m", f"{place.chance.uniform(0, 1):.3f}")


def few_inodes(place):
    return on_a_disk(place, f"nr_inodes={place.chance.randint(2, 60)}")


def read_only_disk(place):
    return on_a_disk(place, "ro")


def no_folder(place):
    """The run's folder cannot be created: its place is taken, or is no folder."""
    kind = place.chance.choice(("file", "pipe", "loop", "in a file", "device", "closed"))
    path = place.folder
    if kind == "file":
        open(path, "w", encoding="ascii").close()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "loop":
        os.symlink(path, path)
    elif kind == "closed":
        os.mkdir(path, mode=0)
    elif kind == "in a file":
        open(path, "w", encoding="ascii").close()
        path += "/run"
    else:
        path = "/dev/null"
    command = common.program(*PROGRAM)
    return place.compare(command, [LAUNCHER, "--sim", "-o", path, "--", *command],
                         PROF_SCHEDULE="always")


# Changes the run's folder at a random instant.
CHANGES = {
    "removed": 'rm -rf "$1"',
    "renamed": 'mv "$1" "$1.moved"',
    "replaced": 'mv "$1" "$1.moved"; : >"$1"',
    "traces-removed": 'rm -rf "$1/traces"',
    "journal-truncated": 'for f in "$1"/journal/*; do : >"$f"; done',
    "journal-cut": 'for f in "$1"/journal/*; do truncate -s 4096 "$f"; done',
    "journal-removed": 'rm -rf "$1/journal"',
}


def folder_changes(place):
    kind = place.chance.choice(list(CHANGES))
    code = (f'(sleep {place.chance.uniform(0, 0.8):.3f}; {CHANGES[kind]}) >/dev/null 2>&1 & '
            'run=$1; shift; "$@"; status=$?; wait; exit $status')
    command = common.program(*PROGRAM)
    found = place.compare(command, ["sh", "-c", code, "sh", place.folder, LAUNCHER, "--sim", "-o",
                                    place.folder, "--", *command], PROF_SCHEDULE="always")
    if not os.path.isdir(place.folder):
        return found
    # What is left of it may be damaged, which the commands have to report.
    found += [fault for fault in common.command_faults(place.folder) if "ended with -" in fault]
    shutil.rmtree(place.folder, ignore_errors=True)
    return [f"{kind}: {fault}" for fault in found]


KINDS = {"files": files, "file-size": file_size, "address-space": address_space, "stack": stack,
         "others": others, "no-folder": no_folder, "folder-changes": folder_changes}
ON_DISKS = {"small-disk": small_disk, "filled-disk": filled_disk, "few-inodes": few_inodes,
            "read-only-disk": read_only_disk}


def missing():
    found = [] if shutil.which("prlimit") else ["prlimit of util-linux: every case of limits fails"]
    if not can_mount():
        found.append("the right to mount a file system: no case of " + ", ".join(ON_DISKS))
    return found


def cases(_chance, is_short):
    kinds = {**KINDS, **(ON_DISKS if can_mount() else {})}
    for i in range(RUNS_SHORT if is_short else RUNS):
        for name, kind in kinds.items():
            yield common.Case(f"{name}/{i}", functools.partial(kind))


GROUP = common.Group("limits", cases, missing)
