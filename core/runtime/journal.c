/*
 * The journal's file and its pool of chunks. The file has its full size from the start, but is
 * sparse. It gets disk space piece by piece, always before the space is used, because a store into
 * a page without disk space would kill the application with SIGBUS. The file descriptor is not kept
 * open, because some applications close descriptors that they did not open. To get more disk space,
 * the file is opened again. Device and inode are compared to make sure that it is the same file.
 */
#include "core/runtime/journal.h"

#include "core/runtime/clock.h"
#include "core/runtime/journal_guard.h"
#include "core/runtime/log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	CHUNKS_PER_GROWTH = 64, /* 4 MiB: one fallocate (10 to 100 us) per 87,000 calls */
	CHUNKS_AHEAD = 8, /* grow if fewer chunks with disk space follow the chunk just taken */
	/* how often a thread tries again while another thread grows the file: for a few
	 * milliseconds at most */
	GROWTH_TRIES = 1000,
	DICTIONARY_PER_GROWTH = 1 << 20, /* bytes */
	LEAST_BYTES = 8 << 20,		 /* the minimum of PROF_BUFFER_MB */
	/* if the pool is full, how many records a thread drops before it searches again */
	PAUSE_RECORDS = 1024,
};

static struct {
	struct journal_header *header;
	struct journal_chunk *directory;
	uint8_t *dictionary, *chunks;
	char path[PATH_MAX];
	dev_t device;
	ino_t inode;
	_Atomic uint32_t hint;			  /* where the search for a free chunk starts */
	_Atomic uint32_t slots;			  /* thread slots assigned */
	_Atomic uint32_t strings;		  /* string ids assigned */
	_Atomic uint64_t dictionary_backed_bytes; /* the part of the dictionary with disk space */
	/* 1 while a thread grows the file; only one thread does so at a time */
	_Atomic uint32_t growing;
	_Atomic bool full; /* the file cannot grow any more */
	struct journal_guard guard;
} g;

struct journal_header *journal_header(void)
{
	return g.header;
}

static uint64_t round_up(uint64_t value, uint64_t to)
{
	return (value + to - 1) / to * to;
}

/* ---- Growing ---- */

/* Returns the size limit for files of this process. A write beyond this limit raises SIGXFSZ, which
 * kills the process by default. */
static uint64_t file_size_limit(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur == RLIM_INFINITY)
		return UINT64_MAX;
	return limit.rlim_cur;
}

/*
 * Allocates disk space by writing zeros, for file systems that do not support fallocate(). Takes
 * about a millisecond per 4 MiB. Returns 0 or -errno.
 */
static int back_by_writing(int fd, uint64_t offset, uint64_t bytes)
{
	static const char zeros[65536];
	while (bytes) {
		size_t n = bytes < sizeof(zeros) ? bytes : sizeof(zeros);
		ssize_t written = pwrite(fd, zeros, n, (off_t)offset);
		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return written < 0 ? -errno : -EIO;
		offset += (uint64_t)written;
		bytes -= (uint64_t)written;
	}
	return 0;
}

/*
 * Allocates disk space for [offset, offset + bytes). Returns 0 or -errno. If somebody truncated the
 * file, KEEP_SIZE makes sure that it stays short, so that the collector notices. NFS supports only
 * mode 0.
 */
static int back(int fd, uint64_t offset, uint64_t bytes)
{
	if (offset + bytes > file_size_limit())
		return -EFBIG;
	if (!fallocate(fd, FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)bytes) ||
	    (errno == EOPNOTSUPP && !fallocate(fd, 0, (off_t)offset, (off_t)bytes)))
		return 0;
	if (errno == EOPNOTSUPP || errno == ENOSYS)
		return back_by_writing(fd, offset, bytes);
	return -errno;
}

/* Opens the journal's file again. Returns a descriptor, or -errno; -ESTALE: it is another file. */
static int open_again(void)
{
	struct stat status;
	int fd = open(g.path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &status) || status.st_dev != g.device || status.st_ino != g.inode) {
		close(fd);
		return -ESTALE;
	}
	return fd;
}

/* Opens the file and allocates disk space for [offset, offset + bytes). If this fails, warns once
 * and returns false. The caller must have set `growing`. */
