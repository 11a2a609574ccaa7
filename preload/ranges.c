/*
 * Tracks the open ranges: for each thread those that are bound to it (push and pop), and in one
 * table those that are not bound to a thread (start and end).
 */
#include "preload/ranges.h"

#include "core/runtime/at_start.h"
#include "preload/steps.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

enum {
	OPEN_MOST = 64, /* ranges pushed deeper than this are only counted */
	TEXT_BYTES = 4096,
	STARTED_BITS = 8,
	/* Ranges that can be started and not ended at one time. This number in place of an index in
	 * an id means that the range has no slot in the table. */
	STARTED_MOST = (1 << STARTED_BITS) - 1,
	STARTED_TEXT_BYTES = 64,
	NO_LEVEL = -1,
};

struct open_range {
	uint64_t ticks; /* when it was opened; 0: before the journal's clock was known */
	uint64_t id;
	struct range_domain *domain;
	struct range_name *registered;
	uint32_t color;
	int16_t level;
	/* offset of the name in range_thread's text, if the name is not registered */
	uint16_t text;
	bool is_written;
};

struct range_thread {
	uint32_t n, n_beyond;
	uint32_t text_used;
	uint64_t last_id;
	struct open_range open[OPEN_MOST];
	char text[TEXT_BYTES];
};

static THREAD_LOCAL struct range_thread *own;
static _Atomic uint64_t n_threads;
static pthread_key_t end_key;
static pthread_once_t end_key_once = PTHREAD_ONCE_INIT;

/* ---- A thread's memory ---- */

static void thread_ended(void *t)
{
	own = NULL;
	munmap(t, sizeof(struct range_thread));
}

static void make_end_key(void)
{
	if (pthread_key_create(&end_key, thread_ended))
		end_key = (pthread_key_t)-1;
}

static struct range_thread *make_thread(void)
{
	int saved = errno;
	pthread_once(&end_key_once, make_end_key);
	struct range_thread *t = MAP_FAILED;
	if (end_key != (pthread_key_t)-1)
		t = mmap(NULL, sizeof(*t), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			 0);
	if (t != MAP_FAILED) {
		pthread_setspecific(end_key, t);
		own = t;
		/* threads that share a slot (lanes.h) must not use the same ids */
		t->last_id = atomic_fetch_add_explicit(&n_threads, 1, memory_order_relaxed) << 32;
	}
	errno = saved;
	return own;
}

static inline struct range_thread *thread_of(void)
{
	return LIKELY(own != NULL) ? own : make_thread();
}

/* ---- Records ---- */

static inline bool is_recording(void)
{
	return atomic_load_explicit(&hook_switch.ranges, memory_order_relaxed) &&
	       !hook_thread.depth;
}

/* Returns the current ticks, or 0 before the first CUDA call, when the journal's clock is not known
 * yet. */
static inline uint64_t ticks_now(void)
{
	return atomic_load_explicit(&hook_switch.setup, memory_order_relaxed) ? hook_ticks() : 0;
}

static void write_range(enum range_event event, uint32_t name, uint64_t ticks, uint64_t id,
			struct range_domain *domain, uint32_t color)
{
	struct journal_writer *w = &hook_thread.writer;
	uint32_t depth = hook_thread.depth, domain_id = range_domain_id(domain);
	hook_thread.depth = 1; /* CUDA calls of a signal handler are not recorded meanwhile */
	if (UNLIKELY(!hook_thread.has_end) && !depth)
		hook_thread_begin();
	struct rec_range *r = journal_reserve(w, REC_RANGE, sizeof(*r));
	if (UNLIKELY(!hook_thread.has_end))
		hook_thread_keep();
	if (LIKELY(r != NULL)) {
		*r = (struct rec_range){
			.kind = REC_RANGE,
			.words = sizeof(*r) / 8,
			.event = (uint16_t)event,
			.name = name,
			.ticks = ticks,
			.id = id,
			.domain = domain_id,
			.color = color,
		};
		journal_commit(w, sizeof(*r));
	}
	hook_thread.depth = depth;
}

static uint32_t name_id(const char *text, struct range_name *registered)
{
	if (registered)
		return range_name_registered_id(registered);
	return text ? range_name_id(text, strlen(text)) : 0;
}

/* ---- Ranges that begin steps ---- */

static inline bool begins_step(const struct range_domain *domain, const char *text,
			       const struct range_name *registered)
{
	const char *name = registered ? range_name_text(registered) : text;
	return name && steps_is_anchor_range(range_domain_name(domain), name);
}

