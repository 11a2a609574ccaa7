/*
 * See blocks.h. PyTorch calls the reporting function ten times as often as it launches kernels, and
 * holds the allocator's lock while it does. test/bench/block_bench.sh measures the cost of a
 * report; docs/internals/pytorch-memory.md lists the results.
 *
 * PyTorch has had the function since version 1.9. Version 2.1 changed the symbol names and argument
 * types, but the arguments are still passed in the same registers.
 */
#include "preload/blocks.h"

#include "core/runtime/log.h"
#include "preload/block_notes.h"
#include "preload/block_table.h"
#include "preload/hook.h"
#include "preload/lookup.h"
#include "preload/plt.h"
#include "preload/stack.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

enum {
	CUDA = 1, /* c10::DeviceType */
	/* Failed allocations for which the live blocks are listed. A program may look for the
	 * largest batch by trial, and fail often. */
	FAILURES_LISTED = 16,
	/*
	 * The first allocations take a stack even outside recorded steps, which costs some
	 * milliseconds in all. They include parameters and optimizer state, which are allocated
	 * before steps are recorded, and mostly before steps are detected.
	 */
	FIRST_BLOCKS = 20000,
};

/* c10::Device, passed in one register. */
struct c10_device {
	int8_t type, index;
};

enum { NOT_LISTED = UINT32_MAX };

/*
 * The memory of one device as PyTorch reports it. The struct fills a page, so that a report needs
 * only one TLB entry. The first cache line has everything that most reports need, except for their
 * note.
 */
struct held {
	_Atomic uint64_t allocated, reserved, peak_allocated;
	/* most_notes 0: no notes are taken, note() handles all reports */
	_Atomic uint32_t n_notes, most_notes;
	/* PyTorch's own function, which follows a noted report */
	_Atomic(void *) real;
	_Atomic uint64_t peak_reserved;
	uint64_t notes_ticks; /* when the step in which the notes were taken began */
	/* totals and peaks that were last written to the journal */
	uint64_t written[4] __attribute__((aligned(64)));
	/*
	 * how many of the notes are in the list of live blocks that was last written to the
	 * journal; NOT_LISTED: no list was written
	 */
	_Atomic uint32_t n_listed;
	block_note notes[BLOCK_NOTES] __attribute__((aligned(64)));
} __attribute__((aligned(4096)));

static struct held held[BLOCK_DEVICES];

static HOT_DATA struct {
	/* when the current step began */
	_Atomic uint64_t step_ticks;
	_Atomic uint32_t devices; /* one bit per device that has reported */
	_Atomic uint32_t n_lost;  /* blocks for which the table had no room */
	/* allocations that may still take a stack outside recorded steps */
	_Atomic uint32_t n_first;
	_Atomic uint32_t n_failures; /* allocations that failed */
	bool is_wanted, takes_stacks;
} g;

/* ---- Writing to the journal ---- */

HOT static void write_block(enum block_event event, unsigned device, uint32_t stack, uint64_t ticks,
			    uint64_t address, uint64_t bytes, uint64_t allocated, uint64_t reserved)
{
	uint32_t depth = hook_thread.depth;
	hook_thread.depth = 1; /* a signal handler's CUDA calls must not write records meanwhile */
	if (UNLIKELY(!hook_thread.has_end) && !depth)
		hook_thread_begin();
	struct rec_block *r = journal_reserve(&hook_thread.writer, REC_BLOCK, sizeof(*r));
	if (UNLIKELY(!hook_thread.has_end))
		hook_thread_keep();
	if (LIKELY(r != NULL)) {
		*r = (struct rec_block){ .kind = REC_BLOCK,
					 .words = sizeof(*r) / 8,
					 .event = (uint8_t)event,
					 .device = (uint8_t)device,
					 .stack = stack,
					 .ticks = ticks,
					 .address = address,
					 .bytes = bytes,
					 .allocated_bytes = allocated,
					 .reserved_bytes = reserved };
		journal_commit(&hook_thread.writer, sizeof(*r));
	}
	hook_thread.depth = depth;
}

