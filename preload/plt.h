/*
 * The PLT slots of loaded objects that the linker has bound to wrappers. While the switch says that
 * a wrapper has nothing to do, its slots hold the real function, so calls bypass the wrapper
 * altogether. A wrapper that only jumps takes 1 ns in a loop, but some 15 to 30 ns in a program
 * that fills the caches itself (test/torch/bench.py).
 *
 * This covers only slots that the object itself may write (lazy binding: PyTorch's libraries, but
 * not a program linked with -z now), only functions whose real one the wrapper has found, and only
 * where the wrapper calls the same function for every caller. Pointers returned by dlsym or
 * cuGetProcAddress are not changed.
 */
#ifndef PRELOAD_PLT_H
#define PRELOAD_PLT_H

/* Notes the object that contains `return_address`: it has called a wrapper that has just found its
 * real function. Cold; any thread. */
void plt_note(void *return_address);

/* Called when the switch has changed. Slots get their wrapper if it has something to do, else the
 * real function. Takes some 100 us and the loader's lock for writers of its list. Any thread. If
 * another thread holds the lock for more than 5 ms, the update is left to that thread. */
void plt_follow(void);

/* Called in the parent around a fork. The loader's lock is held during an update, and a child
 * forked then would find it locked forever. A fork therefore waits for the lock's holder, half a
 * second at most. */
void plt_before_fork(void);
void plt_after_fork(void);

/* In a forked child: puts wrappers into all slots, since the child's first call starts the
 * profiler. */
void plt_forget(void);

#endif
