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
	uint64_t own_graph_ns; /* the part of both that graphs ran */
	uint32_t chain;	       /* in the caller's texts: "Net.Block.Linear"; 0: not made yet */
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
/* Returns the innermost row that contains both rows; 0: none. */
uint32_t module_sums_common(const struct module_sums *s, uint32_t a, uint32_t b);

/* Returns the names of the row and of the rows around it, such as "Net.Block.Linear"; "" for
 * row 0. Adds the text to `texts`, which owns it. */
const char *module_sums_chain(struct module_sums *s, struct strtab *texts, uint32_t row);
/*
 * Adds the module spans of one thread of a step, and their names to `texts`. `n_works`: NULL, or if
 * the calls were captured into graphs, the number of works of each call of the model. A module then
 * counts once for each work of its first call, and takes no CPU time.
 */
void module_sums_add_thread(struct module_sums *s, const struct module_list *list,
			    const uint64_t *n_works, struct strtab *texts);
/* Adds the GPU time of a call. `row`: the module that made it; `tied`: the module of the forward
 * operator that caused a backward call; 0: none. */
void module_sums_add_gpu(struct module_sums *s, uint32_t row, uint32_t tied, uint64_t ns,
			 bool is_graph);
void module_sums_free(struct module_sums *s);

#endif
