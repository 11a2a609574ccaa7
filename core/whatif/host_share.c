#include "core/whatif/host_share.h"

#include "core/analysis/host_kinds.h"
#include "core/symbols/stack_about.h"
#include "core/util/sample.h"

#include <math.h>

enum {
	OPS_MOST = 200000, /* the costs are learned from the first 200,000 ops */
	GAPS_OF_PAIR = 15, /* the newest gaps of a pair, from which its median is computed */
	PAIRS_LEAST = 4,   /* the fit needs at least this number of different pairs */
	FIT_ROUNDS = 6,	   /* rounds of reweighting; costs change by less than 1 % after 4 */
	FIT_SWEEPS = 50,   /* in each round, how often every cost is fitted */
};

/* Two stacks whose calls follow each other in a lane, with gaps between these calls. */
struct pair {
	uint32_t first, second; /* DICT_STACK */
	uint32_t n;		/* number of gaps; only the newest GAPS_OF_PAIR are kept */
	float gaps_ns[GAPS_OF_PAIR];
};

/*
 * The cost of leaving a frame, as a share of the cost of entering it. The share is assumed, because
 * a fit cannot separate the two costs: every frame that is entered is also left. Entering costs
 * more, because arguments are parsed, operators are dispatched and memory is allocated.
 */
static const double leaving = 0.5;

/* In a gap longer than this many times the median of its pair, the host did more than to leave and
 * enter frames. */
static const double scale_most = 4;

/* A pair of stacks as a row of the fit. */
struct row {
	/* `term`: factor of each cost; `gap_ns`: median gap; `count`: square root of the number of
	 * gaps, the row's weight without its error; `weight`: weight in this round of the fit. */
	double term[TERMS], gap_ns, count, weight;
};

struct fit {
	const struct replay *replay;
	struct map pair_of; /* pair_key() of two stacks -> index in `pairs` */
	VEC(struct pair) pairs;
	VEC(struct row) rows;
};

/* Returns the stack of the op's call; 0: an orphan, or no stack is known. */
static uint32_t stack_of(const struct replay *r, uint32_t op)
{
	uint32_t call = r->ops.at[op].call;
	return call == REPLAY_NONE ? 0 : r->timeline->calls.at[call].stack;
}

/* ---- Frames between two stacks ---- */

static bool is_same_frame(const struct frame *a, const struct frame *b)
{
	return a == b || (a->line == b->line && !strcmp(a->function, b->function) &&
			  !strcmp(a->file, b->file) && !strcmp(a->module, b->module));
}

/* Returns how many frames both stacks share, counted from the outermost frame. */
static size_t common_frames(struct frame_list a, struct frame_list b)
{
	size_t most = a.n < b.n ? a.n : b.n, n = 0;
	while (n < most && is_same_frame(a.at[a.n - 1 - n], b.at[b.n - 1 - n]))
		n++;
	return n;
}

/*
 * For two successive calls with the same stack: returns how many frames, counted from the outermost
 * one, probably stayed open between the calls. The stack does not show where the loop is. A loop in
 * the user's code is far more frequent than one in a library, so all frames down to the innermost
 * user frame count as open.
 */
static size_t user_frames(struct frame_list list)
{
	for (size_t i = 0; i < list.n; i++)
		if (!list.at[i]->is_library)
			return list.n - i;
	return list.n;
}

static void count_frames(struct frame_list list, size_t n, double *python, double *native)
{
	for (size_t i = 0; i < n; i++)
		*(list.at[i]->kind == FRAME_KIND_PYTHON ? python : native) += 1;
}

/* Numbers of frames that the host leaves (out) and enters (in) between two stacks. */
struct crossed_frames {
	double python_out, native_out, python_in, native_in;
};

static struct crossed_frames count_crossed(const struct replay *r, uint32_t first, uint32_t second)
{
	struct frames *frames = r->timeline->frames;
	struct frame_list a = frames_of(frames, first), b = frames_of(frames, second);
	size_t common = first == second ? user_frames(a) : common_frames(a, b);
	struct crossed_frames w = { 0, 0, 0, 0 };
	count_frames(a, a.n - common, &w.python_out, &w.native_out);
	count_frames(b, b.n - common, &w.python_in, &w.native_in);
	return w;
}

/* ---- Learning ---- */

static uint64_t pair_key(uint32_t first, uint32_t second)
{
	return (uint64_t)first << 32 | second;
}

