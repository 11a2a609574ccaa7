/*
 * Builds a model from a step's raw records: times in nanoseconds, names, memory held, and notes
 * about what is missing.
 */
#include "core/source/journal/ingest_graphs.h"

#include "core/source/journal/capture.h"

#include <stdio.h>

struct build {
	struct ingest *f;
	const struct ingest_cut *cut;
	struct model_step *m;
	bool is_recorded; /* otherwise only state that outlives the step is updated */
	uint8_t *has_work;
	struct map thread_of_slot; /* slot -> index in m->threads */
	struct ingest_graphs graphs;
};

const char *step_detector_name(const struct journal_steps *s)
{
	static const char *const by_mode[] = { "auto", "kernel", "graph", "sync",
					       "time", "api",	 "nvtx" };
	if (s->mode == STEP_MODE_AUTO && (s->wants_optimizer || s->wants_function))
		return s->wants_optimizer ? "optimizer" : "python";
	return s->mode < sizeof(by_mode) / sizeof(*by_mode) ? by_mode[s->mode] : "unknown";
}

/* ---- Calls ---- */

static void add_thread(struct build *b, const struct model_thread *thread, uint32_t slot)
{
	*map_at(&b->thread_of_slot, slot, NULL) = b->m->threads.n;
	vec_push(&b->m->threads, *thread);
}

/* The header counts drops before their records are read. */
static bool has_dropped(const struct ingest *f)
{
	return f->counts.dropped || atomic_load(&f->reader.header->dropped_records);
}

/* Returns whether the application's own profiler had CUPTI during the step. */
static bool was_yielded(const struct build *b)
{
	const struct ingest *f = b->f;
	bool was = false;
	for (size_t i = 0; i < f->gpu_switches.n; i++) {
		const struct gpu_switch *s = &f->gpu_switches.at[i];
		if (s->ticks >= b->cut->end_ticks)
			break;
		was = s->is_yielded || (was && s->ticks > b->cut->begin_ticks);
	}
	return was;
}

/* Returns why a launch has no GPU times for which none are expected. */
static enum launch_lack lack_of_timing(const struct build *b)
{
	const struct ingest *f = b->f;
	uint64_t end = f->opening.end_ticks;
	bool is_in_opening = f->opening.is_any && !f->schedule.always &&
			     (!end || b->cut->begin_ticks < end);
	if (was_yielded(b))
		return LACK_YIELDED;
	if (f->gpu_state == GPU_UNAVAILABLE)
		return LACK_UNAVAILABLE;
	if (is_in_opening && f->graphs.lists)
		return LACK_GRAPHS;
	return f->is_rest ? LACK_OVERWRITTEN : LACK_OFF;
}

/* Returns why the launch has no GPU times. */
static enum launch_lack lack_of(const struct build *b, bool is_expected)
{
	const struct ingest *f = b->f;
	if (!is_expected)
		return lack_of_timing(b);
	if (f->is_killed)
		return LACK_KILLED;
	return has_dropped(f) ? LACK_DROPPED : f->counts.gpu_lost ? LACK_CUPTI : LACK_UNKNOWN;
}

/* Counts a launch. A launch that is captured into a graph does not run. */
static void count_launch(struct build *b, const struct rec_call *c, uint8_t category,
			 bool is_capturing, bool has_work)
{
	struct launch_counts *to = &b->m->launches;
	if ((category != CAT_LAUNCH && category != CAT_GRAPH) || c->status ||
	    (is_capturing && !has_work))
		return;
	to->n++;
	if (has_work)
		to->n_captured++;
	else
		to->n_lacking[lack_of(b, ingest_expects_work(b->f, c))]++;
}

/* Counts the calls of the thread whose records were dropped since its call with number `before`; 0:
 * that is not known. Some of them may be copies. */
static void count_lost(struct build *b, const struct rec_call *c, uint32_t before)
{
	uint32_t n = c->seq - before - 1;
	if (!before || !has_dropped(b->f) || (int32_t)n <= 0)
		return;
	b->m->launches.n += n;
	b->m->launches.n_lacking[LACK_DROPPED] += n;
}

