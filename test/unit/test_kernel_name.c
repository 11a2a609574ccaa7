/* What kernels' names tell. */
#include "core/util/kernel_name.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void test_optimizers(void **state)
{
	(void)state;
	assert_true(kernel_is_optimizers("_ZN2at6native12_GLOBAL__N_125multi_tensor_apply_"
					 "kernelINS1_18TensorList"));
	assert_true(kernel_is_optimizers("void at::native::FusedAdamMathFunctor<float>(int)"));
	assert_false(kernel_is_optimizers("_amp_foreach_non_finite_check_and_unscale_cuda_multi_"
					  "tensor_apply_kernel"));
	assert_false(kernel_is_optimizers("multi_tensor_apply_kernel LpNormFunctor"));
	assert_true(kernel_is_optimizers("adamw_kernel3(float*, float const*)"));
	assert_false(kernel_is_optimizers("ampere_sgemm_128x64_tn"));
	assert_false(kernel_is_optimizers("elementwise_kernel<{lambda(int)#1}>"));
	assert_false(kernel_is_optimizers(""));
}

static void test_tensor_cores(void **state)
{
	(void)state;
	assert_true(kernel_uses_tensor_cores("nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_NNT"));
	assert_true(kernel_uses_tensor_cores("ampere_fp16_s16816gemm_fp16_128x128_ldg8_tn"));
	assert_true(kernel_uses_tensor_cores("void flash::flash_fwd_kernel<...>"));
	assert_true(kernel_uses_tensor_cores("cutlass_80_tensorop_f16_s16816gemm"));
	assert_false(kernel_uses_tensor_cores("ampere_sgemm_128x64_nn"));
	assert_false(kernel_uses_tensor_cores("cutlass_80_simt_sgemm_128x64_8x5_nn"));
	assert_false(kernel_uses_tensor_cores("void at::native::vectorized_elementwise_kernel<4>"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_optimizers),
		cmocka_unit_test(test_tensor_cores),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
