/*
 * Functions whose loops test_flow_machine.c finds in the machine code. Each call is of another
 * function, so that the test can find its places. Built with several optimizations and, if there is
 * a compiler, for aarch64.
 */
extern int entry(void), outer(void), inner(void), outer_end(void), leave(void), innermost(void);
extern int poll_work(void), work(void), skips(void), tail(void), done(void);
extern int first_loop(void), between(void), second_loop(void);
extern int kind(void), case_0(void), case_1(void), case_2(void), case_3(void), case_4(void),
	case_5(void), case_6(void), case_7(void), other_case(void), case_end(void);
extern int setup(void), launch(void), if_user(void), user(void);
extern int again(void), both(void), sweep(int), stride(void), element(int), first(void), then(int),
	warm_up(void), begin(void), seldom(void), end(void);

__attribute__((visibility("default"))) void nested(int n, int m)
{
	entry();
	for (int i = 0; i < n; i++) {
		outer();
		for (int j = 0; j < m; j++) {
			inner();
			for (int k = 0; k < j; k++)
				innermost();
		}
		outer_end();
	}
	leave();
}

__attribute__((visibility("default"))) void breaks(void)
{
	for (;;) {
		if (poll_work())
			break;
		work();
		if (skips())
			continue;
		tail();
	}
	done();
}

__attribute__((visibility("default"))) void one_after_the_other(int n)
{
	for (int i = 0; i < n; i++)
		first_loop();
	between();
	do
		second_loop();
	while (n-- > 0);
}

__attribute__((visibility("default"))) void switches(int n)
{
	for (int i = 0; i < n; i++) {
		switch (kind()) {
		case 0:
			case_0();
			break;
		case 1:
			case_1();
			break;
		case 2:
			case_2();
			break;
		case 3:
			case_3();
			break;
		case 4:
			case_4();
			break;
		case 5:
			case_5();
			break;
		case 6:
			case_6();
			break;
		case 7:
			for (int k = 0; k < n; k++)
				case_7();
			break;
		default:
			other_case();
		}
		case_end();
	}
}

/* The shape that nvcc makes of a launch, and the same for a call of the program's own. */
__attribute__((visibility("default"))) void launches(int n)
{
	for (int i = 0; i < n; i++)
		if (!setup())
			launch();
}

__attribute__((visibility("default"))) void ifs(int n, const int *wanted)
{
	for (int i = 0; i < n; i++) {
		if_user();
		if (wanted[i] > 3)
			user();
	}
}

__attribute__((visibility("default"))) int tail_call(int n)
{
	while (n-- > 0)
		first_loop();
	return leave();
}

/* Loops that compilers unroll, and others that look as if they were. */

__attribute__((visibility("default"))) void repeats(int n)
{
	for (int i = 0; i < n; i++)
		again();
}

__attribute__((visibility("default"))) void twice(int n)
{
	for (int i = 0; i < n; i++) {
		both();
		both();
	}
}

__attribute__((visibility("default"))) void colours(int n)
{
	for (int i = 0; i < n; i += 2) {
		sweep(0);
		sweep(1);
	}
}

__attribute__((visibility("default"))) void strided(int n)
{
	for (int i = 0; i < n; i += 4)
		stride();
}

__attribute__((visibility("default"))) void each(const int *from, const int *to)
{
	for (; from != to; from++)
		element(*from);
}

__attribute__((visibility("default"))) void pairs(int n)
{
	while (n-- > 0) {
		first();
		then(n);
	}
}

__attribute__((visibility("default"))) void known(void)
{
	for (int i = 0; i < 60; i++)
		again();
}

__attribute__((visibility("default"))) void warms_up(int n)
{
	warm_up();
	for (int i = 0; i < n; i++)
		warm_up();
}

__attribute__((visibility("default"))) void decides(int n, int each)
{
	for (int i = 0; i < n; i++) {
		begin();
		if (i % each == 0)
			seldom();
		end();
	}
}
