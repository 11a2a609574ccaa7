/*
 * Activity buffers. A thread that has a record to write requests a buffer from the consumer.
 * CUPTI's own worker thread delivers full buffers once all their records are complete. A thread
 * that flushes delivers the others. No function calls the consumer while it holds cupti_lock.
 */
#include "test/sim/cupti_sim.h"

#include "cupti_impl.h"

#include <stdio.h>

struct buffer {
	struct buffer *next;
	uint8_t *data;
	size_t bytes, used, records, most_records;
	int64_t complete_ns; /* when the known end times of all records have passed */
	int unresolved;	     /* number of records whose end is not known */
};

/* Writes the records of one thread, or of all threads if buffers are not per thread. */
struct writer {
	struct writer *next;
	struct buffer *open;
};

struct unresolved {
	struct unresolved *next;
	uint64_t op_id;
	struct buffer *buffer;
	size_t offset;
};

static CUpti_BuffersCallbackRequestFunc request;
static CUpti_BuffersCallbackCompleteFunc complete;
static struct writer common, *writers = &common;
static __thread struct writer *mine;
static bool per_thread = SIM_CUPTI >= 13;
static struct buffer *full, **full_end = &full, *spare;
static struct unresolved *unresolved;
static size_t dropped;
static uint64_t records_seen;
static uint32_t period_ms;
static pthread_cond_t wake;
static pthread_once_t worker_once = PTHREAD_ONCE_INIT;

void cupti_per_thread_set(bool on)
{
	per_thread = on;
}

bool cupti_buffer_registered(void)
{
	return request != NULL;
}

size_t cupti_dropped_take(void)
{
	pthread_mutex_lock(&cupti_lock);
	size_t n = dropped;
	dropped = 0;
	pthread_mutex_unlock(&cupti_lock);
	return n;
}

/* Returns the calling thread's writer. The writer outlives its thread, so that a later flush finds
 * the thread's records. Requires cupti_lock. */
static struct writer *writer_get(void)
{
	if (!per_thread)
		return &common;
	if (!mine) {
		mine = calloc(1, sizeof(*mine));
		mine->next = common.next;
		common.next = mine;
	}
	return mine;
}

/* Moves the writer's open buffer to the list of full buffers. Requires cupti_lock. */
static void buffer_retire(struct writer *w)
{
	*full_end = w->open;
	full_end = &w->open->next;
	w->open = NULL;
	pthread_cond_signal(&wake);
}

/* Requests a buffer from the consumer. Returns NULL if the consumer gave none. Call without
 * cupti_lock. */
static struct buffer *buffer_request(void)
{
	uint8_t *data = NULL;
	size_t bytes = 0, most = 0;
	CUpti_BuffersCallbackRequestFunc f = request;
	if (f)
		f(&data, &bytes, &most);
	if (!data || bytes < 1024)
		return NULL;
	struct buffer *b = calloc(1, sizeof(*b));
	b->data = data;
	b->bytes = bytes;
	b->most_records = most ?: SIZE_MAX;
	if (cupti_mode()->buffer_records)
		b->most_records = cupti_mode()->buffer_records;
	return b;
}

static bool buffer_has_room(const struct buffer *b, size_t bytes, int records)
{
	/* An empty buffer takes any number of records, because these records must stay together. */
	return b->used + bytes <= b->bytes &&
	       (!b->records || b->records + records <= b->most_records);
}

/* Returns the calling thread's open buffer with room for the records, or NULL if the consumer gave
 * none. Requires cupti_lock on entry and exit, but releases it in between. */
static struct buffer *buffer_open(size_t bytes, int records)
{
	struct writer *w = writer_get();
	if (w->open && !buffer_has_room(w->open, bytes, records))
		buffer_retire(w);
	if (!w->open && spare) {
		w->open = spare;
		spare = spare->next;
		w->open->next = NULL;
	}
	if (w->open)
		return w->open;
	pthread_mutex_unlock(&cupti_lock);
	struct buffer *b = buffer_request();
	pthread_mutex_lock(&cupti_lock);
	if (b && w->open) {
		b->next = spare;
		spare = b;
	} else if (b) {
		w->open = b;
	}
	return w->open;
}