static bool grow(uint64_t offset, uint64_t bytes)
{
	int saved = errno, fd = open_again(), error = fd;
	if (fd >= 0) {
		error = back(fd, offset, bytes);
		close(fd);
	}
	if (error < 0) {
		atomic_store_explicit(&g.full, true, memory_order_relaxed);
		log_once(LOG_WARN,
			 "cannot allocate more disk space for %s: %s; further records are dropped "
			 "and counted",
			 g.path, strerror(-error));
	}
	errno = saved;
	return error >= 0;
}

enum growth {
	GREW,
	BUSY,	/* another thread grows the file */
	NO_MORE /* the file has its full size, or cannot grow */
};

/* Gives disk space to the next chunks. */
static enum growth grow_chunks(void)
{
	struct journal_header *h = g.header;
	uint32_t idle = 0;
	if (atomic_load_explicit(&g.full, memory_order_relaxed))
		return NO_MORE;
	if (!atomic_compare_exchange_strong(&g.growing, &idle, 1))
		return BUSY;
	uint32_t backed = atomic_load_explicit(&h->chunks_backed, memory_order_relaxed);
	uint32_t left = h->n_chunks - backed;
	uint32_t more = left < CHUNKS_PER_GROWTH ? left : CHUNKS_PER_GROWTH;
	bool grown = more && grow(h->chunks_offset + (uint64_t)backed * JOURNAL_CHUNK_BYTES,
				  (uint64_t)more * JOURNAL_CHUNK_BYTES);
	if (grown)
		atomic_store_explicit(&h->chunks_backed, backed + more, memory_order_release);
	atomic_store_explicit(&g.growing, 0, memory_order_release);
	return grown ? GREW : NO_MORE;
}

/* ---- Chunks ---- */

/* Takes a free chunk for the thread with this slot. Returns NULL if no chunk is free. */
static struct journal_chunk *claim_free(uint32_t slot)
{
	uint32_t backed = atomic_load_explicit(&g.header->chunks_backed, memory_order_acquire);
	uint32_t start = atomic_load_explicit(&g.hint, memory_order_relaxed);
	for (uint32_t i = 0; i < backed; i++) {
		uint32_t at = (start + i) % backed;
		struct journal_chunk *c = &g.directory[at];
		uint32_t state = CHUNK_FREE;
		if (atomic_load_explicit(&c->state, memory_order_relaxed) != CHUNK_FREE ||
		    /* acquire pairs with the collector's release of a chunk that it has read */
		    !atomic_compare_exchange_strong_explicit(&c->state, &state, CHUNK_WRITING,
							     memory_order_acquire,
							     memory_order_relaxed))
			continue;
		atomic_store_explicit(&g.hint, at + 1, memory_order_relaxed);
		c->thread = slot;
		uint64_t claim = atomic_fetch_add_explicit(&g.header->chunk_claims, 1,
							   memory_order_relaxed) +
				 1;
		/* pairs with the reader's acquire: a reader that sees `claim` also sees `thread` */
		atomic_store_explicit(&c->claim, claim, memory_order_release);
		return c;
	}
	return NULL;
}

/* Grows the file before the last free chunk is taken, so that other threads need not wait for the
 * disk. */
static void grow_ahead(const struct journal_chunk *claimed)
{
	uint32_t backed = atomic_load_explicit(&g.header->chunks_backed, memory_order_relaxed);
	if ((uint32_t)(claimed - g.directory) + CHUNKS_AHEAD >= backed &&
	    backed < g.header->n_chunks)
		grow_chunks();
}

/* Takes a free chunk. Grows the file if no chunk is free. Returns NULL if the journal is full. */
static struct journal_chunk *claim_chunk(uint32_t slot)
{
	struct journal_chunk *c = claim_free(slot);
	for (int tries = 0; !c && tries < GROWTH_TRIES; tries++) {
		enum growth growth = grow_chunks();
		if (growth == BUSY)
			sched_yield();
		c = claim_free(slot);
		if (growth == NO_MORE)
			break;
	}
	if (c)
		grow_ahead(c);
	return c;
}

