/*
 * Assigns an id to each code object by its content: file, name, first line and line table, and up
 * to 3.10 the bytecode. Programs that compile in a loop create code objects without end, most of
 * them equal. Equal objects share an id, and beyond a limit no new ids are given. An object is
 * looked up by its address first. The table keeps a fingerprint per address, because a new object
 * may reuse the address of a freed one.
 *
 * A stack can get the wrong line in one case: two objects occupy one address, one after the other,
 * with equal identity words (python_layout.def), and a stack with the first object is already
 * known. Calls in the second object are then attributed to the first object's line until a check
 * notices (every 256th read of a thread). From 3.12 on this cannot happen, because co_version is
 * unique (for the first 4 billion functions of a process). Before 3.12, only a loop around exec()
 * showed it. Two contents with the same 64-bit hash would share an id: at the limit of 262,144
 * objects the odds are 1 in 500 million.
 */
#include "preload/python_code.h"

#include "core/runtime/journal.h"
#include "core/runtime/log.h"
#include "core/runtime/token.h"
#include "preload/hook.h"
#include "preload/python_table.h"
#include "preload/python_text.h"

#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
	CODES_MOST = 262144,
	ADDRESSES_MOST = 262144, /* at most 24 MiB; a full table is emptied */
	STRINGS_MOST = 262144,
	/* per code object: enough for a function of more than 100,000 lines */
	TABLE_BYTES_MOST = 1 << 20,
	/* all line tables and bytecode together may use a quarter of the dictionary */
	TABLES_SHARE = 4,
	TEXT_BYTES = 8192, /* room for the longest file name (PATH_MAX) or a long qualname */
	SPINS = 200,
	PAUSE_NS = 50000,
	PAUSES = 10000, /* python_code_lock() waits for at least half a second */
};

/* Indexes into the values of an address table's entry. */
enum { ENTRY_PRINT, ENTRY_IDENTITY, ENTRY_ID };

static struct {
	atomic_flag busy;
	/* address of a code object -> fingerprint, identity words, id */
	struct python_table addresses;
	struct python_table contents; /* hash of a content -> id */
	struct python_table strings;  /* hash of a text -> id of its DICT_STRING */
	uint32_t n_codes;
	uint64_t table_bytes;
	char text[TEXT_BYTES];
} g = { .busy = ATOMIC_FLAG_INIT };

_Atomic uint64_t python_code_epoch_now;

/* This thread holds the lock. A signal handler may interrupt it, and must not wait for the lock
 * then. */
static _Thread_local bool is_inside;

/* ---- The lock ---- */

bool python_code_try_lock(void)
{
	if (is_inside || atomic_flag_test_and_set_explicit(&g.busy, memory_order_acquire))
		return false;
	is_inside = true;
	return true;
}

/* The holder keeps the lock for microseconds, or longer if it is preempted. Does not use
 * nanosleep(3), which is a cancellation point. */
bool python_code_lock(void)
{
	static const struct timespec pause = { .tv_nsec = PAUSE_NS };
	for (int tries = 0; !is_inside && tries < SPINS + PAUSES; tries++) {
		if (python_code_try_lock())
			return true;
		if (tries >= SPINS)
			syscall(SYS_nanosleep, &pause, NULL);
	}
	return false;
}

void python_code_unlock(void)
{
	is_inside = false;
	atomic_flag_clear_explicit(&g.busy, memory_order_release);
}

void python_code_forget(void)
{
	python_table_drop(&g.addresses);
	python_table_drop(&g.contents);
	python_table_drop(&g.strings);
	g.n_codes = 0;
	g.table_bytes = 0;
	python_code_unlock();
}

/* ---- Fingerprints ---- */

static uint64_t fold_in(uint64_t hash, uint64_t word)
{
	return token_fold(hash ^ word, TOKEN_K1) + TOKEN_K0;
}

static uint64_t hash_bytes(uint64_t hash, uint64_t address, uint64_t bytes)
{
	uint64_t i = 0, last = 0;
	for (; i + 8 <= bytes; i += 8)
		hash = fold_in(hash, python_word(address + i));
	memcpy(&last, (const void *)(uintptr_t)(address + i), bytes - i);
	return fold_in(hash, last ^ bytes << 56);
}

struct lines {
	uint64_t at, bytes;
};

static struct lines lines_of(const struct python_layout *l, uint64_t code)
{
	uint64_t object = python_word(code + l->code_lines);
	return (struct lines){ object + l->bytes_data, python_word(object + l->object_size) };
}

