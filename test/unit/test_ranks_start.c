/*
 * When the ranks of a job begin: once all know their steps, or once those that do have waited long
 * enough.
 */
#include "core/source/process/driver_parts.h"
#include "core/source/process/ranks_start.h"
#include "test/unit/journal_builder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { PATIENCE_MS = 20000, FIRST_MS = 1000 };

static char folder[] = "/tmp/test_ranks_start.XXXXXX";

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	(void)state;
	return rmdir(folder);
}

/*
 * A rank of two, as the collector has it, that began `began_ns` after the others. `ended_ns`: when
 * it ended; 0: it is alive.
 */
static struct driver *open_rank_of(const char *rank, uint64_t began_ns, uint64_t ended_ns)
{
	struct journal_builder *b = jb_new(8, 4096);
	struct err e = { "" };
	char path[64];
	b->header->steps.mode = STEP_MODE_AUTO;
	jb_info(b, "rank", rank);
	jb_info(b, "LOCAL_WORLD_SIZE", "2");
	b->header->clock.first.ticks += began_ns;
	b->header->clock.first.monotonic_ns += began_ns;
	if (ended_ns)
		jb_end(b, ended_ns);
	snprintf(path, sizeof(path), "%s/%s.journal", folder, rank);
	jb_write(b, path);
	jb_free(b);
	struct driver *d;
	const struct driver_sink sink = { .no_trace = true };
	assert_int_equal(driver_open(&d, path, true, &sink, &e), 0);
	unlink(path);
	driver_poll(d);
	return d;
}

static struct driver *open_rank(const char *rank)
{
	return open_rank_of(rank, 0, 0);
}

static struct journal_steps *steps_of(struct driver *d)
{
	return driver_steps(d);
}

static void asks_for(struct driver *d, enum start_of of)
{
	atomic_store(&steps_of(d)->start_of, of);
	atomic_fetch_add(&steps_of(d)->waits_for_start, 1);
}

static void knows_its_steps(struct driver *d)
{
	asks_for(d, START_OF_STEPS);
}

static bool has_begun(struct driver *d)
{
	uint32_t asked = atomic_load(&steps_of(d)->waits_for_start);
	return asked && atomic_load(&steps_of(d)->start_is_named) == asked;
}

struct job {
	struct driver *first, *second;
	struct ranks_start start;
};

static void begin(struct job *j)
{
	*j = (struct job){ .first = open_rank("0"), .second = open_rank("1") };
}

static void end(struct job *j)
{
	ranks_start_free(&j->start);
	driver_close(j->first);
	driver_close(j->second);
}

static void serve(struct job *j, uint64_t now_ms)
{
	struct driver *all[] = { j->first, j->second };
	ranks_start_serve(&j->start, all, 2, folder, now_ms);
}

static void check_same_start(struct job *j)
{
	assert_int_equal(atomic_load(&steps_of(j->first)->start),
			 atomic_load(&steps_of(j->second)->start));
}

static void all_begin_when_all_know(void **state)
{
	(void)state;
	struct job j;
	begin(&j);
	knows_its_steps(j.first);
	serve(&j, FIRST_MS);
	assert_false(has_begun(j.first));
	knows_its_steps(j.second);
	serve(&j, FIRST_MS + 1);
	assert_true(has_begun(j.first) && has_begun(j.second));
	check_same_start(&j);
	end(&j);
}

static void a_rank_without_steps_is_not_waited_for(void **state)
{
	(void)state;
	struct job j;
	begin(&j);
	knows_its_steps(j.first);
	serve(&j, FIRST_MS);
	serve(&j, FIRST_MS + PATIENCE_MS);
	assert_false(has_begun(j.first));
	serve(&j, FIRST_MS + PATIENCE_MS + 1);
	assert_true(has_begun(j.first));
	assert_false(has_begun(j.second));
	/* the same step for one that knows later */
	knows_its_steps(j.second);
	serve(&j, FIRST_MS + 2 * PATIENCE_MS);
	assert_true(has_begun(j.second));
	check_same_start(&j);
	end(&j);
}

/*
 * Step `number` of the second rank is under way. The first rank is `apart` steps further, and may
 * be one more ahead.
 */
static void are_in_step(struct job *j, uint64_t number, uint64_t apart, bool is_ahead)
{
	atomic_store(&steps_of(j->second)->current, number);
	atomic_store(&steps_of(j->first)->current, number + apart + is_ahead);
}

/* One has evaluated alone, and taken that for 400 steps. */
static void all_begin_anew_when_all_train(void **state)
{
	(void)state;
	struct job j;
	uint64_t now_ms = FIRST_MS;
	begin(&j);
	knows_its_steps(j.first);
	serve(&j, now_ms);
	asks_for(j.first, START_AFTER_OTHERS);
	are_in_step(&j, 8, 400, false);
	serve(&j, ++now_ms);
	assert_false(has_begun(j.first));
	asks_for(j.second, START_OF_TRAINING);
	for (uint64_t i = 0; i < 100 && !has_begun(j.first); i++) {
		are_in_step(&j, 10 + i / 2, 400, i % 4 == 3);
		serve(&j, ++now_ms);
		assert_int_equal(has_begun(j.first), has_begun(j.second));
	}
	assert_true(has_begun(j.first) && has_begun(j.second));
	assert_int_equal(atomic_load(&steps_of(j.first)->start) - 400,
			 atomic_load(&steps_of(j.second)->start));
	assert_true(atomic_load(&steps_of(j.first)->start) >
		    atomic_load(&steps_of(j.first)->current));
	end(&j);
}

