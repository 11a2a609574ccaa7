/* The parts of HTA's analyses, for hta*.c only. Times are microseconds, as HTA rounds them. */
#ifndef CORE_PEERS_HTA_PARTS_H
#define CORE_PEERS_HTA_PARTS_H

#include "core/peers/rows.h"
#include "core/peers/tables.h"
#include "core/util/map.h"

#include <math.h>

enum hta_type { HTA_COMPUTATION, HTA_COMMUNICATION, HTA_MEMORY, HTA_OTHER };
enum { HTA_TYPES = HTA_OTHER }; /* those that HTA shows */
/* A row of HTA's data frame. Texts as in struct peer_row. */
struct hta_event {
	double ts, duration, bandwidth;
	int64_t stream, correlation; /* -1: none */
	/* HTA's index_correlation: `index` of the last event of the other side with the same
	 * correlation; 0, -1: none */
	int64_t partner;
	int64_t pid, tid;
	uint32_t name, category, index;
	bool is_gpu;  /* HTA's GPUKernelFilter */
	uint8_t type; /* enum hta_type, by name */
};

struct hta_rank {
	struct peer_rows rows; /* the file; owns the names */
	VEC(struct hta_event) events;
	struct map by_index; /* `index` -> position in `events` */
	int64_t rank;
};

extern const char *const hta_type_names[HTA_TYPES];
uint8_t hta_type_of(const char *kernel);

/* ---- hta_load.c ---- */

int hta_load(struct hta_rank *r, const char *path, struct err *e);
void hta_free(struct hta_rank *r);
/* Subtracts the begin of the earliest event of all ranks, and leaves out the last step. */
void hta_align(struct hta_rank *ranks, size_t n, bool keeps_last_step);
/* Returns the number of "ProfilerStep#N", -1 for another name. */
int64_t hta_step_number(const char *name);
/* Returns whether the event counts as GPU work in most analyses: it has a stream. */
static inline bool hta_has_stream(const struct hta_event *e)
{
	return e->stream != -1;
}
static inline const char *hta_name(const struct hta_rank *r, const struct hta_event *e)
{
	return peer_text(&r->rows, e->name);
}

/* ---- Analyses. Each adds one table, or several. ---- */

struct hta_job {
	struct hta_rank *ranks; /* in ascending order */
	size_t n;
	struct peer_tables *to;
};

void hta_add_steps(const struct hta_job *j);
void hta_add_temporal(const struct hta_job *j);
void hta_add_overlap(const struct hta_job *j);
void hta_add_types(const struct hta_job *j);
void hta_add_kernels(const struct hta_job *j);
void hta_add_annotations(const struct hta_job *j);
void hta_add_idle(const struct hta_job *j);
void hta_add_queues(const struct hta_job *j);
void hta_add_bandwidth(const struct hta_job *j);
void hta_add_launches(const struct hta_job *j);
void hta_add_operators(const struct hta_job *j);

/* Adds the cells of a summary. */
struct pandas_summary;
void hta_put_summary(struct peer_table *t, const struct pandas_summary *s);

/* ---- Time in use (hta_time.c) ---- */

struct hta_interval {
	double begin, end;
};
typedef VEC(struct hta_interval) hta_intervals;

/* Returns the union of the events of a type; HTA_OTHER: of all events with a stream. Free it with
 * vec_free(). */
hta_intervals hta_merge(const struct hta_rank *r, enum hta_type type);

#endif
