/*
 * Stores the names of the application's ranges and of their NVTX domains. Each text is written to
 * the journal's dictionary once, when a record first needs it. The tables are filled without locks,
 * and entries are never removed.
 */
#ifndef PRELOAD_RANGE_NAMES_H
#define PRELOAD_RANGE_NAMES_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum { RANGE_NAME_MOST = 255 }; /* maximum length of a name in bytes */

struct range_name {
	_Atomic uint64_t hash;	    /* hash of the text; 0: free */
	_Atomic(const char *) text; /* set for registered names only */
	_Atomic uint32_t id;	    /* id of the DICT_STRING; 0: not in this journal yet */
};

/* Returns how many bytes of `text` are stored: at most RANGE_NAME_MOST, cut at a UTF-8
 * character. */
size_t range_name_length(const char *text);

/* Returns the id of a text's DICT_STRING; 0 if the dictionary has no room. For a known text this
 * costs one hash and one look-up. */
uint32_t range_name_id(const char *text, size_t length);

/* Implements nvtxDomainRegisterString: keeps a copy of the text until the process ends. Never
 * returns NULL. Not on the hot path. */
struct range_name *range_name_register(const char *text);
uint32_t range_name_registered_id(struct range_name *name);

static inline const char *range_name_text(const struct range_name *name)
{
	return atomic_load_explicit(&name->text, memory_order_relaxed);
}

struct range_domain;

/* Returns the domain with this name; creates it if it is new. Never returns NULL. Not on the hot
 * path. */
struct range_domain *range_domain_of(const char *name);

/* Returns the id of the DICT_STRING with the domain's name; 0 for NULL, the default domain. */
uint32_t range_domain_id(struct range_domain *domain);

/* Returns the domain's name; "" for NULL, the default domain. */
const char *range_domain_name(const struct range_domain *domain);

/* In a forked child: forgets the ids, because the child's new journal contains no names. */
void range_names_forget(void);

#endif
