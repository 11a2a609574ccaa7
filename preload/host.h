/*
 * Host samples: where the threads that launch GPU work are between two CUDA calls. While steps are
 * recorded, a thread of the library reads their Python frames (python_sample.h) and their states
 * (host_state.h) PROF_HOST times per second. The sampled threads are not stopped and do nothing for
 * it. While nothing is recorded, the thread does not exist.
 */
#ifndef PRELOAD_HOST_H
#define PRELOAD_HOST_H

#include "core/runtime/config.h"

#include <stdbool.h>
#include <stdint.h>

/* Reads the setting. Called when the library is set up. */
void host_configure(const struct config *config);

/* Starts or ends sampling. Called when recording of steps starts or ends. */
void host_record(bool recorded);

/* Registers the calling thread, or removes it when it ends. */
void host_thread_began(void);
void host_thread_ended(void);

/* Returns 1 once the sampling thread has a slot in the journal, else 0: journal_threads() includes
 * it. */
uint32_t host_threads(void);

/* Ends sampling for good, and notes in the journal what was sampled. Called at exit. */
void host_finish(void);

/* In a forked child, which has neither the sampling thread nor the parent's other threads. */
void host_forget(void);

#endif