static void build_thread(struct build *b, size_t i)
{
	struct ingest_thread *t = &b->f->threads.at[i];
	if (!t->n_cut)
		return;
	const struct pair_thread *named = &b->cut->threads[i];
	struct model_thread thread = { .tid = named->tid, .first = b->m->calls.n, .n = t->n_cut };
	const struct run_thread *entry = tables_thread(&b->f->dict.t, t->slot);
	uint32_t seq = b->f->last_was_recorded ? t->closed_seq : 0;
	if (entry)
		memcpy(thread.name, entry->name, sizeof(thread.name));
	t->is_capturing |= capture_at_first(&b->f->dict, t->calls.at, t->n_cut).is_on;
	for (size_t k = 0; k < t->n_cut; k++) {
		const struct rec_call *c = &t->calls.at[k];
		uint8_t category = dict_category(&b->f->dict, c->hook);
		if (category == CAT_CAPTURE) {
			const struct hook_entry *hook = &b->f->dict.hooks.at[c->hook];
			t->is_capturing = hook->begins_capture ||
					  (t->is_capturing && !hook->ends_capture);
		}
		bool is_expected = ingest_expects_work(b->f, c);
		bool is_first_replay = category == CAT_GRAPH && c->kind != REC_NODE &&
				       graph_table_launch(&b->f->graphs, c->arg, c->begin_ticks,
							  b->f->opening.end_ticks);
		uint32_t number = named->first + (uint32_t)k;
		bool is_missing = is_expected && !t->is_capturing && !b->has_work[number];
		b->f->counts.paired += b->has_work[number] && category_has_work(category);
		b->f->counts.calls_without_work += is_missing;
		b->m->n_calls_without_work += is_missing;
		if (!b->is_recorded)
			continue;
		bool is_node = c->kind == REC_NODE;
		count_launch(b, c, category, t->is_capturing || is_node, b->has_work[number]);
		if (category_has_work(category)) {
			count_lost(b, c, seq);
			seq = c->seq;
		}
		struct model_call call = ingest_call_of(b->f, c, category);
		if (call.polls && call.begin_ns < b->m->begin_ns)
			call.begin_ns = b->m->begin_ns;
		call.is_captured = is_node ||
				   (t->is_capturing && is_expected && !b->has_work[number]);
		call.is_first_replay = is_first_replay;
		if (category == CAT_GRAPH)
			ingest_graphs_launch(&b->graphs, (uint32_t)b->m->calls.n, c);
		vec_push(&b->m->calls, call);
	}
	if (b->is_recorded)
		add_thread(b, &thread, t->slot);
}

/* ---- Ranges ---- */

/* Adds a thread that made no calls in the step. */
static void add_silent_thread(struct build *b, uint32_t slot)
{
	const struct run_thread *entry = tables_thread(&b->f->dict.t, slot);
	if (!entry || map_find(&b->thread_of_slot, slot))
		return;
	struct model_thread thread = { .tid = entry->tid, .first = b->m->calls.n };
	memcpy(thread.name, entry->name, sizeof(thread.name));
	add_thread(b, &thread, slot);
}

static void add_range_thread(struct build *b, const struct range_entry *e)
{
	if (e->begin_ticks < b->cut->end_ticks && e->end_ticks >= b->cut->begin_ticks)
		add_silent_thread(b, e->slot);
}

static void build_ranges(struct build *b)
{
	const struct range_log *log = &b->f->ranges;
	const struct ingest *f = b->f;
	const struct ingest_cut *c = b->cut;
	const struct log_cut cut = {
		.begin_ticks = c->begin_ticks > f->first_ticks ? c->begin_ticks : f->first_ticks,
		.end_ticks = c->end_ticks < f->last_ticks ? c->end_ticks : f->last_ticks,
		.time = &b->f->time,
		.dict = &b->f->dict,
		.thread_of_slot = &b->thread_of_slot,
	};
	for (size_t i = 0; i < log->closed.n; i++)
		add_range_thread(b, &log->closed.at[i]);
	for (size_t i = 0; i < log->open.n; i++)
		add_range_thread(b, &log->open.at[i]);
	range_log_build(log, &cut, b->m);
}

