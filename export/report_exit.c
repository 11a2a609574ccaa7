/* See report_exit.h. */
#include "export/report_exit.h"

#include "core/util/text.h"
#include "export/report_words.h"

#include <math.h>
#include <string.h>

enum {
	OUT_OF_MEMORY = 2,
	HOLDERS_SAID = 3,
	PLACE_BYTES = 600,
	NUMBER_BYTES = 32,
	ERROR_BYTES = 80,
	LINES = 3
};

/* Common result codes. They are the same in the runtime and in the driver API. */
static const struct {
	uint16_t status;
	const char *words;
} errors[] = {
	{ 1, "invalid value" },
	{ OUT_OF_MEMORY, "out of memory" },
	{ 3, "not initialized" },
	{ 4, "driver is shutting down" },
	{ 9, "invalid launch configuration" },
	{ 46, "devices are busy or unavailable" },
	{ 98, "invalid kernel function" },
	{ 100, "no device" },
	{ 101, "invalid device" },
	{ 201, "invalid context" },
	{ 209, "no kernel image for this device" },
	{ 214, "uncorrectable ECC error" },
	{ 400, "invalid handle" },
	{ 700, "illegal memory access" },
	{ 701, "too many resources for the launch" },
	{ 702, "the launch timed out" },
	{ 710, "device-side assertion failed" },
	{ 715, "illegal instruction" },
	{ 716, "misaligned address" },
	{ 717, "invalid address space" },
	{ 718, "invalid program counter" },
	{ 719, "the kernel failed" },
	{ 900, "operation not permitted while a stream is captured" },
};

static const char *words_of(int64_t status)
{
	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++)
		if (errors[i].status == status)
			return errors[i].words;
	return "";
}

/* Writes "CUDA error 700 (illegal memory access)". */
static char *name_error(char *to, size_t bytes, int64_t status)
{
	const char *words = words_of(status);
	snprintf(to, bytes, *words ? "CUDA error %lld (%s)" : "CUDA error %lld", (long long)status,
		 words);
	return to;
}

static bool is_bad(const struct report_run *run)
{
	return run->signal > 0 || run->exit_status > 0;
}

/* Returns the first process of which something failed; `is_memory`: that ran out of memory. */
static const struct report_process *failed_process(const struct report *r, bool is_memory)
{
	for (size_t i = 0; i < r->processes.n; i++) {
		const struct report_failure *f = r->processes.at[i]->failure;
		if (f && (!is_memory || f->status == OUT_OF_MEMORY))
			return r->processes.at[i];
	}
	return NULL;
}

/* Fills in the exception of the first process that had one, else the CUDA call that failed. */
static void fill_exception(struct report_exit *to, struct report *r)
{
	const struct report_process *p = failed_process(r, false);
	char text[TEXT_BYTES], error[ERROR_BYTES];
	for (size_t i = 0; i < r->processes.n; i++) {
		const struct process_facts *facts = &r->processes.at[i]->facts;
		if (!*facts->exception)
			continue;
		to->exception = arena_text(&r->arena, facts->exception);
		to->file = arena_text(&r->arena, facts->exception_file);
		to->line = facts->exception_line;
		return;
	}
	if (!p)
		return;
	snprintf(text, sizeof(text), "%s in %s",
		 name_error(error, sizeof(error), p->failure->status), p->failure->api);
	to->exception = arena_text(&r->arena, text);
	to->file = arena_text(&r->arena, p->failure->place.file);
	to->line = p->failure->place.line;
}

static struct report_place copy_place(struct report *r, const struct report_place *from)
{
	return (struct report_place){ arena_text(&r->arena, from->file), from->line,
				      arena_text(&r->arena, from->function) };
}

/* The signal is known only of the program that the launcher started itself (run->pid). */
static void fill_last_call(struct report_exit *to, struct report *r)
{
	for (size_t i = 0; i < r->processes.n && r->run.signal > 0; i++) {
		const struct report_process *p = r->processes.at[i];
		if (p->facts.pid != r->run.pid || !p->last_call)
			continue;
		to->last_call = arena_zero(&r->arena, sizeof(*to->last_call));
		*to->last_call = (struct report_last_call){
			.api = arena_text(&r->arena, p->last_call->api),
			.place = copy_place(r, &p->last_call->place),
		};
	}
}

