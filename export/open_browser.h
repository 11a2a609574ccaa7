/* Shows an address in the user's browser, or says how to reach it. */
#ifndef EXPORT_OPEN_BROWSER_H
#define EXPORT_OPEN_BROWSER_H

#include <stdbool.h>

/* Returns whether a browser of the user can be started here: there is a display or $BROWSER, and
 * this is not an SSH session. */
bool browser_is_here(void);

/* Starts the first program of $BROWSER that there is, else xdg-open, and does not wait for it.
 * Returns false if none could be started. */
bool browser_start(const char *address);

/* Prints, in an SSH session, the command that forwards the port from the user's machine. */
void browser_say_forward(unsigned port);

#endif
