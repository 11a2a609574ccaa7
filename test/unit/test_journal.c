/*
 * The journal's writer, read back with core/reader: many threads, full chunks, an empty pool, a
 * collector that returns chunks, the dictionary, forks and full disks. One journal per test;
 * journal_forget ends it.
 */
#include "core/runtime/clock.h"
#include "core/runtime/journal.h"
#include "core/source/journal/dict.h"
#include "core/source/journal/reader.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { MIB = 1 << 20, THREADS = 8 };

static char folder[64];

static int set_up(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/test-journal-XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
	char command[100];
	(void)state;
	if (journal_header())
		munmap(journal_header(), journal_header()->file_bytes);
	journal_forget();
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command);
}

static void open_journal(uint64_t budget_bytes)
{
	struct err e;
	if (journal_open(folder, budget_bytes, CLOCK_KIND_MONOTONIC_NS, &e))
		fail_msg("%s", e.text);
}

static void journal_path(char *path, size_t bytes, const char *suffix)
{
	snprintf(path, bytes, "%s/journal/%d%s.journal", folder, (int)getpid(), suffix);
}

static void open_reader(struct reader *r, bool live)
{
	char path[128];
	struct err e;
	journal_path(path, sizeof(path), "");
	if (reader_open(r, path, live, &e))
		fail_msg("%s", e.text);
}

/* Of the run: the reader leaves out what is not. */
static uint64_t ticks_of(uint32_t seq)
{
	return journal_header()->clock.first.ticks + seq;
}

static bool write_call(struct journal_writer *w, uint32_t seq)
{
	struct rec_call *c = journal_reserve(w, REC_CALL, sizeof(*c));
	if (!c)
		return false;
	*c = (struct rec_call){ .kind = REC_CALL,
				.words = sizeof(*c) / 8,
				.begin_ticks = ticks_of(seq),
				.arg = ~(uint64_t)seq };
	c->seq = seq;
	journal_commit(w, sizeof(*c));
	return true;
}

struct tally {
	uint64_t calls[THREADS + 2], last[THREADS + 2];
	uint64_t all, holes, lost_in_holes;
	bool in_order, whole;
};

/* What is new since the last time; `free_chunks` plays the collector. */
static void read_new(struct reader *r, struct tally *t, bool free_chunks)
{
	struct reader_batch batch;
	const struct rec_head *head;
	reader_begin_pass(r);
	while (reader_next_batch(r, &batch))
		while ((head = reader_next_record(r, &batch))) {
			const struct rec_call *c = (const void *)head;
			if (head->kind == REC_DROPPED) {
				t->holes++;
				t->lost_in_holes += ((const struct rec_dropped *)head)->count;
			}
			if (head->kind != REC_CALL)
				continue;
			assert_in_range(batch.thread, 1, THREADS + 1);
			t->in_order &= c->seq > t->last[batch.thread];
			t->whole &= c->arg == ~(uint64_t)c->seq &&
				    c->begin_ticks == r->header->clock.first.ticks + c->seq;
			t->last[batch.thread] = c->seq;
			t->calls[batch.thread]++;
			t->all++;
		}
	for (size_t i = 0; free_chunks && i < r->finished.n; i++)
		reader_free_chunk(r, r->finished.at[i].index);
	if (free_chunks)
		r->finished.n = 0;
}

static struct tally read_all(void)
{
	struct tally t = { .in_order = true, .whole = true };
	struct reader r;
	open_reader(&r, false);
	read_new(&r, &t, false);
	assert_int_equal(r.n_damaged, 0);
	reader_close(&r);
	return t;
}

static void test_one_thread_over_many_chunks(void **state)
{
	(void)state;
	enum { CALLS = 20000 };
	struct journal_writer w = { 0 };
	open_journal(64 * MIB);
	for (uint32_t i = 1; i <= CALLS; i++)
		assert_true(write_call(&w, i));
	struct tally t = read_all();
	assert_int_equal(t.all, CALLS);
	assert_true(t.in_order && t.whole);
	assert_int_equal(t.last[1], CALLS);
	assert_int_equal(journal_header()->dropped_records, 0);
	assert_in_range(journal_header()->chunk_claims, CALLS / 1365, CALLS / 1365 + 1);
}

struct job {
	pthread_t thread;
	uint32_t n, written;
	uint32_t first_string;
};

