/* Readable names: real ones, and hostile ones, which must cost little time, memory and stack. */
#include "core/util/demangle.h"
#include "core/util/vec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

static void check_brief(const char *mangled, const char *brief)
{
	char *is = demangle_function(mangled);
	assert_string_equal(is, brief);
	free(is);
}

static void check_full(const char *mangled, const char *full)
{
	char *is = demangle(mangled);
	assert_string_equal(is, full);
	free(is);
}

static void check_short(const char *full, const char *brief)
{
	char *name = mem_text(full);
	demangle_shorten(name, 8);
	assert_string_equal(name, brief);
	free(name);
}

static void test_brief_names(void **state)
{
	(void)state;
	check_brief("main", "main");
	check_brief("_Z4worki.cold", "work");
	check_brief("_Z4worki.constprop.0.isra.1", "work");
	check_brief("_ZNKSt6vectorIiSaIiEE4sizeEv", "std::vector<int, std::allocator<int> >::size");
	check_brief("_Z7genericIfEvPT_", "generic<float>");
	check_brief("_ZN12_GLOBAL__N_14workEi", "(anonymous namespace)::work");
	check_brief("_ZN1AcviEv", "A::operator int");
	check_brief("_ZN1AclEi", "A::operator()");
	check_brief("_ZN1AltERKS_", "A::operator<");
	check_brief("_ZN1AlsIiEERS_T_", "A::operator<< <int>");
	check_brief("_ZN1AptEv", "A::operator->");
	check_brief("_Znwm", "operator new");
	check_brief("_ZZ4workiENKUliE_clEi", "work::{lambda(int)#1}::operator()");
	check_brief("_Z1fPFviE", "f");
	check_brief("_Z1fIiEPFvT_EOS0_", "void (*f<int>(int&&))(int)"); /* stays whole */
	check_brief("_Z3fooILi3EEDTcl1gEEv", "foo<3>");
}

static void test_rust_names(void **state)
{
	(void)state;
	check_brief("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad");
	check_brief("_ZN41_$LT$alloc..Vec$LT$T$GT$$u20$as$u20$A$GT$4drop17h0123456789abcdefE",
		    "<alloc::Vec<T> as A>::drop");
	check_brief("_ZN3std2rt10lang_start28_$u7b$$u7b$closure$u7d$$u7d$17h168e94e611939a97E",
		    "std::rt::lang_start::{{closure}}");
	check_brief("_ZN4work16h0123456789abcdeE", "work::h0123456789abcde"); /* C++ after all */
	check_full("_ZN1t7$u00$$x17h0123456789abcdefE", "t::$u00$$x");
	check_brief("_RNvC1t4main", "_RNvC1t4main"); /* v0 */
	check_brief("_RNvC1t4mai", "_RNvC1t4mai");
}

static void test_kernel_names(void **state)
{
	(void)state;
	check_full("_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_"
		   "addIfEESt5array"
		   "IPcLm3EEEEviT0_T1_",
		   "void at::native::vectorized_elementwise_kernel<4, "
		   "at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(int, "
		   "at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)");
	check_full("_ZN7cutlass7Kernel2I66cutlass_80_tensorop_f16_s16816gemm_relu_f16_256x128_32x3_"
		   "nn_"
		   "align8EEvNT_6ParamsE",
		   "void cutlass::Kernel2<cutlass_80_tensorop_f16_s16816gemm_relu_f16_256x128_32x3_"
		   "nn_align8>(cutlass_80_tensorop_f16_s16816gemm_relu_f16_256x128_32x3_nn_align8::"
		   "Params)");
	check_full("ampere_sgemm_128x64_nn", "ampere_sgemm_128x64_nn");
}

static void test_shortened_names(void **state)
{
	(void)state;
	check_short("a::b<c<d>, e>::call<operator<long_name_here>", "a::b<...>::call<...>");
	check_short("a<1234567>", "a<...>");
	check_short("a<b<1234567>", "a<b<...>");
}

/* ---- Hostile names ---- */

static char *repeat(char *to, const char *part, size_t n)
{
	while (n--)
		to = stpcpy(to, part);
	return to;
}

/* Appends types that refer twice each to the one before: f is candidate 0, std::pair 1. */
static char *put_doubling_types(char *to, unsigned n)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	to = stpcpy(to, "St4pairIiiE");
	for (unsigned i = 1; i < n; i++)
		to += sprintf(to, "S0_IS%c_S%c_E", digits[i], digits[i]);
	return to;
}

static void check_stays_mangled(const char *name)
{
	check_full(name, name);
	check_brief(name, name);
}

