/*
 * Advice on data loading. Samples show which code makes the next batch or waits for it. The advice
 * names the line of the loop that fetches the batch, which need not be the line that copies it.
 */
#include "core/analysis/host_kinds.h"
#include "core/analysis/host_sums.h"
#include "core/symbols/phase_rules.h"
#include "core/util/path.h"
#include "core/verdict/judge_parts.h"

#include <math.h>

/* How the program gets its batches, by the frames of the samples. */
enum source { SOURCE_OTHER, SOURCE_LOADER, SOURCE_QUEUE, SOURCES_N };

static const char *const fixes[SOURCES_N] = {
	[SOURCE_OTHER] = "prefetch batches: make them ahead of time in other threads or processes",
	[SOURCE_LOADER] = "prefetch batches: more DataLoader workers, prefetch_factor",
	[SOURCE_QUEUE] = "fill the queue faster: more threads or processes, or less work per batch",
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

/* What the samples of data loading show. */
struct input {
	enum source source;
	uint32_t fetch; /* the line that fetches the batch, where the copy's line is another one */
	uint32_t inner; /* the line of user code that works or waits there */
};

/* Returns the line at which the sampled stack leaves the function that also makes the call with the
 * stack `copy`; 0: both are on the same line, or have no function in common. */
static uint32_t fetch_of(struct frames *f, uint32_t stack, uint32_t copy)
{
	struct phase_parting p = phase_rules_parting(f, stack, copy);
	if (!copy || !phase_rules_differ_by_line(&p) || p.at->is_library)
		return 0;
	return frames_site_of(f, p.at);
}

static uint32_t key_of_most(const struct map *ns_of, uint64_t all_ns, const uint32_t *keys,
			    size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const uint64_t *ns = map_find(ns_of, keys[i] + 1ull);
		if (ns && *ns * 2 > all_ns)
			return keys[i];
	}
	return 0;
}

static void add_ns(struct map *ns_of, uint32_t key, uint64_t ns)
{
	*map_at(ns_of, key + 1ull, NULL) += ns;
}

/* Finds what takes more than half of the time of data loading. `copy`: the stack of the call that
 * the batch comes before. */
static struct input find_input(const struct judge *j, uint32_t copy)
{
	struct frames *f = j->w.timeline->frames;
	const struct host_sums *s = &j->w.timeline->host;
	struct map of_fetch = { 0 }, of_inner = { 0 };
	uint32_t *fetches = mem_zero((s->at.n + 1) * sizeof(*fetches)),
		 *inners = mem_zero((s->at.n + 1) * sizeof(*inners));
	uint64_t of_source[SOURCES_N] = { 0 }, all_ns = 0;
	struct input found = { SOURCE_LOADER, 0, 0 };
	size_t n = 0;
	for (size_t i = 0; i < s->at.n; i++) {
		const struct host_sum *x = &s->at.at[i];
		if (x->kind != HOST_LOADER || !x->stack)
			continue;
		all_ns += x->ns;
		of_source[source_of(f, x->stack)] += x->ns;
		fetches[n] = fetch_of(f, x->stack, copy);
		inners[n] = frames_site(f, x->stack);
		add_ns(&of_fetch, fetches[n], x->ns);
		add_ns(&of_inner, inners[n], x->ns);
		n++;
	}
	for (int i = 0; i < SOURCES_N; i++)
		if (of_source[i] * 2 > all_ns)
			found.source = (enum source)i;
	found.fetch = key_of_most(&of_fetch, all_ns, fetches, n);
	found.inner = key_of_most(&of_inner, all_ns, inners, n);
	map_free(&of_fetch);
	map_free(&of_inner);
	free(fetches);
	free(inners);
	return found;
}

/* Returns the stack of the call of this site before which the last play removed most time. */
static uint32_t stack_at(const struct judge *j, uint32_t site)
{
	double most_ms = 0;
	uint32_t stack = 0;
	for (uint32_t i = 0; i < j->w.replay.ops.n; i++) {
		double ms = j->w.site[i] == site ? advice_taken_ms(j, i) : 0;
		if (ms <= most_ms)
			continue;
		most_ms = ms;
		stack = j->w.timeline->calls.at[j->w.replay.ops.at[i].call].stack;
	}
	return stack;
}

/* Writes which line works or waits while a batch is fetched. */
static void say_inner(const struct judge *j, const struct input *input, uint32_t site, char *to,
		      size_t bytes)
{
	const struct site *s = frames_site_at(j->w.timeline->frames, input->inner);
	to[0] = 0;
	if (input->inner && input->inner != site)
		snprintf(to, bytes, ", mostly at %s:%u", path_base(s->file), s->line);
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
	struct input input = find_input(j, stack_at(j, site));
	const char *what = j->program.is_python ? fixes[input.source]
						: "prefetch the next batch: prepare it in another "
						  "thread while the GPU works";
	if (input.fetch) {
		say_inner(j, &input, input.fetch, text, sizeof(text));
		advise(j, input.fetch, &change, 1, what,
		       "at this line the step waits for its data%s; %.2f ms %s", text, here_ms,
		       judge_per_step(j->f));
		return;
	}
	advise(j, site, &change, 1, what, "%s the step waits for its data; %.2f ms %s at this line",
	       advice_say_before(j, site, text, sizeof(text)), here_ms, judge_per_step(j->f));
}
