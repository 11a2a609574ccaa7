/*
 * The Python half of a call's stack: the calling thread's own frames, read without the GIL, without
 * reference counts and without Python's headers. Offsets come from a table by version. The first
 * chain is verified with reads that cannot fault; if anything does not match, Python frames are
 * switched off for the process, with one warning.
 */
#ifndef PRELOAD_PYTHON_H
#define PRELOAD_PYTHON_H

#include <stdbool.h>
#include <stdint.h>

enum { PYTHON_DEPTH_MOST = 512 };

/* The result of a read: enough to recognize the stack. */
struct python_chain {
	uint32_t n;	   /* frames, at most the depth limit */
	bool is_truncated; /* there are frames further out */
	/* of the frames, of which of them entered the evaluator, and of the code objects at their
	 * addresses; 0 only if there are no frames */
	uint64_t hash;
};

/* A frame ready for the journal. */
struct python_frame {
	uint32_t code;	/* DICT_CODE, written when first seen; 0: no room or not readable */
	uint32_t lasti; /* in bytes, or FRAME_LASTI_UNKNOWN */
	bool is_entry;	/* the outermost Python frame of its activation of the evaluator */
	/* is_entry: an address within the evaluator's own C frame, 0: this version has none (3.8,
	 * 3.9) */
	uint64_t marker;
};

/* Finds Python if it is loaded already; cheap if it is not. Python may be loaded later: see
 * python_objects_changed. `depth`: maximum frames. Called once, when the first stack is taken.
 * Cold. */
void python_start(unsigned depth);

/* Python may have been loaded since: the next read looks for it again. Any thread. */
void python_objects_changed(void);

/* Reads the calling thread's chain. Returns false (and n = 0) if there is none. Hot; `errno` is
 * unchanged. */
bool python_read(struct python_chain *chain);

/*
 * Resolves the frames, innermost first, of the chain that python_read has just filled, with nothing
 * in between on this thread. `out` has room for chain->n. New code objects are written to the
 * dictionary. `flags` gets bits of enum stack_flag (BY_NAME, PYTHON_TRUNCATED). The outermost frame
 * of a truncated chain may lack is_entry. Returns false if some codes are 0 only because the table
 * could not be locked now (a signal handler within this very function): do not remember the hash
 * then. Cold.
 */
bool python_resolve(const struct python_chain *chain, struct python_frame *out, uint32_t *flags);

/* In a forked child: its journal is new and empty. */
void python_forget(void);

#endif
