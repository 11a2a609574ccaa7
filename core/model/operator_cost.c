/* See operator_cost.h. */
#include "core/model/operator_cost.h"

#include "core/runtime/kinds.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INPUTS_MOST = 20, DIMS_MOST = 6 };

/* A damaged trace may claim any number. */
static const double number_most = 1e12;

/* ---- Inputs ---- */

struct dims {
	double at[DIMS_MOST];
	size_t n;
};

struct inputs {
	struct dims of[INPUTS_MOST];
	size_t n;
	const char *types, *values;
};

/* Reads "[2,3]" to its end. Returns NULL for another form, or if there are too many. */
static const char *read_dims(struct dims *to, const char *text)
{
	char *end;
	to->n = 0;
	if (*text++ != '[')
		return NULL;
	for (; *text && *text != ']'; text = end + (*end == ',')) {
		if (to->n == DIMS_MOST)
			return NULL;
		double size = strtod(text, &end);
		if (end == text || !(size >= 0 && size <= number_most))
			return NULL;
		to->at[to->n++] = size;
	}
	return *text ? text + 1 : NULL;
}

/* Reads the dims of the inputs. Those after the first of another form, such as a list of tensors,
 * are left out. */
static void read_inputs(struct inputs *to, const char *text)
{
	to->n = 0;
	if (*text++ != '[')
		return;
	while (to->n < INPUTS_MOST && (text = read_dims(&to->of[to->n], text))) {
		to->n++;
		if (*text != ',')
			return;
		text++;
	}
}

/* Copies item `i` of a list, whose items may be lists. Returns false if there is none. */
static bool item(char *to, size_t bytes, const char *list, unsigned i)
{
	int depth = 0;
	size_t n = 0;
	if (*list++ != '[')
		return false;
	for (; *list; list++) {
		bool is_end = !depth && (*list == ',' || *list == ']');
		depth += (*list == '[') - (*list == ']');
		if (is_end && !i--) {
			to[n] = 0;
			return true;
		}
		if (is_end && *list == ']')
			return false;
		if (!i && !is_end && n + 1 < bytes)
			to[n++] = *list;
	}
	return false;
}

static const struct type {
	const char *name;
	uint8_t type; /* enum library_type */
	uint8_t bytes;
} known_types[] = {
	{ "float", LIBRARY_F32, 4 },
	{ "double", LIBRARY_F64, 8 },
	{ "c10::Half", LIBRARY_F16, 2 },
	{ "c10::BFloat16", LIBRARY_BF16, 2 },
	{ "c10::Float8_e4m3fn", LIBRARY_F8_E4M3, 1 },
	{ "c10::Float8_e5m2", LIBRARY_F8_E5M2, 1 },
	{ "signedchar", LIBRARY_I8, 1 },
	{ "c10::complex<float>", LIBRARY_C32, 8 },
	{ "c10::complex<double>", LIBRARY_C64, 16 },
};

static const struct type *type_of(const struct inputs *in, unsigned input)
{
	char name[40];
	if (!item(name, sizeof(name), in->types, input))
		return NULL;
	for (size_t i = 0; i < sizeof(known_types) / sizeof(*known_types); i++)
		if (!strcmp(known_types[i].name, name))
			return &known_types[i];
	return NULL;
}

static double elements(const struct dims *d)
{
	double n = 1;
	for (size_t i = 0; i < d->n; i++)
		n *= d->at[i];
	return n;
}

static const struct dims *input(const struct inputs *in, unsigned i, size_t n_dims)
{
	return i < in->n && in->of[i].n == n_dims ? &in->of[i] : NULL;
}

/* Returns whether the value is true: "True" or a number other than 0. `*is_known`: it is given. */
static bool is_true(const struct inputs *in, unsigned i, bool *is_known)
{
	char text[16];
	*is_known = item(text, sizeof(text), in->values, i) && *text;
	return *is_known && strcmp(text, "False") != 0 && strcmp(text, "0") != 0;
}

/* Returns number `i` of a list among the values; `single` if the list has only one, `missing` if it
 * is not given. */
static double number_in(const struct inputs *in, unsigned value, unsigned i, double missing)
{
	char list[64], text[16], *end;
	if (!item(list, sizeof(list), in->values, value) ||
	    (!item(text, sizeof(text), list, i) && !item(text, sizeof(text), list, 0)))
		return missing;
	double number = strtod(text, &end);
	return end == text || !(number >= 0 && number <= number_most) ? missing : number;
}

/* ---- Costs ---- */