static void write_held(unsigned device, uint64_t ticks)
{
	struct held *h = &held[device];
	const uint64_t now[4] = { h->allocated, h->reserved, h->peak_allocated, h->peak_reserved };
	if (!memcmp(h->written, now, sizeof(now)))
		return;
	struct rec_memory *r = journal_reserve(&hook_thread.writer, REC_MEMORY, sizeof(*r));
	if (UNLIKELY(!r))
		return;
	*r = (struct rec_memory){ .kind = REC_MEMORY,
				  .words = sizeof(*r) / 8,
				  .device = (uint8_t)device,
				  .n_lost = g.n_lost,
				  .ticks = ticks,
				  .allocated_bytes = now[0],
				  .reserved_bytes = now[1],
				  .peak_allocated_bytes = now[2],
				  .peak_reserved_bytes = now[3] };
	journal_commit(&hook_thread.writer, sizeof(*r));
	memcpy(h->written, now, sizeof(now));
}

static void end_notes(unsigned device)
{
	atomic_store(&held[device].most_notes, 0);
}

static uint32_t n_notes(const struct held *h)
{
	return atomic_load_explicit(&h->n_notes, memory_order_acquire);
}

static uint64_t note_at(const struct held *h, uint32_t i)
{
	return atomic_load_explicit(&h->notes[i], memory_order_relaxed);
}

void blocks_step(uint64_t ticks)
{
	atomic_store_explicit(&g.step_ticks, ticks, memory_order_relaxed);
	for (uint32_t left = g.devices; left; left &= left - 1) {
		unsigned device = (unsigned)__builtin_ctz(left);
		write_held(device, ticks);
		end_notes(device);
	}
}

/* ---- Writing the list of live blocks ---- */

struct listing {
	unsigned device;
	uint64_t ticks;
	uint32_t n;
	block_note notes[BLOCK_NOTES];
	struct block_notes_index index;
};

static void write_live(const struct listing *l, const struct block_entry *e)
{
	write_block(BLOCK_LIVE, l->device, e->stack, l->ticks, e->address, e->bytes, e->made_ticks,
		    0);
}

static void list_entry(void *context, const struct block_entry *e)
{
	const struct listing *l = context;
	if (block_notes_last(&l->index, l->notes, e->address) < 0)
		write_live(l, e);
}

/*
 * Copies the device's notes to `l` and publishes their number, then reads the count of notes again.
 * Another thread may settle further notes at the same time (settle_notes()). Then either that
 * thread sees that those notes are not listed, or this function sees the new count and tries again.
 */
static void take_notes(struct listing *l, struct held *h)
{
	do {
		l->n = n_notes(h);
		atomic_store(&h->n_listed, l->n);
		atomic_thread_fence(memory_order_seq_cst);
	} while (l->n != n_notes(h));
	for (uint32_t i = 0; i < l->n; i++)
		l->notes[i] = note_at(h, i);
	block_notes_index(l->notes, l->n, &l->index);
}

/*
 * Writes the device's live blocks to the journal. Reads the notes before the table, so that a note
 * which is settled in between is found in both. list_entry() then skips the block in the table.
 */
static void list_device(struct listing *l)
{
	struct held *h = &held[l->device];
	take_notes(l, h);
	block_table_each(l->device, list_entry, l);
	for (uint32_t i = 0; i < l->n; i++) {
		uint64_t address = block_note_address(l->notes[i]);
		int64_t bytes = block_note_bytes(l->notes[i]);
		if (bytes > 0 && block_notes_last(&l->index, l->notes, address) == (int)i)
			write_live(l, &(struct block_entry){ address, (uint64_t)bytes,
							     h->notes_ticks, 0, 0 });
	}
}

static void list_all(uint64_t ticks)
{
	/* static is safe: only one thread at a time crosses a step boundary */
	static struct listing l;
	for (uint32_t left = g.devices; left; left &= left - 1) {
		l.device = (unsigned)__builtin_ctz(left);
		l.ticks = ticks;
		list_device(&l);
	}
}

static void list_none(void)
{
	for (unsigned device = 0; device < BLOCK_DEVICES; device++)
		atomic_store_explicit(&held[device].n_listed, NOT_LISTED, memory_order_relaxed);
}

/* ---- Mode ---- */

static bool may_take_first_stacks(void)
{
	return g.takes_stacks && g.n_first;
}

static void set_mode(bool recorded)
{
	unsigned mode = g.is_wanted ? BLOCKS_KEPT : 0;
	if (g.is_wanted && recorded)
		mode |= BLOCKS_RECORDED;
	if (g.is_wanted && (recorded ? g.takes_stacks : may_take_first_stacks()))
		mode |= BLOCKS_STACKED;
	atomic_store(&hook_switch.blocks, (uint8_t)mode);
	for (unsigned device = 0; device < BLOCK_DEVICES; device++)
		end_notes(device);
}

