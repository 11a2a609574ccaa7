/*
 * Reads and writes structs as JSON objects. Each struct has one table of fields for both
 * directions, so that a member has the same name and type when it is written and read. The arena
 * owns the texts and lists that were read. A text is never NULL.
 */
#ifndef EXPORT_FIELDS_H
#define EXPORT_FIELDS_H

#include "core/util/list.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum field_kind {
	FIELD_NUMBER,	/* double; NAN: not known */
	FIELD_INTEGER,	/* int64_t; negative: not known */
	FIELD_TRUTH,	/* bool */
	FIELD_TEXT,	/* const char *; "": not known */
	FIELD_RANGE,	/* struct field_range, [low, high]; low NAN: not known */
	FIELD_OBJECT,	/* a struct */
	FIELD_POINTER,	/* a pointer to a struct; NULL: not known */
	FIELD_LIST,	/* LIST of structs */
	FIELD_INTEGERS, /* LIST of int64_t */
	FIELD_TEXTS,	/* LIST of const char * */
};

/* How JSON represents a value that is not known. */
enum field_unknown {
	FIELD_ALWAYS, /* always known; starts as 0, "" or [] */
	FIELD_OR_NULL,
	FIELD_OR_NONE, /* the member is omitted */
};

struct fields;

struct field {
	const char *name;
	size_t offset;
	size_t bytes; /* size of a list's item, or of the struct that a pointer points to */
	double unit;  /* numbers are rounded to multiples of it; 0: not rounded */
	const struct fields *of; /* table of the member's struct, or of the structs in the list */
	uint8_t kind, unknown;
};

struct fields {
	const struct field *at;
	size_t n, bytes; /* bytes of the struct */
};

/* Sets all members to not known. */
void fields_clear(const struct fields *f, void *s);

/* Returns the struct as a JSON object; the caller owns the reference. */
json_t *fields_write(const struct fields *f, const void *s);

/* Reads all members. Members that are missing or have another type become not known. */
void fields_read(const struct fields *f, void *s, const json_t *o, struct arena *a);

/* Tables of fields, in .def files: FIELDS(table), rows, FIELDS_END(table, struct). A row begins
 * with the struct, the member, and the name in JSON. */

#define FIELDS(table) static const struct field table##_rows[] = {
#define FIELDS_DEFINE(table, s)                                                                   \
	const struct fields table = { table##_rows, sizeof(table##_rows) / sizeof(*table##_rows), \
				      sizeof(struct s) };
#define FIELDS_END(table, s) \
	}                    \
	;                    \
	static FIELDS_DEFINE(table, s)
/* Like FIELDS_END, for a table that other files use. */
#define FIELDS_END_SHARED(table, s) \
	}                           \
	;                           \
	FIELDS_DEFINE(table, s)

/* The member's offset. The compiler warns if the member has another type. */
#define FIELD_MEMBER(type, s, m) \
	(offsetof(struct s, m) + 0 * sizeof((const type *)0 == (__typeof__(((struct s *)0)->m) *)0))

#define FIELD_ROW(kind_, unknown_, name_, offset_, ...) \
	{ .kind = (kind_),                              \
	  .unknown = (unknown_),                        \
	  .name = (name_),                              \
	  .offset = (offset_),                          \
	  __VA_ARGS__ },

#define NUMBER(s, m, name, unknown, unit_) \
	FIELD_ROW(FIELD_NUMBER, unknown, name, FIELD_MEMBER(double, s, m), .unit = (unit_))
#define INTEGER(s, m, name, unknown) \
	FIELD_ROW(FIELD_INTEGER, unknown, name, FIELD_MEMBER(int64_t, s, m), .unit = 0)
#define TRUTH(s, m, name, unknown) \
	FIELD_ROW(FIELD_TRUTH, unknown, name, FIELD_MEMBER(bool, s, m), .unit = 0)
#define TEXT(s, m, name, unknown) \
	FIELD_ROW(FIELD_TEXT, unknown, name, FIELD_MEMBER(char *const, s, m), .unit = 0)
#define RANGE(s, m, name, unknown, unit_)                                             \
	FIELD_ROW(FIELD_RANGE, unknown, name, FIELD_MEMBER(struct field_range, s, m), \
		  .unit = (unit_))
#define OBJECT(s, m, name, of_) \
	FIELD_ROW(FIELD_OBJECT, FIELD_ALWAYS, name, offsetof(struct s, m), .of = (of_))
#define POINTER(s, m, name, unknown, of_)                                           \
	FIELD_ROW(FIELD_POINTER, unknown, name, offsetof(struct s, m), .of = (of_), \
		  .bytes = sizeof(*((struct s *)0)->m))
#define FIELD_ITEMS(kind, s, m, name, unknown, of_)                        \
	FIELD_ROW(kind, unknown, name, offsetof(struct s, m), .of = (of_), \
		  .bytes = sizeof(*((struct s *)0)->m.at))
#define OBJECTS(s, m, name, unknown, of) FIELD_ITEMS(FIELD_LIST, s, m, name, unknown, of)
#define INTEGERS(s, m, name, unknown)	 FIELD_ITEMS(FIELD_INTEGERS, s, m, name, unknown, NULL)
#define TEXTS(s, m, name, unknown)	 FIELD_ITEMS(FIELD_TEXTS, s, m, name, unknown, NULL)

/* Short names for enum field_unknown, in tables. */
#define ALWAYS	FIELD_ALWAYS
#define OR_NULL FIELD_OR_NULL
#define OR_NONE FIELD_OR_NONE

#endif
