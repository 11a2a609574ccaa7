/*
 * Matches the names of functions against a table of forms. A form consists of a start, an end, and
 * a function that makes the operator's name from the part between the two.
 */
#include "core/symbols/operators.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

struct part {
	const char *at;
	size_t n;
};

static bool ends_with(struct part p, const char *with)
{
	size_t n = strlen(with);
	return p.n >= n && !memcmp(p.at + p.n - n, with, n);
}

static bool is_one_of(struct part p, const char *const *table, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strlen(table[i]) == p.n && !memcmp(table[i], p.at, p.n))
			return true;
	return false;
}

/*
 * ---- ATen ----
 * The identifiers join an operator's name and its overload: add__Tensor is the overload "Tensor" of
 * "add_".
 */

/*
 * Names of overloads. A name that begins with a capital needs no row. With this table and the next,
 * 98 % of the 3,110 operators of PyTorch 2.15 are split as in their schemas. The names of the other
 * operators keep their overload.
 */
static const char *const overloads[] = {
	"out",
	"grad_input",
	"int",
	"n_scalar",
	"x_scalar",
	"dim",
	"dtype",
	"vec",
	"generator",
	"tensor_lr",
	"mode",
	"periodic",
	"float",
	"correction",
	"low",
	"other_scalar",
	"output",
	"self",
	"scalar",
	"source",
	"dims",
	"values",
	"array",
	"atol_rtol",
	"input",
	"stable",
	"decimals",
	"dx",
	"other",
	"src",
	"two",
	"value",
	"x",
	"a",
	"all",
	"alpha",
	"beta",
	"bins",
	"bin_ct",
	"ccol_row",
	"crow_col",
	"comp_plain",
	"m",
	"ord_str",
	"no_stats",
	"output_mask",
	"p_str",
	"rcond_tensor",
	"result",
	"start",
	"step",
	"str_ord",
	"tol_tensor",
	"unary",
	"from",
	"to",
	"device",
	"data",
	"value_size",
	"value_reduce",
	"sizes",
	"padding_idx",
	"fullcoverage",
	"storage_offset",
	"memory_format",
	"atol_rtol_tensor",
	"intlist",
	"dtype_layout",
};

/* Operators whose own names end like an overload, and so must not be split. */
static const char *const whole[] = {
	"_add_batch_dim",
	"_remove_batch_dim",
	"_assert_scalar",
	"_functional_assert_scalar",
	"_convolution_mode",
	"_nested_get_values",
	"_resize_output",
	"_sparse_compressed_tensor_with_dims",
	"_sparse_coo_tensor_with_dims",
	"affine_grid_generator",
	"cudnn_affine_grid_generator",
	"mkldnn_linear_backward_input",
	"norm_except_dim",
	"sparse_dim",
	"dense_dim",
	"sym_storage_offset",
	"take_along_dim",
	"unique_dim",
	"broadcast_to",
	"_sparse_broadcast_to",
	"is_set_to",
	"get_device",
	"_copy_from",
	"_propagate_xla_data",
	"_softmax_backward_data",
	"_log_softmax_backward_data",
	"_sparse_softmax_backward_data",
	"_sparse_log_softmax_backward_data",
};

static bool is_of_underscores(struct part p)
{
	for (size_t i = 0; i < p.n; i++)
		if (p.at[i] != '_')
			return false;
	return true;
}

/* Returns the length of the overload at the end of the name, including the underscore before it; 0
 * if there is no overload. */
static size_t overload_bytes(struct part name)
{
	size_t most = 0, last = name.n;
	for (size_t i = 0; i < sizeof(overloads) / sizeof(*overloads); i++) {
		size_t n = strlen(overloads[i]);
		if (ends_with(name, overloads[i]) && n < name.n && name.at[name.n - n - 1] == '_' &&
		    n + 1 > most)
			most = n + 1;
	}
	while (last > 0 && name.at[last - 1] != '_')
		last--;
	if (!most && last && name.n - last >= 2 && isupper((unsigned char)name.at[last]))
		most = name.n - last + 1;
	return is_of_underscores((struct part){ name.at, name.n - most }) ? 0 : most;
}

