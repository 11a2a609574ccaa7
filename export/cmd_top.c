/*
 * `profrun top [PID|DIR]`: shows running jobs on the terminal, and records their next steps on a
 * key. Without a terminal prints once.
 */
#include "core/runtime/clock.h"
#include "export/command.h"
#include "export/print.h"
#include "export/sparkline.h"
#include "export/top_view.h"
#include "export/trigger_ask.h"

#include <unistd.h>

enum {
	EVERY_MS = 1000,      /* as often as the collector saves run.json */
	LOOK_EVERY_MS = 3000, /* for new jobs: reading all maps in /proc takes some milliseconds */
	ANSWER_EVERY_MS = 50,
	COST_SHARE = 20, /* reading reports takes at most a twentieth of the time */
	ONCE_ROWS = 4096,
};

/* The step that a process was in, and since when. */
struct seen {
	uint32_t pid;
	uint64_t step, since_ms;
};

struct top {
	const char *what; /* PID or DIR; NULL: all jobs of the user */
	struct jobs jobs;
	struct live live;
	struct top_view view;
	VEC(struct seen) seen;
	struct asking asking; /* empty: nothing was asked */
	uint64_t now_ms, looked_ms, read_ms, next_read_ms, asked_ms;
	char message[TRIGGER_WORDS_BYTES];
};

/* ---- Reading ---- */

static int look_for_jobs(struct top *t)
{
	int error = EXIT_DONE;
	jobs_drop_ended(&t->jobs);
	if (t->what)
		error = jobs_add(&t->jobs, t->what);
	else
		jobs_add_user(&t->jobs);
	t->looked_ms = t->now_ms;
	return error;
}

/* Returns for how many seconds the process has been in its current step. */
static double still_s(struct top *t, const struct live_process *p)
{
	uint64_t step = target_step(p->job->target);
	struct seen *s = NULL;
	for (size_t i = 0; i < t->seen.n; i++)
		if (t->seen.at[i].pid == p->pid)
			s = &t->seen.at[i];
	if (!s) {
		vec_push(&t->seen, (struct seen){ p->pid, step, t->now_ms });
		return 0;
	}
	if (s->step != step)
		*s = (struct seen){ p->pid, step, t->now_ms };
	return p->steps < 0 ? 0 : (double)(t->now_ms - s->since_ms) / 1000;
}

static void fill_rows(struct top *t)
{
	uint32_t selected =
		t->view.selected < t->view.rows.n ? t->view.rows.at[t->view.selected].p.pid : 0;
	t->view.rows.n = 0;
	for (size_t i = 0; i < t->jobs.all.n; i++) {
		struct top_row row = { .p = live_process(&t->live, &t->jobs.all.at[i]) };
		row.still_s = still_s(t, &row.p);
		vec_push(&t->view.rows, row);
	}
	t->view.selected = 0;
	for (size_t i = 0; i < t->view.rows.n; i++)
		if (t->view.rows.at[i].p.pid == selected)
			t->view.selected = i;
	top_sort_rows(&t->view);
}

static void read_all(struct top *t)
{
	live_read(&t->live, &t->jobs);
	fill_rows(t);
	uint64_t took_ms = clock_ms() - t->now_ms, rest_ms = took_ms * COST_SHARE;
	t->next_read_ms = t->now_ms + (rest_ms > EVERY_MS ? rest_ms : EVERY_MS);
}

/* While an answer is awaited, the jobs that were asked must stay. */
static void read_if_due(struct top *t)
{
	if (t->now_ms < t->next_read_ms)
		return;
	if (!t->asking.all.n && t->now_ms - t->looked_ms >= LOOK_EVERY_MS)
		look_for_jobs(t);
	read_all(t);
}

/* ---- Recording ---- */

/* Asks all processes of the selected one's run, so that ranks record the same steps. */
static void ask(struct top *t)
{
	if (t->view.selected >= t->view.rows.n || t->asking.all.n)
		return;
	const char *folder = t->view.rows.at[t->view.selected].p.job->folder;
	for (size_t i = 0; i < t->jobs.all.n; i++)
		if (!strcmp(t->jobs.all.at[i].folder, folder))
			asking_add(&t->asking, &t->jobs.all.at[i]);
	asking_send(&t->asking);
	t->asked_ms = t->now_ms;
	snprintf(t->message, sizeof(t->message), "asked to record; waiting for an answer");
}

