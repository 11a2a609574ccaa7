"""The collector's memory has a limit, PROF_COLLECTOR_MB, whatever the load."""
import glob
import mmap
import os
import re
import struct
import subprocess
import time
import unittest

from harness import EVERYTHING, TOOL, Case, Run, environment, prog, read_proc, unsanitized
from journal import CALL, CHUNK, CHUNK_ENTRY_BYTES, DROPPED, KERNEL, Journal

STEPS = 150000
UNKNOWN = 60  # a kind of record that no version has


def program_of(pid):
    """Returns the path of the program that the process runs. Until exec it is Python."""
    try:
        return os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return None


def lose_records(path):
    """Makes a journal look as if it was full for long: a kernel's record is missing, and the chunks
    begin with marks of dropped records instead of calls."""
    journal = Journal(path, header_only=True)
    journal._read_dictionary()
    n_marks = n_lost = 0
    with open(path, "r+b") as file, mmap.mmap(file.fileno(), 0) as data:
        for i in range(journal.n_chunks):
            _, committed, _, _, claim = CHUNK.unpack_from(
                data, journal.directory + i * CHUNK_ENTRY_BYTES)
            at = begin = journal.chunks + i * journal.chunk_bytes
            if not claim:
                continue
            if data[at] == CALL:
                ticks = journal._record(at, 0).begin - 1
                struct.pack_into("<BBHIQQQ", data, at, DROPPED, 4, 0, 0, 1, ticks, ticks)
                struct.pack_into("<BBHI8x", data, at + 32, UNKNOWN, 2, 0, 0)
                n_marks += 1
            while not n_lost and at < begin + committed:
                if data[at] == KERNEL:
                    data[at] = UNKNOWN
                    n_lost += 1
                at += data[at + 1] * 8
    return n_marks, n_lost


class MemoryLimit(Case):
    def record(self):
        folder = self.preloaded([prog("loop"), str(STEPS), "bare"], PROF_STEP="kernel:first",
                                **EVERYTHING).folder
        (path,) = glob.glob(os.path.join(folder, "journal", "*.journal"))
        return folder, path

    def collect(self, folder, limit_mb):
        """Returns the most memory that the collector had resident, in MiB, mapped files included.
        The kernel's own figure at the end, ru_maxrss, includes the memory of this program."""
        child = subprocess.Popen([TOOL, "collect", folder],
                                 env=environment(PROF_COLLECTOR_MB=limit_mb, PROF_KEEP_TRACES=10))
        peak = b"0"
        while child.poll() is None:
            if program_of(child.pid) == os.path.realpath(TOOL):
                found = re.findall(rb"VmHWM:\s*(\d+)", read_proc(child.pid, "status"))
                peak = found[0] if found else peak
            time.sleep(0.005)
        self.assertEqual(child.returncode, 0)
        self.assertGreater(int(peak), 0)
        return int(peak) / 1024

    @unsanitized("it keeps freed memory")
    def test_the_load(self):
        """Of 1.3 million records the same collector takes less with a lower limit."""
        self.assertGreater(self.collect(self.record()[0], 512), 150, "too small a load")
        self.assertLess(self.collect(self.record()[0], 64), 64)

    @unsanitized("it keeps freed memory")
    def test_a_journal_that_was_full(self):
        """A GPU record that never arrives holds up no more steps than the limit allows. All other
        GPU work is paired."""
        folder, path = self.record()
        n_marks, n_lost = lose_records(path)
        self.assertGreater(n_marks, 100)
        self.assertEqual(n_lost, 1)
        self.assertLess(self.collect(folder, 64), 64)
        (process,) = Run(0, "", "", folder).json["processes"]
        self.assertEqual(process["steps"]["count"], STEPS)
        losses = process["losses"]
        self.assertEqual(losses["calls_without_gpu_work"], n_lost)
        self.assertEqual(losses["gpu_work_without_call"], n_marks)
        self.assertEqual(losses["late"], 0)


if __name__ == "__main__":
    unittest.main()
