/* See counters.h. */
#include "core/flow/counters.h"

static uint64_t greatest_divisor(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;
		a = b;
		b = rest;
	}
	return a;
}

/* What the loop's instructions do with one register. */
struct counter {
	int64_t step; /* the sum of the constants that an iteration adds */
	bool is_tested;
	bool is_written; /* in another way, too */
};

/* Returns whether the loop tests a copy of the register. */
static bool tests_copy(const struct notes *notes, unsigned number)
{
	bool is_copy[NOTE_REGISTERS] = { 0 };
	for (size_t i = 0; i < notes->n; i++) {
		const struct note *n = &notes->at[i];
		if (n->kind == NOTE_COPIES && n->value == (int64_t)number &&
		    n->number < NOTE_REGISTERS)
			is_copy[n->number] = true;
	}
	for (size_t i = 0; i < notes->n; i++) {
		const struct note *n = &notes->at[i];
		if (n->kind == NOTE_TESTS && n->number < NOTE_REGISTERS && is_copy[n->number])
			return true;
	}
	return false;
}

static struct counter counter_of(const struct notes *notes, unsigned number)
{
	struct counter c = { .is_tested = tests_copy(notes, number) };
	for (size_t i = 0; i < notes->n; i++) {
		const struct note *n = &notes->at[i];
		if (n->kind == NOTE_CALLS || n->number != number)
			continue;
		c.step += n->kind == NOTE_ADDS ? n->value : 0;
		c.is_tested |= n->kind == NOTE_TESTS;
		c.is_written |= n->kind != NOTE_ADDS && n->kind != NOTE_TESTS;
	}
	return c;
}

struct counting counting_of(const struct notes *notes)
{
	struct counting c = { 0 };
	for (size_t i = 0; i < notes->n; i++) {
		const struct note *n = &notes->at[i];
		if (n->kind != NOTE_ADDS || n->is_argument)
			continue;
		struct counter counter = counter_of(notes, n->number);
		uint64_t step = (uint64_t)(counter.step < 0 ? -counter.step : counter.step);
		if (counter.is_written || !step)
			continue;
		c.all = greatest_divisor(c.all, step);
		if (counter.is_tested)
			c.tested = greatest_divisor(c.tested, step);
	}
	return c;
}
