#include "test/unit/step_builder.h"

static uint64_t ns(double us)
{
	return (uint64_t)(us * 1000 + 0.5);
}

void sb_step(struct step_builder *b, uint64_t number, double begin_us, double end_us)
{
	b->m = (struct model_step){
		.tables = &b->tables,
		.number = number,
		.begin_ns = ns(begin_us),
		.end_ns = ns(end_us),
	};
}

static struct model_call make_call(struct step_builder *b, const struct sb_call *c)
{
	return (struct model_call){
		.begin_ns = ns(c->begin_us),
		.end_ns = ns(c->end_us),
		.stream = c->stream,
		.handle = c->handle,
		.bytes = c->bytes,
		.polls = c->polls,
		.name = strtab_intern(&b->tables.names, c->name),
		.stack = c->stack,
		.category = c->category,
		.space = c->space,
		.copy = c->copy,
		.status = c->status,
	};
}

uint32_t sb_call(struct step_builder *b, struct sb_call c)
{
	b->thread_of_call[b->m.calls.n] = c.tid ? c.tid : 1;
	vec_push(&b->m.calls, make_call(b, &c));
	return (uint32_t)b->m.calls.n - 1;
}

uint32_t sb_captured(struct step_builder *b, struct sb_call c)
{
	struct model_call call = make_call(b, &c);
	call.is_captured = true;
	vec_push(&b->m.captured, call);
	return (uint32_t)b->m.captured.n;
}

void sb_work(struct step_builder *b, struct sb_work w)
{
	vec_push(&b->m.works, (struct model_work){
				      .begin_ns = ns(w.begin_us),
				      .end_ns = ns(w.end_us),
				      .bytes = w.bytes,
				      .name = strtab_intern(&b->tables.names, w.name),
				      .call = w.call,
				      .node = w.graph ? (uint64_t)w.graph << 32 | w.origin : 0,
				      .origin = w.origin ? w.origin - 1 : MODEL_NO_CALL,
				      .graph = w.graph,
				      .stream = w.stream,
				      .device = (uint8_t)w.device,
				      .kind = w.kind ? w.kind : (uint8_t)WORK_KERNEL,
				      .source = w.source,
				      .target = w.target,
			      });
}

void sb_launch(struct step_builder *b, double at_us, double begin_us, double end_us, uint32_t stack)
{
	uint32_t call = sb_call(b, (struct sb_call){ .name = "cudaLaunchKernel",
						     .category = CAT_LAUNCH,
						     .begin_us = at_us,
						     .end_us = at_us + 3,
						     .stack = stack });
	sb_work(b, (struct sb_work){ .name = "kernel",
				     .begin_us = begin_us,
				     .end_us = end_us,
				     .call = call,
				     .stream = 7 });
}

/* A thread's calls in one piece, as the model has them; works follow their calls. */
static void sort_calls(struct step_builder *b)
{
	struct model_step *m = &b->m;
	struct model_call *sorted = mem_zero(m->calls.n * sizeof(*sorted));
	uint32_t *place = mem_zero(m->calls.n * sizeof(*place));
	size_t n = 0;
	for (size_t i = 0; i < m->calls.n; i++) {
		size_t first = n;
		uint32_t tid = b->thread_of_call[i];
		if (!tid)
			continue;
		for (size_t k = i; k < m->calls.n; k++) {
			if (b->thread_of_call[k] != tid)
				continue;
			place[k] = (uint32_t)n;
			sorted[n++] = m->calls.at[k];
			b->thread_of_call[k] = 0;
		}
		vec_push(&m->threads,
			 (struct model_thread){ .tid = tid, .first = first, .n = n - first });
	}
	for (size_t i = 0; i < m->works.n; i++)
		if (m->works.at[i].call != MODEL_NO_CALL)
			m->works.at[i].call = place[m->works.at[i].call];
	memcpy(m->calls.at, sorted, m->calls.n * sizeof(*sorted));
	free(sorted);
	free(place);
}

void sb_sample(struct step_builder *b, double at_us, uint32_t tid, enum sample_state state,
	       uint32_t stack)
{
	vec_push(&b->m.samples, (struct model_sample){ .ns = ns(at_us),
						       .stack = stack,
						       .thread = tid ? tid : 1,
						       .state = (uint8_t)state });
}

void sb_cpu_wait(struct step_builder *b, double begin_us, double end_us, double us, uint32_t tid)
{
	vec_push(&b->m.cpu_waits, (struct model_cpu_wait){ ns(begin_us), ns(end_us), ns(us), tid });
}

static uint32_t thread_of(struct model_step *m, uint32_t tid)
{
	for (size_t i = 0; i < m->threads.n; i++)
		if (m->threads.at[i].tid == tid)
			return (uint32_t)i;
	vec_push(&m->threads, (struct model_thread){ .tid = tid, .first = m->calls.n });
	return (uint32_t)m->threads.n - 1;
}

static int by_thread_and_time(const void *a, const void *b)
{
	const struct model_sample *x = a, *y = b;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->ns < y->ns ? -1 : x->ns > y->ns;
}

/* Turns the samples' tids into threads of the model. */
static void sort_samples(struct model_step *m)
{
	for (size_t i = 0; i < m->samples.n; i++)
		m->samples.at[i].thread = thread_of(m, m->samples.at[i].thread);
	qsort(m->samples.at, m->samples.n, sizeof(*m->samples.at), by_thread_and_time);
}

const struct analyzed_step *sb_analyze(struct step_builder *b, struct analyzer *a)
{
	if (b->m.calls.n)
		sort_calls(b);
	if (b->m.samples.n)
		sort_samples(&b->m);
	for (size_t i = 0; i < b->m.cpu_waits.n; i++)
		b->m.cpu_waits.at[i].thread = thread_of(&b->m, b->m.cpu_waits.at[i].thread);
	model_finish(&b->m);
	model_count_in_flight(&b->m);
	return analyzer_add(a, &b->m, true);
}

void sb_end(struct step_builder *b, struct analyzer *a)
{
	sb_analyze(b, a);
	model_free(&b->m);
}

void sb_free(struct step_builder *b)
{
	tables_free(&b->tables);
}
