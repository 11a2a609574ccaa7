#ifndef CORE_VERSION_H
#define CORE_VERSION_H

/* The only place of the version: the Makefile and scripts read this line. */
#define PROFRUN_VERSION "0.2.0"

#endif
