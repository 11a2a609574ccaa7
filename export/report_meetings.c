/*
 * A collective's kernel runs on a rank from when the rank came until all have come and the bytes are there. All ranks of a
 * communicator number its collectives alike, so the times of one number belong together; the clock is the machine's, so this is for
 * ranks of one machine. A rank waits from its own begin until the last one's.
 */
#include "export/report_meetings.h"

#include "core/util/map.h"
#include "export/report_json.h"

#define NOTES "arrivals"
#define STEPS "gpu_steps"

enum { COMM, SEQUENCE, ROW, BEGIN_NS, END_NS, GPU_NS };

void report_meetings_note(json_t *report, const struct findings *f)
{
	json_t *list = json_array();
	for (size_t i = 0; i < f->arrivals.n; i++) {
		const struct finding_arrival *a = &f->arrivals.at[i];
		json_array_append_new(list,
				      json_pack("[I, I, I, I, I, I]", (json_int_t)a->comm,
						(json_int_t)a->sequence, (json_int_t)a->row,
						(json_int_t)a->begin_ns, (json_int_t)a->end_ns,
						(json_int_t)a->gpu_ns));
	}
	json_object_set_new(report, NOTES, list);
	json_object_set_new(report, STEPS, json_real(f->n_gpu_steps));
}

/* ---- Who came last ---- */

struct meeting {
	uint64_t last_ns;
	size_t last; /* of the processes */
	uint32_t n;
};

struct meetings {
	const json_t *processes;
	struct map place;
	VEC(struct meeting) at;
};

static uint64_t number(const json_t *note, size_t which)
{
	return (uint64_t)json_integer_value(json_array_get(note, which));
}

static struct meeting *meeting_of(struct meetings *m, const json_t *note)
{
	bool is_new;
	uint64_t key = (number(note, COMM) ^ number(note, SEQUENCE)) * 0x9e3779b97f4a7c15ull ^
		       number(note, SEQUENCE);
	uint64_t *at = map_at(&m->place, key, &is_new);
	if (is_new) {
		*at = m->at.n;
		vec_push(&m->at, (struct meeting){ 0 });
	}
	return &m->at.at[*at];
}

static void gather(struct meetings *m, size_t process)
{
	const json_t *notes = json_object_get(json_array_get(m->processes, process), NOTES);
	for (size_t i = 0; i < json_array_size(notes); i++) {
		const json_t *note = json_array_get(notes, i);
		struct meeting *meeting = meeting_of(m, note);
		meeting->n++;
		if (number(note, BEGIN_NS) < meeting->last_ns)
			continue;
		meeting->last_ns = number(note, BEGIN_NS);
		meeting->last = process;
	}
}

/* ---- Who waited ---- */

/* Of a row of collectives, for each process that came last. */
struct row_waits {
	uint64_t *for_ns;
	uint64_t all_ns;
	bool is_known;
};

/* The members of a group are launched as one, and wait as one: each has the share of the wait that it has of the time. */
static uint64_t share_of(const json_t *note, uint64_t wait_ns)
{
	uint64_t all_ns = number(note, END_NS) - number(note, BEGIN_NS), ns = number(note, GPU_NS);
	return ns < all_ns ? (uint64_t)((double)wait_ns * (double)ns / (double)all_ns) : wait_ns;
}

static void add_wait(struct row_waits *w, const struct meeting *m, const json_t *note)
{
	uint64_t begin_ns = number(note, BEGIN_NS), end_ns = number(note, END_NS);
	uint64_t until_ns = m->last_ns < end_ns ? m->last_ns : end_ns;
	uint64_t ns = until_ns > begin_ns ? until_ns - begin_ns : 0;
	if (m->n < 2)
		return;
	ns = share_of(note, ns);
	w->is_known = true;
	w->all_ns += ns;
	w->for_ns[m->last] += ns;
}

static void set_last(const struct meetings *m, json_t *row, const struct row_waits *w)
{
	size_t last = 0;
	for (size_t i = 1; i < json_array_size(m->processes); i++)
		if (w->for_ns[i] > w->for_ns[last])
			last = i;
	json_t *rank = json_object_get(json_array_get(m->processes, last), "rank");
	if (w->for_ns[last] && rank)
		json_object_set(row, "last_rank", rank);
}

static void set_wait(json_t *row, const struct row_waits *w, double steps)
{
	double wait_ms = (double)w->all_ns / 1e6 / steps;
	double gpu_ms = json_number_value(json_object_get(row, "gpu_ms_per_step"));
	double bus = json_number_value(json_object_get(row, "bus_gb_per_s"));
	json_object_set_new(row, "wait_ms_per_step", report_json_number(wait_ms, 1e-4));
	if (gpu_ms - wait_ms > gpu_ms / 1e4)
		json_object_set_new(row, "bus_gb_per_s_moving",
				    report_json_number(bus * gpu_ms / (gpu_ms - wait_ms), 1e-3));
}

static void fill_waits(struct meetings *m, json_t *process)
{
	const json_t *notes = json_object_get(process, NOTES);
	json_t *rows = json_object_get(process, "collectives");
	size_t n = json_array_size(rows), n_processes = json_array_size(m->processes);
	double steps = json_number_value(json_object_get(process, STEPS));
	struct row_waits *waits = mem_zero(n * sizeof(*waits));
	uint64_t *for_ns = mem_zero(n * n_processes * sizeof(*for_ns));
	for (size_t i = 0; i < n; i++)
		waits[i].for_ns = &for_ns[i * n_processes];
	for (size_t i = 0; i < json_array_size(notes); i++) {
		const json_t *note = json_array_get(notes, i);
		if (number(note, ROW) < n)
			add_wait(&waits[number(note, ROW)], meeting_of(m, note), note);
	}
	for (size_t i = 0; i < n; i++) {
		if (!waits[i].is_known)
			continue;
		set_wait(json_array_get(rows, i), &waits[i], steps > 0 ? steps : 1);
		set_last(m, json_array_get(rows, i), &waits[i]);
	}
	free(for_ns);
	free(waits);
}

json_t *report_meetings_join(json_t *processes)
{
	struct meetings m = { .processes = processes };
	json_t *shown = json_array();
	for (size_t i = 0; i < json_array_size(processes); i++)
		gather(&m, i);
	for (size_t i = 0; i < json_array_size(processes); i++) {
		json_t *p = json_array_get(processes, i);
		fill_waits(&m, p);
		json_t *copy = json_copy(p);
		json_object_del(copy, NOTES);
		json_object_del(copy, STEPS);
		json_array_append_new(shown, copy);
	}
	vec_free(&m.at);
	map_free(&m.place);
	json_decref(processes);
	return shown;
}