static inline void notify_steps(const struct range_domain *domain,
				const struct range_message *message)
{
	if (UNLIKELY(atomic_load_explicit(&hook_switch.steps.ranges, memory_order_relaxed)) &&
	    !hook_thread.depth && begins_step(domain, message->text, message->registered))
		steps_range();
}

/* ---- Push and pop ---- */

static void write_open(struct range_thread *t, struct open_range *o)
{
	o->is_written = true;
	write_range(RANGE_PUSH, name_id(t->text + o->text, o->registered), o->ticks, o->id,
		    o->domain, o->color);
}

void ranges_catch_up(void)
{
	hook_thread.has_ranges_to_write = false;
	for (uint32_t i = 0; own && i < own->n; i++)
		if (!own->open[i].is_written)
			write_open(own, &own->open[i]);
}

/* Copies a name, which is kept while its range is open. Returns the offset of the copy. The copies
 * form a stack. */
static uint16_t keep_text(struct range_thread *t, const char *text)
{
	size_t length = text ? range_name_length(text) : 0, room = TEXT_BYTES - 1 - t->text_used;
	uint16_t at = (uint16_t)t->text_used;
	if (length >= room)
		length = room ? room - 1 : 0;
	if (length)
		memcpy(t->text + at, text, length);
	t->text[at + length] = 0;
	if (room)
		t->text_used += (uint32_t)length + 1;
	return at;
}

static struct open_range *topmost(struct range_thread *t, const struct range_domain *domain)
{
	for (uint32_t i = t->n; i > 0; i--)
		if (t->open[i - 1].domain == domain)
			return &t->open[i - 1];
	return NULL;
}

static int level_beyond(struct range_thread *t, const struct range_domain *domain)
{
	const struct open_range *below = topmost(t, domain);
	return (below ? below->level : NO_LEVEL) + (int)t->n_beyond;
}

int ranges_push(struct range_domain *domain, const struct range_message *message)
{
	struct range_thread *t = thread_of();
	notify_steps(domain, message);
	if (UNLIKELY(!t))
		return NO_LEVEL;
	if (UNLIKELY(t->n == OPEN_MOST)) {
		t->n_beyond++;
		return level_beyond(t, domain);
	}
	bool recording = is_recording();
	if (recording)
		ranges_before_record();
	const struct open_range *below = topmost(t, domain);
	struct open_range *o = &t->open[t->n];
	*o = (struct open_range){
		.ticks = ticks_now(),
		.id = ++t->last_id,
		.domain = domain,
		.registered = message->registered,
		.color = message->color,
		.level = (int16_t)(below ? below->level + 1 : 0),
	};
	o->text = message->registered ? (uint16_t)t->text_used : keep_text(t, message->text);
	t->n++;
	if (recording)
		write_open(t, o);
	else
		hook_thread.has_ranges_to_write = true;
	return o->level;
}

int ranges_pop(struct range_domain *domain)
{
	struct range_thread *t = own;
	if (UNLIKELY(t && t->n_beyond)) {
		int level = level_beyond(t, domain);
		t->n_beyond--;
		return level;
	}
	struct open_range *o = t ? topmost(t, domain) : NULL;
	if (UNLIKELY(!o))
		return NO_LEVEL;
	int level = o->level;
	if (is_recording())
		ranges_before_record();
	if (o->is_written)
		write_range(RANGE_POP, 0, hook_ticks(), o->id, domain, 0);
	uint32_t at = (uint32_t)(o - t->open);
	if (at == t->n - 1)
		t->text_used = o->text; /* no open range uses the texts from here on */
	memmove(o, o + 1, (t->n - at - 1) * sizeof(*o));
	t->n--;
	return level;
}

/* ---- Start and end ---- */

/* Values of `id`. 0: free. BUSY: being filled or emptied. Otherwise the range's id, with the bit
 * WRITTEN once the range is in the journal. Numbers are never reused. If a thread reads an id, then
 * the fields, and then an equal id, all fields therefore belong to one range. */
#define BUSY	1ull
#define WRITTEN (1ull << 63)

static struct started {
	_Atomic uint64_t id;
	uint64_t ticks;
	struct range_domain *domain;
	struct range_name *registered;
	uint32_t color;
	char text[STARTED_TEXT_BYTES];
} started[STARTED_MOST];

static _Atomic uint64_t n_started START_DATA;