static void add_gap(struct fit *f, uint32_t first, uint32_t second, float gap_ns)
{
	bool is_new;
	uint64_t *at = map_at(&f->pair_of, pair_key(first, second), &is_new);
	if (is_new) {
		*at = f->pairs.n;
		vec_push(&f->pairs, (struct pair){ .first = first, .second = second });
	}
	struct pair *pair = &f->pairs.at[*at];
	pair->gaps_ns[pair->n++ % GAPS_OF_PAIR] = gap_ns;
}

/* Returns true if samples show that before the call the host slept, waited or worked on another
 * line. How long it did says nothing of the frames. */
static bool is_after_other_work(const struct replay *r, uint32_t op)
{
	const struct timeline_call *c = &r->timeline->calls.at[r->ops.at[op].call];
	bool is_work = c->before_kind == HOST_PYTHON || c->before_kind == HOST_NATIVE;
	return host_kind_is_stall(c->before_kind) ||
	       (is_work && c->before_site && c->before_site != c->site);
}

static void collect_pairs(struct fit *f)
{
	const struct replay *r = f->replay;
	uint32_t *before = mem_zero(r->n_lanes * sizeof(*before));
	for (uint32_t i = 0; i < r->ops.n && i < OPS_MOST; i++) {
		const struct replay_op *op = &r->ops.at[i];
		uint32_t stack = stack_of(r, i);
		if (op->role == ROLE_ORPHAN)
			continue;
		if (stack && before[op->lane] && op->anchor == REPLAY_NONE &&
		    !is_after_other_work(r, i))
			add_gap(f, before[op->lane], stack, op->gap_ns);
		before[op->lane] = stack;
	}
	free(before);
}

static void make_rows(struct fit *f)
{
	for (size_t i = 0; i < f->pairs.n; i++) {
		struct pair *pair = &f->pairs.at[i];
		struct row row = { .count = sqrt(pair->n) };
		size_t n = pair->n < GAPS_OF_PAIR ? pair->n : GAPS_OF_PAIR;
		sample_sort(pair->gaps_ns, n);
		row.gap_ns = pair->gaps_ns[n / 2];
		struct crossed_frames w = count_crossed(f->replay, pair->first, pair->second);
		row.term[TERM_PAIR] = 1;
		row.term[TERM_PYTHON] = w.python_in + leaving * w.python_out;
		row.term[TERM_NATIVE] = w.native_in + leaving * w.native_out;
		vec_push(&f->rows, row);
	}
}

static double fitted(const struct row *row, const double *cost)
{
	double sum = 0;
	for (int k = 0; k < TERMS; k++)
		sum += row->term[k] * cost[k];
	return sum;
}

/* Fits the costs by non-negative weighted least squares, one cost at a time. Starts from the values
 * in `cost`. */
static void fit_costs(const struct fit *f, double *cost)
{
	for (int sweep = 0; sweep < FIT_SWEEPS; sweep++) {
		for (int k = 0; k < TERMS; k++) {
			double up = 0, down = 0;
			for (size_t i = 0; i < f->rows.n; i++) {
				const struct row *row = &f->rows.at[i];
				double rest =
					row->gap_ns - fitted(row, cost) + row->term[k] * cost[k];
				up += row->weight * row->term[k] * rest;
				down += row->weight * row->term[k] * row->term[k];
			}
			cost[k] = down > 0 ? fmax(0, up / down) : 0;
		}
	}
}

/* Reduces the weight of rows that fit badly. If a gap contains the program's own work, it is far
 * too long for its frames, and the square of its error would dominate the fit. */
static void reweigh(struct fit *f, const double *cost)
{
	for (size_t i = 0; i < f->rows.n; i++) {
		struct row *row = &f->rows.at[i];
		double expected = fitted(row, cost), off = fabs(row->gap_ns - expected);
		row->weight = row->count / (fmax(expected, 500) * fmax(off, 500));
	}
}

void host_share_learn(struct host_share *h, const struct replay *r)
{
	struct fit f = { .replay = r };
	*h = (struct host_share){ .replay = r };
	if (r->timeline->frames)
		collect_pairs(&f);
	make_rows(&f);
	for (size_t i = 0; i < f.rows.n; i++)
		f.rows.at[i].weight = f.rows.at[i].count / fmax(f.rows.at[i].gap_ns, 500);
	for (int round = 0; round < FIT_ROUNDS; round++) {
		fit_costs(&f, h->cost_ns);
		reweigh(&f, h->cost_ns);
	}
	h->is_known = f.rows.n >= PAIRS_LEAST;
	h->median_ns = f.pair_of;
	for (size_t i = 0; i < f.pairs.n; i++)
		*map_at(&h->median_ns, pair_key(f.pairs.at[i].first, f.pairs.at[i].second), NULL) =
			(uint64_t)f.rows.at[i].gap_ns;
	vec_free(&f.pairs);
	vec_free(&f.rows);
}

