/* See trace_keep.h. The first traces may use half of each limit, and the later traces the rest. */
#include "export/trace_keep.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

/* Without a limit on traces, run.json lists this many names, and only counts further traces. */
enum { LISTED = 4096 };

static uint64_t size_of(const char *folder, const char *name)
{
	char path[PATH_MAX];
	struct stat status;
	if (snprintf(path, sizeof(path), "%s/%s", folder, name) >= (int)sizeof(path) ||
	    stat(path, &status))
		return 0;
	return (uint64_t)status.st_size;
}

/* Removes the file. Returns whether it is gone, even if somebody else has removed it. */
static bool is_removed(const char *folder, const char *name)
{
	char path[PATH_MAX];
	return snprintf(path, sizeof(path), "%s/%s", folder, name) < (int)sizeof(path) &&
	       (!unlink(path) || errno == ENOENT);
}

/* Removes the oldest of the newest traces. If that fails, moves the trace to the first ones, which
 * are kept. */
static void remove_oldest(struct trace_keep *k, const char *folder)
{
	struct kept_trace t = k->newest.at[0];
	k->bytes_newest -= t.bytes;
	vec_shift(&k->newest, 1);
	if (!is_removed(folder, t.name)) {
		vec_push(&k->first, t);
		k->bytes_first += t.bytes;
		return;
	}
	k->n_removed++;
	k->bytes_removed += t.bytes;
	free(t.name);
}

static bool is_too_much(uint64_t value, uint64_t limit)
{
	return limit && value > limit;
}

/* Adds the trace to the first ones if the limits allow. Returns whether it was added. */
static bool add_first(struct trace_keep *k, const struct trace_limits *limits,
		      const struct kept_trace *t)
{
	if (k->first_is_full || is_too_much(2 * (k->first.n + 1), limits->files) ||
	    is_too_much(2 * (k->bytes_first + t->bytes), limits->bytes)) {
		k->first_is_full = true;
		return false;
	}
	vec_push(&k->first, *t);
	k->bytes_first += t->bytes;
	/* no further trace of this size fits: the next step is the first that may go without one */
	k->first_is_full = is_too_much(2 * (k->first.n + 1), limits->files) ||
			   is_too_much(2 * (k->bytes_first + t->bytes), limits->bytes);
	return true;
}

static double least(double a, double b)
{
	return a < b ? a : b;
}

/* Returns how many steps with `n_files` traces each the rest of the limits holds. A trace counts
 * with the mean size of those written so far. */
static double steps_left(const struct trace_keep *k, const struct trace_limits *limits,
			 unsigned n_files)
{
	size_t n = k->first.n + k->newest.n;
	uint64_t bytes = k->bytes_first + k->bytes_newest;
	double mean = n ? (double)bytes / (double)n : 0, left = TRACE_KEEP_SPAN;
	if (limits->files)
		left = least(left, limits->files > n ? (double)(limits->files - n) / n_files : 0);
	if (limits->bytes && mean > 0)
		left = least(left, limits->bytes > bytes
					   ? (double)(limits->bytes - bytes) / mean / n_files
					   : 0);
	return left;
}

bool trace_keep_wants(struct trace_keep *k, const struct trace_limits *limits, unsigned n_files,
		      bool is_asked)
{
	uint64_t number = k->n_steps++;
	if (is_asked || !k->first_is_full)
		return true;
	double left = steps_left(k, limits, n_files);
	if (number < k->next || left < 1) {
		k->n_left_out++;
		return false;
	}
	if (!(k->growth > 0)) /* at most 2, so that few traces do not lie too far apart */
		k->growth = least(2, exp(log(TRACE_KEEP_SPAN) / left));
	k->next = (uint64_t)ceil((double)(number + 1) * k->growth) - 1;
	return true;
}

void trace_keep_add(struct trace_keep *k, const struct trace_limits *limits, const char *folder,
		    const char *name)
{
	if (!limits->files && !limits->bytes && k->first.n >= LISTED)
		return;
	const struct kept_trace t = { mem_text(name), size_of(folder, name) };
	if (add_first(k, limits, &t))
		return;
	vec_push(&k->newest, t);
	k->bytes_newest += t.bytes;
	while (k->newest.n > 1 && (is_too_much(k->first.n + k->newest.n, limits->files) ||
				   is_too_much(k->bytes_first + k->bytes_newest, limits->bytes)))
		remove_oldest(k, folder);
}

json_t *trace_keep_list(const struct trace_keep *k)
{
	json_t *list = json_array();
	for (size_t i = 0; i < k->first.n; i++)
		json_array_append_new(list, json_string(k->first.at[i].name));
	for (size_t i = 0; i < k->newest.n; i++)
		json_array_append_new(list, json_string(k->newest.at[i].name));
	return list;
}

void trace_keep_free(struct trace_keep *k)
{
	for (size_t i = 0; i < k->first.n; i++)
		free(k->first.at[i].name);
	for (size_t i = 0; i < k->newest.n; i++)
		free(k->newest.at[i].name);
	vec_free(&k->first);
	vec_free(&k->newest);
}

void trace_keep_forget(struct trace_keep *k, const char *folder)
{
	for (size_t i = 0; i < k->first.n; i++)
		is_removed(folder, k->first.at[i].name);
	for (size_t i = 0; i < k->newest.n; i++)
		is_removed(folder, k->newest.at[i].name);
	trace_keep_free(k);
	memset(k, 0, sizeof(*k));
}