void journal_introduce(struct journal_writer *w)
{
	if (w->slot || !g.header)
		return;
	struct dict_thread record = { .head.kind = DICT_THREAD };
	w->slot = atomic_fetch_add_explicit(&g.slots, 1, memory_order_relaxed) + 1;
	record.slot = w->slot;
	record.tid = (uint32_t)syscall(SYS_gettid);
	record.handle = (uint32_t)pthread_self();
	prctl(PR_GET_NAME, record.name);
	journal_put(&record.head, sizeof(record), NULL);
}

uint32_t journal_threads(void)
{
	return atomic_load_explicit(&g.slots, memory_order_relaxed);
}

/* Returns the counter of the records that the user counts, too; NULL: of no such kind. */
static _Atomic uint64_t *counter_of(uint8_t kind)
{
	switch (kind) {
	case REC_CALL:
		return &g.header->dropped_calls;
	case REC_KERNEL:
	case REC_MEMCPY:
	case REC_MEMSET:
		return &g.header->dropped_gpu;
	case REC_STEP:
		return &g.header->dropped_steps;
	default:
		return NULL;
	}
}

static void count_drop(struct journal_writer *w, uint8_t kind)
{
	_Atomic uint64_t *counter = counter_of(kind);
	uint64_t now = clock_ticks(g.header->clock.kind);
	if (!w->dropped++)
		w->drop_first_ticks = now;
	w->drop_last_ticks = now;
	atomic_fetch_add_explicit(&g.header->dropped_records, 1, memory_order_relaxed);
	if (counter)
		atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
	log_once(LOG_WARN,
		 "journal full: records are dropped and counted; raise PROF_BUFFER_MB (now %llu)",
		 (unsigned long long)((g.header->file_bytes + (1 << 20) - 1) >> 20));
}

/* Writes a REC_DROPPED at the start of the new chunk, because the records before it are missing. */
static void write_dropped(struct journal_writer *w)
{
	struct rec_dropped *r = (struct rec_dropped *)w->cursor;
	*r = (struct rec_dropped){
		.kind = REC_DROPPED,
		.words = sizeof(*r) / 8,
		.count = w->dropped,
		.first_ticks = w->drop_first_ticks,
		.last_ticks = w->drop_last_ticks,
	};
	w->dropped = 0;
	journal_commit(w, sizeof(*r));
}

/*
 * Maps all pages of a chunk in one system call. If the collector has allocated the pages
 * (core/source/journal/ahead.h), the call takes 3 us, which is a fifth of the cost of sixteen page
 * faults. Before Linux 5.14 the call fails, and each page is mapped by a page fault.
 */
static void map_pages(void *chunk)
{
	int saved = errno;
	madvise(chunk, JOURNAL_CHUNK_BYTES, MADV_POPULATE_WRITE);
	errno = saved;
}

void *journal_next(struct journal_writer *w, uint8_t kind, uint32_t bytes)
{
	if (!g.header)
		return NULL;
	if (journal_guard_has_lost(&g.guard))
		log_once(LOG_WARN, "%s was truncated: nothing more is recorded", g.path);
	journal_release(w);
	if (w->pause) {
		w->pause--;
		count_drop(w, kind);
		return NULL;
	}
	journal_introduce(w);
	w->chunk = claim_chunk(w->slot);
	if (!w->chunk) {
		w->pause = PAUSE_RECORDS;
		count_drop(w, kind);
		return NULL;
	}
	w->base = g.chunks + (size_t)(w->chunk - g.directory) * JOURNAL_CHUNK_BYTES;
	w->cursor = w->base;
	w->limit = w->base + JOURNAL_CHUNK_BYTES;
	map_pages(w->base);
	if (w->dropped)
		write_dropped(w);
	return (size_t)(w->limit - w->cursor) >= bytes ? w->cursor : NULL;
}

void journal_release(struct journal_writer *w)
{
	if (w->chunk) /* release: a collector that sees CHUNK_SEALED also sees every record */
		atomic_store_explicit(&w->chunk->state, CHUNK_SEALED, memory_order_release);
	w->chunk = NULL;
	w->cursor = w->limit = w->base = NULL;
}

/* ---- Dictionary ---- */

/* Makes sure that the first `end` bytes of the dictionary have disk space. Returns false if they
 * cannot get it. */
