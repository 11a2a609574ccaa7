/* Notes what the reader of a comparison must know. See diff.h. */
#include "export/diff.h"

#include "export/report_words.h"

#include <stdarg.h>

const char *diff_words(struct diff *d, const char *format, ...)
{
	char text[400];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return arena_text(&d->arena, text);
}

bool diff_is_mixed(const struct diff_side sides[DIFF_SIDES])
{
	return sides[DIFF_A].is_trace != sides[DIFF_B].is_trace;
}

bool diff_has_places(const struct diff_side sides[DIFF_SIDES])
{
	return sides[DIFF_A].has_lines && sides[DIFF_B].has_lines && !diff_is_mixed(sides);
}

static void note(struct diff *d, const char *text)
{
	vec_push(&d->notes, text);
}

/* Returns how long a step waited for CPUs that other processes had; 0: not known, or not at all. */
static double contention_ms(const struct diff_side *s)
{
	return s->slowest->replay ? report_or_zero(s->slowest->replay->contention_ms) : 0;
}

/* Other load on the machine makes equal programs differ. */
static void note_contention(struct diff *d, const struct diff_side sides[DIFF_SIDES])
{
	char a[32], b[32];
	double of_a = contention_ms(&sides[DIFF_A]), of_b = contention_ms(&sides[DIFF_B]);
	if (of_a >= REPORT_LEAST_MS || of_b >= REPORT_LEAST_MS)
		note(d,
		     diff_words(d,
				"other processes had the CPUs: a step of A waited %s ms for a CPU, "
				"one of B %s ms",
				report_ms(a, sizeof(a), of_a), report_ms(b, sizeof(b), of_b)));
}

void diff_notes(struct diff *d, const struct diff_side sides[DIFF_SIDES])
{
	const struct diff_side *a = &sides[DIFF_A], *b = &sides[DIFF_B];
	const char *how_a = a->slowest->facts.steps.detector,
		   *how_b = b->slowest->facts.steps.detector;
	if (diff_is_whole_run(a) && diff_is_whole_run(b))
		note(d, "neither has recorded steps: figures are of the whole run, so the longer "
			"run has more of everything");
	else if (strcmp(how_a, how_b) != 0)
		note(d, "the steps of A and B were found in different ways: compare the kernels "
			"per step to see whether a step is the same work");
	note_contention(d, sides);
	if (diff_is_mixed(sides))
		note(d,
		     diff_words(d,
				"%s was recorded by torch.profiler, whose own cost is in its step "
				"times; profrun measures mostly steps that it does not record",
				a->is_trace ? "A" : "B"));
	if (!diff_has_places(sides))
		note(d, "copies, collectives and synchronization are compared by name, without "
			"their lines");
	if (a->compared.n == 1 && a->slowest->rank != b->slowest->rank &&
	    (a->slowest->rank >= 0 || b->slowest->rank >= 0))
		note(d, "A and B have no rank in common: the main process of each is compared");
}
