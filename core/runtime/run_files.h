/* Names of files in a run's folder that the library and the tool share. */
#ifndef CORE_RUNTIME_RUN_FILES_H
#define CORE_RUNTIME_RUN_FILES_H

/* Empty; exists if a process of the run has loaded the CUDA driver. The launcher removes it. */
#define RUN_DRIVER_MARK "driver-loaded"

#endif
