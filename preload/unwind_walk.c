/*
 * Walks a stack by rules. Reads a word only if it is between the stack pointer and the end of the
 * stack, and requires that the ends of frames rise. A walk therefore reads only mapped memory and
 * terminates, whatever the stack contains.
 */
#include "preload/unwind_walk.h"

#include "core/runtime/record.h"
#include "preload/hook.h"
#include "preload/unwind_bp.h"
#include "preload/unwind_learn.h"
#include "preload/unwind_machine.h"
#include "preload/unwind_rules.h"

enum {
	STEP_WORDS_MOST = 40
}; /* upper bound of the words that one step reads; step_guess() reads the most */

/* How a step ended. */
enum outcome {
	WENT_ON,
	AT_END,
	CUT,
	FULL, /* the maximum number of frames is reached */
};

struct walk_state {
	struct walker *w;
	struct stack_window window;
	struct unwind_position at;
	uint64_t link; /* the link register, valid in a frame that a signal handler interrupted */
	uint32_t generation;
	uint32_t n, n_words;
	bool is_interrupted;  /* at.key is an interrupted instruction, not a call */
	bool is_copied;	      /* the window is a copy of the stack */
	bool is_given;	      /* no more may be copied: the thread may have gone on */
	bool was_slow;	      /* a step needed libunwind instead of a rule */
	bool was_interrupted; /* the walk contains a signal frame */
	bool was_guessed;     /* a step was a guess */
	bool is_unsure;	      /* a later walk over equal words may get further */
};

static inline uint64_t read_word(const struct walk_state *g, uint64_t at)
{
	return *(const uint64_t *)(uintptr_t)(at + g->window.delta);
}

static inline uint64_t note_word(struct walk_state *g, uint64_t at)
{
	uint64_t value = read_word(g, at);
	g->w->words[g->n_words++] = (struct walk_word){ at, value };
	return value;
}

static void save_bp(struct walk_state *g, uint64_t at, struct walk_step *step)
{
	g->at.bp = note_word(g, at);
	step->flags |= STEP_SAVES_BP | STEP_HAS_BP_WORD;
}

/* Returns whether [at, at + bytes) is in the current frame or further out. */
static inline bool is_readable(const struct walk_state *g, uint64_t at, uint64_t bytes)
{
	return at >= g->at.sp && !(at & 7) && at < g->window.hi && g->window.hi - at >= bytes;
}

/* Returns whether [at, at + bytes) can be read. Moves the window of a copied stack if necessary. */
static bool make_readable(struct walk_state *g, uint64_t at, uint64_t bytes)
{
	if (is_readable(g, at, bytes))
		return true;
	return g->is_copied && !g->is_given &&
	       stack_copy(g->at.sp, g->w->copy, STACK_COPY_BYTES, &g->window) &&
	       is_readable(g, at, bytes);
}

static inline enum outcome step_to(struct walk_state *g, uint64_t return_word, uint64_t cfa)
{
	uint64_t ip = machine_address(return_word);
	if (UNLIKELY(ip < 0x1000 || ip >> 48))
		return ip ? CUT : AT_END;
	g->at.key = ip - 1;
	g->at.sp = cfa;
	g->is_interrupted = false;
	return WENT_ON;
}

/* Steps over the kernel's signal frame. The kernel saved all registers there. The interrupted code
 * may run on another stack, whose bounds are unknown. */
static enum outcome step_signal(struct walk_state *g, struct walk_step *step)
{
	if (!make_readable(g, g->at.sp, MACHINE_SIGNAL_BYTES))
		return CUT;
	uint64_t from = g->at.sp, ip = note_word(g, from + MACHINE_SIGNAL_IP),
		 sp = note_word(g, from + MACHINE_SIGNAL_SP);
	if (MACHINE_HAS_LINK_REGISTER)
		g->link = note_word(g, from + MACHINE_SIGNAL_LINK);
	save_bp(g, from + MACHINE_SIGNAL_BP, step);
	g->at.key = ip;
	g->is_interrupted = g->was_interrupted = true;
	if (sp <= from || sp >= g->window.hi) {
		g->is_copied = true;
		if (g->is_given || !stack_copy(sp, g->w->copy, STACK_COPY_BYTES, &g->window))
			return CUT;
	}
	g->at.sp = sp;
	return ip >> 48 ? CUT : WENT_ON;
}

/*
 * Steps along the chain of frame pointers, for code without unwind information, such as code
 * generated at run time. Trusts the chain only if it leads, within HOPS_MOST frames of such code,
 * to a return address with unwind information. The chain may still have skipped frames, so the
 * stack is marked as truncated.
 */
