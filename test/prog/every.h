/*
 * Shared by the two every-row programs. CALL makes one call and prints one line: its symbol, its
 * result, and what the journal should say of it (key=value, hexadecimal). The test compares these
 * lines with the journal, in order. So it detects a call that is recorded twice, or not at all, or
 * with a nested one next to it. Every hooked call of these programs goes through CALL, including
 * those that only prepare others.
 */
#ifndef TEST_PROG_EVERY_H
#define TEST_PROG_EVERY_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define HEX(value) ((unsigned long)(uintptr_t)(value))

/* The function as this program got it: linked, or by dlsym (EVERY_FIND). */
#ifndef EVERY_FIND
#define EVERY_FIND(symbol) symbol
#endif

#define CALL_(symbol, mark, arguments, ...)                                \
	do {                                                               \
		unsigned status_ = (unsigned)EVERY_FIND(symbol) arguments; \
		printf("%s %s%u ", #symbol, mark, status_);                \
		printf(__VA_ARGS__);                                       \
		putchar('\n');                                             \
	} while (0)

#define CALL(symbol, arguments, ...) CALL_(symbol, "", arguments, __VA_ARGS__)
/*
 * An error is as good a result here (no second process, no such device): the call is recorded all
 * the same.
 */
#define MAY_FAIL(symbol, arguments, ...) CALL_(symbol, "?", arguments, __VA_ARGS__)

/* A function and its per-thread-default-stream twin. */
#define CALL_DS(symbol, arguments, ...)                      \
	do {                                                 \
		CALL(symbol, arguments, __VA_ARGS__);        \
		CALL(symbol##_ptds, arguments, __VA_ARGS__); \
	} while (0)
#define CALL_SZ(symbol, arguments, ...)                      \
	do {                                                 \
		CALL(symbol, arguments, __VA_ARGS__);        \
		CALL(symbol##_ptsz, arguments, __VA_ARGS__); \
	} while (0)

/* For calls that are not hooked: they must succeed. */
#define NEED(call)                                                         \
	do {                                                               \
		int failed_ = (int)(call);                                 \
		if (failed_) {                                             \
			fprintf(stderr, "%s: error %d\n", #call, failed_); \
			exit(1);                                           \
		}                                                          \
	} while (0)

#endif