void blocks_configure(const struct config *config, bool may_record)
{
	g.is_wanted = may_record && strcmp(config->memory.text, "off") != 0;
	g.takes_stacks = stack_masks().recorded >> CAT_ALLOC & 1;
	g.n_first = FIRST_BLOCKS;
	list_none();
	set_mode(false);
}

/*
 * A report that another thread makes while recording is switched on is not lost: it is in the list
 * of live blocks, or it gets a record of its own, or both.
 */
void blocks_record(bool recorded)
{
	bool was = atomic_load_explicit(&hook_switch.blocks, memory_order_relaxed) &
		   BLOCKS_RECORDED;
	if (recorded == was)
		return;
	uint64_t ticks = hook_ticks();
	list_none();
	if (recorded && g.is_wanted)
		write_block(BLOCK_KNOWN, DEVICE_UNKNOWN, 0, ticks, 0, 0, 0, 0);
	set_mode(recorded);
	/* pairs with the fence in has_begun_meanwhile() */
	atomic_thread_fence(memory_order_seq_cst);
	if (recorded && g.is_wanted)
		list_all(ticks);
}

void blocks_finish(void)
{
	if (g.devices)
		blocks_step(hook_ticks());
	atomic_store(&hook_switch.blocks, 0);
}

void blocks_forget(void)
{
	block_table_forget();
	for (uint32_t left = g.devices; left; left &= left - 1)
		memset(&held[__builtin_ctz(left)], 0, sizeof(*held));
	memset(&g, 0, sizeof(g));
	atomic_store(&hook_switch.blocks, 0);
}

/* ---- Reports ---- */

static inline void raise_to(_Atomic uint64_t *peak, uint64_t value)
{
	if (UNLIKELY(value > atomic_load_explicit(peak, memory_order_relaxed)))
		atomic_store_explicit(peak, value, memory_order_relaxed);
}

/*
 * Relaxed loads and stores suffice. Reports of one device never overlap, because PyTorch makes them
 * while it holds the device's allocator lock.
 */
static inline void set_totals(unsigned device, uint64_t allocated, uint64_t reserved)
{
	struct held *h = &held[device];
	if (UNLIKELY(!(atomic_load_explicit(&g.devices, memory_order_relaxed) >> device & 1)))
		atomic_fetch_or_explicit(&g.devices, 1u << device, memory_order_relaxed);
	atomic_store_explicit(&h->allocated, allocated, memory_order_relaxed);
	atomic_store_explicit(&h->reserved, reserved, memory_order_relaxed);
	raise_to(&h->peak_allocated, allocated);
	raise_to(&h->peak_reserved, reserved);
}

static void count_first(unsigned mode)
{
	uint32_t left = atomic_load_explicit(&g.n_first, memory_order_relaxed);
	if (mode & BLOCKS_RECORDED)
		return;
	/*
	 * compare and swap: if recording begins at this moment, the mode that it has set must stay
	 */
	uint8_t was = (uint8_t)mode;
	if (left)
		atomic_store_explicit(&g.n_first, left - 1, memory_order_relaxed);
	else
		atomic_compare_exchange_strong(&hook_switch.blocks, &was,
					       (uint8_t)(mode & ~BLOCKS_STACKED));
}

static uint32_t take_stack(unsigned mode, const struct unwind_regs *regs)
{
	hook_thread.depth = 1;
	uint32_t stack = stack_take(regs);
	hook_thread.depth = 0;
	count_first(mode);
	return stack;
}

static void add(unsigned device, uint64_t address, uint64_t bytes, uint64_t ticks, uint32_t stack)
{
	if (UNLIKELY(!block_table_add(
		    &(struct block_entry){ address, bytes, ticks, stack, (uint8_t)device })))
		atomic_fetch_add_explicit(&g.n_lost, 1, memory_order_relaxed);
}

/*
 * Writes a record for each of the notes `from` to `to` - 1, because the list of live blocks in the
 * journal does not include them.
 */
static void write_notes(unsigned device, uint32_t from, uint32_t to)
{
	const struct held *h = &held[device];
	for (uint32_t i = from; i < to && !hook_thread.depth; i++) {
		int64_t bytes = block_note_bytes(note_at(h, i));
		write_block(bytes > 0 ? BLOCK_MADE : BLOCK_FREED, device, 0, hook_ticks(),
			    block_note_address(note_at(h, i)),
			    (uint64_t)(bytes > 0 ? bytes : -bytes), h->allocated, h->reserved);
	}
}

