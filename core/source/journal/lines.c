/*
 * See lines.h. Uses libdw, but not libdw's own searches. libdw finds units through .debug_aranges,
 * which clang and rustc omit, and finds functions by reading the whole unit for each address. So
 * this file keeps sorted tables of address ranges: one for all units, and one for the functions of
 * each unit that was read.
 */
#include "core/source/journal/lines.h"

#include "core/util/bisect.h"
#include "core/util/map.h"
#include "core/util/strtab.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <string.h>

struct range {
	uint64_t begin, end;
	uint64_t die; /* offset in .debug_info of the debug entry (DIE) of the unit or function */
};

struct ranges {
	VEC(struct range) at;
};

/* A part of a function that OpenMP runs on several threads. */
struct region {
	const char *file;
	uint32_t pragma, statement; /* lines of the pragma and of the first statement */
};

struct unit {
	uint64_t die;
	struct ranges functions;
	VEC(struct region) regions;
	Dwarf_Files *files;
	const char *folder;
};

struct lines {
	Dwarf *dwarf;
	struct ranges units;
	VEC(struct unit) known;
	struct strtab names;
	struct map name_of; /* offset of a function's DIE -> index in names */
};

/*
 * Listing all units takes 0.3 s for 200 MB of debug information. For larger objects .debug_aranges
 * is used.
 */
static const uint64_t listed_most_bytes = 200ull << 20;

/* ---- Ranges ---- */

static int by_begin(const void *a, const void *b)
{
	const struct range *x = a, *y = b;
	return (x->begin > y->begin) - (x->begin < y->begin);
}

static void sort(struct ranges *r)
{
	if (r->at.n)
		qsort(r->at.at, r->at.n, sizeof(*r->at.at), by_begin);
}

/*
 * Returns the range that contains the address, or NULL. Ranges of functions in one unit do not
 * overlap. Ranges of units do not overlap either.
 */
static const struct range *find_range(const struct ranges *r, uint64_t address)
{
	size_t after = bisect(r->at.n, i, r->at.at[i].begin <= address);
	return after && address < r->at.at[after - 1].end ? &r->at.at[after - 1] : NULL;
}

static void add_ranges(struct ranges *r, Dwarf_Die *entry)
{
	Dwarf_Addr base, begin, end;
	uint64_t die = dwarf_dieoffset(entry);
	for (ptrdiff_t at = 0; (at = dwarf_ranges(entry, at, &base, &begin, &end)) > 0;)
		/* the linker moved the ranges of removed code to address 0 */
		if (begin && begin < end)
			vec_push(&r->at, (struct range){ begin, end, die });
}

/* ---- Units ---- */

static void list_units(struct lines *l)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die entry;
	while (!dwarf_get_units(l->dwarf, cu, &cu, NULL, NULL, &entry, NULL))
		add_ranges(&l->units, &entry);
}

static void take_aranges(struct lines *l)
{
	Dwarf_Aranges *all;
	size_t n = 0;
	if (dwarf_getaranges(l->dwarf, &all, &n))
		return;
	for (size_t i = 0; i < n; i++) {
		Dwarf_Addr begin;
		Dwarf_Word bytes;
		Dwarf_Off entry;
		if (!dwarf_getarangeinfo(dwarf_onearange(all, i), &begin, &bytes, &entry))
			vec_push(&l->units.at, (struct range){ begin, begin + bytes, entry });
	}
}

enum lines_state lines_open(const struct object *o, struct lines **out)
{
	uint64_t info_bytes = object_section_bytes(o, ".debug_info");
	bool is_big = info_bytes > listed_most_bytes;
	if (!info_bytes || !object_section_bytes(o, ".debug_line"))
		return LINES_ABSENT;
	if (is_big && (!object_section_bytes(o, ".debug_aranges") ||
		       object_section_is_packed(o, ".debug_info")))
		return LINES_TOO_BIG;
	Dwarf *dwarf = dwarf_begin_elf(o->elf, DWARF_C_READ, NULL);
	if (!dwarf)
		return LINES_ABSENT;
	struct lines *l = mem_zero(sizeof(*l));
	l->dwarf = dwarf;
	if (is_big)
		take_aranges(l);
	else
		list_units(l);
	sort(&l->units);
	*out = l;
	return LINES_READY;
}

void lines_free(struct lines *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->known.n; i++) {
		vec_free(&l->known.at[i].functions.at);
		vec_free(&l->known.at[i].regions);
	}
	vec_free(&l->known);
	vec_free(&l->units.at);
	strtab_free(&l->names);
	map_free(&l->name_of);
	dwarf_end(l->dwarf);
	free(l);
}

/* ---- Functions of a unit ---- */

enum { NESTING_MOST = 64 };

