/*
 * Prints how step learning does on launch sequences: steps FILE.tsv[.gz]... [--no-names]. One line
 * a file: whether every step after the lock (or every two, where an iteration marks two) has
 * exactly one boundary, whether it is where the true step ends, and how many steps it took.
 */
#include "test/steps/sequence.h"

#include <string.h>

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

int main(int argc, char **argv)
{
	bool names = true;
	int n = 0, n_period = 0, n_exact = 0, n_false = 0;
	printf("%-32s %7s %5s %6s %5s %7s %5s %6s %6s %5s %s\n", "program", "events", "steps",
	       "locked", "found", "1/step", "exact", "late", "confid", "ms", "by");
	for (int i = 1; i < argc; i++) {
		struct sequence s;
		struct sequence_result r;
		struct err e;
		if (!strcmp(argv[i], "--no-names")) {
			names = false;
			continue;
		}
		if (sequence_load(&s, argv[i], names, &e)) {
			fprintf(stderr, "steps: %s\n", e.text);
			return 1;
		}
		sequence_run(&s, 1, false, &r);
		n++;
		bool period = r.one_per_step == 1 || r.one_per_pair == 1;
		n_period += r.locked && period;
		n_exact += r.locked && r.exact == 1;
		n_false += r.locked && r.one_per_step < 0.95 && r.one_per_pair < 0.95;
		if (r.locked)
			printf("%-32s %7u %5u %6.1f %5u %7.3f %5.2f %+6d %6.2f %5.1f %s\n",
			       file_name(argv[i]), s.n, s.n_ends, r.locked_steps, r.looks,
			       r.one_per_step, r.exact, r.typical_late, r.choice.confidence,
			       r.seconds * 1e3,
			       r.choice.boundary == LEVEL_BY_OPTIMIZER ? "optimizer" : "gap");
		else
			printf("%-32s %7u %5u abstains %50.1f\n", file_name(argv[i]), s.n, s.n_ends,
			       r.seconds * 1e3);
		sequence_free(&s);
	}
	printf("%d programs: one boundary per step in %d, at the true end in %d, false locks %d\n",
	       n, n_period, n_exact, n_false);
	return n ? 0 : 2;
}