static void build_libraries(struct build *b)
{
	const struct log_cut cut = {
		.begin_ticks = b->cut->begin_ticks,
		.end_ticks = b->cut->end_ticks,
		.time = &b->f->time,
		.dict = &b->f->dict,
		.thread_of_slot = &b->thread_of_slot,
	};
	library_log_build(&b->f->libraries, &cut, b->m);
}

/* ---- GPU work ---- */

static uint32_t work_name(struct build *b, const struct rec_gpu *g, uint32_t call)
{
	struct dict *d = &b->f->dict;
	char text[96];
	if (g->kind == REC_KERNEL) {
		if (g->name < d->t.kernels.n && d->t.kernels.at[g->name].is_known)
			return d->t.kernels.at[g->name].name;
		if (call < b->m->calls.n && b->m->calls.at[call].launch)
			return d->t.launches.at[b->m->calls.at[call].launch - 1].name;
		return strtab_intern(&d->t.names, "unknown kernel");
	}
	if (g->kind == REC_MEMCPY)
		model_copy_name(text, sizeof(text), g->name & 0xff, g->name >> 8 & 0xff,
				g->name >> 16 & 0xff);
	else if (g->kind == REC_MEMSET)
		model_memset_name(text, sizeof(text), record_memset_memory(g));
	else
		snprintf(text, sizeof(text), "%s", model_sync_kind(g->name));
	return strtab_intern(&d->t.names, text);
}

static uint8_t work_kind_of(uint8_t record_kind)
{
	switch (record_kind) {
	case REC_KERNEL:
		return WORK_KERNEL;
	case REC_MEMCPY:
		return WORK_MEMCPY;
	case REC_MEMSET:
		return WORK_MEMSET;
	default:
		return WORK_SYNC;
	}
}

static void build_work(struct build *b, const struct rec_gpu *g, uint32_t call)
{
	struct model_work w = {
		.begin_ns = timebase_ns(&b->f->time, g->begin_ticks),
		.end_ns = timebase_ns(&b->f->time, g->end_ticks),
		.node = g->node,
		.name = work_name(b, g, call),
		.call = call,
		.origin = MODEL_NO_CALL,
		.correlation = g->correlation,
		.context = g->context,
		.stream = g->stream,
		.graph = g->graph,
		.peer = g->peer,
		.kind = work_kind_of(g->kind),
		.device = g->device,
		.flags = g->flags,
	};
	if (w.end_ns < w.begin_ns || g->flags & GPU_INCOMPLETE)
		w.end_ns = w.begin_ns;
	if (g->kind == REC_KERNEL) {
		memcpy(w.grid, g->grid, sizeof(w.grid));
		if (g->name < b->f->dict.t.kernels.n && b->f->dict.t.kernels.at[g->name].is_known)
			w.kernel = g->name + 1;
	} else if (g->kind == REC_GPU_SYNC) {
		w.value = (uint32_t)g->node;
		w.node = 0;
	} else {
		w.bytes = (uint64_t)g->bytes_high << 32 | g->bytes_low;
		w.source = g->kind == REC_MEMCPY ? g->name >> 8 & 0xff : 0;
		w.target = g->kind == REC_MEMCPY   ? g->name >> 16 & 0xff
			   : g->kind == REC_MEMSET ? record_memset_memory(g)
						   : 0;
		w.value = g->kind == REC_MEMSET ? g->name : 0;
	}
	ingest_graphs_work(&b->graphs, g, call, b->m->works.n);
	vec_push(&b->m->works, w);
}

/* Notes work of an earlier step. It matters only if it runs into this step. */
static void build_earlier(struct build *b, const struct rec_gpu *g)
{
	if (g->kind == REC_GPU_SYNC || g->end_ticks <= b->cut->begin_ticks)
		return;
	vec_push(&b->m->earlier,
		 (struct model_earlier){ .begin_ns = timebase_ns(&b->f->time, g->begin_ticks),
					 .end_ns = timebase_ns(&b->f->time, g->end_ticks),
					 .device = g->device });
}