struct row {
	const char *name;
	bool (*find)(struct operator_cost *to, const struct inputs *in, const struct row *row);
	/* the first matrix, the weight, or the query among the inputs */
	uint8_t first;
	/* convolutions: the places of stride, padding, dilation among the values, and of what tells
	 * whether it is transposed, 0: it is not; attention: the place of what tells whether it is
	 * causal */
	uint8_t stride, padding, dilation, transposed, causal;
	bool is_backward;
	bool is_by_token; /* attention: [batch, tokens, heads, width], not heads before tokens */
};

static void say_shape(struct operator_cost *to, const struct dims *const *list, size_t n)
{
	size_t at = 0;
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < list[i]->n && at < sizeof(to->shape); k++)
			at += (size_t)snprintf(to->shape + at, sizeof(to->shape) - at, "%s%.0f",
					       k   ? "x"
					       : i ? " "
						   : "",
					       list[i]->at[k]);
}

/* Products of matrices, or of batches of them: [m, k] by [k, n]. */
static bool find_product(struct operator_cost *to, const struct inputs *in, const struct row *row)
{
	size_t n_dims = row->first < in->n ? in->of[row->first].n : 0;
	const struct dims *a = input(in, row->first, n_dims),
			  *b = input(in, row->first + 1u, n_dims);
	const struct type *type = type_of(in, row->first);
	if (!a || !b || !type || (n_dims != 2 && n_dims != 3))
		return false;
	double batch = n_dims == 3 ? a->at[0] : 1, m = a->at[n_dims - 2], k = a->at[n_dims - 1],
	       n = b->at[n_dims - 1];
	bool is_complex = type->type == LIBRARY_C32 || type->type == LIBRARY_C64;
	if (b->at[n_dims - 2] != k || (n_dims == 3 && b->at[0] != batch))
		return false;
	to->flops = to->flops_most = (is_complex ? 8 : 2) * batch * m * n * k;
	to->bytes = type->bytes * batch * (m * k + k * n + m * n);
	to->type = type->type;
	say_shape(to, (const struct dims *[]){ a, b }, 2);
	return true;
}

/* Fills the spatial size of a convolution's output. */
static bool find_output(double *positions, const struct inputs *in, const struct row *row,
			const struct dims *x, const struct dims *w)
{
	bool is_known;
	if (row->transposed && is_true(in, row->transposed, &is_known))
		return false;
	*positions = 1;
	for (unsigned i = 0; i + 2 < x->n; i++) {
		double stride = number_in(in, row->stride, i, 0),
		       padding = number_in(in, row->padding, i, -1),
		       dilation = number_in(in, row->dilation, i, 0);
		if (stride <= 0 || padding < 0 || dilation <= 0)
			return false;
		double span = x->at[i + 2] + 2 * padding - dilation * (w->at[i + 2] - 1) - 1;
		*positions *= span < 0 ? 0 : floor(span / stride) + 1;
	}
	return true;
}

static bool find_convolution(struct operator_cost *to, const struct inputs *in,
			     const struct row *row)
{
	size_t n_dims = row->first < in->n ? in->of[row->first].n : 0;
	const struct dims *w = input(in, row->first, n_dims),
			  *x = row->first ? input(in, row->first - 1u, n_dims) : NULL;
	const struct type *type = type_of(in, row->first);
	double positions;
	if (!x || !w || !type || n_dims < 3 || !find_output(&positions, in, row, x, w))
		return false;
	double outputs = x->at[0] * w->at[0] * positions;
	to->flops = to->flops_most = 2 * outputs * elements(w) / w->at[0];
	to->bytes = type->bytes * (elements(x) + elements(w) + outputs);
	to->type = type->type;
	say_shape(to, (const struct dims *[]){ x, w }, 2);
	return true;
}

/* The gradients of the input and of the weight take as much as the forward pass each; a mask says
 * which are computed. */
static bool find_convolution_backward(struct operator_cost *to, const struct inputs *in,
				      const struct row *row)
{
	enum { TRANSPOSED = 7, MASK = 10 };
	size_t n_dims = row->first < in->n ? in->of[row->first].n : 0;
	const struct dims *grad = input(in, 0, n_dims), *x = input(in, 1, n_dims),
			  *w = input(in, row->first, n_dims);
	const struct type *type = type_of(in, row->first);
	char mask[48], one[16];
	bool is_known;
	if (!grad || !x || !w || !type || n_dims < 3 || is_true(in, TRANSPOSED, &is_known))
		return false;
	is_known = item(mask, sizeof(mask), in->values, MASK) && *mask == '[';
	double n = 0, each = 2 * elements(grad) * elements(w) / w->at[0],
	       moved = elements(grad) + elements(x) + elements(w);
	for (unsigned i = 0; is_known && i < 2; i++) {
		bool is_computed = item(one, sizeof(one), mask, i) && !strcmp(one, "True");
		n += is_computed;
		moved += is_computed ? elements(i ? w : x) : 0;
	}
	if (is_known && !(n > 0))
		return false;
	to->flops = (is_known ? n : 1) * each;
	to->flops_most = (is_known ? n : 2) * each;
	to->bytes = type->bytes * moved;
	to->type = type->type;
	say_shape(to, (const struct dims *[]){ grad, x, w }, 3);
	return true;
}

