/*
 * Prints to the terminal. All output of the tool goes through these functions or textout.h, which
 * clean it (text_clean): names, paths and settings may contain escape sequences and other
 * characters that would change what the user sees.
 */
#ifndef EXPORT_PRINT_H
#define EXPORT_PRINT_H

#include <jansson.h>
#include <stdio.h>

/* Prints a text to stdout. Newlines are printed only where `format` begins or ends with one; in an
 * argument they become blanks. */
__attribute__((format(printf, 1, 2))) void print_out(const char *format, ...);

/* Like print_out(), on stderr. Returns how many bytes were printed. */
__attribute__((format(printf, 1, 2))) int print_err(const char *format, ...);

/* Copies lines that textout.h has made, which are clean and may contain colours. */
void print_lines(FILE *to, const char *lines);

/* Prints JSON and a newline to stdout, with 9 significant digits. */
void print_json(const json_t *root);
/* The same with all digits of a double. */
void print_json_exact(const json_t *root);

#endif