static void build_tail(struct build *b)
{
	for (size_t i = 0; b->is_recorded && i < b->f->tail.n; i++)
		build_earlier(b, &b->f->tail.at[i]);
	b->f->tail.n = 0;
	for (size_t i = 0; !b->is_recorded && i < b->cut->n_works; i++)
		if (b->cut->works[i].end_ticks > b->cut->end_ticks)
			vec_push(&b->f->tail, b->cut->works[i]);
}

/*
 * Finds the lowest correlation id launched since steps that are not in the journal. CUPTI stays on
 * for a while after a window. If the next window opens meanwhile, work of the steps in between
 * still arrives. If the CPU runs far ahead of the GPU, it arrives even in later steps. It has no
 * call in the journal, but its call is not missing. CUPTI numbers work in launch order, so this
 * work has lower correlation ids than all work of the next window. Ids wrap around.
 */
static void note_first_own(struct build *b)
{
	struct ingest *f = b->f;
	bool is_silent = ingest_is_silent(f, b->cut);
	f->has_first_own &= !is_silent;
	f->was_silent |= is_silent;
	if (is_silent || !f->was_silent)
		return;
	for (size_t i = 0; i < b->cut->n_works; i++) {
		uint32_t number = b->cut->works[i].correlation;
		if (b->cut->call_of[i] >= b->cut->n_calls)
			continue;
		if (!f->has_first_own || (int32_t)(number - f->first_own) < 0)
			f->first_own = number;
		f->has_first_own = true;
	}
	f->was_silent = !f->has_first_own;
}

static bool is_of_silent_step(const struct ingest *f, const struct rec_gpu *g)
{
	return f->has_first_own && !(g->flags & GPU_WRONG_ID) &&
	       (int32_t)(g->correlation - f->first_own) < 0;
}

/* Work without a call may belong to a launch without work. */
static void note_unpaired_launches(struct build *b)
{
	struct launch_counts *l = &b->m->launches;
	if (!b->m->n_works_without_call)
		return;
	l->n_lacking[LACK_PAIR] += l->n_lacking[LACK_UNKNOWN];
	l->n_lacking[LACK_UNKNOWN] = 0;
}

static void build_works(struct build *b)
{
	const struct ingest_cut *cut = b->cut;
	note_first_own(b);
	if (b->is_recorded)
		vec_reserve(&b->m->works, cut->n_works);
	for (size_t i = 0; i < cut->n_works; i++) {
		const struct rec_gpu *g = &cut->works[i];
		uint32_t call = cut->call_of[i];
		bool is_unpaired = call >= PAIR_CALLS_END;
		/* the work belongs to a step that was passed on already */
		bool is_late = call == PAIR_EARLIER ||
			       (is_unpaired && g->begin_ticks < cut->begin_ticks);
		bool is_earlier = is_late || (is_unpaired && is_of_silent_step(b->f, g));
		/*
		 * CUPTI is on between windows, too. On a busy machine the records of this work
		 * come so late that the next recorded step finds them. Nothing is lost then.
		 */
		if (is_late && g->kind != REC_GPU_SYNC &&
		    g->begin_ticks < b->f->recorded_until_ticks)
			b->f->counts.late += b->is_recorded;
		if (is_earlier && b->is_recorded)
			build_earlier(b, g);
		if (is_earlier || !b->is_recorded)
			continue;
		if (is_unpaired && g->kind != REC_GPU_SYNC) {
			b->f->counts.works_without_call++;
			b->m->n_works_without_call++;
		}
		build_work(b, g, is_unpaired ? MODEL_NO_CALL : call);
	}
}

/* ---- Memory ---- */

struct memory_event {
	uint64_t ticks;
	const struct rec_call *call;
};

