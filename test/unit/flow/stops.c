/*
 * Functions that return and functions that do not, for test_no_return.c. Compiled as C++ where
 * there is a compiler for it, else as C.
 */
#ifdef __cplusplus
#define ELSEWHERE extern "C"
#else
#define ELSEWHERE extern
#endif
#define SHOWN	 __attribute__((visibility("default"), noinline, noclone))
#define HERE	 static __attribute__((noinline, noclone, used))
#define NORETURN __attribute__((noreturn))

ELSEWHERE int work(int);
ELSEWHERE NORETURN void exit(int);
ELSEWHERE NORETURN void __assert_fail(const char *, const char *, unsigned, const char *);
ELSEWHERE NORETURN void throw_range(const char *) __asm__("_ZSt20__throw_out_of_rangePKc");
ELSEWHERE int like_exit(int) __asm__("_ZN4user7__throwEi");

ELSEWHERE SHOWN NORETURN void shown_fail(int code)
{
	work(code);
	exit(code);
}

HERE NORETURN void fail(const char *text)
{
	work(text != 0);
	exit(1);
}

HERE NORETURN void spin(void)
{
	for (;;)
		work(0);
}

/* Ends with a jump to work(), which may return. */
HERE int jumps(int n)
{
	return work(n + 1);
}

HERE int returns(int n)
{
	if (n > 3)
		fail("n");
	return work(n) + 1;
}

#ifdef __cplusplus
/* Its only way back to the caller is the handler. */
HERE int catches(int n)
{
	try {
		throw n;
	} catch (int) {
		work(n);
	}
	return 0;
}
#else
HERE int catches(int n)
{
	return work(n) + work(1);
}
#endif

/* Five calls that never return. */
ELSEWHERE SHOWN int stops(int n)
{
	int sum = work(n);
	if (sum == 1)
		exit(1);
	if (sum == 2)
		__assert_fail("a", "b", 1, "c");
	if (sum == 3)
		throw_range("d");
	if (sum == 4)
		fail("e");
	if (sum == 5)
		spin();
	return work(sum) + 1;
}

/* One call that never returns, through the linker: another object may replace the function. */
ELSEWHERE SHOWN int stops_shown(int n)
{
	int sum = work(n);
	if (sum == 1)
		shown_fail(2);
	return work(sum) + 1;
}

/* All calls return. */
ELSEWHERE SHOWN int goes_on(int n)
{
	int sum = work(n) + like_exit(n);
	sum += jumps(sum);
	sum += returns(sum);
	return catches(sum) + 1;
}