/* Hashes a short piece completely, and only the first and last 24 bytes of a long one (48 bytes or
 * more). */
static uint64_t hash_ends(uint64_t hash, uint64_t address, uint64_t bytes)
{
	uint64_t ends = bytes < 48 ? bytes : 24;
	hash = hash_bytes(hash ^ bytes << 48, address, ends);
	return hash_bytes(hash, address + bytes - ends, ends);
}

/* Hashes a str by its content, because another text of the same length may reuse its address. A
 * character has 1, 2 or 4 bytes, so the first `length` bytes of the data are always readable. */
static uint64_t hash_text(const struct python_layout *l, uint64_t hash, uint64_t text)
{
	uint64_t length = python_word(text + l->text_length);
	return hash_ends(hash, text + l->text_ascii, length < TEXT_BYTES ? length : TEXT_BYTES);
}

/* Hashes what identifies a code object: its own fields, its texts and its line table. Takes 20
 * ns. */
static uint64_t fingerprint(const struct python_layout *l, uint64_t code)
{
	struct lines lines = lines_of(l, code);
	uint64_t file = python_word(code + l->code_file), name = python_word(code + l->code_name);
	uint64_t hash = hash_text(l, fold_in(TOKEN_K2, file), file);
	hash = hash_text(l, fold_in(hash, name), name);
	hash = fold_in(hash, python_half(code + l->code_first_line));
	hash = fold_in(hash, python_word(code + l->code_lines));
	hash = fold_in(hash, python_code_identity(l, code));
	return hash_ends(hash, lines.at, lines.bytes);
}

static void next_epoch(void)
{
	atomic_fetch_add_explicit(&python_code_epoch_now, 1, memory_order_relaxed);
}

/* ---- Into the dictionary ---- */

static uint64_t never_zero(uint64_t hash)
{
	return hash ? hash : 1;
}

static void count_lost(void)
{
	struct journal_header *h = journal_header();
	log_once(LOG_WARN, "too many Python code objects: some Python frames will have no name");
	if (h)
		atomic_fetch_add_explicit(&h->dropped_dictionary, 1, memory_order_relaxed);
}

struct python_bytecode python_bytecode_of(const struct python_api *api,
					  const struct python_layout *l, uint64_t code)
{
	if (l->position != POSITION_ADDRESS) {
		uint64_t object = python_word(code + l->code_start);
		return (struct python_bytecode){ .at = object + l->bytes_data,
						 .bytes = python_word(object + l->object_size) };
	}
	struct python_bytecode b = { .at = code + l->code_start,
				     .bytes = 2 * python_word(code + l->object_size) };
	uint64_t table = l->code_exceptions != ABSENT ? python_word(code + l->code_exceptions) : 0;
	if (table && python_word(table + l->object_type) == api->bytes_type) {
		b.exceptions = table + l->bytes_data;
		b.exceptions_bytes = python_word(table + l->object_size);
	}
	return b;
}

/* Returns the id of a str's DICT_STRING, 0 if the str cannot be read or stored. */
static uint32_t string_id(const struct python_api *api, const struct python_layout *l,
			  uint64_t text)
{
	if (!text || python_word(text + l->object_type) != api->text_type ||
	    !python_text_copy(l, text, g.text, sizeof(g.text)))
		return 0;
	uint64_t key =
		never_zero(hash_bytes(TOKEN_K1, (uint64_t)(uintptr_t)g.text, strlen(g.text)));
	struct python_entry *e = python_table_find(&g.strings, key);
	if (!e && g.strings.n_used < STRINGS_MOST)
		e = python_table_at(&g.strings, key);
	if (!e)
		return 0;
	if (!e->value[0])
		e->value[0] = journal_put_string(g.text);
	return (uint32_t)e->value[0];
}

static uint64_t tables_most(void)
{
	const struct journal_header *h = journal_header();
	return h ? h->dictionary_bytes / TABLES_SHARE : 0;
}

