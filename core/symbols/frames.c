/*
 * A stack is a list of pointers to frames. The stack's source gives a 64-bit key for each frame. A
 * key is resolved when it first occurs, and the result is kept. A run of a million events has about
 * 10,000 stacks, which consist of about 3,000 different frames.
 */
#include "core/symbols/frames.h"

#include "core/symbols/operators.h"
#include "core/symbols/origin.h"
#include "core/symbols/phase_rules.h"
#include "core/symbols/source.h"
#include "core/symbols/stack_about.h"
#include "core/util/path.h"

#include <stdio.h>

enum { BLOCK_FRAMES = 256 };

/* A resolved frame. native.frame must come first, because known() casts a pointer to native.frame
 * to a pointer to the known_frame. */
struct known_frame {
	struct source_frame native;
	const char *module_name;      /* see frame_module_name() */
	uint32_t about[ABOUT_DEPTHS]; /* see stack_about_match() */
	uint8_t phase_part;	      /* enum phase_part */
	bool is_framework;
	bool is_apply; /* apply() of torch.autograd.Function or of a class derived from it */
};

/* The frames of one key: inlined functions, then the function that contains them. */
struct group {
	uint32_t first, n; /* `n` elements of `members`, from members[first] on */
};

struct stack {
	const struct frame **at; /* innermost frame first */
	size_t n;
	uint32_t site;
	uint32_t n_loops; /* number of elements of `loops` when `site` was found */
	bool is_truncated;
};

/* A copy of a frame, for stacks in which the frame has another operator name. */
struct named_frame {
	const struct known_frame *of; /* the original */
	struct known_frame *frame;    /* the copy */
};

struct frames {
	struct stack_source source;
	const struct tables *tables;
	struct strtab texts;
	struct strtab site_keys; /* keys of site_of(); a key's id is the site's number */
	struct source lines;	 /* the text of source files */
	/* blocks of BLOCK_FRAMES frames each, so that a frame never moves */
	VEC(struct known_frame *) blocks;
	size_t n_in_block; /* frames in the last block */
	VEC(struct named_frame) named;
	VEC(struct known_frame *) members; /* the frames of all groups */
	VEC(struct group) groups;
	/* key of a frame -> index in `groups`; [0] is for frames that were interrupted by a signal,
	 * [1] for all others */
	struct map group_of[2];
	VEC(struct stack) stacks;
	struct map stack_of;		 /* the source's number of a stack -> index in `stacks` */
	VEC(struct site) sites;		 /* the index is the site's number; sites[0]: unknown */
	VEC(const struct frame *) loops; /* see frames_add_loop() */
};

struct frames *frames_new(struct stack_source source, const struct tables *tables)
{
	struct frames *f = mem_zero(sizeof(*f));
	f->source = source;
	f->tables = tables;
	strtab_intern(&f->site_keys, "");
	vec_push(&f->sites, (struct site){ .file = "", .function = "" });
	return f;
}

void frames_free(struct frames *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->stacks.n; i++)
		free(f->stacks.at[i].at);
	for (size_t i = 0; i < f->blocks.n; i++)
		free(f->blocks.at[i]);
	f->source.free(f->source.context);
	source_free(&f->lines);
	strtab_free(&f->texts);
	strtab_free(&f->site_keys);
	map_free(&f->group_of[0]);
	map_free(&f->group_of[1]);
	map_free(&f->stack_of);
	vec_free(&f->blocks);
	vec_free(&f->named);
	vec_free(&f->members);
	vec_free(&f->groups);
	vec_free(&f->stacks);
	vec_free(&f->sites);
	vec_free(&f->loops);
	free(f);
}

/* ---- Single frames ---- */

static struct known_frame *new_frame(struct frames *f)
{
	if (!f->blocks.n || f->n_in_block == BLOCK_FRAMES) {
		vec_push(&f->blocks, mem_zero(BLOCK_FRAMES * sizeof(struct known_frame)));
		f->n_in_block = 0;
	}
	return &f->blocks.at[f->blocks.n - 1][f->n_in_block++];
}

static bool is_apply(const struct frame *frame)
{
	return frame->kind == FRAME_KIND_PYTHON
		       ? path_ends_with(frame->file, "torch/autograd/function.py")
		       : strstr(frame->function, "THPFunction_apply") != NULL;
}

