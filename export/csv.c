/*
 * Writes the steps of a window as tables: kernels, calls, lines and others (docs/tables.md).
 * The files are CSV as in RFC 4180: fields with commas, quotes or line ends are in quotes, and
 * lines end with CR LF. Times are ns since the begin of the first step.
 */
#include "core/symbols/frames.h"
#include "core/whatif/critical_spans.h"
#include "export/exporter.h"
#include "export/outfile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

/* X(id, name, header) */
#define CSV_TABLES(X)                                                                             \
	X(KERNELS, "kernels",                                                                     \
	  "step,kind,name,begin_ns,duration_ns,device,context,stream,correlation,bytes,"          \
	  "grid_x,grid_y,grid_z,block_x,block_y,block_z,registers_per_thread,"                    \
	  "static_shared_bytes,dynamic_shared_bytes,graph_node,file,line,function,operator")      \
	X(CALLS, "calls",                                                                         \
	  "step,thread_id,name,category,begin_ns,duration_ns,correlation,status,bytes,file,line," \
	  "function,operator")                                                                    \
	X(STEPS, "steps",                                                                         \
	  "step,begin_ns,duration_ns,calls,launches,kernels,copies,memsets,gpu_work_ns")          \
	X(LINES, "lines", "step,file,line,function,calls,launches,calls_ns,gpu_work_ns")          \
	X(OPERATORS, "operators", "step,name,count,host_ns,gpu_work_ns,self_gpu_work_ns")         \
	X(CRITICAL, "critical_path", "step,kind,name,begin_ns,duration_ns,count,file,line,function")

enum {
#define X(id, name, header) TABLE_##id,
	CSV_TABLES(X)
#undef X
		TABLES
};

enum { BUFFER_BYTES = 1 << 16 };

/* Sums by line or by operator. */
struct sums {
	uint64_t n, n_launches, host_ns, gpu_ns, self_gpu_ns;
};

struct csv {
	struct outfile out[TABLES];
	VEC(char) text; /* of the current table and not yet written */
	int table;
	bool is_first; /* the next field is the first of its row */
	uint64_t origin_ns, correlation;
	bool has_origin;
	const struct analyzed_step *step;
	const struct model_step *m;
};

/* ---- Fields ---- */

static void append(struct csv *c, const char *text, size_t n)
{
	vec_reserve(&c->text, n);
	memcpy(c->text.at + c->text.n, text, n);
	c->text.n += n;
}

static void flush(struct csv *c)
{
	outfile_write(&c->out[c->table], c->text.at, c->text.n);
	c->text.n = 0;
}

static void use_table(struct csv *c, int table)
{
	flush(c);
	c->table = table;
	c->is_first = true;
}

static void separate(struct csv *c)
{
	if (!c->is_first)
		append(c, ",", 1);
	c->is_first = false;
}

static void put_text(struct csv *c, const char *text)
{
	separate(c);
	if (!strpbrk(text, ",\"\r\n")) {
		append(c, text, strlen(text));
		return;
	}
	append(c, "\"", 1);
	for (; *text; text++)
		append(c, *text == '"' ? "\"\"" : text, *text == '"' ? 2 : 1);
	append(c, "\"", 1);
}

static void put_uint(struct csv *c, uint64_t value)
{
	char text[24];
	int n = snprintf(text, sizeof(text), "%" PRIu64, value);
	separate(c);
	append(c, text, (size_t)n);
}

static void end_row(struct csv *c)
{
	append(c, "\r\n", 2);
	c->is_first = true;
	if (c->text.n > BUFFER_BYTES)
		flush(c);
}

static void put_span(struct csv *c, uint64_t begin_ns, uint64_t end_ns)
{
	put_uint(c, begin_ns > c->origin_ns ? begin_ns - c->origin_ns : 0);
	put_uint(c, end_ns > begin_ns ? end_ns - begin_ns : 0);
}

/* ---- Code ---- */

/* Returns the site of a call; if no line is known for it, `other`. 0: unknown. */
static uint32_t site_or(const struct csv *c, uint32_t stack, uint32_t other)
{
	uint32_t site = c->m->frames ? frames_site(c->m->frames, stack) : 0;
	bool has_line = site && frames_site_at(c->m->frames, site)->line;
	return has_line || !other ? site : other;
}

