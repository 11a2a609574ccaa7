/*
 * Native frames made readable: the object that an address lies in, the function, and where there is debug information the line and
 * the functions inlined there. Objects are opened when the first frame in them comes.
 */
#ifndef CORE_NATIVE_H
#define CORE_NATIVE_H

#include "core/symbols/frames.h"
#include "core/util/strtab.h"

enum native_role {
	NATIVE_PLAIN,
	NATIVE_EVALUATOR, /* CPython's: each of its frames runs Python frames */
	NATIVE_SIGNAL, /* the kernel's return from a signal handler: the next frame was interrupted, it made no call */
	NATIVE_KERNEL_STUB, /* nvcc's: the function around it that bears a kernel's name is part of the launch */
	NATIVE_OWN, /* profrun's own code */
};

struct native_frame {
	struct frame frame;
	const char *operator; /* see operators.h; "" */
	const char *stub_of;  /* KERNEL_STUB: the kernel's name */
	enum native_role role;
};

/* Inlined functions of one address that are shown, and the function they are in. */
#define NATIVE_MOST 24u

struct native;

/* Texts are interned in `texts`. */
struct native *native_new(const struct dict *dict, struct strtab *texts);
void native_free(struct native *n);

/* What a frame of a stack stands for, innermost first; at least one. `is_return`: the offset is that of a return address. */
size_t native_find(struct native *n, uint64_t frame, bool is_return,
		   struct native_frame out[static NATIVE_MOST]);

/* Objects that could not be looked into, one line each; NULL past the last. */
const char *native_diagnostic(const struct native *n, size_t i);

#endif