static bool drop_due(void)
{
	long every = cupti_mode()->drop_every;
	return every && ++records_seen % every == 0;
}

void cupti_buffer_write(const struct write *records, int count, int64_t end_ns, uint64_t op_id)
{
	size_t bytes = 0;
	if (!request)
		return;
	cupti_clock_note();
	for (int i = 0; i < count; i++)
		bytes += records[i].bytes;
	pthread_mutex_lock(&cupti_lock);
	struct buffer *b = buffer_open(bytes, count);
	for (int i = 0; i < count; i++) {
		bool last = i == count - 1;
		if (!b || !buffer_has_room(b, records[i].bytes, 0) || drop_due()) {
			dropped++;
			continue;
		}
		memcpy(b->data + b->used, records[i].record, records[i].bytes);
		if (last && op_id) {
			struct unresolved *u = malloc(sizeof(*u));
			*u = (struct unresolved){ unresolved, op_id, b, b->used };
			unresolved = u;
			b->unresolved++;
		} else if (last && end_ns > b->complete_ns) {
			b->complete_ns = end_ns;
		}
		b->used += records[i].bytes;
		b->records++;
	}
	pthread_mutex_unlock(&cupti_lock);
}

void cupti_buffer_resolve(uint64_t op_id, int64_t start_ns, int64_t end_ns)
{
	pthread_mutex_lock(&cupti_lock);
	struct unresolved **at = &unresolved;
	while (*at && (*at)->op_id != op_id)
		at = &(*at)->next;
	struct unresolved *u = *at;
	if (u) {
		uint64_t *times =
			cupti_record_times((CUpti_Activity *)(u->buffer->data + u->offset));
		times[0] = (uint64_t)start_ns;
		times[1] = (uint64_t)end_ns;
		if (end_ns > u->buffer->complete_ns)
			u->buffer->complete_ns = end_ns;
		u->buffer->unresolved--;
		*at = u->next;
		free(u);
	}
	pthread_cond_signal(&wake);
	pthread_mutex_unlock(&cupti_lock);
}

/* ---- delivery ---- */

static bool buffer_is_complete(const struct buffer *b, int64_t now)
{
	return !b->unresolved && b->complete_ns <= now;
}

/* Forgets the incomplete records of a buffer. Requires cupti_lock. */
static void unresolved_forget(const struct buffer *b)
{
	for (struct unresolved **at = &unresolved; *at;) {
		struct unresolved *u = *at;
		if (u->buffer != b) {
			at = &u->next;
			continue;
		}
		*at = u->next;
		free(u);
	}
}

static bool zero_due(void)
{
	static long seen;
	long every = cupti_mode()->zero_every;
	return every && cupti_clock_is_registered() &&
	       __atomic_add_fetch(&seen, 1, __ATOMIC_RELAXED) % every == 0;
}

/* Delivers a buffer to the consumer. Operations that have not ended are delivered without times,
 * and are not delivered again. Call without cupti_lock. */
static void buffer_deliver(struct buffer *b)
{
	cupti_clock_fix();
	int64_t now = sim_now_ns();
	for (size_t at = 0; at < b->used;) {
		CUpti_Activity *record = (CUpti_Activity *)(b->data + at);
		uint64_t *times = cupti_record_times(record);
		if (times && (!times[1] || (int64_t)times[1] > now || zero_due())) {
			times[0] = times[1] = 0;
		} else if (times) {
			times[0] = cupti_clock_convert((int64_t)times[0]);
			times[1] = cupti_clock_convert((int64_t)times[1]);
		}
		at += cupti_record_bytes(record->kind);
	}
	CUpti_BuffersCallbackCompleteFunc f = complete;
	if (f)
		f(NULL, 0, b->data, b->bytes, b->used);
	free(b);
}

/* Removes the buffers that can be delivered from the lists, and returns them. Requires
 * cupti_lock. */
