"""A program creates a thread for each task: nothing is lost, nothing grows with dead threads."""
import resource
import subprocess
import unittest

from harness import EVERYTHING, LIBRARY, Case, environment, prog

THREADS = 1600  # with a chunk each they would take 100 MiB of the journal


class Churn(Case):
    def churn(self, at_once, **settings):
        run = self.preloaded([prog("churn"), str(THREADS), str(at_once)], **settings)
        self.assertEqual((run.status, run.err), (0, ""))
        return run.journal()

    def test_a_new_thread_continues_an_ended_one(self):
        for at_once in (1, 16):
            with self.subTest(at_once=at_once):
                journal = self.churn(at_once, **EVERYTHING, PROF_BUFFER_MB=16)
                self.assertEqual(journal.dropped_records, 0)
                self.assertEqual(len(journal.calls()), 3 * THREADS + 1)
                self.assertLessEqual(len(journal.threads), 4 * at_once + 4)

    def test_numbers_of_a_slot_only_grow(self):
        journal = self.churn(16, **EVERYTHING)
        for slot in journal.threads:
            numbers = [call.seq for call in journal.calls(slot) if call.category == "memset"]
            self.assertEqual(numbers, sorted(set(numbers)))

    def test_every_call_has_its_gpu_work(self):
        journal = self.churn(1, **EVERYTHING)
        memsets = [r for r in journal.gpu() if r.work == "memset"]
        self.assertEqual(len(memsets), 2 * THREADS)

    def test_pairing_by_thread_id_needs_threads_of_their_own(self):
        journal = self.churn(1, **EVERYTHING, PROF_PAIRING="interval")
        self.assertGreaterEqual(len(journal.threads), THREADS)


class NotRecorded(Case):
    """A thread costs little where nothing is recorded: it takes no memory of its own."""

    FEW, MANY = 500, 2500
    MOST_ADDED_PAGES = 0.2  # per thread: 0.03 were measured, 1.0 if each thread takes a page

    def pages(self, threads, **settings):
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt
        subprocess.run([prog("churn"), str(threads), "1"], check=True, stdout=subprocess.DEVNULL,
                       env=environment(**settings))
        return resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt - before

    def per_thread(self, **settings):
        added = self.pages(self.MANY, **settings) - self.pages(self.FEW, **settings)
        return added / (self.MANY - self.FEW)

    def test_a_thread_touches_no_page(self):
        bare = self.per_thread()
        for launched in ({}, {"PROF_LAUNCHED": 1}):
            with self.subTest(launched=launched):
                added = self.per_thread(LD_PRELOAD=LIBRARY, PROF_SCHEDULE="off",
                                        PROF_OUT=self.folder(), **launched) - bare
                self.assertLess(added, self.MOST_ADDED_PAGES)

    def test_threads_pass_their_slot_on(self):
        """A slot and a chunk for each thread took 20 to 40 us."""
        for launched in ({}, {"PROF_LAUNCHED": 1}):
            with self.subTest(launched=launched):
                run = self.preloaded([prog("churn"), str(self.FEW), "1"], PROF_SCHEDULE="off",
                                     **launched)
                self.assertEqual((run.status, run.err), (0, ""))
                self.assertLessEqual(len(run.journal().threads), 4)


if __name__ == "__main__":
    unittest.main()
