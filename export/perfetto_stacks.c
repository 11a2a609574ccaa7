/* See perfetto_stacks.h. Perfetto shows callstacks of its own form since v53; the text is there for what is older, and for SQL. */
#include "export/perfetto_stacks.h"

#include "export/stack_lines.h"

enum { TEXT_BYTES = 8192 }; /* deeper stacks lose their outermost lines, in the text alone */

void perfetto_stacks_free(struct perfetto_stacks *s)
{
	map_free(&s->index_of);
	map_free(&s->number_of);
	vec_free(&s->at);
	vec_free(&s->known);
	vec_free(&s->frame_numbers);
}

static uint32_t word_of(struct perfetto_writer *w, const char *text)
{
	return *text ? perfetto_word(w, text) : 0;
}

static void add_frame(struct perfetto_stacks *s, struct perfetto_writer *w,
		      const struct frame_list *list, const struct stack_line *line)
{
	char text[STACK_LINE_BYTES];
	const struct frame *f = list->at[line->first];
	stack_line_text(list, line, text);
	struct perfetto_known_frame known = { .text = word_of(w, text) };
	known.frame.function = known.text;
	if (line->n == 1)
		known.frame = (struct perfetto_frame){
			.function = word_of(w, f->function),
			.source = word_of(w, *f->file ? f->file : f->module),
			.line = *f->file ? f->line : 0,
		};
	vec_push(&s->known, known);
}

/* By the frames' pointers, which stay: a run's key is as good as unlike any other. */
static uint32_t frame_number(struct perfetto_stacks *s, struct perfetto_writer *w,
			     const struct frame_list *list, const struct stack_line *line)
{
	uint64_t key = 0;
	bool is_new;
	for (size_t i = 0; i < line->n; i++)
		key = (key * 31 + (uint64_t)(uintptr_t)list->at[line->first + i]) *
		      0x9e3779b97f4a7c15ull;
	uint64_t *number = map_at(&s->number_of, key, &is_new);
	if (is_new) {
		add_frame(s, w, list, line);
		*number = s->known.n;
	}
	return (uint32_t)*number;
}

/* Innermost first for the text, as a debugger shows it; the callstack wants it the other way round. */
static void add_lines(struct perfetto_stacks *s, struct perfetto_writer *w,
		      const struct frame_list *list, struct perfetto_stack *to)
{
	struct stack_line *lines = mem_resize(NULL, list->n * sizeof(*lines));
	char text[TEXT_BYTES] = "";
	size_t n = stack_lines(list, lines), used = 0;
	to->first = (uint32_t)s->frame_numbers.n;
	to->n = (uint32_t)n;
	vec_reserve(&s->frame_numbers, n);
	s->frame_numbers.n += n;
	for (size_t i = 0; i < n; i++) {
		uint32_t number = frame_number(s, w, list, &lines[i]);
		const char *line = perfetto_word_text(w, s->known.at[number - 1].text);
		size_t length = strlen(line);
		s->frame_numbers.at[to->first + n - 1 - i] = number;
		if (used + length + 2 > TEXT_BYTES)
			continue;
		if (used)
			text[used++] = '\n';
		memcpy(text + used, line, length + 1);
		used += length;
	}
	to->text = word_of(w, text);
	free(lines);
}

static struct perfetto_stack describe(struct perfetto_stacks *s, struct perfetto_writer *w,
				      uint32_t stack)
{
	struct perfetto_stack to = { 0 };
	struct frame_list list = frames_of(s->frames, stack);
	if (!list.n)
		return to;
	const struct site *site = frames_site_at(s->frames, frames_site(s->frames, stack));
	char place[STACK_LINE_BYTES];
	stack_place_text(site->file, site->line, place);
	to.line = word_of(w, place);
	to.function = word_of(w, site->function);
	to.operator= word_of(w, frames_operator(s->frames, stack, false));
	to.number = (uint32_t)s->at.n + 1;
	add_lines(s, w, &list, &to);
	return to;
}

const struct perfetto_stack *perfetto_stack(struct perfetto_stacks *s, struct perfetto_writer *w,
					    uint32_t stack)
{
	bool is_new;
	if (!stack || !s->frames)
		return NULL;
	uint64_t *index = map_at(&s->index_of, stack, &is_new);
	if (is_new) {
		struct perfetto_stack fresh = describe(s, w, stack);
		*index = s->at.n;
		vec_push(&s->at, fresh);
	}
	const struct perfetto_stack *found = &s->at.at[*index];
	return found->number ? found : NULL;
}

static void define_frames(struct perfetto_stacks *s, struct perfetto_writer *w,
			  const struct perfetto_stack *stack)
{
	for (uint32_t i = 0; i < stack->n; i++) {
		uint32_t number = s->frame_numbers.at[stack->first + i];
		struct perfetto_known_frame *known = &s->known.at[number - 1];
		if (known->sequence == w->sequence)
			continue;
		known->sequence = w->sequence;
		perfetto_define_frame(w, number, &known->frame);
	}
}

uint32_t perfetto_stack_define(struct perfetto_stacks *s, struct perfetto_writer *w,
			       const struct perfetto_stack *stack)
{
	struct perfetto_stack *own = &s->at.at[stack - s->at.at];
	if (own->sequence != w->sequence) {
		own->sequence = w->sequence;
		define_frames(s, w, stack);
		perfetto_define_callstack(w, stack->number, &s->frame_numbers.at[stack->first],
					  stack->n);
	}
	return stack->number;
}
