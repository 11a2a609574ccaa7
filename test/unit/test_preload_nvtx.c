/*
 * NVTX's own header calls the injection, in this process: what it returns, and what the journal
 * then holds.
 */
#include <nvtx3/nvToolsExt.h>

#include "core/source/journal/reader.h"
#include "core/util/vec.h"
#include "preload/ranges.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table);

static char folder[] = "/tmp/test-nvtx-XXXXXX";

struct seen {
	VEC(struct rec_range) ranges;
	VEC(char *) strings; /* by id */
};

static int set_up(void **state)
{
	struct err e;
	(void)state;
	unsetenv("NVTX_INJECTION64_PATH");
	InitializeInjectionNvtx2_fnptr =
		InitializeInjectionNvtx2; /* an injection that is linked in */
	if (!mkdtemp(folder) || journal_open(folder, 16 << 20, CLOCK_KIND_MONOTONIC_NS, &e))
		return 1;
	hook_switch.clock_kind = CLOCK_KIND_MONOTONIC_NS;
	return 0;
}

static int tear_down(void **state)
{
	char command[64];
	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command);
}

/* Everything in the journal, so far. */
static struct seen look(void)
{
	struct seen s = { 0 };
	struct reader r;
	struct reader_batch batch;
	struct err e;
	const struct dict_head *d;
	const struct rec_head *head;
	char path[96];
	snprintf(path, sizeof(path), "%s/journal/%d.journal", folder, (int)getpid());
	assert_int_equal(reader_open(&r, path, true, &e), 0);
	while ((d = reader_next_dictionary(&r, false))) {
		const struct dict_string *string = (const struct dict_string *)d;
		if (d->kind != DICT_STRING)
			continue;
		while (s.strings.n <= string->id)
			vec_push(&s.strings, NULL);
		s.strings.at[string->id] = mem_text(string->text);
	}
	reader_begin_pass(&r);
	while (reader_next_batch(&r, &batch))
		while ((head = reader_next_record(&r, &batch)))
			if (head->kind == REC_RANGE)
				vec_push(&s.ranges, *(const struct rec_range *)head);
	reader_close(&r);
	return s;
}

static void forget(struct seen *s)
{
	for (size_t i = 0; i < s->strings.n; i++)
		free(s->strings.at[i]);
	vec_free(&s->strings);
	vec_free(&s->ranges);
}

static void record(bool on)
{
	atomic_store(&hook_switch.setup, HOOK_SET_UP);
	if (!atomic_exchange(&hook_switch.ranges, on) && on)
		ranges_record();
}

/* The record `n` places before the last. */
static const struct rec_range *last(const struct seen *s, size_t n)
{
	assert_true(n < s->ranges.n);
	return &s->ranges.at[s->ranges.n - 1 - n];
}

static void assert_named(const struct seen *s, const struct rec_range *r, const char *name)
{
	assert_true(r->name && r->name < s->strings.n);
	assert_string_equal(s->strings.at[r->name], name);
}

/* Runs first: nothing is recorded yet. */
static void test_what_was_opened_before_is_written_late(void **state)
{
	(void)state;
	errno = 77;
	assert_int_equal(nvtxRangePushA("before arming"), 0);
	nvtxRangeId_t started = nvtxRangeStartA("started before");
	assert_int_not_equal(started, 0);
	struct seen s = look();
	assert_int_equal(s.ranges.n, 0);
	forget(&s);
	record(true);
	assert_int_equal(nvtxRangePushA("within"), 1);
	assert_int_equal(nvtxRangePop(), 1);
	record(false);
	assert_int_equal(nvtxRangePushA("never recorded"), 1);
	assert_int_equal(nvtxRangePop(), 1);
	assert_int_equal(nvtxRangePop(), 0); /* was written open, so it is written closed */
	nvtxRangeEnd(started);
	assert_int_equal(errno, 77);
	s = look();
	static const uint16_t events[] = { RANGE_START, RANGE_PUSH, RANGE_PUSH,
					   RANGE_POP,	RANGE_POP,  RANGE_END };
	assert_int_equal(s.ranges.n, sizeof(events) / sizeof(*events));
	for (size_t i = 0; i < s.ranges.n; i++)
		assert_int_equal(s.ranges.at[i].event, events[i]);
	assert_named(&s, &s.ranges.at[0], "started before");
	assert_named(&s, &s.ranges.at[1], "before arming");
	assert_named(&s, &s.ranges.at[2], "within");
	assert_int_equal(s.ranges.at[1].ticks, 0); /* the clock was not known yet */
	assert_int_equal(s.ranges.at[1].id, s.ranges.at[4].id);
	assert_int_equal(s.ranges.at[2].id, s.ranges.at[3].id);
	assert_int_equal(s.ranges.at[0].id, s.ranges.at[5].id);
	forget(&s);
}

