/* Derives findings from the lifetimes of blocks: the kind of each block, the memory held at the
 * peak, and the lines whose memory grows. */
#include "core/analysis/block_summary.h"
#include "core/analysis/summary.h"

#include <string.h>

/* ---- Kinds ---- */

/*
 * Functions in which modules allocate the memory that they keep: construction, move to a device,
 * loading. `file` must occur in the frame's path; `function` must be the last component of the
 * frame's function name.
 */
static const struct {
	const char *file, *function; /* function NULL: any */
} module_frames[] = {
	{ "/torch/nn/modules/", "__init__" },
	{ "torch/nn/modules/module.py", "_apply" },
	{ "torch/nn/modules/module.py", "load_state_dict" },
	{ "torch/nn/modules/module.py", "to_empty" },
	{ "torch/nn/parameter.py", NULL },
	{ "torch/nn/init.py", NULL },
	{ "transformers/modeling_utils.py", NULL },
};

static bool is_module_code(const struct frame *frame)
{
	const char *dot = strrchr(frame->function, '.');
	const char *name = dot ? dot + 1 : frame->function;
	for (size_t i = 0; i < sizeof(module_frames) / sizeof(*module_frames); i++)
		if (strstr(frame->file, module_frames[i].file) &&
		    (!module_frames[i].function || !strcmp(name, module_frames[i].function)))
			return true;
	return frame->kind == FRAME_KIND_NATIVE && !strncmp(frame->function, "torch::nn::", 11);
}

enum evidence { NO_EVIDENCE, OF_MODULE, OF_WORKSPACE };

static enum evidence evidence_of(struct frames *frames, uint32_t stack)
{
	struct frame_list list = frames && stack ? frames_of(frames, stack)
						 : (struct frame_list){ 0 };
	enum evidence found = NO_EVIDENCE;
	for (size_t i = 0; i < list.n; i++) {
		const struct frame *frame = list.at[i];
		/*
		 * PyTorch keeps one workspace per thread for cuBLAS and similar libraries
		 * (at::cuda::getCurrentCUDABlasHandle). The functions that allocate a workspace
		 * have this word in their name.
		 */
		if (frame->kind == FRAME_KIND_NATIVE && strstr(frame->function, "Workspace"))
			return OF_WORKSPACE;
		if (is_module_code(frame))
			found = OF_MODULE;
	}
	return found;
}

/*
 * Returns the kind of a block, from the phases in which it was allocated and freed:
 *
 * allocated in   freed                           kind
 * all but data   in the same phase and step      temporary
 * data           any time                        input
 * forward        later                           activation
 * backward       later                           gradient
 * optimizer      later, but within the window    temporary
 *                not within the window           optimizer state
 * other          not within the window           parameter if a module's code allocated it,
 *                                                else other
 *                in a backward pass              activation (a loss computed by user code)
 *                else                            temporary, or other if it was allocated
 *                                                before the window
 *
 * A block that is not freed in the phase and step of its allocation is a workspace if its stack
 * says so.
 */
static enum block_kind kind_of(const struct block_life *l, enum evidence evidence)
{
	bool outlives = l->end_step == BLOCK_OUTLIVES;
	bool is_short = l->made_step == l->end_step && l->made_phase == l->end_phase;
	if (is_short && l->made_phase != PHASE_DATA)
		return BLOCK_TEMPORARY;
	if (evidence == OF_WORKSPACE)
		return BLOCK_WORKSPACE;
	switch (l->made_phase) {
	case PHASE_DATA:
		return BLOCK_INPUT;
	case PHASE_FORWARD:
		return BLOCK_ACTIVATION;
	case PHASE_BACKWARD:
		return BLOCK_GRADIENT;
	case PHASE_OPTIMIZER:
		return outlives ? BLOCK_STATE : BLOCK_TEMPORARY;
	default:
		if (evidence == OF_MODULE && outlives)
			return BLOCK_PARAMETER;
		if (!outlives && l->end_phase == PHASE_BACKWARD)
			return BLOCK_ACTIVATION;
		return outlives || l->made_step == BLOCK_BEFORE ? BLOCK_REST : BLOCK_TEMPORARY;
	}
}

static void find_kinds(struct block_summary *l, struct frames *frames)
{
	struct map known = { 0 };
	for (size_t i = 0; i < l->lives.n; i++) {
		struct block_life *life = &l->lives.at[i];
		bool is_new;
		uint64_t *evidence = map_at(&known, life->stack, &is_new);
		if (is_new)
			*evidence = evidence_of(frames, life->stack);
		life->kind = (uint8_t)kind_of(life, (enum evidence) * evidence);
	}
	map_free(&known);
}

/* ---- By kind and by phase ---- */

struct change {
	uint64_t ns;
	int64_t by;
	const struct block_life *life;
};

static int by_time(const void *a, const void *b)
{
	const struct change *x = a, *y = b;
	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return x->by < y->by ? -1 : x->by > y->by; /* frees first */
}

