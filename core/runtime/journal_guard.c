/* See journal_guard.h. The handler calls only async-signal-safe functions. */
#include "core/runtime/journal_guard.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct {
	_Atomic uintptr_t base; /* 0: nothing is protected */
	/* where pages are missing that memory has replaced; the end of the mapping: nowhere */
	_Atomic uintptr_t lost_from;
	_Atomic bool has_lost;
	uintptr_t end, page;
	struct sigaction before;
} g;

/* Puts memory in the place of the page of `address` and of those after it. */
static bool replace_pages(uintptr_t address)
{
	uintptr_t from = address & -g.page, to = atomic_load(&g.lost_from);
	if (from >= to)
		return true; /* another thread has just replaced them */
	if (mmap((void *)from, to - from, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) == MAP_FAILED)
		return false;
	atomic_store(&g.lost_from, from);
	atomic_store(&g.has_lost, true);
	return true;
}

/* Does what would have happened without this handler. */
static void pass_on(int number, siginfo_t *info, void *context)
{
	if (g.before.sa_flags & SA_SIGINFO) {
		g.before.sa_sigaction(number, info, context);
		return;
	}
	if (g.before.sa_handler != SIG_DFL && g.before.sa_handler != SIG_IGN) {
		g.before.sa_handler(number);
		return;
	}
	bool is_sent = info->si_code <= 0;
	if (is_sent && g.before.sa_handler == SIG_IGN)
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
	uintptr_t base = atomic_load(&g.base), address = (uintptr_t)info->si_addr;
	bool is_ours = base && info->si_code > 0 && address >= base && address < g.end;
	if (!is_ours || !replace_pages(address))
		pass_on(number, info, context);
	errno = saved;
}

void journal_guard(void *base, size_t bytes)
{
	struct sigaction ours = { .sa_sigaction = on_bus_error,
				  .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART };
	sigemptyset(&ours.sa_mask);
	g.page = (uintptr_t)sysconf(_SC_PAGESIZE);
	atomic_store(&g.has_lost, false);
	g.end = (uintptr_t)base + bytes;
	atomic_store(&g.lost_from, g.end);
	struct sigaction before;
	if (sigaction(SIGBUS, NULL, &before))
		return;
	/* a forked child has inherited the handler and `before` */
	if (!(before.sa_flags & SA_SIGINFO) || before.sa_sigaction != on_bus_error)
		g.before = before;
	atomic_store(&g.base, (uintptr_t)base);
	sigaction(SIGBUS, &ours, NULL);
}

bool journal_guard_has_lost(void)
{
	return atomic_load_explicit(&g.has_lost, memory_order_relaxed);
}

void journal_guard_forget(void)
{
	atomic_store(&g.base, 0);
}