static enum outcome step_guess(struct walk_state *g, struct walk_step *step)
{
	enum { HOPS_MOST = 16 };
	if (!MACHINE_FRAME_RECORD)
		return CUT;
	step->flags |= STEP_USES_BP;
	g->was_guessed = true;
	uint64_t frame = g->at.bp, lowest = g->at.sp, bp = 0, word = 0;
	for (int hop = 0; hop < HOPS_MOST; hop++) {
		if (frame < lowest || !make_readable(g, frame, MACHINE_FRAME_RECORD))
			return CUT;
		uint64_t next = note_word(g, frame), return_word = note_word(g, frame + 8);
		if (!hop) {
			bp = next;
			word = return_word;
		}
		uint64_t ip = machine_address(return_word);
		if (ip < 0x1000 || ip >> 48)
			return CUT;
		struct unwind_rule *rule = rules_get(ip - 1, g->generation);
		if (!rule) {
			g->is_unsure = true;
			return CUT;
		}
		unsigned kind = rule_kind(atomic_load_explicit(&rule->what, memory_order_relaxed));
		if (kind != RULE_NO_OBJECT && kind != RULE_NO_INFO) {
			frame = g->at.bp;
			g->at.bp = bp;
			return step_to(g, word, frame + MACHINE_FRAME_RECORD);
		}
		lowest = frame + MACHINE_FRAME_RECORD;
		frame = next;
	}
	return CUT;
}

static enum outcome step_no_object(struct walk_state *g, struct walk_step *step)
{
	struct object object;
	if (!object_find(g->at.key, &object))
		return step_guess(g, step);
	/* an object has been mapped here since the rule was learned */
	unwind_objects_gone();
	g->is_unsure = true;
	return CUT;
}

static enum outcome step_complex(struct walk_state *g)
{
	g->was_slow = g->is_unsure = true;
	struct unwind_position to = g->at;
	uint64_t word;
	if (g->is_interrupted || !learn_step(&to, &g->window, &word) || to.sp <= g->at.sp ||
	    to.sp > g->window.hi || to.sp & 7)
		return CUT;
	g->at.bp = to.bp;
	return step_to(g, word, to.sp);
}

/* Steps from a frame whose end is given by a word in the frame. Functions that realign the stack
 * store it there. */
static enum outcome step_word(struct walk_state *g, uint64_t what, struct walk_step *step)
{
	bool from_bp = rule_kind(what) == RULE_BP_WORD;
	if (g->at.bp == UNWIND_BP_UNKNOWN && (from_bp || rule_bp_base(what) == RULE_BP_BY_BP))
		return CUT;
	if (from_bp || rule_bp_base(what) == RULE_BP_BY_BP)
		step->flags |= STEP_USES_BP;
	uint64_t at = (from_bp ? g->at.bp : g->at.sp) + (uint64_t)rule_cfa(what);
	if (!make_readable(g, at, 8))
		return CUT;
	uint64_t cfa = note_word(g, at), return_at = MACHINE_RETURN_AT(cfa, what);
	if (cfa <= g->at.sp || cfa & 7 || !make_readable(g, return_at, 8))
		return CUT;
	uint64_t word = note_word(g, return_at);
	const uint64_t base[] = {
		[RULE_BP_BY_CFA] = cfa, [RULE_BP_BY_SP] = g->at.sp, [RULE_BP_BY_BP] = g->at.bp
	};
	if (rule_bp_base(what) != RULE_BP_KEPT) {
		at = base[rule_bp_base(what)] + (uint64_t)rule_bp(what);
		if (!make_readable(g, at, 8))
			return CUT;
		g->at.bp = note_word(g, at);
		step->flags |= STEP_SAVES_BP;
	}
	return step_to(g, word, cfa);
}

/* Returns the frame's end if its rule needs a bp that is unknown; 0: it was not found. */
static uint64_t find_end(const struct walk_state *g, uint64_t what)
{
	bool has_record = rule_cfa(what) == MACHINE_FRAME_RECORD &&
			  rule_bp_base(what) == RULE_BP_BY_CFA &&
			  rule_bp(what) == -MACHINE_FRAME_RECORD;
	return has_record ? bp_find_end(g->w->known, g->generation, g->at.key, g->at.sp, &g->window)
			  : 0;
}

/* Steps from a frame that ends at an offset from a register. Makes all checks, unlike step_fast().
 * Needed for copied stacks, and for leaf functions that a signal interrupted, whose return address
 * is still in the link register. */
