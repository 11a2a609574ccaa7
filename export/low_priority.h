/*
 * Lets the collector give way to the application while that runs, and only then. Once the
 * application has ended, the user waits for the collector. On a busy machine a process of low
 * priority may get a hundredth of the processor.
 */
#ifndef EXPORT_LOW_PRIORITY_H
#define EXPORT_LOW_PRIORITY_H

/*
 * Calls work(context) with low priority, and returns after it has returned. Call from the only
 * thread. Only if the system has no thread left, the low priority stays.
 */
void low_priority_run(void (*work)(void *context), void *context);

#endif
