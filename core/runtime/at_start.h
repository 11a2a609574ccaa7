/*
 * Marks what runs at the start of every process that the library is preloaded into, most of which
 * never use CUDA. Code and data of these functions lie next to each other, because each page that
 * a process touches takes 1 to 3 us.
 */
#ifndef CORE_AT_START_H
#define CORE_AT_START_H

#define AT_START __attribute__((section(".text.startup")))

/* A section of its own: the linker puts it after .data, into the same page if there is room. */
#define START_DATA __attribute__((section("profrun_start")))

#endif