static uint32_t site_of_call(const struct csv *c, size_t i)
{
	return site_or(c, c->m->calls.at[i].stack, c->step->tied[i].site);
}

/* The code of a graph's work is that of the call that was captured. */
static uint32_t site_of_work(const struct csv *c, const struct model_work *w)
{
	uint32_t origin = model_work_origin(c->m, w);
	if (origin != MODEL_NO_CALL)
		return site_or(c, c->m->captured.at[origin].stack,
			       c->step->captured[origin].forward_site);
	return w->call < c->m->calls.n ? site_of_call(c, w->call) : 0;
}

static void put_site(struct csv *c, uint32_t site)
{
	static const struct site unknown = { .file = "", .function = "" };
	const struct site *s = site ? frames_site_at(c->m->frames, site) : &unknown;
	put_text(c, s->file);
	if (s->line)
		put_uint(c, s->line);
	else
		put_text(c, "");
	put_text(c, s->function);
}

static void put_operator(struct csv *c, uint32_t stack)
{
	put_text(c, c->m->frames ? frames_operator(c->m->frames, stack, false) : "");
}

/* ---- Kernels and calls ---- */

static void put_kernel(struct csv *c, const struct model_work *w)
{
	static const struct run_kernel none;
	const struct run_kernel *k = w->kernel ? &c->m->tables->kernels.at[w->kernel - 1] : &none;
	for (int i = 0; i < 3; i++)
		put_uint(c, w->grid[i]);
	for (int i = 0; i < 3; i++)
		put_uint(c, k->block[i]);
	put_uint(c, k->registers);
	put_uint(c, k->static_shared_bytes);
	put_uint(c, k->dynamic_shared_bytes);
}

static void put_work(struct csv *c, size_t i)
{
	static const char *const kinds[WORK_KINDS] = { "kernel", "memcpy", "memset", "" };
	const struct model_work *w = &c->m->works.at[i];
	put_uint(c, c->m->number);
	put_text(c, kinds[w->kind]);
	put_text(c, strtab_text(&c->m->tables->names, w->name));
	put_span(c, w->begin_ns, w->end_ns);
	put_uint(c, w->device);
	put_uint(c, w->context);
	put_uint(c, w->stream);
	put_uint(c, c->correlation + (w->call < c->m->calls.n ? w->call : c->m->calls.n + i));
	put_uint(c, w->bytes);
	put_kernel(c, w);
	put_uint(c, w->node);
	put_site(c, site_of_work(c, w));
	put_operator(c, model_work_stack(c->m, w));
	end_row(c);
}

static void write_kernels(struct csv *c)
{
	use_table(c, TABLE_KERNELS);
	for (size_t i = 0; i < c->m->works.n; i++)
		if (c->m->works.at[i].kind != WORK_SYNC)
			put_work(c, i);
}

static void put_call(struct csv *c, size_t i, uint32_t tid)
{
	const struct model_call *call = &c->m->calls.at[i];
	put_uint(c, c->m->number);
	put_uint(c, tid);
	put_text(c, strtab_text(&c->m->tables->names, call->name));
	put_text(c, category_name(call->category));
	put_span(c, call->begin_ns, call->end_ns);
	put_uint(c, c->correlation + i);
	put_uint(c, call->status);
	put_uint(c, call->bytes);
	put_site(c, site_of_call(c, i));
	put_operator(c, call->stack);
	end_row(c);
}

static void write_calls(struct csv *c)
{
	use_table(c, TABLE_CALLS);
	for (size_t i = 0; i < c->m->threads.n; i++) {
		const struct model_thread *t = &c->m->threads.at[i];
		for (size_t k = 0; k < t->n; k++)
			put_call(c, t->first + k, t->tid);
	}
}

/* ---- Steps ---- */