/* Shows the answer of the selected process, or why it cannot be asked. */
static void hear(struct top *t)
{
	bool is_over = t->now_ms - t->asked_ms >= TRIGGER_ANSWER_MS;
	if (!t->asking.all.n || (asking_is_awaited(&t->asking) && !is_over))
		return;
	const struct asked *shown = &t->asking.all.at[0];
	uint32_t pid = t->view.selected < t->view.rows.n ? t->view.rows.at[t->view.selected].p.pid
							 : 0;
	for (size_t i = 0; i < t->asking.all.n; i++)
		if (target_pid(t->asking.all.at[i].job->target) == pid)
			shown = &t->asking.all.at[i];
	if (shown->is_asked)
		asking_answer(t->message, shown);
	else
		snprintf(t->message, sizeof(t->message), "%s", shown->why);
	asking_free(&t->asking);
	t->asking = (struct asking){ 0 };
}

/* ---- Keys ---- */

/* Returns whether to go on. */
static bool obey(struct top *t, int key)
{
	switch (key) {
	case KEY_END:
	case 'q':
	case 'Q':
		return false;
	case 't':
		ask(t);
		return true;
	case 's':
		t->view.sort = (t->view.sort + 1) % TOP_SORTS;
		top_sort_rows(&t->view);
		break;
	case KEY_UP:
	case 'k':
		t->view.selected -= t->view.selected > 0;
		break;
	case KEY_DOWN:
	case 'j':
		t->view.selected += t->view.selected + 1 < t->view.rows.n;
		break;
	default:
		return true;
	}
	if (!t->asking.all.n)
		t->message[0] = 0;
	return true;
}

static void draw(const struct top *t, bool has_colour)
{
	struct picture p;
	picture_start(&p, terminal_rows(), terminal_columns());
	top_draw(&p, &t->view);
	terminal_draw(&p, has_colour);
	picture_free(&p);
}

static int watch(struct top *t)
{
	bool has_colour = text_wants_colour(STDOUT_FILENO);
	int key = KEY_NONE;
	if (!terminal_open())
		return EXIT_DATA;
	while (obey(t, key)) {
		t->now_ms = clock_ms();
		read_if_due(t);
		hear(t);
		draw(t, has_colour);
		key = terminal_key(t->asking.all.n ? ANSWER_EVERY_MS : EVERY_MS);
	}
	terminal_end_by_signal();
	return EXIT_DONE;
}

/* ---- The command ---- */

static int print_once(const struct top *t)
{
	struct picture p;
	picture_start(&p, ONCE_ROWS, TEXT_COLUMNS);
	top_draw_all(&p, &t->view);
	for (unsigned i = 0; i < p.n; i++)
		print_out("%s\n", p.lines[i].text);
	picture_free(&p);
	return EXIT_DONE;
}

static int take_what(void *request, const char *word)
{
	struct top *t = request;
	if (t->what)
		return usage_error("top takes one process or folder, got '%s' too; %s", word,
				   command_usage(&command_top));
	t->what = word;
	return 0;
}

static int start(struct top *t)
{
	t->now_ms = clock_ms();
	t->view.message = t->message;
	t->view.has_blocks = sparkline_has_blocks();
	t->jobs.is_silent = !t->what;
	int error = look_for_jobs(t);
	if (!error && !t->jobs.all.n)
		error = t->what ? data_error("%s: the run has ended: no process of it is running",
					     t->what)
				: live_say_none();
	t->jobs.is_silent = true;
	if (!error)
		read_all(t);
	return error;
}

static int run(int argc, char **argv)
{
	struct top t = { 0 };
	int error;
	if (!command_parse(&command_top, &t, argc, argv, NULL, &error))
		return error;
	error = start(&t);
	if (!error)
		error = terminal_is_there() ? watch(&t) : print_once(&t);
	asking_free(&t.asking);
	live_free(&t.live);
	jobs_free(&t.jobs);
	vec_free(&t.view.rows);
	vec_free(&t.seen);
	return error;
}

const struct command command_top = {
	.name = "top",
	.operands = "[PID|DIR]",
	.summary = "watch running jobs on the terminal: step times, bottleneck, hottest lines",
	.operand = take_what,
	.run = run,
};
