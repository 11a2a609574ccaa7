/* See kineto_parts.h: what the threads did: operators, annotations, calls and memory. */
#include "core/symbols/operators.h"
#include "export/kineto_parts.h"

#include <stdio.h>

uint64_t kineto_inner_end(const struct kineto_file *k, const struct trace_slice *s)
{
	uint64_t end_ns = s->end_ns;
	if (k->open.n && end_ns + KINETO_MARGIN_NS > k->open.at[k->open.n - 1].end_ns)
		end_ns = k->open.at[k->open.n - 1].end_ns - KINETO_MARGIN_NS;
	/* a range that goes on after the step is cut at its end */
	else if (!k->open.n && end_ns == k->m->end_ns)
		end_ns -= 2 * KINETO_MARGIN_NS;
	return end_ns > s->begin_ns ? end_ns : s->begin_ns;
}

/* ---- Annotations ---- */

uint32_t kineto_annotate(struct kineto_file *k, const char *name, uint32_t tid, uint64_t begin_ns,
			 uint64_t end_ns)
{
	uint32_t external = ++k->external;
	kineto_begin(k, "user_annotation", name, k->pid, tid, begin_ns, end_ns);
	kineto_arg_int(k, "External id", external);
	kineto_end(k);
	vec_push(&k->annotations, (struct kineto_annotation){ begin_ns, end_ns, name, external });
	return (uint32_t)k->annotations.n;
}

/* Notes the GPU work of the calls that began within the annotation, on any thread. */
static void cover_calls(struct kineto_file *k, uint32_t annotation)
{
	const struct kineto_annotation *a = &k->annotations.at[annotation - 1];
	const struct model_step *m = k->m;
	for (uint32_t i = 0; i < m->works.n; i++) {
		const struct model_work *w = &m->works.at[i];
		if (w->call < m->calls.n && m->calls.at[w->call].begin_ns >= a->begin_ns &&
		    m->calls.at[w->call].begin_ns < a->end_ns)
			vec_push(&k->covered, (struct kineto_covered){ annotation - 1, i });
	}
}

static void write_range(struct kineto_file *k, const struct trace_slice *s)
{
	const struct model_range *r = &k->m->ranges.at[s->item];
	const char *name = strtab_text(&k->m->tables->names, r->name);
	uint64_t end_ns = kineto_inner_end(k, s);
	uint32_t annotation = kineto_annotate(k, name, k->tid, s->begin_ns, end_ns);
	vec_push(&k->open, (struct kineto_open){ end_ns, .annotation = annotation });
	if (k->kind != TRACE_TRACK_THREAD)
		cover_calls(k, annotation);
}

/* ---- Operators and collectives ---- */

static void open_operator(struct kineto_file *k, uint64_t end_ns)
{
	kineto_arg_int(k, "External id", ++k->external);
	vec_push(&k->open, (struct kineto_open){ end_ns, .external = k->external });
}

/* Says from which line of Python code the operator was called. */
static void call_from(struct kineto_file *k, uint32_t stack, const char *operator_name)
{
	const char *file;
	uint32_t line = kineto_python_line(k, stack, operator_name, &file);
	char text[400];
	if (!line)
		return;
	snprintf(text, sizeof(text), "%.380s:%u", file, line);
	kineto_arg_text(k, "CallFrom", text);
}

/* Nodes of autograd have the name of the engine's function around them, by which readers recognize
 * the backward pass. */
static void write_operator(struct kineto_file *k, const struct trace_slice *s)
{
	const char *name = s->text ? s->text : trace_word_text(k->words, s->word);
	uint64_t end_ns = kineto_inner_end(k, s);
	char kind[128], text[300];
	if (operator_kind(name, kind, sizeof(kind)) == OPERATOR_FORWARD)
		snprintf(text, sizeof(text), "%s", name);
	else
		snprintf(text, sizeof(text), "autograd::engine::evaluate_function: %s", name);
	kineto_begin(k, "cpu_op", text, k->pid, k->tid, s->begin_ns, end_ns);
	if (s->item < k->m->calls.n)
		call_from(k, k->m->calls.at[s->item].stack, name);
	open_operator(k, end_ns);
	kineto_end(k);
}

static void write_collective(struct kineto_file *k, const struct trace_slice *s,
			     const struct model_library *l)
{
	uint64_t end_ns = kineto_inner_end(k, s);
	kineto_begin(k, "cpu_op", kineto_comm_name(k, l), k->pid, k->tid, s->begin_ns, end_ns);
	kineto_comm_args(k, l);
	open_operator(k, end_ns);
	kineto_end(k);
}

