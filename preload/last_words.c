/*
 * See last_words.h. Python writes to stderr with libc's exported write(). Programs that use stdio
 * call a function inside libc, which cannot be wrapped, so their words are not kept.
 */
#include "preload/last_words.h"

#include "core/runtime/at_start.h"
#include "core/runtime/journal.h"
#include "preload/hook.h"
#include "preload/lookup.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Atomic(void *) real START_DATA;
static _Atomic pid_t owner;

void last_words_keep(pid_t pid)
{
	atomic_store(&owner, pid);
}

AT_START void last_words_begin(void)
{
	atomic_store_explicit(&real, lookup_dlsym(RTLD_NEXT, "write"), memory_order_relaxed);
}

/* Appends to the ring. Two threads may write at the same time; each gets its own room. Takes no
 * lock, because a signal handler may write. */
static void keep(const char *from, size_t bytes)
{
	struct journal_header *h = journal_header();
	if (!h || atomic_load_explicit(&owner, memory_order_relaxed) != getpid())
		return;
	if (bytes > JOURNAL_WORDS_BYTES) {
		atomic_fetch_add_explicit(&h->words_written, bytes - JOURNAL_WORDS_BYTES,
					  memory_order_relaxed);
		from += bytes - JOURNAL_WORDS_BYTES;
		bytes = JOURNAL_WORDS_BYTES;
	}
	uint64_t at = atomic_fetch_add_explicit(&h->words_written, bytes, memory_order_relaxed) %
		      JOURNAL_WORDS_BYTES;
	size_t first = JOURNAL_WORDS_BYTES - at < bytes ? JOURNAL_WORDS_BYTES - at : bytes;
	memcpy(h->words + at, from, first);
	memcpy(h->words, from + first, bytes - first);
}

EXPORT ssize_t write(int fd, const void *buf, size_t n);

ssize_t write(int fd, const void *buf, size_t n)
{
	ssize_t (*next)(int, const void *, size_t) =
		(__typeof__(next))atomic_load_explicit(&real, memory_order_relaxed);
	if (UNLIKELY(!next)) /* before the constructor */
		return syscall(SYS_write, fd, buf, n);
	if (LIKELY(fd != STDERR_FILENO))
		return next(fd, buf, n);
	ssize_t done = next(fd, buf, n);
	if (done > 0)
		keep(buf, (size_t)done);
	return done;
}
