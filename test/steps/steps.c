/*
 * Prints how often step learning is right.
 *
 * usage: steps [-k TEXT] [-v] [--clean] [--outcomes] [--seeds N] [--first-seed M] FILE.tsv[.gz]...
 *
 * Tries the recorded programs FILE and all kinds of generated programs. Each kind has three sizes
 * and N variants, from number M (default: 1) on. Each program is tried with launches alone, with
 * kernels' names, and with Python frames; each time without noise and with noise.
 *
 * -k TEXT: only kinds and files with TEXT in their name
 * -v: print a line for each program that is not right or is found late
 * --clean: try without noise only; takes a fifth of the time
 * --outcomes: also print a line for each answer
 */
#include "test/steps/kinds.h"
#include "test/steps/recorded.h"
#include "test/steps/tally.h"

#include <stdlib.h>
#include <string.h>

enum { DEFAULT_SEEDS = 2 };

struct goal {
	double exact, false_locks, noise, locked_share, within_steps;
};

/* Goals in percent: with launches alone, with names, with frames. */
static const struct goal goals[EVIDENCES] = {
	{ 97, 1, 90, 90, 8 },
	{ 97, 1, 90, 90, 8 },
	{ 99, 1, 90, 90, 5 },
};

struct table {
	enum evidence evidence;
	bool verbose, clean_only, outcomes;
	struct tally clean, noisy; /* all rows together */
	struct calibration sure;
};

static void print_head(enum evidence evidence)
{
	printf("\n%-28s %5s | %6s %6s %8s %6s %9s %6s %6s %8s | right in %% with noise\n",
	       evidence_names[evidence], "runs", "exact", "place", "numbers", "false", "corrected",
	       "median", "90 %", "abstains");
	printf("%-28s %5s | %6s %6s %8s %6s %9s %6s %6s %8s |", "", "", "%", "%", "right %",
	       "locks", "", "steps", "steps", "");
	for (int noise = 1; noise < NOISES; noise++)
		printf(" %8s", noise_names[noise]);
	printf("\n");
}

static void print_steps(double steps)
{
	if (steps < 1e9)
		printf(" %6.0f", steps);
	else
		printf(" %6s", "never");
}

static void print_row(const char *name, const struct tally *clean, const struct tally *noisy)
{
	printf("%-28s %5u | %6.1f %6.1f %8.1f %6u %9u", name, clean->n,
	       tally_share(clean->n_exact, clean->n),
	       tally_share(clean->n_in_place, clean->n_placed),
	       tally_share(clean->n_numbers, clean->n_steps), clean->n_false, clean->n_corrected);
	print_steps(tally_quantile(clean, 0.5));
	print_steps(tally_quantile(clean, 0.9));
	printf(" %8u |", clean->n - clean->n_locked);
	for (int noise = 1; noise < NOISES; noise++)
		if (noisy[noise].n)
			printf(" %8.1f", tally_share(noisy[noise].n_exact, noisy[noise].n));
		else
			printf(" %8s", "-");
	printf("\n");
}

static void print_wrong(const char *name, uint32_t size, uint32_t seed, enum noise noise,
			const struct trial *t, bool is_false)
{
	printf("    %s size %u seed %u noise %s: ", name, size, seed, noise_names[noise]);
	if (t->answered)
		printf("%sone a step %.3f of %u, in place %.3f, late %+d, numbers %+d, sure %.2f, "
		       "%s "
		       "%.0f steps%s\n",
		       is_false ? "false, " : "", t->one_per_step, t->n_steps, t->in_place, t->late,
		       t->numbers_off, t->confidence, t->locked ? "after" : "at the end, not after",
		       t->steps, t->corrected ? ", corrected" : "");
	else
		printf("abstains\n");
}

/* Prints each answer's features and whether the answer was right, for test/steps/fit.py. */
static void print_outcomes(const struct trial *t, bool has_step, enum noise noise, uint32_t seed)
{
	struct calibration_answer answers[2];
	uint32_t n = calibration_answers(t, has_step, noise, answers);
	for (uint32_t i = 0; i < n; i++) {
		const struct level_signs *s = &answers[i].choice->signs;
		printf("outcome\t%u\t%d\t%u\t%.4f\t%.4f\t%.4f\t%d\t%d\t%d\n", seed,
		       answers[i].is_right, s->iterations, s->coverage, s->alike, s->unusual,
		       s->is_latter, s->has_optimizer, s->is_enough);
	}
}