static void write_step(struct csv *c)
{
	const struct model_step *m = c->m;
	uint64_t n_launches = 0, n_works[WORK_KINDS] = { 0 }, gpu_ns = 0;
	for (size_t i = 0; i < m->calls.n; i++)
		n_launches += category_is_launch(m->calls.at[i].category);
	for (size_t i = 0; i < m->works.n; i++) {
		const struct model_work *w = &m->works.at[i];
		n_works[w->kind]++;
		gpu_ns += w->kind == WORK_SYNC ? 0 : w->end_ns - w->begin_ns;
	}
	use_table(c, TABLE_STEPS);
	put_uint(c, m->number);
	put_span(c, m->begin_ns, m->end_ns);
	put_uint(c, m->calls.n);
	put_uint(c, n_launches);
	put_uint(c, n_works[WORK_KERNEL]);
	put_uint(c, n_works[WORK_MEMCPY]);
	put_uint(c, n_works[WORK_MEMSET]);
	put_uint(c, gpu_ns);
	end_row(c);
}

/* ---- Lines ---- */

typedef VEC(struct sums) site_sums; /* by site */

static struct sums *sums_of_site(site_sums *lines, uint32_t site)
{
	while (lines->n <= site)
		vec_push(lines, (struct sums){ 0 });
	return &lines->at[site];
}

static void write_lines(struct csv *c)
{
	const struct model_step *m = c->m;
	site_sums lines = { 0 };
	for (size_t i = 0; i < m->calls.n; i++) {
		struct sums *s = sums_of_site(&lines, site_of_call(c, i));
		s->n++;
		s->n_launches += category_is_launch(m->calls.at[i].category);
		s->host_ns += m->calls.at[i].end_ns - m->calls.at[i].begin_ns;
	}
	for (size_t i = 0; i < m->works.n; i++) {
		const struct model_work *w = &m->works.at[i];
		if (w->kind != WORK_SYNC)
			sums_of_site(&lines, site_of_work(c, w))->gpu_ns += w->end_ns - w->begin_ns;
	}
	use_table(c, TABLE_LINES);
	for (uint32_t site = 0; site < lines.n; site++) {
		const struct sums *s = &lines.at[site];
		if (!s->n && !s->gpu_ns)
			continue;
		put_uint(c, m->number);
		put_site(c, site);
		put_uint(c, s->n);
		put_uint(c, s->n_launches);
		put_uint(c, s->host_ns);
		put_uint(c, s->gpu_ns);
		end_row(c);
	}
	vec_free(&lines);
}

/* ---- Operators ---- */

struct operators {
	struct strtab names;
	VEC(struct sums) at; /* by id of `names` */
	uint64_t *gpu_ns;    /* by call: of the work that it launched */
};

static void find_gpu_ns(struct operators *o, const struct model_step *m)
{
	o->gpu_ns = mem_zero(m->calls.n * sizeof(*o->gpu_ns));
	for (size_t i = 0; i < m->works.n; i++) {
		const struct model_work *w = &m->works.at[i];
		if (w->kind != WORK_SYNC && w->call < m->calls.n)
			o->gpu_ns[w->call] += w->end_ns - w->begin_ns;
	}
}

static uint64_t gpu_ns_of(const struct operators *o, const struct span *s)
{
	uint64_t ns = 0;
	for (uint32_t i = 0; i < s->n_calls; i++)
		ns += o->gpu_ns[s->first_call + i];
	return ns;
}

static struct sums *sums_of(struct operators *o, const char *name)
{
	uint32_t id = strtab_intern(&o->names, name);
	vec_at_id(&o->at, id);
	return &o->at.at[id];
}

/* Adds the operators of a thread. An operator within another call of the same one counts only as a
 * call. */
static void add_operators(struct operators *o, const struct span_list *l)
{
	VEC(const struct span *) around = { 0 };
	for (size_t i = 0; i < l->at.n; i++) {
		const struct span *s = &l->at.at[i];
		bool is_nested = false;
		if (s->kind != SPAN_OPERATOR)
			continue;
		while (around.n && !spans_is_within(s, around.at[around.n - 1]))
			around.n--;
		for (size_t k = 0; k < around.n; k++)
			is_nested |= !strcmp(around.at[k]->operator, s->operator);
		uint64_t gpu_ns = gpu_ns_of(o, s);
		struct sums *to = sums_of(o, s->operator);
		to->n++;
		to->host_ns += is_nested ? 0 : s->end_ns - s->begin_ns;
		to->gpu_ns += is_nested ? 0 : gpu_ns;
		to->self_gpu_ns += gpu_ns;
		if (around.n)
			sums_of(o, around.at[around.n - 1]->operator)->self_gpu_ns -= gpu_ns;
		vec_push(&around, s);
	}
	vec_free(&around);
}

