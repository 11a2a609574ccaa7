#!/usr/bin/env python3
"""Writes the mechanical part of the stand-ins from the toolkit's own headers.

usage: gen.py OUT_DIR INCLUDE_DIR COMPILER

Every symbol in exports/*.txt gets an exported function with the header's signature. It opens an API
frame and calls the hand-written sim_NAME (driver) or rt_NAME (runtime), or returns "not supported"
without one.
"""
import os
import re
import subprocess
import sys

from gen_libs import libraries, names

HERE = os.path.dirname(os.path.abspath(__file__))
SUFFIX = re.compile(r"_(ptds|ptsz)$")
PROTOTYPE = re.compile(
    r"(?<![\w*])(cudaError_t|const char ?\*|CUresult|CUptiResult|unsigned|void \*\*|void"
    r"|struct cudaChannelFormatDesc)"
    r"\s+(\w+)\s*\(([^;{}]*?)\)\s*;")

# Calls so cheap that a frame would be most of their cost. Without an observer they go straight to
# the implementation.
LIGHT = {"cudaGetDevice", "cudaGetLastError", "cudaPeekAtLastError", "cudaGetErrorName",
         "cudaGetErrorString"}

# The real runtime gives these no callback: no record, no correlation id.
BARE = {"__cudaPushCallConfiguration", "__cudaPopCallConfiguration", "__cudaGetKernel"}
# In the real runtime these jump to the function named here, whose record therefore stands for both.
SAME = {"__cudaLaunchKernel": "cudaLaunchKernel",
        "__cudaLaunchKernel_ptsz": "cudaLaunchKernel_ptsz"}

# crt/host_runtime.h declares these only to nvcc.
INTERNAL_RUNTIME = """
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *function);
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args, \
size_t shared, cudaStream_t stream);
cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block, void **args, \
size_t shared, cudaStream_t stream);
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, \
struct CUstream_st *stream);
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream);
"""

# libcudart.so.12: names that CUDA 13 renamed, and signatures that it changed.
ALIAS12 = {n + "_v2": n for n in (
    "cudaEventElapsedTime", "cudaGraphAddDependencies", "cudaGraphAddNode", "cudaGraphGetEdges",
    "cudaGraphNodeGetDependencies", "cudaGraphNodeGetDependentNodes", "cudaGraphRemoveDependencies",
    "cudaMemAdvise", "cudaMemPrefetchAsync", "cudaMemPrefetchAsync_ptsz",
    "cudaSignalExternalSemaphoresAsync", "cudaStreamUpdateCaptureDependencies",
    "cudaWaitExternalSemaphoresAsync")}
ALIAS12.update({
    "cudaStreamGetCaptureInfo_v3": "cudaStreamGetCaptureInfo",
    "cudaMemPrefetchAsync_v2_ptsz": "cudaMemPrefetchAsync_ptsz",
    "cudaStreamGetCaptureInfo_v3_ptsz": "cudaStreamGetCaptureInfo_ptsz",
    "cudaStreamUpdateCaptureDependencies_v2_ptsz": "cudaStreamUpdateCaptureDependencies_ptsz",
    "cudaSignalExternalSemaphoresAsync_v2_ptsz": "cudaSignalExternalSemaphoresAsync_ptsz",
    "cudaWaitExternalSemaphoresAsync_v2_ptsz": "cudaWaitExternalSemaphoresAsync_ptsz"})


def split_arguments(text):
    """'int a, void (*f)(int, int), char b[]' -> [(declaration, name)]"""
    parts, depth, last = [], 0, ""
    for c in text:
        depth += {"(": 1, ")": -1}.get(c, 0)
        if c == "," and depth == 0:
            parts.append(last.strip())
            last = ""
        else:
            last += c
    parts.append(last.strip())
    if parts == ["void"] or parts == [""]:
        return []
    out = []
    for i, part in enumerate(parts):
        if "(*" in part:
            name = re.search(r"\(\*\s*(\w+)", part).group(1)
        else:
            name = re.search(r"(\w+)\s*(\[\s*\w*\s*\])*$", part).group(1)
        out.append((part, name))
    return out