static void write_library(struct kineto_file *k, const struct trace_slice *s)
{
	const struct model_library *l = &k->m->libraries.at[s->item];
	uint64_t end_ns = kineto_inner_end(k, s);
	if (kineto_is_comm(l))
		write_collective(k, s, l);
	else
		vec_push(&k->open, (struct kineto_open){ .end_ns = end_ns });
}

/* ---- Calls ---- */

/* Returns the innermost open operator. */
static uint32_t operator_around(const struct kineto_file *k)
{
	for (size_t i = k->open.n; i-- > 0;)
		if (k->open.at[i].external)
			return k->open.at[i].external;
	return KINETO_NONE;
}

/* Adds the call's GPU work to all open annotations. */
static void cover(struct kineto_file *k, const struct trace_slice *s)
{
	for (size_t i = 0; i < k->open.n; i++)
		for (size_t n = 0; k->open.at[i].annotation && n < s->n_flows_out; n++)
			vec_push(&k->covered, (struct kineto_covered){ k->open.at[i].annotation - 1,
								       s->flows_out[n] });
}

/* TensorBoard's plugin knows no calls of the driver, so those that launch work count as calls of
 * the runtime. */
static const char *call_category(const struct model_call *c)
{
	return c->entry_point == ENTRY_POINT_RUNTIME || category_has_work(c->category)
		       ? "cuda_runtime"
		       : "cuda_driver";
}

static void write_call(struct kineto_file *k, const struct trace_slice *s)
{
	const struct model_call *c = &k->m->calls.at[s->item];
	uint32_t external = operator_around(k), correlation = kineto_correlation(k, s->item);
	uint64_t end_ns = kineto_inner_end(k, s);
	k->external_of_call[s->item] = external;
	kineto_begin(k, call_category(c), strtab_text(&k->m->tables->names, c->name), k->pid,
		     k->tid, s->begin_ns, end_ns);
	if (external)
		kineto_arg_int(k, "External id", external);
	kineto_arg_int(k, "correlation", correlation);
	call_from(k, c->stack, NULL);
	if (c->polls)
		kineto_arg_int(k, "said_not_ready", c->polls);
	if (c->status)
		kineto_arg_int(k, "status", c->status);
	kineto_end(k);
	if (s->n_flows_out)
		kineto_arrow(k, 's', correlation, k->pid, k->tid, s->begin_ns);
	cover(k, s);
	kineto_write_wait(k, s->item, end_ns);
	vec_push(&k->open, (struct kineto_open){ .end_ns = end_ns });
}

/* ---- Slices ---- */

static void write_phase(struct kineto_file *k, const struct trace_slice *s)
{
	/* one phase begins where another ends */
	uint64_t end_ns = kineto_inner_end(k, s) - KINETO_MARGIN_NS;
	end_ns = end_ns > s->begin_ns ? end_ns : s->begin_ns;
	uint32_t annotation = kineto_annotate(k, s->text, k->tid, s->begin_ns, end_ns);
	vec_push(&k->open, (struct kineto_open){ end_ns, .annotation = annotation });
	cover_calls(k, annotation);
}

void kineto_cpu_slice(struct kineto_file *k, const struct trace_slice *s)
{
	switch (s->category) {
	case TRACE_CATEGORY_PHASE:
		write_phase(k, s);
		break;
	case TRACE_CATEGORY_RANGE:
		write_range(k, s);
		break;
	case TRACE_CATEGORY_OPERATOR:
		write_operator(k, s);
		break;
	case TRACE_CATEGORY_LIBRARY:
		write_library(k, s);
		break;
	default:
		write_call(k, s);
		break;
	}
}

/* ---- Memory ---- */

void kineto_write_memory(struct kineto_file *k)
{
	const struct model_step *m = k->m;
	for (size_t i = m->n_live_blocks; i < m->blocks.n; i++) {
		const struct model_block *b = &m->blocks.at[i];
		uint32_t tid = b->thread < m->threads.n ? m->threads.at[b->thread].tid
							: k->main_tid;
		if (b->event == BLOCK_MADE)
			kineto_memory(k, b, tid, (int64_t)b->bytes);
		else if (b->event == BLOCK_FREED)
			kineto_memory(k, b, tid, -(int64_t)b->bytes);
	}
}