/*
 * Applies the device's notes to the table of live blocks. Frees come first, because a new block may
 * have the address of a freed one.
 */
HOT static void settle_notes(unsigned device)
{
	struct held *h = &held[device];
	struct block_notes_net net;
	atomic_thread_fence(memory_order_seq_cst); /* pairs with the fence in take_notes() */
	uint32_t n = n_notes(h),
		 n_listed = atomic_load_explicit(&h->n_listed, memory_order_acquire);
	block_notes_settle(h->notes, n, &net);
	for (uint32_t word = 0; word <= n / 64; word++)
		for (uint64_t left = net.gone[word]; left; left &= left - 1)
			block_table_remove(
				device, block_note_address(note_at(
						h, word * 64 + (uint32_t)__builtin_ctzll(left))));
	for (uint32_t word = 0; word <= n / 64; word++)
		for (uint64_t left = net.made[word]; left; left &= left - 1) {
			uint64_t note = note_at(h, word * 64 + (uint32_t)__builtin_ctzll(left));
			add(device, block_note_address(note), (uint64_t)block_note_bytes(note),
			    h->notes_ticks, 0);
		}
	if (UNLIKELY(n_listed < n))
		write_notes(device, n_listed, n);
	atomic_store_explicit(&h->n_notes, 0, memory_order_release);
}

/*
 * Lets the next reports become notes, unless recording has begun meanwhile. blocks_record() first
 * sets the mode and then ends the taking of notes. This function first allows notes and then reads
 * the mode. So at least one of the two functions sees what the other has done.
 */
static void begin_notes(unsigned device, void *real)
{
	struct held *h = &held[device];
	h->notes_ticks = atomic_load_explicit(&g.step_ticks, memory_order_relaxed);
	atomic_store_explicit(&h->real, real, memory_order_relaxed);
	atomic_store(&h->most_notes, BLOCK_NOTES);
	if (atomic_load(&hook_switch.blocks) != BLOCKS_KEPT)
		end_notes(device);
}

/*
 * Returns whether recording has begun since the caller read the mode. If not, a later list of live
 * blocks will include the caller's change to the table, because blocks_record() sets the mode
 * before it reads the table. If so, the list may lack the change, and the caller writes a record of
 * its own.
 */
static bool has_begun_meanwhile(void)
{
	atomic_thread_fence(memory_order_seq_cst);
	return atomic_load_explicit(&hook_switch.blocks, memory_order_relaxed) & BLOCKS_RECORDED;
}

HOT static void note(unsigned mode, const struct unwind_regs *regs, void *real, uint64_t address,
		     int64_t bytes, uint64_t allocated, uint64_t reserved, unsigned device)
{
	bool is_recorded = mode & BLOCKS_RECORDED;
	if (n_notes(&held[device]))
		settle_notes(device); /* the notes are older than this report */
	uint64_t ticks = is_recorded ? hook_ticks()
				     : atomic_load_explicit(&g.step_ticks, memory_order_relaxed);
	uint32_t stack = 0;
	set_totals(device, allocated, reserved);
	if (bytes > 0) {
		if (mode & BLOCKS_STACKED && !hook_thread.depth)
			stack = take_stack(mode, regs);
		add(device, address, (uint64_t)bytes, ticks, stack);
	} else {
		block_table_remove(device, address);
	}
	if (mode == BLOCKS_KEPT)
		begin_notes(device, real);
	if (!is_recorded)
		is_recorded = has_begun_meanwhile();
	/*
	 * The time is read only now that the table has changed. While this thread was preempted,
	 * recording may have ended and begun again, and a new list of live blocks may have been
	 * written before the table changed. With an earlier time the record would be older than
	 * that list and would be lost.
	 *
	 * A depth above 0 means that this is a signal handler, which has interrupted a hooked call
	 * while that was writing a record.
	 */
	if (is_recorded && LIKELY(!hook_thread.depth))
		write_block(bytes > 0 ? BLOCK_MADE : BLOCK_FREED, device, stack, hook_ticks(),
			    address, (uint64_t)(bytes > 0 ? bytes : -bytes), allocated, reserved);
}

