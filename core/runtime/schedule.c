/*
 * Parses and evaluates the schedule (core/runtime/schedule.h). Runs in the application, in the
 * collector and in tests. The semantics are those of torch.profiler.schedule. Tests compare the
 * results with PyTorch's own results in test/steps/torch_schedule.tsv.
 */
#include "core/runtime/schedule.h"

#include "core/runtime/spelling.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* The largest number that is accepted: more steps than any job has, and so small that sums of a few
 * such numbers do not overflow. */
#define SCHEDULE_MAX_STEPS 1000000000000ull

/* The flight recorder writes a trace for each step that it keeps, and PROF_KEEP_TRACES keeps at
 * most this many. */
#define SCHEDULE_MAX_FLIGHT 1000000ull

#define SCHEDULE_ACCEPTED                      \
	"accepted: always, off, flight=K, or " \
	"skip_first=N,wait=N,warmup=N,active=N,repeat=N,skip_first_wait=0|1"

enum schedule_key {
	KEY_SKIP_FIRST,
	KEY_WAIT,
	KEY_WARMUP,
	KEY_ACTIVE,
	KEY_REPEAT,
	KEY_SKIP_FIRST_WAIT,
	KEY_FLIGHT,
	KEY_COUNT
};

static const struct {
	const char *name;
	uint64_t min, max, fallback;
} schedule_keys[KEY_COUNT] = {
	[KEY_SKIP_FIRST] = { "skip_first", 0, SCHEDULE_MAX_STEPS, 0 },
	[KEY_WAIT] = { "wait", 0, SCHEDULE_MAX_STEPS, 0 },
	[KEY_WARMUP] = { "warmup", 0, SCHEDULE_MAX_STEPS, 0 },
	[KEY_ACTIVE] = { "active", 1, SCHEDULE_MAX_STEPS, 1 },
	[KEY_REPEAT] = { "repeat", 0, SCHEDULE_MAX_STEPS, 0 },
	[KEY_SKIP_FIRST_WAIT] = { "skip_first_wait", 0, SCHEDULE_MAX_STEPS, 0 },
	[KEY_FLIGHT] = { "flight", 1, SCHEDULE_MAX_FLIGHT, 0 },
};

/* A part of the setting's text, without a terminating NUL. */
struct piece {
	const char *at;
	size_t length;
};

