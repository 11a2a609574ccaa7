/*
 * The formats that profrun writes, one row each. PROF_FORMAT, its description, the help and the
 * exporters follow from it: the row of `memory` belongs to exporter_memory (export/exporter.h).
 */
#ifndef CORE_FORMATS_H
#define CORE_FORMATS_H

/* X(name, what it is) */
#define FORMATS(X)                            \
	X(perfetto, "traces for Perfetto")    \
	X(memory, "PyTorch memory snapshots") \
	X(chrome, "traces in Chrome's JSON format")

/* "; perfetto: traces for Perfetto; memory: ..." */
#define FORMAT_MEANING(name, what) "; " #name ": " what
#define FORMATS_MEANING		   FORMATS(FORMAT_MEANING)

#endif