static bool aten(struct part name, char *to, size_t room)
{
	size_t n;
	while (!is_one_of(name, whole, sizeof(whole) / sizeof(*whole)) &&
	       (n = overload_bytes(name)) != 0)
		name.n -= n;
	snprintf(to, room, "aten::%.*s", (int)name.n, name.at);
	return true;
}

/* ---- Other operators ---- */

static bool is_identifier(struct part p)
{
	for (size_t i = 0; i < p.n; i++)
		if (!isalnum((unsigned char)p.at[i]) && p.at[i] != '_')
			return false;
	return p.n > 0;
}

static bool as_it_is(struct part name, char *to, size_t room)
{
	snprintf(to, room, "%.*s", (int)name.n, name.at);
	return is_identifier(name);
}

/* Writes the name that torch.profiler uses for a node of the autograd engine: AccumulateGrad,
 * CopySlices and others. */
static bool engine_node(struct part name, char *to, size_t room)
{
	snprintf(to, room, "torch::autograd::%.*s", (int)name.n, name.at);
	return is_identifier(name);
}

/* Writes the name of a collective, if the method of a ProcessGroup is one. */
static bool collective(struct part name, char *to, size_t room)
{
	static const char *const names[] = {
		"allreduce",
		"allreduce_sparse",
		"allreduce_coalesced",
		"broadcast",
		"reduce",
		"allgather",
		"_allgather_base",
		"allgather_coalesced",
		"allgather_into_tensor_coalesced",
		"reduce_scatter",
		"_reduce_scatter_base",
		"reduce_scatter_tensor_coalesced",
		"alltoall",
		"alltoall_base",
		"gather",
		"scatter",
		"send",
		"recv",
		"recvAnysource",
		"barrier",
	};
	const char *colons = memchr(name.at, ':', name.n);
	if (!colons || name.at + name.n - colons < 3)
		return false;
	struct part method = { colons + 2, (size_t)(name.at + name.n - colons) - 2 };
	snprintf(to, room, "c10d::%.*s", (int)method.n, method.at);
	return is_one_of(method, names, sizeof(names) / sizeof(*names));
}

/*
 * Writes the name of the function that was registered with PyTorch's dispatcher. It is the last
 * name after ", &" in the arguments of a template. Returns false for PyTorch's own functions,
 * because their at::_ops functions give better names.
 */
static bool registered(struct part arguments, char *to, size_t room)
{
	static const char mark[] = "CompileTimeFunctionPointer<";
	static const char *const own[] = { "at::", "torch::", "c10" };
	const char *at = memmem(arguments.at, arguments.n, mark, sizeof(mark) - 1);
	if (!at || !(at = memmem(at, arguments.n - (size_t)(at - arguments.at), ", &", 3)))
		return false;
	/* take the last ", &", because earlier ones may be in the function's parameters */
	const char *end = arguments.at + arguments.n;
	for (const char *next = at; next; next = memmem(at + 1, (size_t)(end - at - 1), ", &", 3))
		at = next;
	at += 3;
	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		if (!strncmp(at, own[i], strlen(own[i])))
			return false;
	static const char hidden[] = "(anonymous namespace)::";
	size_t n = 0;
	while (at < end && *at != '>' && *at != ',' && n + 1 < room) {
		if (!strncmp(at, hidden, sizeof(hidden) - 1))
			at += sizeof(hidden) - 1;
		else if (*at == '(')
			break;
		else
			to[n++] = *at++;
	}
	to[n] = 0;
	return n > 0;
}