def prototypes(text):
    text = re.sub(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)", "", text)
    text = re.sub(r"\bextern\b", " ; ", re.sub(r"\s+", " ", text))
    return {m[2]: (m[1], split_arguments(m[3])) for m in PROTOTYPE.finditer(text)}


def preprocess(compiler, include, source):
    run = subprocess.run(compiler.split() + ["-E", "-P", "-D__CUDA_API_VERSION_INTERNAL",
                                             "-I" + include, "-x", "c", "-"],
                         input=source, capture_output=True, text=True)
    if run.returncode:
        sys.exit("gen.py: the headers in %s do not preprocess:\n%s" % (include, run.stderr[:2000]))
    return run.stdout


def implemented(prefix):
    found = set()
    for name in sorted(os.listdir(HERE)):
        if name.endswith(".c"):
            with open(os.path.join(HERE, name)) as f:
                text = f.read()
            found |= set(re.findall(r"^(?:[A-Za-z_][\w *]*?\b)?%s(\w+)\(" % prefix, text, re.M))
            # Families that a macro defines: MEMSET(8, ...), STREAM_GETTER(cuStreamGetFlags, ...).
            for macro, body in re.findall(r"#define (\w+)\(((?:.*\\\n)+.*)", text):
                made = re.findall(r"\b%s([\w#]+)[ (]" % prefix, body)
                for use in re.findall(r"^%s\((\w+)" % macro, text, re.M) if made else []:
                    found |= {expand(n, use) for n in made}
    return found


def exported_directly():
    """Functions of the runtime that no header declares: they are written with their own name."""
    found = set()
    for name in sorted(os.listdir(HERE)):
        if name.startswith("rt_") and name.endswith(".c"):
            with open(os.path.join(HERE, name)) as f:
                found |= set(re.findall(r"^SIM_EXPORT [^(]*?(\w+)\(", f.read(), re.M))
    return found


def expand(name, value):
    """cuMemsetD##bits##_v2 with 8 -> cuMemsetD8_v2"""
    return re.sub(r"##\w+?(##|$)", value, name)


def callback_ids(include):
    ids = {}
    for domain in ("driver", "runtime"):
        with open(os.path.join(include, "cupti_%s_cbid.h" % domain)) as f:
            ids[domain] = [(n, int(v)) for n, v in
                           re.findall(r"TRACE_CBID_(\w+)\s*=\s*(\d+)", f.read())
                           if n not in ("INVALID", "SIZE")]
    return ids


def runtime_cbid(ids, name, newest, oldest_wanted):
    found = []
    for n, v in ids:
        m = re.match(r"^%s_v(\d+)$" % re.escape(name), n)
        if m and int(m[1]) <= newest:
            found.append((int(m[1]), v))
    if not found:
        return 0
    return (min(found) if oldest_wanted else max(found))[1]


def wrapper(out, name, returns, arguments, target, cbid, per_thread, kind):
    """kind: 'cu' or 'rt'. target: C name of the implementation or None."""
    declared = ", ".join(d for d, _ in arguments) or "void"
    values = ", ".join(n for _, n in arguments)
    out.append("SIM_EXPORT %s w_%s(%s) __asm__(\"%s\");" % (returns, name, declared, name))
    out.append("SIM_EXPORT %s w_%s(%s)\n{" % (returns, name, declared))
    if kind == "rt" and SUFFIX.sub("", name) in LIGHT and target:
        out.append("\tif (!RT_WATCHED())\n\t\treturn %s(%s);" % (target, values))
    if name in BARE:
        out.append("\treturn %s(%s);\n}\n" % (target, values))
        return
    if arguments:
        out.append("\tstruct { %s; } sim_params;" % "; ".join(field(d, n) for d, n in arguments))
        for d, n in arguments:
            out.append("\tmemcpy(&sim_params.%s, &%s, sizeof(sim_params.%s));" % (n, n, n))
    out.append("\tstruct sim_frame sim_frame = { .domain = %s, .cbid = %d, .name = \"%s\", "
               ".params = %s };"
               % ("SIM_DRIVER" if kind == "cu" else "SIM_RUNTIME", cbid,
                  SUFFIX.sub("", SAME.get(name, name)), "&sim_params" if arguments else "NULL"))
    if returns in ("CUresult", "cudaError_t"):
        call = "%s(%s)" % (target, values) if target else "%s_missing(\"%s\")" % (kind, name)
        out.append("\t%s sim_status = %s_enter(&sim_frame, %d);" % (returns, kind, per_thread))
        out.append("\tif (!sim_status)\n\t\tsim_status = %s;" % call)
        out.append("\treturn %s_leave(&sim_frame, sim_status);\n}\n" % kind)
    else:
        out.append("\t%s_enter(&sim_frame, %d);" % (kind, per_thread))
        out.append("\t%s result = %s(%s);" % (returns, target, values))
        out.append("\t%s_leave(&sim_frame, 0);\n\treturn result;\n}\n" % kind)


