/*
 * Names of the application's ranges. Each text is written to the journal's dictionary once, when a
 * record first needs it. The table is filled by compare and swap and never emptied. Domains
 * likewise.
 */
#ifndef PRELOAD_RANGE_NAMES_H
#define PRELOAD_RANGE_NAMES_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum { RANGE_NAME_MOST = 255 }; /* maximum length of a name in bytes */

struct range_name {
	_Atomic uint64_t hash;	    /* of the text; 0: free */
	_Atomic(const char *) text; /* registered names only */
	_Atomic uint32_t id;	    /* DICT_STRING, 0: not in this journal yet */
};

/* Returns how many bytes of `text` are kept: whole UTF-8 characters. */
size_t range_name_length(const char *text);

/* Returns the DICT_STRING of a text, 0 if there is no room. A known text costs a hash and a
 * look-up. */
uint32_t range_name_id(const char *text, size_t length);

/* Keeps a text until the process ends (nvtxDomainRegisterString). Never NULL. Cold. */
struct range_name *range_name_register(const char *text);
uint32_t range_name_registered_id(struct range_name *name);

static inline const char *range_name_text(const struct range_name *name)
{
	return atomic_load_explicit(&name->text, memory_order_relaxed);
}

struct range_domain;

/* Returns the domain of that name, created if new. Never NULL. Cold. */
struct range_domain *range_domain_of(const char *name);

/* Returns 0 for NULL, the default domain. */
uint32_t range_domain_id(struct range_domain *domain);

/* Returns "" for NULL. */
const char *range_domain_name(const struct range_domain *domain);

/* In a forked child: nothing is in its new journal. */
void range_names_forget(void);

#endif
