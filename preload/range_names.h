/*
 * Names of the application's ranges: each text is written into the journal's dictionary once, when a record first wants it. The
 * table is filled by compare and swap and never emptied. Domains likewise.
 */
#ifndef PRELOAD_RANGE_NAMES_H
#define PRELOAD_RANGE_NAMES_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum { RANGE_NAME_MOST = 255 }; /* bytes of a name that are kept */

struct range_name {
	_Atomic uint64_t hash;	    /* of the text; 0: free */
	_Atomic(const char *) text; /* of registered names alone */
	_Atomic uint32_t id;	    /* DICT_STRING, 0: not in this journal yet */
};

/* How much of `text` is kept: whole characters of UTF-8. */
size_t range_name_length(const char *text);

/* The DICT_STRING of a text, 0 where there is no room left. Known texts cost a hash and a look-up. */
uint32_t range_name_id(const char *text, size_t length);

/* Keeps a text for good (nvtxDomainRegisterString). Never NULL. Cold. */
struct range_name *range_name_register(const char *text);
uint32_t range_name_registered_id(struct range_name *name);

static inline const char *range_name_text(const struct range_name *name)
{
	return atomic_load_explicit(&name->text, memory_order_relaxed);
}

struct range_domain;

/* The domain of that name, made if it is new. Never NULL. Cold. */
struct range_domain *range_domain_of(const char *name);

/* 0 for NULL, the default domain. */
uint32_t range_domain_id(struct range_domain *domain);

/* "" for NULL. */
const char *range_domain_name(const struct range_domain *domain);

/* In a forked child: nothing of it stands in the new journal. */
void range_names_forget(void);

#endif