static struct known_frame *add_frame(struct frames *f, const struct source_frame *frame)
{
	struct known_frame *to = new_frame(f);
	to->native = *frame;
	to->module_name = "";
	to->phase_part = phase_rules_match(&frame->frame);
	if (to->phase_part == PART_NONE && frame->frame.kind == FRAME_KIND_PYTHON &&
	    !frame->frame.is_library)
		to->phase_part = phase_rules_match_name(&frame->frame);
	to->is_apply = is_apply(&frame->frame);
	stack_about_match(&frame->frame, to->about);
	to->is_framework = frame->frame.kind == FRAME_KIND_NATIVE ||
			   origin_is_framework(frame->frame.file);
	vec_push(&f->members, to);
	return to;
}

/* See frame_module_name(). */
static const char *module_name(struct frames *f, const struct source_frame *from)
{
	const struct frame *frame = &from->frame;
	static const char forward[] = "forward";
	char text[256];
	size_t n = strlen(frame->function), most = sizeof(forward) - 1;
	if (n < most || strcmp(frame->function + n - most, forward) != 0)
		return "";
	if (n == most) {
		snprintf(text, sizeof(text), "forward (%s:%u)", path_base(frame->file),
			 from->first_line);
		return strtab_text(&f->texts, strtab_intern(&f->texts, text));
	}
	if (frame->function[n - most - 1] != '.')
		return "";
	snprintf(text, sizeof(text), "%.*s", (int)(n - most - 1), frame->function);
	const char *dot = strrchr(text, '.');
	return strtab_text(&f->texts, strtab_intern(&f->texts, dot ? dot + 1 : text));
}

/* Returns the group of a key. Resolves the key if this is its first occurrence. */
static struct group group_of(struct frames *f, uint64_t raw, bool is_return)
{
	bool is_new;
	uint64_t *at = map_at(&f->group_of[is_return], raw, &is_new);
	if (!is_new)
		return f->groups.at[*at];
	*at = f->groups.n;
	struct group group = { .first = (uint32_t)f->members.n };
	struct source_frame found[STACK_INLINED_MOST];
	size_t n = f->source.resolve(f->source.context, raw, is_return, found);
	for (size_t i = 0; i < n; i++)
		add_frame(f, &found[i]);
	if (found->first_line)
		f->members.at[group.first]->module_name = module_name(f, found);
	group.n = (uint32_t)n;
	vec_push(&f->groups, group);
	return group;
}

/* ---- Stacks ---- */

/* The state of assemble(). */
struct assembly {
	struct frames *f;
	const uint64_t *raw; /* the stack's keys, innermost frame first */
	size_t n_raw;
	/* is_by_name: index in `raw` of the next Python frame; the Python frames come after all
	 * native frames */
	size_t next_python;
	bool is_by_name;	       /* as in struct stack_shape */
	VEC(const struct frame *) out; /* the resulting frames */
};

static void put_group(struct assembly *a, struct group group)
{
	for (uint32_t i = 0; i < group.n; i++) {
		const struct known_frame *k = a->f->members.at[group.first + i];
		if (k->native.role != FRAME_OWN)
			vec_push(&a->out, &k->native.frame);
	}
}

static void put_python(struct assembly *a)
{
	put_group(a, group_of(a->f, a->raw[a->next_python++], true));
}

static bool is_python(struct frames *f, uint64_t raw)
{
	struct group group = group_of(f, raw, true);
	return f->members.at[group.first]->native.frame.kind == FRAME_KIND_PYTHON;
}

static bool is_evaluator(const struct frames *f, struct group group)
{
	return f->members.at[group.first + group.n - 1]->native.role == FRAME_EVALUATOR;
}

/* Resolves the keys into `out`. If is_by_name is set, puts each Python frame at the position of the
 * native frame that evaluated it. */
static void assemble(struct assembly *a)
{
	bool is_return = true;
	size_t n_native = a->n_raw;
	if (a->is_by_name)
		for (n_native = 0; n_native < a->n_raw && !is_python(a->f, a->raw[n_native]);)
			n_native++;
	a->next_python = n_native;
	for (size_t i = 0; i < n_native; i++) {
		struct group group = group_of(a->f, a->raw[i], is_return);
		is_return = a->f->members.at[group.first]->native.role != FRAME_SIGNAL;
		if (a->is_by_name && a->next_python < a->n_raw && is_evaluator(a->f, group))
			put_python(a);
		else
			put_group(a, group);
	}
	while (a->next_python < a->n_raw)
		put_python(a);
}