/* Without limits these take gigabytes or years. */
static void test_exploding_names(void **state)
{
	(void)state;
	char name[1024];
	strcpy(put_doubling_types(stpcpy(name, "_Z1fI"), 6), "Evv");
	char *full = demangle(name);
	assert_true(strlen(full) > 500 && !strncmp(full, "void f<std::pair<int, int>, ", 28));
	free(full);
	strcpy(put_doubling_types(stpcpy(name, "_Z1fI"), 34), "Evv");
	check_stays_mangled(name);
	strcpy(put_doubling_types(stpcpy(name, "_Z1fI"), 34),
	       "EDpSX_v"); /* searched before printed */
	check_stays_mangled(name);
	strcpy(repeat(repeat(stpcpy(name, "_ZN1A"), "cvT_I", 60), "E", 60), "Ev");
	check_stays_mangled(name);
	strcpy(repeat(repeat(repeat(stpcpy(name, "_Z1fIJiiEEv"), "DpSt4pairIT_", 60), "i", 1), "E",
		      60),
	       "v");
	full = demangle(name);
	assert_true(strlen(full) < 65536);
	free(full);
}

/* Longer than what recursion may cost, in each kind of nesting. */
static void test_deep_names(void **state)
{
	(void)state;
	static const struct {
		const char *head, *open, *inner, *close;
	} forms[] = {
		{ "_Z1f", "P", "i", "" },
		{ "_Z1f", "PFv", "i", "E" },
		{ "_Z1f", "St4pairIi", "i", "E" },
		{ "_ZN", "1AI", "i", "E" },
		{ "_Z", "Z", "1fv", "E1gv" },
		{ "_Z1fIX", "ng", "Li1E", "" },
		{ "_Z1fI", "J", "i", "E" },
		{ "_Z1f", "A1_", "i", "" },
		{ "_Z1f", "M1A", "i", "" },
		{ "_ZZ1fvEN", "Ul", "i", "E_" },
		{ "", "(", "", ")" },
		{ "_Z", "<", "", ">" },
		{ "f<", "operator<", "", ">" },
		{ "_ZN", "4f<(x", "", "E" },
		{ "_ZN", "1$", "17h0123456789abcdef", "E" },
	};
	const size_t depth = 100000;
	char *name = mem_resize(NULL, 32 * depth);
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		char *to = stpcpy(name, forms[i].head);
		to = stpcpy(repeat(to, forms[i].open, depth), forms[i].inner);
		repeat(to, forms[i].close, depth);
		check_stays_mangled(name);
		demangle_shorten(name, 8);
		assert_true(strlen(name) > 0);
	}
	free(name);
}

/* Real names, cut at each byte and with bytes changed: any text but a crash, and soon. */
static void test_damaged_names(void **state)
{
	(void)state;
	static const char *const names[] = {
		"_ZN2at6native54_GLOBAL__N__8e11a5fb_21_DistributionNormal_cu_"
		"0c5b6e8543distribution_"
		"elementwise_grid_stride_kernelIfLi4EZNS0_9templates4cuda20normal_and_"
		"transformIffPNS_"
		"17CUDAGeneratorImplEZZZNS4_13normal_kernelIS7_EEvRKNS_10TensorBaseEddT_ENKUlvE_"
		"clEvENK"
		"UlvE0_clEvEUlfE_EEvRNS_18TensorIteratorBaseET1_T2_EUlP24curandStatePhilox4_32_10E_"
		"ZNS1"
		"_27distribution_nullary_kernelIff6float4S7_SM_SF_EEvSH_SJ_RKT3_T4_EUlifE_EEvlNS_15"
		"PhiloxCudaStateESI_SJ_",
		"_ZNK3c1010Dispatcher4callIN2at6TensorEJRKS3_S5_NS_8ArrayRefINS_6SymIntEEEEEET_"
		"RKNS_19"
		"TypedOperatorHandleIFS9_DpT0_EEESC_",
		"_ZN41_$LT$alloc..Vec$LT$T$GT$$u20$as$u20$A$GT$4drop17h0123456789abcdefE",
	};
	static const char bytes[] = "_0123456789ABCDEFGIJKLMNOPRSTUVXZabcdefilmnopstvx$.<>()";
	srand(20261126);
	clock_t begin = clock();
	for (size_t i = 0; i < 20000; i++) {
		char *name = mem_text(names[i % 3]);
		size_t n = strlen(name);
		if (i < 1500)
			name[i / 3 % n] = 0;
		for (size_t k = 0; i >= 1500 && k <= i % 5; k++)
			name[2 + (size_t)rand() % (n - 2)] =
				bytes[(size_t)rand() % (sizeof(bytes) - 1)];
		char *full = demangle(name), *brief = demangle_function(name);
		assert_true(strlen(full) < 65536 && strlen(brief) < 65536);
		demangle_shorten(brief, 8);
		free(full);
		free(brief);
		free(name);
	}
	assert_true((clock() - begin) / CLOCKS_PER_SEC < 60);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_brief_names),	cmocka_unit_test(test_rust_names),
		cmocka_unit_test(test_kernel_names),	cmocka_unit_test(test_shortened_names),
		cmocka_unit_test(test_exploding_names), cmocka_unit_test(test_deep_names),
		cmocka_unit_test(test_damaged_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
