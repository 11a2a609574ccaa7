/*
 * The interface of a stack source: the code that reads stacks from a journal or another format. A
 * source gives each stack a number and can resolve it. core/symbols/frames.h calls the source once
 * per stack and once per frame, and keeps the results.
 */
#ifndef CORE_STACK_SOURCE_H
#define CORE_STACK_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum frame_kind { FRAME_KIND_NATIVE, FRAME_KIND_PYTHON };

/* A resolved frame. Its texts are never NULL. They are owned by the source or by struct frames and
 * live as long as their owner. */
struct frame {
	const char *function; /* demangled; "lib+0x123" if no symbol covers the address */
	const char *file;     /* source file; "": unknown */
	const char *module;   /* native: file name of the executable or library; Python: "" */
	uint32_t line;	      /* 0: unknown */
	uint8_t kind;	      /* enum frame_kind */
	/* not user code, but site-packages, the standard library, a system or CUDA library, or the
	 * Python interpreter */
	bool is_library;
	bool is_inlined; /* native: the function was inlined into the next frame's function */
};

enum frame_role {
	FRAME_PLAIN,
	FRAME_EVALUATOR, /* CPython's evaluation function, which runs Python code */
	FRAME_SIGNAL, /* the return from a signal handler; the signal interrupted the next frame */
	/* the stub that nvcc makes for a kernel; the function that calls the stub has the kernel's
	 * name */
	FRAME_KERNEL_STUB,
	FRAME_OWN, /* profrun's own code */
};

/* A frame as the source resolves it. */
struct source_frame {
	struct frame frame;
	const char *operator; /* operator whose entry this frame is, see operators.h; else "" */
	const char *stub_of;  /* FRAME_KERNEL_STUB: the kernel's name; else "" */
	uint32_t first_line;  /* Python: first line of the function; 0: unknown */
	enum frame_role role;
};

enum {
	STACK_KEYS_MOST = 2048, /* most keys of a stack */
	/* most frames of a key: inlined functions and the function that contains them */
	STACK_INLINED_MOST = 24,
};

struct stack_shape {
	size_t n; /* number of keys; 0: there is no such stack */
	bool is_truncated;
	/* the Python frames come after all native frames; each belongs to one FRAME_EVALUATOR, so
	 * the caller can merge them */
	bool is_by_name;
};

struct stack_source {
	void *context; /* is passed to each function */
	/* Writes the keys of the stack's frames, innermost first. */
	struct stack_shape (*stack)(void *context, uint32_t stack,
				    uint64_t keys[static STACK_KEYS_MOST]);
	/* Writes the frames of a key, innermost first. Returns their number, which is at least 1.
	 * `is_return`: the key contains a return address, because the frame made a call. false: it
	 * contains the address at which a signal interrupted the frame. */
	size_t (*resolve)(void *context, uint64_t key, bool is_return,
			  struct source_frame out[static STACK_INLINED_MOST]);
	/* Returns one line with the `i`-th reason why some frames have no name; NULL after the
	 * last. */
	const char *(*diagnostic)(void *context, size_t i);
	void (*free)(void *context);
};

#endif
