/*
 * A machine whose times are exact, for tests of the replay. A program is a function that makes
 * calls, one step after the other, and runs both unchanged and fixed. The recording of the first
 * becomes a timeline; the time of the second is the truth. Times are microseconds.
 */
#ifndef TEST_UNIT_TWIN_H
#define TEST_UNIT_TWIN_H

#include "test/unit/step_builder.h"

#include <stdbool.h>

enum { TWIN_QUEUE = 200, TWIN_STREAMS = 8, TWIN_EVENTS = 16, TWIN_THREADS = 4 };

/* The legacy default stream. */
enum { TWIN_LEGACY = TWIN_STREAMS - 1 };

#define TWIN_ISSUE_US	3.0
#define TWIN_LATENCY_US 4.0
#define TWIN_NODE_US	1.0 /* between two nodes of a graph */
#define TWIN_CHECK_US	1.0 /* a wait that finds everything done */
#define TWIN_EXIT_US	2.0 /* from the end of the work to the wait's return */

struct twin {
	struct step_builder b;
	struct analyzer a;
	double now[TWIN_THREADS], stream[TWIN_STREAMS], event[TWIN_EVENTS];
	bool is_recording, is_fixed;
	bool is_pinned; /* copies that block are of pinned memory, too */
	double late;	/* by how much later than usual a copy returns that does not block */
	uint64_t number;
	uint32_t seed;
	bool has_queue;		  /* launches wait until the one TWIN_QUEUE before them is done */
	double queue[TWIN_QUEUE]; /* when the launches that are in it are done */
	uint64_t launches;
	double stall;	     /* by how much the next wait returns too late */
	uint64_t steps_made; /* for programs that count */
	int thread;
	double recording; /* what each call takes longer for being recorded */
	double between;	  /* two kernels of a stream, at the least */
};

typedef void (*twin_step)(struct twin *);

/* Records `steps` steps into tw->t, after as many that are not. */
void twin_record(struct twin *tw, twin_step step, int steps);
/* What a step takes once it is steady; nothing is recorded. */
double twin_measure(twin_step step, bool is_fixed);
void twin_free(struct twin *tw);

/* ---- What a program may do ---- */

void twin_host(struct twin *tw, double us); /* the host's own work */
/* Other programs have the CPUs: the host stands still. */
void twin_preempted(struct twin *tw, double us);
/* The next wait, which is for this stream, returns late, because other programs have the CPUs. */
void twin_preempted_in_wait(struct twin *tw, int stream, double us);
void twin_launch(struct twin *tw, int stream, double us, const char *name, uint32_t stack);
/* Both wait for the copy if `blocks`. */
void twin_copy(struct twin *tw, int stream, uint8_t kind, uint64_t bytes, double us, bool blocks,
	       uint32_t stack);
/* A node of a graph, captured at `stack`: a kernel or copy, or a host function, which the device
 * waits for. */
struct twin_node {
	unsigned category; /* CAT_LAUNCH, CAT_MEMCPY, CAT_HOSTFUNC; and twin_node_flag */
	double us;
	uint32_t stack;
};
/* Without the first two, a copy is from pageable memory to the device. */
enum twin_node_flag {
	TWIN_PINNED_IN = 256,  /* a copy from pinned memory to the device */
	TWIN_PINNED_OUT = 512, /* the opposite */
	TWIN_BRANCH = 1024,    /* the nodes after it do not wait for it */
};
/* Launches a graph whose nodes run one after the other, TWIN_NODE_US apart. */
void twin_graph(struct twin *tw, int stream, const struct twin_node *nodes, size_t n,
		uint32_t stack);
void twin_wait_stream(struct twin *tw, int stream, uint32_t stack);
void twin_wait_device(struct twin *tw, uint32_t stack);
void twin_record_event(struct twin *tw, int stream, int event, uint32_t stack);
void twin_wait_event(struct twin *tw, int event, uint32_t stack);
void twin_poll_event(struct twin *tw, int event, uint32_t stack); /* asks until it has come */
void twin_stream_wait(struct twin *tw, int stream, int event, uint32_t stack);
void twin_malloc(struct twin *tw, double us, uint32_t stack);
void twin_free_memory(struct twin *tw, double us, uint32_t stack); /* waits for the device */

#endif
