/*
 * Implements NVTX's functions. Each exists in several variants: plain text, wide text, or
 * attributes with or without a registered string. All of them end in the functions of ranges.h.
 */
#include "preload/nvtx.h"

#include "preload/ranges.h"

#include <stdlib.h>
#include <string.h>
#include <wchar.h>

/* ---- Messages ---- */

/* Converts UTF-32 (wchar_t on Linux) to UTF-8. Cuts text that does not fit at a character
 * boundary. */
static const char *narrow(char to[RANGE_NAME_MOST + 1], const wchar_t *text)
{
	size_t n = 0;
	for (; *text; text++) {
		uint32_t c = (uint32_t)*text;
		unsigned more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
		static const uint8_t lead[] = { 0, 0xc0, 0xe0, 0xf0 };
		if (c > 0x10ffff || n + more + 1 > RANGE_NAME_MOST)
			break;
		to[n++] = (char)(lead[more] | c >> 6 * more);
		while (more)
			to[n++] = (char)(0x80 | (c >> 6 * --more & 0x3f));
	}
	to[n] = 0;
	return to;
}

/* A message, and a buffer for its text in UTF-8. */
struct message {
	struct range_message m;
	char text[RANGE_NAME_MOST + 1];
};

static inline struct range_domain *domain_at(nvtxDomainHandle_t handle)
{
	return (struct range_domain *)handle;
}

static inline struct range_message *from_text(struct message *to, const char *text)
{
	to->m = (struct range_message){ .text = text };
	return &to->m;
}

static struct range_message *from_wide(struct message *to, const wchar_t *text)
{
	to->m = (struct range_message){ .text = text ? narrow(to->text, text) : NULL };
	return &to->m;
}

/* Reads the message and the color from the attributes. An older NVTX has a shorter struct; `size`
 * is its length in bytes. */
static struct range_message *from_attributes(struct message *to, const nvtxEventAttributes_t *a)
{
	to->m = (struct range_message){ .text = NULL };
	if (!a || a->size < offsetof(nvtxEventAttributes_t, message) + sizeof(a->message))
		return &to->m;
	if (a->messageType == NVTX_MESSAGE_TYPE_ASCII)
		to->m.text = a->message.ascii;
	else if (a->messageType == NVTX_MESSAGE_TYPE_UNICODE)
		from_wide(to, a->message.unicode);
	else if (a->messageType == NVTX_MESSAGE_TYPE_REGISTERED)
		to->m.registered = (struct range_name *)a->message.registered;
	if (a->colorType == NVTX_COLOR_ARGB)
		to->m.color = a->color;
	return &to->m;
}

/* ---- The functions ---- */

/* Defines the variants of a function: with attributes, with text, and with wide text. */
#define VARIANTS(type, name, call)                            \
	static type name##_ex(const nvtxEventAttributes_t *a) \
	{                                                     \
		struct message m;                             \
		call(NULL, from_attributes(&m, a));           \
	}                                                     \
	static type name##_a(const char *text)                \
	{                                                     \
		struct message m;                             \
		call(NULL, from_text(&m, text));              \
	}                                                     \
	static type name##_w(const wchar_t *text)             \
	{                                                     \
		struct message m;                             \
		call(NULL, from_wide(&m, text));              \
	}

VARIANTS(int, push, return ranges_push)
VARIANTS(nvtxRangeId_t, start, return ranges_start)
VARIANTS(void, mark, ranges_mark)

static int pop(void)
{
	return ranges_pop(NULL);
}

static void end(nvtxRangeId_t id)
{
	ranges_end(id);
}

static int domain_push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *a)
{
	struct message m;
	return ranges_push(domain_at(domain), from_attributes(&m, a));
}

static int domain_pop(nvtxDomainHandle_t domain)
{
	return ranges_pop(domain_at(domain));
}

