/*
 * See ranks_start.h. A run may contain several jobs, one after the other. When all ranks of a job
 * have ended, a start is chosen anew for the next job.
 */
#include "core/source/process/ranks_start.h"

#include "core/source/process/driver_parts.h"

#include "core/runtime/clock.h"
#include "core/runtime/ranks.h"
#include "core/source/process/journals.h"

/*
 * How far the common start lies ahead of the foremost rank: twice the collector's longest pause
 * between two passes.
 */
#define AHEAD_NS  100000000ull
#define SECOND_NS 1000000000ull

static const char *in_journal(void *context, const char *name)
{
	const struct dict *d = context;
	return tables_fact(&d->t, name);
}

static long rank_of(const struct driver *d)
{
	return d ? ranks_number(driver_fact(d, "rank")) : -1;
}

static struct journal_steps *steps_of(const struct driver *d)
{
	return driver_steps(d);
}

/* Returns whether the process has ended, even if not all of its journal has been read. */
static bool is_over(const struct driver *d)
{
	return d->is_finished || driver_has_ended(d);
}

static bool has_asked(const struct driver *d)
{
	return d && !is_over(d) && atomic_load(&steps_of(d)->waits_for_start);
}

static bool waits(const struct driver *d)
{
	return has_asked(d) && atomic_load(&steps_of(d)->waits_for_start) !=
				       atomic_load(&steps_of(d)->start_is_named);
}

static enum start_of start_of(const struct driver *d)
{
	return (enum start_of)atomic_load(&steps_of(d)->start_of);
}

/* Returns whether a rank that runs has detected the steps that all ranks begin with. */
static bool is_present(const struct ranks_start *r, const struct driver *d)
{
	return has_asked(d) && (!r->trains || start_of(d) != START_OF_STEPS);
}

/* Returns the time of the process's end, or of its last record if it was killed. */
static uint64_t ended_ticks(const struct driver *d)
{
	uint64_t ended = atomic_load(&driver_header(d)->ended_ticks);
	return ended ? ended : d->ingest->last_ticks;
}

static uint64_t began_ticks(const struct driver *d)
{
	return driver_header(d)->clock.first.ticks;
}

/* Returns whether a process with the same rank number had ended before process `d` began. */
static bool has_predecessor(const struct driver *d, struct driver *const *all, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (all[i] && is_over(all[i]) && rank_of(all[i]) == rank_of(d) &&
		    ended_ticks(all[i]) < began_ticks(d))
			return true;
	return false;
}

/*
 * Returns a time at which all earlier jobs, and earlier attempts of this job, had ended: the begin
 * of a rank that waits now and has a predecessor. 0: there was no earlier job.
 */
static uint64_t earlier_jobs_end(struct driver *const *all, size_t n)
{
	uint64_t end = 0;
	for (size_t i = 0; i < n; i++)
		if (waits(all[i]) && began_ticks(all[i]) > end && has_predecessor(all[i], all, n))
			end = began_ticks(all[i]);
	return end;
}

/*
 * Counts each rank number once: the worker processes of a rank have the same number. A rank of this
 * job that has ended counts as well, because waiting for it is useless.
 */
static long count_present(const struct ranks_start *r, struct driver *const *all, size_t n)
{
	uint64_t earlier_end = earlier_jobs_end(all, n);
	VEC(long) present = { 0 };
	for (size_t i = 0; i < n; i++) {
		long rank = rank_of(all[i]);
		bool is_new = rank >= 0 && (is_over(all[i]) ? ended_ticks(all[i]) > earlier_end
							    : is_present(r, all[i]));
		for (size_t k = 0; k < present.n && is_new; k++)
			is_new = present.at[k] != rank;
		if (is_new)
			vec_push(&present, rank);
	}
	long n_present = (long)present.n;
	vec_free(&present);
	return n_present;
}

static long count_left_out(const char *folder)
{
	journals_ranks left_out = journals_ranks_left_out(folder);
	long n = (long)left_out.n;
	vec_free(&left_out);
	return n;
}

/* Returns the mean time of the newest steps, 0 if it is unknown. */
static uint64_t step_ns(const struct ingest *f)
{
	size_t last = f->marks.n - 1, first = last;
	while (first && f->marks.at[first - 1].ticks &&
	       f->marks.at[first - 1].generation == f->marks.at[last].generation)
		first--;
	if (first == last)
		return 0;
	uint64_t ticks = f->marks.at[last].ticks - f->marks.at[first].ticks;
	return timebase_length_ns(&f->time, ticks) / (last - first);
}

