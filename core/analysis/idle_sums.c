/* See idle_sums.h. */
#include "core/analysis/idle_sums.h"

#include "core/analysis/idle.h"

void idle_sums_free(struct idle_sums *s)
{
	vec_free(&s->devices);
	vec_free(&s->steps);
	vec_free(&s->pieces);
	vec_free(&s->of_call);
	map_free(&s->place);
}

static struct idle_device *device_of(struct idle_sums *s, uint32_t device)
{
	for (size_t i = 0; i < s->devices.n; i++)
		if (s->devices.at[i].device == device)
			return &s->devices.at[i];
	vec_push(&s->devices, (struct idle_device){ .device = device });
	return &s->devices.at[s->devices.n - 1];
}

static void add_piece(struct idle_sums *s, const struct idle_span *span)
{
	bool is_new;
	/* sites are numbered from 1, and there are far fewer than 2^24 */
	uint64_t key = (uint64_t)span->site << 40 | (uint64_t)span->before_site << 16 |
		       (uint64_t)(span->device & 0xff) << 8 | span->cause;
	uint64_t *at = map_at(&s->place, key, &is_new);
	if (is_new) {
		*at = s->pieces.n;
		vec_push(&s->pieces, (struct idle_piece){ .cause = span->cause,
							  .device = span->device,
							  .site = span->site,
							  .before_site = span->before_site });
	}
	s->pieces.at[*at].ns += span->end_ns - span->begin_ns;
}

static void add_device(struct idle_sums *s, const struct idle_step *step,
		       const struct idle_device *d, uint32_t number)
{
	struct idle_device *sum = device_of(s, d->device);
	struct finding_gpu_step row = { .device = d->device,
					.step = number,
					.busy_ns = d->busy_ns };
	sum->busy_ns += d->busy_ns;
	sum->idle_ns += d->idle_ns;
	sum->span_ns += d->span_ns;
	sum->before_ns += d->before_ns;
	for (size_t i = 0; i < step->spans.n; i++) {
		const struct idle_span *span = &step->spans.at[i];
		if (span->device == d->device && span->cause < IDLE_CAUSES_N)
			row.idle_ns[span->cause] += span->end_ns - span->begin_ns;
	}
	vec_push(&s->steps, row);
}

void idle_sums_add(struct idle_sums *s, const struct idle_step *step, uint32_t number,
		   size_t n_calls)
{
	while (s->of_call.n < n_calls)
		vec_push(&s->of_call, 0);
	for (size_t i = 0; i < step->spans.n; i++)
		add_piece(s, &step->spans.at[i]);
	for (size_t i = 0; i < step->devices.n; i++)
		add_device(s, step, &step->devices.at[i], number);
	for (size_t i = 0; i < step->waits.n; i++)
		s->of_call.at[step->waits.at[i].call] += step->waits.at[i].ns;
}

const struct idle_device *idle_sums_find_wrong(const struct idle_sums *s)
{
	for (size_t i = 0; i < s->devices.n; i++) {
		const struct idle_device *d = &s->devices.at[i];
		uint64_t sum_ns = 0;
		for (size_t k = 0; k < s->pieces.n; k++)
			if (s->pieces.at[k].device == d->device)
				sum_ns += s->pieces.at[k].ns;
		if (sum_ns != d->idle_ns || d->busy_ns + d->idle_ns != d->span_ns)
			return d;
	}
	return NULL;
}
