/* Reads the header of a journal. For this folder only. */
#ifndef CORE_JOURNALS_PARTS_H
#define CORE_JOURNALS_PARTS_H

#include "core/runtime/record.h"
#include "core/source/process/journals.h"

/*
 * Reads the first bytes of a file as a journal's header. Returns false if the file cannot be read
 * or is too short. Does not check that the file is a journal.
 */
bool journals_header(const char *path, struct journal_header *h);

#endif