/*
 * Lists the functions of a unit. Their definitions may also be inside namespaces and classes, and
 * inside other functions: the compiler puts the body of an OpenMP region into a function of its
 * own, and a class inside a function has methods. The outer function comes first, so that of equal
 * ranges the inner one is found.
 */
static void list_functions(struct ranges *to, Dwarf_Die *parent, unsigned depth)
{
	Dwarf_Die child;
	if (depth > NESTING_MOST || dwarf_child(parent, &child))
		return;
	do {
		switch (dwarf_tag(&child)) {
		case DW_TAG_subprogram:
			add_ranges(to, &child);
			list_functions(to, &child, depth + 1);
			break;
		case DW_TAG_lexical_block:
		case DW_TAG_namespace:
		case DW_TAG_class_type:
		case DW_TAG_structure_type:
		case DW_TAG_module:
			list_functions(to, &child, depth + 1);
			break;
		default:
			break;
		}
	} while (!dwarf_siblingof(&child, &child));
}

/* ---- OpenMP's regions ---- */

static bool read_line(Dwarf_Line *line, struct line_place *to)
{
	int number = 0;
	if (!line || dwarf_lineno(line, &number))
		return false;
	to->line = (uint32_t)number;
	to->file = dwarf_linesrc(line, NULL, NULL);
	return to->file;
}

/* Returns the first line after the pragma's from which the function has code; 0: there is none. */
static uint32_t first_statement(Dwarf_Die *unit, const struct range *function,
				const struct line_place *pragma)
{
	Dwarf_Lines *all;
	size_t n;
	uint32_t first = 0;
	if (dwarf_getsrclines(unit, &all, &n))
		return 0;
	for (size_t i = 0; i < n; i++) {
		Dwarf_Line *line = dwarf_onesrcline(all, i);
		struct line_place at = { 0 };
		Dwarf_Addr address;
		if (dwarf_lineaddr(line, &address) || address < function->begin ||
		    address >= function->end || !read_line(line, &at) || at.line <= pragma->line ||
		    strcmp(at.file, pragma->file))
			continue;
		if (!first || at.line < first)
			first = at.line;
	}
	return first;
}

/*
 * Lists the regions of a unit. The compiler makes a function of each, whose code begins with the
 * line of the pragma. So does the call in the function around it, where threads wait for the end of
 * the region. People look for the statements.
 */
static void list_regions(struct lines *l, struct unit *unit, Dwarf_Die *entry)
{
	for (size_t i = 0; i < unit->functions.at.n; i++) {
		const struct range *function = &unit->functions.at.at[i];
		struct line_place pragma = { 0 };
		Dwarf_Die die;
		const char *name = dwarf_offdie(l->dwarf, function->die, &die) ? dwarf_diename(&die)
									       : NULL;
		if (!name || (!strstr(name, "omp_fn") && !strstr(name, "omp_outlined")) ||
		    !read_line(dwarf_getsrc_die(entry, function->begin), &pragma))
			continue;
		uint32_t statement = first_statement(entry, function, &pragma);
		if (statement)
			vec_push(&unit->regions, (struct region){ .file = pragma.file,
								  .pragma = pragma.line,
								  .statement = statement });
	}
}

static struct unit *unit_of(struct lines *l, uint64_t die, Dwarf_Die *entry)
{
	if (!dwarf_offdie(l->dwarf, die, entry))
		return NULL;
	for (size_t i = 0; i < l->known.n; i++)
		if (l->known.at[i].die == die)
			return &l->known.at[i];
	struct unit unit = { .die = die };
	Dwarf_Attribute folder;
	list_functions(&unit.functions, entry, 0);
	sort(&unit.functions);
	list_regions(l, &unit, entry);
	if (dwarf_getsrcfiles(entry, &unit.files, NULL))
		unit.files = NULL;
	unit.folder = dwarf_formstring(dwarf_attr(entry, DW_AT_comp_dir, &folder));
	vec_push(&l->known, unit);
	return &l->known.at[l->known.n - 1];
}

/* ---- Places ---- */

/*
 * Returns the DIE of the function in the source. The DIEs of inlined and compiled copies refer to
 * it.
 */
static Dwarf_Die origin_of(const Dwarf_Die *entry)
{
	static const unsigned links[] = { DW_AT_abstract_origin, DW_AT_specification };
	Dwarf_Die at = *entry;
	for (size_t i = 0; i < sizeof(links) / sizeof(*links); i++) {
		Dwarf_Attribute link;
		Dwarf_Die to;
		if (dwarf_attr(&at, links[i], &link) && dwarf_formref_die(&link, &to))
			at = to;
	}
	return at;
}

