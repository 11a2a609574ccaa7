/* See stack_merge.h. */
#include "preload/stack_merge.h"

#include "core/runtime/record.h"

struct merge {
	const struct python_frame *python;
	unsigned n_python, next; /* Python frames before index `next` are placed */
	struct merged_frame *out;
	unsigned n;
};

/* Returns the index of the outermost frame of the run that begins at `next`. A run is the sequence
 * of Python frames that one activation of the evaluator executes. Returns n_python if the run has
 * no end. */
static unsigned run_end(const struct merge *m)
{
	unsigned i = m->next;
	while (i < m->n_python && !m->python[i].is_entry)
		i++;
	return i;
}

static void put_run(struct merge *m, unsigned end)
{
	for (; m->next <= end && m->next < m->n_python; m->next++)
		m->out[m->n++] = (struct merged_frame){ (uint16_t)m->next, true };
}

/* Places runs whose evaluator lies further in than the native frame at `sp`: the native walk has
 * passed the evaluator's frame without finding it. */
static void put_missed(struct merge *m, uint64_t sp, uint32_t *flags)
{
	for (;;) {
		unsigned end = run_end(m);
		if (end >= m->n_python || !m->python[end].marker || m->python[end].marker >= sp)
			return;
		*flags |= STACK_UNMERGED;
		put_run(m, end);
	}
}

static bool is_evaluator(const struct merge *m, const struct unwind_frame *f, unsigned *end)
{
	*end = run_end(m);
	return *end < m->n_python && m->python[*end].marker >= f->sp &&
	       m->python[*end].marker < f->cfa;
}

unsigned stack_merge(const struct unwind_frame *native, unsigned n_native,
		     const struct python_frame *python, unsigned n_python, struct merged_frame *out,
		     uint32_t *flags)
{
	struct merge m = { .python = python, .n_python = n_python, .out = out };
	for (unsigned i = 0; i < n_native; i++) {
		unsigned end;
		put_missed(&m, native[i].sp, flags);
		if (is_evaluator(&m, &native[i], &end))
			put_run(&m, end);
		else
			out[m.n++] = (struct merged_frame){ (uint16_t)i, false };
	}
	if (m.next < n_python) {
		if (n_native && !(*flags & (STACK_TRUNCATED | STACK_PYTHON_TRUNCATED)))
			*flags |= STACK_UNMERGED;
		put_run(&m, n_python);
	}
	return m.n;
}
