/*
 * Updates the PLT slots that the linker has bound to wrappers, in all loaded objects. While the
 * switch (hook.h) says that a wrapper has nothing to do, its slots hold the real function, so calls
 * bypass the wrapper. A wrapper that only passes the call on takes 1 ns in a loop, but some 15 to
 * 30 ns in a program that fills the caches with its own data (test/torch/bench.py).
 *
 * A slot is updated only if three conditions hold. The object itself may write the slot: this is so
 * with lazy binding, as in PyTorch's libraries, but not in a program linked with -z now. The
 * wrapper has found its real function. And the wrapper calls the same function for every caller.
 * Pointers that dlsym or cuGetProcAddress returned are not changed.
 */
#ifndef PRELOAD_PLT_H
#define PRELOAD_PLT_H

/* Adds the object that contains `return_address` to the objects whose slots are updated. Called by
 * a wrapper that has just found its real function. Not on the hot path; any thread. */
void plt_note(void *return_address);

/* Updates all slots. Called when the switch has changed. Puts the wrapper into a slot if the
 * wrapper has something to do, else the real function. Takes some 100 us, and the loader's lock
 * that protects its list of objects. Any thread. If another thread holds plt.c's own lock for more
 * than 5 ms, that thread makes the update. */
void plt_follow(void);

/* Called in the parent before and after a fork. The loader's lock is held during an update, and a
 * child forked then would find it locked forever. plt_before_fork therefore waits for a running
 * update, for half a second at most. */
void plt_before_fork(void);
void plt_after_fork(void);

/* In a forked child: puts wrappers into all slots, because the child's first CUDA call must start
 * the profiler. */
void plt_forget(void);

#endif