static struct known_frame *known(const struct frame *frame)
{
	return (struct known_frame *)frame;
}

/*
 * Marks the host functions that only launch a kernel as library code. For each kernel, nvcc makes a
 * host function with the kernel's name, which calls nvcc's stub. The user wrote the launch where
 * this host function is called. For templates, there is one more function between the host function
 * and the stub. Only one frame is marked, because the function of the user's that launches the
 * kernel may have the kernel's name, too, with other parameters.
 */
static void mark_stubs(const struct stack *s)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct known_frame *stub = known(s->at[i]);
		if (stub->native.role != FRAME_KERNEL_STUB)
			continue;
		for (size_t outer = i + 1; outer <= i + 2 && outer < s->n; outer++) {
			if (strcmp(s->at[outer]->function, stub->native.stub_of) != 0)
				continue;
			known(s->at[outer])->native.frame.is_library = true;
			break;
		}
	}
}

/* ---- Functions with a backward pass in Python ---- */

enum { WRAPPERS_MOST = 8 }; /* Python frames of decorators between apply() and forward() */

/* Returns a copy of the frame that has `operator` as its operator name. */
static const struct frame *named(struct frames *f, const struct frame *frame, const char *operator)
{
	for (size_t i = 0; i < f->named.n; i++)
		if (f->named.at[i].of == known(frame) &&
		    !strcmp(f->named.at[i].frame->native.operator, operator))
			return &f->named.at[i].frame->native.frame;
	struct known_frame *to = new_frame(f);
	*to = *known(frame);
	to->native.operator= strtab_text(&f->texts, strtab_intern(&f->texts, operator));
	vec_push(&f->named, (struct named_frame){ known(frame), to });
	return &to->native.frame;
}

/* Writes the name of the torch.autograd.Function whose apply() is frame `i`. Takes the name from
 * its forward() or backward(), which is a frame further in. Returns false if there is none. */
static bool applied(const struct stack *s, size_t i, char *to, size_t room)
{
	for (size_t n = 0; i-- > 0 && n < WRAPPERS_MOST && !*known(s->at[i])->native.operator;) {
		if (s->at[i]->kind != FRAME_KIND_PYTHON)
			continue;
		if (operator_of_function(s->at[i]->function, to, room))
			return true;
		n++;
	}
	return false;
}

/*
 * Gives apply() frames of torch.autograd.Function an operator name, which is found with applied().
 * The native frames of the autograd node around such a frame get the same name.
 */
static void name_functions(struct frames *f, const struct stack *s)
{
	static const char any[] = "torch::autograd::PyNode";
	char name[256];
	for (size_t i = 0; i < s->n; i++) {
		if (!known(s->at[i])->is_apply || !applied(s, i, name, sizeof(name)))
			continue;
		s->at[i] = named(f, s->at[i], name);
		for (i++; i < s->n && s->at[i]->kind == FRAME_KIND_NATIVE; i++)
			if (!strcmp(known(s->at[i])->native.operator, any))
				s->at[i] = named(f, s->at[i], name);
		i--;
	}
}

/* ---- Sites ---- */

/* How useful a frame is to show where a call was made; lower is better. */
enum tier {
	TIER_USER_LINE, /* user code whose line is known */
	TIER_USER,	/* user code without a line */
	TIER_PYTHON,	/* Python code of a library that is not a framework */
	TIER_FRAMEWORK, /* Python code of a framework, such as PyTorch */
	/* the entry of an operator, such as "AddmmBackward0"; threads of the autograd engine have
	 * no Python frames */
	TIER_OPERATOR,
	TIER_LINE,  /* native code whose line is known */
	TIER_NAMED, /* native code whose function is known */
	TIER_ADDRESS,
};

static enum tier tier_of(const struct frame *frame)
{
	if (!frame->is_library)
		return frame->line ? TIER_USER_LINE : TIER_USER;
	if (frame->kind == FRAME_KIND_PYTHON)
		return known(frame)->is_framework ? TIER_FRAMEWORK : TIER_PYTHON;
	if (*known(frame)->native.operator)
		return TIER_OPERATOR;
	if (frame->line)
		return TIER_LINE;
	return strstr(frame->function, "+0x") ? TIER_ADDRESS : TIER_NAMED;
}