/* Their schedule has begun, with the steps of an evaluation that all made. */
static void ranks_that_began_wait_until_all_train(void **state)
{
	(void)state;
	struct job j;
	begin(&j);
	knows_its_steps(j.first);
	knows_its_steps(j.second);
	serve(&j, FIRST_MS);
	assert_true(has_begun(j.first) && has_begun(j.second));
	asks_for(j.second, START_AFTER_OTHERS);
	for (uint64_t i = 0; i < 100; i++) {
		are_in_step(&j, 10 + i, 0, false);
		serve(&j, FIRST_MS + i);
	}
	assert_false(has_begun(j.second));
	asks_for(j.first, START_AFTER_OTHERS);
	for (uint64_t i = 0; i < 100; i++) {
		are_in_step(&j, 110 + i, 0, false);
		serve(&j, FIRST_MS + 100 + i);
	}
	assert_true(has_begun(j.first) && has_begun(j.second));
	check_same_start(&j);
	end(&j);
}

/* The ranks of the second job begin after the first job, and know their steps one by one. */
static void check_second_job(bool is_first_read, bool is_first_named)
{
	struct driver *all[] = { open_rank("0"), open_rank("1"), open_rank_of("0", 2000, 0),
				 open_rank_of("1", 2100, 0) };
	struct ranks_start start = { 0 };
	uint64_t now_ms = FIRST_MS;
	for (size_t i = 0; is_first_named && i < 2; i++)
		knows_its_steps(all[i]);
	ranks_start_serve(&start, all, 4, folder, ++now_ms);
	assert_int_equal(has_begun(all[0]), is_first_named);
	for (size_t i = 0; i < 2; i++) {
		atomic_store(&driver_header(all[i])->ended_ticks, JB_START + 1000 + i);
		if (is_first_read)
			driver_finish(all[i]);
	}
	atomic_store(&steps_of(all[2])->current, 20);
	knows_its_steps(all[2]);
	ranks_start_serve(&start, all, 4, folder, ++now_ms);
	ranks_start_serve(&start, all, 4, folder, ++now_ms);
	assert_false(has_begun(all[2]));
	atomic_store(&steps_of(all[3])->current, 80);
	knows_its_steps(all[3]);
	ranks_start_serve(&start, all, 4, folder, ++now_ms);
	assert_true(has_begun(all[2]) && has_begun(all[3]));
	assert_true(atomic_load(&steps_of(all[2])->start) > 80);
	assert_int_equal(atomic_load(&steps_of(all[2])->start),
			 atomic_load(&steps_of(all[3])->start));
	assert_int_equal(start.n_present, 2);
	ranks_start_free(&start);
	for (size_t i = 0; i < 4; i++)
		driver_close(all[i]);
}

static void ranks_of_an_earlier_job_do_not_count(void **state)
{
	(void)state;
	check_second_job(true, true);
	check_second_job(true, false);
}

/* On a busy machine the collector may still read the journals of the first job. */
static void ranks_that_ended_unread_are_not_under_way(void **state)
{
	(void)state;
	check_second_job(false, true);
	check_second_job(false, false);
}

/* A rank that ended before this one began is not waited for: there was no earlier job. */
static void a_rank_that_ended_earlier_is_not_waited_for(void **state)
{
	(void)state;
	struct driver *all[] = { open_rank_of("1", 0, 1000), open_rank_of("0", 2000, 0) };
	struct ranks_start start = { 0 };
	driver_finish(all[0]);
	knows_its_steps(all[1]);
	ranks_start_serve(&start, all, 2, folder, FIRST_MS);
	assert_true(has_begun(all[1]));
	ranks_start_free(&start);
	driver_close(all[0]);
	driver_close(all[1]);
}

static void no_rank_waits(void **state)
{
	(void)state;
	struct job j;
	begin(&j);
	serve(&j, FIRST_MS);
	serve(&j, FIRST_MS + 10 * PATIENCE_MS);
	assert_false(has_begun(j.first) || has_begun(j.second));
	assert_false(j.start.is_named);
	end(&j);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_begin_when_all_know),
		cmocka_unit_test(a_rank_without_steps_is_not_waited_for),
		cmocka_unit_test(all_begin_anew_when_all_train),
		cmocka_unit_test(ranks_that_began_wait_until_all_train),
		cmocka_unit_test(ranks_of_an_earlier_job_do_not_count),
		cmocka_unit_test(ranks_that_ended_unread_are_not_under_way),
		cmocka_unit_test(a_rank_that_ended_earlier_is_not_waited_for),
		cmocka_unit_test(no_rank_waits),
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
