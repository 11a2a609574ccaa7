/* Milliseconds in text: as many decimals as four digits need. */
#ifndef CORE_MS_DIGITS_H
#define CORE_MS_DIGITS_H

/* Returns how many decimals a time of `ms` milliseconds is printed with. */
static inline int ms_digits(double ms)
{
	double size = ms < 0 ? -ms : ms;
	return size < 10 ? 3 : size < 100 ? 2 : size < 10000 ? 1 : 0;
}

/* Both arguments of "%.*f". Evaluates `ms` twice. */
#define MS(ms) ms_digits(ms), ms

#endif
