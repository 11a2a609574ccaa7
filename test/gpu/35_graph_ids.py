#!/usr/bin/env python3
"""How CUPTI numbers the nodes of CUDA graphs on this GPU, and whether profrun names the line that
captured each piece of graph work.

usage: 35_graph_ids.py [SCENE...]

Runs the scenes of test/graphs/captured.cu under profrun. All kernels, copies and memsets show their
line. Prints a table row per scene: whether local ids follow the order of capture, where they begin,
which upper half the nodes of child graphs have, and how much work was named right, wrong and not at
all. Wrong names are a failure. Without PROFRUN_GPU=1 runs on the simulated GPU.
"""
import glob
import os
import re
import subprocess
import sys
import tempfile

from _common import LAUNCHER, ON_GPU, ROOT, conclude, execute, settings

sys.path.insert(0, os.path.join(ROOT, "test", "e2e"))
from trace import Trace  # noqa: E402

PROGRAM = os.path.join(ROOT, "build", "test", "prog", "graphs", "captured")
BODIES = ("child_graph", "nested_children", "conditional_nodes")
# Their nodes are not captured in the order of their lines.
OWN_ORDER = ("changed_clone", "destroyed_nodes", "exec_update", "set_params", "capture_to_graph",
             "explicit_nodes", *BODIES)
NAMED = re.compile(r"\bat<(\d+)>")
PLACE = re.compile(r"^captured\.cu:(\d+) ")
LIMIT_S = 60


def true_line(piece):
    """Returns the line that a piece shows; None for work that shows none, such as a memset that the
    driver runs as a kernel."""
    found = NAMED.search(piece.name)
    if found:
        return int(found[1])
    return piece.args.get("dynamic_shared_bytes" if "alike<" in piece.name else "bytes")


def driver_version():
    done = subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"],
                          stdout=subprocess.PIPE, text=True)
    return done.stdout.split("\n")[0].strip()


def graph_work(scene, folder):
    """Returns the run, and its pieces of graph work in the order of the trace."""
    line = [LAUNCHER, *([] if ON_GPU else ["--sim"]), "-o", folder, "--", PROGRAM, scene, "12"]
    done = execute(line, settings(PROF_SCHEDULE="always", PROF_STEP="sync"), folder, LIMIT_S)
    pieces = [piece for path in glob.glob(os.path.join(folder, "traces", "*", "*.pftrace.gz"))
              for piece in Trace(path).slices if piece.args.get("graph")]
    return done, pieces


def ids(pieces):
    """Returns {executable graph: {local id: the node's line}} of the nodes that are no bodies', and
    the upper halves of the others."""
    graphs, others = {}, set()
    for piece in pieces:
        graph, node = piece.args["graph"], piece.args.get("graph_node", 0)
        if node >> 32 == graph:
            graphs.setdefault(graph, {})[node & 0xffffffff] = true_line(piece) or 0
        else:
            others.add((graph, node >> 32))
    return graphs, others


def order(scene, graphs):
    """Says whether local ids follow the lines. These are in the order of capture, except that the
    loops of some scenes go back to an earlier line."""
    if scene in OWN_ORDER:
        return ""
    follows = all([lines[number] for number in sorted(lines)] == sorted(lines.values())
                  for lines in graphs.values())
    return "yes" if follows else "loops or no"


def row(scene, pieces):
    graphs, others = ids(pieces)
    named = [PLACE.match(piece.args.get("captured_at", "")) for piece in pieces]
    wrong = sum(bool(place) and int(place[1]) != (true_line(piece) or int(place[1]))
                for piece, place in zip(pieces, named))
    unknown = sum(place is None for place in named)
    first = sorted({min(lines) for lines in graphs.values()})
    bodies = ", ".join(f"{graph}: {upper}" for graph, upper in sorted(others)[:4])
    print(f"| {scene} | {len(pieces)} | {order(scene, graphs)} | {', '.join(map(str, first[:4]))} "
          f"| {bodies} | {len(pieces) - wrong - unknown} | {wrong} | {unknown} |", flush=True)
    return wrong


def example(pieces):
    """Prints the ids of the first pieces."""
    shown = [f"{true_line(p)}: {p.args['graph']} {p.args.get('graph_node', 0):#x} "
             f"of {p.args['correlation']}" for p in pieces[:12]]
    print(f"line: graph, node id, correlation: {'; '.join(shown)}")


def check(scene, base):
    """(name, why not, False)"""
    name = f"graph ids, {scene}"
    done, pieces = graph_work(scene, os.path.join(base, scene))
    if done.status:
        said = [text for text in done.err.splitlines() if not text.startswith(" ")]
        return name, f"status {done.status}: {' / '.join(said)[:300]}", False
    if not pieces:
        return name, "no graph work in the traces", False
    wrong = row(scene, pieces)
    if scene in ("one_stream", *BODIES):
        example(pieces)
    return name, f"{wrong} of {len(pieces)} pieces named wrong" if wrong else "", False


def main():
    if not os.path.exists(PROGRAM):
        print("skip graph ids: build/test/prog/graphs/captured is not built: there is no nvcc here")
        return 0
    scenes = sys.argv[1:] or subprocess.run(
        [PROGRAM], stdout=subprocess.PIPE, text=True, env=settings()).stdout.split()
    print(f"driver {driver_version() if ON_GPU else 'simulated'}")
    print("| scene | graph work | ids in order of capture | first id "
          "| graph: upper half of bodies' ids | right | wrong | unknown |")
    print("| --- | ---: | --- | --- | --- | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory(prefix="profrun-gpu-") as base:
        return conclude([check(scene, base) for scene in scenes])


if __name__ == "__main__":
    sys.exit(main())
