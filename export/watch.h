/*
 * Tells when a run's folder gets journals (inotify), so that a new one is read at once: the process waits for the answer
 * with its steps. Where the kernel gives no watch the fd stays -1 and the caller looks from time to time. One thread.
 */
#ifndef EXPORT_WATCH_H
#define EXPORT_WATCH_H

#include <stdbool.h>

struct watch {
	int fd;		  /* readable: something came; -1: there is no watch */
	bool has_journal; /* DIR/journal is there and watched too */
};

void watch_open(struct watch *w, const char *folder);
void watch_close(struct watch *w);

/* Takes in what has been told; whether the folder should be listed. */
bool watch_news(struct watch *w, const char *folder);

#endif
