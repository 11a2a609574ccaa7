/* See progress_words.h. */
#include "export/progress_words.h"

#include "core/util/text.h"
#include "export/report_words.h"

#include <stdio.h>
#include <string.h>

#define ANSWER "progress: "

enum { NUMBER_BYTES = 32, NUMBERS_BYTES = 80 };

char *progress_action(char *to, size_t bytes, const struct facts_steps *steps)
{
	char numbers[NUMBERS_BYTES];
	if (steps->last < 0)
		snprintf(to, bytes, "detecting steps");
	else if (*steps->action && strcmp(steps->action, FACTS_SKIPS) != 0)
		snprintf(to, bytes, "%s", steps->action);
	else if (steps->recorded.n)
		snprintf(to, bytes, "recorded %s",
			 report_numbers(numbers, sizeof(numbers), steps->recorded.at,
					steps->recorded.n));
	else if (steps->first_scheduled > steps->last)
		snprintf(to, bytes, "recording starts at step %lld",
			 (long long)steps->first_scheduled);
	else
		snprintf(to, bytes, "%s", FACTS_SKIPS);
	return to;
}

static void add_steps(char *to, size_t bytes, const struct progress_state *s)
{
	char number[NUMBER_BYTES];
	const struct facts_steps *steps = &s->facts->steps;
	if (steps->last >= 0)
		text_append(to, bytes, "; step %s",
			    report_count(number, sizeof(number), steps->last));
	else if (s->facts->records)
		text_append(to, bytes, "; %s launches",
			    report_count(number, sizeof(number), s->facts->records->launches));
	if (steps->step_ms)
		text_append(to, bytes, "; %s ms",
			    report_ms(number, sizeof(number), steps->step_ms->p50));
}

static void add_gpu(char *to, size_t bytes, const struct report_process *report)
{
	if (report && report->gpu.n)
		text_append(to, bytes, "; GPU utilization %.0f %%", report->gpu.at[0].busy_pct);
}

static void add_losses(char *to, size_t bytes, const struct facts_losses *l)
{
	char number[NUMBER_BYTES];
	text_append(to, bytes, "; %s dropped",
		    report_count(number, sizeof(number), l->dropped + l->dropped_by_cupti));
}

char *progress_words(char *to, size_t bytes, const struct progress_state *s)
{
	char action[NUMBERS_BYTES + NUMBER_BYTES];
	to[0] = 0;
	if (!s->facts) {
		snprintf(to, bytes, "no CUDA call yet");
		return to;
	}
	if (s->n_processes > 1 && *s->facts->rank)
		text_append(to, bytes, "rank %s: ", s->facts->rank);
	else if (s->n_processes > 1)
		text_append(to, bytes, "process %lld: ", (long long)s->facts->pid);
	text_append(to, bytes, "%s", progress_action(action, sizeof(action), &s->facts->steps));
	add_steps(to, bytes, s);
	add_gpu(to, bytes, s->report);
	add_losses(to, bytes, &s->facts->losses);
	return to;
}

char *progress_answer_make(char *to, const struct progress_state *s)
{
	char words[PROGRESS_BYTES - sizeof(ANSWER "\n")];
	snprintf(to, PROGRESS_BYTES, ANSWER "%s\n", progress_words(words, sizeof(words), s));
	return to;
}

const char *progress_answer(const char *line)
{
	return !strncmp(line, ANSWER, strlen(ANSWER)) ? line + strlen(ANSWER) : "";
}
