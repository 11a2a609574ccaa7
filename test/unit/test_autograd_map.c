/*
 * Nodes of a backward pass and what made them: the matching on its own, against all possible
 * matches; kinds of names.
 */
#include "core/analysis/autograd_match.h"
#include "core/symbols/operators.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 12 };

/*
 * Every way in which `nodes` may be a part of `made` in reverse: the limits of what each node may
 * be.
 */
struct truth {
	uint32_t latest[MOST], earliest[MOST], at[MOST];
	bool is_possible;
};

static void try_all(struct truth *t, const uint32_t *nodes, size_t n, const uint32_t *made,
		    size_t i, size_t below)
{
	if (i == n) {
		for (size_t k = 0; k < n; k++) {
			if (!t->is_possible || t->at[k] > t->latest[k])
				t->latest[k] = t->at[k];
			if (!t->is_possible || t->at[k] < t->earliest[k])
				t->earliest[k] = t->at[k];
		}
		t->is_possible = true;
		return;
	}
	for (size_t k = 0; k < below; k++)
		if (made[k] == nodes[i]) {
			t->at[i] = (uint32_t)k;
			try_all(t, nodes, n, made, i + 1, k);
		}
}

static void check(const uint32_t *nodes, size_t n, const uint32_t *made, size_t n_made)
{
	struct truth t = { .is_possible = false };
	uint32_t latest[MOST], earliest[MOST];
	try_all(&t, nodes, n, made, 0, n_made);
	assert_int_equal(autograd_match(nodes, n, made, n_made, latest, earliest), t.is_possible);
	for (size_t i = 0; t.is_possible && i < n; i++) {
		assert_int_equal(latest[i], t.latest[i]);
		assert_int_equal(earliest[i], t.earliest[i]);
	}
}

static uint32_t random_below(uint32_t n)
{
	static uint64_t seed = 4711;
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(seed >> 33) % n;
}

static void matches_are_all_that_is_possible(void **state)
{
	(void)state;
	for (int round = 0; round < 5000; round++) {
		uint32_t made[MOST], nodes[MOST], kinds = 1 + random_below(4);
		size_t n_made = random_below(MOST), n = 0;
		for (size_t i = 0; i < n_made; i++)
			made[i] = random_below(kinds);
		for (size_t i = n_made; i-- > 0;)
			if (random_below(2))
				nodes[n++] = round % 4 ? made[i] : random_below(kinds);
		check(nodes, n, made, n_made);
	}
}

static void all_of_a_kind_leave_no_doubt(void **state)
{
	static const uint32_t made[] = { 1, 2, 1, 3 }, nodes[] = { 3, 1, 1 };
	uint32_t latest[3], earliest[3];
	(void)state;
	assert_true(autograd_match(nodes, 3, made, 4, latest, earliest));
	for (int i = 0; i < 3; i++)
		assert_int_equal(latest[i], earliest[i]);
	assert_int_equal(latest[0], 3);
	assert_int_equal(latest[1], 2);
	assert_int_equal(latest[2], 0);
}

static void nodes_and_operators_are_of_a_kind(void **state)
{
	static const char *const pairs[][2] = {
		{ "aten::addmm", "AddmmBackward0" },
		{ "aten::relu_", "ReluBackward0" },
		{ "aten::nll_loss_forward", "NllLossBackward0" },
		{ "aten::_log_softmax", "LogSoftmaxBackward0" },
		{ "aten::max_pool2d_with_indices", "MaxPool2DWithIndicesBackward0" },
		{ "aten::_scaled_dot_product_flash_attention", "ScaledDotProductFlashAttentionBackw"
							       "ard0" },
		{ "aten::native_layer_norm", "NativeLayerNormBackward0" },
		{ "aten::copy_", "CopyBackwards" },
		{ "Doubled", "DoubledBackward" },
	};
	char forward[64], node[64];
	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
		assert_int_equal(operator_kind(pairs[i][0], forward, sizeof(forward)),
				 OPERATOR_FORWARD);
		assert_int_equal(operator_kind(pairs[i][1], node, sizeof(node)), OPERATOR_NODE);
		assert_string_equal(forward, node);
	}
	assert_int_equal(operator_kind("torch::autograd::AccumulateGrad", node, sizeof(node)),
			 OPERATOR_ENGINE);
	assert_int_equal(operator_kind("torch::autograd::PyNode", node, sizeof(node)),
			 OPERATOR_NODE);
	assert_string_equal(node, "");
	assert_int_equal(operator_kind("aten::native_layer_norm_backward", node, sizeof(node)),
			 OPERATOR_FORWARD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(matches_are_all_that_is_possible),
		cmocka_unit_test(all_of_a_kind_leave_no_doubt),
		cmocka_unit_test(nodes_and_operators_are_of_a_kind),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
