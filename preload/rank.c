/* See rank.h. */
#include "preload/rank.h"

#include "core/runtime/journal.h"
#include "core/runtime/log.h"
#include "core/runtime/ranks.h"
#include "preload/start_env.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Creates the file that marks a rank as left out, in the folder that the launcher has made. A
 * left-out rank creates no other file. */
static void mark_left_out(const char *folder, long rank)
{
	char path[PATH_MAX];
	if (snprintf(path, sizeof(path), "%s/journal", folder) >= (int)sizeof(path))
		return;
	mkdir(path, 0775);
	if (snprintf(path, sizeof(path), "%s/journal/rank-%ld.left-out", folder, rank) >=
	    (int)sizeof(path))
		return;
	int fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0664);
	if (fd >= 0)
		close(fd);
}

bool rank_is_left_out(const char *list, const char *folder)
{
	const char *variable;
	long rank = ranks_number(ranks_own(start_env_lookup, NULL, &variable));
	if (rank < 0 || ranks_has(list, rank))
		return false;
	log_line(LOG_INFO, "rank %ld (from %s) is not profiled: PROF_RANKS=%s does not include it",
		 rank, variable, list);
	if (*folder)
		mark_left_out(folder, rank);
	return true;
}

void rank_describe(void)
{
	static const char *const also[] = { "LOCAL_RANK", "CUDA_VISIBLE_DEVICES" };
	const char *rank = ranks_own(start_env_lookup, NULL, NULL), *name;
	if (rank)
		journal_put_info("rank", rank);
	for (unsigned i = 0; i < sizeof(also) / sizeof(*also); i++)
		if (start_env_get(also[i]))
			journal_put_info(also[i], start_env_get(also[i]));
	for (unsigned i = 0; (name = ranks_size_variable(i)); i++)
		if (start_env_get(name))
			journal_put_info(name, start_env_get(name));
}

bool rank_has_peers(void)
{
	return ranks_number(ranks_own(start_env_lookup, NULL, NULL)) >= 0 &&
	       ranks_local_size(start_env_lookup, NULL) > 1;
}