struct row {
	struct tally clean, noisy[NOISES];
};

static void try_one(struct table *table, struct row *row, const struct program *p,
		    const struct kind *kind, uint32_t size, uint32_t seed)
{
	for (int noise = 0; noise < (table->clean_only ? 1 : NOISES); noise++) {
		struct program disturbed;
		struct sequence s;
		struct trial t;
		bool has_step = !(kind->flags & KIND_NO_STEP);
		if (noise && kind->flags & KIND_NO_NOISE)
			break;
		noise_make(&disturbed, p, (enum noise)noise, seed);
		trial_sequence(&s, &disturbed, table->evidence);
		trial_run(&t, &s);
		tally_add(noise ? &row->noisy[noise] : &row->clean, &t, has_step,
			  !(kind->flags & KIND_NO_PLACE), (enum noise)noise);
		calibration_add(&table->sure, &t, has_step, (enum noise)noise);
		if (table->outcomes)
			print_outcomes(&t, has_step, (enum noise)noise, seed);
		bool good = has_step ? t.locked && (noise ? t.one_per_step >= TRIAL_SHARE_NOISY
							  : trial_is_exact(&t))
				     : !t.answered;
		bool late = has_step && !noise && t.steps > goals[table->evidence].within_steps;
		if (table->verbose && (!good || late))
			print_wrong(kind->name, size, seed, (enum noise)noise, &t,
				    tally_is_false(&t, has_step, (enum noise)noise));
		sequence_free(&s);
		program_free(&disturbed);
	}
}

static void end_row(struct table *table, const char *name, const struct row *row)
{
	print_row(name, &row->clean, row->noisy);
	tally_merge(&table->clean, &row->clean);
	for (int noise = 1; noise < NOISES; noise++)
		tally_merge(&table->noisy, &row->noisy[noise]);
}

static void try_kind(struct table *table, const struct kind *kind, uint32_t first_seed,
		     uint32_t n_seeds)
{
	static struct row row;
	memset(&row, 0, sizeof(row));
	for (uint32_t size = 0; size < KIND_SIZES; size++)
		for (uint32_t seed = first_seed; seed < first_seed + n_seeds; seed++) {
			struct program p;
			kind_make(kind, &p, size, seed);
			try_one(table, &row, &p, kind, size, seed);
			program_free(&p);
		}
	end_row(table, kind->name, &row);
}

/* Tries a recorded program. It has no frames, so names are used instead. Returns 0 or -errno. */
static int try_file(struct table *table, const char *path)
{
	static struct row row;
	const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	struct kind kind = { .name = name };
	struct program p;
	struct err e;
	memset(&row, 0, sizeof(row));
	int rc = program_load(&p, path, &e);
	if (rc) {
		fprintf(stderr, "steps: %s\n", e.text);
		return rc;
	}
	try_one(table, &row, &p, &kind, 0, 1);
	program_free(&p);
	end_row(table, name, &row);
	return 0;
}

static void print_goal(const char *what, double has, double wants, bool most)
{
	printf("  %-44s %6.1f %%  goal %s %.0f %%%s\n", what, has, most ? "at most" : "at least",
	       wants, (most ? has <= wants : has >= wants) ? "" : "  MISSED");
}

static double share_within(const struct tally *t, double steps)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < t->n_steps; i++)
		n += t->steps[i] <= steps;
	return tally_share(n, t->n_steps);
}