def field(declaration, name):
    """Returns a parameter as a structure's field: arrays decay to pointers, const values lose their
    const."""
    declaration = re.sub(r"(\w+)\s*\[\s*\w*\s*\]$", r"*\1", declaration)
    if "*" not in declaration:
        declaration = re.sub(r"\bconst\s+", "", declaration)
    return re.sub(r"\*\s*const\s+(\w+)$", r"*\1", declaration)


def stub(out, name, kind):
    out.append("SIM_EXPORT int w_%s(void) __asm__(\"%s\");" % (name, name))
    out.append("SIM_EXPORT int w_%s(void)\n{\n\treturn %s_missing(\"%s\");\n}\n"
               % (name, kind, name))


def entry_versions(include):
    """base name, per-thread -> [driver version], from cudaTypedefs.h"""
    versions = {}
    for header in ("cudaTypedefs.h", "cudaProfilerTypedefs.h", "cudaGLTypedefs.h",
                   "cudaEGLTypedefs.h",
                   "cudaVDPAUTypedefs.h"):
        with open(os.path.join(include, header)) as f:
            for m in re.finditer(r"\(CUDAAPI \*PFN_(cu\w+?)_v(\d+)(_ptds|_ptsz)?\)", f.read()):
                versions.setdefault((m[1], bool(m[3])), set()).add(int(m[2]))
    return {k: sorted(v) for k, v in versions.items()}


def driver(out_dir, include, declared, ids):
    exports, done = names("cuda.txt"), implemented("sim_")
    cbids = dict(ids["driver"])
    out = ['/* Generated by test/sim/gen.py. */', '#include "test/sim/engine.h"',
           '#include "driver_impl.h"', ""]
    impl = []
    for name in exports:
        base = SUFFIX.sub("", name)
        source = name if name in declared else base
        if source not in declared:
            stub(out, name, "cu")
            continue
        returns, arguments = declared[source]
        own = name in done
        target = "sim_" + (name if own else base) if own or base in done else None
        wrapper(out, name, returns, arguments, target, cbids.get(name, cbids.get(base, 0)),
                int(base != name), "cu")
    for name in sorted(done):
        if name in declared:
            returns, arguments = declared[name]
            impl.append("%s sim_%s(%s);" % (returns, name,
                                            ", ".join(d for d, _ in arguments) or "void"))
    known, rows, fields = set(exports), [], []
    versions = entry_versions(include)
    for (base, thread), numbers in sorted(versions.items()):
        if thread:
            symbols = [s for s in exports if SUFFIX.search(s)
                       and re.match(r"^%s(_v\d+)?_pt[ds][sz]$" % base, s)]
        else:
            symbols = [s for s in exports if re.match(r"^%s(_v\d+)?$" % base, s)]
        order = sorted(symbols, key=lambda s: int((re.search(r"_v(\d+)", s) or [0, "1"])[1]))
        # Old symbols without a version of their own (or the reverse) are rare; the newest ones
        # always match.
        pairs = list(zip(reversed(numbers), reversed(order)))
        for version, symbol in sorted(pairs):
            rows.append((base, version, thread, symbol))
    out_rows = ["ENTRY(\"%s\", %d, %s, %s)" % (b, v, "true" if t else "false", s)
                for b, v, t, s in sorted(rows)]
    newest = {}
    for b, v, t, s in sorted(rows):
        if not t and s in declared:
            newest[b] = (v, s)
    for b, (v, s) in sorted(newest.items()):
        fields.append("CALL(%s, \"%s\", %d)" % (s, b, v))
    # Older versions that the runtime still calls under their own name.
    for b, v, t, s in sorted(rows):
        if not t and s in declared and newest[b][1] != s:
            fields.append("CALL(%s, \"%s\", %d)" % (s, b, v))
    write(out_dir, "driver_wrappers.c", out)
    write(out_dir, "driver_impl.h", ["/* Generated by test/sim/gen.py. */", "#include <cuda.h>", ""]
          + impl)
    write(out_dir, "driver_entries.def", out_rows)
    write(out_dir, "driver_calls.def", fields)
    assert known


