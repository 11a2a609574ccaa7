/* See step_search.h. */
#include "core/steps/step_search.h"

#include "core/steps/launch_log.h"

/* Makes the log that anchors_begins() reads. Its ticks are ns. */
static void make_log(struct launch_log *log, const struct level_event *launches,
		     const uint32_t *threads, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		bool is_new;
		uint64_t *at = map_at(&log->thread_of_slot, threads[i], &is_new);
		if (is_new) {
			*at = log->threads.n;
			vec_push(&log->threads, (struct logged_thread){ .slot = threads[i] });
		}
		vec_push(&log->threads.at[*at].launches,
			 ((struct logged_launch){ launches[i].token, launches[i].begin_ns }));
	}
}

bool step_search(struct step_search *to, const struct level_event *launches,
		 const uint32_t *threads, size_t n)
{
	struct levels *levels = levels_new();
	struct launch_log log = { 0 };
	bool is_found;
	*to = (struct step_search){ 0 };
	if (!levels)
		return false;
	for (size_t i = 0; i < n; i++)
		levels_feed(levels, threads[i], &launches[i]);
	is_found = levels_conclude(levels, &to->choice);
	if (is_found) {
		const struct level_choice *c = &to->choice;
		const struct anchor anchor = { .anchor = c->anchor,
					       .backup = c->backup,
					       .backup_within = c->backup_within,
					       .apart = c->apart,
					       .every = c->every,
					       .lead = c->lead,
					       .n_early_backups = c->n_early_backups };
		anchor_ticks begins = { 0 };
		make_log(&log, launches, threads, n);
		anchors_begins(&begins, &log, &anchor);
		for (size_t i = 0; i < begins.n; i++)
			vec_push(&to->begins_ns, begins.at[i]);
		vec_free(&begins);
	}
	launch_log_free(&log);
	levels_free(levels);
	return is_found;
}

void step_search_free(struct step_search *s)
{
	vec_free(&s->begins_ns);
}
