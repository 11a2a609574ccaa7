/*
 * Reads the Python frames of another thread while that thread runs, without the GIL. All reads are
 * those of host_memory.h, so frames and code objects may be freed meanwhile. Used only by the
 * sampling thread (host.h).
 */
#ifndef PRELOAD_PYTHON_SAMPLE_H
#define PRELOAD_PYTHON_SAMPLE_H

#include "preload/host_memory.h"
#include "preload/python.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	SAMPLE_FRAMES_MOST = 256, /* deeper stacks are not sampled */
	SAMPLE_BYTES_MOST = 98304,
};

/* A frame as it was read. Shims of the evaluator (python_layout.h) have no code. */
struct sampled_frame {
	uint64_t frame, code, position;
	uint32_t tlbc; /* index of the thread's own copy of the bytecode; 0: the code's own */
};

struct sampled_chain {
	uint32_t n;
	bool is_whole;	    /* all frames were read, out to the outermost one */
	bool is_by_name;    /* the version has no such address (3.8, 3.9) */
	uint64_t evaluator; /* an address within the innermost evaluator's C frame; 0: unknown */
	struct sampled_frame frames[SAMPLE_FRAMES_MOST]; /* innermost first */
};

/* The addresses that the last sample of a thread read. Most are needed again. All zeros: none. */
struct sample_memory {
	uint64_t state;	 /* the thread's PyThreadState */
	uint64_t cframe; /* 3.11, 3.12 */
	uint32_t n;
	uint64_t frames[SAMPLE_FRAMES_MOST]; /* innermost first, with shims */
};

/* Returns whether frames can be read: this Python's layout is known and verified. */
bool python_sample_is_ready(void);

/*
 * Reads the chain of the thread with this PyThreadState. Reads the caller's `more` pieces in the
 * same system call, before the chain, if they fit. Returns false if these could not be read. An
 * unreadable chain only has no frames.
 */
bool python_sample_read(struct sample_memory *m, uint64_t state, const struct host_piece *more,
			size_t n_more, struct sampled_chain *out);

/* Reads the chain once more, and keeps the frames that both reads share, from the outermost
 * inwards: what moved in between is left out. */
void python_sample_confirm(struct sample_memory *m, uint64_t state, const struct host_piece *more,
			   size_t n_more, struct sampled_chain *chain);

/* Keeps in `chain` only the frames that it shares with `again`. For python_sample_confirm() and its
 * test. */
void python_sample_share(struct sampled_chain *chain, const struct sampled_chain *again);

/* Resolves the frames and writes new code objects to the dictionary. `out` has room for chain->n
 * frames. Frames whose code object changes meanwhile have the code 0. Returns the number of frames;
 * 0 also if the table of code objects is locked. */
uint32_t python_sample_resolve(const struct sampled_chain *chain, struct python_frame *out);

/* Returns the address of the word that is not 0 while the garbage collector of the state's
 * interpreter runs; 0: it was not found. */
uint64_t python_sample_collecting(uint64_t state);

/* Returns whether a futex at `address` is the GIL of the state's interpreter, or guards it. */
bool python_sample_is_gil(uint64_t state, uint64_t address);

/* Returns the PyThreadState of the thread that has the GIL whose futex, at `address`, the thread
 * with `state` waits for; 0: not known. */
uint64_t python_sample_gil_holder(uint64_t state, uint64_t address);

/* In a forked child: forgets the ids of code objects. */
void python_sample_forget(void);

#endif
