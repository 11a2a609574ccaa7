/*
 * See births.h. A thread learns where it was created through the argument of its first function:
 * that is begin() here, which calls the function that the creator named. The threads being
 * created share a fixed number of places. If all are taken, the thread begins as if it were not
 * observed.
 */
#include "preload/births.h"

#include "preload/hook.h"
#include "preload/libc_find.h"
#include "preload/lookup.h"
#include "preload/stack.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>

enum {
	/* Threads between pthread_create() and their first function, in all threads. */
	PLACES = 64,
	TRIES = 8,
};

struct birth {
	uint32_t creator, stack;
	uint64_t ticks; /* 0: the thread was not observed */
};

struct place {
	_Atomic bool is_taken;
	void *(*begin)(void *);
	void *argument;
	struct birth birth;
};

static struct {
	struct place places[PLACES];
	_Atomic uint32_t next;
} g;

static THREAD_LOCAL struct birth own;

static struct place *take_place(void)
{
	for (int i = 0; i < TRIES; i++) {
		uint32_t n = atomic_fetch_add_explicit(&g.next, 1, memory_order_relaxed);
		struct place *p = &g.places[n % PLACES];
		bool was_taken = false;
		if (atomic_compare_exchange_strong(&p->is_taken, &was_taken, true))
			return p;
	}
	return NULL;
}

static void leave_place(struct place *p)
{
	atomic_store_explicit(&p->is_taken, false, memory_order_release);
}

static void write_record(enum thread_event event, const struct birth *b)
{
	struct rec_thread *r = journal_reserve(&hook_thread.writer, REC_THREAD, sizeof(*r));
	if (!r)
		return;
	*r = (struct rec_thread){ .kind = REC_THREAD,
				  .words = sizeof(*r) / 8,
				  .event = (uint16_t)event,
				  .stack = b->stack,
				  .ticks = b->ticks,
				  .creator = b->creator };
	journal_commit(&hook_thread.writer, sizeof(*r));
}

void births_write_own(void)
{
	if (LIKELY(!own.ticks))
		return;
	write_record(THREAD_BEGINS, &own);
	own.ticks = 0;
}

/* Not within a CUDA call: threads of the driver and of CUPTI are no part of the program. */
static inline bool is_observed(void)
{
	return UNLIKELY(hook_takes_stack(CAT_LAUNCH)) && hook_records(CAT_LAUNCH) &&
	       !hook_thread.depth;
}

/* Writes what the calling thread does, and where. */
static struct birth note(enum thread_event event, const struct unwind_regs *regs)
{
	int saved = errno;
	hook_thread.depth = 1;
	if (!hook_thread.has_end)
		hook_thread_begin();
	struct birth b = { .creator = hook_thread.writer.slot,
			   .stack = stack_take(regs),
			   .ticks = hook_ticks() };
	write_record(event, &b);
	hook_thread.depth = 0;
	errno = saved;
	return b;
}

/* The first function of an observed thread. */
static void *begin(void *place)
{
	struct place *p = place;
	void *(*function)(void *) = p->begin;
	void *argument = p->argument;
	own = p->birth;
	leave_place(p);
	return function(argument);
}

/* Returns the function that would be called without this library. */
static void *find(const char *name, _Atomic(void *) *known)
{
	void *next = atomic_load_explicit(known, memory_order_relaxed);
	if (next)
		return next;
	next = lookup_dlsym(RTLD_NEXT, name);
	/* with an old glibc, libpthread may be loaded out of RTLD_NEXT's sight */
	if (!next)
		next = libc_find(name);
	atomic_store_explicit(known, next, memory_order_relaxed);
	return next;
}

EXPORT int hooked_create(pthread_t *thread, const pthread_attr_t *attributes,
			 void *(*function)(void *), void *argument) __asm__("pthread_create");
EXPORT int hooked_join(pthread_t thread, void **result) __asm__("pthread_join");

int hooked_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *),
		  void *argument)
{
	static _Atomic(void *) real;
	int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) =
		(__typeof__(next))find("pthread_create", &real);
	if (!next)
		return EAGAIN;
	struct place *p = is_observed() ? take_place() : NULL;
	if (!p)
		return next(thread, attributes, function, argument);
	p->begin = function;
	p->argument = argument;
	p->birth = note(THREAD_CREATES, CALLER_REGS);
	int status = next(thread, attributes, begin, p);
	if (status)
		leave_place(p);
	return status;
}

/* A loop may join its threads without a call of CUDA. Then this shows that it went on. */
int hooked_join(pthread_t thread, void **result)
{
	static _Atomic(void *) real;
	int (*next)(pthread_t, void **) = (__typeof__(next))find("pthread_join", &real);
	if (!next)
		return EINVAL;
	int status = next(thread, result);
	if (is_observed())
		note(THREAD_JOINS, CALLER_REGS);
	return status;
}
