/*
 * Where stacks come from. A source knows what its stack numbers mean; core/symbols/frames.h asks
 * it once per stack and once per frame, and keeps the answers.
 */
#ifndef CORE_STACK_SOURCE_H
#define CORE_STACK_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum frame_kind { FRAME_KIND_NATIVE, FRAME_KIND_PYTHON };

/* Texts belong to the source or to the resolver and live as long as these; never NULL. */
struct frame {
	const char *function; /* readable; "lib+0x123" where no symbol covers the address */
	const char *file;     /* source file; "" where it is not known */
	const char *module;   /* native: the object's base name; "" for Python */
	uint32_t line;	      /* 0: not known */
	uint8_t kind;
	bool is_library; /* not the user's own code: site-packages, the standard library, a system
			    or CUDA library, the interpreter */
	bool is_inlined; /* native: an inlined function of the frame that follows */
};

enum frame_role {
	FRAME_PLAIN,
	FRAME_EVALUATOR,   /* CPython's: each of its frames runs Python frames */
	FRAME_SIGNAL,	   /* the return from a signal handler: the next frame was interrupted */
	FRAME_KERNEL_STUB, /* nvcc's: the function around it with the kernel's name only launches */
	FRAME_OWN,	   /* profrun's own code */
};

struct source_frame {
	struct frame frame;
	const char *operator; /* see operators.h; "" */
	const char *stub_of;  /* FRAME_KERNEL_STUB: the kernel's name; else "" */
	uint32_t first_line;  /* Python: where the function begins; 0: not known */
	enum frame_role role;
};

enum {
	STACK_KEYS_MOST = 2048,	 /* frames of a stack */
	STACK_INLINED_MOST = 24, /* inlined functions of a frame, and the function they are in */
};

struct stack_shape {
	size_t n; /* keys; 0: there is no such stack */
	bool is_truncated;
	bool is_by_name; /* Python frames come after the native ones, and belong into them */
};

struct stack_source {
	void *context;
	/* Writes the keys of a stack's frames, innermost first. */
	struct stack_shape (*stack)(void *context, uint32_t stack,
				    uint64_t keys[static STACK_KEYS_MOST]);
	/* Writes the frames that a key stands for, innermost first, and returns how many: at
	 * least one. `is_return`: the frame was left by a call, not interrupted. */
	size_t (*resolve)(void *context, uint64_t key, bool is_return,
			  struct source_frame out[static STACK_INLINED_MOST]);
	/* Returns why some frames could not be named, one line each; NULL past the last. */
	const char *(*diagnostic)(void *context, size_t i);
	void (*free)(void *context);
};

#endif
