/*
 * Hidden words of the command line that print the tables of commands, options and settings.
 * scripts/gen-share makes man pages and shell completions from them; tests read them, too.
 */
#ifndef EXPORT_LISTING_H
#define EXPORT_LISTING_H

#include <stdbool.h>

/*
 * Prints the table that `word` names, one row per line, columns separated by tabs. Returns false if
 * `word` names none.
 *   --list-commands   name, usage, summary, "latest" if an operand may be left out
 *   --list-options    command, option, argument, help
 *   --list-values     command, option, the words that it takes, separated by blanks
 *   --list-settings   name, default, range, unit, meaning, the words that it takes
 * A word that ends in ':' or '=' is the beginning of a value.
 */
bool listing_print(const char *word);

#endif