/* A name is its content: one buffer may hold many, and two buffers the same. */
static void test_names_are_written_once(void **state)
{
	(void)state;
	char one[32], other[32];
	record(true);
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 3; i++) {
			snprintf(one, sizeof(one), "name %d", i);
			memcpy(other, one, sizeof(one));
			nvtxMarkA(one);
			nvtxMarkA(other);
		}
	}
	record(false);
	struct seen s = look();
	for (size_t i = 0; i < 12; i++) {
		snprintf(one, sizeof(one), "name %d", (int)(i / 2 % 3));
		assert_named(&s, last(&s, 11 - i), one);
		assert_int_equal(last(&s, 11 - i)->name, last(&s, 11 - i / 2 % 3 * 2)->name);
	}
	forget(&s);
}

static void test_long_and_wide_names_are_cut_between_characters(void **state)
{
	(void)state;
	char text[400];
	wchar_t wide[400];
	for (size_t i = 0; i + 2 < sizeof(text); i += 2)
		memcpy(text + i, "\u00e9", 2);
	text[398] = 0;
	for (size_t i = 0; i < 399; i++)
		wide[i] = L'\U0001f680';
	wide[399] = 0;
	record(true);
	nvtxRangePushA(text);
	nvtxRangePop();
	nvtxMarkA(text);
	nvtxMarkW(wide);
	nvtxMarkW(L"a\u00e9\u20ac\U0001f680");
	record(false);
	struct seen s = look();
	assert_int_equal(strlen(s.strings.at[last(&s, 4)->name]), 254);
	assert_int_equal(strlen(s.strings.at[last(&s, 1)->name]), 252);
	assert_named(&s, last(&s, 0), "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x9a\x80");
	forget(&s);
}

static void test_registered_names_and_domains(void **state)
{
	(void)state;
	char name[] = "registered";
	nvtxDomainHandle_t domain = nvtxDomainCreateA("a domain");
	assert_non_null(domain);
	assert_ptr_equal(domain, nvtxDomainCreateW(L"a domain"));
	assert_ptr_not_equal(domain, nvtxDomainCreateA("another"));
	nvtxEventAttributes_t a = { .version = NVTX_VERSION,
				    .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
				    .messageType = NVTX_MESSAGE_TYPE_REGISTERED };
	a.message.registered = nvtxDomainRegisterStringA(domain, name);
	assert_ptr_equal(a.message.registered, nvtxDomainRegisterStringW(domain, L"registered"));
	memset(name, 'x', sizeof(name) - 1);
	assert_int_equal(nvtxDomainRangePushEx(domain, &a), 0);
	assert_int_equal(nvtxRangePushA("of the default domain"), 0);
	record(true);
	nvtxDomainMarkEx(domain, &a);
	assert_int_equal(nvtxDomainRangePop(domain), 0);
	assert_int_equal(nvtxDomainRangePop(domain), -1);
	assert_int_equal(nvtxRangePop(), 0);
	a.size = 8; /* of no NVTX that there was: taken as saying nothing */
	nvtxDomainMarkEx(domain, &a);
	nvtxMarkEx(NULL);
	record(false);
	struct seen s = look();
	assert_named(&s, last(&s, 6), "registered");
	assert_string_equal(s.strings.at[last(&s, 6)->domain], "a domain");
	assert_named(&s, last(&s, 5), "of the default domain");
	assert_int_equal(last(&s, 5)->domain, 0);
	assert_int_equal(last(&s, 4)->name, last(&s, 6)->name);
	assert_int_equal(last(&s, 3)->id, last(&s, 6)->id);
	assert_int_equal(last(&s, 1)->name, 0);
	assert_int_equal(last(&s, 0)->name, 0);
	forget(&s);
}