static struct piece piece_trim(const char *begin, const char *end)
{
	while (begin < end && (*begin == ' ' || *begin == '\t'))
		begin++;
	while (end > begin && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	return (struct piece){ begin, (size_t)(end - begin) };
}

static bool piece_is(struct piece p, const char *word)
{
	return strlen(word) == p.length && !memcmp(p.at, word, p.length);
}

/* Returns how many bytes of an invalid piece an error message shows. */
static int piece_shown(struct piece p)
{
	return p.length < 40 ? (int)p.length : 40;
}

static bool piece_number(struct piece p, uint64_t *out)
{
	uint64_t n = 0;
	for (size_t i = 0; i < p.length; i++) {
		if (p.at[i] < '0' || p.at[i] > '9')
			return false;
		n = n * 10 + (uint64_t)(p.at[i] - '0');
		if (n > SCHEDULE_MAX_STEPS)
			return false;
	}
	*out = n;
	return p.length > 0;
}

/* Fails with a message about an unknown word or key. `words` are the known ones, separated by
 * '|'. */
static int schedule_refuse(struct piece p, const char *what, const char *words, struct err *e)
{
	char word[48], meant[SPELLING_MEANT_BYTES];
	snprintf(word, sizeof(word), "%.*s", piece_shown(p), p.at);
	return err_set(e, -EINVAL, "%s \"%s\"%s; " SCHEDULE_ACCEPTED, what, word,
		       spelling_did_you_mean(meant, sizeof(meant), word, words));
}

static int schedule_parse_pair(struct piece pair, uint64_t values[KEY_COUNT], unsigned *seen,
			       struct err *e)
{
	if (!pair.length)
		return err_set(e, -EINVAL, "an entry between commas is empty; " SCHEDULE_ACCEPTED);
	const char *equals = memchr(pair.at, '=', pair.length);
	if (!equals)
		return schedule_refuse(pair, "expected key=N, not", "always|off", e);
	struct piece key = piece_trim(pair.at, equals);
	struct piece value = piece_trim(equals + 1, pair.at + pair.length);
	int k = 0;
	while (k < KEY_COUNT && !piece_is(key, schedule_keys[k].name))
		k++;
	if (k == KEY_COUNT)
		return schedule_refuse(
			key, "unknown key",
			"skip_first|wait|warmup|active|repeat|skip_first_wait|flight", e);
	if (*seen & 1u << k)
		return err_set(e, -EINVAL, "%s is given twice", schedule_keys[k].name);
	*seen |= 1u << k;
	if (!piece_number(value, &values[k]) || values[k] < schedule_keys[k].min ||
	    values[k] > schedule_keys[k].max)
		return err_set(e, -EINVAL, "%s=%.*s: expected a whole number from %llu to %s",
			       schedule_keys[k].name, piece_shown(value), value.at,
			       (unsigned long long)schedule_keys[k].min,
			       schedule_keys[k].max == SCHEDULE_MAX_STEPS ? "10^12" : "10^6");
	return 0;
}

/* Fills `out` for the flight recorder, which records every step from the first recorded step on. So
 * its recording does not end, and `repeat` is not allowed. */
static int schedule_fly(const uint64_t values[KEY_COUNT], unsigned seen, struct schedule *out,
			struct err *e)
{
	if (values[KEY_REPEAT])
		return err_set(e, -EINVAL,
			       "repeat=%llu cannot be combined with flight=K, which records every "
			       "step; accepted with flight=K: "
			       "skip_first=N,wait=N,warmup=N,active=N",
			       (unsigned long long)values[KEY_REPEAT]);
	uint64_t idle =
		values[KEY_SKIP_FIRST] + (values[KEY_SKIP_FIRST_WAIT] ? 0 : values[KEY_WAIT]);
	*out = (struct schedule){
		.always = !idle && !values[KEY_WARMUP],
		.skip_first = idle,
		.warmup = values[KEY_WARMUP],
		.active = seen & 1u << KEY_ACTIVE ? values[KEY_ACTIVE] : 0,
		.flight = values[KEY_FLIGHT],
	};
	return 0;
}

int schedule_parse(const char *text, struct schedule *out, struct err *e)
{
	struct piece whole = piece_trim(text, text + strlen(text));
	if (piece_is(whole, "always") || piece_is(whole, "off")) {
		*out = (struct schedule){ .always = whole.at[0] == 'a', .off = whole.at[0] == 'o' };
		return 0;
	}
	if (!whole.length)
		return err_set(e, -EINVAL, "the schedule is empty; " SCHEDULE_ACCEPTED);

	uint64_t values[KEY_COUNT];
	unsigned seen = 0;
	for (int k = 0; k < KEY_COUNT; k++)
		values[k] = schedule_keys[k].fallback;
	const char *end = whole.at + whole.length;
	for (const char *at = whole.at, *comma; at <= end; at = comma + 1) {
		comma = memchr(at, ',', (size_t)(end - at));
		if (!comma)
			comma = end;
		int rc = schedule_parse_pair(piece_trim(at, comma), values, &seen, e);
		if (rc)
			return rc;
	}
	if (seen & 1u << KEY_FLIGHT)
		return schedule_fly(values, seen, out, e);
	*out = (struct schedule){
		.skip_first = values[KEY_SKIP_FIRST],
		.wait = values[KEY_WAIT],
		.warmup = values[KEY_WARMUP],
		.active = values[KEY_ACTIVE],
		.repeat = values[KEY_REPEAT],
		.skip_first_wait = values[KEY_SKIP_FIRST_WAIT] != 0,
	};
	return 0;
}

static uint64_t schedule_cycle(const struct schedule *s)
{
	return s->wait + s->warmup + s->active;
}

/* Returns the number of steps since the first cycle began. `step` must not be one of the first
 * `skip_first` steps. */
static uint64_t schedule_phase(const struct schedule *s, uint64_t step)
{
	return step - s->skip_first + (s->skip_first_wait ? s->wait : 0);
}

enum sched_action schedule_action(const struct schedule *s, uint64_t step)
{
	if (s->off || s->always)
		return s->always ? SCHED_RECORD : SCHED_NONE;
	if (step < s->skip_first || schedule_done(s, step))
		return SCHED_NONE;
	if (s->flight)
		return step < s->skip_first + s->warmup ? SCHED_WARMUP : SCHED_RECORD;
	uint64_t at = schedule_phase(s, step) % schedule_cycle(s);
	if (at < s->wait)
		return SCHED_NONE;
	if (at < s->wait + s->warmup)
		return SCHED_WARMUP;
	return at < schedule_cycle(s) - 1 ? SCHED_RECORD : SCHED_RECORD_AND_SAVE;
}

uint64_t schedule_first_recorded(const struct schedule *s)
{
	if (s->off)
		return SCHEDULE_NEVER;
	if (s->always)
		return 0;
	return s->skip_first + (s->skip_first_wait ? 0 : s->wait);
}

uint64_t schedule_first_active(const struct schedule *s)
{
	uint64_t first = schedule_first_recorded(s);
	return s->always || first == SCHEDULE_NEVER ? first : first + s->warmup;
}

bool schedule_done(const struct schedule *s, uint64_t step)
{
	if (s->off || s->always)
		return s->off;
	if (!s->repeat || s->flight || step < s->skip_first)
		return false;
	return schedule_phase(s, step) / schedule_cycle(s) >= s->repeat;
}