static struct started *claim(uint64_t number)
{
	for (uint32_t i = 0; i < STARTED_MOST; i++) {
		struct started *s = &started[(number + i) % STARTED_MOST];
		uint64_t none = 0;
		if (!atomic_load_explicit(&s->id, memory_order_relaxed) &&
		    atomic_compare_exchange_strong(&s->id, &none, BUSY))
			return s;
	}
	return NULL;
}

static void fill(struct started *s, uint64_t ticks, struct range_domain *domain,
		 const struct range_message *message)
{
	size_t length = message->text ? strnlen(message->text, sizeof(s->text) - 1) : 0;
	s->ticks = ticks;
	s->domain = domain;
	s->registered = message->registered;
	s->color = message->color;
	if (length)
		memcpy(s->text, message->text, length);
	s->text[length] = 0;
}

/* Writes a range that started while nothing was recorded. Of several threads, the one that sets the
 * bit WRITTEN writes it. */
static void write_started(struct started *s)
{
	uint64_t id = atomic_load(&s->id);
	if (id <= BUSY || id & WRITTEN)
		return;
	struct started copy;
	memcpy(&copy, s, sizeof(copy));
	if (atomic_compare_exchange_strong(&s->id, &id, id | WRITTEN))
		write_range(RANGE_START, name_id(copy.text, copy.registered), copy.ticks, id,
			    copy.domain, copy.color);
}

uint64_t ranges_start(struct range_domain *domain, const struct range_message *message)
{
	notify_steps(domain, message);
	bool recording = is_recording();
	uint64_t number = atomic_fetch_add(&n_started, 1) + 1;
	struct started *s = claim(number);
	uint64_t id = number << STARTED_BITS | (s ? (uint64_t)(s - started) : STARTED_MOST);
	uint64_t ticks = ticks_now();
	if (s) {
		fill(s, ticks, domain, message);
		atomic_store(&s->id, id | (recording ? WRITTEN : 0));
	}
	if (recording) {
		ranges_before_record();
		write_range(RANGE_START, name_id(message->text, message->registered), ticks, id,
			    domain, message->color);
	} else if (s && is_recording()) {
		/* ranges_record() may have passed this slot before `id` was set */
		write_started(s);
	}
	return id;
}

void ranges_end(uint64_t id)
{
	uint32_t at = id & STARTED_MOST;
	struct started *s = at < STARTED_MOST ? &started[at] : NULL;
	uint64_t there = s ? atomic_load(&s->id) : id | (is_recording() ? WRITTEN : 0);
	do {
		if ((there & ~WRITTEN) != id || id <= BUSY)
			return;
	} while (s && !atomic_compare_exchange_weak(&s->id, &there, BUSY));
	if (there & WRITTEN)
		write_range(RANGE_END, 0, ticks_now(), id, s ? s->domain : NULL, 0);
	if (s)
		atomic_store(&s->id, 0);
}

void ranges_record(void)
{
	for (uint32_t i = 0; i < STARTED_MOST; i++)
		write_started(&started[i]);
}

bool ranges_any_begins_step(void)
{
	for (uint32_t i = 0; own && i < own->n; i++) {
		const struct open_range *o = &own->open[i];
		if (begins_step(o->domain, own->text + o->text, o->registered))
			return true;
	}
	for (uint32_t i = 0; i < STARTED_MOST; i++) {
		const struct started *s = &started[i];
		if (atomic_load(&s->id) > BUSY && begins_step(s->domain, s->text, s->registered))
			return true;
	}
	return false;
}

void ranges_mark(struct range_domain *domain, const struct range_message *message)
{
	if (!is_recording())
		return;
	ranges_before_record();
	write_range(RANGE_MARK, name_id(message->text, message->registered), hook_ticks(), 0,
		    domain, message->color);
}

AT_START bool ranges_are_used(void)
{
	return own || atomic_load(&n_started);
}

/* Marks all open ranges as not written. Resets their ticks, too, because the child's journal may
 * have another clock. */
void ranges_forget(void)
{
	range_names_forget();
	for (uint32_t i = 0; own && i < own->n; i++) {
		own->open[i].is_written = false;
		own->open[i].ticks = 0;
	}
	hook_thread.has_ranges_to_write = own && own->n;
	for (uint32_t i = 0; i < STARTED_MOST && atomic_load(&n_started); i++) {
		uint64_t id = atomic_load(&started[i].id);
		started[i].ticks = 0;
		atomic_store(&started[i].id, id == BUSY ? 0 : id & ~WRITTEN);
	}
}