void host_share_free(struct host_share *h)
{
	map_free(&h->median_ns);
}

/* ---- Sharing ---- */

struct host_split host_share_of(const struct host_share *h, uint32_t first, uint32_t second,
				double gap_ns)
{
	struct host_split split = { 0, 0 };
	uint32_t a = stack_of(h->replay, first), b = stack_of(h->replay, second);
	if (!h->is_known || !a || !b)
		return split;
	struct crossed_frames w = count_crossed(h->replay, a, b);
	const double *cost = h->cost_ns;
	split.out_ns =
		leaving * (w.python_out * cost[TERM_PYTHON] + w.native_out * cost[TERM_NATIVE]);
	split.in_ns = w.python_in * cost[TERM_PYTHON] + w.native_in * cost[TERM_NATIVE];
	/* Scale from the pair's median to this gap: if the machine is slow for a moment, all parts
	 * of the gap take longer. */
	const uint64_t *median = map_find(&h->median_ns, pair_key(a, b));
	double typical_ns = median ? (double)*median : gap_ns;
	double sum = cost[TERM_PAIR] + split.out_ns + split.in_ns;
	double scale = sum > typical_ns ? typical_ns / sum : 1;
	if (typical_ns > 0)
		scale *= fmin(gap_ns / typical_ns, scale_most);
	split.out_ns *= scale;
	split.in_ns *= scale;
	return split;
}

/* ---- Whether a gap is library code ---- */

static bool has_user_frame(struct frame_list list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!list.at[i]->is_library)
			return true;
	return false;
}

/* Returns true if the code that made both calls is the user's. Looks at the `common` frames that
 * both stacks share, from the innermost one outward: the first frame that is user code or Python
 * code decides. Native frames of libraries, such as the interpreter's, are skipped. */
static bool is_user_code(struct frame_list list, size_t common)
{
	for (size_t i = list.n - common; i < list.n; i++)
		if (!list.at[i]->is_library || list.at[i]->kind == FRAME_KIND_PYTHON)
			return !list.at[i]->is_library;
	return false;
}

/* Returns true if both sites are in one function of the user's code, and `b` is the same line as
 * `a` or the next line with code. Empty lines and comments do not count. */
static bool is_next_line(struct frames *f, const struct site *a, const struct site *b)
{
	if (!a->is_user || !b->is_user || b->line < a->line || strcmp(a->file, b->file) != 0 ||
	    strcmp(a->function, b->function) != 0)
		return false;
	if (b->line > a->line + 1 && !*frames_source(f, a->file, a->line))
		return false; /* the file cannot be read */
	for (uint32_t line = a->line + 1; line < b->line; line++) {
		const char *text = frames_source(f, a->file, line);
		if (*text && *text != '#')
			return false;
	}
	return true;
}

/* Returns true if an optimizer spent the time between the calls: before its first launch, an
 * optimizer walks all parameters. Returns false if both calls are an optimizer's on the same line,
 * because that line may be in a loop that does other work, too. */
static bool is_optimizer_code(struct frames *f, const struct timeline_call *from,
			      const struct timeline_call *to)
{
	if (!(to->about & ABOUT_OPTIMIZER) || !from->site || !to->site)
		return false;
	if (from->about & ABOUT_OPTIMIZER && from->site == to->site)
		return false;
	return is_next_line(f, frames_site_at(f, from->site), frames_site_at(f, to->site));
}

/* If both calls have the same stack, a loop makes them. The loop counts as user code if the stack
 * has any user frame. If the stack of a call is not known, the gap counts as user code, too. */
bool host_share_is_library(const struct host_share *h, uint32_t first, uint32_t second)
{
	const struct timeline *t = h->replay->timeline;
	uint32_t a = stack_of(h->replay, first), b = stack_of(h->replay, second);
	if (!t->frames || !a || !b)
		return false;
	const struct timeline_call *from = &t->calls.at[h->replay->ops.at[first].call],
				   *to = &t->calls.at[h->replay->ops.at[second].call];
	if (to->about & ABOUT_WORKER && from->site == to->site)
		return true; /* from a call in backward() to a call of an autograd thread */
	struct frame_list x = frames_of(t->frames, a), y = frames_of(t->frames, b);
	size_t common = a == b ? 0 : common_frames(x, y);
	bool is_library = !has_user_frame(x, x.n - common) && !has_user_frame(y, y.n - common) &&
			  !is_user_code(x, common);
	return is_library || is_optimizer_code(t->frames, from, to);
}