/* Returns the first step that the rank can still begin its schedule with. */
static uint64_t earliest_start(const struct driver *d)
{
	uint64_t ns = step_ns(d->ingest), first = schedule_first_recorded(&d->ingest->schedule);
	uint64_t next = atomic_load(&steps_of(d)->current) + 2 + (ns ? AHEAD_NS / ns : 0);
	return next > first ? next : first;
}

/*
 * Returns the second of CLOCK_MONOTONIC in which a time slice begins. In all ranks, slices begin at
 * full seconds.
 */
static uint64_t second_of(const struct driver *d, const struct step_mark *mark)
{
	return timebase_ns(&d->ingest->time, mark->ticks) / SECOND_NS;
}

static const struct step_mark *newest(const struct driver *d)
{
	return &d->ingest->marks.at[d->ingest->marks.n - 1];
}

/*
 * Returns the first second in which the schedule can still begin: that of the slice after the next
 * one.
 */
static uint64_t earliest_second(const struct driver *d)
{
	const struct step_mark *mark = newest(d);
	uint64_t first = schedule_first_recorded(&d->ingest->schedule), next = mark->number + 2;
	return second_of(d, mark) + (next > first ? next : first) - mark->number;
}

/*
 * Returns the number of the slice that begins in `second`; 0 if that was before the rank's first
 * slice.
 */
static uint64_t slice_of(const struct driver *d, uint64_t second)
{
	const struct step_mark *mark = newest(d);
	uint64_t number = mark->number + second, began = second_of(d, mark);
	return number > began ? number - began : 0;
}

/* Returns whether all waiting ranks have time slices instead of steps. */
static bool are_sliced(struct driver *const *all, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (waits(all[i]) && !driver_has_slices(all[i]))
			return false;
	return true;
}

/* Returns whether each waiting rank's current slice has been read from its journal. */
static bool are_slices_read(struct driver *const *all, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (waits(all[i]) &&
		    newest(all[i])->number != atomic_load(&steps_of(all[i])->current))
			return false;
	return true;
}

static uint64_t common_second(struct driver *const *all, size_t n)
{
	uint64_t common = 0;
	for (size_t i = 0; i < n; i++) {
		uint64_t second = waits(all[i]) ? earliest_second(all[i]) : 0;
		common = second > common ? second : common;
	}
	return common;
}

static void name_start(struct driver *d, uint32_t asked, uint64_t start)
{
	struct journal_steps *s = steps_of(d);
	atomic_store(&s->start, start);
	/* release: whoever sees start_is_named also sees `start` */
	atomic_store_explicit(&s->start_is_named, asked, memory_order_release);
}

static bool does_any_wait(struct driver *const *all, size_t n, bool *trains)
{
	bool any = false;
	*trains = false;
	for (size_t i = 0; i < n; i++)
		if (waits(all[i])) {
			any = true;
			*trains |= start_of(all[i]) != START_OF_STEPS;
		}
	return any;
}

/* Returns whether the two ranks number their steps alike. `q` is NULL if it has ended. */
static bool are_numbers_alike(const struct driver *d, const struct driver *q)
{
	return !q || (start_of(d) != START_AFTER_OTHERS && start_of(q) != START_AFTER_OTHERS);
}

/*
 * Returns an id of the two numberings that are compared: those of rank `i` and of the leader. The
 * id changes when one of the two asks again, with other step numbers, and when another rank becomes
 * the leader.
 */
static uint64_t asked_for(const struct ranks_start *r, struct driver *const *all, size_t i)
{
	return (uint64_t)atomic_load(&steps_of(all[i])->waits_for_start) << 32 |
	       (uint64_t)r->leader << 16 | atomic_load(&steps_of(all[r->leader])->waits_for_start);
}

/*
 * Compares each rank's step numbers with the leader's. Returns whether the difference is known for
 * all waiting ranks.
 */
static bool compare_numbers(struct ranks_start *r, struct driver *const *all, size_t n)
{
	const struct driver *leader = all[r->leader];
	bool is_known = true;
	while (r->apart.n < n)
		vec_push(&r->apart, (struct ranks_apart){ 0 });
	for (size_t i = 0; i < n && has_asked(leader); i++)
		if (waits(all[i]) && !are_numbers_alike(all[i], leader))
			is_known &= ranks_apart_look(&r->apart.at[i], asked_for(r, all, i),
						     atomic_load(&steps_of(all[i])->current),
						     atomic_load(&steps_of(leader)->current));
	return is_known;
}

