/* See fields.h. */
#include "export/fields.h"

#include "export/report_json.h"

#include <math.h>

/* The layout that every LIST has. */
struct any_list {
	char *at;
	size_t n;
};

static void *member(const struct field *x, const void *s)
{
	return (char *)(size_t)s + x->offset;
}

/* Copies the list with memcpy, because LISTs of different items are different types to the
 * compiler. */
static struct any_list get_list(const struct field *x, const void *s)
{
	struct any_list list;
	memcpy(&list, member(x, s), sizeof(list));
	return list;
}

static void *get_pointer(const struct field *x, const void *s)
{
	void *p;
	memcpy(&p, member(x, s), sizeof(p));
	return p;
}

/* ---- Values that are not known ---- */

static void clear_field(const struct field *x, void *s)
{
	bool is_known = x->unknown == FIELD_ALWAYS;
	void *to = member(x, s);
	switch (x->kind) {
	case FIELD_NUMBER:
		*(double *)to = is_known ? 0 : NAN;
		break;
	case FIELD_INTEGER:
		*(int64_t *)to = is_known ? 0 : -1;
		break;
	case FIELD_TRUTH:
		*(bool *)to = false;
		break;
	case FIELD_TEXT:
		*(const char **)to = "";
		break;
	case FIELD_RANGE:
		*(struct field_range *)to = (struct field_range){ NAN, NAN };
		break;
	case FIELD_OBJECT:
		fields_clear(x->of, to);
		break;
	case FIELD_POINTER:
		memcpy(to, &(void *){ NULL }, sizeof(void *));
		break;
	default:
		memcpy(to, &(struct any_list){ 0 }, sizeof(struct any_list));
	}
}

void fields_clear(const struct fields *f, void *s)
{
	for (size_t i = 0; i < f->n; i++)
		clear_field(&f->at[i], s);
}

/* ---- To JSON ---- */

static json_t *number(double value, double unit)
{
	if (unit > 0)
		return report_json_number(value, unit);
	return isfinite(value) ? json_real(value) : json_null();
}

static json_t *write_list(const struct field *x, const void *s)
{
	struct any_list list = get_list(x, s);
	json_t *array = json_array();
	for (size_t i = 0; i < list.n; i++) {
		json_t *item;
		if (x->kind == FIELD_INTEGERS)
			item = json_integer(((const int64_t *)(void *)list.at)[i]);
		else if (x->kind == FIELD_TEXTS)
			item = report_json_text(((const char *const *)(void *)list.at)[i]);
		else
			item = fields_write(x->of, list.at + i * x->bytes);
		json_array_append_new(array, item);
	}
	return array;
}

static json_t *write_range(const struct field *x, const struct field_range *r)
{
	return json_pack("[o, o]", number(r->low, x->unit), number(r->high, x->unit));
}

/* Returns the member as JSON, or NULL if its value is not known. */
static json_t *write_known(const struct field *x, const void *s)
{
	const void *from = member(x, s);
	bool is_sure = x->unknown == FIELD_ALWAYS;
	switch (x->kind) {
	case FIELD_NUMBER:
		return is_sure || isfinite(*(const double *)from)
			       ? number(*(const double *)from, x->unit)
			       : NULL;
	case FIELD_INTEGER:
		return is_sure || *(const int64_t *)from >= 0 ? json_integer(*(const int64_t *)from)
							      : NULL;
	case FIELD_TRUTH:
		return is_sure || *(const bool *)from ? json_boolean(*(const bool *)from) : NULL;
	case FIELD_TEXT:
		return is_sure || **(const char *const *)from
			       ? report_json_text(*(const char *const *)from)
			       : NULL;
	case FIELD_RANGE:
		return isfinite(((const struct field_range *)from)->low) ? write_range(x, from)
									 : NULL;
	case FIELD_OBJECT:
		return fields_write(x->of, from);
	case FIELD_POINTER:
		return get_pointer(x, s) ? fields_write(x->of, get_pointer(x, s)) : NULL;
	default:
		return is_sure || get_list(x, s).at ? write_list(x, s) : NULL;
	}
}

json_t *fields_write(const struct fields *f, const void *s)
{
	json_t *o = json_object();
	for (size_t i = 0; i < f->n; i++) {
		const struct field *x = &f->at[i];
		json_t *value = write_known(x, s);
		if (!value && x->unknown == FIELD_OR_NULL)
			value = json_null();
		if (value)
			json_object_set_new(o, x->name, value);
	}
	return o;
}

/* ---- From JSON ---- */

static void read_list(const struct field *x, void *to, const json_t *value, struct arena *a)
{
	struct any_list list = { .n = json_array_size(value) };
	if (!json_is_array(value))
		return;
	list.at = arena_zero(a, list.n * x->bytes);
	for (size_t i = 0; i < list.n; i++) {
		const json_t *item = json_array_get(value, i);
		const char *text = json_string_value(item);
		if (x->kind == FIELD_LIST)
			fields_read(x->of, list.at + i * x->bytes, item, a);
		else if (x->kind == FIELD_INTEGERS)
			((int64_t *)(void *)list.at)[i] = (int64_t)json_number_value(item);
		else
			((const char **)(void *)list.at)[i] = text ? arena_text(a, text) : "";
	}
	memcpy(to, &list, sizeof(list));
}

static void read_pointer(const struct field *x, void *to, const json_t *value, struct arena *a)
{
	if (!json_is_object(value))
		return;
	void *object = arena_zero(a, x->bytes);
	fields_read(x->of, object, value, a);
	memcpy(to, &object, sizeof(object));
}

static void read_range(struct field_range *to, const json_t *value)
{
	const json_t *low = json_array_get(value, 0), *high = json_array_get(value, 1);
	if (json_is_number(low) && json_is_number(high))
		*to = (struct field_range){ json_number_value(low), json_number_value(high) };
}

static void read_field(const struct field *x, void *s, const json_t *value, struct arena *a)
{
	void *to = member(x, s);
	clear_field(x, s);
	switch (x->kind) {
	case FIELD_NUMBER:
		if (json_is_number(value))
			*(double *)to = json_number_value(value);
		break;
	case FIELD_INTEGER:
		if (json_is_integer(value))
			*(int64_t *)to = json_integer_value(value);
		else if (json_is_real(value))
			*(int64_t *)to = (int64_t)json_real_value(value);
		break;
	case FIELD_TRUTH:
		*(bool *)to = json_is_true(value);
		break;
	case FIELD_TEXT:
		if (json_is_string(value))
			*(const char **)to = arena_text(a, json_string_value(value));
		break;
	case FIELD_RANGE:
		read_range(to, value);
		break;
	case FIELD_OBJECT:
		fields_read(x->of, to, value, a);
		break;
	case FIELD_POINTER:
		read_pointer(x, to, value, a);
		break;
	default:
		read_list(x, to, value, a);
	}
}

void fields_read(const struct fields *f, void *s, const json_t *o, struct arena *a)
{
	for (size_t i = 0; i < f->n; i++)
		read_field(&f->at[i], s, json_object_get(o, f->at[i].name), a);
}
