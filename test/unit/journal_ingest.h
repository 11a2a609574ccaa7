/* Takes a built journal through ingest. */
#ifndef TEST_UNIT_JOURNAL_INGEST_H
#define TEST_UNIT_JOURNAL_INGEST_H

#include "core/source/journal/ingest.h"
#include "test/unit/journal_builder.h"
#include "test/unit/journal_path.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* Writes the journal to `path` and passes its steps to `sink`. Close `f`. */
static inline void ingest_written(struct ingest *f, const struct journal_builder *b,
				  const struct ingest_sink *sink, bool killed)
{
	struct err e;
	jb_write(b, path);
	assert_int_equal(ingest_open(f, path, false, sink, &e), 0);
	ingest_read(f);
	ingest_finish(f, killed);
}

#endif
