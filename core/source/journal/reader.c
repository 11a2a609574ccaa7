/* See reader.h. Opens, validates and reads a journal. Used only by the tools. */
#include "core/source/journal/reader.h"
#include "core/util/work.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const uint8_t least_words[REC_KINDS] = {
	[REC_CALL] = sizeof(struct rec_call) / 8,
	[REC_STEP] = sizeof(struct rec_step) / 8,
	[REC_DROPPED] = sizeof(struct rec_dropped) / 8,
	[REC_GPU_STATE] = sizeof(struct rec_gpu_state) / 8,
	[REC_EXTERNAL] = sizeof(struct rec_external) / 8,
	[REC_API] = sizeof(struct rec_api) / 8,
	[REC_KERNEL] = sizeof(struct rec_gpu) / 8,
	[REC_MEMCPY] = sizeof(struct rec_gpu) / 8,
	[REC_MEMSET] = sizeof(struct rec_gpu) / 8,
	[REC_GPU_SYNC] = sizeof(struct rec_gpu) / 8,
	[REC_OVERHEAD] = sizeof(struct rec_overhead) / 8,
	[REC_POOL] = sizeof(struct rec_pool) / 8,
	[REC_RANGE] = sizeof(struct rec_range) / 8,
	[REC_BLOCK] = sizeof(struct rec_block) / 8,
	[REC_MEMORY] = sizeof(struct rec_memory) / 8,
	[REC_LIBRARY] = sizeof(struct rec_library) / 8,
	[REC_SAMPLE] = sizeof(struct rec_sample) / 8,
	[REC_THREAD] = sizeof(struct rec_thread) / 8,
	[REC_CPU_WAIT] = sizeof(struct rec_cpu_wait) / 8,
	[REC_NODE] = sizeof(struct rec_node) / 8,
	[REC_GRAPH] = sizeof(struct rec_graph) / 8,
};

static const uint16_t least_dictionary_bytes[DICT_KINDS] = {
	[DICT_INFO] = 8,
	[DICT_HOOK] = offsetof(struct dict_hook, name),
	[DICT_THREAD] = sizeof(struct dict_thread),
	[DICT_STRING] = offsetof(struct dict_string, text),
	[DICT_LAUNCH] = sizeof(struct dict_launch),
	[DICT_KERNEL] = sizeof(struct dict_kernel),
	[DICT_DEVICE] = sizeof(struct dict_device),
	[DICT_MODULE] = offsetof(struct dict_module, path),
	[DICT_CODE] = offsetof(struct dict_code, table),
	[DICT_STACK] = offsetof(struct dict_stack, frames),
	[DICT_LIBRARY] = offsetof(struct dict_library, name),
};

/* ---- Opening ---- */

static int check_identity(const struct journal_header *h, const char *path, struct err *e)
{
	if (memcmp(h->magic, JOURNAL_MAGIC, sizeof(h->magic)))
		return err_set(e, -EINVAL, "%s: not a journal (wrong first bytes)", path);
	if (h->version != JOURNAL_VERSION)
		return err_set(e, -EINVAL,
			       "%s: journal version %u, this profrun reads version %u: use the "
			       "profrun that wrote it",
			       path, h->version, JOURNAL_VERSION);
	if (h->header_bytes != sizeof(*h) || h->call_bytes != sizeof(struct rec_call) ||
	    h->gpu_bytes != sizeof(struct rec_gpu))
		return err_set(e, -EINVAL,
			       "%s: its record sizes differ from those of this profrun: the file "
			       "is damaged, or another build wrote it",
			       path);
	return 0;
}

static bool layout_is_sane(const struct journal_header *h)
{
	uint64_t limit = 1ull << 48;
	if (h->directory_offset % 64 || h->dictionary_offset % 8 || h->chunks_offset % 8 ||
	    h->dictionary_bytes % 8 || h->chunk_bytes % 8)
		return false;
	if (h->chunk_bytes < 1024 || h->chunk_bytes > 1u << 24 || h->file_bytes > limit)
		return false;
	if (h->directory_offset < sizeof(*h) || h->directory_offset > limit ||
	    h->dictionary_offset > limit || h->dictionary_bytes > limit || h->chunks_offset > limit)
		return false;
	return h->directory_offset + (uint64_t)h->n_chunks * sizeof(struct journal_chunk) <=
		       h->dictionary_offset &&
	       h->dictionary_offset + h->dictionary_bytes <= h->chunks_offset;
}

