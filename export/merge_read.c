/* Reads the ranks of a job, one after the other. See merge.h. */
#include "export/merge.h"

#include "core/symbols/frames.h"
#include "export/foreign.h"
#include "export/process.h"
#include "export/report_words.h"
#include "export/trace_walk.h"

#include <errno.h>

/* ---- One rank ---- */

/* The longest stretch of time since a thread's collective before. */
struct before {
	uint64_t ns;
	uint32_t place; /* in merge.texts */
};

/* What a thread has done since its collective before: up to `ns` and the call before `call`. */
struct since {
	uint32_t tid;
	size_t call;
	uint64_t ns;
	struct before before;
};

struct reading {
	struct merge *m;
	size_t rank;
	const struct merge_sink *sink;
	VEC(struct since) threads;
};

static struct merge_rank *rank_of(const struct reading *r)
{
	return &r->m->ranks.at[r->rank];
}

static uint32_t intern(struct reading *r, const char *text)
{
	return strtab_intern(&r->m->texts, text);
}

/* Returns "train.py:42 step", or 0 if the line is not known. */
static uint32_t place_of(struct reading *r, const struct model_step *m, uint32_t stack,
			 const char *words)
{
	char text[600], file[500];
	uint32_t id = m->frames && stack ? frames_site(m->frames, stack) : 0;
	if (!id)
		return 0;
	const struct site *site = frames_site_at(m->frames, id);
	const char *cwd = tables_fact(m->tables, "cwd");
	struct report_place place = { site->file, site->line ? (int64_t)site->line : -1,
				      site->function };
	report_place(file, sizeof(file), &place, cwd);
	snprintf(text, sizeof(text), "%s%s", words, file);
	return intern(r, text);
}

/* ---- Where a rank was before a collective ---- */

/* The longest stretch of a thread between two collectives: a call, or the time before it. */
struct stretch {
	uint64_t begin_ns, end_ns;
	size_t call;
	bool is_gap;
};

static void take_stretch(struct stretch *longest, uint64_t begin_ns, uint64_t end_ns, size_t call,
			 bool is_gap)
{
	if (end_ns > begin_ns && end_ns - begin_ns > longest->end_ns - longest->begin_ns)
		*longest = (struct stretch){ begin_ns, end_ns, call, is_gap };
}

/* Returns the stack that most samples within the stretch have; 0: none. */
static uint32_t sampled_stack(const struct model_step *m, uint32_t thread, const struct stretch *s)
{
	struct map n = { 0 };
	uint32_t most = 0;
	uint64_t most_n = 0;
	for (size_t i = 0; i < m->samples.n; i++) {
		const struct model_sample *x = &m->samples.at[i];
		if (x->thread != thread || x->ns < s->begin_ns || x->ns >= s->end_ns || !x->stack)
			continue;
		uint64_t *count = map_at(&n, x->stack, NULL);
		if (++*count > most_n) {
			most_n = *count;
			most = x->stack;
		}
	}
	map_free(&n);
	return most;
}

/* Looks at the thread's calls before call `end`, and at the time between them, up to `until_ns`.
 * Keeps the longest stretch, if it is longer than the one that is known. */
static void look(struct reading *r, const struct model_step *m, uint32_t thread, struct since *x,
		 size_t end, uint64_t until_ns)
{
	struct stretch s = { 0 };
	uint64_t from_ns = x->ns;
	for (size_t i = x->call; i < end; i++) {
		const struct model_call *c = &m->calls.at[i];
		take_stretch(&s, from_ns, c->begin_ns, i, true);
		take_stretch(&s, c->begin_ns, c->end_ns, i, false);
		from_ns = c->end_ns;
	}
	take_stretch(&s, from_ns, until_ns, end, true);
	uint64_t ns = s.end_ns - s.begin_ns;
	if (ns <= x->before.ns)
		return;
	const struct model_thread *t = &m->threads.at[thread];
	uint32_t sampled = s.is_gap ? sampled_stack(m, thread, &s) : 0,
		 stack = s.call < t->first + t->n ? m->calls.at[s.call].stack : 0;
	x->before.ns = ns;
	x->before.place = sampled ? place_of(r, m, sampled, "")
				  : place_of(r, m, stack, s.is_gap ? "before " : "");
}

