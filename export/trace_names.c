/* The texts for the enums of trace_names.h. */
#include "export/trace_names.h"

const char *const trace_arg_names[TRACE_ARG_NAMES] = { [TRACE_ARG_NONE] = "",
#define X(id, name) [TRACE_ARG_##id] = name,
						       TRACE_ARGS(X)
#undef X
};

const char *const trace_category_names[TRACE_CATEGORY_NAMES] = {
#define X(id, name, gpu) [CAT_##id] = name,
	RECORD_CATEGORIES(X)
#undef X
		[TRACE_CATEGORY_OTHER] = "other",
#define X(id, name) [TRACE_CATEGORY_##id] = name,
	TRACE_CATEGORIES(X)
#undef X
};