static void *write_many(void *context)
{
	struct job *job = context;
	struct journal_writer w = { 0 };
	for (uint32_t i = 1; i <= job->n; i++)
		job->written += write_call(&w, i);
	journal_release(&w);
	return NULL;
}

static uint64_t run_threads(struct job *jobs, uint32_t n, void *(*work)(void *))
{
	uint64_t written = 0;
	for (int i = 0; i < THREADS; i++) {
		jobs[i] = (struct job){ .n = n };
		assert_int_equal(pthread_create(&jobs[i].thread, NULL, work, &jobs[i]), 0);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(jobs[i].thread, NULL);
		written += jobs[i].written;
	}
	return written;
}

static void test_many_threads(void **state)
{
	(void)state;
	struct job jobs[THREADS];
	open_journal(128 * MIB);
	assert_int_equal(run_threads(jobs, 50000, write_many), THREADS * 50000);
	struct tally t = read_all();
	assert_int_equal(t.all, THREADS * 50000);
	assert_true(t.in_order && t.whole);
	for (int i = 1; i <= THREADS; i++)
		assert_int_equal(t.calls[i], 50000);
}

static void test_a_full_pool_counts_what_it_drops(void **state)
{
	(void)state;
	struct job jobs[THREADS];
	open_journal(8 * MIB);
	uint64_t written = run_threads(jobs, 100000, write_many);
	struct tally t = read_all();
	assert_true(written < THREADS * 100000);
	assert_int_equal(t.all, written);
	assert_true(t.in_order && t.whole);
	assert_int_equal(journal_header()->dropped_records, THREADS * 100000 - written);
	struct stat status;
	char path[128];
	journal_path(path, sizeof(path), "");
	assert_int_equal(stat(path, &status), 0);
	assert_true(status.st_size <= 8 * MIB);
}

static void test_a_hole_stands_where_it_is(void **state)
{
	(void)state;
	struct journal_writer w = { 0 };
	struct tally t = { .in_order = true, .whole = true };
	struct reader r;
	uint32_t seq = 0;
	open_journal(8 * MIB);
	open_reader(&r, true);
	while (write_call(&w, ++seq))
		;
	for (int i = 0; i < 5; i++)
		assert_false(write_call(&w, ++seq));
	read_new(&r, &t, true); /* the collector gives back what it has read */
	uint64_t before = t.all;
	while (!write_call(&w, ++seq))
		;
	read_new(&r, &t, true);
	assert_int_equal(t.all, before + 1);
	assert_int_equal(t.holes, 1);
	assert_int_equal(t.lost_in_holes, journal_header()->dropped_records);
	assert_int_equal(t.all + t.lost_in_holes, seq);
	reader_close(&r);
}

struct collector {
	atomic_bool stop;
	struct tally t;
};

static void *collect(void *context)
{
	struct collector *c = context;
	struct reader r;
	open_reader(&r, true);
	while (!atomic_load(&c->stop))
		read_new(&r, &c->t, true);
	read_new(&r, &c->t, true);
	read_new(&r, &c->t, true);
	reader_close(&r);
	return NULL;
}

/*
 * A writer without space gives the collector time to make some: it may not have run at all so far.
 */
static void *write_paced(void *context)
{
	struct job *job = context;
	struct journal_writer w = { 0 };
	for (uint32_t i = 1; i <= job->n; i++) {
		bool is_written = write_call(&w, i);
		job->written += is_written;
		if (!is_written)
			usleep(1000);
	}
	journal_release(&w);
	return NULL;
}

/*
 * Writes six times the budget: every record is either read once, in order, or counted as dropped.
 */
static void test_a_collector_recycles_chunks(void **state)
{
	(void)state;
	struct job jobs[THREADS];
	struct collector c = { .t = { .in_order = true, .whole = true } };
	pthread_t thread;
	open_journal(8 * MIB);
	assert_int_equal(pthread_create(&thread, NULL, collect, &c), 0);
	uint64_t written = run_threads(jobs, 125000, write_paced);
	atomic_store(&c.stop, true);
	pthread_join(thread, NULL);
	assert_int_equal(c.t.all, written);
	assert_true(c.t.in_order && c.t.whole);
	assert_int_equal(written + journal_header()->dropped_records, THREADS * 125000);
	assert_true(journal_header()->chunk_claims > journal_header()->n_chunks); /* some twice */
}

/* ---- Dictionary ---- */

enum { STRINGS = 3000 };
static uint32_t string_ids[THREADS][STRINGS];