/* Returns what is known of a thread since its collective before, which may be of an earlier
 * step. */
static struct since *since_of(struct reading *r, const struct model_step *m, uint32_t thread)
{
	uint32_t tid = m->threads.at[thread].tid;
	for (size_t i = 0; i < r->threads.n; i++)
		if (r->threads.at[i].tid == tid)
			return &r->threads.at[i];
	vec_push(&r->threads, (struct since){ .tid = tid });
	return &r->threads.at[r->threads.n - 1];
}

static void begin_step(struct reading *r, const struct model_step *m)
{
	for (uint32_t i = 0; i < m->threads.n; i++) {
		struct since *x = since_of(r, m, i);
		x->call = m->threads.at[i].first;
		x->ns = m->begin_ns;
	}
}

/* The rest of the step belongs to the time before the next step's first collective. */
static void end_step(struct reading *r, const struct model_step *m)
{
	for (uint32_t i = 0; i < m->threads.n; i++) {
		struct since *x = since_of(r, m, i);
		const struct model_thread *t = &m->threads.at[i];
		look(r, m, i, x, t->first + t->n, m->end_ns);
	}
}

static void find_before(struct reading *r, const struct model_step *m,
			const struct model_library *l, struct merge_arrival *to)
{
	struct since *x = since_of(r, m, l->thread);
	uint32_t end = l->first_call + l->n_calls;
	if (x->call <= l->first_call)
		look(r, m, l->thread, x, l->first_call, m->calls.at[l->first_call].begin_ns);
	to->before = x->before.place;
	*x = (struct since){ .tid = x->tid, .call = end, .ns = m->calls.at[end - 1].end_ns };
}

/* ---- Steps ---- */

static void add_arrivals(struct reading *r, const struct model_step *m)
{
	struct merge_rank *to = rank_of(r);
	begin_step(r, m);
	for (size_t i = 0; i < m->libraries.n; i++) {
		const struct model_library *l = &m->libraries.at[i];
		if (!l->comm || !l->sequence || !l->gpu_end_ns || !l->n_calls ||
		    l->thread >= m->threads.n)
			continue;
		struct merge_arrival a = {
			.key = trace_mix(l->comm, l->sequence),
			.begin_ns = l->gpu_begin_ns,
			.end_ns = l->gpu_end_ns,
			.step = m->number,
			.name = intern(r, strtab_text(&m->tables->names, l->name)),
			.place = place_of(r, m, m->calls.at[l->first_call].stack, ""),
		};
		find_before(r, m, l, &a);
		vec_push(&to->arrivals, a);
	}
	end_step(r, m);
}

static void take_step(void *context, const struct analyzed_step *step)
{
	struct reading *r = context;
	const struct model_step *m = step->model;
	struct merge_rank *to = rank_of(r);
	if (m->part != MODEL_WHOLE && !m->is_whole_run)
		return;
	if (!to->n_steps)
		to->first_ns = m->begin_ns;
	to->last_ns = m->end_ns;
	to->n_steps++;
	to->pid = m->pid;
	add_arrivals(r, m);
	if (!m->is_traced)
		return;
	to->n_traced++;
	if (r->sink)
		r->sink->step(r->sink->context, step);
}

static void forget(struct merge_rank *r)
{
	r->n_steps = r->n_traced = 0;
	r->first_ns = r->last_ns = 0;
	r->arrivals.n = 0;
}

static void take_restart(void *context)
{
	struct reading *r = context;
	forget(rank_of(r));
	r->threads.n = 0;
	if (r->sink)
		r->sink->restart(r->sink->context);
}

/* ---- Its clock ---- */

/* Clocks of one machine whose wall times differ by less are the same clock, which was set or
 * slewed. After a boot, a clock differs by at least as long as the machine had been up. */
static const int64_t same_clock_ns = 1000000000;
/* Earlier times are not those of a wall clock. */
static const int64_t year_2000_ns = 946684800000000000;