static int by_ticks(const void *a, const void *b)
{
	const struct memory_event *x = a, *y = b;
	return x->ticks < y->ticks ? -1 : x->ticks > y->ticks;
}

static void add_memory_point(struct build *b, enum memory_group group, unsigned device, uint64_t ns,
			     int64_t held)
{
	static const char *const names[MEMORY_GROUPS] = { "device memory allocated",
							  "managed memory allocated",
							  "pinned host memory allocated" };
	uint32_t owner = group == MEMORY_DEVICE ? device : DEVICE_UNKNOWN;
	if (b->is_recorded)
		vec_push(&model_counter_of(b->m, names[group], owner)->points,
			 (struct model_point){ ns, held });
}

static struct memory_call memory_call_of(const struct hook_entry *hook, const struct rec_call *c)
{
	return (struct memory_call){
		.address = c->arg,
		.bytes = c->bytes,
		.stack = c->stack,
		.status = (uint16_t)c->status,
		.category = hook->category,
		.space = hook->space,
		.device = (uint8_t)c->device,
		.resets_device = hook->resets_device,
	};
}

/*
 * Adds the memory held at the step's start, and then each change, in time order across all threads.
 */
static void build_memory(struct build *b)
{
	struct memory *memory = &b->f->run.memory;
	VEC(struct memory_event) events = { 0 };
	for (size_t i = 0; i < b->f->threads.n; i++) {
		const struct ingest_thread *t = &b->f->threads.at[i];
		for (size_t k = 0; k < t->n_cut; k++) {
			const struct rec_call *c = &t->calls.at[k];
			uint8_t category = dict_category(&b->f->dict, c->hook);
			if (category == CAT_ALLOC)
				vec_push(&events, (struct memory_event){
							  c->begin_ticks + record_duration(c), c });
			else if (category == CAT_FREE ||
				 (category < CAT_COUNT &&
				  b->f->dict.hooks.at[c->hook].resets_device))
				vec_push(&events, (struct memory_event){ c->begin_ticks, c });
		}
	}
	if (events.n)
		qsort(events.at, events.n, sizeof(*events.at), by_ticks);
	for (unsigned group = 0; group < MEMORY_GROUPS; group++)
		for (unsigned device = 0; device < MEMORY_DEVICES; device++)
			if (memory->was_used[group][device])
				add_memory_point(b, group, device, b->m->begin_ns,
						 memory->held_bytes[group][device]);
	for (size_t i = 0; i < events.n; i++) {
		const struct rec_call *c = events.at[i].call;
		struct memory_call call = memory_call_of(&b->f->dict.hooks.at[c->hook], c);
		struct memory_change change = memory_apply(memory, &call);
		if (change.group == MEMORY_NONE)
			continue;
		add_memory_point(b, change.group, change.device,
				 timebase_ns(&b->f->time, events.at[i].ticks), change.held_bytes);
	}
	vec_free(&events);
}

/* ---- Samples ---- */

static int by_thread_and_time(const void *a, const void *b)
{
	const struct model_sample *x = a, *y = b;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->ns < y->ns ? -1 : x->ns > y->ns;
}

static void build_samples(struct build *b)
{
	for (size_t i = 0; i < b->f->samples.n; i++) {
		const struct rec_sample *s = &b->f->samples.at[i];
		if (s->ticks < b->cut->begin_ticks || s->ticks >= b->cut->end_ticks)
			continue;
		add_silent_thread(b, s->thread);
		const uint64_t *thread = map_find(&b->thread_of_slot, s->thread);
		if (!thread) /* a slot that does not exist: the record is damaged */
			continue;
		vec_push(&b->m->samples, (struct model_sample){
						 .ns = timebase_ns(&b->f->time, s->ticks),
						 .stack = s->stack,
						 .thread = (uint32_t)*thread,
						 .holder = s->state == SAMPLE_GIL ? s->holder : 0,
						 .state = s->state,
						 .flags = s->flags,
					 });
	}
	if (b->m->samples.n)
		qsort(b->m->samples.at, b->m->samples.n, sizeof(*b->m->samples.at),
		      by_thread_and_time);
}

