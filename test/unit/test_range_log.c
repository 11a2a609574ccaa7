/*
 * The application's ranges, from their records to a step's model: what is matched, cut, lost and
 * forgotten.
 */
#include "core/source/journal/ingest.h"
#include "test/unit/journal_ingest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- The log alone ---- */

static void take(struct range_log *log, uint32_t slot, enum range_event event, uint64_t ticks,
		 uint64_t id, uint32_t domain)
{
	struct rec_range r = {
		.event = (uint16_t)event, .ticks = ticks, .id = id, .domain = domain
	};
	range_log_take(log, slot, &r);
}

static const struct range_entry *closed(const struct range_log *log, uint64_t id)
{
	for (size_t i = 0; i < log->closed.n; i++)
		if (log->closed.at[i].id == id)
			return &log->closed.at[i];
	fail_msg("range %d was not closed", (int)id);
	return NULL;
}

static void test_ends_find_their_begins(void **state)
{
	(void)state;
	struct range_log log = { 0 };
	take(&log, 1, RANGE_PUSH, 10, 1, 0);
	take(&log, 2, RANGE_PUSH, 11, 1, 0); /* another thread's first range has the same id */
	take(&log, 1, RANGE_PUSH, 12, 2, 5);
	take(&log, 1, RANGE_PUSH, 13, 3, 0);
	take(&log, 1, RANGE_POP, 14, 3, 0);
	take(&log, 1, RANGE_POP, 15, 1, 0); /* domain 5's goes on */
	assert_int_equal(log.closed.n, 2);
	assert_int_equal(closed(&log, 3)->end_ticks, 14);
	assert_int_equal(closed(&log, 1)->slot, 1);
	assert_int_equal(closed(&log, 1)->end_ticks, 15);
	assert_int_equal(log.open.n, 2);
	take(&log, 1, RANGE_POP, 16, 2, 5);
	take(&log, 2, RANGE_POP, 17, 1, 0);
	assert_int_equal(log.open.n, 0);
	range_log_free(&log);
}

static void test_lost_records(void **state)
{
	(void)state;
	struct range_log log = { 0 };
	take(&log, 1, RANGE_PUSH, 10, 1, 0);
	take(&log, 1, RANGE_PUSH, 20, 2, 0); /* its pop is lost */
	take(&log, 1, RANGE_POP, 30, 7, 0);  /* its push is lost */
	assert_int_equal(log.open.n, 2);
	take(&log, 1, RANGE_POP, 40, 1, 0); /* range 2 must have ended before */
	assert_int_equal(log.open.n, 0);
	assert_int_equal(closed(&log, 2)->end_ticks, 40);
	take(&log, 1, RANGE_POP, 50, 1, 0); /* twice */
	assert_int_equal(log.closed.n, 2);
	take(&log, 1, RANGE_PUSH, 60, 8, 0);
	take(&log, 1, RANGE_POP, 55, 8, 0); /* a damaged time */
	assert_int_equal(closed(&log, 8)->end_ticks, 60);
	range_log_free(&log);
}

/* Threads' streams are read one after the other, so an end may come first. */
static void test_started_ranges_in_any_order(void **state)
{
	(void)state;
	struct range_log log = { 0 };
	take(&log, 1, RANGE_END, 90, 4, 0);
	take(&log, 2, RANGE_START, 10, 4, 0);
	take(&log, 2, RANGE_START, 20, 5, 0);
	take(&log, 1, RANGE_END, 80, 5, 0);
	assert_int_equal(log.open.n, 0);
	assert_int_equal(log.ends.n, 0);
	assert_int_equal(closed(&log, 4)->end_ticks, 90);
	assert_int_equal(closed(&log, 5)->end_ticks, 80);
	assert_int_equal(closed(&log, 5)->slot, 2);
	take(&log, 1, RANGE_END, 95, 6, 0); /* of a range that was never written */
	range_log_drop(&log, 85);
	assert_int_equal(log.closed.n, 1);
	assert_int_equal(log.ends.n, 1);
	range_log_drop(&log, 96);
	assert_int_equal(log.closed.n + log.ends.n, 0);
	range_log_free(&log);
}

/* ---- In steps ---- */

enum { OUTER = 1, INNER, LOADER, PROCESS, MARK, DOMAIN_NAME };

struct seen_range {
	char name[24], domain[24];
	uint64_t begin, end;
	uint32_t tid;
	uint8_t kind;
	bool begins_before, ends_after;
};

struct seen {
	VEC(struct seen_range) steps[3];
	size_t n_steps, n_threads;
};

