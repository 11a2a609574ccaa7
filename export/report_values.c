/* Numbers and texts in the JSON of reports and run.json. */
#include "export/report_json.h"

#include <math.h>

json_t *report_json_number(double value, double unit)
{
	/* 0 is added because the sum of -0 and 0 is 0 */
	return isfinite(value) ? json_real(round(value / unit) * unit + 0) : json_null();
}

json_t *report_json_text(const char *text)
{
	json_t *as_it_is = json_string(text);
	if (as_it_is)
		return as_it_is;
	char *plain = mem_text(text);
	for (char *c = plain; *c; c++)
		if ((unsigned char)*c >= 0x80)
			*c = '?';
	json_t *cleaned = json_string(plain);
	free(plain);
	return cleaned;
}