void report_exit_fill(struct report *r)
{
	struct report_run *run = &r->run;
	const struct report_process *p = failed_process(r, true);
	run->exit = NULL;
	if (run->signal <= 0 && run->exit_status < 0)
		return;
	struct report_exit *to = run->exit = arena_zero(&r->arena, sizeof(*run->exit));
	*to = (struct report_exit){ .status = run->signal > 0 ? -1 : run->exit_status,
				    .signal = run->signal > 0 ? run->signal : -1,
				    .exception = "",
				    .file = "",
				    .line = -1 };
	if (is_bad(run))
		fill_exception(to, r);
	fill_last_call(to, r);
	if (!is_bad(run) || !p)
		return;
	const struct report_failure *f = p->failure;
	to->out_of_memory = arena_zero(&r->arena, sizeof(*to->out_of_memory));
	*to->out_of_memory = (struct report_failure){
		.api = arena_text(&r->arena, f->api),
		.status = f->status,
		.bytes = f->bytes,
		.held_bytes = f->held_bytes,
		.device_bytes = f->device_bytes,
		.step = f->step,
		.place = copy_place(r, &f->place),
	};
}

bool report_exit_is_bad(const struct report *r)
{
	return r->run.exit && is_bad(&r->run);
}

/* ---- The headline ---- */

/* Returns the failed call's line. If it is not known, returns the exception's. */
static struct report_place place_of(const struct report_failure *f, const struct process_facts *x)
{
	if (*f->place.file || !*x->exception_file)
		return f->place;
	return (struct report_place){ x->exception_file, x->exception_line, "" };
}

/* Prints the exception's name or, if there is none, the CUDA error's. */
static void say_failure(struct textout *o, const struct report_failure *f,
			const struct process_facts *facts, const char *cwd)
{
	const char *exception = facts->exception;
	struct report_place at = place_of(f, facts);
	char text[TEXT_BYTES] = "", error[ERROR_BYTES], bytes[NUMBER_BYTES], place[PLACE_BYTES];
	bool has_place = *at.file || *at.function;
	if (*exception)
		text_append(text, sizeof(text), "%.*s: ", (int)strcspn(exception, ":"), exception);
	if (f->status == OUT_OF_MEMORY)
		text_append(text, sizeof(text), "%s", *exception ? "" : "out of memory: ");
	else
		text_append(text, sizeof(text),
			    "%s: ", name_error(error, sizeof(error), f->status));
	text_append(text, sizeof(text), "%s", f->api);
	if (f->bytes > 0)
		text_append(text, sizeof(text), " of %s",
			    report_bytes(bytes, sizeof(bytes), f->bytes));
	text_append(text, sizeof(text), " failed");
	if (has_place)
		text_append(text, sizeof(text), " at %s",
			    report_place_short(place, sizeof(place), &at, cwd));
	if (f->step > 0)
		text_append(text, sizeof(text), ", in step %lld", (long long)f->step);
	text_wrap(o, TEXT_RED, "Ended by ", text, LINES);
}

/* Prints what held the memory, by line. */
static void say_held(struct textout *o, const struct report_process *p, const char *cwd)
{
	const struct report_failure *f = p->failure;
	char text[TEXT_BYTES] = "", bytes[NUMBER_BYTES], place[PLACE_BYTES];
	if (f->status != OUT_OF_MEMORY || !(f->held_bytes > 0))
		return;
	text_append(text, sizeof(text), "%s were held",
		    report_bytes(bytes, sizeof(bytes), f->held_bytes));
	if (f->device_bytes > 0)
		text_append(text, sizeof(text), " of the GPU's %s",
			    report_bytes(bytes, sizeof(bytes), (double)f->device_bytes));
	for (size_t i = 0; i < p->memory.at_peak.n && i < HOLDERS_SAID; i++) {
		const struct report_block *b = &p->memory.at_peak.at[i];
		text_append(text, sizeof(text), "%s%s by %s", i ? ", " : ": ",
			    report_bytes(bytes, sizeof(bytes), b->bytes),
			    *b->what ? b->what
				     : report_place_short(place, sizeof(place), &b->place, cwd));
	}
	text_wrap(o, TEXT_PLAIN, REPORT_UNDER "- ", text, LINES);
}