/* Bytecode is left out first if there is little room, because every stack needs the lines. */
static uint32_t put_code(struct dict_code *record, uint64_t table, struct python_bytecode bytecode)
{
	uint64_t needed = g.table_bytes + record->table_bytes;
	if (g.n_codes >= CODES_MOST || needed > tables_most()) {
		count_lost();
		return 0;
	}
	if (needed + bytecode.bytes + bytecode.exceptions_bytes <= tables_most() / 2) {
		record->bytecode_bytes = (uint32_t)bytecode.bytes;
		record->exceptions_bytes = (uint16_t)bytecode.exceptions_bytes;
	}
	const struct journal_part parts[] = {
		{ (const void *)(uintptr_t)table, record->table_bytes },
		{ (const void *)(uintptr_t)bytecode.at, record->bytecode_bytes },
		{ (const void *)(uintptr_t)bytecode.exceptions, record->exceptions_bytes },
	};
	record->id = g.n_codes + 1;
	if (!journal_put_parts(&record->head, sizeof(*record), parts,
			       sizeof(parts) / sizeof(*parts)))
		return 0;
	g.n_codes++;
	g.table_bytes += record->table_bytes + record->bytecode_bytes + record->exceptions_bytes;
	return record->id;
}

/* Reads a code object. Returns the id of an equal object in the dictionary, or a new id; 0 if the
 * dictionary has no room. */
static uint32_t id_by_content(const struct python_api *api, const struct python_layout *l,
			      uint64_t code, struct python_bytecode bytecode)
{
	struct lines lines = lines_of(l, code);
	struct dict_code record = { .head.kind = DICT_CODE,
				    .lines = l->lines,
				    .python = (uint16_t)(api->version >> 16) };
	if (bytecode.bytes > BYTECODE_MOST)
		bytecode.bytes = 0;
	if (!bytecode.bytes || bytecode.exceptions_bytes > EXCEPTIONS_MOST)
		bytecode.exceptions_bytes = 0;
	record.file = string_id(api, l, python_word(code + l->code_file));
	record.name = string_id(api, l, python_word(code + l->code_name));
	record.first_line = python_half(code + l->code_first_line);
	if (lines.bytes <= TABLE_BYTES_MOST)
		record.table_bytes = (uint32_t)lines.bytes;
	else
		record.lines = LINES_NONE;
	uint64_t hash = fold_in(TOKEN_K0, (uint64_t)record.file << 32 | record.name);
	hash = fold_in(hash, record.first_line);
	hash = hash_bytes(hash, lines.at, record.table_bytes);
	/* Since 3.11 the bytecode changes while it runs, and the line table distinguishes nearly
	 * all code: it has the columns, too. */
	if (l->position != POSITION_ADDRESS)
		hash = hash_bytes(hash, bytecode.at, bytecode.bytes);
	hash = never_zero(hash);
	struct python_entry *e = python_table_find(&g.contents, hash);
	if (e)
		return (uint32_t)e->value[0];
	uint32_t id = put_code(&record, lines.at, bytecode);
	e = id ? python_table_at(&g.contents, hash) : NULL;
	if (e)
		e->value[0] = id;
	return id;
}

/* ---- By address ---- */

static void remember(const struct python_layout *l, uint64_t code, uint64_t print, uint32_t id)
{
	uint64_t identity = python_code_identity(l, code);
	if (g.addresses.n_used >= ADDRESSES_MOST) {
		python_table_drop(&g.addresses);
		/* Nothing is left to compare later objects with, so hashes must change. */
		next_epoch();
	}
	struct python_entry *e = python_table_at(&g.addresses, code);
	if (!e)
		return;
	if (e->value[ENTRY_ID] && e->value[ENTRY_ID] != id &&
	    (e->value[ENTRY_IDENTITY] == identity || !python_is_identity_unique(l)))
		next_epoch();
	e->value[ENTRY_PRINT] = print;
	e->value[ENTRY_IDENTITY] = identity;
	e->value[ENTRY_ID] = id;
}

uint32_t python_code_id(const struct python_api *api, const struct python_layout *l, uint64_t code)
{
	if (!code || python_word(code + l->object_type) != api->code_type)
		return 0;
	uint64_t print = fingerprint(l, code);
	struct python_entry *e = python_table_find(&g.addresses, code);
	if (e && e->value[ENTRY_PRINT] == print)
		return (uint32_t)e->value[ENTRY_ID];
	uint32_t id = id_by_content(api, l, code, python_bytecode_of(api, l, code));
	if (id)
		remember(l, code, print, id);
	return id;
}

uint32_t python_code_id_of_copy(const struct python_api *api, const struct python_layout *l,
				uint64_t copy, struct python_bytecode bytecode)
{
	return id_by_content(api, l, copy, bytecode);
}

void python_code_check(const struct python_api *api, const struct python_layout *l, uint64_t code)
{
	if (python_table_find(&g.addresses, code))
		python_code_id(api, l, code);
}
