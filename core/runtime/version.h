#ifndef CORE_VERSION_H
#define CORE_VERSION_H

#define PROFRUN_VERSION "0.1.0"

#endif
