/*
 * Where stacks come from. A source resolves its own stack numbers; core/symbols/frames.h calls it
 * once per stack and once per frame, and keeps the results.
 */
#ifndef CORE_STACK_SOURCE_H
#define CORE_STACK_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum frame_kind { FRAME_KIND_NATIVE, FRAME_KIND_PYTHON };

/* Texts are owned by the source or the resolver and live as long as it; never NULL. */
struct frame {
	const char *function; /* demangled; "lib+0x123" if no symbol covers the address */
	const char *file;     /* source file; "": unknown */
	const char *module;   /* native: the object's base name; "" for Python */
	uint32_t line;	      /* 0: unknown */
	uint8_t kind;
	/* not user code: site-packages, the standard library, a system or CUDA library, the
	 * interpreter */
	bool is_library;
	bool is_inlined; /* native: a function inlined into the next frame */
};

enum frame_role {
	FRAME_PLAIN,
	FRAME_EVALUATOR,   /* CPython's evaluation loop, which runs Python frames */
	FRAME_SIGNAL,	   /* the return from a signal handler: the next frame was interrupted */
	FRAME_KERNEL_STUB, /* nvcc's; its caller has the kernel's name and only launches */
	FRAME_OWN,	   /* profrun's own code */
};

struct source_frame {
	struct frame frame;
	const char *operator; /* see operators.h; "" */
	const char *stub_of;  /* FRAME_KERNEL_STUB: the kernel's name; else "" */
	uint32_t first_line;  /* Python: where the function begins; 0: unknown */
	enum frame_role role;
};

enum {
	STACK_KEYS_MOST = 2048,	 /* frames of a stack */
	STACK_INLINED_MOST = 24, /* functions of a frame: inlined ones and the one they are in */
};

struct stack_shape {
	size_t n; /* keys; 0: there is no such stack */
	bool is_truncated;
	bool is_by_name; /* Python frames come after the native ones and still have to be merged */
};

struct stack_source {
	void *context;
	/* Writes the keys of a stack's frames, innermost first. */
	struct stack_shape (*stack)(void *context, uint32_t stack,
				    uint64_t keys[static STACK_KEYS_MOST]);
	/* Writes the frames of a key, innermost first, and returns how many, at least one.
	 * `is_return`: the frame was made by a call, not interrupted. */
	size_t (*resolve)(void *context, uint64_t key, bool is_return,
			  struct source_frame out[static STACK_INLINED_MOST]);
	/* Returns the i-th reason, in one line, why some frames have no name; NULL after the
	 * last. */
	const char *(*diagnostic)(void *context, size_t i);
	void (*free)(void *context);
};

#endif
