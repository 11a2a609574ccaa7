/*
 * The objects that unit.mk builds from flow/shapes.c, with several compilers and options. The
 * linker has kept the relocations of the calls, which say where each function is called.
 */
#ifndef TEST_UNIT_FLOW_OBJECT_H
#define TEST_UNIT_FLOW_OBJECT_H

#include "core/flow/flow.h"

#include <gelf.h>

struct object {
	char path[4096];
	int fd;
	Elf *elf;
	enum flow_machine machine;
	Elf_Data *symbols;
	GElf_Shdr symbols_header;
};

/*
 * Adds a test for each object of the list `names`, with its name as the state: for this machine's
 * compiler, for others that are on this machine, and one that is skipped for each that is not, with
 * the first list.
 * Returns how many tests it added.
 */
#define FLOW_OBJECT_TESTS(to, room, test, names) \
	flow_object_tests(to, room, test, names, sizeof(names) / sizeof(*(names)))

/* Returns false if the object is not there. Else close_object() must follow. */
bool open_object(struct object *o, const char *name);

/*
 * The same. Skips the test if the compiler of the object is not on this machine, and fails if this
 * machine's own is not.
 */
bool open_object_or_skip(struct object *o, const char *name);
void close_object(struct object *o);

GElf_Sym find_symbol(const struct object *o, const char *function);

/* The caller frees the result with flow_free(). */
struct flow *flow_of(struct object *o, const char *function, bool with_constants);

enum { PLACES_MOST = 64 };

/*
 * Writes the places at which `function` calls `called`, and returns how many there are, at least
 * one.
 */
size_t places(const struct object *o, const char *function, const char *called,
	      uint64_t out[static PLACES_MOST]);

/* Returns whether the place is of a jump without condition to another function. */
bool is_jump(struct object *o, uint64_t at);

struct CMUnitTest;

/* See FLOW_OBJECT_TESTS(). */
size_t flow_object_tests(struct CMUnitTest *to, size_t room, void (*test)(void **),
			 const char *const *names, size_t n);

#endif