static size_t clock_of(struct merge *m, const char *host, bool is_wall, bool has_no_wall,
		       bool is_own, int64_t wall_ns)
{
	for (size_t i = 0; i < m->clocks.n && !has_no_wall && !is_own; i++) {
		const struct merge_clock *c = &m->clocks.at[i];
		int64_t apart_ns = wall_ns > c->wall_ns ? wall_ns - c->wall_ns
							: c->wall_ns - wall_ns;
		if (*host && !c->is_own && !strcmp(c->host, host) && c->is_wall == is_wall &&
		    !c->has_no_wall && apart_ns < same_clock_ns)
			return i;
	}
	vec_push(&m->clocks, (struct merge_clock){
				     .host = strtab_text(&m->texts, strtab_intern(&m->texts, host)),
				     .is_wall = is_wall,
				     .has_no_wall = has_no_wall,
				     .is_own = is_own,
				     .wall_ns = wall_ns });
	return m->clocks.n - 1;
}

static int64_t number_of(const char *rank)
{
	char *end;
	long value = rank && *rank ? strtol(rank, &end, 10) : -1;
	return value >= 0 && !*end ? value : -1;
}

/* Fewer collectives tell nothing about a clock. */
enum { ARRIVALS_LEAST = 3 };

/*
 * Each process that torch.profiler traces converts its times to wall-clock times by itself. So a
 * trace with collectives has a clock of its own, which these relate to the others.
 */
static bool has_own_clock(const struct merge_rank *r)
{
	return r->is_trace && r->arrivals.n >= ARRIVALS_LEAST;
}

static void describe(struct reading *r, const struct run *run, const struct model_clock *clock)
{
	struct merge_rank *to = rank_of(r);
	const char *host = tables_fact(run->tables, "host");
	int64_t wall_ns = (int64_t)clock->realtime_ns - (int64_t)clock->monotonic_ns;
	if (to->is_read) /* in an earlier pass */
		return;
	to->is_read = true;
	to->rank = number_of(tables_fact(run->tables, "rank"));
	to->to_clock_ns = to->is_trace ? wall_ns : 0;
	to->clock = clock_of(r->m, host ? host : "", to->is_trace,
			     (int64_t)to->first_ns + wall_ns < year_2000_ns, has_own_clock(to),
			     to->is_trace ? 0 : wall_ns);
}

/* ---- Reading ---- */

/* Takes the clock of the first step. */
struct with_clock {
	struct reading reading;
	struct model_clock clock;
};

static void take_with_clock(void *context, const struct analyzed_step *step)
{
	struct with_clock *w = context;
	w->clock = step->model->clock;
	take_step(&w->reading, step);
}

static int read_journal(struct with_clock *w, struct err *e)
{
	struct output out = { .take_step = take_with_clock,
			      .take_restart = take_restart,
			      .take_context = w };
	struct process *p = mem_zero(sizeof(*p));
	int error = process_export(p, &out, rank_of(&w->reading)->path, e);
	if (!error) {
		describe(&w->reading, driver_run(p->driver), &w->clock);
		process_close(p);
	}
	free(p);
	output_free(&out);
	return error;
}

static int read_trace(struct with_clock *w, struct err *e)
{
	struct foreign_output out = { .take_step = take_with_clock, .take_context = w };
	struct foreign *f;
	int error = foreign_open(&f, rank_of(&w->reading)->path, &out, e);
	if (error)
		return error;
	describe(&w->reading, kineto_run(foreign_trace(f)), &w->clock);
	foreign_close(f);
	return 0;
}

int merge_read(struct merge *m, size_t rank, const struct merge_sink *sink, struct err *e)
{
	struct with_clock w = { .reading = { .m = m, .rank = rank, .sink = sink } };
	forget(&m->ranks.at[rank]);
	int error = m->ranks.at[rank].is_trace ? read_trace(&w, e) : read_journal(&w, e);
	vec_free(&w.reading.threads);
	if (!error && !m->ranks.at[rank].n_traced)
		return err_set(e, -ENODATA, "%.180s: no recorded step", m->ranks.at[rank].path);
	return error;
}
