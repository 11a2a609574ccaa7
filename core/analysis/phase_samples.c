/* See phase_samples.h. */
#include "core/analysis/phase_samples.h"

#include "core/symbols/line_flow.h"
#include "core/symbols/stack_about.h"

#include <ctype.h>
#include <string.h>

/* Returns the statement after the condition of `if rank: clean()`, else the text itself. */
static const char *after_condition(const char *text)
{
	int depth = 0;
	if (strncmp(text, "if ", 3) != 0 && strncmp(text, "elif ", 5) != 0)
		return text;
	for (const char *at = text; *at; at++) {
		depth += (*at == '(' || *at == '[' || *at == '{') -
			 (*at == ')' || *at == ']' || *at == '}');
		if (*at == ':' && !depth)
			return at + 1 + strspn(at + 1, " \t");
	}
	return text;
}

/* Returns whether the line is a statement that only calls a function: whatever the function
 * returns is not used. */
static bool is_plain_call(const char *text)
{
	const char *at = text = after_condition(text);
	int depth = 0;
	while (isalnum((unsigned char)*at) || *at == '_' || *at == '.')
		at++;
	if (at == text || *at != '(')
		return false;
	for (; *at; at++) {
		depth += (*at == '(') - (*at == ')');
		if (!depth)
			break;
	}
	/* a call that goes on in the next line, or is a part of an expression, may be used */
	at += *at == ')';
	at += strspn(at, " \t;");
	return !depth && (!*at || *at == '#');
}

/*
 * Returns whether user code that runs before a call cannot be what prepares it. In the function
 * that calls both, it is on a line after the call, so that it belongs to the iteration before, or
 * its line only calls a function.
 */
static bool is_apart(struct frames *f, uint32_t stack, uint32_t next)
{
	if (!next)
		return false;
	struct phase_parting p = phase_rules_parting(f, stack, next);
	if (!phase_rules_differ_by_line(&p))
		return false;
	return p.at->line > p.other->line ||
	       is_plain_call(frames_source(f, p.at->file, p.at->line));
}

/*
 * Returns whether user code that runs before the copy `next` of a batch makes that batch: it runs
 * within the statement that copies, or its result is used there.
 */
static bool makes_batch(struct frames *f, uint32_t stack, uint32_t next)
{
	if (!next)
		return false;
	struct phase_parting p = phase_rules_parting(f, stack, next);
	if (phase_rules_differ_by_line(&p))
		return line_flow_reaches(f, p.at->file, p.at->line, p.other->line);
	return p.shared && !p.shared->is_library;
}

static bool is_input(struct frames *f, uint32_t stack, uint32_t next)
{
	return stack_about(f, stack) & (ABOUT_INPUT | ABOUT_FETCH) || makes_batch(f, stack, next);
}

uint8_t phase_samples_part(struct frames *f, const struct phase_stack *found, uint32_t stack,
			   uint8_t usual, uint32_t next)
{
	enum phase phase = phase_of_part(usual);
	if (found->part != PART_NONE && found->part != PART_USER)
		return phase_of_part(found->part) == phase && phase != PHASE_OTHER ? usual
										   : found->part;
	switch (phase) {
	case PHASE_DATA:
		return is_input(f, stack, next) ? usual : PART_NONE;
	case PHASE_FORWARD:
		return is_apart(f, stack, next) ? PART_NONE : usual;
	case PHASE_BACKWARD: /* user code before backward() is called usually computes the loss */
		return PART_FUNCTIONAL;
	case PHASE_OPTIMIZER:
		return PART_NONE;
	default:
		return usual;
	}
}
