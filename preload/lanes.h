/*
 * Lets a new thread continue the records of an ended one. A program may create a thread for each
 * iteration or task. If each of them took a slot and a chunk of the journal, the journal would fill
 * with chunks that hold a few records each, and the collector would look at more threads with every
 * step. So an ended thread leaves its slot, its chunk and its counters here, and the next new
 * thread of the same name takes them over. The journal then shows both as one thread, with the
 * Linux thread id of the first one.
 *
 * A thread that used the per-thread default stream leaves nothing: GPU work is paired with calls by
 * stream, and each of these threads has a stream of its own.
 */
#ifndef PRELOAD_LANES_H
#define PRELOAD_LANES_H

#include <stdbool.h>

/*
 * Sets whether threads may continue others. They must not if GPU work is paired by thread id
 * (PROF_PAIRING=interval). Called once, before the first thread ends.
 */
void lanes_configure(bool may_continue);

/*
 * Leaves the calling thread's slot, chunk and counters to a thread to come. The thread keeps none
 * of them. Called when the thread ends.
 */
void lanes_leave(void);

/*
 * Takes over what an ended thread of the calling thread's name has left; does nothing if there is
 * none, or if the thread has a slot already. Call before the thread's current call takes its
 * number, because the numbers of a slot only grow. Any thread; takes no lock.
 */
void lanes_continue(void);

/* Forgets all threads, in a forked child. */
void lanes_forget(void);

#endif
