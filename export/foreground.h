#ifndef EXPORT_FOREGROUND_H
#define EXPORT_FOREGROUND_H

#include <stdbool.h>

/* Returns whether this process may write to the terminal of stderr: it is not in the background. If
 * it is not the controlling terminal of this session, there is no background. */
bool is_in_foreground(void);

#endif
