#include "test/steps/recorded.h"

#include "core/runtime/record.h"
#include "core/runtime/token.h"
#include "core/steps/levels.h"
#include "core/util/kernel_name.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { COLUMN_KIND, COLUMN_NAME, COLUMN_X, COLUMN_Y, COLUMN_MAIN, COLUMNS };
enum { BUSY_NS = 5000, APART_NS = 10000 };

static uint64_t hash_text(const char *text)
{
	uint64_t h = TOKEN_K1;
	while (*text)
		h = token_fold(h ^ (unsigned char)*text++, TOKEN_K0);
	return h;
}

static void add_line(struct program *p, char *const column[COLUMNS])
{
	static const uint8_t of_copy[] = {
		[COPY_H2D] = WHAT_H2D, [COPY_D2H] = WHAT_D2H, [COPY_D2D] = WHAT_D2D
	};
	uint32_t x = (uint32_t)strtoul(column[COLUMN_X], NULL, 10),
		 y = (uint32_t)strtoul(column[COLUMN_Y], NULL, 10);
	struct program_event e = {
		.begin_ns = p->now_ns,
		.end_ns = p->now_ns + BUSY_NS,
		.thread = column[COLUMN_MAIN][0] == '1' ? THREAD_MAIN : THREAD_BACKWARD,
	};
	if (column[COLUMN_KIND][0] == 'C') {
		e.token = token_copy(x);
		e.what = x >= COPY_H2D && x <= COPY_D2D ? of_copy[x] : WHAT_D2D;
	} else {
		e.kernel = hash_text(column[COLUMN_NAME]);
		e.token = token_launch_of(e.kernel, x, 1, 1, y, 1, 1);
		e.what = WHAT_LAUNCH;
		e.named = kernel_is_optimizers(column[COLUMN_NAME]);
	}
	program_add(p, &e);
	p->now_ns += APART_NS;
}

static int split(char *line, char *column[COLUMNS])
{
	int n = 0;
	line[strcspn(line, "\r\n")] = '\0';
	for (char *at; n < COLUMNS && (at = strsep(&line, "\t"));)
		column[n++] = at;
	return n;
}

int program_load(struct program *p, const char *path, struct err *e)
{
	static char line[65536];
	program_start(p, 0);
	gzFile f = gzopen(path, "rb");
	if (!f)
		return err_set(e, -errno, "%s: %s", path, strerror(errno));
	int rc = 0;
	for (unsigned number = 1; !rc && gzgets(f, line, sizeof(line)); number++) {
		char *column[COLUMNS];
		int n = split(line, column);
		if (n && column[0][0] == 'M')
			program_end(p, END_STEP | END_OTHER);
		else if (n && column[0][0] == 'm')
			program_end(p, END_OTHER);
		else if (n == COLUMNS && (column[0][0] == 'K' || column[0][0] == 'C'))
			add_line(p, column);
		else
			rc = err_set(e, -EINVAL, "%s:%u: not a line of a launch sequence", path,
				     number);
	}
	gzclose(f);
	return rc;
}
