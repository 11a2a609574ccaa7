/* See trace_stacks.h. */
#include "export/trace_stacks.h"

#include "export/stack_lines.h"

enum { TEXT_BYTES = 8192 }; /* the text of a deeper stack loses its outermost lines */

void trace_stacks_free(struct trace_stacks *s)
{
	map_free(&s->index_of);
	map_free(&s->line_of);
	map_free(&s->place_of);
	map_free(&s->code_of);
	vec_free(&s->at);
}

static uint32_t word_of(struct trace_stacks *s, const char *text)
{
	return *text ? trace_word(s->words, text) : 0;
}

/* Returns the text of a line. Caches texts by the pointers of their frames, which do not change:
 * making a text takes a microsecond, and many stacks share frames. */
static const char *line_text(struct trace_stacks *s, const struct frame_list *list,
			     const struct stack_line *line)
{
	uint64_t key = 0;
	bool is_new;
	for (size_t i = 0; i < line->n; i++)
		key = (key * 31 + (uint64_t)(uintptr_t)list->at[line->first + i]) *
		      0x9e3779b97f4a7c15ull;
	uint64_t *word = map_at(&s->line_of, key, &is_new);
	if (is_new) {
		char text[STACK_LINE_BYTES];
		stack_line_text(list, line, text);
		*word = trace_word(s->words, text);
	}
	return trace_word_text(s->words, (uint32_t)*word);
}

/*
 * Returns the word for the whole stack as text. The innermost line comes first, as in a debugger.
 */
static uint32_t stack_text(struct trace_stacks *s, const struct frame_list *list)
{
	struct stack_line *lines = mem_resize(NULL, list->n * sizeof(*lines));
	char text[TEXT_BYTES] = "";
	size_t n = stack_lines(list, lines), used = 0;
	for (size_t i = 0; i < n; i++) {
		const char *line = line_text(s, list, &lines[i]);
		size_t length = strlen(line);
		if (used + length + 2 > TEXT_BYTES)
			break;
		if (used)
			text[used++] = '\n';
		memcpy(text + used, line, length + 1);
		used += length;
	}
	free(lines);
	return word_of(s, text);
}

uint32_t trace_line_of_site(struct trace_stacks *s, uint32_t number)
{
	const struct site *site = frames_site_at(s->frames, number);
	bool is_new;
	uint64_t *word = map_at(&s->place_of, number, &is_new);
	if (is_new) {
		char place[STACK_LINE_BYTES];
		stack_place_text(site->file, site->line, place);
		*word = word_of(s, place);
	}
	return (uint32_t)*word;
}

uint32_t trace_code_of_site(struct trace_stacks *s, uint32_t number)
{
	const struct site *site = frames_site_at(s->frames, number);
	const char *place = trace_word_text(s->words, trace_line_of_site(s, number));
	bool is_new;
	uint64_t *word = map_at(&s->code_of, number, &is_new);
	if (is_new) {
		char text[2 * STACK_LINE_BYTES];
		snprintf(text, sizeof(text), "%s%s%s", place, *place ? " " : "", site->function);
		*word = word_of(s, text);
	}
	return (uint32_t)*word;
}

static struct trace_stack describe(struct trace_stacks *s, uint32_t stack)
{
	struct trace_stack to = { 0 };
	struct frame_list list = frames_of(s->frames, stack);
	if (!list.n)
		return to;
	const struct site *site = frames_site_at(s->frames, frames_site(s->frames, stack));
	to.word[STACK_WORD_LINE] = trace_line_of_site(s, frames_site(s->frames, stack));
	to.word[STACK_WORD_FUNCTION] = word_of(s, site->function);
	to.word[STACK_WORD_OPERATOR] = word_of(s, frames_operator(s->frames, stack, false));
	to.word[STACK_WORD_STACK] = stack_text(s, &list);
	return to;
}

const struct trace_stack *trace_stack(struct trace_stacks *s, uint32_t stack)
{
	static const struct trace_stack nothing;
	bool is_new;
	if (!stack || !s->frames)
		return &nothing;
	uint64_t *index = map_at(&s->index_of, stack, &is_new);
	if (is_new) {
		struct trace_stack fresh = describe(s, stack);
		*index = s->at.n;
		vec_push(&s->at, fresh);
	}
	return &s->at.at[*index];
}

uint32_t trace_line_of_call(struct trace_stacks *s, const struct model_call *c,
			    uint32_t forward_site)
{
	uint32_t line = trace_stack(s, c->stack)->word[STACK_WORD_LINE];
	return line || !forward_site ? line : trace_line_of_site(s, forward_site);
}