static bool back_dictionary(uint64_t end)
{
	for (;;) {
		uint64_t backed =
			atomic_load_explicit(&g.dictionary_backed_bytes, memory_order_acquire);
		uint32_t idle = 0;
		if (end <= backed)
			return true;
		if (atomic_load_explicit(&g.full, memory_order_relaxed))
			return false;
		if (!atomic_compare_exchange_strong(&g.growing, &idle, 1))
			continue; /* another thread is in fallocate(): rare, takes microseconds */
		bool grown = true;
		if (backed ==
		    atomic_load_explicit(&g.dictionary_backed_bytes, memory_order_relaxed)) {
			uint64_t left = g.header->dictionary_bytes - backed;
			uint64_t more = left < DICTIONARY_PER_GROWTH ? left : DICTIONARY_PER_GROWTH;
			grown = grow(g.header->dictionary_offset + backed, more);
			if (grown)
				atomic_store_explicit(&g.dictionary_backed_bytes, backed + more,
						      memory_order_release);
		}
		atomic_store_explicit(&g.growing, 0, memory_order_release);
		if (!grown)
			return false;
	}
}

/* Returns room for `bytes` in the dictionary. If there is no room, counts a drop and returns
 * NULL. */
static uint8_t *reserve_dictionary(uint64_t bytes)
{
	struct journal_header *h = g.header;
	uint64_t used = atomic_load_explicit(&h->dictionary_used_bytes, memory_order_relaxed);
	do {
		if (used + bytes > h->dictionary_bytes || !back_dictionary(used + bytes)) {
			atomic_fetch_add_explicit(&h->dropped_dictionary, 1, memory_order_relaxed);
			return NULL;
		}
	} while (!atomic_compare_exchange_weak_explicit(&h->dictionary_used_bytes, &used,
							used + bytes, memory_order_relaxed,
							memory_order_relaxed));
	return g.dictionary + used;
}

/*
 * Writes a dictionary record: `record` without its head, then the parts, then the head as one
 * 64-bit store. Returns false if there is no room.
 */
bool journal_put_parts(struct dict_head *record, size_t record_bytes,
		       const struct journal_part *parts, size_t n)
{
	size_t bytes = record_bytes;
	if (!g.header)
		return false;
	for (size_t i = 0; i < n; i++)
		bytes += parts[i].bytes;
	bytes = round_up(bytes, 8);
	uint8_t *to = reserve_dictionary(bytes);
	if (!to)
		return false;
	memcpy(to + sizeof(*record), (uint8_t *)record + sizeof(*record),
	       record_bytes - sizeof(*record));
	size_t at = record_bytes;
	for (size_t i = 0; i < n; i++) {
		if (parts[i].bytes)
			memcpy(to + at, parts[i].at, parts[i].bytes);
		at += parts[i].bytes;
	}
	struct dict_head head = { .mark = DICT_MARK,
				  .kind = record->kind,
				  .bytes = (uint32_t)bytes };
	uint64_t word;
	memcpy(&word, &head, sizeof(word));
	/* pairs with the reader's acquire: a reader that sees the head also sees the rest */
	atomic_store_explicit((_Atomic uint64_t *)to, word, memory_order_release);
	return true;
}

bool journal_put(struct dict_head *record, size_t record_bytes, const char *text)
{
	const struct journal_part part = { text, text ? strlen(text) + 1 : 0 };
	return journal_put_parts(record, record_bytes, &part, 1);
}

bool journal_put_info(const char *key, const char *value)
{
	struct dict_head head = { .kind = DICT_INFO };
	const struct journal_part parts[] = { { key, strlen(key) + 1 },
					      { value, strlen(value) + 1 } };
	return journal_put_parts(&head, sizeof(head), parts, 2);
}

uint32_t journal_put_string(const char *text)
{
	struct dict_string record = { .head.kind = DICT_STRING };
	record.id = atomic_fetch_add_explicit(&g.strings, 1, memory_order_relaxed) + 1;
	return journal_put(&record.head, offsetof(struct dict_string, text), text) ? record.id : 0;
}

/* ---- Opening and ending ---- */

static int make_folder(const char *path, struct err *e)
{
	if (!mkdir(path, 0775) || errno == EEXIST)
		return 0;
	return err_set(e, -errno, "cannot create the folder %s: %s", path, strerror(errno));
}