static int read_all(int fd, void *to, size_t bytes, uint64_t from)
{
	for (size_t done = 0; done < bytes;) {
		ssize_t n = pread(fd, (uint8_t *)to + done, bytes - done, (off_t)(from + done));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) /* the file was truncated meanwhile: the rest of `to` stays zero */
			return n < 0 ? -errno : 0;
		done += (size_t)n;
	}
	return 0;
}

static uint64_t at_most(uint64_t value, uint64_t limit)
{
	return value < limit ? value : limit;
}

/*
 * Reads the header, the directory and the used part of the dictionary. That part is usually small.
 */
static int load_used(struct reader *r, uint64_t dictionary_offset)
{
	const struct journal_header *h = (const struct journal_header *)r->meta;
	int error = read_all(r->fd, r->meta, at_most(dictionary_offset, r->meta_bytes), 0);
	uint64_t used = at_most(atomic_load(&h->dictionary_used_bytes), r->dictionary_bytes);
	if (error || !used)
		return error;
	return read_all(r->fd, r->meta + dictionary_offset, used, dictionary_offset);
}

static int load_meta(struct reader *r, uint64_t dictionary_offset, const char *path, struct err *e)
{
	if (r->is_live) {
		void *p = mmap(NULL, r->meta_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
		if (p == MAP_FAILED)
			return err_set(e, -errno, "%s: cannot map: %s", path, strerror(errno));
		r->meta = p;
		journal_guard_begin(&r->guard, p, r->meta_bytes);
		return 0;
	}
	r->meta = mem_zero(r->meta_bytes);
	int error = load_used(r, dictionary_offset);
	return error ? err_set(e, error, "%s: cannot read: %s", path, strerror(-error)) : 0;
}

/* Counts the chunks that an earlier collector recycled. Their records are lost. */
static void count_recycled(struct reader *r)
{
	uint64_t used = 0, claims = atomic_load(&r->header->chunk_claims);
	for (uint32_t i = 0; i < r->n_chunks; i++)
		used += atomic_load(&r->directory[i].state) != CHUNK_FREE;
	r->n_freed = claims > used ? claims - used : 0;
	r->n_taken = r->n_freed;
}

static int open_validated(struct reader *r, const char *path, struct err *e)
{
	struct stat status;
	struct journal_header h;
	if (fstat(r->fd, &status))
		return err_set(e, -errno, "%s: %s", path, strerror(errno));
	if (!S_ISREG(status.st_mode))
		return err_set(e, -EINVAL, "%s: not a file", path);
	uint64_t size = (uint64_t)status.st_size;
	if (size < sizeof(h))
		return err_set(e, -EINVAL,
			       "%s: not a journal, or cut short: it has %llu bytes, and a "
			       "journal's header alone has %zu",
			       path, (unsigned long long)size, sizeof(h));
	memset(&h, 0, sizeof(h));
	int error = read_all(r->fd, &h, sizeof(h), 0);
	if (error)
		return err_set(e, error, "%s: cannot read: %s", path, strerror(-error));
	error = check_identity(&h, path, e);
	if (error)
		return error;
	if (!layout_is_sane(&h))
		return err_set(e, -EINVAL, "%s: damaged journal: invalid offsets in the header",
			       path);
	r->is_truncated = size < h.file_bytes;
	r->file_bytes = size;
	r->whole_bytes = h.file_bytes;
	r->dictionary_offset = h.dictionary_offset;
	r->chunks_offset = h.chunks_offset;
	r->chunk_bytes = h.chunk_bytes;
	if (r->is_live && size < h.chunks_offset)
		return err_set(e, -EINVAL, "%s: the file is cut short: it has %llu of %llu bytes",
			       path, (unsigned long long)size, (unsigned long long)h.file_bytes);
	r->meta_bytes = at_most(h.chunks_offset, size);
	r->n_chunks = (uint32_t)at_most(h.n_chunks, (size - at_most(h.directory_offset, size)) /
							    sizeof(struct journal_chunk));
	r->dictionary_bytes =
		at_most(h.dictionary_bytes, size - at_most(h.dictionary_offset, size)) & ~7ull;
	error = load_meta(r, h.dictionary_offset, path, e);
	if (error)
		return error;
	r->header = (struct journal_header *)r->meta;
	r->directory = (struct journal_chunk *)(r->meta + h.directory_offset);
	r->seen = mem_zero(r->n_chunks * sizeof(*r->seen));
	r->buffer = mem_resize(NULL, r->chunk_bytes);
	count_recycled(r);
	plausible_set(&r->plausible, r->header);
	return 0;
}

int reader_open(struct reader *r, const char *path, bool live, struct err *e)
{
	memset(r, 0, sizeof(*r));
	r->is_live = live;
	r->fd = open(path, (live ? O_RDWR | O_NOFOLLOW : O_RDONLY) | O_CLOEXEC | O_NONBLOCK);
	if (r->fd < 0)
		return err_set(e, -errno, "%s: cannot open: %s", path, strerror(errno));
	int error = open_validated(r, path, e);
	if (error)
		reader_close(r);
	return error;
}

void reader_close(struct reader *r)
{
	if (r->meta && r->is_live) {
		journal_guard_end(&r->guard);
		munmap(r->meta, r->meta_bytes);
	} else {
		free(r->meta);
	}
	if (r->fd >= 0)
		close(r->fd);
	free(r->seen);
	free(r->buffer);
	vec_free(&r->open);
	vec_free(&r->finished);
	memset(r, 0, sizeof(*r));
	r->fd = -1;
}

/* ---- Chunks ---- */

static int by_claim(const void *a, const void *b)
{
	const struct reader_chunk *x = a, *y = b;
	return x->claim < y->claim ? -1 : x->claim > y->claim;
}

/*
 * Opens the chunks claimed since the last pass. Chunks claimed after the counter was read wait for
 * the next pass: the scan may already have passed a chunk that the same thread claimed before them.
 */
static void find_new_chunks(struct reader *r)
{
	uint64_t claims = atomic_load_explicit(&r->header->chunk_claims, memory_order_acquire);
	size_t before = r->open.n;
	r->n_claims = claims > r->n_claims ? claims : r->n_claims;
	if (r->n_taken == claims)
		return;
	for (uint32_t i = 0; i < r->n_chunks; i++) {
		struct journal_chunk *c = &r->directory[i];
		if (atomic_load_explicit(&c->state, memory_order_acquire) == CHUNK_FREE)
			continue;
		/* pairs with the release store of the claim, so that `thread` is set */
		uint64_t claim = atomic_load_explicit(&c->claim, memory_order_acquire);
		if (claim == r->seen[i] || claim > claims)
			continue;
		r->seen[i] = claim;
		r->n_taken++;
		r->n_reached = i + 1 > r->n_reached ? i + 1 : r->n_reached;
		vec_push(&r->open,
			 (struct reader_chunk){ .claim = claim, .index = i, .thread = c->thread });
	}
	if (r->open.n != before)
		qsort(r->open.at, r->open.n, sizeof(*r->open.at), by_claim);
}

/* Notes whether the file of a live journal has become shorter. */
static void note_truncation(struct reader *r)
{
	struct stat status;
	if (!r->is_live)
		return;
	r->is_truncated |= journal_guard_has_lost(&r->guard);
	if (fstat(r->fd, &status) || (uint64_t)status.st_size >= r->file_bytes)
		return;
	r->is_truncated = true;
	r->file_bytes = (uint64_t)status.st_size;
}

void reader_begin_pass(struct reader *r)
{
	note_truncation(r);
	find_new_chunks(r);
	r->next = 0;
	if (!r->is_live)
		work_begin("reading", r->open.n);
}

/*
 * Reads `bytes` bytes of a chunk from c->offset on. Returns how many were read: fewer if the file
 * ends before.
 */
static uint32_t read_chunk(struct reader *r, const struct reader_chunk *c, uint32_t bytes)
{
	uint64_t at = r->chunks_offset + (uint64_t)c->index * r->chunk_bytes + c->offset;
	uint32_t done = 0;
	while (done < bytes) {
		ssize_t n = pread(r->fd, r->buffer + done, bytes - done, (off_t)(at + done));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		done += (uint32_t)n;
	}
	return done & ~7u;
}

/* Notes that the file ends before the chunk's records do. */
static void note_cut(struct reader *r, struct reader_chunk *c)
{
	r->is_truncated = true;
	r->n_cut += r->is_live && !c->is_cut;
	c->is_cut = true;
}

static void drop_open(struct reader *r, size_t i)
{
	memmove(&r->open.at[i], &r->open.at[i + 1], (r->open.n - i - 1) * sizeof(*r->open.at));
	r->open.n--;
}

static uint64_t n_passes;

uint64_t reader_count_passes(void)
{
	return n_passes;
}

static void note_pass(struct reader *r)
{
	n_passes += !r->is_live && !r->has_read;
	r->has_read = true;
}

static bool (*asked_to_stop)(void);

void reader_ask_to_stop(bool (*must_stop)(void))
{
	asked_to_stop = must_stop;
}

bool reader_must_stop(void)
{
	return asked_to_stop && asked_to_stop();
}

bool reader_next_batch(struct reader *r, struct reader_batch *batch)
{
	while (r->next < r->open.n && !reader_must_stop()) {
		struct reader_chunk *c = &r->open.at[r->next];
		struct journal_chunk *entry = &r->directory[c->index];
		/* load the state first: nothing is appended to a chunk after it was sealed */
		bool is_sealed = atomic_load_explicit(&entry->state, memory_order_acquire) ==
				 CHUNK_SEALED;
		uint32_t committed =
			atomic_load_explicit(&entry->committed_bytes, memory_order_acquire);
		if (committed > r->chunk_bytes || committed % 8) {
			r->n_damaged++;
			committed = (uint32_t)at_most(committed, r->chunk_bytes) & ~7u;
		}
		uint32_t wanted = committed > c->offset ? committed - c->offset : 0;
		uint32_t got = wanted ? read_chunk(r, c, wanted) : 0;
		uint32_t thread = c->thread;
		bool is_start = !c->offset;
		if (got < wanted)
			note_cut(r, c);
		c->offset += wanted;
		if (!r->is_live)
			work_add(1);
		if (is_sealed) {
			vec_push(&r->finished, (struct reader_finished){ .index = c->index });
			drop_open(r, r->next);
		} else {
			r->next++;
		}
		if (!got)
			continue;
		note_pass(r);
		*batch = (struct reader_batch){ .thread = thread,
						.is_start = is_start,
						.at = r->buffer,
						.end = r->buffer + got };
		return true;
	}
	return false;
}

static const struct rec_head *next_whole(struct reader *r, struct reader_batch *batch)
{
	if (batch->end - batch->at < (ptrdiff_t)sizeof(struct rec_head))
		return NULL;
	const struct rec_head *head = (const struct rec_head *)batch->at;
	bool is_known = head->kind > REC_NONE && head->kind < REC_KINDS;
	if (!head->words || (size_t)head->words * 8 > (size_t)(batch->end - batch->at) ||
	    !head->kind || (is_known && head->words < least_words[head->kind])) {
		batch->at = batch->end;
		r->n_damaged++;
		return NULL;
	}
	batch->at += (size_t)head->words * 8;
	return head;
}

const struct rec_head *reader_next_record(struct reader *r, struct reader_batch *batch)
{
	const struct rec_head *head;
	while ((head = next_whole(r, batch))) {
		if (r->is_live || plausible_record(&r->plausible, head)) {
			r->n_records++;
			return head;
		}
		r->n_impossible++;
	}
	return NULL;
}

void reader_free_chunk(struct reader *r, uint32_t index)
{
	struct journal_chunk *c = &r->directory[index];
	r->n_freed++;
	atomic_store_explicit(&c->committed_bytes, 0, memory_order_relaxed);
	/* pairs with the acquire of the compare and swap that claims a chunk */
	atomic_store_explicit(&c->state, CHUNK_FREE, memory_order_release);
}

uint64_t reader_count_unread(const struct reader *r)
{
	uint64_t claims = atomic_load_explicit(&r->header->chunk_claims, memory_order_relaxed);
	uint64_t read = r->n_freed + r->finished.n;
	return claims > read ? claims - read : 0;
}

uint32_t reader_count_free(const struct reader *r)
{
	uint64_t claims = atomic_load_explicit(&r->header->chunk_claims, memory_order_relaxed);
	uint64_t used = claims - r->n_freed;
	return used < r->n_chunks ? r->n_chunks - (uint32_t)used : 0;
}

/*
 * Truncates the file. Changes the header first, so that the header never promises more than the
 * file contains.
 */
static int shrink(struct reader *r, const char *path, struct err *e)
{
	struct journal_header *h = r->header;
	uint32_t used = r->n_chunks;
	if (!h || r->is_truncated)
		return 0;
	while (used && atomic_load(&r->directory[used - 1].state) == CHUNK_FREE)
		used--;
	uint64_t bytes = r->chunks_offset + (uint64_t)used * r->chunk_bytes;
	if (bytes >= r->whole_bytes)
		return 0;
	h->n_chunks = used;
	h->file_bytes = bytes;
	if (ftruncate(r->fd, (off_t)bytes))
		return err_set(e, -errno, "%s: cannot remove the unused end of the file: %s", path,
			       strerror(errno));
	return 0;
}

int reader_shrink(const char *path, struct err *e)
{
	struct reader r;
	int error = reader_open(&r, path, true, e);
	if (!error) {
		error = shrink(&r, path, e);
		reader_close(&r);
	}
	return error;
}

/* ---- Dictionary ---- */

static bool dictionary_record_is_whole(const struct reader *r, const struct dict_head *head,
				       uint64_t at)
{
	uint64_t room = r->dictionary_bytes - at;
	if (head->mark != DICT_MARK || head->bytes < sizeof(*head) || head->bytes % 8 ||
	    head->bytes > room)
		return false;
	return head->kind >= DICT_KINDS || head->bytes >= least_dictionary_bytes[head->kind];
}

/*
 * A writer that was killed before it stored a record's head leaves a gap of unknown length. If
 * there is no writer any more, continues at the next word that looks like a record's head.
 */
const struct dict_head *reader_next_dictionary(struct reader *r, bool is_final)
{
	uint64_t used = at_most(atomic_load_explicit(&r->header->dictionary_used_bytes,
						     memory_order_acquire),
				r->dictionary_bytes);
	const uint8_t *base = r->meta + r->dictionary_offset;
	for (; r->dictionary_at + sizeof(struct dict_head) <= used; r->dictionary_at += 8) {
		const struct dict_head *head = (const struct dict_head *)(base + r->dictionary_at);
		uint64_t word =
			atomic_load_explicit((const _Atomic uint64_t *)head, memory_order_acquire);
		if (word && dictionary_record_is_whole(r, head, r->dictionary_at)) {
			r->dictionary_at += head->bytes;
			r->is_in_gap = false;
			return head;
		}
		if (!is_final)
			return NULL;
		/*
		 * Heads are stored last, as one word. So a head that is neither zero nor valid is
		 * damage, not a gap.
		 */
		r->n_damaged += word && !r->is_in_gap;
		r->is_in_gap = true;
	}
	return NULL;
}

const char *reader_dictionary_text(const struct dict_head *record, size_t offset)
{
	const char *text = (const char *)record + offset;
	if (offset >= record->bytes || !memchr(text, 0, record->bytes - offset))
		return NULL;
	return text;
}
