/*
 * Simulates a bug of CUPTI 13.0 that was seen on an H100. The bug is triggered if kernels or copies
 * are switched off while both are recorded and a recorded copy within a device is under way. From
 * then until cuptiFinalize, no kernel gets a record while both kinds are on. (The real CUPTI
 * sometimes crashes.) Any thread.
 */
#include "test/sim/cupti_sim.h"

/* A recorded copy whose end is not known yet. */
struct unknown {
	struct unknown *next;
	uint64_t op_id;
};

static struct unknown *unknown;
static int64_t known_end_ns; /* latest end of the copies whose end is known */
static bool broken;

static void end_note(int64_t end_ns)
{
	if (end_ns > known_end_ns)
		known_end_ns = end_ns;
}

void cupti_copy_note(const struct sim_op *op)
{
	if (op->u.copy.kind != CUPTI_ACTIVITY_MEMCPY_KIND_DTOD)
		return;
	pthread_mutex_lock(&cupti_lock);
	if (op->resolved) {
		end_note(op->end_ns);
	} else {
		struct unknown *u = malloc(sizeof(*u));
		*u = (struct unknown){ unknown, op->id };
		unknown = u;
	}
	pthread_mutex_unlock(&cupti_lock);
}

void cupti_copy_resolve(uint64_t op_id, int64_t end_ns)
{
	pthread_mutex_lock(&cupti_lock);
	struct unknown **at = &unknown;
	while (*at && (*at)->op_id != op_id)
		at = &(*at)->next;
	struct unknown *u = *at;
	if (u) {
		end_note(end_ns);
		*at = u->next;
		free(u);
	}
	pthread_mutex_unlock(&cupti_lock);
}

static bool kernels_and_copies_on(void)
{
	return cupti_kind_on(CUPTI_ACTIVITY_KIND_MEMCPY) &&
	       (cupti_kind_on(CUPTI_ACTIVITY_KIND_KERNEL) ||
		cupti_kind_on(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
}

void cupti_copies_switching_off(CUpti_ActivityKind kind)
{
	bool either = kind == CUPTI_ACTIVITY_KIND_MEMCPY || kind == CUPTI_ACTIVITY_KIND_KERNEL ||
		      kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
	if (!either || !cupti_kind_on(kind) || !kernels_and_copies_on())
		return;
	pthread_mutex_lock(&cupti_lock);
	if (unknown || known_end_ns > sim_now_ns())
		__atomic_store_n(&broken, true, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&cupti_lock);
}

bool cupti_kernels_lost(void)
{
	return __atomic_load_n(&broken, __ATOMIC_RELAXED) && kernels_and_copies_on();
}

void cupti_copies_reset(void)
{
	pthread_mutex_lock(&cupti_lock);
	while (unknown) {
		struct unknown *u = unknown;
		unknown = u->next;
		free(u);
	}
	known_end_ns = 0;
	__atomic_store_n(&broken, false, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&cupti_lock);
}
