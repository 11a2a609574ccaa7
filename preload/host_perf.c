/* See host_perf.h. */
#include "preload/host_perf.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <asm/perf_regs.h>
enum { REG_BP = PERF_REG_X86_BP, REG_SP = PERF_REG_X86_SP, REG_IP = PERF_REG_X86_IP };
#elif defined(__aarch64__)
#include <asm/perf_regs.h>
enum { REG_BP = PERF_REG_ARM64_X29, REG_SP = PERF_REG_ARM64_SP, REG_IP = PERF_REG_ARM64_PC };
#endif

enum {
	/* of larger stacks, the outer frames are missing */
	STACK_BYTES = 8192,
	PAGE = 4096,
	/* 64 KiB have room for seven samples. The sampling thread takes them out once per period. A
	 * user may lock 516 KiB by default (kernel.perf_event_mlock_kb). */
	RING_BYTES = 16 * PAGE,
	REGISTERS = 3,
};

/* The fields of a sample, in the kernel's order. Registers are in the order of their numbers. */
struct record {
	struct perf_event_header header;
	uint64_t ns;
	uint64_t abi, bp, sp, ip;
	uint64_t stack_bytes;
	uint64_t stack[STACK_BYTES / 8];
	uint64_t stack_bytes_copied;
};

_Static_assert((int)REG_BP < (int)REG_SP && (int)REG_SP < (int)REG_IP, "order of registers");

static struct record record; /* the sample that was taken last */

bool host_perf_open(struct host_perf *p, uint32_t tid, uint32_t hz)
{
	struct perf_event_attr attributes = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attributes),
		.config = PERF_COUNT_SW_TASK_CLOCK,
		.sample_period = 1000000000u / hz, /* ns of CPU time */
		.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
		.sample_regs_user = 1ull << REG_BP | 1ull << REG_SP | 1ull << REG_IP,
		.sample_stack_user = STACK_BYTES,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};
	p->failed = true;
	long file = syscall(SYS_perf_event_open, &attributes, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (file < 0)
		return false;
	void *ring =
		mmap(NULL, PAGE + RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, (int)file, 0);
	if (ring == MAP_FAILED) {
		int error = errno;
		close((int)file);
		errno = error;
		return false;
	}
	*p = (struct host_perf){ .ring = ring, .file = (int)file };
	return true;
}

void host_perf_close(struct host_perf *p)
{
	if (!p->ring)
		return;
	munmap(p->ring, PAGE + RING_BYTES);
	close(p->file);
	*p = (struct host_perf){ 0 };
}

/* Copies bytes out of the ring, which may wrap. */
static void copy_out(const struct host_perf *p, uint64_t at, void *to, size_t bytes)
{
	const char *data = (const char *)p->ring + PAGE;
	size_t from = at % RING_BYTES, first = RING_BYTES - from;
	first = first < bytes ? first : bytes;
	memcpy(to, data + from, first);
	memcpy((char *)to + first, data, bytes - first);
}

/* Takes the next record out of the ring into `record`, whose kind is in its header. Returns false
 * if the ring is empty. */
static bool next_record(struct host_perf *p)
{
	struct perf_event_mmap_page *page = p->ring;
	uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = page->data_tail;
	if (head - tail < sizeof(record.header))
		return false;
	copy_out(p, tail, &record.header, sizeof(record.header));
	size_t bytes = record.header.size;
	if (bytes < sizeof(record.header) || bytes > head - tail) {
		__atomic_store_n(&page->data_tail, head, __ATOMIC_RELEASE); /* damaged */
		return false;
	}
	copy_out(p, tail, &record, bytes < sizeof(record) ? bytes : sizeof(record));
	__atomic_store_n(&page->data_tail, tail + bytes, __ATOMIC_RELEASE);
	return true;
}

bool host_perf_take(struct host_perf *p, struct host_perf_sample *to)
{
	while (p->ring && next_record(p)) {
		/* The kernel leaves out the stack if it lies in no mapped memory. */
		if (record.header.type != PERF_RECORD_SAMPLE ||
		    record.header.size != sizeof(record) || !record.abi ||
		    record.stack_bytes != STACK_BYTES || record.stack_bytes_copied > STACK_BYTES)
			continue;
		uint64_t sp = record.sp, skipped = -sp & 7;
		if (record.stack_bytes_copied < skipped + 8)
			continue;
		*to = (struct host_perf_sample){
			.ns = record.ns,
			/* a walk looks up the address before `ip`, as for a return address */
			.regs = { record.ip + 1, sp, record.bp },
			.window = { sp + skipped, (sp + record.stack_bytes_copied) & ~7ull,
				    (uintptr_t)record.stack - sp },
		};
		return true;
	}
	return false;
}
