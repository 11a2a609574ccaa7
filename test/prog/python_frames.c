/*
 * The library's Python half alone, as a shared object for ctypes. Reads the calling thread's frames
 * and returns them as text, through a journal and its dictionary. test/prog/python_frames.py
 * compares the results with sys._getframe.
 */
#include "core/runtime/journal.h"
#include "core/source/journal/pylines.h"
#include "preload/lookup.h"
#include "preload/python.h"
#include "preload/python_layout.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT int frames_start(const char *folder, unsigned depth);
EXPORT int frames_start_in_child(const char *folder, unsigned depth);
EXPORT void frames_objects_changed(void);
EXPORT int frames_read(void);
EXPORT const char *frames_text(void);
EXPORT uint64_t frames_hash(void);
EXPORT const char *frames_recall(void);
EXPORT const char *frames_info(void);
EXPORT uint32_t frames_codes(void);
EXPORT int frames_bytecode(const char *name, uint8_t *out, int room, unsigned *version);
EXPORT uint64_t frames_stack(void);
EXPORT int frames_call(int (*callback)(int), int argument);
EXPORT double frames_bench(int resolve, int rounds);
EXPORT void frames_shift(int field, int bytes);

/* Without the library's wrapper of dlsym there is nothing to go around. */
void *lookup_dlsym(void *handle, const char *name)
{
	return dlsym(handle, name);
}

void lookup_forget_error(void)
{
	dlerror();
}

/* ---- Layouts that are wrong on purpose: linked with --wrap=python_layout_choose ---- */

const char *__real_python_layout_choose(const struct python_api *api, struct python_layout *to);
const char *__wrap_python_layout_choose(const struct python_api *api, struct python_layout *to);

static int shifted_field = -1, shift_bytes;

void frames_shift(int field, int bytes)
{
	shifted_field = field;
	shift_bytes = bytes;
}

const char *__wrap_python_layout_choose(const struct python_api *api, struct python_layout *to)
{
	const char *why = __real_python_layout_choose(api, to);
	uint16_t *const fields[] = {
		&to->thread_top,  &to->frame_previous, &to->frame_code,	      &to->frame_position,
		&to->frame_owner, &to->code_file,      &to->code_name,	      &to->code_first_line,
		&to->code_lines,  &to->code_start,     &to->code_identity[0], &to->object_type,
		&to->object_size, &to->bytes_data,     &to->text_length,      &to->text_state,
		&to->text_ascii,  &to->cframe_frame,   &to->frame_is_entry,
	};
	if (shifted_field >= 0 && shifted_field < (int)(sizeof(fields) / sizeof(*fields)) &&
	    *fields[shifted_field] != ABSENT)
		*fields[shifted_field] = (uint16_t)(*fields[shifted_field] + shift_bytes);
	to->is_moved |= shifted_field >= 0;
	return why;
}

/* ---- The dictionary, read where it is mapped ---- */

enum { IDS_MOST = 1 << 20 };

static struct {
	pthread_mutex_t lock;
	uint64_t at;
	const struct dict_code **codes;
	const char **strings;
	const char *python;
	uint32_t n_codes;
} dictionary = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void note(const struct dict_head *head)
{
	const struct dict_string *string = (const struct dict_string *)head;
	const struct dict_code *code = (const struct dict_code *)head;
	const char *key = (const char *)(head + 1);
	if (head->kind == DICT_STRING && string->id < IDS_MOST)
		dictionary.strings[string->id] = string->text;
	if (head->kind == DICT_CODE && code->id < IDS_MOST) {
		dictionary.codes[code->id] = code;
		dictionary.n_codes++;
	}
	if (head->kind == DICT_INFO && !strcmp(key, "python"))
		dictionary.python = key + strlen(key) + 1;
}

/* A record whose head is not there yet is read next time. */
static void read_dictionary(void)
{
	const struct journal_header *h = journal_header();
	const uint8_t *base = (const uint8_t *)h + h->dictionary_offset;
	while (dictionary.at < atomic_load(&h->dictionary_used_bytes)) {
		const struct dict_head *head = (const struct dict_head *)(base + dictionary.at);
		uint64_t word = atomic_load((const _Atomic uint64_t *)head);
		if ((word & 0xffff) != DICT_MARK)
			return;
		note(head);
		dictionary.at += head->bytes;
	}
}

static int open_journal(const char *folder, unsigned depth)
{
	struct err e;
	if (journal_open(folder, 256 << 20, CLOCK_KIND_MONOTONIC_NS, &e)) {
		fprintf(stderr, "%s\n", e.text);
		return -1;
	}
	dictionary.codes = calloc(IDS_MOST, sizeof(*dictionary.codes));
	dictionary.strings = calloc(IDS_MOST, sizeof(*dictionary.strings));
	python_start(depth);
	return 0;
}

int frames_start(const char *folder, unsigned depth)
{
	return open_journal(folder, depth);
}