/*
 * Returns the innermost frame of the best tier that occurs in the stack; NULL if the stack is
 * empty. For operators, returns the outermost such frame, because it is the closest to the user's
 * code.
 */
static const struct frame *site_frame(const struct stack *s)
{
	const struct frame *best = NULL;
	for (size_t i = 0; i < s->n; i++) {
		enum tier tier = tier_of(s->at[i]);
		if (!best || tier < tier_of(best) ||
		    (tier == TIER_OPERATOR && tier_of(best) == TIER_OPERATOR))
			best = s->at[i];
	}
	return best;
}

/*
 * Returns whether a Python function is defined inside the function `of`. For example,
 * "fit.<locals>.<genexpr>" is inside "fit". If names are not qualified, "<genexpr>" counts as
 * inside every function.
 */
static bool is_part_of(const char *function, const char *of)
{
	size_t n = strlen(of);
	return (*function == '<' && *of != '<') ||
	       (!strncmp(function, of, n) && !strncmp(function + n, ".<locals>", 9));
}

/* Returns the number of the site with this key. Adds the site if it is new. */
static uint32_t site_with_key(struct frames *f, const char *key, const struct site *new_site)
{
	uint32_t site = strtab_intern(&f->site_keys, key);
	if (site < f->sites.n && is_part_of(f->sites.at[site].function, new_site->function))
		f->sites.at[site].function = new_site->function;
	if (site == f->sites.n)
		vec_push(&f->sites, *new_site);
	return site;
}

/* Returns the number of the frame's site. `from`: see struct site. */
static uint32_t site_of_frame(struct frames *f, const struct frame *frame, uint32_t from)
{
	bool is_operator = tier_of(frame) == TIER_OPERATOR;
	const char *function = is_operator ? known(frame)->native.operator: frame->function;
	/* a source line is one site, even if several functions (generators, lambdas) are on it */
	const char *name = frame->line && !is_operator ? "" : function;
	size_t room = strlen(frame->file) + strlen(name) + 32;
	char *key = mem_resize(NULL, room);
	snprintf(key, room, "%s\n%s\n%u\n%u", frame->file, name, frame->line, from);
	uint32_t site = site_with_key(f, key,
				      &(struct site){ .file = frame->file,
						      .function = function,
						      .line = frame->line,
						      .is_user = !frame->is_library || from,
						      .from = from });
	free(key);
	return site;
}

/* Returns the number of frames from the innermost one to the function that contains the loop of the
 * steps, including both; 0: the stack is not within such a loop. */
static size_t n_within_loop(const struct frames *f, const struct stack *s)
{
	for (size_t i = s->n; f->loops.n && i-- > 0;)
		for (size_t k = 0; k < f->loops.n; k++)
			if (frames_are_of_one_function(s->at[i], f->loops.at[k]))
				return i + 1;
	return 0;
}

/* Returns the number of the stack's site. */
static uint32_t site_of(struct frames *f, const struct stack *s)
{
	const struct frame *best = site_frame(s);
	if (!best)
		return 0;
	uint32_t site = site_of_frame(f, best, 0);
	size_t n = best->is_library ? 0 : n_within_loop(f, s);
	for (size_t i = 0; i < n; i++)
		if (s->at[i] == best)
			return site; /* the loop called this user code */
	for (size_t i = 0; i < n; i++)
		if (frame_is_package_code(s->at[i]))
			return site_of_frame(f, s->at[i], site);
	return site;
}

static const struct stack *stack_of(struct frames *f, uint32_t id)
{
	static const struct stack empty;
	const uint64_t *at = map_find(&f->stack_of, id);
	if (at) {
		struct stack *found = &f->stacks.at[*at];
		if (found->n_loops < f->loops.n)
			found->site = site_of(f, found);
		found->n_loops = (uint32_t)f->loops.n;
		return found;
	}
	uint64_t raw[STACK_KEYS_MOST];
	struct stack_shape shape = f->source.stack(f->source.context, id, raw);
	if (!shape.n)
		return &empty;
	struct assembly a = {
		.f = f,
		.raw = raw,
		.n_raw = shape.n,
		.is_by_name = shape.is_by_name,
	};
	assemble(&a);
	struct stack s = {
		.n = a.out.n,
		.n_loops = (uint32_t)f->loops.n,
		.is_truncated = shape.is_truncated,
	};
	s.at = mem_resize(a.out.at, a.out.n * sizeof(*a.out.at));
	mark_stubs(&s);
	name_functions(f, &s);
	s.site = site_of(f, &s);
	bool is_new;
	*map_at(&f->stack_of, id, &is_new) = f->stacks.n;
	vec_push(&f->stacks, s);
	return &f->stacks.at[f->stacks.n - 1];
}