static void *put_strings(void *context)
{
	struct job *job = context;
	static _Atomic int threads;
	int number = atomic_fetch_add(&threads, 1) % THREADS;
	for (uint32_t i = 0; i < STRINGS; i++) {
		char text[64];
		snprintf(text, sizeof(text), "thread %d string %u%.*s", number, i, (int)(i % 9),
			 "xxxxxxxxx");
		string_ids[number][i] = journal_put_string(text);
		job->written += string_ids[number][i] != 0;
	}
	return NULL;
}

static void test_the_dictionary_takes_many_writers(void **state)
{
	(void)state;
	static bool seen[THREADS * STRINGS + 1];
	struct job jobs[THREADS];
	struct reader r;
	const struct dict_head *head;
	unsigned n = 0;
	open_journal(64 * MIB);
	assert_int_equal(run_threads(jobs, 0, put_strings), THREADS * STRINGS);
	open_reader(&r, false);
	while ((head = reader_next_dictionary(&r, true))) {
		const struct dict_string *s = (const void *)head;
		const char *text = reader_dictionary_text(head, offsetof(struct dict_string, text));
		int thread, number;
		assert_int_equal(head->kind, DICT_STRING);
		assert_in_range(s->id, 1, THREADS * STRINGS);
		assert_false(seen[s->id]);
		seen[s->id] = true;
		assert_int_equal(sscanf(text, "thread %d string %d", &thread, &number), 2);
		assert_int_equal(string_ids[thread][number], s->id);
		n++;
	}
	assert_int_equal(n, THREADS * STRINGS);
	reader_close(&r);
}

static void test_a_full_dictionary_refuses_and_counts(void **state)
{
	(void)state;
	static char text[4000];
	memset(text, 'x', sizeof(text) - 1);
	open_journal(8 * MIB);
	unsigned n = 0;
	while (journal_put_string(text))
		n++;
	assert_in_range(n, MIB / 4100, MIB / 4000);
	assert_int_equal(journal_put_string(text), 0);
	assert_int_equal(journal_header()->dropped_dictionary, 2);
	struct journal_writer w = { 0 };
	assert_true(write_call(&w, 1)); /* calls go on */
}

static void test_facts_and_threads(void **state)
{
	(void)state;
	struct journal_writer w = { 0 };
	struct reader r;
	const struct dict_head *head;
	bool has_fact = false, has_thread = false;
	char name[16];
	open_journal(8 * MIB);
	journal_put_info("colour", "blue");
	journal_introduce(&w);
	open_reader(&r, false);
	while ((head = reader_next_dictionary(&r, true))) {
		if (head->kind == DICT_INFO) {
			assert_string_equal(reader_dictionary_text(head, sizeof(*head)), "colour");
			assert_string_equal(reader_dictionary_text(head, sizeof(*head) + 7),
					    "blue");
			has_fact = true;
		}
		if (head->kind == DICT_THREAD) {
			const struct dict_thread *t = (const void *)head;
			assert_int_equal(t->slot, 1);
			assert_int_equal(t->tid, getpid());
			prctl(PR_GET_NAME, name); /* not the program's under valgrind */
			assert_string_equal(t->name, name);
			has_thread = true;
		}
	}
	assert_true(has_fact && has_thread);
	reader_close(&r);
}

/* ---- Files and processes ---- */

static void test_the_header_says_what_it_must(void **state)
{
	(void)state;
	open_journal(32 * MIB);
	const struct journal_header *h = journal_header();
	assert_memory_equal(h->magic, JOURNAL_MAGIC, 8);
	assert_int_equal(h->pid, getpid());
	assert_int_equal(h->ppid, getppid());
	assert_true(h->process_start > 0);
	assert_true(h->file_bytes <= 32 * MIB);
	assert_true(h->file_bytes > 31 * MIB);
	assert_int_equal(h->ended_ticks, 0);
	journal_end();
	assert_true(h->ended_ticks >= h->clock.first.ticks);
	assert_int_equal(h->ended_ticks, h->clock.last.ticks);
}

static void test_growing_needs_no_descriptor(void **state)
{
	(void)state;
	struct journal_writer w = { 0 };
	open_journal(64 * MIB);
	for (uint32_t i = 1; i <= 200000; i++)
		assert_true(write_call(&w, i));
	DIR *d = opendir("/proc/self/fd");
	char link[300], target[300];
	for (struct dirent *e; (e = readdir(d));) {
		snprintf(link, sizeof(link), "/proc/self/fd/%s", e->d_name);
		ssize_t n = readlink(link, target, sizeof(target) - 1);
		target[n > 0 ? n : 0] = 0;
		assert_null(strstr(target, ".journal"));
	}
	closedir(d);
}

