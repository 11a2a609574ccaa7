/* See journal_guard.h. The handler calls only async-signal-safe functions. */
#include "core/runtime/journal_guard.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct {
	struct journal_guard *_Atomic first;
	uintptr_t page; /* bytes of a page */
	struct sigaction before;
} all;

/* Returns the guard of the mapping that contains the address; NULL if there is none. */
static struct journal_guard *find(uintptr_t address)
{
	struct journal_guard *g = atomic_load(&all.first);
	for (; g; g = atomic_load(&g->next)) {
		uintptr_t base = atomic_load(&g->base);
		if (base && address >= base && address < g->end)
			return g;
	}
	return NULL;
}

/* Puts memory in the place of the page of `address` and of those after it. */
static bool replace_pages(struct journal_guard *g, uintptr_t address)
{
	uintptr_t from = address & -all.page, to = atomic_load(&g->lost_from);
	if (from >= to)
		return true; /* another thread has just replaced them */
	if (mmap((void *)from, to - from, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) == MAP_FAILED)
		return false;
	atomic_store(&g->lost_from, from);
	atomic_store(&g->has_lost, true);
	return true;
}

/* Does what would have happened without this handler. */
static void pass_on(int number, siginfo_t *info, void *context)
{
	if (all.before.sa_flags & SA_SIGINFO) {
		all.before.sa_sigaction(number, info, context);
		return;
	}
	if (all.before.sa_handler != SIG_DFL && all.before.sa_handler != SIG_IGN) {
		all.before.sa_handler(number);
		return;
	}
	bool is_sent = info->si_code <= 0;
	if (is_sent && all.before.sa_handler == SIG_IGN)
		return;
	/* a fault happens again when the handler returns, and then ends the process */
	struct sigaction usual = { .sa_handler = SIG_DFL };
	sigaction(number, &usual, NULL);
	if (is_sent)
		syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), number);
}

static void on_bus_error(int number, siginfo_t *info, void *context)
{
	int saved = errno;
	uintptr_t address = (uintptr_t)info->si_addr;
	struct journal_guard *ours = info->si_code > 0 ? find(address) : NULL;
	if (!ours || !replace_pages(ours, address))
		pass_on(number, info, context);
	errno = saved;
}

/* Installs the handler. A forked child has inherited the handler and `before`. */
static void install(void)
{
	struct sigaction before, ours = { .sa_sigaction = on_bus_error,
					  .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART };
	if (sigaction(SIGBUS, NULL, &before))
		return;
	if (before.sa_flags & SA_SIGINFO && before.sa_sigaction == on_bus_error)
		return;
	all.before = before;
	sigemptyset(&ours.sa_mask);
	sigaction(SIGBUS, &ours, NULL);
}

/* Returns where the list refers to the guard; its end if the guard is not in the list. */
static struct journal_guard *_Atomic *place(const struct journal_guard *g)
{
	struct journal_guard *_Atomic *at = &all.first;
	while (atomic_load(at) && atomic_load(at) != g)
		at = &atomic_load(at)->next;
	return at;
}

void journal_guard_begin(struct journal_guard *g, void *base, size_t bytes)
{
	all.page = (uintptr_t)sysconf(_SC_PAGESIZE);
	journal_guard_end(g);
	atomic_store(&g->has_lost, false);
	g->end = (uintptr_t)base + bytes;
	atomic_store(&g->lost_from, g->end);
	atomic_store(&g->next, NULL);
	atomic_store(&g->base, (uintptr_t)base);
	atomic_store(place(g), g);
	install();
}

bool journal_guard_has_lost(const struct journal_guard *g)
{
	return atomic_load_explicit(&g->has_lost, memory_order_relaxed);
}

void journal_guard_end(struct journal_guard *g)
{
	struct journal_guard *_Atomic *at = place(g);
	atomic_store(&g->base, 0);
	if (atomic_load(at))
		atomic_store(at, atomic_load(&g->next));
}
