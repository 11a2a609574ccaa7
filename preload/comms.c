#include "preload/comms.h"

#include "core/runtime/token.h"
#include "preload/libs.h"

#include <string.h>

enum {
	/* most communicators at a time; a job with three kinds of parallelism has about ten */
	SLOTS = 256,
	IN_PROGRESS = 7, /* ncclInProgress */
};

struct comm {
	/* NULL: the slot was never used; &gone: the communicator was destroyed */
	_Atomic(void *) handle;
	uint64_t name; /* the same in all ranks; 0: unknown */
	uint32_t n_ranks, rank;
	_Atomic uint32_t sequence, n_splits;
};

static struct comm table[SLOTS];
static char gone;

static struct comm *find(void *handle)
{
	uint32_t at = (uint32_t)((uintptr_t)handle * TOKEN_K0 >> 40);
	for (uint32_t i = 0; handle && i < SLOTS; i++) {
		struct comm *c = &table[(at + i) % SLOTS];
		void *there = atomic_load_explicit(&c->handle, memory_order_acquire);
		if (there == handle)
			return c;
		if (!there)
			break;
	}
	return NULL;
}

static struct comm *claim(void *handle)
{
	uint32_t at = (uint32_t)((uintptr_t)handle * TOKEN_K0 >> 40);
	struct comm *c = find(handle);
	for (uint32_t i = 0; handle && !c && i < SLOTS; i++) {
		struct comm *s = &table[(at + i) % SLOTS];
		void *there = atomic_load_explicit(&s->handle, memory_order_relaxed);
		if ((!there || there == &gone) &&
		    atomic_compare_exchange_strong(&s->handle, &there, handle))
			c = s;
	}
	return c;
}

static void put(void *handle, uint64_t name, int rank, int n_ranks)
{
	struct comm *c = claim(handle);
	if (!c)
		return;
	c->name = name;
	c->rank = (uint32_t)rank;
	c->n_ranks = n_ranks > 0 ? (uint32_t)n_ranks : 0;
	atomic_store(&c->sequence, 0);
	atomic_store(&c->n_splits, 0);
}

static uint64_t name_of(const struct nccl_id *id)
{
	uint64_t h = 0, word;
	for (size_t i = 0; i < sizeof(id->bytes); i += sizeof(word)) {
		memcpy(&word, id->bytes + i, sizeof(word));
		h = token_fold(h ^ word, TOKEN_K0) ^ h >> 32;
	}
	return h ? h : 1;
}

static bool is_made(int status)
{
	return !status || status == IN_PROGRESS;
}

void comms_learn(int status, void *const *comm, const struct nccl_id *id, int rank, int n_ranks)
{
	if (is_made(status) && comm && *comm)
		put(*comm, name_of(id), rank, n_ranks);
}

void comms_learn_all(int status, void *const *comms, int n)
{
	for (int i = 0; is_made(status) && comms && i < n; i++)
		put(comms[i], token_fold((uintptr_t)comms[0], TOKEN_K1) | 1, i, n);
}

/*
 * Gets the communicator's rank and size from NCCL, because after a split they depend on what the
 * other ranks passed. Sets -1 for what NCCL does not return.
 */
static void ask_nccl(void *handle, int *rank, int *n_ranks)
{
	static _Atomic(void *) cached[2];
	static const char *const names[] = { "ncclCommUserRank", "ncclCommCount" };
	int *const answers[] = { rank, n_ranks };
	for (int i = 0; i < 2; i++) {
		int (*get)(void *, int *) = (__typeof__(get))atomic_load(&cached[i]);
		if (!get) {
			get = (__typeof__(get))libs_helper(names[i], LIB_NCCL, NULL);
			atomic_store(&cached[i], (void *)get);
		}
		if (!get || get(handle, answers[i]))
			*answers[i] = -1;
	}
}

static void put_asked(void *handle, uint64_t name)
{
	int rank = -1, n_ranks = -1;
	ask_nccl(handle, &rank, &n_ranks);
	put(handle, name, rank, n_ranks);
}

void comms_learn_split(int status, void *comm, int color, void *const *made)
{
	struct comm *parent = find(comm);
	uint32_t n = parent ? atomic_fetch_add(&parent->n_splits, 1) + 1 : 0;
	/*
	 * If NCCL is still creating the communicator, its rank is queried at its first collective,
	 * in comms_count().
	 */
	if (status || !made || !*made)
		return;
	uint64_t name = parent && parent->name
				? token_fold(parent->name ^ ((uint64_t)n << 32 | (uint32_t)color),
					     TOKEN_K1) |
					  1
				: 0;
	put_asked(*made, name);
}

void comms_forget(void *comm)
{
	struct comm *c = find(comm);
	if (c)
		atomic_store(&c->handle, &gone);
}

void comms_count(void *comm)
{
	struct comm *c = find(comm);
	/* a NULL communicator is not queried: NCCL would print two more error messages */
	if (!c && comm) {
		put_asked(comm, 0);
		c = find(comm);
	}
	if (c)
		atomic_fetch_add_explicit(&c->sequence, 1, memory_order_relaxed);
}

void comms_fill(struct rec_library *l, void *comm)
{
	const struct comm *c = find(comm);
	l->nccl.comm = c ? c->name : 0;
	l->nccl.rank = c ? (uint16_t)c->rank : UINT16_MAX;
	l->nccl.n_ranks = c ? (uint16_t)c->n_ranks : 0;
	l->nccl.sequence = c ? atomic_load_explicit(&c->sequence, memory_order_relaxed) : 0;
}