/*
 * The fast path of note(). It handles most reports: nothing is recorded, the reserved bytes and the
 * peaks stay the same, and there is room for another note. Returns PyTorch's own function. Returns
 * NULL, and has no effect, if the report is of another kind.
 */
static inline __attribute__((always_inline)) void *
keep_note(uint64_t address, int64_t bytes, uint64_t allocated, uint64_t reserved, unsigned device)
{
	struct held *h = &held[device];
	__asm__("" : "+r"(h)); /* makes GCC compute the address once, not for each member */
	uint32_t n = atomic_load_explicit(&h->n_notes, memory_order_relaxed);
	uint64_t note;
	if (UNLIKELY(n >= atomic_load_explicit(&h->most_notes, memory_order_relaxed)) ||
	    UNLIKELY(allocated > atomic_load_explicit(&h->peak_allocated, memory_order_relaxed)) ||
	    UNLIKELY(reserved != atomic_load_explicit(&h->reserved, memory_order_relaxed)) ||
	    UNLIKELY(!block_note_pack(address, bytes, &note)))
		return NULL;
	atomic_store_explicit(&h->notes[n], note, memory_order_relaxed);
	atomic_store_explicit(&h->n_notes, n + 1, memory_order_release);
	atomic_store_explicit(&h->allocated, allocated, memory_order_relaxed);
	void *real = atomic_load_explicit(&h->real, memory_order_relaxed);
	if (!real) /* begin_notes() sets it before it allows notes */
		__builtin_unreachable();
	return real;
}

/* ---- The entry points ---- */

typedef void usage_function(void *, int64_t, uint64_t, uint64_t, struct c10_device);
typedef void out_of_memory_function(int64_t, uint64_t, uint64_t, struct c10_device);

#define USAGE_NEW "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE"
#define USAGE_OLD "_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE"
#define OUT_NEW	  "_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE"
#define OUT_OLD	  "_ZN3c1027reportOutOfMemoryToProfilerElllNS_6DeviceE"

EXPORT usage_function reported_usage_new __asm__(USAGE_NEW);
EXPORT usage_function reported_usage_old __asm__(USAGE_OLD);
EXPORT out_of_memory_function reported_out_new __asm__(OUT_NEW);
EXPORT out_of_memory_function reported_out_old __asm__(OUT_OLD);

static void ignore_report(void)
{
}

/*
 * Returns PyTorch's own function. Because PyTorch is loaded with RTLD_LOCAL, RTLD_NEXT does not
 * find the function, so the search begins with libc10.so. If there is no function, returns
 * ignore_report(). Reports then do not reach PyTorch's own profiler, and the search is not
 * repeated.
 */
static void *find_real(const char *symbol, void *ours)
{
	int saved = errno;
	void *c10 = dlopen("libc10.so", RTLD_LAZY | RTLD_NOLOAD);
	void *found = c10 ? lookup_dlsym(c10, symbol) : lookup_dlsym(RTLD_NEXT, symbol);
	lookup_forget_error();
	errno = saved;
	if (!found || found == ours) {
		log_once(LOG_WARN,
			 "%s was called, but no libc10.so in this process exports it: "
			 "torch.profiler gets no memory events",
			 symbol);
		return (void *)ignore_report;
	}
	return found;
}

static inline bool is_of_gpu(struct c10_device device)
{
	return device.type == CUDA && device.index >= 0 && device.index < BLOCK_DEVICES;
}

static inline bool is_block(const void *address, struct c10_device device)
{
	return LIKELY(is_of_gpu(device)) && LIKELY((uintptr_t)address > 1);
}

static void *found(_Atomic(void *) *real, const char *symbol, void *ours, void *return_address)
{
	void *next = atomic_load_explicit(real, memory_order_relaxed);
	if (UNLIKELY(!next)) {
		next = find_real(symbol, ours);
		atomic_store_explicit(real, next, memory_order_relaxed);
		plt_note(return_address);
	}
	return next;
}

/*
 * As in hooks.c, the first function handles most calls in few instructions and ends in a jump. The
 * second function, noted_NAME, handles all other calls.
 */
