/* Resolves the stacks of a journal: Python lines from the copied line tables, native names and
 * lines from the files that were mapped. */
#ifndef CORE_JOURNAL_STACKS_H
#define CORE_JOURNAL_STACKS_H

#include "core/source/journal/dict.h"
#include "core/symbols/stack_source.h"

/* `dict` outlives the source, which is freed by its own `free`. */
struct stack_source journal_stacks(const struct dict *dict);

#endif
