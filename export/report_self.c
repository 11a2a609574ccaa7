/* See report_self.h. */
#include "export/report_self.h"

#include "export/report_json.h"

#include <math.h>

static void add_share(json_t *self, const char *pct, const char *ci, const double *middle_low_high)
{
	const double *x = middle_low_high;
	json_object_set_new(self, pct, x ? report_json_number(x[0], 0.01) : json_null());
	json_object_set_new(self, ci,
			    x ? json_pack("[o, o]", report_json_number(x[1], 0.01),
					  report_json_number(x[2], 0.01))
			      : json_null());
}

void report_self_cost(json_t *self, const struct cost_found *c)
{
	const double cost[] = { c->pct, c->low_pct, c->high_pct },
		     left[] = { c->left.pct, c->left.low_pct, c->left.high_pct };
	add_share(self, "overhead_pct", "overhead_ci", c->is_known ? cost : NULL);
	add_share(self, "left_pct", "left_ci", c->left.is_known ? left : NULL);
}

/* What a recorded step took longer, spread over its calls: all that recording brings with it, CUPTI's part too. */
static json_t *ns_per_call(const struct findings *f)
{
	const struct timeline *t = f->timeline;
	if (!f->cost.is_known || !t || !t->steps.n || !t->calls.n)
		return json_null();
	double calls_per_step = (double)t->calls.n / (double)t->steps.n;
	return report_json_number(f->cost.ms * 1e6 / calls_per_step, 1);
}

static double cupti_ms(const struct findings *f)
{
	const struct timeline *t = f->timeline;
	double sum_ns = 0;
	for (size_t i = 0; t && i < t->steps.n; i++)
		sum_ns += (double)t->steps.at[i].overhead_ns;
	return t && t->steps.n ? sum_ns / 1e6 / (double)t->steps.n : NAN;
}

static void add_cupti(json_t *self, const json_t *described, const struct findings *f)
{
	json_t *o = json_object();
	const json_t *from = json_object_get(described, "cupti");
	json_object_set(o, "state", json_object_get(from, "state"));
	json_object_set(o, "reason", json_object_get(from, "reason"));
	json_object_set_new(o, "own_ms_per_step", report_json_number(cupti_ms(f), 1e-4));
	json_object_set_new(self, "cupti", o);
}

/* Everything that was recorded and is not in the figures, by what became of it. */
static json_t *losses(const json_t *described)
{
	const json_t *from = json_object_get(described, "losses");
	return json_is_object(from) ? json_deep_copy(from) : json_object();
}

json_t *report_self(const json_t *described, const struct findings *f)
{
	json_t *self = json_object();
	const json_t *losses_of = json_object_get(described, "losses");
	json_object_set_new(self, "ns_per_call", ns_per_call(f));
	report_self_cost(self, &f->cost);
	json_object_set_new(self, "dropped",
			    json_integer(json_integer_value(json_object_get(losses_of, "dropped")) +
					 json_integer_value(json_object_get(losses_of, "dropped_by_"
										       "cupti"))));
	json_object_set_new(self, "losses", losses(described));
	add_cupti(self, described, f);
	return self;
}
