// Functions with handlers of exceptions, for test_landing_pads.c. GCC moves handlers of optimized
// code into a part of its own: retry(int) [clone .cold].
extern "C" {
void begin(int), run(int), failed(), end(int);

// Repeats what has failed.
void retry(int n)
{
	for (int i = 0; i < n; i++) {
		begin(i);
		while (true) {
			try {
				run(i);
				break;
			} catch (int) {
				failed();
			}
		}
		end(i);
	}
}

// An iteration that fails is given up.
void skip(int n)
{
	for (int i = 0; i < n; i++) {
		begin(i);
		try {
			run(i);
		} catch (...) {
			continue;
		}
		end(i);
	}
}

// No handler.
void plain(int n)
{
	for (int i = 0; i < n; i++)
		run(i);
}
}
