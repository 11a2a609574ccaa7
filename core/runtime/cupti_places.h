/* Where libcupti is looked for, by the library in the application and by `profrun --version`. */
#ifndef CORE_CUPTI_PLACES_H
#define CORE_CUPTI_PLACES_H

/* Names of the file, in the order of preference. */
#define CUPTI_FILES "libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8", "libcupti.so"

/* Folders of an installed CUDA toolkit. */
#define CUPTI_TOOLKIT "/usr/local/cuda/extras/CUPTI/lib64/", "/usr/local/cuda/lib64/"

#endif
