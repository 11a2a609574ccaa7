"""The code that traces name for each GPU kernel, with and without CUDA graphs."""
import collections

import test_torch  # noqa: F401 (it adds the folder of trace)
from trace import Trace

# line: the forward line of a backward kernel; None: it has none. module: path of classes; None:
# none is known, as for backward kernels without graphs. UNKNOWN: no code is known.
Kernel = collections.namedtuple("Kernel", "name grid line operator module")
UNKNOWN = "unknown"


def module_paths(trace):
    """Returns a function from a time and a thread to the path of the modules that ran then."""
    slices = collections.defaultdict(list)
    for piece in trace.slices:
        name = trace.tracks[piece.track].name
        if name.startswith("nn.Module"):
            slices[name.rsplit(" ", 1)[-1]].append(piece)

    def path(time, thread):
        inside = [s for s in slices[thread] if s.time <= time <= s.end]
        return ".".join(s.name for s in sorted(inside, key=lambda s: (s.time, -s.end))) or None
    return path


def kernels_of(run):
    """Returns (kernels, in_graphs): lists of Kernel, in no order."""
    plain, in_graphs = [], []
    for path in run.traces():
        trace = Trace(path)
        module = module_paths(trace)
        calls = {s.args["correlation"]: s for s in trace.slices
                 if "api" in s.args and "correlation" in s.args}
        for piece in trace.slices:
            args = piece.args
            if "registers_per_thread" not in args:
                continue
            if "graph" in args:
                line = args.get("line") if "captured_at" in args else UNKNOWN
                in_graphs.append(Kernel(piece.name, args["grid"], line, args.get("operator"),
                                        args.get("module")))
                continue
            call = calls.get(args["correlation"])
            if not call:
                continue
            tid = str(trace.tracks[call.track].tid)
            plain.append(Kernel(piece.name, args["grid"], args.get("line"),
                                call.args.get("operator"), module(call.time, tid)))
    return plain, in_graphs


def compare(plain, graphed):
    """Returns (right, wrong, unknown, without): how many kernels of graphs have the code of a
    kernel of the run without graphs, which have another code, how many have none, and for how many
    the run without graphs knows no module.

    Each kernel counts once: two runs of the same steps have the same kernels."""
    of_code = collections.Counter(plain)
    right, wrong, unknown, without = 0, [], 0, 0
    for kernel in graphed:
        no_module = kernel._replace(module=None)
        if kernel.line == UNKNOWN:
            unknown += 1
        elif of_code[kernel] > 0:
            of_code[kernel] -= 1
            right += 1
        elif of_code[no_module] > 0:
            of_code[no_module] -= 1
            without += 1
        else:
            wrong.append(kernel)
    return right, wrong, unknown, without