static const struct form {
	const char *begin, *end;
	bool (*make)(struct part middle, char *to, size_t room);
} forms[] = {
	{ "at::_ops::", "::call", aten },
	{ "at::_ops::", "::redispatch", aten },
	{ "torch::autograd::generated::", "::apply", as_it_is },
	{ "torch::autograd::CppNode<", ">::apply", as_it_is },
	{ "torch::autograd::", "::apply", engine_node },
	{ "c10d::ProcessGroup", "", collective },
	{ "c10::impl::make_boxed_from_unboxed_functor<", "::call", registered },
	{ "c10::impl::wrap_kernel_functor_unboxed_<", "::call", registered },
};

bool operator_name(const char *function, char *to, size_t room)
{
	size_t n = strlen(function);
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		const struct form *f = &forms[i];
		size_t begin = strlen(f->begin), end = strlen(f->end);
		struct part middle = { function + begin, n - begin - end };
		if (n > begin + end && !strncmp(function, f->begin, begin) &&
		    !strcmp(function + n - end, f->end) && f->make(middle, to, room))
			return true;
	}
	return false;
}

bool operator_of_function(const char *qualified, char *to, size_t room)
{
	static const struct {
		const char *method, *suffix;
	} rows[] = { { ".forward", "" }, { ".backward", "Backward" }, { ".vjp", "Backward" } };
	struct part all = { qualified, strlen(qualified) };
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		if (!ends_with(all, rows[i].method))
			continue;
		size_t n = all.n - strlen(rows[i].method), first = n;
		while (first && qualified[first - 1] != '.')
			first--;
		snprintf(to, room, "%.*s%s", (int)(n - first), qualified + first, rows[i].suffix);
		return n > first;
	}
	return false;
}

/* ---- Operators and their nodes ---- */

/*
 * Writes a name in the spelling in which operators and nodes are compared: in lower case, without
 * underscores and without "_forward" at the end. PyTorch's code generator makes a node's name from
 * that of its operator: it removes "_forward", converts the rest to CamelCase, and appends
 * "Backward" and a number for the overload. is_node() removes "Backward" and the number.
 */
static void spell(struct part name, char *to, size_t room)
{
	static const char forward[] = "forward";
	size_t n = 0, most = sizeof(forward) - 1;
	for (size_t i = 0; i < name.n && n + 1 < room; i++)
		if (name.at[i] != '_')
			to[n++] = (char)tolower((unsigned char)name.at[i]);
	if (n > most && !memcmp(to + n - most, forward, most))
		n -= most;
	to[n] = 0;
}

/* Returns whether `name` is that of a node, such as "AddmmBackward0" or "CopyBackwards". Writes the
 * part before "Backward" to `of`. */
static bool is_node(struct part name, struct part *of)
{
	static const char backward[] = "Backward";
	while (name.n && isdigit((unsigned char)name.at[name.n - 1]))
		name.n--;
	if (ends_with(name, "Backwards"))
		name.n--;
	*of = (struct part){ name.at, name.n - (sizeof(backward) - 1) };
	return name.n > sizeof(backward) - 1 && ends_with(name, backward);
}

enum operator_role operator_kind(const char *name, char *kind, size_t room)
{
	static const char aten_prefix[] = "aten::", engine_prefix[] = "torch::autograd::";
	static const char adding_up[] = "torch::autograd::AccumulateGrad";
	struct part all = { name, strlen(name) }, of;
	*kind = 0;
	if (!strncmp(name, aten_prefix, sizeof(aten_prefix) - 1)) {
		spell((struct part){ name + sizeof(aten_prefix) - 1,
				     all.n - (sizeof(aten_prefix) - 1) },
		      kind, room);
		return OPERATOR_FORWARD;
	}
	if (!strncmp(name, engine_prefix, sizeof(engine_prefix) - 1))
		return strcmp(name, adding_up) ? OPERATOR_NODE : OPERATOR_ENGINE;
	if (!is_node(all, &of)) {
		if (!strstr(name, "::")) /* a torch.autograd.Function of Python code */
			spell(all, kind, room);
		return OPERATOR_FORWARD;
	}
	spell(of, kind, room);
	return OPERATOR_NODE;
}
