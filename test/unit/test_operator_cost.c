/* The arithmetic of operators, from the shapes of their inputs. */
#include "core/model/operator_cost.h"
#include "core/runtime/kinds.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static struct operator_cost cost(const char *name, const char *dims, const char *types,
				 const char *values)
{
	struct operator_cost c;
	assert_true(operator_cost_find(&c, name, dims, types, values));
	return c;
}

static void assert_unknown(const char *name, const char *dims, const char *types,
			   const char *values)
{
	struct operator_cost c;
	assert_false(operator_cost_find(&c, name, dims, types, values));
}

static void assert_equal(double a, double b)
{
	assert_true(a == b);
}

static void products(void **state)
{
	(void)state;
	struct operator_cost c = cost("aten::mm", "[[3,5],[5,7]]", "[float,float]", "");
	assert_equal(c.flops, 2 * 3 * 5 * 7);
	assert_equal(c.flops_most, c.flops);
	assert_equal(c.bytes, 4 * (3 * 5 + 5 * 7 + 3 * 7));
	assert_int_equal(c.type, LIBRARY_F32);
	assert_string_equal(c.shape, "3x5 5x7");
	c = cost("aten::addmm", "[[7],[3,5],[5,7],[],[]]",
		 "[c10::Half,c10::Half,c10::Half,Scalar,Scalar]", "");
	assert_equal(c.flops, 2 * 3 * 5 * 7);
	assert_int_equal(c.type, LIBRARY_F16);
	c = cost("aten::bmm", "[[4,3,5],[4,5,7]]", "[c10::BFloat16,c10::BFloat16]", "");
	assert_equal(c.flops, 4 * 2 * 3 * 5 * 7);
	c = cost("aten::mm", "[[3,5],[5,7]]", "[c10::complex<float>,c10::complex<float>]", "");
	assert_equal(c.flops, 8 * 3 * 5 * 7);
	assert_unknown("aten::mm", "[[3,5],[6,7]]", "[float,float]", "");
	assert_unknown("aten::mm", "[[3,5]]", "[float]", "");
	assert_unknown("aten::mm", "[[3,5],[5,7]]", "[longint,longint]", "");
	assert_unknown("aten::mm", "[[3,5", "[float,float]", "");
	assert_unknown("aten::mm", "", "", "");
	assert_unknown("aten::mm", "[[-3,5],[5,-7]]", "[float,float]", "");
	assert_unknown("aten::mm", "[[inf,5],[5,7]]", "[float,float]", "");
	assert_unknown("aten::relu", "[[3,5]]", "[float]", "");
}

/* ResNet's first layer: 7x7, stride 2, padding 3 makes 112x112 of 224x224. */
static void convolutions(void **state)
{
	(void)state;
	static const char dims[] = "[[8,3,224,224],[64,3,7,7],[],[],[],[],[],[],[]]",
			  types[] = "[float,float,,ScalarList,ScalarList,ScalarList,Scalar,"
				    "ScalarList,Scalar]";
	struct operator_cost c =
		cost("aten::convolution", dims, types, "[,,,[2,2],[3,3],[1,1],False,[0,0],1]");
	assert_equal(c.flops, 2.0 * 8 * 64 * 112 * 112 * 3 * 7 * 7);
	assert_equal(c.bytes, 4.0 * (8 * 3 * 224 * 224 + 64 * 3 * 7 * 7 + 8 * 64 * 112 * 112));
	c = cost("aten::cudnn_convolution", "[[8,3,224,224],[64,3,7,7]]", "[float,float]",
		 "[,,[3],[2],[1],1]");
	assert_equal(c.flops, 2.0 * 8 * 64 * 112 * 112 * 3 * 7 * 7);
	assert_unknown("aten::convolution", dims, types, "");
	assert_unknown("aten::convolution", dims, types, "[,,,[2,2],[3,3],[1,1],True,[0,0],1]");
}

static void gradients_of_convolutions(void **state)
{
	(void)state;
	static const char dims[] = "[[2,8,4,4],[2,6,4,4],[8,6,1,1],[]]",
			  types[] = "[float,float,float,]";
	double each = 2.0 * 2 * 8 * 16 * 6;
	struct operator_cost c = cost("aten::convolution_backward", dims, types,
				      "[,,,[8],[1,1],[0,0],[1,1],False,[0,0],1,[True,True,False]]");
	assert_equal(c.flops, 2 * each);
	c = cost("aten::convolution_backward", dims, types,
		 "[,,,[8],[1,1],[0,0],[1,1],False,[0,0],1,[False,True,False]]");
	assert_equal(c.flops, each);
	assert_equal(c.flops_most, each);
	c = cost("aten::convolution_backward", dims, types, "");
	assert_equal(c.flops, each);
	assert_equal(c.flops_most, 2 * each);
	assert_unknown("aten::convolution_backward", dims, types,
		       "[,,,[8],[1,1],[0,0],[1,1],True,[0,0],1,[True,True,False]]");
}

static void attention(void **state)
{
	(void)state;
	static const char heads_first[] = "[[2,4,16,8],[2,4,16,8],[2,4,16,8],[],[],[]]",
			  tokens_first[] = "[[2,16,4,8],[2,16,4,8],[2,16,4,8]]",
			  types[] = "[c10::Half,c10::Half,c10::Half]";
	static const char name[] = "aten::_scaled_dot_product_flash_attention";
	double all = 4.0 * 2 * 4 * 16 * 16 * 8, causal = 4.0 * 2 * 4 * (16 * 17 / 2.0) * 8;
	struct operator_cost c = cost(name, heads_first, types, "[,,,0.,False,False]");
	assert_equal(c.flops, all);
	assert_equal(c.flops_most, all);
	c = cost(name, heads_first, types, "[,,,0.,True,False]");
	assert_equal(c.flops, causal);
	assert_equal(c.flops_most, causal);
	c = cost(name, heads_first, types, "");
	assert_equal(c.flops, causal);
	assert_equal(c.flops_most, all);
	c = cost("aten::_flash_attention_forward", tokens_first, types, "[,,,,,16,16,0.,False]");
	assert_equal(c.flops, all);
	assert_unknown("aten::_flash_attention_forward", "[[32,4,8],[32,4,8],[32,4,8],[3],[3]]",
		       types, "");
	c = cost("aten::_flash_attention_backward",
		 "[[2,16,4,8],[2,16,4,8],[2,16,4,8],[2,16,4,8],[2,16,4,8]]",
		 "[c10::Half,c10::Half,c10::Half,c10::Half,c10::Half]", "[,,,,,,,,,16,16,False]");
	assert_equal(c.flops, 2.5 * all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(products),
		cmocka_unit_test(convolutions),
		cmocka_unit_test(gradients_of_convolutions),
		cmocka_unit_test(attention),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
