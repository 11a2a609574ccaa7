/* See trigger_ask.h. */
#include "export/trigger_ask.h"

#include "core/util/text.h"

#include <time.h>

enum {
	WATCH_MS = 50, /* how long the speed of ranks is measured; 50 ms contain a hundred steps
		        * of 0.4 ms */
};

void asking_add(struct asking *a, const struct job *job)
{
	vec_push(&a->all, (struct asked){ .job = job });
	vec_push(&a->looks, (struct rank_look){ 0 });
}

void asking_free(struct asking *a)
{
	vec_free(&a->all);
	vec_free(&a->looks);
}

static const char *who(const struct asked *t)
{
	static char text[32];
	snprintf(text, sizeof(text), "process %u", target_pid(t->job->target));
	return text;
}

/* Returns whether the process can be asked; otherwise notes why not. Without a collector, step
 * boundaries cannot be learned. If they are known, steps can be recorded, and exported later. */
static bool can_be_asked(struct asked *t)
{
	const struct target *target = t->job->target;
	bool is_learning = target_is_learning(target);
	if (!target_accepts_file(target)) {
		snprintf(t->why, sizeof(t->why),
			 "%s cannot be triggered: its PROF_TRIGGER does not include file%s", who(t),
			 target_accepts_signal(target) ? "; it includes signal, so use kill -USR2"
						       : "");
		return false;
	}
	if (target_has_collector(target))
		return true;
	snprintf(t->why, sizeof(t->why),
		 "%s: no traces are written, because its collector has ended; start another with "
		 "`profrun collect %.300s &`%s",
		 who(t), t->job->folder, is_learning ? ", then run trigger again" : "");
	return !is_learning;
}

/* ---- Several ranks ---- */

/* Notes each rank's current step. Returns the number of ranks. */
static size_t look_at_ranks(struct asking *a)
{
	size_t n = 0;
	for (size_t i = 0; i < a->all.n; i++) {
		const struct asked *t = &a->all.at[i];
		struct rank_look *look = &a->looks.at[i];
		look->was_one = look->is_one;
		look->then = look->now;
		look->is_one = t->is_asked && target_is_rank(t->job->target);
		look->now = target_step(t->job->target);
		n += look->is_one;
	}
	return n;
}

/* Returns the step with which all ranks can begin. 0: each rank begins when it sees the request. */
static uint64_t common_step(struct asking *a)
{
	const struct timespec pause = { .tv_nsec = WATCH_MS * 1000000L };
	if (look_at_ranks(a) < 2)
		return 0;
	nanosleep(&pause, NULL);
	look_at_ranks(a);
	return ranks_meet(a->looks.at, a->looks.n);
}

void asking_send(struct asking *a)
{
	/* Check all processes before reading the ranks' steps: a check may wait for a collector,
	 * and meanwhile the ranks would advance. */
	for (size_t i = 0; i < a->all.n; i++)
		a->all.at[i].is_asked = can_be_asked(&a->all.at[i]);
	uint64_t from = common_step(a);
	for (size_t i = 0; i < a->all.n; i++)
		if (a->all.at[i].is_asked)
			target_request(a->all.at[i].job->target, a->n_steps,
				       a->looks.at[i].is_one ? from : 0);
}

bool asking_is_awaited(const struct asking *a)
{
	for (size_t i = 0; i < a->all.n; i++)
		if (a->all.at[i].is_asked && !target_has_answered(a->all.at[i].job->target))
			return true;
	return false;
}

/* ---- The answer ---- */

static void say_window(char *to, const struct asked *t, const struct target_window *w,
		       const char *what)
{
	unsigned long long first = w->first, n = w->n;
	text_append(to, TRIGGER_WORDS_BYTES, "%s: %s", who(t), what);
	if (n == 1)
		text_append(to, TRIGGER_WORDS_BYTES, " %llu is recorded", first);
	else
		text_append(to, TRIGGER_WORDS_BYTES, "s %llu to %llu are recorded", first,
			    first + n - 1);
	if (w->n_warmup)
		text_append(to, TRIGGER_WORDS_BYTES, ", after %u warm-up step%s", w->n_warmup,
			    w->n_warmup == 1 ? "" : "s");
}

static void say_kept(char *to, const struct asked *t, unsigned long long n)
{
	text_append(to, TRIGGER_WORDS_BYTES,
		    "%s: the steps kept by the flight recorder are written", who(t));
	if (n)
		text_append(to, TRIGGER_WORDS_BYTES, ", and the next %llu", n);
}

char *asking_answer(char *to, const struct asked *t)
{
	const struct target *target = t->job->target;
	struct target_window w = target_window(target);
	to[0] = 0;
	if (!target_has_answered(target)) {
		text_append(to, TRIGGER_WORDS_BYTES,
			    "%s: the request was sent, but within %d s %s; %s, and", who(t),
			    TRIGGER_ANSWER_MS / 1000,
			    target_is_learning(target) ? "no step was detected"
						       : "no new step began",
			    target_has_flight(target)
				    ? "the steps kept by the flight recorder are written"
				    : "recording starts with the next step");
	} else if (w.answer == TARGET_KEPT) {
		say_kept(to, t, w.n);
		text_append(to, TRIGGER_WORDS_BYTES, ";");
	} else {
		say_window(to, t, &w,
			   w.answer == TARGET_SLICES ? "no steps detected yet: time slice"
						     : "step");
		text_append(to, TRIGGER_WORDS_BYTES, ";");
	}
	text_append(to, TRIGGER_WORDS_BYTES, " traces go to %s/traces", t->job->folder);
	return to;
}
