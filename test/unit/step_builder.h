/* Steps made by hand, call by call, as models: what the summaries are tested with. Times are
 * microseconds. */
#ifndef TEST_UNIT_STEP_BUILDER_H
#define TEST_UNIT_STEP_BUILDER_H

#include "core/analysis/analyzer.h"

struct step_builder {
	struct tables tables;
	struct model_step m;
	uint32_t thread_of_call[4096]; /* tids */
};

/* A step's begin; the dictionary is kept from step to step. */
void sb_step(struct step_builder *b, uint64_t number, double begin_us, double end_us);

struct sb_call {
	const char *name;
	uint8_t category;
	double begin_us, end_us;
	uint32_t stack, tid; /* tid 0: 1 */
	uint64_t stream, handle, bytes;
	uint8_t space, copy;
	uint16_t status;
	uint32_t polls;
};
/* Its number, for sb_work. */
uint32_t sb_call(struct step_builder *b, struct sb_call c);

/* A call that was captured into a graph: its number + 1, for `origin` of sb_work. */
uint32_t sb_captured(struct step_builder *b, struct sb_call c);

struct sb_work {
	const char *name;
	uint8_t kind; /* 0: WORK_KERNEL */
	double begin_us, end_us;
	uint32_t call, stream, device;
	uint64_t bytes;
	uint8_t source, target;
	uint32_t graph, origin; /* 0: not from a graph; from no known captured call */
};
void sb_work(struct step_builder *b, struct sb_work w);

/* A sample of a thread; tid 0: 1. */
void sb_sample(struct step_builder *b, double at_us, uint32_t tid, enum sample_state state,
	       uint32_t stack);

/* Within this span, the thread waited `us` for a CPU. */
void sb_cpu_wait(struct step_builder *b, double begin_us, double end_us, double us, uint32_t tid);

/* cudaLaunchKernel of 3 us at `at_us` and its kernel on stream 7. */
void sb_launch(struct step_builder *b, double at_us, double begin_us, double end_us,
	       uint32_t stack);

/* Sorts calls by thread, finishes the model and adds it. The caller frees b->m. */
const struct analyzed_step *sb_analyze(struct step_builder *b, struct analyzer *a);

/* The same, and frees the model. */
void sb_end(struct step_builder *b, struct analyzer *a);
void sb_free(struct step_builder *b);

#endif
