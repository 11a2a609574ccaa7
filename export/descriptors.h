#ifndef EXPORT_DESCRIPTORS_H
#define EXPORT_DESCRIPTORS_H

/* Closes every file descriptor from `first` on except `a` and `b`. */
void descriptors_close_others(int first, int a, int b);

/* Returns a descriptor of the same open file that is not 0, 1 or 2: `fd` itself if it is above 2.
 * Returns -1 if no descriptor is free. The caller closes `fd` if the result differs. */
int descriptors_above_standard(int fd);

#endif