/*
 * Creates the file under a temporary name. So no incomplete journal remains if the process is
 * killed during the start. The name contains the time as well as the pid, because a process in
 * another pid namespace may have the same pid. Returns a descriptor, or -errno with `e`.
 */
static int create_file(const char *folder, struct err *e)
{
	int n = snprintf(g.path, sizeof(g.path), "%s/journal/%d.%" PRIx64 ".journal.new", folder,
			 (int)getpid(), clock_read_ns(CLOCK_MONOTONIC));
	if (n >= (int)sizeof(g.path))
		return err_set(e, -ENAMETOOLONG,
			       "the path of the run's folder is too long: %.100s...", folder);
	int fd = open(g.path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0664);
	if (fd < 0)
		return err_set(e, -errno, "cannot create %.180s: %s", g.path, strerror(errno));
	return fd;
}

/*
 * Renames the file from `from` to `to`. Returns 0, -EEXIST if `to` exists, or another -errno. Uses
 * link(), which never replaces a file, and rename() where the file system has no hard links.
 */
static int give_name(const char *from, const char *to)
{
	if (!link(from, to)) {
		unlink(from);
		return 0;
	}
	if (errno == EEXIST || !access(to, F_OK))
		return -EEXIST;
	return rename(from, to) ? -errno : 0;
}

/*
 * Gives the file its final name, which is the pid. A process keeps its pid when it calls exec. So
 * the journal of the new program gets a number appended to its name.
 */
static int name_file(const char *folder, struct err *e)
{
	char made[PATH_MAX];
	int error = -EEXIST;
	memcpy(made, g.path, sizeof(made));
	for (int i = 1; i < 1000 && error == -EEXIST; i++) {
		char suffix[8] = "";
		if (i > 1)
			snprintf(suffix, sizeof(suffix), "-%d", i);
		snprintf(g.path, sizeof(g.path), "%s/journal/%d%s.journal", folder, (int)getpid(),
			 suffix);
		error = give_name(made, g.path);
	}
	if (!error)
		return 0;
	unlink(made);
	return err_set(e, error, "cannot rename the new journal to %.180s: %s", g.path,
		       strerror(-error));
}

/* Returns a header with the sizes and offsets of a journal that takes at most `budget_bytes`. */
static struct journal_header layout(uint64_t budget_bytes)
{
	struct journal_header h = { .version = JOURNAL_VERSION,
				    .header_bytes = sizeof(h),
				    .chunk_bytes = JOURNAL_CHUNK_BYTES };
	uint64_t page = 4096, limit = file_size_limit();
	if (budget_bytes > limit)
		budget_bytes = limit;
	memcpy(h.magic, JOURNAL_MAGIC, sizeof(h.magic));
	h.call_bytes = sizeof(struct rec_call);
	h.gpu_bytes = sizeof(struct rec_gpu);
	h.directory_offset = round_up(sizeof(h), page);
	/* The dictionary gets an eighth. With the default budget these are 32 MiB, which hold about
	 * 300,000 names and shapes. */
	h.dictionary_bytes = round_up(budget_bytes / 8, page);
	uint64_t rest = budget_bytes - h.dictionary_bytes - h.directory_offset;
	h.n_chunks = (uint32_t)(rest / (JOURNAL_CHUNK_BYTES + sizeof(struct journal_chunk)));
	h.dictionary_offset = h.directory_offset +
			      round_up((uint64_t)h.n_chunks * sizeof(struct journal_chunk), page);
	h.chunks_offset = h.dictionary_offset + h.dictionary_bytes;
	if (h.n_chunks > 1 &&
	    h.chunks_offset + (uint64_t)h.n_chunks * JOURNAL_CHUNK_BYTES > budget_bytes)
		h.n_chunks--; /* because rounding up took up to a page */
	h.file_bytes = h.chunks_offset + (uint64_t)h.n_chunks * JOURNAL_CHUNK_BYTES;
	return h;
}

static uint64_t pid_namespace(void)
{
	struct stat status;
	return stat("/proc/self/ns/pid", &status) ? 0 : status.st_ino;
}

/*
 * Returns field 22 of /proc/self/stat, the start time of the process. Counts fields from the end of
 * field 2, the program's name in brackets, because this name may contain spaces and brackets.
 */
