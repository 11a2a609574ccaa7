/*
 * Finds range names by the hash of their text, not by its address, because programs reuse one
 * buffer for different names. Two texts with the same 64-bit hash would count as one name. With the
 * table's limit of 49,152 names the chance of that is one in ten billion.
 */
#include "preload/range_names.h"

#include "core/runtime/log.h"
#include "preload/hook.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

enum {
	SLOTS = 65536, /* 1.5 MiB of zero pages; only pages that were touched use memory */
	SLOTS_USED_MOST = SLOTS / 4 * 3,
	ARENA_BYTES = 1 << 16,
	DOMAINS = 64,
	DOMAIN_NAME_BYTES = 120,
};

struct range_domain {
	char name[DOMAIN_NAME_BYTES];
	_Atomic uint32_t id;	   /* DICT_STRING; 0: not in this journal yet */
	_Atomic uint32_t is_ready; /* `name` is complete */
};

struct arena {
	_Atomic size_t used;
	char bytes[ARENA_BYTES - sizeof(size_t)];
};

static struct range_name table[SLOTS];
static _Atomic uint32_t n_used;
static struct range_name beyond = { .hash = 1, .text = "(name limit reached)" };
static _Atomic(struct arena *) arena;
static struct range_domain domains[DOMAINS];
static _Atomic uint32_t n_domains;

size_t range_name_length(const char *text)
{
	size_t n = strnlen(text, RANGE_NAME_MOST + 1);
	if (n <= RANGE_NAME_MOST)
		return n;
	for (n = RANGE_NAME_MOST; n && ((unsigned char)text[n] & 0xc0) == 0x80;)
		n--;
	return n;
}

/* Hashes eight bytes at a time; names usually have 10 to 40 bytes. Never returns 0. */
static uint64_t hash_of(const char *text, size_t length)
{
	uint64_t h = length * TOKEN_K2, word;
	for (; length >= 8; text += 8, length -= 8) {
		memcpy(&word, text, 8);
		h = token_fold(h ^ word, TOKEN_K0);
	}
	word = 0;
	memcpy(&word, text, length);
	h = token_fold(h ^ word, TOKEN_K1) ^ h >> 32;
	return h ? h : 1;
}

static struct range_name *slot_of(uint64_t hash)
{
	uint32_t at = (uint32_t)(hash >> 20) & (SLOTS - 1);
	for (;; at = (at + 1) & (SLOTS - 1)) {
		uint64_t there = atomic_load_explicit(&table[at].hash, memory_order_relaxed);
		if (LIKELY(there == hash))
			return &table[at];
		if (there)
			continue;
		if (atomic_load_explicit(&n_used, memory_order_relaxed) >= SLOTS_USED_MOST) {
			log_once(LOG_WARN,
				 "more than %d distinct NVTX range names: further names are "
				 "recorded as \"(name limit reached)\"",
				 SLOTS_USED_MOST);
			return &beyond;
		}
		if (atomic_compare_exchange_strong(&table[at].hash, &there, hash)) {
			atomic_fetch_add_explicit(&n_used, 1, memory_order_relaxed);
			return &table[at];
		}
		if (there == hash)
			return &table[at];
	}
}

/* Returns `*id`, and first writes the text to the dictionary if `*id` is 0. Two threads may both
 * write the same text; a reader accepts either id. */
static uint32_t put(_Atomic uint32_t *id, const char *text)
{
	uint32_t known = atomic_load_explicit(id, memory_order_relaxed);
	if (UNLIKELY(!known)) {
		int saved = errno;
		known = journal_put_string(text);
		atomic_store_explicit(id, known, memory_order_relaxed);
		errno = saved;
	}
	return known;
}

uint32_t range_name_id(const char *text, size_t length)
{
	struct range_name *name = slot_of(hash_of(text, length));
	return put(&name->id, name == &beyond ? beyond.text : text);
}

/* ---- Registered names ---- */

static struct arena *next_arena(struct arena *full)
{
	struct arena *fresh = mmap(NULL, sizeof(*fresh), PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (fresh == MAP_FAILED)
		return NULL;
	if (atomic_compare_exchange_strong(&arena, &full, fresh))
		return fresh;
	munmap(fresh, sizeof(*fresh));
	return full;
}

/* Copies a text into memory that is never freed. Uses mmap, not malloc, because the application's
 * allocator may be the function that is being traced. Returns NULL if there is no memory. */
static const char *copy(const char *text, size_t length)
{
	struct arena *a = atomic_load(&arena);
	if (!a)
		a = next_arena(NULL);
	while (a) {
		size_t at = atomic_fetch_add(&a->used, length + 1);
		if (at + length + 1 <= sizeof(a->bytes)) {
			memcpy(a->bytes + at, text, length);
			return a->bytes + at;
		}
		a = next_arena(a);
	}
	return NULL;
}

struct range_name *range_name_register(const char *text)
{
	int saved = errno;
	size_t length = range_name_length(text);
	struct range_name *name = slot_of(hash_of(text, length));
	if (!atomic_load(&name->text)) {
		const char *none = NULL, *kept = copy(text, length);
		if (kept)
			atomic_compare_exchange_strong(&name->text, &none, kept);
	}
	errno = saved;
	return atomic_load(&name->text) ? name : &beyond;
}

uint32_t range_name_registered_id(struct range_name *name)
{
	return put(&name->id, atomic_load_explicit(&name->text, memory_order_relaxed));
}

/* ---- Domains ---- */

struct range_domain *range_domain_of(const char *name)
{
	uint32_t n = atomic_load(&n_domains);
	for (uint32_t i = 0; i < n && i < DOMAINS; i++)
		if (atomic_load(&domains[i].is_ready) &&
		    !strncmp(domains[i].name, name, DOMAIN_NAME_BYTES - 1))
			return &domains[i];
	n = atomic_fetch_add(&n_domains, 1);
	if (n >= DOMAINS) {
		atomic_store(&n_domains, DOMAINS);
		log_once(LOG_WARN,
			 "more than %d NVTX domains: ranges of further domains are recorded in the "
			 "last of these domains",
			 DOMAINS);
		return &domains[DOMAINS - 1];
	}
	strncpy(domains[n].name, name, DOMAIN_NAME_BYTES - 1);
	atomic_store(&domains[n].is_ready, 1);
	return &domains[n];
}

uint32_t range_domain_id(struct range_domain *domain)
{
	return domain ? put(&domain->id, domain->name) : 0;
}

const char *range_domain_name(const struct range_domain *domain)
{
	return domain ? domain->name : "";
}

void range_names_forget(void)
{
	for (uint32_t i = 0; n_used && i < SLOTS; i++)
		table[i].id = 0;
	for (uint32_t i = 0; i < DOMAINS; i++)
		domains[i].id = 0;
	beyond.id = 0;
}