/* A wait that two steps share belongs to both. */
static void build_cpu_waits(struct build *b)
{
	for (size_t i = 0; i < b->f->cpu_waits.n; i++) {
		const struct rec_cpu_wait *w = &b->f->cpu_waits.at[i];
		if (w->end_ticks < b->cut->begin_ticks || w->begin_ticks >= b->cut->end_ticks)
			continue;
		add_silent_thread(b, w->thread);
		const uint64_t *thread = map_find(&b->thread_of_slot, w->thread);
		if (!thread)
			continue;
		vec_push(&b->m->cpu_waits, (struct model_cpu_wait){
						   timebase_ns(&b->f->time, w->begin_ticks),
						   timebase_ns(&b->f->time, w->end_ticks),
						   w->wait_ns,
						   (uint32_t)*thread,
					   });
	}
}

/* ---- Pools, overheads and notes ---- */

static void build_pools(struct build *b)
{
	for (size_t i = 0; i < b->f->pools.n; i++) {
		const struct rec_pool *p = &b->f->pools.at[i];
		if (p->ticks < b->cut->begin_ticks || p->ticks >= b->cut->end_ticks)
			continue;
		struct model_counter *used = model_counter_of(b->m, "memory pool used", p->device);
		vec_push(&used->points, (struct model_point){ timebase_ns(&b->f->time, p->ticks),
							      (int64_t)p->utilized_bytes });
	}
}

static void build_overheads(struct build *b)
{
	for (size_t i = 0; i < b->f->overheads.n; i++) {
		const struct rec_overhead *o = &b->f->overheads.at[i];
		if (o->begin_ticks < b->cut->begin_ticks || o->begin_ticks >= b->cut->end_ticks)
			continue;
		vec_push(&b->m->overheads,
			 (struct model_overhead){
				 .begin_ns = timebase_ns(&b->f->time, o->begin_ticks),
				 .end_ns = timebase_ns(&b->f->time, o->end_ticks),
				 .tid = o->tid,
				 .what = o->what,
			 });
	}
}

__attribute__((format(printf, 3, 4))) static void note(struct build *b, uint64_t ns,
						       const char *format, ...)
{
	struct model_note n = { .ns = ns };
	va_list args;
	va_start(args, format);
	vsnprintf(n.text, sizeof(n.text), format, args);
	va_end(args);
	vec_push(&b->m->notes, n);
}

static bool lacks_copies(const struct build *b)
{
	size_t i = b->f->gpu_switches.n;
	while (i && b->f->gpu_switches.at[i - 1].ticks >= b->cut->end_ticks)
		i--;
	return i && b->f->gpu_switches.at[i - 1].lacks_copies;
}

static void note_missing_gpu(struct build *b)
{
	const char *why = tables_fact(&b->f->dict.t, "cupti"),
		   *copies = tables_fact(&b->f->dict.t, "copies");
	if (copies && lacks_copies(b))
		note(b, b->m->begin_ns, "%s", copies);
	if (b->cut->n_works)
		return;
	if (b->f->gpu_state == GPU_UNAVAILABLE || b->f->gpu_state == GPU_YIELDED)
		note(b, b->m->begin_ns, "%s", why ? why : "no GPU times: CUPTI is not available");
	else if (!b->f->saw_gpu_on && !b->f->is_rest)
		note(b, b->m->begin_ns, "no GPU times: GPU timing was off during this step");
}

