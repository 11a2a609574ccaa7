/* Parses the changes that a user gives on the command line. */
#include "core/whatif/whatif.h"

#include "core/runtime/pattern.h"

#include <errno.h>
#include <math.h>

/* Copies `n` bytes and adds a 0 byte. Returns 0, or -EINVAL if `n` is 0 or does not fit. */
static int copy_text(char *to, size_t room, const char *from, size_t n)
{
	if (!n || n >= room)
		return -EINVAL;
	memcpy(to, from, n);
	to[n] = 0;
	return 0;
}

int whatif_parse_without(const char *text, struct whatif_change *c, struct err *e)
{
	const char *colon = strrchr(text, ':');
	char *end = NULL;
	*c = (struct whatif_change){ .kind = WHATIF_WAIT };
	unsigned long line = colon ? strtoul(colon + 1, &end, 10) : 0;
	if (!colon || colon[1] < '0' || colon[1] > '9' || *end || !line || line > UINT32_MAX ||
	    copy_text(c->file, sizeof(c->file), text, (size_t)(colon - text)))
		return err_set(e, -EINVAL, "'%s' is not FILE:LINE", text);
	c->line = (uint32_t)line;
	return 0;
}

int whatif_parse_kernel(const char *text, struct whatif_change *c, struct err *e)
{
	const char *equals = strrchr(text, '=');
	char *end = NULL, why[120];
	regex_t pattern;
	*c = (struct whatif_change){ .kind = WHATIF_KERNEL };
	c->factor = equals ? strtod(equals + 1, &end) : 0;
	if (!equals || end == equals + 1 || *end ||
	    copy_text(c->pattern, sizeof(c->pattern), text, (size_t)(equals - text)))
		return err_set(e, -EINVAL, "'%s' is not REGEX=FACTOR", text);
	if (!(c->factor >= 0) || isinf(c->factor))
		return err_set(e, -EINVAL, "the factor in '%s' must be a number of at least 0",
			       text);
	int error = pattern_compile(&pattern, c->pattern);
	if (error) {
		pattern_why(error, why, sizeof(why));
		return err_set(e, -EINVAL, "'%s' is not a valid regular expression: %s", c->pattern,
			       why);
	}
	regfree(&pattern);
	return 0;
}

int whatif_parse_free(const char *text, struct whatif_change *c, struct err *e)
{
	static const char *const names[] = {
#define X(id, name, what) name,
		WHATIF_FREES(X)
#undef X
	};
	*c = (struct whatif_change){ .kind = WHATIF_FREE };
	for (int i = 0; i < WHATIF_FREES_N; i++) {
		if (strcmp(text, names[i]) != 0)
			continue;
		c->what = (uint8_t)i;
		return 0;
	}
	return err_set(e, -EINVAL,
		       "'%s' is not one of launch, host, input, alloc, copy, collective, sync",
		       text);
}
