/*
 * See loop_lines.h. Optimized code enters a loop with the body, and tests the condition at the end.
 * So the loop's statement has the smallest of the lines of the first instruction and of the back
 * edges. The first instruction may also load a constant that an earlier statement needs, so it does
 * not count if the line of a back edge comes before those of all calls. Only the innermost function
 * that contains the whole loop counts, with its calls: the body may begin and end in a function
 * that is inlined there and stands elsewhere in the source. A `while (true)` or a `do` has no
 * instruction. Then the line is the body's first one.
 */
#include "core/steps/loop_lines.h"

#include "core/symbols/origin.h"

#include <string.h>

enum { ENDS_MOST = 16 };

/* The functions at an address, innermost first. Depth 0 is the last one, the compiled function. */
struct inlined {
	struct source_frame at[STACK_INLINED_MOST];
	size_t n;
};

static const struct frame *at_depth(const struct inlined *x, size_t depth)
{
	return &x->at[x->n - 1 - depth].frame;
}

static bool is_function(const struct frame *a, const struct frame *b)
{
	return !strcmp(a->function, b->function);
}

static bool is_line(const struct frame *a, const struct frame *b)
{
	return a->line == b->line && !strcmp(a->file, b->file);
}

/* Returns the depth of the innermost call of an inlined function that contains both addresses. */
static size_t common_depth(const struct inlined *a, const struct inlined *b)
{
	size_t depth = 0;
	while (depth + 1 < a->n && depth + 1 < b->n &&
	       is_line(at_depth(a, depth), at_depth(b, depth)) &&
	       is_function(at_depth(a, depth + 1), at_depth(b, depth + 1)))
		depth++;
	return depth;
}

/* Returns the depth of the innermost function in the user's own source, at most `depth`. */
static size_t own_depth(const struct inlined *x, size_t depth)
{
	while (depth > 0 &&
	       (!at_depth(x, depth)->line || origin_is_library_source(at_depth(x, depth)->file)))
		depth--;
	return depth;
}

static struct inlined find(struct native *n, const struct native_loop *l, uint64_t at)
{
	struct inlined x;
	x.n = native_find(n, l->module | at, false, x.at);
	return x;
}

/* Lowers `depth` to that of the innermost function that contains the address too. */
static size_t with(size_t depth, const struct inlined *first, const struct inlined *other)
{
	size_t common = common_depth(first, other);
	return common < depth ? common : depth;
}

/* Returns the smaller one of two lines of a file; `b` may be in another file, or unknown. */
static const struct frame *smaller(const struct frame *a, const struct frame *b)
{
	bool is_file = !a->line || !strcmp(a->file, b->file);
	return b->line && is_file && (!a->line || b->line < a->line) ? b : a;
}

/*
 * Returns whether the line comes before those of all calls in the loop. A line after a call is that
 * of the `while` of a `do`, or of the body's end.
 */
static bool is_before_calls(struct native *n, const struct native_loop *l, size_t depth,
			    const struct frame *line)
{
	for (size_t i = 0; i < l->n_sites; i++) {
		struct inlined site = find(n, l, l->sites[i].at);
		if (site.n <= depth || smaller(line, at_depth(&site, depth)) != line)
			return false;
	}
	return line->line && l->n_sites;
}

struct loop_lines loop_lines_find(struct native *n, const struct native_loop *l)
{
	uint64_t ends[ENDS_MOST];
	struct inlined end[ENDS_MOST], first = find(n, l, flow_loop_at(l->flow, l->number));
	size_t n_ends = flow_loop_ends(l->flow, l->number, ends, ENDS_MOST), depth = first.n - 1;
	for (size_t i = 0; i < n_ends; i++) {
		end[i] = find(n, l, ends[i]);
		depth = with(depth, &first, &end[i]);
	}
	for (size_t i = 0; i < l->n_sites; i++) {
		struct inlined site = find(n, l, l->sites[i].at);
		depth = with(depth, &first, &site);
	}
	struct loop_lines found = { .first = *at_depth(&first, own_depth(&first, first.n - 1)) };
	depth = own_depth(&first, depth);
	static const struct frame unknown = { .file = "", .function = "" };
	const struct frame *body = at_depth(&first, depth), *back = &unknown;
	for (size_t i = 0; i < n_ends; i++)
		back = smaller(back, at_depth(&end[i], depth));
	found.body = body->line;
	found.at = is_before_calls(n, l, depth, back) ? *back : *smaller(body, back);
	return found;
}
