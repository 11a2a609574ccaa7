/* See report_head.h. */
#include "export/report_head.h"

#include "core/util/path.h"
#include "export/report_steps.h"
#include "export/report_words.h"

#include <math.h>
#include <string.h>

enum {
	COMMAND_COLUMNS = 60,
	COMMAND_LEAST = 20, /* a command is not cut to less */
	NUMBER_BYTES = 32,
	NAME_BYTES = 40,
};

char *report_name_of(char *to, size_t bytes, const struct report_process *p)
{
	bool has_rank = p->rank >= 0;
	snprintf(to, bytes, "%s %lld", has_rank ? "rank" : "process",
		 (long long)(has_rank ? p->rank : p->facts.pid));
	return to;
}

const char *report_own_command(const char *command)
{
	const char *base = command;
	for (const char *c = command; *c && *c != ' '; c++)
		base = *c == '/' ? c + 1 : base;
	return base;
}

/* Returns whether Python's multiprocessing module started the process by itself: its command says
 * nothing of the program. */
static bool is_spawned(const char *command)
{
	return strstr(command, "from multiprocessing.") ||
	       strstr(command, "--multiprocessing-fork");
}

void report_head_command(char *to, size_t bytes, const struct report *r,
			 const struct report_process *p)
{
	bool is_own = p && r->processes.n > 1 && p->rank < 0 && !is_spawned(p->facts.command);
	to[0] = 0;
	for (size_t i = 0; !is_own && i < r->run.command.n; i++) {
		size_t used = strlen(to);
		const char *word = report_short_path(r->run.command.at[i], r->run.cwd);
		if (!i) /* leave out the interpreter's folder */
			word = path_base(word);
		snprintf(to + used, bytes - used, "%s%s", i ? " " : "", word);
	}
	if (!*to)
		snprintf(to, bytes, "%s", p ? report_own_command(p->facts.command) : "");
}

/* Writes ": exit 0 after 12.3 s" or ": still running", as far as it is known. A status other than 0
 * is said to be the program's own, because the launcher exits with the same status. */
static void write_end(char *to, size_t bytes, const struct report *r)
{
	const struct report_run *run = &r->run;
	size_t used = 0;
	to[0] = 0;
	if (run->signal >= 0)
		used = (size_t)snprintf(to, bytes, ": signal %d", (int)run->signal);
	else if (run->exit_status >= 0)
		used = (size_t)snprintf(to, bytes, ": exit %lld%s", (long long)run->exit_status,
					run->exit_status ? " (the program's status)" : "");
	else if (report_running(r))
		snprintf(to, bytes, ": still running");
	if (used && used < bytes && run->wall_s > 0)
		snprintf(to + used, bytes - used, " after %.*f s", run->wall_s < 100 ? 1 : 0,
			 run->wall_s);
}

/* Writes "400 steps of 12.44 ms (median; p95 15.23)", or "" if the times of steps are not known. If
 * the CPU runs ahead, writes the GPU's time, or the mean if it waits now and then. */
static void write_steps(char *to, size_t bytes, const struct report_process *p)
{
	const struct sample_summary *ms = p ? p->baseline.step_ms : NULL;
	char count[NUMBER_BYTES], p50[NUMBER_BYTES], p95[NUMBER_BYTES];
	to[0] = 0;
	if (ms && report_runs_ahead(p))
		snprintf(to, bytes, "%s step%s of %s ms on the GPU",
			 report_count(count, sizeof(count), p->facts.steps.count),
			 p->facts.steps.count == 1 ? "" : "s",
			 report_ms(p50, sizeof(p50), p->replay->measured_ms));
	else if (ms && report_catches_up(p))
		snprintf(to, bytes, "%s steps of %s ms (mean; the CPU runs ahead of the GPU)",
			 report_count(count, sizeof(count), p->facts.steps.count),
			 report_ms(p50, sizeof(p50), ms->mean));
	else if (ms)
		snprintf(to, bytes, "%s step%s of %s ms (median; p95 %s)",
			 report_count(count, sizeof(count), p->facts.steps.count),
			 p->facts.steps.count == 1 ? "" : "s", report_ms(p50, sizeof(p50), ms->p50),
			 report_ms(p95, sizeof(p95), ms->p95));
}

/* The figures of a run that was cut look like those of a shorter one, so this is said first. */
static void say_cut(struct textout *o, const struct facts_losses *l)
{
	char all[NUMBER_BYTES], calls[NUMBER_BYTES], gpu[NUMBER_BYTES], steps[NUMBER_BYTES];
	text_line(o, TEXT_RED, "cut: the journal was full and dropped %s records: %s calls, %s GPU",
		  report_count(all, sizeof(all), l->dropped),
		  report_count(calls, sizeof(calls), l->dropped_calls),
		  report_count(gpu, sizeof(gpu), l->dropped_gpu));
	text_line(o, TEXT_RED, "records, %s step boundaries; raise PROF_BUFFER_MB",
		  report_count(steps, sizeof(steps), l->dropped_steps));
}

void report_head_say(struct textout *o, const struct report *r, const struct report_process *p)
{
	char command[TEXT_BYTES], fitted[TEXT_BYTES], name[NAME_BYTES], end[120], steps[160];
	char first[2 * TEXT_BYTES];
	report_head_command(command, sizeof(command), r, p);
	write_end(end, sizeof(end), r);
	if (p && !strcmp(p->facts.cupti.state, CUPTI_EMPTY))
		snprintf(end, sizeof(end), ": %s", CUPTI_EMPTY);
	write_steps(steps, sizeof(steps), p);
	size_t taken = strlen(end) + (p && r->processes.n > 1 ? sizeof(", process 1234567") : 0),
	       columns = text_title_columns(o) > taken + COMMAND_LEAST
				 ? text_title_columns(o) - taken
				 : COMMAND_LEAST;
	text_fit(fitted, sizeof(fitted), command,
		 columns < COMMAND_COLUMNS ? columns : COMMAND_COLUMNS, CUT_MIDDLE);
	snprintf(first, sizeof(first), "%s%s%s%s", fitted, p && r->processes.n > 1 ? ", " : "",
		 p && r->processes.n > 1 ? report_name_of(name, sizeof(name), p) : "", end);
	bool fits = text_width(first) + strlen(", ") + strlen(steps) <= text_title_columns(o);
	text_title(o, "%s%s%s", first, fits && *steps ? ", " : "", fits ? steps : "");
	if (!fits && *steps)
		text_line(o, TEXT_BOLD, "%s", steps);
	if (p && p->facts.losses.dropped > 0)
		say_cut(o, &p->facts.losses);
}
