/* Plays changes and returns their savings; adds evidence. */
#include "core/analysis/inner_line.h"
#include "core/verdict/judge_parts.h"

#include <math.h>
#include <stdarg.h>

static const double worth_share = 0.02, worth_least_ms = 0.05;

double judge_worth_ms_of(double step_ms)
{
	return fmax(worth_share * step_ms, fmin(worth_least_ms, judge_binds * step_ms));
}

double judge_worth_ms(const struct judge *j)
{
	return judge_worth_ms_of(j->step_ms);
}

double judge_gain_ms(struct judge *j, const struct whatif_change *changes, size_t n)
{
	struct whatif_result result;
	if (whatif_play(&j->w, changes, n, &result, NULL))
		return 0;
	return fmax(0, result.gain_ms);
}

double judge_typical_gain_ms(struct judge *j, const struct whatif_change *changes, size_t n)
{
	struct whatif_result result;
	if (whatif_play(&j->w, changes, n, &result, NULL))
		return 0;
	return fmax(0, result.typical_gain_ms);
}

double judge_line_gain_ms(struct judge *j, struct whatif_change wait,
			  const struct whatif_result *of_wait)
{
	struct whatif_result line;
	wait.kind = WHATIF_LINE;
	if (whatif_play(&j->w, &wait, 1, &line, NULL))
		return 0;
	return fmax(0, of_wait->is_of_mean ? line.mean_gain_ms : line.gain_ms);
}

bool judge_has_other_kind(const struct findings *f, size_t row)
{
	for (size_t i = 0; i < f->syncs.n; i++)
		if (f->syncs.at[i].site == f->syncs.at[row].site &&
		    inner_line_same(f->syncs.at[i].inner, f->syncs.at[row].inner) &&
		    f->syncs.at[i].kind != f->syncs.at[row].kind)
			return true;
	return false;
}

void judge_say(struct findings *f, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vec_reserve(&f->evidence, 1);
	vsnprintf(f->evidence.at[f->evidence.n++].text, EVIDENCE_BYTES, format, args);
	va_end(args);
}
