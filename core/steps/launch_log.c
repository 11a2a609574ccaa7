#include "core/steps/launch_log.h"

static struct logged_thread *thread_of(struct launch_log *log, uint32_t slot)
{
	bool is_new;
	uint64_t *at = map_at(&log->thread_of_slot, slot, &is_new);
	if (is_new) {
		*at = log->threads.n;
		vec_push(&log->threads, (struct logged_thread){ .slot = slot });
	}
	return &log->threads.at[*at];
}

static struct logged_generation *generation_of(struct launch_log *log, uint32_t generation)
{
	for (size_t i = 0; i < log->generations.n; i++)
		if (log->generations.at[i].generation == generation)
			return &log->generations.at[i];
	vec_push(&log->generations, ((struct logged_generation){ .generation = generation,
								 .first_ticks = UINT64_MAX }));
	return &log->generations.at[log->generations.n - 1];
}

static void add_call(struct launch_log *log, const struct dict *d, uint32_t slot,
		     const struct rec_call *c)
{
	uint64_t token = anchor_token(c, dict_category(d, c->hook));
	if (!token)
		return;
	struct logged_thread *t = thread_of(log, slot);
	vec_push(&t->launches, ((struct logged_launch){ token, c->begin_ticks }));
}

/* ---- Steps ---- */

static void add_begin(struct logged_generation *g, const struct rec_step *s)
{
	if (s->ticks < g->first_ticks)
		g->first_ticks = s->ticks;
	if (s->number > g->last_number) {
		g->last_number = s->number;
		g->last_ticks = s->ticks;
	}
}

static void end_step(struct launch_log *log)
{
	if (log->is_in_wanted)
		generation_of(log, log->wanted_generation)->has_wanted = true;
	log->is_in_wanted = false;
}

static void begin_step(struct launch_log *log, const struct rec_step *s)
{
	struct logged_generation *g = generation_of(log, s->generation);
	if (s->number)
		add_begin(g, s);
	if (s->number > g->last_in_opening && !log->opening.end_ticks)
		g->last_in_opening = s->number;
	log->is_in_wanted = s->action > SCHED_OPENING;
	log->wanted_generation = s->generation;
	log->opening.is_any |= s->action == SCHED_OPENING;
	log->has_steps |= s->number || s->action > SCHED_OPENING;
}

static void set_backup(struct anchor *a, const struct rec_step *s)
{
	a->backup = s->detail;
	a->backup_within = (uint32_t)s->number;
	a->apart = (uint32_t)(s->number >> 32);
}

static void set_every(struct anchor *a, const struct rec_step *s)
{
	a->every = (uint32_t)s->number;
	a->lead = (uint32_t)(s->number >> 32);
}

static void remove_generation(anchors *list, uint32_t generation)
{
	size_t n = 0;
	for (size_t i = 0; i < list->n; i++)
		if (list->at[i].generation != generation)
			list->at[n++] = list->at[i];
	list->n = n;
}

static void add_anchor(anchors *list, const struct rec_step *s)
{
	size_t i = list->n;
	vec_push(list, ((struct anchor){ .anchor = s->detail,
					 .has_base = true,
					 .base = s->number,
					 .begins_training = s->action & NUMBERED_TRAINING,
					 .is_late = s->action & NUMBERED_LATE,
					 .generation = s->generation }));
	for (; i && list->at[i - 1].generation > s->generation; i--) {
		struct anchor moved = list->at[i - 1];
		list->at[i - 1] = list->at[i];
		list->at[i] = moved;
	}
}

static void add_step(struct launch_log *log, const struct rec_step *s)
{
	switch (s->event) {
	case STEP_COUNTED:
		if (s->number == 1)
			generation_of(log, s->generation)->counted_ticks = s->ticks;
		break;
	case STEP_CORRECTED:
		vec_push(&log->voided, (uint32_t)s->detail);
		break;
	case STEP_BACKUP:
	case STEP_EVERY:
		for (size_t i = 0; i < log->anchors.n; i++)
			if (log->anchors.at[i].generation == s->generation)
				(s->event == STEP_BACKUP ? set_backup
							 : set_every)(&log->anchors.at[i], s);
		break;
	case STEP_NUMBERED:
		add_anchor(&log->anchors, s);
		break;
	case STEP_TRIGGERED:
		log->has_triggers = true;
		break;
	case STEP_OPENING_ENDED:
		log->opening.end_ticks = s->ticks;
		generation_of(log, s->generation)->last_in_opening = s->number;
		break;
	case STEP_BEGIN:
		end_step(log);
		begin_step(log, s);
		break;
	default: /* STEP_OUTSIDE or STEP_CUT: a step has ended */
		log->has_steps = true;
		end_step(log);
	}
}

/* ---- Reading ---- */

static void add_record(struct launch_log *log, const struct dict *d, uint32_t slot,
		       const struct rec_head *head, const struct launch_log_sink *sink)
{
	switch (head->kind) {
	case REC_CALL:
		add_call(log, d, slot, (const struct rec_call *)head);
		if (sink)
			sink->call(sink->context, slot, (const struct rec_call *)head);
		break;
	case REC_THREAD:
		if (sink)
			sink->thread(sink->context, slot, (const struct rec_thread *)head);
		break;
	case REC_NODE:
	case REC_GRAPH:
		if (sink)
			sink->graph(sink->context, slot, head);
		break;
	case REC_STEP:
		add_step(log, (const struct rec_step *)head);
		break;
	case REC_GPU_STATE: {
		uint32_t state = ((const struct rec_gpu_state *)head)->state;
		log->has_gpu_work |= state == GPU_ON || state == GPU_ON_BUT_COPIES;
		break;
	}
	case REC_KERNEL:
	case REC_MEMCPY:
	case REC_MEMSET:
	case REC_GPU_SYNC:
		log->has_gpu_work = true;
		break;
	default:
		break;
	}
}

int launch_log_read(struct launch_log *log, const char *path, const struct launch_log_sink *sink,
		    struct err *e)
{
	struct reader r;
	struct dict d = { 0 };
	struct reader_batch batch;
	const struct dict_head *entry;
	const struct rec_head *head;
	memset(log, 0, sizeof(*log));
	int error = reader_open(&r, path, false, e);
	if (error)
		return error;
	while ((entry = reader_next_dictionary(&r, true)))
		/* only hooks are needed, and demangling kernel names would take long */
		if (entry->kind == DICT_HOOK)
			dict_add(&d, entry);
	reader_begin_pass(&r);
	while (reader_next_batch(&r, &batch))
		while ((head = reader_next_record(&r, &batch)))
			add_record(log, &d, batch.thread, head, sink);
	dict_free(&d);
	reader_close(&r);
	for (size_t i = 0; i < log->voided.n; i++)
		remove_generation(&log->anchors, log->voided.at[i]);
	return 0;
}

void launch_log_free(struct launch_log *log)
{
	for (size_t i = 0; i < log->threads.n; i++)
		vec_free(&log->threads.at[i].launches);
	vec_free(&log->threads);
	map_free(&log->thread_of_slot);
	vec_free(&log->generations);
	vec_free(&log->anchors);
	vec_free(&log->voided);
	memset(log, 0, sizeof(*log));
}
