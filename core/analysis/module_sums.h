/* Times of modules, summed over steps, by the chain of classes from the outermost one:
 * "Net.Block.Linear". */
#ifndef CORE_MODULE_SUMS_H
#define CORE_MODULE_SUMS_H

#include "core/analysis/modules.h"
#include "core/util/strtab.h"

/* Rows are numbered from 1; 0: no module. GPU times are those of the module's own calls, without
 * inner modules. */
struct module_row {
	uint32_t outer; /* row */
	uint32_t name;	/* in the caller's texts: the class alone */
	uint64_t n;
	uint64_t host_ns; /* from a run's first call to its last one, inner modules included */
	uint64_t own_gpu_ns, own_backward_ns;
};

/* All zeros is a valid start. */
struct module_sums {
	struct map place;	   /* outer << 32 | name -> row */
	VEC(struct module_row) at; /* row 1 is [0] */
	VEC(uint32_t) open;	   /* rows of the open modules, by depth */
};

/* Returns the row of the innermost module in a stack; 0: none. */
uint32_t module_sums_of_stack(struct module_sums *s, struct frames *frames, uint32_t stack,
			      struct strtab *texts);
void module_sums_add_thread(struct module_sums *s, const struct module_list *list,
			    struct strtab *texts);
void module_sums_free(struct module_sums *s);

#endif
