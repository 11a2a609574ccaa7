/*
 * The Python half of a call's stack. Reads the calling thread's own frames without the GIL, without
 * reference counts and without Python's headers. The offsets of Python's fields come from a table
 * by version. The first chain of frames is verified with reads that cannot fault. If anything does
 * not match, Python frames are switched off for the process, with one warning.
 */
#ifndef PRELOAD_PYTHON_H
#define PRELOAD_PYTHON_H

#include <stdbool.h>
#include <stdint.h>

enum { PYTHON_DEPTH_MOST = 512 };

/* The result of python_read(): enough to recognize a known stack. */
struct python_chain {
	uint32_t n;	   /* number of frames, at most the depth limit */
	bool is_truncated; /* the depth limit cut off outer frames */
	/* Hash of the frames, of which of them entered the evaluator, and of the code objects at
	 * their addresses. 0 only if there are no frames. */
	uint64_t hash;
};

/* A frame as the journal needs it. */
struct python_frame {
	/* id of a DICT_CODE, which is written when first seen; 0: the dictionary has no room, or
	 * the code is not readable */
	uint32_t code;
	uint32_t lasti; /* offset of the last instruction in bytes, or FRAME_LASTI_UNKNOWN */
	/* outermost Python frame of one activation of the evaluator (the interpreter's C
	 * function) */
	bool is_entry;
	/* If is_entry: an address within the evaluator's C frame. 0: this Python version has no
	 * such address (3.8, 3.9). */
	uint64_t marker;
};

/* Finds Python if it is loaded already; cheap if it is not. If Python is loaded later,
 * python_objects_changed() makes the next read look for it. `depth`: maximum number of frames.
 * Called once, when the first stack is taken. Not on the hot path. */
void python_start(unsigned depth);

/* Called when Python may have been loaded: the next read looks for it again. Any thread. */
void python_objects_changed(void);

/* Reads the calling thread's chain of frames. Returns false (and n = 0) if there are no frames. Hot
 * path; keeps `errno`. */
bool python_read(struct python_chain *chain);

/*
 * Resolves the frames of the chain that python_read() has just filled, innermost first. The thread
 * must not run Python code between the two calls. `out` has room for chain->n frames. Writes new
 * code objects to the dictionary. Adds STACK_BY_NAME and STACK_PYTHON_TRUNCATED to `flags` where
 * they apply. The outermost frame of a truncated chain may lack is_entry. Returns false if some
 * codes are 0 only because the table of code objects could not be locked now, as in a signal
 * handler that interrupted this function. The caller must then not remember the hash. Not on the
 * hot path.
 */
bool python_resolve(const struct python_chain *chain, struct python_frame *out, uint32_t *flags);

/* Returns where the calling thread keeps the address of its PyThreadState: a word of 64 bits, 0
 * until the thread's frames were read for the first time. */
const void *python_state_place(void);

/* In a forked child: forgets the ids, because the child's journal is new and empty. */
void python_forget(void);

#endif
