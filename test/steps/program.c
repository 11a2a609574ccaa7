#include "test/steps/program.h"

#include "core/runtime/record.h"
#include "core/runtime/token.h"
#include "test/steps/grow.h"

#include <stdlib.h>

enum { THREADS = 16 };

void program_start(struct program *p, uint64_t seed)
{
	*p = (struct program){ .random = seed * 0x9e3779b97f4a7c15ull + 12345,
			       .busy_ns = 5000,
			       .between_ns = 20000 };
	for (int i = 0; i < 4; i++)
		program_below(p, 2);
}

void program_free(struct program *p)
{
	free(p->events);
	free(p->marks);
	*p = (struct program){ 0 };
}

uint32_t program_below(struct program *p, uint32_t n)
{
	p->random = p->random * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((p->random >> 33) % n);
}

bool program_chance(struct program *p, uint32_t percent)
{
	return program_below(p, 100) < percent;
}

void program_at(struct program *p, enum program_phase phase, uint32_t thread, uint32_t line)
{
	p->phase = (uint8_t)phase;
	p->thread = thread;
	p->line = line;
	p->now_ns += program_below(p, 60000);
}

void program_pause(struct program *p, uint32_t us)
{
	p->now_ns += us * 667ull + program_below(p, us * 667 + 1);
}

void program_wait(struct program *p, uint32_t us)
{
	uint64_t ns = us * 667ull + program_below(p, us * 667 + 1);
	p->now_ns += ns;
	p->waited_ns[p->thread % THREADS] += ns;
	p->has_waited[p->thread % THREADS] = true;
}

void program_add(struct program *p, const struct program_event *event)
{
	p->events = must_grow(p->events, p->n, &p->allocated, sizeof(*p->events));
	p->events[p->n++] = *event;
}

static void program_call(struct program *p, enum program_what what, uint64_t token, uint64_t kernel)
{
	uint32_t t = p->thread % THREADS;
	const struct program_event event = {
		.token = token,
		.kernel = kernel,
		.begin_ns = p->now_ns,
		.end_ns = p->now_ns + p->busy_ns,
		.blocked_ns = p->waited_ns[t],
		.thread = p->thread,
		.line = p->line,
		.what = (uint8_t)what,
		.phase = p->phase,
		.waited = p->has_waited[t],
		.named = what == WHAT_LAUNCH && p->phase == PHASE_OPTIMIZER && p->telling_names,
	};
	program_add(p, &event);
	p->waited_ns[t] = 0;
	p->has_waited[t] = false;
	p->now_ns += p->busy_ns + program_below(p, p->between_ns);
}

void program_launch(struct program *p, uint32_t kernel, uint32_t grid)
{
	uint64_t function = 0x400000 + 16ull * kernel;
	program_call(p, WHAT_LAUNCH, token_launch_of(function, 1 + grid, 1, 1, 128, 1, 1),
		     function);
}

void program_copy(struct program *p, enum program_what kind)
{
	static const uint32_t kinds[] = {
		[WHAT_H2D] = COPY_H2D, [WHAT_D2H] = COPY_D2H, [WHAT_D2D] = COPY_D2D
	};
	program_call(p, kind, token_copy(kinds[kind]), 0);
}

void program_graph(struct program *p, uint32_t graph)
{
	program_call(p, WHAT_GRAPH, token_graph(0xabc0 + 16ull * graph), 0);
}

void program_read_back(struct program *p)
{
	program_copy(p, WHAT_D2H);
	program_wait(p, 200);
}

void program_end(struct program *p, uint32_t ends)
{
	p->marks = must_grow(p->marks, p->n_marks, &p->marks_allocated, sizeof(*p->marks));
	p->marks[p->n_marks++] = (struct program_mark){ p->n, ends };
}
