/* Kernels' names, shortened: what distinguishes them stays. */
#include "export/kernel_words.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void assert_short(const char *name, const char *expected)
{
	char to[600];
	assert_string_equal(kernel_short(to, sizeof(to), name), expected);
}

static void common_parts_are_cut(void **state)
{
	(void)state;
	assert_short("ampere_sgemm_128x64_tn", "ampere_sgemm_128x64_tn");
	assert_short("triton_poi_fused_add_0", "triton_poi_fused_add_0");
	assert_short("void at::native::vectorized_elementwise_kernel<4, "
		     "at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(int, "
		     "at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)",
		     "vectorized_elementwise_kernel<4, CUDAFunctor_add<float>, array<char*, 3ul> "
		     ">");
	assert_short("void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_128x64>(cutlass_80::"
		     "Params)",
		     "Kernel2<cutlass_80_tensorop_s1688gemm_128x64>");
	assert_short("void at::native::(anonymous namespace)::fused_dropout<float, (bool)1, "
		     "unsigned long>(int)",
		     "fused_dropout<float, 1, unsigned long>");
	assert_short("Outer<int>::run(float*)", "Outer<int>::run");
}

static void a_lambdas_function_is_kept(void **state)
{
	(void)state;
	assert_short("void at::native::elementwise_kernel<128, 4, "
		     "at::native::gpu_kernel_impl_nocast<at::native::direct_copy_kernel_cuda("
		     "at::TensorIteratorBase&)::{lambda()#3}::operator()() const::{lambda()#7}::"
		     "operator()() const::{lambda(float)#1}>(at::TensorIteratorBase&, "
		     "at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3})::"
		     "{lambda(int)#1}>(int)",
		     "elementwise_kernel<128, 4, gpu_kernel_impl_nocast<direct_copy_kernel_cuda::"
		     "lambda#3::lambda#7::lambda#1>::lambda#1>");
}

/* Whatever a program calls its kernels. */
static void no_name_is_too_odd(void **state)
{
	static const char *const names[] = {
		"",    "(",	"<<<<",	      "a::",	  "::",		  "{",	 ">",
		"a<b", "void ", "operator()", "f(g<h>::", "größe::größe", "{}#", "a)::b"
	};
	char to[16], deep[400];
	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		assert_true(strlen(kernel_short(to, sizeof(to), names[i])) < sizeof(to));
	memset(deep, '<', sizeof(deep));
	for (size_t i = 0; i < sizeof(deep); i += 2)
		deep[i] = 'a';
	deep[sizeof(deep) - 1] = 0;
	assert_true(strlen(kernel_short(to, sizeof(to), deep)) < sizeof(to));
	assert_short("größe::größe", "größe");
	assert_short("(", "(");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(common_parts_are_cut),
		cmocka_unit_test(a_lambdas_function_is_kept),
		cmocka_unit_test(no_name_is_too_odd),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
