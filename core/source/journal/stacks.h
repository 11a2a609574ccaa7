/*
 * Resolves the stacks of a journal. Python lines come from the line tables that the journal
 * contains. Names and lines of native code come from the ELF files that the process had mapped.
 */
#ifndef CORE_JOURNAL_STACKS_H
#define CORE_JOURNAL_STACKS_H

#include "core/source/journal/dict.h"
#include "core/symbols/stack_source.h"

/* `dict` must outlive the result. The caller frees the result with its `free` function. */
struct stack_source journal_stacks(const struct dict *dict);

#endif