enum { CLASSES_MOST = BLOCK_KINDS_N };
_Static_assert((int)PHASES_N <= (int)CLASSES_MOST, "both kinds and phases are classes");

struct classes {
	uint8_t (*class_of)(const struct block_life *life);
	int64_t now[CLASSES_MOST], most[CLASSES_MOST], at_peak[CLASSES_MOST];
	uint64_t n_made[CLASSES_MOST];
};

static uint8_t kind_class(const struct block_life *life)
{
	return life->kind;
}

static uint8_t phase_class(const struct block_life *life)
{
	return life->made_phase;
}

static bool is_at_peak(const struct block_summary *l, const struct block_life *life)
{
	return life->device == l->peak_device && life->begin_ns <= l->peak_ns &&
	       life->end_ns > l->peak_ns;
}

static void sum_classes(const struct block_summary *l, struct classes *c)
{
	VEC(struct change) changes = { 0 };
	vec_reserve(&changes, l->lives.n * 2);
	for (size_t i = 0; i < l->lives.n; i++) {
		const struct block_life *life = &l->lives.at[i];
		if (life->device != l->peak_device)
			continue;
		uint8_t class = c->class_of(life);
		c->n_made[class] += life->made_step != BLOCK_BEFORE;
		if (is_at_peak(l, life))
			c->at_peak[class] += (int64_t)life->bytes;
		vec_push(&changes, (struct change){ life->begin_ns, (int64_t)life->bytes, life });
		vec_push(&changes, (struct change){ life->end_ns, -(int64_t)life->bytes, life });
	}
	if (changes.n)
		qsort(changes.at, changes.n, sizeof(*changes.at), by_time);
	for (size_t i = 0; i < changes.n; i++) {
		uint8_t class = c->class_of(changes.at[i].life);
		c->now[class] += changes.at[i].by;
		if (c->now[class] > c->most[class])
			c->most[class] = c->now[class];
	}
	vec_free(&changes);
}

static struct finding_blocks row_of(const struct classes *c, unsigned class, const char *name,
				    size_t n_steps)
{
	return (struct finding_blocks){ .name = name,
					.bytes = (double)c->at_peak[class],
					.peak_bytes = (double)c->most[class],
					.per_step = (double)c->n_made[class] / (double)n_steps };
}