def forwards(out_dir, declared_rt, declared_cu):
    """rt_forward.def -> rt_forward.c; returns the runtime names."""
    out = ["/* Generated by test/sim/gen.py from rt_forward.def. */", '#include "test/sim/rt.h"',
           ""]
    done = set()
    with open(os.path.join(HERE, "rt_forward.def")) as f:
        rows = [line.split() for line in f if line.strip() and not line.startswith("#")]
    for name, symbol in rows:
        needs_context = not symbol.startswith("-")
        symbol = symbol.lstrip("-")
        returns, arguments = declared_rt[name]
        _, there = declared_cu[symbol]
        assert len(arguments) == len(there), (name, symbol)
        values = []
        for (_, mine), (target, theirs) in zip(arguments, there):
            kind = re.sub(r"\b%s\b\s*(\[\s*\])?$" % theirs, "", target).strip()
            values.append("*(%s *)&%s" % (kind, mine))
        out.append("%s rt_%s(%s)\n{\n\tcudaError_t rc = %s();" %
                   (returns, name, ", ".join(d for d, _ in arguments) or "void",
                    "rt_context" if needs_context else "rt_load"))
        out.append("\treturn rc ?: RT(DRV(%s)(%s));\n}\n" % (symbol, ", ".join(values)))
        done.add(name)
    write(out_dir, "rt_forward.c", out)
    return done


def runtime(out_dir, declared13, ids, major, forwarded):
    exports = names("cudart%d.txt" % major)
    done = implemented("rt_") | forwarded
    direct = exported_directly()
    only12 = prototypes(open(os.path.join(HERE, "rt_twelve.h")).read().replace("rt12_", ""))
    done12 = implemented("rt12_")
    newest = 12999 if major == 12 else 13999
    out = ['/* Generated by test/sim/gen.py for libcudart.so.%d. */' % major,
           '#include "test/sim/rt.h"',
           '#include "test/sim/rt_twelve.h"', ""]
    for name in exports:
        base = SUFFIX.sub("", name)
        per_thread = int(base != name)
        if major == 12 and base in done12:
            returns, arguments = only12[base]
            wrapper(out, name, returns, arguments, "rt12_" + base,
                    runtime_cbid(ids["runtime"], name, newest, True), per_thread, "rt")
            continue
        own = ALIAS12.get(name, name) if major == 12 else name
        own_base = SUFFIX.sub("", own)
        source = own if own in declared13 else own_base
        if source not in declared13:
            if name not in direct:
                stub(out, name, "rt")
            continue
        returns, arguments = declared13[source]
        target = "rt_" + own_base if own_base in done else None
        own, own_base = SAME.get(own, own), SAME.get(own_base, own_base)
        wrapper(out, name, returns, arguments, target,
                runtime_cbid(ids["runtime"], own, newest, False)
                or runtime_cbid(ids["runtime"], own_base, newest, False), per_thread, "rt")
    write(out_dir, "runtime%d_wrappers.c" % major, out)
    impl = []
    for name in sorted(done):
        if name in declared13:
            returns, arguments = declared13[name]
            impl.append("%s rt_%s(%s);" % (returns, name, ", ".join(d for d, _ in arguments)
                                           or "void"))
    write(out_dir, "runtime_impl.h", ["/* Generated by test/sim/gen.py. */", ""] + impl)