static nvtxRangeId_t domain_start(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *a)
{
	struct message m;
	return ranges_start(domain_at(domain), from_attributes(&m, a));
}

static void domain_end(nvtxDomainHandle_t domain, nvtxRangeId_t id)
{
	(void)domain;
	ranges_end(id);
}

static void domain_mark(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *a)
{
	struct message m;
	ranges_mark(domain_at(domain), from_attributes(&m, a));
}

static nvtxStringHandle_t register_a(nvtxDomainHandle_t domain, const char *text)
{
	(void)domain;
	return (nvtxStringHandle_t)range_name_register(text ? text : "");
}

static nvtxStringHandle_t register_w(nvtxDomainHandle_t domain, const wchar_t *text)
{
	char buffer[RANGE_NAME_MOST + 1];
	return register_a(domain, text ? narrow(buffer, text) : NULL);
}

static nvtxDomainHandle_t create_a(const char *name)
{
	return (nvtxDomainHandle_t)range_domain_of(name ? name : "");
}

static nvtxDomainHandle_t create_w(const wchar_t *name)
{
	char buffer[RANGE_NAME_MOST + 1];
	return create_a(name ? narrow(buffer, name) : NULL);
}

/* ---- The tables ---- */

struct entry {
	unsigned module, id;
	NvtxFunctionPointer function;
};

#define CORE(id, function)                                                                \
	{                                                                                 \
		NVTX_CB_MODULE_CORE, NVTX_CBID_CORE_##id, (NvtxFunctionPointer)(function) \
	}
#define CORE2(id, function)                                                                 \
	{                                                                                   \
		NVTX_CB_MODULE_CORE2, NVTX_CBID_CORE2_##id, (NvtxFunctionPointer)(function) \
	}

/* The NVTX functions that profrun handles. All other NVTX functions return at once. They give names
 * to categories, threads and handles, describe resources, or destroy a domain (a later domain of
 * the same name counts as the same domain). */
static const struct entry entries[] = {
	CORE(RangePushEx, push_ex),
	CORE(RangePushA, push_a),
	CORE(RangePushW, push_w),
	CORE(RangePop, pop),
	CORE(RangeStartEx, start_ex),
	CORE(RangeStartA, start_a),
	CORE(RangeStartW, start_w),
	CORE(RangeEnd, end),
	CORE(MarkEx, mark_ex),
	CORE(MarkA, mark_a),
	CORE(MarkW, mark_w),
	CORE2(DomainRangePushEx, domain_push),
	CORE2(DomainRangePop, domain_pop),
	CORE2(DomainRangeStartEx, domain_start),
	CORE2(DomainRangeEnd, domain_end),
	CORE2(DomainMarkEx, domain_mark),
	CORE2(DomainRegisterStringA, register_a),
	CORE2(DomainRegisterStringW, register_w),
	CORE2(DomainCreateA, create_a),
	CORE2(DomainCreateW, create_w),
};

/* Stores the function in NVTX's table, unless this NVTX is too old to have the entry. */
static void fill(const NvtxExportTableCallbacks *callbacks, const struct entry *e)
{
	NvtxFunctionTable table = NULL;
	unsigned size = 0;
	if (callbacks->GetModuleFunctionTable((NvtxCallbackModule)e->module, &table, &size) &&
	    table && e->id < size && table[e->id])
		*table[e->id] = e->function;
}

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table)
{
	/* The settings are read at the first CUDA call, which is later than this. */
	const char *wanted = getenv("PROF_NVTX");
	const NvtxExportTableCallbacks *callbacks = get_table ? get_table(NVTX_ETID_CALLBACKS)
							      : NULL;
	if ((wanted && !strcmp(wanted, "off")) || !callbacks ||
	    callbacks->struct_size < sizeof(*callbacks))
		return 0;
	for (size_t i = 0; i < sizeof(entries) / sizeof(*entries); i++)
		fill(callbacks, &entries[i]);
	return 1;
}
