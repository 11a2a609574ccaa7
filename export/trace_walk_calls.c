/* Makes a call's slice: the line that made the call, the call's arguments, and arrows to the GPU
 * work that it launched. */
#include "export/trace_walk_parts.h"

static void launch_args(struct walk *w, const struct run_launch *l)
{
	walk_word(w, TRACE_ARG_KERNEL, trace_word_of_name(l->name));
	walk_triple(w, TRACE_ARG_GRID, l->grid);
	walk_triple(w, TRACE_ARG_BLOCK, l->block);
	if (l->shared_bytes)
		walk_uint(w, TRACE_ARG_SHARED, l->shared_bytes);
}

static const char *copy_name(uint8_t copy)
{
	static const char *const names[] = {
		[COPY_H2D] = "HtoD", [COPY_D2H] = "DtoH", [COPY_D2D] = "DtoD",
		[COPY_H2H] = "HtoH", [COPY_P2P] = "PtoP",
	};
	return copy < sizeof(names) / sizeof(*names) ? names[copy] : NULL;
}

/* Adds arguments that depend on the category of the called function. */
static void request_args(struct walk *w, const struct model_call *c)
{
	switch (c->category) {
	case CAT_LAUNCH:
		if (c->launch)
			launch_args(w, &w->m->tables->launches.at[c->launch - 1]);
		break;
	case CAT_MEMCPY:
		if (copy_name(c->copy))
			walk_text(w, TRACE_ARG_KIND, copy_name(c->copy));
		walk_bytes(w, c->bytes, 0);
		break;
	case CAT_MEMSET:
	case CAT_PREFETCH:
		walk_bytes(w, c->bytes, 0);
		break;
	case CAT_ALLOC:
	case CAT_FREE:
		walk_pointer(w, TRACE_ARG_ADDRESS, c->handle);
		if (c->bytes)
			walk_bytes(w, c->bytes, 0);
		break;
	default:
		if (c->handle)
			walk_pointer(w, TRACE_ARG_HANDLE, c->handle);
		break;
	}
	if (category_has_work(c->category) || c->stream)
		walk_pointer(w, TRACE_ARG_STREAM, c->stream);
}

static void stack_args(struct walk *w, const struct model_call *c)
{
	static const enum trace_arg_name names[STACK_WORDS] = {
		[STACK_WORD_LINE] = TRACE_ARG_LINE,
		[STACK_WORD_FUNCTION] = TRACE_ARG_FUNCTION,
		[STACK_WORD_OPERATOR] = TRACE_ARG_OPERATOR,
		[STACK_WORD_STACK] = TRACE_ARG_STACK,
	};
	const struct trace_stack *stack = trace_stack(&w->stacks, c->stack);
	bool has_line = stack->word[STACK_WORD_LINE];
	for (int i = 0; i < STACK_WORDS; i++)
		walk_word(w, names[i], stack->word[i]);
	if (!has_line)
		walk_word(w, TRACE_ARG_LINE,
			  trace_line_of_call(&w->stacks, c,
					     w->step->tied[c - w->m->calls.at].site));
}

void walk_call(struct walk *w, const struct model_call *c, uint64_t begin_ns, uint64_t end_ns)
{
	const struct tables *tables = w->m->tables;
	walk_slice(w, c->category < CAT_COUNT ? c->category : TRACE_CATEGORY_OTHER,
		   trace_word_of_name(c->name), begin_ns, end_ns);
	w->slice.item = (uint32_t)(c - w->m->calls.at);
	stack_args(w, c);
	walk_word(w, TRACE_ARG_API, trace_word_of_name(tables->entry_point_names[c->entry_point]));
	request_args(w, c);
	if (c->correlation)
		walk_uint(w, TRACE_ARG_CORRELATION, c->correlation);
	if (c->device != DEVICE_UNKNOWN && category_has_work(c->category))
		walk_uint(w, TRACE_ARG_DEVICE, c->device);
	if (c->status)
		walk_uint(w, TRACE_ARG_STATUS, c->status);
	if (c->is_captured)
		walk_uint(w, TRACE_ARG_CAPTURED, 1);
	if (c->polls)
		walk_uint(w, TRACE_ARG_POLLS, c->polls);
	w->slice.flows_out = w->m->links.at + c->first_link;
	w->slice.n_flows_out = c->n_work;
}
