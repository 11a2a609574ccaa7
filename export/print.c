/* See print.h. */
#include "export/print.h"

#include "core/util/text.h"
#include "core/util/vec.h"
#include "export/json_text.h"
#include "export/work_progress.h"

#include <stdarg.h>
#include <stdbool.h>

/* Formats and cleans a text of any length. Returns how many bytes were printed. */
__attribute__((format(printf, 2, 0))) static int print(FILE *to, const char *format, va_list args)
{
	enum { SLACK = 16 }; /* text_clean() leaves some bytes of its buffer unused */
	va_list again;
	size_t n = strlen(format);
	bool begins = n > 1 && format[0] == '\n', ends = n && format[n - 1] == '\n';
	va_copy(again, args);
	int length = vsnprintf(NULL, 0, format, again);
	va_end(again);
	if (length < 0)
		return 0;
	char *text = mem_resize(NULL, (size_t)length + 1),
	     *clean = mem_resize(NULL, (size_t)length + SLACK);
	vsnprintf(text, (size_t)length + 1, format, args);
	if (ends)
		text[length - 1] = 0;
	text_clean(clean, (size_t)length + SLACK, text + begins);
	work_progress_hold();
	int printed = fprintf(to, "%s%s%s", begins ? "\n" : "", clean, ends ? "\n" : "");
	work_progress_release();
	free(text);
	free(clean);
	return printed > 0 ? printed : 0;
}

void print_out(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	print(stdout, format, args);
	va_end(args);
}

int print_err(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	int printed = print(stderr, format, args);
	va_end(args);
	return printed;
}

void print_lines(FILE *to, const char *lines)
{
	fputs(lines, to);
}

static void print_digits(const json_t *root, size_t digits)
{
	char *text = json_text(root, JSON_INDENT(1) | JSON_REAL_PRECISION(digits));
	if (text)
		puts(text);
	free(text);
}

void print_json(const json_t *root)
{
	print_digits(root, 9);
}

void print_json_exact(const json_t *root)
{
	print_digits(root, 17);
}
