/*
 * Learns a rule by letting libunwind step from a frame that does not exist. The frame's stack
 * pointer and bp point into made-up memory, where each word encodes its own address. The result of
 * the step therefore shows which register, or which word, the end of the frame is computed from.
 */
#include "preload/unwind_learn.h"

#include "core/runtime/log.h"
#include "preload/lookup.h"
#include "preload/unwind_machine.h"
#include "preload/unwind_rules.h"

#include <dlfcn.h>
#include <libunwind.h>
#include <stdatomic.h>
#include <string.h>

#if defined(__x86_64__)
#define UNWIND_LIBRARY "libunwind-x86_64.so.8"
enum { BP_NUMBER = UNW_X86_64_RBP, IP_NUMBER = UNW_X86_64_RIP, RETURN_NUMBER = UNW_X86_64_RIP };
#elif defined(__aarch64__)
#define UNWIND_LIBRARY "libunwind-aarch64.so.8"
enum { BP_NUMBER = UNW_AARCH64_X29, IP_NUMBER = UNW_AARCH64_PC, RETURN_NUMBER = UNW_AARCH64_X30 };
#endif

/* Part of libunwind's interface for debuggers, but not declared in its headers. perf uses the
 * function in the same way. */
#define unw_dwarf_search_unwind_table UNW_OBJ(dwarf_search_unwind_table)
extern int unw_dwarf_search_unwind_table(unw_addr_space_t, unw_word_t, unw_dyn_info_t *,
					 unw_proc_info_t *, int, void *);

/* libunwind's functions, found by dlsym. The headers' declarations give only their types. The names
 * in the headers are macros that expand to the real symbols, which contain the machine's name. */
static struct {
	__typeof__(unw_create_addr_space) *create_space;
	__typeof__(unw_set_caching_policy) *set_caching;
	__typeof__(unw_init_remote) *init;
	__typeof__(unw_step) *step;
	__typeof__(unw_get_reg) *get_register;
	__typeof__(unw_get_save_loc) *get_save_location;
	__typeof__(unw_dwarf_search_unwind_table) *search_table;
	unw_addr_space_t space;
} g;

/* Middles of the made-up memory regions. The top four bits of an address identify its region. No
 * address of a process has these top bits. */
#define AT_SP		0xA800000000000000u
#define AT_BP		0xB800000000000000u
#define IN_SP_WORD	0xC800000000000000u
#define IN_BP_WORD	0xD800000000000000u
#define REGION(address) ((address) >> 60)
#define A_RETURN	0x1000u
#define WORD_SHIFT	16 /* the word at AT_SP + k is IN_SP_WORD + (k << 16) */

struct question {
	struct unwind_position at;
	struct object object;		   /* the object that contains the code */
	const struct stack_window *window; /* the real stack to read; NULL: read made-up memory */
	/* set if the object has unwind information for the code */
	bool found;
};

static bool read_made_up(unw_word_t address, unw_word_t *value)
{
	switch (REGION(address)) {
	case REGION(AT_SP):
		*value = IN_SP_WORD + ((address - AT_SP) << WORD_SHIFT);
		return true;
	case REGION(AT_BP):
		*value = IN_BP_WORD + ((address - AT_BP) << WORD_SHIFT);
		return true;
	/* libunwind computed the frame's end from a word, so this word is the return address */
	case REGION(IN_SP_WORD):
	case REGION(IN_BP_WORD):
		*value = A_RETURN;
		return true;
	default:
		return false;
	}
}

static bool read_object(const struct object *o, unw_word_t address, unw_word_t *value)
{
	if (address < o->start || address >= o->end || o->end - address < sizeof(*value))
		return false;
	memcpy(value, (const void *)(uintptr_t)address, sizeof(*value));
	return true;
}

