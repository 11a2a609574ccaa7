/* See ranks.h. */
#include "core/runtime/ranks.h"

#include "core/runtime/at_start.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * The variables in which launchers pass a process its rank. The first one that is set counts. RANK,
 * which torchrun sets, comes first: torchrun may itself run under Slurm. LOCAL_RANK comes last,
 * because only launchers for a single machine set it without any of the other variables.
 */
static const char *const rank_variables[] = {
	"RANK",		"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK",
	"SLURM_PROCID", "LOCAL_RANK",
};

/* The variables with the number of processes per machine, then those with the size of the whole
 * job, which are used if no variable of the first kind is set. */
static const char *const size_variables[] = {
	"LOCAL_WORLD_SIZE",	 "OMPI_COMM_WORLD_LOCAL_SIZE",
	"MPI_LOCALNRANKS",	 "MV2_COMM_WORLD_LOCAL_SIZE",
	"SLURM_NTASKS_PER_NODE", "WORLD_SIZE",
	"OMPI_COMM_WORLD_SIZE",	 "PMI_SIZE",
	"MV2_COMM_WORLD_SIZE",	 "SLURM_NTASKS",
};

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

AT_START static bool is_one(const char *const *list, size_t n, const char *name, size_t length)
{
	for (size_t i = 0; i < n; i++)
		if (strlen(list[i]) == length && !strncmp(list[i], name, length))
			return true;
	return false;
}

AT_START bool ranks_is_variable(const char *name, size_t length)
{
	return is_one(rank_variables, COUNT(rank_variables), name, length) ||
	       is_one(size_variables, COUNT(size_variables), name, length);
}

static long number_of(const char *text, size_t length)
{
	long n = 0;
	if (!length || length > 9)
		return -1;
	for (size_t i = 0; i < length; i++) {
		if (text[i] < '0' || text[i] > '9')
			return -1;
		n = n * 10 + (text[i] - '0');
	}
	return n;
}

long ranks_number(const char *text)
{
	return text ? number_of(text, strlen(text)) : -1;
}

const char *ranks_own(ranks_lookup *lookup, void *context, const char **variable)
{
	for (size_t i = 0; i < COUNT(rank_variables); i++) {
		const char *text = lookup(context, rank_variables[i]);
		if (!text || !*text)
			continue;
		if (variable)
			*variable = rank_variables[i];
		return text;
	}
	return NULL;
}

const char *ranks_size_variable(unsigned i)
{
	return i < COUNT(size_variables) ? size_variables[i] : NULL;
}

long ranks_local_size(ranks_lookup *lookup, void *context)
{
	for (size_t i = 0; i < COUNT(size_variables); i++) {
		long n = ranks_number(lookup(context, size_variables[i]));
		if (n > 0)
			return n;
	}
	return 0;
}

/* ---- Lists ---- */

/* One element of a list: "N" or "N-M". */
struct span {
	long first, last; /* -1: not a number */
	const char *text; /* `length` bytes, without the blanks around them */
	size_t length;
	const char *end; /* the comma after the element, or the end of the list */
};

/* Returns the element that begins at `text`. Blanks are allowed around an element, but not
 * within. */
static struct span span_at(const char *text)
{
	text += strspn(text, " ");
	size_t length = strcspn(text, ","), kept = length;
	while (kept && text[kept - 1] == ' ')
		kept--;
	const char *dash = memchr(text, '-', kept);
	size_t first = dash ? (size_t)(dash - text) : kept;
	struct span s = { .first = number_of(text, first), .text = text, .length = kept };
	s.last = dash ? number_of(dash + 1, kept - first - 1) : s.first;
	s.end = text + length;
	return s;
}

static bool is_all(const char *list)
{
	return !strcmp(list, "all");
}

int ranks_check(const char *list, struct err *e)
{
	for (const char *at = list; !is_all(list);) {
		struct span s = span_at(at);
		if (s.first < 0 || s.last < 0)
			return err_set(e, -EINVAL,
				       "'%.*s' is not a rank; expected all or ranks from 0 on, for "
				       "example 0,3-5",
				       s.length < 40 ? (int)s.length : 40, s.text);
		if (s.last < s.first)
			return err_set(e, -EINVAL,
				       "the range of ranks '%.*s' ends before it begins",
				       (int)s.length, s.text);
		at = s.end;
		if (!*at++)
			break;
	}
	return 0;
}

bool ranks_has(const char *list, long rank)
{
	for (const char *at = list; !is_all(list);) {
		struct span s = span_at(at);
		if (rank >= s.first && rank <= s.last)
			return true;
		at = s.end;
		if (!*at++)
			return false;
	}
	return true;
}

/* ---- Waiting ---- */

double ranks_patience_s(double elapsed_s, uint64_t steps)
{
	enum { LEAST_S = 20, STEPS = 8 };
	double by_steps = steps ? elapsed_s / (double)steps * STEPS : 0;
	return by_steps > LEAST_S ? by_steps : LEAST_S;
}
