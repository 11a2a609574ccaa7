/*
 * Watches a run's folder for new journals (inotify), so that the collector can read a journal as
 * soon as it appears: a process cannot record steps before the collector answers. If the kernel
 * provides no watch, `fd` is -1 and the caller must list the folder periodically. For one thread.
 */
#ifndef EXPORT_WATCH_H
#define EXPORT_WATCH_H

#include <stdbool.h>

struct watch {
	int fd;		  /* readable when there are events; -1: no watch */
	bool has_journal; /* DIR/journal exists and is watched too */
};

void watch_open(struct watch *w, const char *folder);
void watch_close(struct watch *w);

/* Reads pending events. Returns whether there were any; then the caller should list the folder. */
bool watch_news(struct watch *w, const char *folder);

#endif