/*
 * Returns the function's name with its namespaces and classes, such as "shapes::inlined". Returns
 * an index in `names`.
 */
static uint32_t scoped_name(struct lines *l, Dwarf_Die *origin)
{
	char text[1024] = "";
	Dwarf_Die *scopes = NULL;
	int n = dwarf_getscopes_die(origin, &scopes);
	for (int i = n - 1; i > 0; i--) {
		int tag = dwarf_tag(&scopes[i]);
		const char *name = dwarf_diename(&scopes[i]);
		if (tag == DW_TAG_namespace && !name)
			name = "(anonymous namespace)";
		if (!name || (tag != DW_TAG_namespace && tag != DW_TAG_class_type &&
			      tag != DW_TAG_structure_type))
			continue;
		size_t used = strlen(text);
		snprintf(text + used, sizeof(text) - used, "%s::", name);
	}
	free(scopes);
	const char *name = dwarf_diename(origin);
	size_t used = strlen(text);
	snprintf(text + used, sizeof(text) - used, "%s", name ? name : "?");
	return strtab_intern(&l->names, text);
}

/*
 * Returns the mangled name. Functions that are local to their unit have none, so their plain name
 * is returned.
 */
static const char *function_name(struct lines *l, Dwarf_Die *entry)
{
	Dwarf_Attribute mangled;
	const char *name =
		dwarf_formstring(dwarf_attr_integrate(entry, DW_AT_linkage_name, &mangled));
	if (name)
		return name;
	Dwarf_Die origin = origin_of(entry);
	bool is_new;
	uint64_t *at = map_at(&l->name_of, dwarf_dieoffset(&origin), &is_new);
	if (is_new)
		*at = scoped_name(l, &origin);
	return strtab_text(&l->names, (uint32_t)*at);
}

static uint32_t number_of(Dwarf_Die *entry, unsigned attribute)
{
	Dwarf_Attribute a;
	Dwarf_Word value;
	if (!dwarf_attr(entry, attribute, &a) || dwarf_formudata(&a, &value))
		return 0;
	return (uint32_t)value;
}

/*
 * Finds the function inlined into `parent` whose code contains the address. Also searches lexical
 * blocks, at any depth.
 */
static bool find_inlined(Dwarf_Die *parent, uint64_t address, Dwarf_Die *out, unsigned depth)
{
	Dwarf_Die child;
	if (depth > NESTING_MOST || dwarf_child(parent, &child))
		return false;
	do {
		int tag = dwarf_tag(&child);
		if ((tag != DW_TAG_inlined_subroutine && tag != DW_TAG_lexical_block) ||
		    dwarf_haspc(&child, address) != 1)
			continue;
		*out = child;
		if (tag == DW_TAG_inlined_subroutine ||
		    find_inlined(&child, address, out, depth + 1))
			return true;
	} while (!dwarf_siblingof(&child, &child));
	return false;
}

static void put_line(const struct unit *unit, Dwarf_Die *entry, uint64_t address,
		     struct line_place *to)
{
	bool has_file = read_line(dwarf_getsrc_die(entry, address), to);
	for (size_t i = 0; has_file && i < unit->regions.n; i++) {
		const struct region *r = &unit->regions.at[i];
		if (to->line != r->pragma || strcmp(to->file, r->file))
			continue;
		to->line = r->statement;
		break;
	}
}

size_t lines_find(struct lines *l, uint64_t address, struct line_place *out, size_t most)
{
	Dwarf_Die entry, chain[NESTING_MOST];
	const struct range *range = find_range(&l->units, address);
	const struct unit *unit = range ? unit_of(l, range->die, &entry) : NULL;
	if (!unit || !most)
		return 0;
	const struct range *function = find_range(&unit->functions, address);
	/*
	 * length of `chain`, which begins with the compiled function and ends with the innermost
	 * one
	 */
	size_t n = 0;
	if (function && dwarf_offdie(l->dwarf, function->die, &chain[0]))
		for (n = 1; n < NESTING_MOST && n < most &&
			    find_inlined(&chain[n - 1], address, &chain[n], 0);)
			n++;
	out[0] = (struct line_place){ .folder = unit->folder };
	put_line(unit, &entry, address, &out[0]);
	for (size_t i = 0; i < n; i++) {
		Dwarf_Die *at = &chain[n - 1 - i];
		out[i].function = function_name(l, at);
		if (i + 1 < n)
			out[i + 1] = (struct line_place){
				.folder = unit->folder,
				.line = number_of(at, DW_AT_call_line),
				.file = unit->files ? dwarf_filesrc(unit->files,
								    number_of(at, DW_AT_call_file),
								    NULL, NULL)
						    : NULL,
			};
	}
	return n ? n : out[0].line > 0;
}