struct frame_list frames_of(struct frames *f, uint32_t stack)
{
	const struct stack *s = stack_of(f, stack);
	return (struct frame_list){ .at = s->at, .n = s->n, .is_truncated = s->is_truncated };
}

uint32_t frames_site_of(struct frames *f, const struct frame *frame)
{
	return site_of_frame(f, frame, 0);
}

uint32_t frames_site_in(struct frames *f, const struct frame *frame, uint32_t line)
{
	struct known_frame other = *known(frame);
	other.native.frame.line = line;
	return site_of_frame(f, &other.native.frame, 0);
}

uint32_t frames_site(struct frames *f, uint32_t stack)
{
	return stack_of(f, stack)->site;
}

const struct site *frames_site_at(const struct frames *f, uint32_t site)
{
	return &f->sites.at[site < f->sites.n ? site : 0];
}

uint32_t frames_n_sites(const struct frames *f)
{
	return (uint32_t)f->sites.n - 1;
}

const char *frames_source(struct frames *f, const char *file, uint32_t line)
{
	const char *folder = f->tables ? tables_fact(f->tables, "cwd") : NULL;
	return source_line(&f->lines, &f->texts, folder ? folder : "", file, line);
}

bool frames_add_loop(struct frames *f, const struct frame *frame)
{
	for (size_t i = 0; i < f->loops.n; i++)
		if (frames_are_of_one_function(f->loops.at[i], frame))
			return false;
	vec_push(&f->loops, frame);
	return true;
}

bool frames_is_in_loop(struct frames *f, const struct frame *frame)
{
	const char *folder = f->tables ? tables_fact(f->tables, "cwd") : NULL;
	uint32_t first_line = known(frame)->native.first_line;
	return frame->kind == FRAME_KIND_PYTHON && first_line &&
	       source_loop(&f->lines, &f->texts, folder ? folder : "", frame->file, first_line,
			   frame->line);
}

bool frames_are_of_one_function(const struct frame *a, const struct frame *b)
{
	return a == b ||
	       (a->kind == b->kind && known(a)->native.first_line == known(b)->native.first_line &&
		!strcmp(a->file, b->file) && !strcmp(a->function, b->function));
}

const char *frames_diagnostic(const struct frames *f, size_t i)
{
	return f->source.diagnostic(f->source.context, i);
}

/* ---- Operators ---- */

const char *frame_operator(const struct frame *frame)
{
	return known(frame)->native.operator;
}

bool frame_is_package_code(const struct frame *frame)
{
	return frame->kind == FRAME_KIND_PYTHON && frame->line &&
	       strstr(frame->file, "-packages/") && !strstr(frame->file, "-packages/torch/");
}

uint8_t frame_phase_part(const struct frame *frame)
{
	return known(frame)->phase_part;
}

uint32_t frame_about(const struct frame *frame, size_t i)
{
	return known(frame)->about[stack_about_depth(i)];
}

const char *frame_module_name(const struct frame *frame)
{
	return known(frame)->module_name;
}

const char *frames_operator(struct frames *f, uint32_t stack, bool outermost)
{
	const struct stack *s = stack_of(f, stack);
	for (size_t i = 0; i < s->n; i++) {
		const char *name = known(s->at[outermost ? s->n - 1 - i : i])->native.operator;
		if (*name)
			return name;
	}
	return "";
}

size_t frames_operators(struct frames *f, uint32_t stack, const char **out, size_t most)
{
	const struct stack *s = stack_of(f, stack);
	size_t n = 0;
	for (size_t i = s->n; i-- > 0 && n < most;) {
		const char *name = known(s->at[i])->native.operator;
		/* two frames in a row with the same name are one call that was redispatched */
		if (*name && !(n && !strcmp(out[n - 1], name)))
			out[n++] = name;
	}
	return n;
}
