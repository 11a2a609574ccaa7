#ifndef EXPORT_DESCRIPTORS_H
#define EXPORT_DESCRIPTORS_H

/* Closes every file descriptor from `first` on. */
void descriptors_close_from(int first);

#endif