static void print_goals(const struct table *table)
{
	const struct goal *goal = &goals[table->evidence];
	const struct tally *t = &table->clean;
	char what[64];
	printf("%s:\n", evidence_names[table->evidence]);
	print_goal("exact: one boundary in every step", tally_share(t->n_exact, t->n), goal->exact,
		   false);
	snprintf(what, sizeof(what), "locked, and right, within %.0f steps", goal->within_steps);
	print_goal(what, share_within(t, goal->within_steps), goal->locked_share, false);
	print_goal("false locks", tally_share(t->n_false, t->n), goal->false_locks, true);
	printf("  %-44s %6.1f %%\n", "ends moved later, of the same steps",
	       tally_share(t->n_moved, t->n));
	printf("  %-44s %6.1f %%, %.0f steps later in the mean\n", "locks corrected later",
	       tally_share(t->n_corrected, t->n),
	       t->n_corrected ? t->steps_corrected / t->n_corrected : 0);
	if (!table->noisy.n)
		return;
	print_goal("right with noise", tally_share(table->noisy.n_exact, table->noisy.n),
		   goal->noise, false);
	print_goal("false locks with noise", tally_share(table->noisy.n_false, table->noisy.n),
		   goal->false_locks, true);
}

static void print_sureness(const struct calibration *c)
{
	printf("\nhow sure, and how often right (noise included)\n");
	for (int band = 0; band < SURENESS_BANDS; band++)
		printf("  %.1f to %.1f: %5.1f %% of %u\n", sureness_least[band],
		       band ? sureness_least[band - 1] : 1.0,
		       tally_share(c->n_right[band], c->n[band]), c->n[band]);
}

struct options {
	const char *text;
	bool verbose, clean_only, outcomes;
	uint32_t first_seed, n_seeds;
	const char **files;
	int n_files;
};

static bool parse(struct options *o, int argc, char **argv)
{
	*o = (struct options){
		.text = "", .first_seed = 1, .n_seeds = DEFAULT_SEEDS, .files = (const char **)argv
	};
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "-v"))
			o->verbose = true;
		else if (!strcmp(argv[i], "--clean"))
			o->clean_only = true;
		else if (!strcmp(argv[i], "--outcomes"))
			o->outcomes = true;
		else if (!strcmp(argv[i], "-k") && i + 1 < argc)
			o->text = argv[++i];
		else if (!strcmp(argv[i], "--seeds") && i + 1 < argc)
			o->n_seeds = (uint32_t)strtoul(argv[++i], NULL, 10);
		else if (!strcmp(argv[i], "--first-seed") && i + 1 < argc)
			o->first_seed = (uint32_t)strtoul(argv[++i], NULL, 10);
		else if (argv[i][0] == '-')
			return false;
		else
			o->files[o->n_files++] = argv[i];
	}
	return o->n_seeds > 0;
}

static int print_table(struct table *table, const struct options *o)
{
	print_head(table->evidence);
	for (int i = 0; i < o->n_files; i++)
		if (strstr(o->files[i], o->text) && try_file(table, o->files[i]))
			return 1;
	for (uint32_t i = 0; i < n_kinds; i++)
		if (strstr(kinds[i].name, o->text) &&
		    !(kinds[i].flags & KIND_BY_FRAMES && table->evidence < EVIDENCE_FRAMES))
			try_kind(table, &kinds[i], o->first_seed, o->n_seeds);
	return 0;
}

int main(int argc, char **argv)
{
	static struct table tables[EVIDENCES];
	static struct calibration all;
	struct options o;
	if (!parse(&o, argc, argv)) {
		fprintf(stderr, "usage: steps [-k TEXT] [-v] [--clean] [--outcomes] [--seeds N] "
				"[--first-seed M] FILE.tsv[.gz]...\n");
		return 2;
	}
	for (int evidence = 0; evidence < EVIDENCES; evidence++) {
		struct table *table = &tables[evidence];
		table->evidence = (enum evidence)evidence;
		table->verbose = o.verbose;
		table->clean_only = o.clean_only;
		table->outcomes = o.outcomes;
		if (print_table(table, &o))
			return 1;
		for (int band = 0; band < SURENESS_BANDS; band++) {
			all.n[band] += table->sure.n[band];
			all.n_right[band] += table->sure.n_right[band];
		}
	}
	printf("\n");
	for (int evidence = 0; evidence < EVIDENCES; evidence++)
		print_goals(&tables[evidence]);
	print_sureness(&all);
	return 0;
}
