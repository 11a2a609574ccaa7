/*
 * The table of the output formats, with one row per format. PROF_FORMAT, its description, the help
 * and the list of exporters are made from this table. A row's name is part of its exporter's name:
 * `memory` belongs to exporter_memory (export/exporter.h).
 */
#ifndef CORE_FORMATS_H
#define CORE_FORMATS_H

/* X(name, description) */
#define FORMATS(X)                                          \
	X(perfetto, "traces for Perfetto")                  \
	X(memory, "PyTorch memory snapshots")               \
	X(chrome, "traces in Chrome's JSON format")         \
	X(kineto, "traces for HTA and TensorBoard")         \
	X(pprof, "profiles for pprof")                      \
	X(folded, "stacks for flame graphs")                \
	X(sqlite, "databases like those of Nsight Systems") \
	X(csv, "tables for spreadsheets")

/* Makes the text "; perfetto: traces for Perfetto; memory: ...". */
#define FORMAT_MEANING(name, what) "; " #name ": " what
#define FORMATS_MEANING		   FORMATS(FORMAT_MEANING)

/* Makes the text "perfetto|memory|...|". */
#define FORMAT_WORD(name, what) #name "|"
#define FORMATS_WORDS		FORMATS(FORMAT_WORD)

#endif