/* Two products per query and key that may see each other; five in the backward pass. A causal mask
 * lets a query see the keys up to its own. */
static bool find_attention(struct operator_cost *to, const struct inputs *in, const struct row *row)
{
	const struct dims *q = input(in, row->first, 4), *k = input(in, row->first + 1u, 4),
			  *v = input(in, row->first + 2u, 4);
	const struct type *type = type_of(in, row->first);
	unsigned tokens = row->is_by_token ? 1 : 2, heads = row->is_by_token ? 2 : 1;
	bool is_known, is_causal = is_true(in, row->causal, &is_known);
	if (!q || !k || !v || !type || k->at[3] != q->at[3])
		return false;
	double queries = q->at[tokens], keys = k->at[tokens], all = q->at[0] * q->at[heads],
	       pairs = all * queries * keys,
	       seen = all * (queries <= keys ? queries * (queries + 1) / 2
					     : keys * (keys + 1) / 2 + (queries - keys) * keys),
	       each = (row->is_backward ? 2.0 * (3 * q->at[3] + 2 * v->at[3])
					: 2.0 * (q->at[3] + v->at[3]));
	to->flops = each * (is_known && !is_causal ? pairs : seen);
	to->flops_most = each * (is_known && is_causal && queries == keys ? seen : pairs);
	double moved = elements(q) + elements(k) + elements(v),
	       out = q->at[0] * q->at[heads] * queries * v->at[3];
	to->bytes = type->bytes * (row->is_backward ? 2 * moved + 2 * out : moved + out);
	to->type = type->type;
	say_shape(to, (const struct dims *[]){ q, k }, 2);
	return true;
}

/* The places are those of the operators' signatures in PyTorch's native_functions.yaml. */
static const struct row rows[] = {
	{ "aten::mm", find_product, .first = 0 },
	{ "aten::bmm", find_product, .first = 0 },
	{ "aten::addmm", find_product, .first = 1 },
	{ "aten::baddbmm", find_product, .first = 1 },
	{ "aten::_addmm_activation", find_product, .first = 1 },
	{ "aten::_scaled_mm", find_product, .first = 0 },
	{ "aten::convolution", find_convolution, .first = 1, .stride = 3, .padding = 4,
	  .dilation = 5, .transposed = 6 },
	{ "aten::_convolution", find_convolution, .first = 1, .stride = 3, .padding = 4,
	  .dilation = 5, .transposed = 6 },
	{ "aten::cudnn_convolution", find_convolution, .first = 1, .padding = 2, .stride = 3,
	  .dilation = 4 },
	{ "aten::miopen_convolution", find_convolution, .first = 1, .padding = 3, .stride = 4,
	  .dilation = 5 },
	{ "aten::convolution_backward", find_convolution_backward, .first = 2 },
	{ "aten::_scaled_dot_product_flash_attention", find_attention, .first = 0, .causal = 4 },
	{ "aten::_scaled_dot_product_efficient_attention", find_attention, .first = 0,
	  .causal = 6 },
	{ "aten::_scaled_dot_product_cudnn_attention", find_attention, .first = 0, .causal = 6 },
	{ "aten::_flash_attention_forward", find_attention, .first = 0, .causal = 8,
	  .is_by_token = true },
	{ "aten::_efficient_attention_forward", find_attention, .first = 0, .causal = 9,
	  .is_by_token = true },
	{ "aten::_scaled_dot_product_flash_attention_backward", find_attention, .first = 1,
	  .causal = 11, .is_backward = true },
	{ "aten::_flash_attention_backward", find_attention, .first = 1, .causal = 11,
	  .is_backward = true, .is_by_token = true },
};

static const struct row *row_of(const char *name)
{
	if (strncmp(name, "aten::", strlen("aten::")) != 0)
		return NULL;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (!strcmp(rows[i].name, name))
			return &rows[i];
	return NULL;
}

bool operator_cost_knows(const char *name)
{
	return row_of(name);
}

bool operator_cost_find(struct operator_cost *to, const char *name, const char *dims,
			const char *types, const char *values)
{
	struct inputs in = { .types = types, .values = values };
	const struct row *row = row_of(name);
	memset(to, 0, sizeof(*to));
	read_inputs(&in, dims);
	return row && row->find(to, &in, row) && to->flops > 0;
}
