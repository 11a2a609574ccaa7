/* See step_file.h. */
#include "export/step_file.h"

#include "export/outfile.h"

/* For 2 M events, level 6 takes five times as long and makes the file a sixth smaller. */
enum { GZIP_LEVEL = 1 };

struct step_file {
	const struct exporter *x;
	void *state;
	struct outfile out; /* unless the format writes its files itself */
};

static void to_file(void *context, const void *bytes, size_t n)
{
	outfile_write(context, bytes, n);
}

int step_file_open(struct step_file **to, const struct exporter *x, const char *path, struct err *e)
{
	struct step_file *f = mem_zero(sizeof(*f));
	int error;
	f->x = x;
	if (x->open)
		error = x->open(&f->state, path, e);
	else
		error = outfile_open(&f->out, path, x->is_plain ? 0 : GZIP_LEVEL, e);
	if (error) {
		free(f);
		return error;
	}
	if (x->begin)
		f->state = x->begin(to_file, &f->out);
	*to = f;
	return 0;
}

void step_file_add(struct step_file *f, const struct analyzed_step *step)
{
	f->x->add(f->state, step);
}

int step_file_close(struct step_file *f, const char *path, struct err *e)
{
	int error;
	if (f->x->close) {
		error = f->x->close(f->state, path, e);
	} else {
		f->x->end(f->state);
		outfile_rename(&f->out, path);
		error = outfile_close(&f->out, e);
	}
	free(f);
	return error;
}

void step_file_abandon(struct step_file *f)
{
	struct err e;
	if (!f)
		return;
	if (f->x->close) {
		f->x->close(f->state, NULL, &e);
	} else {
		f->x->end(f->state);
		outfile_abandon(&f->out);
	}
	free(f);
}

int step_file_write(const struct exporter *x, const struct analyzed_step *step, const char *path,
		    struct err *e)
{
	struct step_file *f;
	if (x->write_step)
		return x->write_step(step, path, e);
	int error = step_file_open(&f, x, path, e);
	if (error)
		return error;
	step_file_add(f, step);
	return step_file_close(f, path, e);
}
