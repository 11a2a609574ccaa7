"""PyTorch's memory reports, from a stand-in for libc10 with its two functions.

The functions have the names of older or of newer PyTorch. Every block is recorded, the real
functions get their arguments unchanged, and nothing is recorded where nothing was asked for.
"""
import json
import os
import pickle
import unittest

from harness import EVERYTHING, NO_OPENING, Case, prog
from journal import BLOCK, MEMORY
from trace import Trace

STEPS = 40
SETTINGS = {"PROF_STEP": "sync"}
ARMED = ("--schedule", "skip_first=10,wait=0,warmup=1,active=4,repeat=1")


def command(generation, steps, leaks=0):
    return [prog("c10_main"), prog(f"c10_{generation}/user.so"), str(steps), str(leaks)]


def reported(path):
    with open(os.path.join(path, "report.json"), encoding="utf-8") as file:
        process, = json.load(file)["processes"]
    return process


def last_list(journal):
    """The blocks that were live when recording began. The list before it is that of the allocation
    that fails."""
    blocks = journal.of(BLOCK)
    last = max(i for i, b in enumerate(blocks) if b.event == "known")
    return [b for b in blocks[last:] if b.event == "live"]


class Blocks(Case):
    SETTINGS = NO_OPENING

    def test_both_generations(self):
        for generation in ("new", "old"):
            alone = self.bare(command(generation, 10))
            self.assertEqual(alone.status, 0, alone.err)
            run = self.preloaded(command(generation, 10), **SETTINGS, **EVERYTHING)
            self.assertEqual((run.status, run.out, run.err), (0, alone.out, alone.err), generation)
            blocks = run.journal().of(BLOCK)
            self.assertEqual(len([b for b in blocks if b.event == "made"]), 101)
            self.assertEqual(len([b for b in blocks if b.event == "freed"]), 100)
            self.assertEqual([b.bytes for b in blocks if b.event == "oom"], [1 << 40])
            self.assertEqual({b.bytes for b in blocks if b.event in ("made", "freed")}, {512, 4096})
            self.assertTrue(all(b.stack for b in blocks if b.event == "made"))
            self.assertEqual({b.reserved for b in blocks if b.event == "made"}, {8 << 20})

    def test_off(self):
        alone = self.bare(command("new", 10))
        run = self.preloaded(command("new", 10), **SETTINGS, **EVERYTHING, PROF_MEMORY="off")
        self.assertEqual((run.status, run.out, run.err), (0, alone.out, alone.err))
        self.assertFalse(run.journal().of(BLOCK) + run.journal().of(MEMORY))

    def test_blocks_that_are_live_when_recording_begins(self):
        run = self.preloaded(command("new", 40, leaks=1), **SETTINGS, PROF_SCHEDULE=ARMED[1])
        journal = run.journal()
        blocks = [b for b in journal.of(BLOCK) if b.event != "oom"]
        live = last_list(journal)
        self.assertEqual([b.event for b in blocks][0], "known")
        self.assertIn(4096, [b.bytes for b in live])
        # Of steps 0 to 10: step 10 begins with its copy, and its block is made before that.
        self.assertEqual(sum(b.bytes for b in live), 4096 + 11 * 1024)
        held = journal.of(MEMORY)
        self.assertEqual(held[-1].allocated, 4096 + 40 * 1024)
        self.assertEqual(held[-1].peak, 4096 + 39 * 1024 + 10 * 512)
        self.assertGreaterEqual(len(held), 39)

    def test_live_blocks_reported_on_the_short_path(self):
        """The path without stacks. It continues when the first table is full."""
        run = self.preloaded(command("new", 4720, leaks=1), **SETTINGS, PROF_STACKS="none",
                             PROF_SCHEDULE="skip_first=4700,wait=0,warmup=1,active=4,repeat=1")
        live = last_list(run.journal())
        self.assertEqual(sum(b.bytes for b in live), 4096 + 4701 * 1024)
        self.assertEqual(len({b.address for b in live}), len(live))
        held = run.journal().of(MEMORY)
        self.assertEqual(held[-1].allocated, 4096 + 4720 * 1024)
        self.assertEqual(held[-1].peak, 4096 + 4719 * 1024 + 10 * 512)

    def test_windows_that_begin_during_reports(self):
        """Each window ends with all blocks known: wherever a report was when recording began, its
        block is in the list of live blocks, has a record, or both."""
        sums = []
        for _ in range(10):  # on a busy machine few windows see the reporting thread run
            sums += self.sums_at_window_ends()
            if len(sums) > 20:
                break
        self.assertGreater(len(sums), 20)
        self.assertEqual([pair for pair in sums if pair[0] != pair[1]], [])

    def sums_at_window_ends(self):
        """For each window with reports: the sum of list and records, and what is allocated."""
        command = [prog("c10_main"), prog("c10_new/race.so"), "300", "100"]
        run = self.preloaded(command, **SETTINGS, PROF_STACKS="none", PROF_CUPTI="off",
                             PROF_BUFFER_MB="1024",
                             PROF_SCHEDULE="skip_first=2,wait=2,warmup=0,active=1,repeat=0")
        # The sort is stable: the list follows its "known".
        blocks = sorted(run.journal().of(BLOCK), key=lambda b: b.ticks)
        live, sums = {}, []
        for b in blocks:
            if b.event == "known":
                live = {}
                sums.append(None)
            elif b.event == "freed":
                live.pop(b.address, None)
            else:
                live[b.address] = b.bytes
            if b.event in ("made", "freed"):
                sums[-1] = (sum(live.values()), b.allocated)
        return [pair for pair in sums if pair]

    def test_report(self):
        run = self.profiled(command("new", STEPS), ARMED, **SETTINGS)
        self.assertEqual(run.status, 0, run.err)
        memory = reported(run.folder)["memory"]
        self.assertEqual(memory["allocator"]["peak_bytes"], 4096 + 5120)
        self.assertEqual(memory["allocator"]["recorded_peak_bytes"], 4096 + 5120)
        self.assertEqual(memory["allocator"]["peak_reserved_bytes"], 8 << 20)
        self.assertEqual(memory["allocator"]["bytes"], 4096)
        self.assertEqual(memory["allocator"]["out_of_memory"], 1)
        for rows in (memory["by_kind"], memory["by_phase"]):
            self.assertEqual(sum(row["bytes"] for row in rows), 4096 + 5120)
        self.assertFalse(memory["leaks"])
        self.assertIsNone(memory["growth"])
        self.assertEqual(
            sum(row["bytes"] for row in memory["at_peak"]
                if row.get("what") != "PyTorch cache, unused" and row["function"] != "c10_use"),
            5120)

    def test_a_leak_has_its_line(self):
        run = self.profiled(command("new", STEPS, leaks=1), ARMED, **SETTINGS)
        leak, = reported(run.folder)["memory"]["leaks"]
        self.assertEqual(leak["function"], "kept_each_step")
        self.assertEqual(leak["bytes_per_step"], 1024)
        growth = reported(run.folder)["memory"]["growth"]
        self.assertAlmostEqual(growth["bytes_per_step"], 1024, delta=64)
        self.assertAlmostEqual(growth["steps_left"] * growth["bytes_per_step"],
                               growth["device_bytes"], delta=growth["device_bytes"] / 4)
        # 16 GiB last for 16 million steps, of which a run of 40 knows nothing
        self.assertIn("grows by 1.0 KiB per step", run.err)
        self.assertNotIn("full after", run.err)

    def test_snapshot(self):
        run = self.profiled(command("new", STEPS), (*ARMED, "--format", "perfetto,memory"),
                            **SETTINGS)
        paths = run.paths("memory/*/*.pickle")
        self.assertEqual(len(paths), 4)
        for path in paths:
            with open(path, "rb") as file:
                snapshot = pickle.load(file)
            segment, = snapshot["segments"]
            self.assertEqual((segment["total_size"], segment["allocated_size"]), (8 << 20, 4096))
            self.assertEqual(sum(block["size"] for block in segment["blocks"]), 8 << 20)
            actions = [event["action"] for event in snapshot["device_traces"][0]]
            self.assertEqual(actions, ["alloc"] * 10 + ["free_requested", "free_completed"] * 10)
            names = {frame["name"] for event in snapshot["device_traces"][0]
                     for frame in event["frames"]}
            self.assertIn("c10_use", names)

    def test_counters_are_below_the_steps(self):
        """The UI sorts tracks by the bytes of their names."""
        run = self.profiled(command("new", STEPS), ARMED, **SETTINGS)
        trace = Trace(run.traces()[0])
        names = {trace.tracks[counter.track].name for counter in trace.counters}
        self.assertLessEqual({"memory allocated by PyTorch", "memory reserved by PyTorch"}, names)
        self.assertEqual([name for name in names if name < "Steps"], [])

    def test_written_files_are_counted(self):
        run = self.profiled(command("new", STEPS), (*ARMED, "--format", "memory"), **SETTINGS)
        folder = os.path.basename(run.folder)
        self.assertIn(f"  Memory snapshots: {folder}/memory (steps 11-14), open in ", run.err)
        self.assertNotIn("Traces: ", run.err)
        self.assertNotIn("snapshots are empty", run.err)
        self.assertIn(": 4 traces and 4 memory snapshots in ",
                      self.tool("export", run.folder, "--format", "perfetto,memory").out)
        self.assertRegex(self.tool("info", run.folder).out, r"traces +4\n +memory snapshots +4\n")

    def test_empty_snapshots_are_reported(self):
        run = self.profiled([prog("loop"), str(STEPS)], (*ARMED, "--format", "perfetto,memory"),
                            **SETTINGS)
        self.assertRegex(run.err, r"Traces: \S+/traces \(steps 11-14\), open in ")
        self.assertRegex(run.err, r"Memory snapshots: \S+/memory \(steps 11-14\), open in ")
        for said in (run.err, self.tool("export", run.folder, "--format", "memory").out):
            self.assertIn("its memory snapshots are empty: PyTorch's allocator reported no block",
                          said)


if __name__ == "__main__":
    unittest.main()
