/* See perfetto_stacks.h. */
#include "export/perfetto_stacks.h"

#include "export/stack_lines.h"

enum { TEXT_BYTES = 8192 }; /* deeper stacks lose their outermost lines */

void perfetto_stacks_free(struct perfetto_stacks *s)
{
	map_free(&s->index_of);
	map_free(&s->line_of);
	map_free(&s->place_of);
	vec_free(&s->at);
}

static uint32_t word_of(struct perfetto_writer *w, const char *text)
{
	return *text ? perfetto_word(w, text) : 0;
}

/* Looked up by the frames' pointers, which stay: putting a frame into words takes a microsecond, and stacks share frames. */
static const char *line_text(struct perfetto_stacks *s, struct perfetto_writer *w,
			     const struct frame_list *list, const struct stack_line *line)
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
		*word = perfetto_word(w, text);
	}
	return perfetto_word_text(w, (uint32_t)*word);
}

/* Innermost first, as a debugger shows it. */
static uint32_t stack_text(struct perfetto_stacks *s, struct perfetto_writer *w,
			   const struct frame_list *list)
{
	struct stack_line *lines = mem_resize(NULL, list->n * sizeof(*lines));
	char text[TEXT_BYTES] = "";
	size_t n = stack_lines(list, lines), used = 0;
	for (size_t i = 0; i < n; i++) {
		const char *line = line_text(s, w, list, &lines[i]);
		size_t length = strlen(line);
		if (used + length + 2 > TEXT_BYTES)
			break;
		if (used)
			text[used++] = '\n';
		memcpy(text + used, line, length + 1);
		used += length;
	}
	free(lines);
	return word_of(w, text);
}

uint32_t perfetto_line_of_site(struct perfetto_stacks *s, struct perfetto_writer *w,
			       uint32_t number)
{
	const struct site *site = frames_site_at(s->frames, number);
	bool is_new;
	uint64_t *word = map_at(&s->place_of, number, &is_new);
	if (is_new) {
		char place[STACK_LINE_BYTES];
		stack_place_text(site->file, site->line, place);
		*word = word_of(w, place);
	}
	return (uint32_t)*word;
}

static struct perfetto_stack describe(struct perfetto_stacks *s, struct perfetto_writer *w,
				      uint32_t stack)
{
	struct perfetto_stack to = { 0 };
	struct frame_list list = frames_of(s->frames, stack);
	if (!list.n)
		return to;
	const struct site *site = frames_site_at(s->frames, frames_site(s->frames, stack));
	to.word[STACK_WORD_LINE] = perfetto_line_of_site(s, w, frames_site(s->frames, stack));
	to.word[STACK_WORD_FUNCTION] = word_of(w, site->function);
	to.word[STACK_WORD_OPERATOR] = word_of(w, frames_operator(s->frames, stack, false));
	to.word[STACK_WORD_STACK] = stack_text(s, w, &list);
	return to;
}

struct perfetto_stack *perfetto_stack(struct perfetto_stacks *s, struct perfetto_writer *w,
				      uint32_t stack)
{
	static struct perfetto_stack nothing;
	bool is_new;
	if (!stack || !s->frames)
		return &nothing;
	uint64_t *index = map_at(&s->index_of, stack, &is_new);
	if (is_new) {
		struct perfetto_stack fresh = describe(s, w, stack);
		*index = s->at.n;
		vec_push(&s->at, fresh);
	}
	return &s->at.at[*index];
}

uint32_t perfetto_line_of_call(struct perfetto_stacks *s, struct perfetto_writer *w,
			       const struct model_call *c, uint32_t forward_site)
{
	uint32_t line = perfetto_stack(s, w, c->stack)->word[STACK_WORD_LINE];
	return line || !forward_site ? line : perfetto_line_of_site(s, w, forward_site);
}

void perfetto_stack_define(struct perfetto_writer *w, struct perfetto_stack *stack)
{
	if (stack->sequence == w->sequence)
		return;
	stack->sequence = w->sequence;
	for (int i = 0; i < STACK_WORDS; i++)
		if (stack->word[i])
			perfetto_arg_text(w, stack->word[i]);
}

void perfetto_stack_write(struct pb *b, const struct perfetto_stack *stack)
{
	static const uint8_t args[STACK_WORDS] = {
		[STACK_WORD_LINE] = PERFETTO_ARG_LINE,
		[STACK_WORD_FUNCTION] = PERFETTO_ARG_FUNCTION,
		[STACK_WORD_OPERATOR] = PERFETTO_ARG_OPERATOR,
		[STACK_WORD_STACK] = PERFETTO_ARG_STACK,
	};
	for (int i = 0; i < STACK_WORDS; i++)
		if (stack->word[i])
			perfetto_arg_interned(b, args[i], stack->word[i] + 1);
}
