/* Times of modules, summed over steps. There is one row per chain of nested module classes, from
 * the outermost one, such as "Net.Block.Linear". */
#ifndef CORE_MODULE_SUMS_H
#define CORE_MODULE_SUMS_H

#include "core/analysis/modules.h"
#include "core/util/strtab.h"

/* A row: the innermost module of a chain. Rows are numbered from 1; 0: no module. GPU times are
 * those of the calls that this module makes itself, without inner modules. */
struct module_row {
	uint32_t outer;	  /* row of the module around it; 0: none */
	uint32_t name;	  /* in the caller's texts: the module's class */
	uint64_t n;	  /* calls of the module */
	uint64_t host_ns; /* sum of its spans (modules.h), inner modules included */
	uint64_t own_gpu_ns, own_backward_ns;
};

/* All zeros is a valid start. */
struct module_sums {
	struct map place;	   /* outer << 32 | name -> row */
	VEC(struct module_row) at; /* row i is at[i - 1] */
	VEC(uint32_t) open;	   /* rows of the modules around the current one, by depth */
};

/* Returns the row of the innermost module in a stack; 0: none. Adds rows that are missing. */
uint32_t module_sums_of_stack(struct module_sums *s, struct frames *frames, uint32_t stack,
			      struct strtab *texts);
/* Adds the module spans of one thread of a step, and their names to `texts`. */
void module_sums_add_thread(struct module_sums *s, const struct module_list *list,
			    struct strtab *texts);
void module_sums_free(struct module_sums *s);

#endif
