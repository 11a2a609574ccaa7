/* The parts of the plugin's analyses, for plugin*.c only. Times are microseconds. */
#ifndef CORE_PEERS_PLUGIN_PARTS_H
#define CORE_PEERS_PLUGIN_PARTS_H

#include "core/peers/rows.h"
#include "core/peers/tables.h"
#include "core/util/map.h"

#include <math.h>

enum { PLUGIN_NO_NODE = UINT32_MAX };
#define PLUGIN_NEVER 9223372036854775807.0 /* Python's sys.maxsize */

enum plugin_type {
	PLUGIN_IGNORED,
	PLUGIN_TRACE,
	PLUGIN_OPERATOR,
	PLUGIN_STEP,
	PLUGIN_RUNTIME,
	PLUGIN_KERNEL,
	PLUGIN_MEMCPY,
	PLUGIN_MEMSET,
	PLUGIN_PYTHON,
	PLUGIN_FUNCTION,
	PLUGIN_MODULE,
	PLUGIN_LIGHTNING,
	PLUGIN_ANNOTATION,
};

/* A pointer to a row, in the order of begins. */
struct plugin_event {
	const struct peer_row *row;
	uint8_t type; /* enum plugin_type */
};

/* A kernel, copy or memset. */
struct plugin_work {
	const struct peer_row *row;
	uint32_t operator_name; /* of the node that launched it; 0: unknown */
	uint8_t type;
	bool has_tensor_cores, is_eligible; /* is_eligible: of its operator */
};

/* A call of the runtime. `row` NULL: stands for the works without a call. */
struct plugin_call {
	const struct peer_row *row;
	VEC(uint32_t) works;
	double device_us, tensor_us;
	bool has_works; /* Python: device_nodes is not None */
};

struct plugin_node {
	const struct peer_row *row; /* NULL: a thread's root */
	double start, end, device_us, self_device_us, self_host_us, tensor_us, self_tensor_us;
	int64_t external;
	uint32_t parent, first, last, next; /* children; PLUGIN_NO_NODE: none */
	VEC(uint32_t) calls;
	uint8_t type;
	bool is_operator, is_eligible, is_gone;
};

struct plugin_thread {
	int64_t tid;
	uint32_t root;
	VEC(uint32_t) nodes; /* parents before their children */
	bool is_main;	     /* has steps */
};

struct plugin_range {
	double begin, end;
};
typedef VEC(struct plugin_range) plugin_ranges;

/* Shares of a step, in the order in which they take it. */
enum plugin_role {
	PLUGIN_ROLE_KERNEL,
	PLUGIN_ROLE_MEMCPY,
	PLUGIN_ROLE_MEMSET,
	PLUGIN_ROLE_COMMUNICATION,
	PLUGIN_ROLE_RUNTIME,
	PLUGIN_ROLE_LOADER,
	PLUGIN_ROLE_CPU,
	PLUGIN_ROLE_OTHER,
	PLUGIN_ROLE_TOTAL,
	PLUGIN_ROLES,
};

struct plugin_step {
	double begin, end;
	int64_t number;
};

struct plugin_trace {
	struct peer_rows rows;
	VEC(struct plugin_event) events;
	VEC(struct plugin_work) works;
	VEC(struct plugin_call) calls;
	VEC(struct plugin_node) nodes;
	VEC(struct plugin_thread) threads; /* in the order of their first node */
	VEC(uint32_t) operators;	   /* nodes, children before their parents */
	VEC(uint32_t) kernels;		   /* works that belong to a tree */
	plugin_ranges roles[PLUGIN_ROLE_OTHER];
	VEC(struct plugin_step) steps;
	struct map communication; /* external ids of communication operators */
	bool has_nccl, has_gloo, is_parallel, is_distributed; /* DataParallel, DDP */
	double costs[PLUGIN_ROLES];			      /* mean of the steps */
};

/* ---- plugin_load.c ---- */

int plugin_load(struct plugin_trace *t, const char *path, struct err *e);
void plugin_free(struct plugin_trace *t);

static inline const char *plugin_name(const struct plugin_trace *t, const struct peer_row *row)
{
	return row ? peer_text(&t->rows, row->name) : "CallTreeRoot";
}
static inline double plugin_end(const struct peer_row *row)
{
	return row->ts + row->duration;
}
bool plugin_is_loader(const char *name);
bool plugin_is_nccl(const char *name);
bool plugin_is_gloo(const char *name);

/* ---- plugin_tree.c ---- */

/* Makes the nodes, calls and works, and the tree of each thread. */
void plugin_build_trees(struct plugin_trace *t);

/* ---- plugin_tensor.c ---- */

bool plugin_uses_tensor_cores(const char *kernel);
bool plugin_may_use_tensor_cores(const char *operator);
/* Returns the share of tensor cores in the kernels of operators on a device; NAN: none has a
 * kernel. */
double plugin_tensor_ratio(const struct plugin_trace *t, int64_t device);
double plugin_eligible_ratio(const struct plugin_trace *t);

/* ---- plugin_steps.c ---- */

void plugin_find_steps(struct plugin_trace *t);

/* ---- plugin_ranges.c: lists of ranges in ascending order ---- */

plugin_ranges plugin_merge(plugin_ranges *list); /* sorts `list` */
plugin_ranges plugin_intersect(const plugin_ranges *a, const plugin_ranges *b);
plugin_ranges plugin_subtract(const plugin_ranges *a, const plugin_ranges *b);
double plugin_sum(const plugin_ranges *list);

/* ---- Views ---- */

struct plugin_view {
	struct peer_tables *to;
	struct plugin_trace *trace;
	double worker; /* number of the trace, from 0 */
};

/* Fills in `costs`. */
void plugin_add_steps(const struct plugin_view *v);
void plugin_add_gpus(const struct plugin_view *v);
void plugin_add_kernels(const struct plugin_view *v);
void plugin_add_operators(const struct plugin_view *v);
void plugin_add_modules(const struct plugin_view *v);
void plugin_add_memory(const struct plugin_view *v);
/* `costs` must be known. */
void plugin_add_advice(const struct plugin_view *v);

/* ---- plugin_view.c ---- */

/* Returns the table with this name, which is made if it does not exist. */
struct peer_table *plugin_table(const struct plugin_view *v, const char *name,
				const char *const *columns, unsigned n);
#define PLUGIN_TABLE(v, name, columns) \
	plugin_table(v, name, columns, sizeof(columns) / sizeof(*(columns)))

/* As Python's round(): `digits` 0 or 2. */
double plugin_round(double value, unsigned digits);

/* ---- Facts of several views ---- */

/* GPUs with kernels, in ascending order. Free with vec_free(). */
typedef VEC(int64_t) plugin_devices;
plugin_devices plugin_devices_of(const struct plugin_trace *t);
/* The share of time from the first to the last step in which kernels ran on a device. */
double plugin_utilization(const struct plugin_trace *t, int64_t device);
/* Returns the share of tensor cores in the time of all kernels; NAN: there are no kernels. */
double plugin_used_ratio(const struct plugin_trace *t);
/* The largest "Total Allocated" of a device in bytes; NAN: not known. */
double plugin_peak_bytes(const struct plugin_trace *t, int64_t type, int64_t device);

#endif
