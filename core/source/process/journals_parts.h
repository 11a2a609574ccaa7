/* Headers of journals. Not for other folders. */
#ifndef CORE_JOURNALS_PARTS_H
#define CORE_JOURNALS_PARTS_H

#include "core/runtime/record.h"
#include "core/source/process/journals.h"

/* Reads a header. Returns false on failure. Does not check whether the file is a journal. */
bool journals_header(const char *path, struct journal_header *h);

#endif