static enum outcome step_plain(struct walk_state *g, uint64_t what, struct walk_step *step)
{
	bool from_bp = rule_kind(what) == RULE_BP;
	uint64_t cfa = (from_bp ? g->at.bp : g->at.sp) + (uint64_t)rule_cfa(what);
	step->flags |= from_bp ? STEP_USES_BP : 0;
	if (from_bp && g->at.bp == UNWIND_BP_UNKNOWN)
		cfa = find_end(g, what);
	if (cfa < g->at.sp + MACHINE_CFA_LEAST || cfa & 7)
		return CUT;
	bool is_leaf = MACHINE_HAS_LINK_REGISTER && !rule_return(what);
	if (is_leaf)
		return g->is_interrupted ? step_to(g, g->link, cfa) : CUT;
	uint64_t return_at = MACHINE_RETURN_AT(cfa, what);
	if (!make_readable(g, return_at, 8))
		return CUT;
	uint64_t word = note_word(g, return_at);
	if (rule_bp_base(what) == RULE_BP_BY_CFA) {
		uint64_t at = cfa + (uint64_t)rule_bp(what);
		if (!make_readable(g, at, 8))
			return CUT;
		save_bp(g, at, step);
	}
	return step_to(g, word, cfa);
}

static __attribute__((noinline)) enum outcome step_rare(struct walk_state *g, uint64_t what,
							struct walk_step *step)
{
	switch (rule_kind(what)) {
	case RULE_SP:
	case RULE_BP:
		return step_plain(g, what, step);
	case RULE_SP_WORD:
	case RULE_BP_WORD:
		return step_word(g, what, step);
	case RULE_SIGNAL:
		return step_signal(g, step);
	case RULE_LAST:
		return AT_END;
	case RULE_NO_INFO:
		return step_guess(g, step);
	case RULE_NO_OBJECT:
		return step_no_object(g, step);
	default:
		return step_complex(g);
	}
}

/* ---- The unchanged part of the last walk ---- */

/* Compares the first `n` words, which are stored outermost first, with the stack. Returns the index
 * of the innermost changed word plus 1; 0 if no word has changed. */
static uint32_t changed_word(const struct walk_word *words, uint32_t n)
{
	for (; n >= 4; n -= 4) {
		uint64_t differ = 0;
		for (uint32_t i = n - 4; i < n; i++)
			differ |= *(const uint64_t *)(uintptr_t)words[i].at ^ words[i].value;
		if (differ)
			break;
	}
	for (; n; n--)
		if (*(const uint64_t *)(uintptr_t)words[n - 1].at != words[n - 1].value)
			break;
	return n;
}

static uint32_t words_begin(const struct walk_trail *trail, uint32_t step)
{
	return step ? trail->steps[step - 1].words_end : 0;
}

static bool has_room(const struct walk_state *g)
{
	return g->n < g->w->depth && g->n_words + STEP_WORDS_MOST <= g->w->words_most;
}

/* Copies step `from` of the last trail to the new steps, with `bp` as the value of bp before that
 * step. */
static const struct walk_step *take_over(struct walk_state *g, uint32_t from, uint64_t bp)
{
	const struct walk_trail *trail = &g->w->trail;
	struct walk_step *to = &g->w->steps[g->n++];
	*to = trail->steps[from];
	to->bp = bp;
	for (uint32_t i = words_begin(trail, from); i < trail->steps[from].words_end; i++)
		g->w->words[g->n_words++] = trail->words[i];
	to->words_end = g->n_words;
	return to;
}

/* Tries to reuse the last trail, whose step `j` the walk has reached. If no word of step `j` and
 * the outer steps has changed, returns the number of these steps. They complete the new trail.
 * Otherwise copies the steps whose words are unchanged, up to the last one where bp is known, and
 * returns 0. The walk continues from there. (bp is unknown if it was saved but not needed, because
 * it was not checked then.) */
static uint32_t rejoin(struct walk_state *g, int64_t *j)
{
	const struct walk_trail *trail = &g->w->trail;
	uint32_t changed = changed_word(trail->words, trail->steps[*j].words_end);
	if (!changed)
		return (uint32_t)*j + 1;
	struct {
		uint32_t n, n_words;
		int64_t at;
		uint64_t bp;
	} known = { g->n, g->n_words, *j, g->at.bp };
	bool is_known = true;
	for (int64_t at = *j; words_begin(trail, (uint32_t)at) >= changed && has_room(g); at--) {
		const struct walk_step *step = take_over(g, (uint32_t)at, known.bp);
		if (step->flags & STEP_SAVES_BP)
			is_known = step->flags & STEP_HAS_BP_WORD;
		if (!is_known)
			continue;
		if (step->flags & STEP_HAS_BP_WORD)
			known.bp = g->w->words[g->n_words - 1].value;
		known.n = g->n;
		known.n_words = g->n_words;
		known.at = at - 1;
	}
	g->n = known.n;
	g->n_words = known.n_words;
	g->at = (struct unwind_position){ trail->steps[known.at].key, trail->steps[known.at].sp,
					  known.bp };
	*j = known.at - 1;
	return 0;
}