/* Prints how much the memory grows, and where. */
static void say_growth(struct textout *o, const struct report_process *p, const char *cwd)
{
	char bytes[NUMBER_BYTES], place[PLACE_BYTES], text[TEXT_BYTES] = "";
	const struct report_growth *g = p->memory.growth;
	if (p->failure->status != OUT_OF_MEMORY || !g)
		return;
	text_append(text, sizeof(text), "memory in use grew by %s per step",
		    report_bytes(bytes, sizeof(bytes), g->bytes_per_step));
	if (p->memory.leaks.n)
		text_append(text, sizeof(text), ", %s of it allocated at %s",
			    report_bytes(bytes, sizeof(bytes), p->memory.leaks.at[0].bytes),
			    report_place_short(place, sizeof(place), &p->memory.leaks.at[0].place,
					       cwd));
	text_wrap(o, TEXT_PLAIN, REPORT_UNDER "- ", text, 2);
}

/* Returns the length of `text` without the full stop at its end. */
static int length_without_stop(const char *text)
{
	size_t n = strlen(text);
	bool has_stop = n > 1 && text[n - 1] == '.' && text[n - 2] != '.';
	return (int)(n - has_stop);
}

static void say_exception(struct textout *o, const struct report_exit *e, int64_t last_step,
			  const char *cwd)
{
	char text[TEXT_BYTES] = "", place[PLACE_BYTES];
	const struct report_place at = { e->file, e->line, "" };
	enum { MOST = 700 };
	int length = length_without_stop(e->exception);
	text_append(text, sizeof(text), "%.*s", length < MOST ? length : MOST, e->exception);
	if (*e->file)
		text_append(text, sizeof(text), ", at %s",
			    report_place_short(place, sizeof(place), &at, cwd));
	if (last_step >= 0)
		text_append(text, sizeof(text), ", after step %lld began", (long long)last_step);
	text_wrap(o, TEXT_RED, "Ended by ", text, LINES);
}

/* Prints the last call before the signal. The program's own code may have run for long since. */
static void say_last_call(struct textout *o, const struct report_last_call *c, const char *cwd)
{
	char text[TEXT_BYTES] = "", place[PLACE_BYTES];
	if (!c)
		return;
	text_append(text, sizeof(text), "the last CUDA call was %s", c->api);
	if (*c->place.file || *c->place.function)
		text_append(text, sizeof(text), " at %s",
			    report_place_short(place, sizeof(place), &c->place, cwd));
	text_wrap(o, TEXT_PLAIN, REPORT_UNDER "- ", text, 2);
}

/* Prints the signal. "killed" says that the journal has no end record. */
static void say_signal(struct textout *o, const struct report *r, const struct report_process *p)
{
	static const char ended_by[] = "ended by ";
	char death[TEXT_BYTES];
	if (!*report_death(death, sizeof(death), &r->run, &p->facts))
		return;
	bool ended = !strncmp(death, ended_by, strlen(ended_by));
	text_wrap(o, TEXT_RED, ended ? "Ended by " : REPORT_UNDER,
		  death + (ended ? strlen(ended_by) : 0), 2);
	bool is_explained = *p->facts.exception || p->failure;
	if (p->facts.pid == r->run.pid && !is_explained)
		say_last_call(o, r->run.exit ? r->run.exit->last_call : NULL, r->run.cwd);
}

void report_exit_say(struct textout *o, const struct report *r, const struct report_process *p)
{
	const struct report_exit *e = r->run.exit;
	if (e && is_bad(&r->run) && p->failure) {
		say_failure(o, p->failure, &p->facts, r->run.cwd);
		say_held(o, p, r->run.cwd);
		say_growth(o, p, r->run.cwd);
	} else if (e && *e->exception) {
		say_exception(o, e, p->facts.steps.last, r->run.cwd);
	}
	say_signal(o, r, p);
}