static int access_memory(unw_addr_space_t space, unw_word_t address, unw_word_t *value, int write,
			 void *arg)
{
	(void)space;
	const struct question *q = arg;
	if (write)
		return -UNW_EINVAL;
	if (!q->window && read_made_up(address, value))
		return 0;
	const struct stack_window *w = q->window;
	if (w && address >= w->lo && address < w->hi && w->hi - address >= sizeof(*value)) {
		memcpy(value, (const void *)(uintptr_t)(address + w->delta), sizeof(*value));
		return 0;
	}
	return read_object(&q->object, address, value) ? 0 : -UNW_EINVAL;
}

static int access_register(unw_addr_space_t space, unw_regnum_t number, unw_word_t *value,
			   int write, void *arg)
{
	(void)space;
	const struct question *q = arg;
	if (write)
		return -UNW_EREADONLYREG;
	if (number == IP_NUMBER)
		*value = q->at.key;
	else if (number == UNW_REG_SP)
		*value = q->at.sp;
	else if (number == BP_NUMBER)
		*value = q->at.bp;
	else if (number == RETURN_NUMBER && !q->window) /* AArch64's link register */
		*value = A_RETURN;
	else
		return -UNW_EBADREG;
	return 0;
}

/* Searches the object's .eh_frame_hdr. Accepts only the table format that linkers write: sorted
 * pairs of 32-bit offsets, relative to the header. */
static int find_information(unw_addr_space_t space, unw_word_t ip, unw_proc_info_t *out, int wanted,
			    void *arg)
{
	struct question *q = arg;
	struct {
		uint8_t version, eh_frame, count, table;
		int32_t eh_frame_at;
		uint32_t n;
	} header;
	uint64_t at = q->object.header;
	if (at < q->object.start || at + sizeof(header) > q->object.end)
		return -UNW_ENOINFO;
	memcpy(&header, (const void *)(uintptr_t)at, sizeof(header));
	if (header.version != 1 || (header.eh_frame & 15) != 0xb || header.count != 3 ||
	    header.table != 0x3b || (q->object.end - at) / 8 < header.n)
		return -UNW_ENOINFO;
	unw_dyn_info_t table = {
		.start_ip = q->object.start,
		.end_ip = q->object.end,
		.format = UNW_INFO_FORMAT_REMOTE_TABLE,
		.u.rti = { .segbase = at,
			   .table_len = header.n,
			   .table_data = at + sizeof(header) },
	};
	int status = g.search_table(space, ip, &table, out, wanted, arg);
	q->found = q->found || !status;
	return status;
}

static void put_information(unw_addr_space_t space, unw_proc_info_t *info, void *arg)
{
	(void)space;
	(void)info;
	(void)arg;
}

static int no_registered_code(unw_addr_space_t space, unw_word_t *list, void *arg)
{
	(void)space;
	(void)list;
	(void)arg;
	return -UNW_ENOINFO;
}

static bool find_functions(void *library)
{
#define STRING(name) #name
#define NAME(name)   STRING(name)
#define FIND(member, name)                                                          \
	do {                                                                        \
		g.member = (__typeof__(g.member))lookup_dlsym(library, NAME(name)); \
		if (!g.member)                                                      \
			return false;                                               \
	} while (0)
	FIND(create_space, unw_create_addr_space);
	FIND(set_caching, unw_set_caching_policy);
	FIND(init, unw_init_remote);
	FIND(step, unw_step);
	FIND(get_register, unw_get_reg);
	FIND(get_save_location, unw_get_save_loc);
	FIND(search_table, unw_dwarf_search_unwind_table);
	return true;
}