int frames_start_in_child(const char *folder, unsigned depth)
{
	journal_forget();
	python_forget();
	pthread_mutex_init(&dictionary.lock, NULL);
	dictionary.at = dictionary.n_codes = 0;
	dictionary.python = NULL;
	return open_journal(folder, depth);
}

void frames_objects_changed(void)
{
	python_objects_changed();
}

/* ---- Reading ---- */

/*
 * One per thread, from malloc: thread-locals of this size would not fit the room that is left for
 * dlopen.
 */
struct answer {
	struct python_chain chain;
	struct python_frame frames[PYTHON_DEPTH_MOST];
	char text[1 << 20];
};

static __thread struct answer *answer;

static struct answer *own_answer(void)
{
	if (!answer)
		answer = calloc(1, sizeof(*answer));
	return answer;
}

static size_t print_frame(char *to, size_t room, const struct python_frame *f)
{
	const struct dict_code *code = f->code < IDS_MOST ? dictionary.codes[f->code] : NULL;
	uint32_t line;
	int n;
	if (!code)
		return (size_t)snprintf(to, room, "?\t0\t?\t%d\t%llx\n", f->is_entry,
					(unsigned long long)f->marker);
	const char *file = dictionary.strings[code->file], *name = dictionary.strings[code->name];
	line = pylines_line((enum line_table)code->lines, code->table, code->table_bytes,
			    code->first_line, f->lasti);
	n = snprintf(to, room, "%s\t%u\t%s\t%d\t%llx\n", file ? file : "?", line, name ? name : "?",
		     f->is_entry, (unsigned long long)f->marker);
	return n < (int)room ? (size_t)n : room;
}

/* How many frames; -1: there are more than are kept; -2: not resolved. */
static int resolve(struct answer *a)
{
	uint32_t flags = 0;
	size_t used = 0;
	a->text[0] = 0;
	if (!python_resolve(&a->chain, a->frames, &flags))
		return -2;
	pthread_mutex_lock(&dictionary.lock);
	read_dictionary();
	for (uint32_t i = 0; i < a->chain.n; i++)
		used += print_frame(a->text + used, sizeof(a->text) - used, &a->frames[i]);
	pthread_mutex_unlock(&dictionary.lock);
	return flags & STACK_PYTHON_TRUNCATED ? -1 : (int)a->chain.n;
}

/* The frames' text is for frames_text on the same thread. */
int frames_read(void)
{
	struct answer *a = own_answer();
	python_read(&a->chain);
	return resolve(a);
}

const char *frames_text(void)
{
	return own_answer()->text;
}

/* Of the calling thread's frames now. */
uint64_t frames_hash(void)
{
	python_read(&own_answer()->chain);
	return own_answer()->chain.hash;
}

/*
 * As the library uses it: returns what is known for the hash, and resolves only new hashes. One
 * thread.
 */
const char *frames_recall(void)
{
	enum { SLOTS = 1 << 16 };
	static struct {
		uint64_t hash;
		char *text;
	} known[SLOTS];
	struct answer *a = own_answer();
	python_read(&a->chain);
	uint64_t at = a->chain.hash % SLOTS;
	if (known[at].hash != a->chain.hash) {
		free(known[at].text);
		resolve(a);
		known[at].hash = a->chain.hash;
		known[at].text = strdup(a->text);
	}
	return known[at].text;
}

/* DICT_INFO "python". */
const char *frames_info(void)
{
	read_dictionary();
	return dictionary.python ? dictionary.python : "";
}

uint32_t frames_codes(void)
{
	read_dictionary();
	return dictionary.n_codes;
}

/* Copies the bytecode of the newest code object of this name. Returns its size, -1: no such name.
 */
int frames_bytecode(const char *name, uint8_t *out, int room, unsigned *version)
{
	int bytes = -1;
	read_dictionary();
	for (uint32_t id = 1; id <= dictionary.n_codes; id++) {
		const struct dict_code *code = dictionary.codes[id];
		if (strcmp(dictionary.strings[code->name], name) ||
		    code->bytecode_bytes > (unsigned)room)
			continue;
		bytes = (int)code->bytecode_bytes;
		*version = code->python;
		memcpy(out, code->table + code->table_bytes, code->bytecode_bytes);
	}
	return bytes;
}

/* An address on the calling thread's stack. */
uint64_t frames_stack(void)
{
	return (uint64_t)(uintptr_t)__builtin_frame_address(0);
}

int frames_call(int (*callback)(int), int argument)
{
	return callback(argument);
}

/* ns per read, or read and resolve, from here. */
double frames_bench(int resolve, int rounds)
{
	struct answer *a = own_answer();
	struct timespec begin, end;
	uint32_t flags = 0;
	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (int i = 0; i < rounds; i++) {
		python_read(&a->chain);
		if (resolve)
			python_resolve(&a->chain, a->frames, &flags);
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	return ((double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec)) /
	       rounds;
}