static int by_bytes(const void *a, const void *b)
{
	const struct finding_blocks *x = a, *y = b;
	if (x->bytes < y->bytes || x->bytes > y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return x->peak_bytes > y->peak_bytes ? -1 : x->peak_bytes < y->peak_bytes;
}

static void fill_classes(const struct block_summary *l, struct findings *f)
{
	static const char *const kinds[] = {
#define X(id, name) name,
		BLOCK_KINDS(X)
#undef X
	};
	struct classes by_kind = { .class_of = kind_class }, by_phase = { .class_of = phase_class };
	sum_classes(l, &by_kind);
	sum_classes(l, &by_phase);
	for (unsigned i = 0; i < BLOCK_KINDS_N; i++)
		if (by_kind.most[i])
			vec_push(&f->by_kind, row_of(&by_kind, i, kinds[i], l->steps.n));
	for (unsigned i = 0; i < PHASES_N; i++)
		if (by_phase.most[i])
			vec_push(&f->by_phase,
				 row_of(&by_phase, i, phase_name((enum phase)i), l->steps.n));
	if (f->by_kind.n)
		qsort(f->by_kind.at, f->by_kind.n, sizeof(*f->by_kind.at), by_bytes);
	if (f->by_phase.n)
		qsort(f->by_phase.at, f->by_phase.n, sizeof(*f->by_phase.at), by_bytes);
}

/* ---- By line ---- */

enum { CHECKS_MOST = 16 };

struct line {
	uint32_t site;
	int64_t at_peak;
	int64_t at_check[CHECKS_MOST]; /* bytes held at each check */
};

struct lines {
	struct map place;
	VEC(struct line) at;
	uint64_t check_ns[CHECKS_MOST];
	size_t n_checks, n_steps; /* n_steps: steps from the first to the last check */
};

/*
 * Chooses the checks: ends of steps of the newest window, evenly spaced, the first one included. A
 * block that one step allocates and the next step frees is held at every check, so it does not look
 * like growth.
 */
static void choose_checks(const struct block_summary *l, struct lines *lines)
{
	size_t first = l->steps.n - 1, n;
	while (first > 0 && l->steps.at[first - 1].window == l->steps.at[first].window)
		first--;
	n = l->steps.n - first;
	lines->n_checks = n < CHECKS_MOST ? n : CHECKS_MOST;
	lines->n_steps = n - 1;
	for (size_t i = 0; i < lines->n_checks; i++) {
		size_t step = first + (n > 1 ? i * (n - 1) / (lines->n_checks - 1) : 0);
		lines->check_ns[i] = l->steps.at[step].end_ns;
	}
}

static void add_to_lines(const struct block_summary *l, const struct block_life *life,
			 uint32_t site, struct lines *lines)
{
	bool is_new;
	uint64_t *at = map_at(&lines->place, site, &is_new);
	if (is_new) {
		*at = lines->at.n;
		vec_push(&lines->at, (struct line){ .site = site });
	}
	struct line *line = &lines->at.at[*at];
	line->at_peak += is_at_peak(l, life) ? (int64_t)life->bytes : 0;
	for (size_t i = 0; i < lines->n_checks; i++)
		if (life->begin_ns <= lines->check_ns[i] && life->end_ns > lines->check_ns[i])
			line->at_check[i] += (int64_t)life->bytes;
}

/*
 * Returns true if the line's bytes never shrink and grow from check to check. With three or four
 * checks they must grow at each check, with more checks at more than half of them. Fewer than three
 * checks prove nothing.
 */
static bool grows(const struct line *line, size_t n)
{
	size_t n_up = 0;
	for (size_t i = 1; i < n; i++) {
		if (line->at_check[i] < line->at_check[i - 1])
			return false;
		n_up += line->at_check[i] > line->at_check[i - 1];
	}
	return n >= 3 && n_up * 2 > n - 1 && (n > 4 || n_up == n - 1);
}

static int by_size(const void *a, const void *b)
{
	const struct finding_block *x = a, *y = b;
	return x->bytes > y->bytes ? -1 : x->bytes < y->bytes;
}

static void fill_lines(struct block_summary *l, struct findings *f, const struct run *run)
{
	struct lines lines = { 0 };
	bool is_growing = memory_growth_is_leak(&run->allocator.growth, run->allocator.n_steps);
	choose_checks(l, &lines);
	for (size_t i = 0; i < l->lives.n; i++) {
		const struct block_life *life = &l->lives.at[i];
		uint32_t site = life->stack ? frames_site(f->timeline->frames, life->stack) : 0;
		add_to_lines(l, life, site, &lines);
	}
	for (size_t i = 0; i < lines.at.n; i++) {
		const struct line *line = &lines.at.at[i];
		const char *what = line->site ? NULL : "before recording began";
		double rate = lines.n_steps ? (double)(line->at_check[lines.n_checks - 1] -
						       line->at_check[0]) /
						      (double)lines.n_steps
					    : 0;
		if (line->at_peak)
			vec_push(&f->at_peak,
				 (struct finding_block){ line->site, what, (double)line->at_peak });
		if (is_growing && grows(line, lines.n_checks))
			vec_push(&f->leaks, (struct finding_block){ line->site, what, rate });
	}
	if (l->peak_reserved_bytes > l->peak_bytes)
		vec_push(&f->at_peak, (struct finding_block){
					      0, "PyTorch cache, unused",
					      (double)(l->peak_reserved_bytes - l->peak_bytes) });
	if (f->at_peak.n)
		qsort(f->at_peak.at, f->at_peak.n, sizeof(*f->at_peak.at), by_size);
	if (f->leaks.n)
		qsort(f->leaks.at, f->leaks.n, sizeof(*f->leaks.at), by_size);
	vec_free(&lines.at);
	map_free(&lines.place);
}

/* ---- The whole summary ---- */

static void fill_allocator(struct finding_allocator *to, const struct allocator *b)
{
	to->is_known = allocator_is_known(b);
	for (unsigned i = 0; i < MEMORY_DEVICES; i++) {
		const struct allocator_device *h = &b->device[i];
		if (!h->was_used || (i && h->peak_allocated_bytes <= to->peak_bytes))
			continue;
		to->device = i;
		to->peak_bytes = h->peak_allocated_bytes;
		to->peak_reserved_bytes = h->peak_reserved_bytes;
		to->bytes = h->allocated_bytes;
		to->reserved_bytes = h->reserved_bytes;
	}
	to->n_out_of_memory = b->n_out_of_memory;
}

static void say_gaps(const struct block_summary *l, struct findings *f, const struct allocator *b)
{
	const struct finding_allocator *a = &f->allocator;
	if (a->peak_bytes > a->recorded_peak_bytes + a->peak_bytes / 100)
		findings_unavailable(f, "allocations at the run's peak",
				     "the peak of %llu bytes was outside the recorded steps; kinds "
				     "and lines refer to the recorded steps' peak of %llu bytes",
				     (unsigned long long)a->peak_bytes,
				     (unsigned long long)a->recorded_peak_bytes);
	if (b->n_lost || l->n_left_out)
		findings_unavailable(f, "all allocations",
				     "too many allocations: %u made before recording began are "
				     "unknown, and %llu made in recorded steps were left out",
				     b->n_lost, (unsigned long long)l->n_left_out);
}

void block_summary_fill(struct block_summary *l, struct findings *f, const struct run *run)
{
	fill_allocator(&f->allocator, &run->allocator);
	f->allocator.recorded_peak_bytes = l->peak_bytes;
	f->allocator.is_recorded = l->lives.n && l->peak_bytes;
	if (!f->allocator.is_recorded)
		return;
	find_kinds(l, f->timeline->frames);
	fill_classes(l, f);
	fill_lines(l, f, run);
	say_gaps(l, f, &run->allocator);
}
