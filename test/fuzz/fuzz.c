/*
 * The fuzzer: libFuzzer with the readers of files and texts that profrun does not trust.
 * usage: FUZZ=READER fuzz [OPTION OF LIBFUZZER]... [CORPUS FOLDER OR FILE]...
 * `FUZZ=list fuzz` prints the names of the readers, with the folder of their corpus.
 */
#include "test/fuzz/fuzz.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct reader {
	const char *name, *corpus;
	fuzz_reader *feed;
	bool is_journal;
} readers[] = {
	{ "report", "journal", fuzz_report, true },
	{ "export", "journal", fuzz_export, true },
	{ "collect", "journal", fuzz_collect, true },
	{ "settings", "settings", fuzz_settings, false },
	{ "changes", "changes", fuzz_changes, false },
	{ "names", "names", fuzz_names, false },
	{ "words", "words", fuzz_words, false },
	{ "stored", "stored", fuzz_stored, false },
	{ "trace", "trace", fuzz_trace, false },
	{ "http", "http", fuzz_http, false },
	{ "kineto", "kineto", fuzz_kineto, false },
	{ "python", "python", fuzz_python, false },
	{ "machine", "machine", fuzz_machine, false },
};

enum { N_READERS = sizeof(readers) / sizeof(*readers) };

static const struct reader *chosen;

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t size_most, unsigned seed);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const char *name = getenv("FUZZ");
	(void)argc;
	(void)argv;
	for (size_t i = 0; name && i < N_READERS; i++) {
		if (!strcmp(name, "list"))
			printf("%s %s\n", readers[i].name, readers[i].corpus);
		else if (!strcmp(name, readers[i].name))
			chosen = &readers[i];
	}
	if (name && !strcmp(name, "list"))
		exit(0);
	if (!chosen) {
		fprintf(stderr, "fuzz: set FUZZ to a reader; FUZZ=list prints their names\n");
		exit(2);
	}
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	chosen->feed(data, size);
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t size_most, unsigned seed)
{
	if (chosen->is_journal)
		return mutate_journal(data, size, size_most, seed);
	return LLVMFuzzerMutate(data, size, size_most);
}