static uint64_t process_start(void)
{
	char text[1024];
	int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	ssize_t n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return 0;
	text[n] = 0;
	const char *p = strrchr(text, ')');
	for (int field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	uint64_t start = 0;
	for (p = p ? p + 1 : ""; *p >= '0' && *p <= '9'; p++)
		start = start * 10 + (uint64_t)(*p - '0');
	return start;
}

/* Gives the file its size and first disk space, maps it, and writes the header. Returns 0 or -errno
 * with `e`. */
static int map_file(int fd, struct journal_header *h, struct err *e)
{
	struct stat status;
	uint64_t first_dictionary = h->dictionary_bytes < DICTIONARY_PER_GROWTH
					    ? h->dictionary_bytes
					    : DICTIONARY_PER_GROWTH;
	if (fstat(fd, &status) || ftruncate(fd, (off_t)h->file_bytes))
		return err_set(e, -errno, "cannot set the size of %.180s: %s", g.path,
			       strerror(errno));
	g.device = status.st_dev;
	g.inode = status.st_ino;
	int error = back(fd, 0, h->dictionary_offset + first_dictionary);
	uint32_t chunks = h->n_chunks < CHUNKS_PER_GROWTH / 4 ? h->n_chunks : CHUNKS_PER_GROWTH / 4;
	if (!error)
		error = back(fd, h->chunks_offset, (uint64_t)chunks * JOURNAL_CHUNK_BYTES);
	if (error)
		return err_set(e, error, "cannot allocate disk space for %.180s: %s", g.path,
			       strerror(-error));
	uint8_t *base = mmap(NULL, h->file_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (base == MAP_FAILED)
		return err_set(e, -errno, "cannot map %.180s into memory: %s", g.path,
			       strerror(errno));
	madvise(base, h->file_bytes,
		MADV_DONTFORK); /* a child must not write into its parent's journal */
	journal_guard_begin(&g.guard, base, h->file_bytes);
	atomic_store(&h->chunks_backed, chunks);
	atomic_store(&g.dictionary_backed_bytes, first_dictionary);
	g.directory = (struct journal_chunk *)(base + h->directory_offset);
	g.dictionary = base + h->dictionary_offset;
	g.chunks = base + h->chunks_offset;
	memcpy(base, h, sizeof(*h));
	return 0;
}

int journal_open(const char *folder, uint64_t budget_bytes, uint32_t clock_kind, struct err *e)
{
	char path[PATH_MAX];
	if (snprintf(path, sizeof(path), "%s/journal", folder) >= (int)sizeof(path))
		return err_set(e, -ENAMETOOLONG,
			       "the path of the run's folder is too long: %.100s...", folder);
	int error = make_folder(folder, e);
	if (!error)
		error = make_folder(path, e);
	if (error)
		return error;
	if (file_size_limit() < LEAST_BYTES)
		return err_set(e, -EFBIG,
			       "the file size limit (ulimit -f) is below the %d MiB that a journal "
			       "needs",
			       LEAST_BYTES >> 20);
	struct journal_header h = layout(budget_bytes);
	h.pid = (uint32_t)getpid();
	h.ppid = (uint32_t)getppid();
	/* read before the journal is created, because the process may have only one free descriptor
	 * left */
	h.process_start = process_start();
	h.pid_namespace = pid_namespace();
	int fd = create_file(folder, e);
	if (fd < 0)
		return fd;
	h.clock.kind = clock_kind;
	h.clock.first = clock_point(clock_kind);
	error = map_file(fd, &h, e);
	close(fd);
	if (error) {
		unlink(g.path);
		return error;
	}
	error = name_file(folder, e);
	if (!error)
		g.header = (struct journal_header *)(g.dictionary - h.dictionary_offset);
	return error;
}

void journal_forget(void)
{
	journal_guard_end(&g.guard);
	memset(&g, 0, sizeof(g));
}

void journal_end(void)
{
	if (!g.header)
		return;
	g.header->clock.last = clock_point(g.header->clock.kind);
	/* pairs with the reader's acquire: a reader that sees ended_ticks also sees clock.last */
	atomic_store_explicit(&g.header->ended_ticks, g.header->clock.last.ticks,
			      memory_order_release);
}