/* What does not fit is counted, and the levels stay right. */
static void test_more_than_is_kept(void **state)
{
	(void)state;
	enum { LEVELS = 90, STARTED = 300 };
	nvtxRangeId_t ids[STARTED];
	char name[256];
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	for (int i = 0; i < LEVELS; i++)
		assert_int_equal(nvtxRangePushA(name),
				 i); /* 64 x 255 bytes: more than the texts' room */
	for (int i = 0; i < STARTED; i++)
		ids[i] = nvtxRangeStartA(name);
	struct seen before = look();
	record(true);
	nvtxMarkA("now");
	for (int i = LEVELS; i-- > 0;)
		assert_int_equal(nvtxRangePop(), i);
	assert_int_equal(nvtxRangePop(), -1);
	for (int i = 0; i < STARTED; i++)
		nvtxRangeEnd(ids[i]);
	nvtxRangeEnd(ids[0]); /* again: nothing */
	record(false);
	struct seen after = look();
	size_t counts[RANGE_MARK + 1] = { 0 };
	for (size_t i = before.ranges.n; i < after.ranges.n; i++)
		counts[after.ranges.at[i].event]++;
	assert_int_equal(counts[RANGE_PUSH], 64);
	assert_int_equal(counts[RANGE_POP], 64);
	assert_int_equal(counts[RANGE_START], 255);
	assert_int_equal(counts[RANGE_END], STARTED);
	forget(&before);
	forget(&after);
}

enum { THREADS = 8, ROUNDS = 2000 };

/*
 * Each thread has made a range while recording was on: on a busy machine all could finish before it
 * is on again.
 */
static pthread_barrier_t one_made;

static void *makes_ranges(void *argument)
{
	char name[32];
	intptr_t bad = 0;
	for (int i = 0; i < ROUNDS; i++) {
		if (i == 1)
			pthread_barrier_wait(&one_made);
		snprintf(name, sizeof(name), "name %d", (i * 7 + (int)(intptr_t)argument) % 50);
		bad += nvtxRangePushA(name) != 0;
		nvtxRangeId_t id = nvtxRangeStartA(name);
		bad += nvtxRangePop() != 0;
		nvtxRangeEnd(id);
	}
	hook_thread.depth = 1;
	journal_release(&hook_thread.writer);
	return (void *)bad;
}

/* Recording goes on and off meanwhile: every record of an end has its begin. */
static void test_many_threads(void **state)
{
	(void)state;
	pthread_t threads[THREADS];
	struct seen before = look();
	pthread_barrier_init(&one_made, NULL, THREADS + 1);
	record(true);
	for (intptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, makes_ranges, (void *)i), 0);
	pthread_barrier_wait(&one_made);
	for (int i = 0; i < 200; i++) {
		record(i % 2 == 0);
		usleep(50);
	}
	for (int i = 0; i < THREADS; i++) {
		void *bad = NULL;
		pthread_join(threads[i], &bad);
		assert_null(bad);
	}
	record(false);
	pthread_barrier_destroy(&one_made);
	struct seen after = look();
	int64_t pushed = 0, started = 0;
	for (size_t i = before.ranges.n; i < after.ranges.n; i++) {
		const struct rec_range *r = &after.ranges.at[i];
		pushed += (r->event == RANGE_PUSH) - (r->event == RANGE_POP);
		started += (r->event == RANGE_START) - (r->event == RANGE_END);
		if (r->event == RANGE_PUSH || r->event == RANGE_START)
			assert_memory_equal(after.strings.at[r->name], "name ", 5);
	}
	assert_true(after.ranges.n > before.ranges.n);
	assert_int_equal(pushed, 0);
	assert_int_equal(started, 0);
	forget(&before);
	forget(&after);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_was_opened_before_is_written_late),
		cmocka_unit_test(test_names_are_written_once),
		cmocka_unit_test(test_long_and_wide_names_are_cut_between_characters),
		cmocka_unit_test(test_registered_names_and_domains),
		cmocka_unit_test(test_more_than_is_kept),
		cmocka_unit_test(test_many_threads),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
