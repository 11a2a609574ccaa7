/*
 * The slots of loaded objects' procedure linkage tables that the linker has filled with a wrapper. While the switch says that a wrapper has
 * nothing to do, its slots hold the real function, and calls do not come by here at all: a wrapper that only jumps takes 1 ns in a loop, but
 * some 15 to 30 amid a program that fills the caches itself (test/torch/bench.py).
 *
 * Only slots that the object itself may write (lazy binding: PyTorch's libraries, not a program linked with -z now), only of functions whose
 * real one the wrapper has found, and only where it calls the same one whoever calls. Pointers that dlsym or cuGetProcAddress gave out stay.
 */
#ifndef PRELOAD_PLT_H
#define PRELOAD_PLT_H

/* Who returns to here has called a wrapper that found its real function just now. Cold; any thread. */
void plt_note(void *return_address);

/* The switch has been turned: slots are given the wrappers that have something to do, and the real functions of all others. Some 100 us, the
 * loader's lock for writers of its list. Any thread; who finds another one at it for more than 5 ms leaves it to that one. */
void plt_follow(void);

/* The loader's lock is held meanwhile, and a child that is forked then finds it so for ever: a fork waits for who is at it, half a second at
 * most. In the parent, around a fork. */
void plt_before_fork(void);
void plt_after_fork(void);

/* In a forked child: wrappers everywhere, since its first call arms. */
void plt_forget(void);

#endif
