/*
 * Meetings of ranks in shared memory. When a rank's kernel starts, it stores its start time there.
 * When all ranks have done so, each rank knows the latest start, at which the transfer begins. A
 * thread sleeps in this file only while a communicator is created. At all other times the driver's
 * helper thread asks repeatedly whether the meeting is over (sim_meeting).
 *
 * A rank enters its next collective only after all ranks have entered this one. Two places, used
 * alternately, are therefore enough.
 */
#include "test/sim/libs_nccl.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

struct place {
	_Atomic uint64_t n_come; /* number of entries in all iterations; never reset */
	_Atomic int64_t last_ns;
};

/* Messages from one rank to another. Each side counts its own entries. */
struct pair {
	struct {
		_Atomic uint32_t n_come;
		_Atomic int64_t start_ns[2];
	} side[2]; /* sender, receiver */
};

struct segment {
	_Atomic uint32_t n_joined;
	_Atomic uint32_t n_given[2], iterations;
	int given[2][RANKS_MOST][2];
	struct place places[2];
	struct pair pairs[RANKS_MOST][RANKS_MOST];
	char data[2][RANKS_MOST][DATA_BYTES];
};

static double timeout_ns(void)
{
	const struct sim_tools *tools = libs_tools();
	return (tools ? tools->settings->nccl_timeout_s : 60) * 1e9;
}

/* ---- Making a communicator ---- */

int nccl_join(struct nccl_comm *c, bool waits)
{
	if (c->n == 1)
		return 0;
	int fd = shm_open(c->id.name, O_RDWR | O_CREAT, 0600);
	void *at = MAP_FAILED;
	if (fd >= 0 && !ftruncate(fd, sizeof(struct segment)))
		at = mmap(NULL, sizeof(struct segment), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd >= 0)
		close(fd);
	if (at == MAP_FAILED) {
		sim_log("NCCL: rank %d of %d: no shared memory %s", c->rank, c->n, c->id.name);
		return NCCL_SYSTEM_ERROR;
	}
	c->shared = at;
	/* the last rank that joins unlinks the name, so that nothing is left over if a rank dies
	 * later */
	if (atomic_fetch_add(&c->shared->n_joined, 1) + 1 == (uint32_t)c->n)
		shm_unlink(c->id.name);
	return waits ? nccl_wait_joined(c) : 0;
}

static int wait_for(struct nccl_comm *c, _Atomic uint32_t *count, uint32_t wanted, const char *what)
{
	int64_t begun_ns = sim_now_ns();
	while (atomic_load(count) < wanted) {
		if ((double)(sim_now_ns() - begun_ns) > timeout_ns()) {
			sim_log("NCCL: rank %d of %d: only %u ranks came to %s within %g s "
				"(PROFSIM_NCCL_TIMEOUT_S)",
				c->rank, c->n, atomic_load(count) - (wanted - (uint32_t)c->n), what,
				timeout_ns() / 1e9);
			shm_unlink(c->id.name);
			return NCCL_SYSTEM_ERROR;
		}
		sim_sleep_until(sim_now_ns() + 200000);
	}
	return 0;
}

int nccl_wait_joined(struct nccl_comm *c)
{
	return c->shared ? wait_for(c, &c->shared->n_joined, (uint32_t)c->n,
				    "the communicator's beginning")
			 : 0;
}

void nccl_leave(struct nccl_comm *c)
{
	if (c->shared)
		munmap(c->shared, sizeof(struct segment));
	c->shared = NULL;
}

int nccl_exchange(struct nccl_comm *c, const int mine[2], int all[RANKS_MOST][2])
{
	if (!c->shared) {
		memcpy(all[0], mine, sizeof(all[0]));
		return 0;
	}
	uint32_t iteration = c->splits, at = iteration % 2;
	memcpy(c->shared->given[at][c->rank], mine, sizeof(all[0]));
	atomic_fetch_add(&c->shared->n_given[at], 1);
	int rc = wait_for(c, &c->shared->n_given[at], (uint32_t)c->n * (iteration / 2 + 1),
			  "ncclCommSplit");
	memcpy(all, c->shared->given[at], sizeof(c->shared->given[at]));
	return rc;
}

/* ---- Bytes ---- */

static char *area_of(const struct nccl_call *k, int rank)
{
	return k->comm->shared->data[k->number % 2][rank];
}

static bool is_small(const struct nccl_call *k)
{
	size_t parts = k->move == MOVE_PARTS ? (size_t)k->comm->n : 1;
	return k->bytes * parts <= DATA_BYTES;
}

static void give(const struct nccl_call *k)
{
	bool is_root = k->comm->rank == k->root;
	size_t bytes = k->move == MOVE_PARTS ? k->bytes * (size_t)k->comm->n : k->bytes;
	bool gives = k->move == MOVE_TO_ALL || k->move == MOVE_TO_ROOT ||
		     ((k->move == MOVE_FROM_ROOT || k->move == MOVE_PARTS) && is_root);
	if (gives && is_small(k))
		libs_tools()->device_read(area_of(k, k->comm->rank), k->from, bytes);
}

