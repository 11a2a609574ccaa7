/* See watch.h. */
#include "export/watch.h"

#include <limits.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <unistd.h>

/* Watches DIR/journal once it exists. The first process that uses CUDA makes it. */
static void watch_journal(struct watch *w, const char *folder)
{
	char path[PATH_MAX];
	if (w->has_journal ||
	    snprintf(path, sizeof(path), "%s/journal", folder) >= (int)sizeof(path))
		return;
	w->has_journal = inotify_add_watch(w->fd, path, IN_CREATE | IN_MOVED_TO) >= 0;
}

void watch_open(struct watch *w, const char *folder)
{
	*w = (struct watch){ .fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC) };
	if (w->fd < 0)
		return;
	if (inotify_add_watch(w->fd, folder, IN_CREATE | IN_MOVED_TO) < 0) {
		watch_close(w);
		return;
	}
	watch_journal(w, folder);
}

void watch_close(struct watch *w)
{
	if (w->fd >= 0)
		close(w->fd);
	w->fd = -1;
}

/* Ignores the content of the events. The folder is small, and listing it also finds journals that
 * are older than the watch. */
bool watch_news(struct watch *w, const char *folder)
{
	char events[4096] __attribute__((aligned(8)));
	bool is_any = false;
	if (w->fd < 0)
		return false;
	while (read(w->fd, events, sizeof(events)) > 0)
		is_any = true;
	if (is_any)
		watch_journal(w, folder);
	return is_any;
}