static int64_t numbers_apart(const struct ranks_start *r, struct driver *const *all, size_t i)
{
	return are_numbers_alike(all[i], all[r->leader]) ? 0 : ranks_apart(&r->apart.at[i]);
}

/* Returns a step that lies a little ahead of the foremost rank, in the leader's numbers. */
static uint64_t common_start(const struct ranks_start *r, struct driver *const *all, size_t n)
{
	int64_t common = 0;
	for (size_t i = 0; i < n; i++) {
		if (!waits(all[i]) || !is_present(r, all[i]))
			continue;
		int64_t start = (int64_t)earliest_start(all[i]) - numbers_apart(r, all, i);
		common = start > common ? start : common;
	}
	return (uint64_t)common;
}

static bool is_anybody_under_way(struct driver *const *all, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (has_asked(all[i]) && !waits(all[i]))
			return true;
	return false;
}

static double seconds_since_start(const struct driver *d)
{
	const struct journal_clock *c = &driver_header(d)->clock;
	return (double)(clock_point(c->kind).monotonic_ns - c->first.monotonic_ns) / 1e9;
}

/* Returns whether all ranks are present, or whether the present ones have waited long enough. */
static bool is_time(struct ranks_start *r, const struct driver *d, struct driver *const *all,
		    size_t n, const char *folder, uint64_t now_ms)
{
	if (!r->first_ms) {
		r->first_ms = now_ms;
		r->patience_s = ranks_patience_s(seconds_since_start(d),
						 atomic_load(&steps_of(d)->current));
	}
	r->n_present = count_present(r, all, n);
	r->n_expected = ranks_local_size(in_journal, (void *)(uintptr_t)&d->ingest->dict);
	if (r->n_present < r->n_expected)
		r->n_expected -= count_left_out(folder);
	return r->n_present >= r->n_expected ||
	       (double)(now_ms - r->first_ms) / 1e3 > r->patience_s;
}

/* Chooses the start. Returns false if it is too early for that. */
static bool find_start(struct ranks_start *r, struct driver *const *all, size_t n,
		       const char *folder, uint64_t now_ms)
{
	const struct driver *leader = all[r->leader];
	if (!is_time(r, leader, all, n, folder, now_ms))
		return false;
	bool is_sliced = are_sliced(all, n);
	if (is_sliced ? !are_slices_read(all, n) : !compare_numbers(r, all, n))
		return false;
	r->second = is_sliced ? common_second(all, n) : 0;
	r->start = is_sliced ? slice_of(leader, r->second) : common_start(r, all, n);
	return true;
}

/* Returns the common start as a step number, or slice number, of rank `i`. Each rank counts from
 * its own first one. */
static uint64_t start_of_rank(const struct ranks_start *r, struct driver *const *all, size_t i)
{
	if (r->second && driver_has_slices(all[i]))
		return slice_of(all[i], r->second);
	int64_t start = (int64_t)r->start + numbers_apart(r, all, i);
	return start > 0 ? (uint64_t)start : 0;
}

/* Returns the first present rank that waits, `n` if there is none. */
static size_t choose_leader(const struct ranks_start *r, struct driver *const *all, size_t n)
{
	size_t i = 0;
	while (i < n && !(waits(all[i]) && is_present(r, all[i])))
		i++;
	return i;
}

static void begin_anew(struct ranks_start *r, struct driver *const *all, size_t n, bool trains)
{
	r->is_named = false;
	r->trains = trains;
	r->first_ms = 0;
	r->leader = choose_leader(r, all, n);
}

void ranks_start_serve(struct ranks_start *r, struct driver *const *all, size_t n,
		       const char *folder, uint64_t now_ms)
{
	bool trains;
	if (!does_any_wait(all, n, &trains))
		return;
	/* a new job began, or training began while the chosen start was for other steps */
	if ((trains && !r->trains) || (r->is_named ? !is_anybody_under_way(all, n)
						   : r->leader >= n || !waits(all[r->leader])))
		begin_anew(r, all, n, trains);
	bool was_named = r->is_named;
	if (!was_named && !find_start(r, all, n, folder, now_ms))
		return;
	r->is_named = true;
	if (was_named && !compare_numbers(r, all, n))
		return;
	for (size_t i = 0; i < n; i++) {
		uint32_t asked = waits(all[i]) ? atomic_load(&steps_of(all[i])->waits_for_start)
					       : 0;
		if (asked)
			name_start(all[i], asked, start_of_rank(r, all, i));
	}
}

void ranks_start_free(struct ranks_start *r)
{
	vec_free(&r->apart);
}
