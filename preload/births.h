/*
 * Records which thread creates which, and where. A loop that starts threads may make no CUDA call
 * itself, so only this shows its iterations (core/steps/loop_births.h). Written only while launches
 * take stacks. Otherwise, the functions below pass the call on at once.
 *
 * births.c exports pthread_create() and pthread_join().
 */
#ifndef PRELOAD_BIRTHS_H
#define PRELOAD_BIRTHS_H

/*
 * Writes where the calling thread was created, before its first record. Call when the thread has
 * a place in the journal, and not between journal_reserve() and journal_commit().
 */
void births_write_own(void);

#endif