static struct buffer *buffers_take(bool forced, bool open_ones)
{
	struct buffer *list = NULL, **end = &list;
	int64_t now = sim_now_ns();
	for (struct buffer **at = &full; *at;) {
		struct buffer *b = *at;
		if (!forced && !buffer_is_complete(b, now)) {
			at = &b->next;
			continue;
		}
		*at = b->next;
		*end = b;
		end = &b->next;
	}
	for (full_end = &full; *full_end; full_end = &(*full_end)->next)
		continue;
	for (struct writer *w = writers; open_ones && w; w = w->next) {
		struct buffer *b = w->open;
		if (!b || !b->used || (!forced && !buffer_is_complete(b, now)))
			continue;
		w->open = NULL;
		*end = b;
		end = &b->next;
	}
	*end = NULL;
	for (struct buffer *b = list; b; b = b->next)
		if (b->unresolved)
			unresolved_forget(b);
	return list;
}

static void buffers_deliver(struct buffer *list)
{
	while (list) {
		struct buffer *next = list->next;
		buffer_deliver(list);
		list = next;
	}
}

void cupti_buffer_flush(bool forced)
{
	pthread_mutex_lock(&cupti_lock);
	struct buffer *list = buffers_take(forced, true);
	pthread_mutex_unlock(&cupti_lock);
	buffers_deliver(list);
}

void cupti_buffer_forget(void)
{
	pthread_mutex_lock(&cupti_lock);
	for (struct writer *w = writers; w; w = w->next) {
		if (w->open)
			unresolved_forget(w->open);
		free(w->open);
		w->open = NULL;
	}
	while (spare) {
		struct buffer *next = spare->next;
		free(spare);
		spare = next;
	}
	pthread_mutex_unlock(&cupti_lock);
}

/* Returns when the worker must look again: at the next full buffer's completion, or after the flush
 * period. */
static int64_t worker_next(void)
{
	int64_t next = sim_now_ns() + (period_ms ? period_ms * 1000000ll : 100000000ll);
	for (struct buffer *b = full; b; b = b->next)
		if (!b->unresolved && b->complete_ns < next)
			next = b->complete_ns;
	return next;
}

static void *worker_main(void *unused)
{
	(void)unused;
	pthread_setname_np(pthread_self(), "cupti-worker");
	int64_t flushed = sim_now_ns();
	pthread_mutex_lock(&cupti_lock);
	for (;;) {
		int64_t next = worker_next();
		struct timespec t = { next / 1000000000, next % 1000000000 };
		pthread_cond_timedwait(&wake, &cupti_lock, &t);
		int64_t now = sim_now_ns();
		bool period = period_ms && now - flushed >= period_ms * 1000000ll;
		if (period)
			flushed = now;
		struct buffer *list = buffers_take(false, period);
		pthread_mutex_unlock(&cupti_lock);
		cupti_clock_note();
		buffers_deliver(list);
		pthread_mutex_lock(&cupti_lock);
	}
	return NULL;
}

static void worker_start(void)
{
	pthread_condattr_t clock;
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&wake, &clock);
	pthread_attr_t detached;
	pthread_attr_init(&detached);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	pthread_t thread;
	if (pthread_create(&thread, &detached, worker_main, NULL))
		sim_log("no thread for CUPTI's worker: full buffers wait for a flush");
}

CUptiResult cupti_buffer_register(CUpti_BuffersCallbackRequestFunc r,
				  CUpti_BuffersCallbackCompleteFunc c)
{
	pthread_once(&worker_once, worker_start);
	pthread_mutex_lock(&cupti_lock);
	/*
	 * There is one pair of callbacks for the whole process. The last registration applies to
	 * earlier buffers, too.
	 */
	request = r;
	complete = c;
	pthread_mutex_unlock(&cupti_lock);
	return CUPTI_SUCCESS;
}

void cupti_buffer_period(uint32_t ms)
{
	pthread_mutex_lock(&cupti_lock);
	period_ms = ms;
	pthread_mutex_unlock(&cupti_lock);
	if (ms) {
		pthread_once(&worker_once, worker_start);
		pthread_cond_signal(&wake);
	}
}