/* ---- The trail ---- */

/* Returns both halves of a 128-bit product, combined by xor. The values are so well mixed that sums
 * of them do not cancel. */
static inline uint64_t mix(uint64_t key, uint64_t place)
{
	unsigned __int128 product = (unsigned __int128)(key ^ 0x2d358dccaa6c78a5u) *
				    ((place + 1) * 0x9E3779B97F4A7C15u ^ 0x8bb84b93962eacc9u);
	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Appends the new steps, which are stored innermost first, to the `base` outer steps of the
 * trail. */
static void lay_trail(struct walk_state *g, uint32_t base)
{
	struct walk_trail *trail = &g->w->trail;
	uint32_t n_words = words_begin(trail, base), needs = 0;
	uint64_t sum = 0;
	if (base) {
		sum = trail->steps[base - 1].sum;
		needs = trail->steps[base - 1].flags & STEP_NEEDS_BP;
	}
	for (uint32_t i = g->n; i-- > 0; base++) {
		const struct walk_step *from = &g->w->steps[i];
		struct walk_step *to = &trail->steps[base];
		uint32_t at = i ? from[-1].words_end : 0, end = from->words_end;
		*to = *from;
		if (to->flags & STEP_HAS_BP_WORD && !needs) {
			to->flags &= ~(uint32_t)STEP_HAS_BP_WORD;
			end--;
		}
		for (; at < end; at++)
			trail->words[n_words++] = g->w->words[at];
		if (to->flags & STEP_SAVES_BP)
			needs = 0;
		if (to->flags & STEP_USES_BP)
			needs = STEP_NEEDS_BP;
		to->flags = (to->flags & ~(uint32_t)STEP_NEEDS_BP) | needs;
		sum += mix(from->key, base);
		to->sum = sum;
		to->words_end = n_words;
	}
	trail->n = base;
}

static uint64_t hash_of(const struct walk_trail *trail)
{
	uint64_t sum = trail->n ? trail->steps[trail->n - 1].sum : 0;
	uint64_t hash = mix(sum, (uint64_t)trail->n << 1 | (trail->flags & STACK_TRUNCATED));
	return hash ? hash : 1;
}

static void end_at(struct walk_state *g, uint32_t base, enum outcome outcome)
{
	struct walk_trail *trail = &g->w->trail;
	lay_trail(g, base);
	if (!base)
		trail->flags = 0;
	if (g->was_guessed || outcome == CUT || outcome == FULL)
		trail->flags = STACK_TRUNCATED;
	trail->is_lasting = !g->is_copied && !g->was_slow && !g->is_unsure;
	/* After an interrupted instruction the walk depends on more registers than a step
	 * stores. */
	trail->is_kept = trail->is_lasting && !g->was_interrupted && !g->was_guessed &&
			 outcome != FULL;
}

/* ---- The walk ---- */

static inline struct walk_state state_at(struct walker *w, const struct unwind_regs *regs,
					 uint32_t generation)
{
	return (struct walk_state){
		.w = w,
		.window = { regs->sp, w->own.hi, 0 },
		.at = { regs->ip - 1, regs->sp, regs->bp },
		.generation = generation,
	};
}

static bool begin_at(struct walk_state *g, struct walker *w, const struct unwind_regs *regs,
		     uint32_t generation)
{
	*g = state_at(w, regs, generation);
	if (UNLIKELY(regs->sp < w->own.lo || regs->sp >= w->own.hi)) {
		g->is_copied = true;
		return stack_copy(regs->sp, w->copy, STACK_COPY_BYTES, &g->window);
	}
	return true;
}

static inline bool is_at(const struct walk_step *step, const struct unwind_position *at)
{
	return step->key == at->key && step->sp == at->sp &&
	       (step->bp == at->bp || !(step->flags & STEP_NEEDS_BP));
}

/* Makes the step of almost all frames: the frame ends at an offset from sp or bp, and every address
 * is in range. Always reads a word for bp, whether or not the frame saved bp, because a branch
 * would be mispredicted. Returns false, with nothing changed, for any other frame. */
static inline bool step_fast(struct walk_state *g, uint64_t what, struct walk_step *step)
{
	unsigned kind = rule_kind(what);
	uint64_t sp = g->at.sp, cfa = (kind & RULE_BP ? g->at.bp : sp) + (uint64_t)rule_cfa(what);
	uint64_t return_at = MACHINE_RETURN_AT(cfa, what);
	bool saves_bp = rule_bp_base(what);
	uint64_t bp_at = saves_bp ? cfa + (uint64_t)rule_bp(what) : return_at;
	if (UNLIKELY(kind > RULE_BP || cfa - sp - 8 > g->window.hi - sp - 8 || cfa & 7 ||
		     return_at - sp >= cfa - sp || bp_at - sp >= cfa - sp || g->window.delta))
		return false;
	uint64_t word = *(const uint64_t *)(uintptr_t)return_at,
		 bp = *(const uint64_t *)(uintptr_t)bp_at, ip = machine_address(word);
	if (UNLIKELY((ip - 0x1000) >> 48))
		return false;
	struct walk_word *words = g->w->words + g->n_words;
	words[0] = (struct walk_word){ return_at, word };
	words[1] = (struct walk_word){ bp_at, bp };
	g->n_words += 1 + saves_bp;
	step->flags |= (kind & RULE_BP ? STEP_USES_BP : 0) |
		       (saves_bp ? STEP_SAVES_BP | STEP_HAS_BP_WORD : 0);
	g->at = (struct unwind_position){ ip - 1, cfa, saves_bp ? bp : g->at.bp };
	g->is_interrupted = false;
	return true;
}

/* Walks until the outermost frame, or until the remaining steps of the last trail are still valid.
 * `base`: set to the number of these steps. */
static enum outcome run(struct walk_state *g, uint32_t *base)
{
	const struct walk_trail *trail = &g->w->trail;
	int64_t j = trail->is_kept && !g->is_copied ? (int64_t)trail->n - 1 : -1;
	struct unwind_rule *rule = NULL;
	for (;;) {
		while (j >= 0 && trail->steps[j].sp < g->at.sp)
			j--;
		if (j >= 0 && is_at(&trail->steps[j], &g->at) && !g->is_interrupted) {
			*base = rejoin(g, &j);
			if (*base)
				return WENT_ON;
			rule = NULL;
		}
		if (UNLIKELY(!has_room(g)))
			return FULL;
		rule = rule ? rules_next(rule, g->at.key, g->generation)
			    : rules_get(g->at.key, g->generation);
		struct walk_step *step = &g->w->steps[g->n++];
		*step = (struct walk_step){
			.key = g->at.key,
			.sp = g->at.sp,
			.bp = g->at.bp,
			.words_end = g->n_words,
			.flags = g->is_interrupted ? STEP_INTERRUPTED : 0,
		};
		if (UNLIKELY(!rule)) {
			g->is_unsure = true;
			return CUT;
		}
		uint64_t what = atomic_load_explicit(&rule->what, memory_order_relaxed);
		enum outcome outcome = step_fast(g, what, step) ? WENT_ON
								: step_rare(g, what, step);
		step->words_end = g->n_words;
		if (UNLIKELY(outcome != WENT_ON))
			return outcome;
	}
}

uint64_t walk(struct walker *w, const struct unwind_regs *regs, uint32_t generation)
{
	struct walk_state g;
	uint32_t base = 0;
	enum outcome outcome = begin_at(&g, w, regs, generation) ? run(&g, &base) : CUT;
	if (base && base + g.n > w->depth) {
		w->trail.is_kept = false;
		return walk(w, regs, generation);
	}
	end_at(&g, base, outcome);
	if (UNLIKELY(g.is_copied || g.was_slow))
		atomic_fetch_add_explicit(&w->slow, 1, memory_order_relaxed);
	return hash_of(&w->trail);
}

void walk_other(struct walker *w, const struct unwind_regs *regs, const struct stack_window *window,
		uint32_t generation)
{
	/* Most stacks of blocked threads are short. make_readable() copies more. */
	enum { FIRST_COPY_BYTES = 4096 };
	struct walk_state g = state_at(w, regs, generation);
	uint32_t base = 0;
	enum outcome outcome = CUT;
	g.is_copied = true;
	g.is_given = window;
	if (window)
		g.window = *window;
	if (window || stack_copy(regs->sp, w->copy, FIRST_COPY_BYTES, &g.window))
		outcome = run(&g, &base);
	end_at(&g, 0, outcome);
}