static void build_notes(struct build *b)
{
	for (size_t i = 0; i < b->f->drops.n; i++) {
		const struct rec_dropped *d = &b->f->drops.at[i];
		if (d->first_ticks < b->cut->end_ticks)
			note(b, timebase_ns(&b->f->time, d->first_ticks),
			     "%llu records dropped here: the journal was full (see PROF_BUFFER_MB)",
			     (unsigned long long)d->count);
	}
	if (b->f->ranges.n_dropped)
		note(b, b->m->begin_ns, "%llu NVTX ranges dropped: too many in one step",
		     (unsigned long long)b->f->ranges.n_dropped);
	if (b->f->libraries.n_dropped)
		note(b, b->m->begin_ns, "%llu library calls dropped: too many in one step",
		     (unsigned long long)b->f->libraries.n_dropped);
	note_missing_gpu(b);
	if (b->m->n_calls_without_work)
		note(b, b->m->begin_ns, "%llu CUDA calls are missing their GPU records",
		     (unsigned long long)b->m->n_calls_without_work);
	if (b->m->n_works_without_call)
		note(b, b->m->begin_ns, "%llu GPU records could not be matched to a CUDA call",
		     (unsigned long long)b->m->n_works_without_call);
	if (b->m->is_cut)
		note(b, b->m->end_ns, "%s",
		     b->m->is_lost ? "this step has no end: the launches that mark step boundaries "
				     "no longer occur"
				   : "the process was killed here");
}

bool ingest_is_whole_run(const struct ingest *f, const struct ingest_cut *cut)
{
	return f->one_step || (cut->is_last && !f->counts.steps);
}

static void describe(struct build *b)
{
	const struct ingest *f = b->f;
	const struct journal_header *h = f->reader.header;
	const char *command = tables_fact(&f->dict.t, "command");
	uint64_t begin = b->cut->begin_ticks, end = b->cut->end_ticks;
	if (begin < f->first_ticks)
		begin = f->first_ticks;
	if (end > f->last_ticks)
		end = f->last_ticks;
	b->m->tables = &f->dict.t;
	b->m->frames = f->run.frames;
	b->m->pid = h->pid;
	b->m->process_start = h->process_start;
	b->m->command = command ? command : "";
	b->m->clock = (struct model_clock){
		.monotonic_ns = h->clock.first.monotonic_ns,
		.realtime_ns = h->clock.first.realtime_ns,
		.boottime_ns = h->clock.first.monotonic_ns,
	};
	b->m->number = b->cut->mark->number;
	b->m->action = b->cut->mark->action;
	b->m->is_traced = ingest_is_traced(f, b->cut->mark);
	b->m->detector = b->cut->mark->is_slice ? STEP_SLICES_NAME : step_detector_name(&h->steps);
	b->m->was_yielded = was_yielded(b);
	b->m->is_cut = b->cut->is_cut;
	b->m->is_lost = b->cut->is_cut && !b->cut->is_last;
	b->m->is_whole_run = ingest_is_whole_run(f, b->cut);
	b->m->begin_ns = timebase_ns(&f->time, begin);
	b->m->end_ns = timebase_ns(&f->time, end > begin ? end : begin);
}

void ingest_build(struct ingest *f, const struct ingest_cut *cut, struct model_step *m)
{
	struct build b = {
		.f = f,
		.cut = cut,
		.m = m,
		.is_recorded = cut->is_recorded,
		.has_work = mem_zero(cut->n_calls),
	};
	describe(&b);
	graph_table_settle(&f->graphs, cut->end_ticks);
	for (size_t i = 0; i < cut->n_works; i++)
		if (cut->call_of[i] < cut->n_calls)
			b.has_work[cut->call_of[i]] = 1;
	if (b.is_recorded)
		vec_reserve(&m->calls, cut->n_calls);
	for (size_t i = 0; i < f->threads.n; i++)
		build_thread(&b, i);
	build_works(&b);
	ingest_graphs_build(f, &b.graphs, m);
	graph_table_forget(&f->graphs, cut->begin_ticks);
	note_unpaired_launches(&b);
	build_tail(&b);
	if (b.is_recorded)
		ingest_build_segments(f, m);
	build_memory(&b);
	ingest_note_failures(f, cut);
	ingest_build_blocks(f, cut, m, b.is_recorded);
	if (b.is_recorded) {
		build_ranges(&b);
		build_libraries(&b);
		build_samples(&b);
		build_cpu_waits(&b);
		build_pools(&b);
		build_overheads(&b);
		build_notes(&b);
	}
	free(b.has_work);
	map_free(&b.thread_of_slot);
}
