/* See work_progress.h. */
#include "export/work_progress.h"

#include "core/runtime/clock.h"
#include "core/util/path.h"
#include "core/util/text.h"
#include "core/util/work.h"
#include "export/foreground.h"

#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE_MS = 2000, EVERY_MS = 200, PLAIN_COLUMNS = 80, ABOUT_BYTES = 200 };

static struct {
	pthread_mutex_t lock;
	pthread_cond_t ended;
	pthread_t thread;
	unsigned depth; /* of calls of work_progress_start() */
	bool is_running, must_end;
	uint64_t began_ms;
	size_t width; /* columns of the line that is shown; 0: none */
	char about[ABOUT_BYTES];
} progress = { .lock = PTHREAD_MUTEX_INITIALIZER, .ended = PTHREAD_COND_INITIALIZER };

static void put(const char *text)
{
	if (write(STDERR_FILENO, text, strlen(text)) < 0)
		return; /* the terminal is gone */
}

/* Blanks erase the line on every terminal. */
static void erase(void)
{
	char text[TEXT_BYTES];
	if (!progress.width)
		return;
	snprintf(text, sizeof(text), "\r%*s\r", (int)progress.width, "");
	put(text);
	progress.width = 0;
}

static size_t columns(void)
{
	struct winsize size;
	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) || !size.ws_col)
		return PLAIN_COLUMNS - 1;
	return size.ws_col < TEXT_BYTES / 8 ? size.ws_col - 1u : TEXT_BYTES / 8;
}

static void show(void)
{
	char line[TEXT_BYTES], fitted[TEXT_BYTES], text[2 * TEXT_BYTES], pct[16] = "";
	double share;
	const char *what = work_now(&share);
	if (!is_in_foreground())
		return;
	if (!isnan(share))
		snprintf(pct, sizeof(pct), ", %.0f %%", share * 100);
	snprintf(line, sizeof(line), "profrun: %s%s%s%s, %.0f s", progress.about,
		 *progress.about ? ": " : "", *what ? what : "working", pct,
		 (double)(clock_ms() - progress.began_ms) / 1000);
	text_fit(fitted, sizeof(fitted), line, columns(), CUT_TAIL);
	size_t width = text_width(fitted),
	       rest = progress.width > width ? progress.width - width : 0;
	snprintf(text, sizeof(text), "\r%s%*s", fitted, (int)rest, "");
	put(text);
	progress.width = width;
}

static void wait_until(uint64_t ms)
{
	const struct timespec until = { (time_t)(ms / 1000), (long)(ms % 1000) * 1000000 };
	while (!progress.must_end && clock_ms() < ms)
		pthread_cond_timedwait(&progress.ended, &progress.lock, &until);
}

static void *show_all(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&progress.lock);
	for (uint64_t at_ms = progress.began_ms + PATIENCE_MS;; at_ms = clock_ms() + EVERY_MS) {
		wait_until(at_ms);
		if (progress.must_end)
			break;
		show();
	}
	erase();
	pthread_mutex_unlock(&progress.lock);
	return NULL;
}

static bool is_wanted(void)
{
	const char *setting = getenv("PROF_PROGRESS");
	return isatty(STDERR_FILENO) && !(setting && !strcmp(setting, "off"));
}

void work_progress_start(void)
{
	pthread_condattr_t attributes;
	if (progress.depth++ || !is_wanted())
		return;
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&progress.ended, &attributes);
	pthread_condattr_destroy(&attributes);
	progress.must_end = false;
	progress.began_ms = clock_ms();
	progress.is_running = !pthread_create(&progress.thread, NULL, show_all, NULL);
}

void work_progress_end(void)
{
	if (--progress.depth || !progress.is_running)
		return;
	pthread_mutex_lock(&progress.lock);
	progress.must_end = true;
	progress.about[0] = 0;
	pthread_cond_signal(&progress.ended);
	pthread_mutex_unlock(&progress.lock);
	pthread_join(progress.thread, NULL);
	progress.is_running = false;
}

void work_progress_about(const char *path, size_t i, size_t n)
{
	pthread_mutex_lock(&progress.lock);
	if (n > 1)
		snprintf(progress.about, sizeof(progress.about), "%.150s (%zu of %zu)",
			 path_base(path), i + 1, n);
	else
		snprintf(progress.about, sizeof(progress.about), "%.150s", path_base(path));
	pthread_mutex_unlock(&progress.lock);
}

void work_progress_hold(void)
{
	pthread_mutex_lock(&progress.lock);
	erase();
}

void work_progress_release(void)
{
	pthread_mutex_unlock(&progress.lock);
}
