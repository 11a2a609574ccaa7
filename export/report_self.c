/* See report_self.h. */
#include "export/report_self.h"

#include "export/report_json.h"

#include <math.h>

/* Student's t for 95 %, by degrees of freedom; three armed steps have about two. */
static double student(double freedom)
{
	static const double by_freedom[] = { 12.706, 12.706, 4.303, 3.182, 2.776, 2.571,
					     2.447,  2.365,  2.306, 2.262, 2.228 };
	enum { LISTED = sizeof(by_freedom) / sizeof(*by_freedom) };
	if (freedom < LISTED)
		return by_freedom[(int)freedom];
	return 1.96 + 2.4 / freedom; /* within 0.02 from here on */
}

/* The steps of `all` that are not in `part`, from the moments of both. */
static struct finding_steps without(const struct finding_steps *all,
				    const struct finding_steps *part)
{
	struct finding_steps rest = { .n = all->n - part->n };
	double n = (double)rest.n, a = (double)all->n, p = (double)part->n;
	rest.mean = (a * all->mean - p * part->mean) / n;
	double squares = (a - 1) * all->std * all->std + a * all->mean * all->mean -
			 (p - 1) * part->std * part->std - p * part->mean * part->mean -
			 n * rest.mean * rest.mean;
	rest.std = squares > 0 ? sqrt(squares / (n - 1)) : 0;
	return rest;
}

struct self_overhead self_overhead_of(const struct finding_steps *all,
				      const struct finding_steps *armed)
{
	struct self_overhead o = { 0 };
	if (armed->n < 2 || all->n < armed->n + 2)
		return o;
	struct finding_steps rest = without(all, armed);
	if (!(rest.mean > 0))
		return o;
	double va = armed->std * armed->std / (double)armed->n,
	       vr = rest.std * rest.std / (double)rest.n, both = va + vr;
	double freedom = both > 0 ? both * both /
					    (va * va / (double)(armed->n - 1) +
					     vr * vr / (double)(rest.n - 1))
				  : 1e9;
	double half = student(freedom) * sqrt(both) / rest.mean * 100;
	o.is_known = true;
	o.pct = (armed->mean - rest.mean) / rest.mean * 100;
	o.low_pct = o.pct - half;
	o.high_pct = o.pct + half;
	return o;
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
	struct self_overhead o = self_overhead_of(&f->baseline, &f->armed);
	json_object_set_new(self, "ns_per_call", json_null()); /* nothing measures it in a run */
	json_object_set_new(self, "overhead_pct",
			    o.is_known ? report_json_number(o.pct, 0.01) : json_null());
	json_object_set_new(self, "overhead_ci",
			    o.is_known ? json_pack("[o, o]", report_json_number(o.low_pct, 0.01),
						   report_json_number(o.high_pct, 0.01))
				       : json_null());
	json_object_set_new(self, "dropped",
			    json_integer(json_integer_value(json_object_get(losses_of, "dropped")) +
					 json_integer_value(json_object_get(losses_of, "dropped_by_"
										       "cupti"))));
	json_object_set_new(self, "losses", losses(described));
	add_cupti(self, described, f);
	return self;
}
