/* `profrun report --compat PEER`: the figures of other tools, as those tools compute them. */
#ifndef EXPORT_COMPAT_H
#define EXPORT_COMPAT_H

#include "core/runtime/err.h"
#include "export/textout.h"

#include <jansson.h>

struct compat_peer;

/* Returns the tool with this name, such as "hta"; NULL: it is not known. */
const struct compat_peer *compat_find(const char *name);
/* The names of all tools, separated by '|'. */
extern const char compat_names[];

/*
 * Computes the tool's figures of the traces at `path`, a file or a folder. Returns 0, or -errno
 * with one line in `e`. `list`: JSON array to which an object is appended; NULL: prints tables with
 * at most `top` rows to `o`.
 */
int compat_report(const struct compat_peer *peer, const char *path, json_t *list, struct textout *o,
		  unsigned top, struct err *e);

#endif
