/*
 * What calls waited for, for formats that show it as events of the GPU. CUPTI's records of waits
 * are often not enabled, because they slow down all calls; a call that waits tells the same.
 */
#ifndef EXPORT_CALL_WAITS_H
#define EXPORT_CALL_WAITS_H

#include "core/model/model.h"
#include "core/util/map.h"

/* The values of CUpti_ActivitySynchronizationType. */
enum sync_type {
	WAIT_TYPE_UNKNOWN,
	WAIT_TYPE_EVENT,
	WAIT_TYPE_STREAM_WAIT,
	WAIT_TYPE_STREAM,
	WAIT_TYPE_CONTEXT,
	WAIT_TYPES
};

struct sync_words {
	const char *kineto; /* name of the event in a Kineto trace */
	const char *nsys;   /* name in Nsight Systems' ENUM_CUPTI_SYNC_TYPE */
};

extern const struct sync_words sync_words[WAIT_TYPES];

/* Returns the enum sync_type of a work whose name is that of model_sync_kind(). */
enum sync_type sync_type_of_work(const char *name);

/* What is known about the waits of a step. All zeros is a valid start; one struct serves all steps
 * of a process. */
struct call_waits {
	bool *has_record;     /* by call of the model: CUPTI has recorded its wait */
	struct map stream_of; /* the application's handle of a stream -> CUPTI's number */
	uint8_t device;	      /* of the newest work; 0: none yet */
};

/* Looks at the works of a step. */
void call_waits_look(struct call_waits *w, const struct model_step *m);
void call_waits_free(struct call_waits *w);

/*
 * Describes as a work of the kind WORK_SYNC what a call waited for. Returns false if the call does
 * not wait, or if CUPTI has recorded its wait. `stream` of the work is UINT32_MAX if it is unknown
 * or if the call does not wait for a stream.
 */
bool call_waits_of(const struct call_waits *w, const struct model_step *m, uint32_t call,
		   struct model_work *to, enum sync_type *type);

#endif