static void look_at(void *context, struct ingest *f, struct model_step *m)
{
	struct seen *seen = context;
	(void)f;
	assert_true(seen->n_steps < 3);
	for (size_t i = 0; i < m->ranges.n; i++) {
		const struct model_range *r = &m->ranges.at[i];
		struct seen_range s = {
			.begin = r->begin_ns - JB_START,
			.end = r->end_ns - JB_START,
			.tid = m->threads.at[r->thread].tid,
			.kind = r->kind,
			.begins_before = r->begins_before,
			.ends_after = r->ends_after,
		};
		snprintf(s.name, sizeof(s.name), "%s", strtab_text(&m->tables->names, r->name));
		snprintf(s.domain, sizeof(s.domain), "%s",
			 strtab_text(&m->tables->names, r->domain));
		vec_push(&seen->steps[seen->n_steps], s);
	}
	seen->n_threads = m->threads.n;
	seen->n_steps++;
}

static const struct seen_range *find(const struct seen *seen, size_t step, const char *name)
{
	for (size_t i = 0; i < seen->steps[step].n; i++)
		if (!strcmp(seen->steps[step].at[i].name, name))
			return &seen->steps[step].at[i];
	fail_msg("no range %s in step %d", name, (int)step);
	return NULL;
}

static void check(const struct seen_range *r, uint64_t begin, uint64_t end, bool before, bool after)
{
	assert_int_equal(r->begin, begin);
	assert_int_equal(r->end, end);
	assert_int_equal(r->begins_before, before);
	assert_int_equal(r->ends_after, after);
}

static struct seen ingest_file(const struct journal_builder *b)
{
	struct seen seen = { 0 };
	struct ingest f;
	const struct ingest_sink sink = { .context = &seen, .step = look_at };
	ingest_written(&f, b, &sink, false);
	assert_int_equal(f.ranges.closed.n, 0); /* what was shown is forgotten */
	ingest_close(&f);
	return seen;
}

/*
 * Two recorded steps, [1000, 2000) and [2000, 3000): a range over both, one in each, one of a
 * thread that makes no call.
 */
static void test_ranges_are_cut_at_the_steps_edges(void **state)
{
	(void)state;
	static const char *const names[] = {
		"outer", "inner", "loader", "process", "mark", "domain"
	};
	struct journal_builder *b = jb_new(16, 4096);
	for (uint32_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		jb_string(b, i + 1, names[i]);
	jb_thread(b, 1, 100, "main");
	jb_thread(b, 2, 101, "loader");
	jb_step(b, 1, STEP_BEGIN, 1000, 1, SCHED_RECORD);
	jb_range(b, 1, RANGE_PUSH, 0, 1, OUTER, 0); /* from before the clock was known */
	jb_range(b, 1, RANGE_START, 900, 256, PROCESS, 0);
	jb_call(b, 1, JB_LAUNCH, 1100, 50, 1, 7);
	jb_range(b, 2, RANGE_PUSH, 1200, 1, LOADER, DOMAIN_NAME);
	jb_range(b, 2, RANGE_POP, 1300, 1, 0, DOMAIN_NAME);
	jb_range(b, 1, RANGE_PUSH, 1900, 2, INNER, 0);
	jb_step(b, 1, STEP_BEGIN, 2000, 2, SCHED_RECORD);
	jb_call(b, 1, JB_LAUNCH, 2010, 50, 2, 7);
	jb_range(b, 1, RANGE_POP, 2100, 2, 0, 0);
	jb_range(b, 1, RANGE_MARK, 2200, 0, MARK, 0);
	jb_range(b, 2, RANGE_END, 2500, 256, 0, 0);
	jb_step(b, 1, STEP_BEGIN, 3000, 3, SCHED_NONE);
	jb_range(b, 1, RANGE_POP, 3500, 1, 0, 0);
	jb_call(b, 1, JB_MALLOC, 4000, 50, 0, 7);
	jb_end(b, 5000);
	struct seen seen = ingest_file(b);
	assert_int_equal(seen.n_steps, 2);
	assert_int_equal(seen.steps[0].n, 4);
	check(find(&seen, 0, "outer"), 1000, 2000, true, true);
	check(find(&seen, 0, "inner"), 1900, 2000, false, true);
	check(find(&seen, 0, "process"), 1000, 2000, true, true);
	check(find(&seen, 0, "loader"), 1200, 1300, false, false);
	assert_int_equal(find(&seen, 0, "loader")->tid, 101);
	assert_string_equal(find(&seen, 0, "loader")->domain, "domain");
	assert_string_equal(find(&seen, 0, "outer")->domain, "");
	assert_int_equal(seen.steps[1].n, 4);
	check(find(&seen, 1, "outer"), 2000, 3000, true, true);
	check(find(&seen, 1, "inner"), 2000, 2100, true, false);
	check(find(&seen, 1, "process"), 2000, 2500, true, false);
	check(find(&seen, 1, "mark"), 2200, 2200, false, false);
	assert_int_equal(seen.n_threads, 1); /* the loader has nothing in the second step */
	for (size_t i = 0; i < 3; i++)
		vec_free(&seen.steps[i]);
	jb_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ends_find_their_begins),
		cmocka_unit_test(test_lost_records),
		cmocka_unit_test(test_started_ranges_in_any_order),
		cmocka_unit_test(test_ranges_are_cut_at_the_steps_edges),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
