/*
 * The Python half of a call's stack: the calling thread's own frames, read without the GIL, without reference counts and
 * without Python's headers. Offsets come from a table by version; the first chain is verified with reads that cannot fault,
 * and at the first doubt Python frames are off for the process (said once).
 */
#ifndef PRELOAD_PYTHON_H
#define PRELOAD_PYTHON_H

#include <stdbool.h>
#include <stdint.h>

enum { PYTHON_DEPTH_MOST = 512 };

/* What a read gives: enough to know the stack again. */
struct python_chain {
	uint32_t n;	   /* frames, at most the depth that is kept */
	bool is_truncated; /* there are frames further out */
	/* of the frames, of which ones entered the evaluator, and of which objects lie behind their addresses; 0 only where there
	 * are no frames */
	uint64_t hash;
};

/* A frame ready for the journal. */
struct python_frame {
	uint32_t code;	/* DICT_CODE, written at its first sight; 0: no room or not readable */
	uint32_t lasti; /* bytes; FRAME_LASTI_UNKNOWN */
	bool is_entry;	/* the outermost Python frame of its activation of the evaluator */
	uint64_t
		marker; /* is_entry: an address within the evaluator's own C frame, 0: this version has none (3.8, 3.9) */
};

/* Once, at arming: finds Python if there is one already; cheap where there is none. Python may come later: see
 * python_objects_changed. `depth`: frames kept. Cold. */
void python_start(unsigned depth);

/* Python may have been loaded since: looked for again with the next read. Any thread. */
void python_objects_changed(void);

/* Reads the calling thread's chain. False (and n = 0) where there is none. Hot; `errno` stays as it was. */
bool python_read(struct python_chain *chain);

/* The frames, innermost first, of the chain that python_read has just filled, with nothing in between on this thread; `out` has room for
 * chain->n. New code objects go into the dictionary. `flags` gets bits of enum stack_flag (BY_NAME, PYTHON_TRUNCATED). The
 * outermost frame of a truncated chain may lack is_entry. False: some codes are 0 only because the table could not be had
 * just now (a signal handler within this very function): the hash should not be remembered. Cold. */
bool python_resolve(const struct python_chain *chain, struct python_frame *out, uint32_t *flags);

/* In a forked child: the journal is a new one, nothing has been written to it. */
void python_forget(void);

#endif
