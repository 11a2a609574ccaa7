/* The readers that the fuzzer feeds: one function each, in the table of fuzz.c. */
#ifndef TEST_FUZZ_FUZZ_H
#define TEST_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* Feeds one input to a reader. Any result is right but a crash, a leak or a hang. */
typedef void fuzz_reader(const uint8_t *data, size_t size);

/* fuzz_journal.c. The input is a journal. */
fuzz_reader fuzz_report, fuzz_export, fuzz_collect;

/* fuzz_text.c */
fuzz_reader fuzz_settings, fuzz_changes, fuzz_names, fuzz_words, fuzz_stored, fuzz_trace;

/* fuzz_http.c. The input is what a client sends to `profrun open`. */
fuzz_reader fuzz_http;

/* fuzz_kineto.c. The input is a trace of torch.profiler. */
fuzz_reader fuzz_kineto;

/* fuzz_code.c */
fuzz_reader fuzz_python, fuzz_machine;

/*
 * Changes a journal in place, as LLVMFuzzerCustomMutator() does: fields of the header, of directory
 * entries and of records, and the order and number of records. Keeps what a reader checks first, so
 * that most results are read. Returns the new size.
 */
size_t mutate_journal(uint8_t *data, size_t size, size_t size_most, unsigned seed);

/* Of libFuzzer. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t size_most);

#endif