def cupti(out_dir, declared, ids, major):
    done = implemented("ct_")
    out = ['/* Generated by test/sim/gen.py for libcupti.so.%d. */' % major,
           '#include "test/sim/cupti_sim.h"',
           '#include "cupti_impl.h"', ""]
    impl = []
    for name in names("cupti%d.txt" % major):
        if name in done:
            returns, arguments = declared[name]
            text = ", ".join(d for d, _ in arguments) or "void"
            out.append("SIM_EXPORT %s w_%s(%s) __asm__(\"%s\");" % (returns, name, text, name))
            out.append("SIM_EXPORT %s w_%s(%s)\n{\n\tif (cupti_absent())\n\t\t"
                       "return CUPTI_ERROR_NOT_INITIALIZED;"
                       % (returns, name, text))
            out.append("\treturn ct_%s(%s);\n}\n" % (name, ", ".join(n for _, n in arguments)))
        else:
            stub(out, name, "ct")
    for name in sorted(done):
        if name in declared:
            returns, arguments = declared[name]
            impl.append("%s ct_%s(%s);" % (returns, name, ", ".join(d for d, _ in arguments)
                                           or "void"))
    write(out_dir, "cupti%d_wrappers.c" % major, out)
    write(out_dir, "cupti_impl.h", ["/* Generated by test/sim/gen.py. */", "#include <cupti.h>", ""]
          + impl)
    for domain in ("driver", "runtime"):
        write(out_dir, "cbid_%s.def" % domain, ["[%d] = \"%s\"," % (v, n) for n, v in ids[domain]])


def version_map(out_dir, library, exports):
    """The real libraries have one version node of their own name, and export nothing else."""
    write(out_dir, library + ".map", [library + " {", "global:"]
          + ["\t%s;" % n for n in names(exports)] +
          ["local: *;", "};"])


def errors(out_dir, include):
    with open(os.path.join(include, "cupti_result.h")) as f:
        body = re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)
    write(out_dir, "errors_cupti.def", ["{ %s, \"%s\" }," % (v, n) for n, v in
                                        re.findall(r"(CUPTI_\w+)\s*=\s*(\d+)", body)])

    def of(header, enum):
        with open(os.path.join(include, header)) as f:
            text = re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)
        body = re.search(enum, text, re.S)[1]
        return re.findall(r"(\w+)\s*=\s*(\d+)", body)
    driver_rows = of("cuda.h", r"typedef enum cudaError_enum \{(.*?)\}")
    runtime_rows = of("driver_types.h", r"enum\s+(?:__device_builtin__\s+)?cudaError\s*\{(.*?)\}")
    write(out_dir, "errors_driver.def", ["{ %s, \"%s\" }," % (v, n) for n, v in driver_rows])
    write(out_dir, "errors_runtime.def", ["{ %s, \"%s\" }," % (v, n) for n, v in runtime_rows])


def write(out_dir, name, lines):
    with open(os.path.join(out_dir, name), "w") as f:
        f.write("\n".join(lines) + "\n")


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    out_dir, include, compiler = sys.argv[1:]
    os.makedirs(out_dir, exist_ok=True)
    ids = callback_ids(include)
    driver_text = preprocess(compiler, include, "#include <cuda.h>\n#include <cudaProfiler.h>\n")
    driver(out_dir, include, prototypes(driver_text), ids)
    runtime_text = preprocess(compiler, include, "#include <cuda_runtime_api.h>\n"
                              "#include <cuda_profiler_api.h>\n")
    declared = prototypes(runtime_text + INTERNAL_RUNTIME)
    forwarded = forwards(out_dir, declared, prototypes(driver_text))
    for major in (12, 13):
        runtime(out_dir, declared, ids, major, forwarded)
    cupti_text = preprocess(compiler, include, "#include <cupti.h>\n")
    for major in (12, 13):
        cupti(out_dir, prototypes(cupti_text), ids, major)
    errors(out_dir, include)
    write(out_dir, "libs_stubs.c", libraries())
    for major in (12, 13):
        version_map(out_dir, "libcudart.so.%d" % major, "cudart%d.txt" % major)
        version_map(out_dir, "libcupti.so.%d" % major, "cupti%d.txt" % major)


if __name__ == "__main__":
    main()