static void test_growing_another_file_of_that_name_is_refused(void **state)
{
	(void)state;
	char path[128];
	struct journal_writer w = { 0 };
	uint32_t n = 0;
	open_journal(64 * MIB);
	journal_path(path, sizeof(path), "");
	assert_int_equal(unlink(path), 0);
	FILE *other = fopen(path, "w");
	assert_non_null(other);
	fclose(other);
	while (n < 300000 && write_call(&w, n + 1))
		n++;
	assert_true(n < 300000); /* what was backed from the start, and no more */
	struct stat status;
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_size, 0);
}

static void test_a_forked_child_has_no_journal(void **state)
{
	(void)state;
	struct journal_writer w = { 0 };
	open_journal(8 * MIB);
	write_call(&w, 1);
	pid_t pid = fork();
	if (!pid) {
		struct journal_writer mine = { 0 };
		struct err e;
		unsigned char resident;
		/* the parent's mapping is not in the child at all */
		bool gone = mincore(journal_header(), 4096, &resident) && errno == ENOMEM;
		journal_forget();
		bool good = gone && !journal_header() &&
			    !journal_open(folder, 8 * MIB, CLOCK_KIND_MONOTONIC_NS, &e) &&
			    write_call(&mine, 1);
		_exit(good ? 0 : 1);
	}
	int status;
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
	assert_int_equal(read_all().all, 1);
}

static void test_a_second_journal_of_the_same_pid(void **state)
{
	(void)state;
	char path[128];
	open_journal(8 * MIB);
	munmap(journal_header(), journal_header()->file_bytes);
	journal_forget();
	open_journal(8 * MIB);
	journal_path(path, sizeof(path), "-2");
	assert_int_equal(access(path, R_OK), 0);
}

static void test_places_where_no_journal_can_be(void **state)
{
	(void)state;
	struct err e;
	char path[5000];
	assert_true(journal_open("/proc/no", 8 * MIB, CLOCK_KIND_MONOTONIC_NS, &e) < 0);
	assert_non_null(strstr(e.text, "/proc/no"));
	snprintf(path, sizeof(path), "%s/file", folder);
	fclose(fopen(path, "w"));
	assert_int_equal(journal_open(path, 8 * MIB, CLOCK_KIND_MONOTONIC_NS, &e), -ENOTDIR);
	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = 0;
	assert_int_equal(journal_open(path, 8 * MIB, CLOCK_KIND_MONOTONIC_NS, &e), -ENAMETOOLONG);
	assert_null(journal_header());
}

static void test_file_size_limits(void **state)
{
	(void)state;
	struct rlimit before, limit;
	struct err e;
	getrlimit(RLIMIT_FSIZE, &before);
	limit = before;
	limit.rlim_cur = 4096;
	setrlimit(RLIMIT_FSIZE, &limit);
	int refused = journal_open(folder, 64 * MIB, CLOCK_KIND_MONOTONIC_NS, &e);
	limit.rlim_cur = 16 * MIB;
	setrlimit(RLIMIT_FSIZE, &limit);
	int taken = journal_open(folder, 64 * MIB, CLOCK_KIND_MONOTONIC_NS, &e);
	setrlimit(RLIMIT_FSIZE, &before);
	assert_int_equal(refused, -EFBIG);
	assert_int_equal(taken, 0);
	assert_true(journal_header()->file_bytes <= 16 * MIB);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_one_thread_over_many_chunks),
		TEST(test_many_threads),
		TEST(test_a_full_pool_counts_what_it_drops),
		TEST(test_a_hole_stands_where_it_is),
		TEST(test_a_collector_recycles_chunks),
		TEST(test_the_dictionary_takes_many_writers),
		TEST(test_a_full_dictionary_refuses_and_counts),
		TEST(test_facts_and_threads),
		TEST(test_the_header_says_what_it_must),
		TEST(test_growing_needs_no_descriptor),
		TEST(test_growing_another_file_of_that_name_is_refused),
		TEST(test_a_forked_child_has_no_journal),
		TEST(test_a_second_journal_of_the_same_pid),
		TEST(test_places_where_no_journal_can_be),
		TEST(test_file_size_limits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