static void write_operators(struct csv *c)
{
	struct operators o = { .gpu_ns = NULL };
	find_gpu_ns(&o, c->m);
	for (size_t i = 0; i < c->m->threads.n; i++)
		add_operators(&o, &c->step->threads[i].spans);
	use_table(c, TABLE_OPERATORS);
	for (uint32_t i = 0; i < o.at.n; i++) {
		const struct sums *s = &o.at.at[i];
		if (!s->n)
			continue;
		put_uint(c, c->m->number);
		put_text(c, strtab_text(&o.names, i));
		put_uint(c, s->n);
		put_uint(c, s->host_ns);
		put_uint(c, s->gpu_ns);
		put_uint(c, s->self_gpu_ns);
		end_row(c);
	}
	strtab_free(&o.names);
	vec_free(&o.at);
	free(o.gpu_ns);
}

/* ---- The critical path ---- */

static void put_critical(struct csv *c, const struct critical_span *s)
{
	put_uint(c, c->m->number);
	put_text(c, critical_kinds[s->kind].name);
	put_text(c, s->name ? strtab_text(&c->m->tables->names, s->name) : "");
	put_span(c, s->begin_ns, s->end_ns);
	put_uint(c, s->count);
	put_site(c, s->site);
	end_row(c);
}

static void write_critical(struct csv *c)
{
	const struct critical_spans *path = c->step->critical;
	use_table(c, TABLE_CRITICAL);
	for (size_t i = 0; path && i < path->at.n; i++)
		put_critical(c, &path->at.at[i]);
}

/* ---- The files ---- */

static const char *const suffixes[] = {
#define X(id, name, header) "." name ".csv",
	CSV_TABLES(X)
#undef X
		NULL
};

/* Writes the path of a table. `path` ends with the format's suffix. */
static void table_path(const char *path, int table, char *to, size_t bytes)
{
	static const char suffix[] = ".csv";
	snprintf(to, bytes, "%.*s%s", (int)(strlen(path) - (sizeof(suffix) - 1)), path,
		 suffixes[table]);
}

static int open_files(void **file, const char *path, struct err *e)
{
	static const char *const headers[TABLES] = {
#define X(id, name, header) header "\r\n",
		CSV_TABLES(X)
#undef X
	};
	struct csv *c = mem_zero(sizeof(*c));
	char name[PATH_MAX];
	c->correlation = 1;
	for (int i = 0; i < TABLES; i++) {
		table_path(path, i, name, sizeof(name));
		int error = outfile_open(&c->out[i], name, 0, e);
		if (error) {
			while (i--)
				outfile_abandon(&c->out[i]);
			free(c);
			return error;
		}
		outfile_write(&c->out[i], headers[i], strlen(headers[i]));
	}
	*file = c;
	return 0;
}

static void add(void *file, const struct analyzed_step *step)
{
	struct csv *c = file;
	c->step = step;
	c->m = step->model;
	if (!c->has_origin)
		c->origin_ns = c->m->begin_ns;
	c->has_origin = true;
	write_kernels(c);
	write_calls(c);
	write_step(c);
	write_lines(c);
	write_operators(c);
	write_critical(c);
	c->correlation += c->m->calls.n + c->m->works.n;
}

static int close_files(void *file, const char *path, struct err *e)
{
	struct csv *c = file;
	char name[PATH_MAX];
	int error = 0;
	flush(c);
	for (int i = 0; i < TABLES; i++) {
		if (path)
			table_path(path, i, name, sizeof(name));
		error = outfile_finish(&c->out[i], path ? name : NULL, error, e);
	}
	vec_free(&c->text);
	free(c);
	return error;
}

const struct exporter exporter_csv = {
	.name = "csv",
	.folder = "csv",
	.suffix = ".csv",
	.noun = "table",
	.viewer = "a spreadsheet or pandas",
	.has_windows = true,
	.suffixes = suffixes,
	.open = open_files,
	.add = add,
	.close = close_files,
};