#define USAGE(name, symbol)                                                                        \
	static HOT_DATA _Atomic(void *) real_##name;                                               \
	static usage_function noted_##name;                                                        \
	HOT_ENTRY_POINT("LAUNCH")                                                                  \
	void name(void *address, int64_t bytes, uint64_t allocated, uint64_t reserved,             \
		  struct c10_device device)                                                        \
	{                                                                                          \
		usage_function *next =                                                             \
			(usage_function *)(is_block(address, device)                               \
						   ? keep_note((uintptr_t)address, bytes,          \
							       allocated, reserved,                \
							       (unsigned)device.index)             \
						   : atomic_load_explicit(&real_##name,            \
									  memory_order_relaxed));  \
		if (UNLIKELY(!next))                                                               \
			next = noted_##name;                                                       \
		next(address, bytes, allocated, reserved, device);                                 \
	}                                                                                          \
	HOT static                                                                                 \
		__attribute__((noinline)) void noted_##name(void *address, int64_t bytes,          \
							    uint64_t allocated, uint64_t reserved, \
							    struct c10_device device)              \
	{                                                                                          \
		unsigned mode = atomic_load_explicit(&hook_switch.blocks, memory_order_relaxed);   \
		usage_function *next = (usage_function *)found(&real_##name, symbol, (void *)name, \
							       __builtin_return_address(0));       \
		if (mode && is_block(address, device))                                             \
			note(mode, CALLER_REGS, (void *)next, (uintptr_t)address, bytes,           \
			     allocated, reserved, (unsigned)device.index);                         \
		next(address, bytes, allocated, reserved, device);                                 \
	}

#define OUT_OF_MEMORY(name, symbol)                                                               \
	void name(int64_t bytes, uint64_t allocated, uint64_t reserved, struct c10_device device) \
	{                                                                                         \
		static _Atomic(void *) real;                                                      \
		unsigned mode = atomic_load_explicit(&hook_switch.blocks, memory_order_relaxed);  \
		out_of_memory_function *next = (out_of_memory_function *)found(                   \
			&real, symbol, (void *)name, __builtin_return_address(0));                \
		if (mode && is_of_gpu(device))                                                    \
			note_out_of_memory(CALLER_REGS, bytes, allocated, reserved,               \
					   (unsigned)device.index);                               \
		next(bytes, allocated, reserved, device);                                         \
	}

static void list_at_failure(void *context, const struct block_entry *e)
{
	const uint64_t *ticks = context;
	write_block(BLOCK_LIVE, e->device, e->stack, *ticks, e->address, e->bytes, e->made_ticks,
		    0);
}

/*
 * Writes the device's live blocks, which show what holds the memory at this moment. While blocks
 * are recorded, the journal shows that already. The caller holds the device's allocator lock, so
 * the blocks do not change meanwhile.
 */
static void list_for_failure(unsigned device, uint64_t ticks)
{
	uint32_t mode = atomic_load_explicit(&hook_switch.blocks, memory_order_relaxed);
	if (mode & BLOCKS_RECORDED ||
	    atomic_fetch_add_explicit(&g.n_failures, 1, memory_order_relaxed) >= FAILURES_LISTED)
		return;
	if (n_notes(&held[device]))
		settle_notes(device);
	write_block(BLOCK_KNOWN, DEVICE_UNKNOWN, 0, ticks, 0, 0, 0, 0);
	block_table_each(device, list_at_failure, &ticks);
}

/*
 * Records an allocation that failed. This is rare, so it is recorded outside recorded steps, too.
 */
static void note_out_of_memory(const struct unwind_regs *regs, int64_t bytes, uint64_t allocated,
			       uint64_t reserved, unsigned device)
{
	int saved = errno;
	uint32_t stack = 0;
	if (hook_thread.depth)
		return;
	hook_thread.depth = 1;
	uint64_t ticks = hook_ticks();
	if (g.takes_stacks)
		stack = stack_take(regs);
	if (device < BLOCK_DEVICES)
		list_for_failure(device, ticks);
	write_block(BLOCK_OUT_OF_MEMORY, device, stack, ticks, 0, (uint64_t)(bytes > 0 ? bytes : 0),
		    allocated, reserved);
	hook_thread.depth = 0;
	errno = saved;
}

USAGE(reported_usage_new, USAGE_NEW)
USAGE(reported_usage_old, USAGE_OLD)
const struct blocks_row blocks_rows[BLOCKS_ROWS] = {
	{ (void *)reported_usage_new, &real_reported_usage_new },
	{ (void *)reported_usage_old, &real_reported_usage_old },
};
OUT_OF_MEMORY(reported_out_new, OUT_NEW)
OUT_OF_MEMORY(reported_out_old, OUT_OLD)
