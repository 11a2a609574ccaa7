/*
 * Advice on data loading. Samples show which code makes the next batch or waits for it. The advice
 * names the line of the loop that fetches the batch, which need not be the line that copies it.
 */
#include "core/analysis/host_kinds.h"
#include "core/analysis/host_sums.h"
#include "core/symbols/site_name.h"
#include "core/util/ms_digits.h"
#include "core/verdict/judge_parts.h"

#include <math.h>

/* How the program gets its batches, by the frames of the samples. */
enum source { SOURCE_OTHER, SOURCE_LOADER, SOURCE_QUEUE, SOURCES_N };

static const char keep_workers[] =
	"keep the DataLoader's workers between epochs: persistent_workers=True";
/* Workers that start and end are named from this share of the loading time: after the start, the
 * first batch is waited for, too. */
static const double workers_least = 0.25;

static const char *const fixes[SOURCES_N + 1] = {
	[SOURCE_OTHER] = "prefetch batches: make them ahead of time in other threads or processes",
	[SOURCE_LOADER] = "prefetch batches: more DataLoader workers, prefetch_factor",
	[SOURCES_N] = "prefetch batches: more DataLoader workers, prefetch_factor",
	[SOURCE_QUEUE] =
		"fill the queue faster: more threads or processes, or less work per batch; a "
		"server that waits for requests needs no change",
};

static enum source source_of(struct frames *f, uint32_t stack)
{
	static const struct {
		const char *file;
		enum source source;
	} files[] = {
		{ "torch/utils/data/", SOURCE_LOADER },
		{ "/queue.py", SOURCE_QUEUE },
		{ "multiprocessing/queues.py", SOURCE_QUEUE },
	};
	struct frame_list list = frames_of(f, stack);
	for (size_t k = 0; k < sizeof(files) / sizeof(*files); k++)
		for (size_t i = 0; i < list.n; i++)
			if (strstr(list.at[i]->file, files[k].file))
				return files[k].source;
	return SOURCE_OTHER;
}

/* Returns how the program gets its batches, if samples show one way for more than half of the
 * time; else SOURCES_N. */
static enum source find_source(const struct judge *j)
{
	const struct host_sums *s = &j->w.timeline->host;
	uint64_t ns[SOURCES_N] = { 0 }, all_ns = 0;
	for (size_t i = 0; i < s->at.n; i++) {
		const struct host_sum *x = &s->at.at[i];
		if (x->kind != HOST_LOADER || !x->stack)
			continue;
		all_ns += x->ns;
		ns[source_of(j->w.timeline->frames, x->stack)] += x->ns;
	}
	for (int i = 0; i < SOURCES_N; i++)
		if (ns[i] * 2 > all_ns)
			return (enum source)i;
	return SOURCES_N;
}

/* Returns whether much of the time passes while a DataLoader starts its worker processes, or waits
 * until they have ended. */
static bool starts_workers(const struct judge *j)
{
	const struct host_sums *s = &j->w.timeline->host;
	double ns = 0, all_ns = 0;
	for (size_t i = 0; i < s->at.n; i++) {
		const struct host_sum *x = &s->at.at[i];
		if (x->kind != HOST_LOADER || !x->stack)
			continue;
		struct frame_list list = frames_of(j->w.timeline->frames, x->stack);
		bool is_start = false;
		for (size_t k = 0; k < list.n && !is_start; k++)
			is_start = strstr(list.at[k]->function,
					  "_MultiProcessingDataLoaderIter.__init__") ||
				   strstr(list.at[k]->function, "._shutdown_workers");
		all_ns += (double)x->ns;
		ns += is_start ? (double)x->ns : 0;
	}
	return all_ns > 0 && ns >= workers_least * all_ns;
}

const char *judge_input_source(const struct judge *j)
{
	static const char *const names[SOURCES_N + 1] = { "", "loader", "queue", "" };
	return names[find_source(j)];
}

static bool is_loading(uint8_t kind)
{
	return kind == HOST_LOADER;
}

/* Writes which line works or waits while a batch is fetched. */
static void say_inner(const struct judge *j, const struct sampled_lines *lines, char *to,
		      size_t bytes)
{
	const struct site *s = frames_site_at(j->w.timeline->frames, lines->inner);
	char name[SITE_NAME_BYTES];
	to[0] = 0;
	if (lines->inner && lines->inner != lines->outer)
		snprintf(to, bytes, ", mostly at %s", site_name(s, name));
}

void advise_input(struct judge *j)
{
	static const struct whatif_change change = { .kind = WHATIF_FREE,
						     .what = WHATIF_FREE_INPUT };
	double here_ms;
	char text[BEFORE_BYTES];
	if (judge_gain_ms(j, &change, 1) < judge_worth_ms(j))
		return;
	uint32_t site = advice_top_site(j, &here_ms); /* by the play in judge_gain_ms() above */
	if (!site)
		return;
	struct sampled_lines lines = sampled_lines_find(j, is_loading);
	const char *what = j->program.is_python ? fixes[find_source(j)]
						: "prefetch the next batch: prepare it in another "
						  "thread while the GPU works";
	if (j->program.is_python && starts_workers(j))
		what = keep_workers;
	if (lines.outer) {
		say_inner(j, &lines, text, sizeof(text));
		advise(j, lines.outer, &change, 1, what,
		       "at this line the step waits for its data%s; %.*f ms %s", text, MS(here_ms),
		       judge_per_step(j->f));
		return;
	}
	advise(j, site, &change, 1, what, "%s the step waits for its data; %.*f ms %s at this line",
	       advice_say_before(j, site, text, sizeof(text)), MS(here_ms), judge_per_step(j->f));
}