bool learn_start(void)
{
	/* Later versions of libunwind have more members and copy all of them. `room` makes those
	 * members zero. */
	static union {
		unw_accessors_t known;
		void *room[32];
	} accessors = { .known = {
				.find_proc_info = find_information,
				.put_unwind_info = put_information,
				.get_dyn_info_list_addr = no_registered_code,
				.access_mem = access_memory,
				.access_reg = access_register,
			} };
	if (g.space)
		return true;
	/* the file that was installed with this library, if there is one (the wheel has one) */
	void *library = dlopen("$ORIGIN/" UNWIND_LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		library = dlopen(UNWIND_LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		log_once(LOG_WARN, UNWIND_LIBRARY
			 " cannot be opened: CUDA calls are recorded without native stacks");
		return false;
	}
	if (find_functions(library))
		g.space = g.create_space(&accessors.known, 0);
	if (!g.space) {
		log_once(LOG_WARN, UNWIND_LIBRARY " lacks a required function: CUDA calls are "
						  "recorded without native stacks");
		return false;
	}
	g.set_caching(g.space, UNW_CACHE_NONE);
	return true;
}

/* ---- From the result of a step to a rule ---- */

#define UNKNOWN ((uint64_t)RULE_COMPLEX)

static uint64_t pack(unsigned kind, int64_t cfa, unsigned bp_base, int64_t bp, int64_t from_cfa)
{
	if (!rule_word_fits(cfa, 26) || !rule_word_fits(bp, 16) || !rule_word_fits(from_cfa, 16))
		return UNKNOWN;
	return kind | (uint64_t)bp_base << 4 | ((uint64_t)(cfa / 8) & 0x3ffffff) << 6 |
	       ((uint64_t)(bp / 8) & 0xffff) << 32 | (uint64_t)(from_cfa / 8) << 48;
}

/* Returns the kind of rule that gives the frame's end `cfa`, and sets the rule's offset in
 * bytes. */
static unsigned place_of_cfa(uint64_t cfa, int64_t *offset)
{
	switch (REGION(cfa)) {
	case REGION(AT_SP):
		*offset = (int64_t)(cfa - AT_SP);
		return RULE_SP;
	case REGION(AT_BP):
		*offset = (int64_t)(cfa - AT_BP);
		return RULE_BP;
	case REGION(IN_SP_WORD):
		*offset = (int64_t)(cfa - IN_SP_WORD) >> WORD_SHIFT;
		return cfa & 0xffff ? RULE_COMPLEX : RULE_SP_WORD;
	case REGION(IN_BP_WORD):
		*offset = (int64_t)(cfa - IN_BP_WORD) >> WORD_SHIFT;
		return cfa & 0xffff ? RULE_COMPLEX : RULE_BP_WORD;
	default:
		return RULE_COMPLEX;
	}
}

static bool place_of_bp(unw_cursor_t *cursor, uint64_t cfa, enum rule_bp *base, int64_t *offset)
{
	unw_save_loc_t saved;
	if (g.get_save_location(cursor, BP_NUMBER, &saved) < 0)
		return false;
	*base = RULE_BP_KEPT;
	*offset = 0;
	if (saved.type == UNW_SLT_REG)
		return (int)saved.u.regnum == BP_NUMBER;
	if (saved.type == UNW_SLT_NONE)
		return true;
	uint64_t at = saved.u.addr;
	if (REGION(at) == REGION(cfa)) {
		*base = RULE_BP_BY_CFA;
		*offset = (int64_t)(at - cfa);
		return *offset;
	}
	*base = REGION(at) == REGION(AT_SP) ? RULE_BP_BY_SP : RULE_BP_BY_BP;
	*offset = (int64_t)(at - (*base == RULE_BP_BY_SP ? AT_SP : AT_BP));
	return REGION(at) == REGION(AT_SP) || REGION(at) == REGION(AT_BP);
}

/* Sets `offset` to the offset of the return address from the CFA, in bytes; 0 if the return address
 * is in the link register. Returns false if no rule can express this. */
static bool place_of_return(unw_cursor_t *cursor, uint64_t cfa, int64_t *offset)
{
	unw_save_loc_t saved;
	if (g.get_save_location(cursor, RETURN_NUMBER, &saved) < 0)
		return false;
	*offset = saved.type == UNW_SLT_MEMORY ? (int64_t)(saved.u.addr - cfa) : 0;
	if (saved.type == UNW_SLT_MEMORY)
		return MACHINE_HAS_LINK_REGISTER ? *offset != 0 : *offset == -8;
	return MACHINE_HAS_LINK_REGISTER && saved.type == UNW_SLT_REG;
}

static uint64_t read_rule(unw_cursor_t *cursor)
{
	unw_word_t cfa;
	if (g.get_register(cursor, UNW_REG_SP, &cfa) < 0)
		return UNKNOWN;
	int64_t offset, bp_offset, from_cfa;
	enum rule_bp bp_base;
	unsigned kind = place_of_cfa(cfa, &offset);
	if (kind == RULE_COMPLEX || !place_of_bp(cursor, cfa, &bp_base, &bp_offset) ||
	    !place_of_return(cursor, cfa, &from_cfa))
		return UNKNOWN;
	if (kind <= RULE_BP && bp_base > RULE_BP_BY_CFA)
		return UNKNOWN;
	return pack(kind, offset, bp_base, bp_offset, from_cfa);
}

/* Returns whether `address` is the code to which signal handlers return. Compares the code itself,
 * like libgcc and debuggers, because such code does not always have unwind information or belong to
 * an object. */
static bool is_signal_return(uint64_t address)
{
	static const char code[] = MACHINE_SIGNAL_RETURN;
	char there[sizeof(code) - 1];
	return memory_copy(address, there, sizeof(there)) && !memcmp(there, code, sizeof(there));
}

static uint64_t ask_rule(uint64_t key)
{
	struct question q = { .at = { key, AT_SP, AT_BP } };
	if (is_signal_return(key + 1))
		return RULE_SIGNAL;
	if (!object_find(key, &q.object))
		return RULE_NO_OBJECT;
	unw_cursor_t cursor;
	if (g.init(&cursor, g.space, &q) < 0)
		return UNKNOWN;
	int status = g.step(&cursor);
	if (!q.found)
		return RULE_NO_INFO;
	if (!status)
		return RULE_LAST;
	return status < 0 ? UNKNOWN : read_rule(&cursor);
}

static bool ask_step(struct unwind_position *position, const struct stack_window *window,
		     uint64_t *return_word)
{
	struct question q = { .at = *position, .window = window };
	unw_cursor_t cursor;
	unw_word_t word, sp, bp;
	if (!object_find(position->key, &q.object) || g.init(&cursor, g.space, &q) < 0 ||
	    g.step(&cursor) <= 0 || !q.found || g.get_register(&cursor, RETURN_NUMBER, &word) < 0 ||
	    g.get_register(&cursor, UNW_REG_SP, &sp) < 0)
		return false;
	if (!g.get_register(&cursor, BP_NUMBER, &bp))
		position->bp = bp;
	position->sp = sp;
	*return_word = word;
	return true;
}

/* ---- Threads ---- */

static struct {
	_Atomic uint32_t n; /* threads that are in libunwind */
	_Atomic bool is_broken;
} inside;

static __thread bool is_inside __attribute__((tls_model("initial-exec")));

static bool enter(void)
{
	if (is_inside || atomic_load_explicit(&inside.is_broken, memory_order_relaxed))
		return false;
	is_inside = true;
	atomic_signal_fence(memory_order_seq_cst);
	atomic_fetch_add(&inside.n, 1);
	return true;
}

static void leave(void)
{
	atomic_fetch_sub(&inside.n, 1);
	atomic_signal_fence(memory_order_seq_cst);
	is_inside = false;
}

bool learn_rule(uint64_t key, uint64_t *rule)
{
	if (!enter())
		return false;
	*rule = ask_rule(key);
	leave();
	return true;
}

bool learn_step(struct unwind_position *position, const struct stack_window *window,
		uint64_t *return_word)
{
	if (!enter())
		return false;
	bool is_done = ask_step(position, window, return_word);
	leave();
	return is_done;
}

void learn_forget(void)
{
	if (atomic_load(&inside.n) > is_inside)
		atomic_store(&inside.is_broken, true);
	atomic_store(&inside.n, is_inside);
}