static void take(const struct nccl_call *k)
{
	void (*write)(void *, const void *, size_t) = libs_tools()->device_write;
	int n = k->comm->n, rank = k->comm->rank;
	char *to = k->to;
	if (k->move == MOVE_FROM_ROOT && (rank != k->root || k->to != k->from))
		write(to, is_small(k) ? area_of(k, k->root) : NULL, k->bytes);
	if (k->move == MOVE_TO_ALL || (k->move == MOVE_TO_ROOT && rank == k->root))
		for (int i = 0; i < n; i++)
			write(to + (size_t)i * k->bytes, is_small(k) ? area_of(k, i) : NULL,
			      k->bytes);
	if (k->move == MOVE_PARTS)
		write(to, is_small(k) ? area_of(k, k->root) + (size_t)rank * k->bytes : NULL,
		      k->bytes);
	if (k->move == MOVE_SUM && to)
		write(to, NULL, k->bytes);
}

/* ---- Meetings ---- */

static void come_to_place(const struct nccl_call *k, int64_t start_ns)
{
	struct place *p = &k->comm->shared->places[k->number % 2];
	int64_t last_ns = atomic_load(&p->last_ns);
	give(k);
	while (last_ns < start_ns && !atomic_compare_exchange_weak(&p->last_ns, &last_ns, start_ns))
		;
	atomic_fetch_add(&p->n_come, 1);
}

static bool is_send(const struct nccl_call *k)
{
	return k->from != NULL;
}

static struct pair *pair_of(const struct nccl_call *k)
{
	int rank = k->comm->rank;
	return is_send(k) ? &k->comm->shared->pairs[rank][k->root]
			  : &k->comm->shared->pairs[k->root][rank];
}

static void come_to_pair(const struct nccl_call *k, int64_t start_ns)
{
	struct pair *p = pair_of(k);
	int own = !is_send(k);
	atomic_store(&p->side[own].start_ns[k->number % 2], start_ns);
	atomic_store(&p->side[own].n_come, (uint32_t)k->number + 1);
}

/* Returns when the last rank entered; -1 if not all have entered. */
static int64_t all_come_ns(const struct nccl_call *k, bool is_group, int64_t start_ns)
{
	if (!is_group) {
		struct place *p = &k->comm->shared->places[k->number % 2];
		uint64_t wanted = (uint64_t)k->comm->n * (k->number / 2 + 1);
		return atomic_load(&p->n_come) < wanted ? -1 : atomic_load(&p->last_ns);
	}
	struct pair *p = pair_of(k);
	int other = is_send(k);
	if (atomic_load(&p->side[other].n_come) <= k->number)
		return -1;
	int64_t theirs_ns = atomic_load(&p->side[other].start_ns[k->number % 2]);
	return theirs_ns > start_ns ? theirs_ns : start_ns;
}

static void come(struct nccl_meeting *m, int64_t start_ns)
{
	m->has_come = true;
	m->asked_ns = sim_now_ns();
	for (int i = 0; i < m->n_calls; i++) {
		if (m->is_group)
			come_to_pair(&m->calls[i], start_ns);
		else
			come_to_place(&m->calls[i], start_ns);
	}
}

static bool is_too_late(struct nccl_meeting *m)
{
	const struct nccl_call *k = &m->calls[0];
	if ((double)(sim_now_ns() - m->asked_ns) < timeout_ns())
		return false;
	sim_log("NCCL: rank %d of %d waited %g s in %s number %llu for the other ranks and gives "
		"up "
		"(PROFSIM_NCCL_TIMEOUT_S)",
		m->comm->rank, m->comm->n, timeout_ns() / 1e9, k->function,
		(unsigned long long)k->number + 1);
	atomic_store(&m->comm->error, NCCL_REMOTE_ERROR);
	return true;
}

static int64_t over(struct nccl_meeting *m, int64_t end_ns)
{
	free(m);
	return end_ns;
}

int64_t nccl_meets(void *arg, int64_t start_ns)
{
	struct nccl_meeting *m = arg;
	int64_t end_ns = start_ns;
	if (!m->has_come)
		come(m, start_ns);
	for (int i = 0; i < m->n_calls; i++) {
		const struct nccl_call *k = &m->calls[i];
		bool is_lost = atomic_load(&m->comm->aborted) || atomic_load(&m->comm->error);
		int64_t met_ns = is_lost ? -1 : all_come_ns(k, m->is_group, start_ns);
		if (met_ns < 0 && (is_lost || is_too_late(m)))
			return over(m, sim_now_ns());
		if (met_ns < 0)
			return -1;
		met_ns += (int64_t)k->transfer_ns;
		end_ns = met_ns > end_ns ? met_ns : end_ns;
	}
	for (int i = 0; i < m->n_calls && !m->is_group; i++)
		take(&m->calls[i]);
	return over(m, end_ns);
}
