"""Prints what HTA and TensorBoard's plugin compute of a folder of Kineto traces, as JSON.

Runs with the Python of build/readers-venv (`scripts/setup readers`). Each analysis gives its result
or, in "failed", the error that it raised.

usage: kineto_readers.py FOLDER [--ranks | --hta]
"""
import glob
import gzip
import json
import logging
import os
import sys
import tempfile
import warnings

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)


def hta(folder, failed):
    from hta.trace_analysis import TraceAnalysis
    t = TraceAnalysis(trace_dir=folder, include_last_profiler_step=True)
    scratch = tempfile.mkdtemp()

    def records(frame):
        if frame is None:  # there is nothing of the kind
            return []
        return json.loads(frame.to_json(orient="records"))

    ranks = sorted(t.t.get_all_traces())
    rank = ranks[0]
    series = t.get_queue_length_time_series(ranks=ranks)
    analyses = {
        "temporal": lambda: records(t.get_temporal_breakdown(visualize=False)),
        "idle": lambda: records(t.get_idle_time_breakdown(ranks=ranks,
                                                           visualize=False)[0]),
        "kernels": lambda: records(t.get_gpu_kernel_breakdown(visualize=False,
                                                              num_kernels=1000)[1]),
        "overlap": lambda: records(t.get_comm_comp_overlap(visualize=False)),
        "queue": lambda: {rank: len(frame) for rank, frame in series.items()},
        "blocked": lambda: records(t.get_time_spent_blocked_on_full_queue(series)),
        "bandwidth": lambda: len(t.get_memory_bw_summary(ranks=ranks)),
        "launches": lambda: records(t.get_cuda_kernel_launch_stats(ranks=ranks,
                                                                   visualize=False)[rank]),
        "operators": lambda: len(t.get_aten_op_kernels_and_delay(ranks=ranks)[rank]),
        "sequences": lambda: len(t.get_frequent_cuda_kernel_sequences(
            operator_name="aten::", output_dir=scratch, rank=rank, visualize=False)),
        "steps": lambda: [int(step) for step in t.get_profiler_steps()],
        "annotations": lambda: records(t.get_gpu_user_annotation_breakdown(
            use_gpu_annotation=True, visualize=False)),
        "annotated kernels": lambda: records(t.get_gpu_kernels_with_user_annotations(rank)),
        "counters": lambda: t.generate_trace_with_counters(ranks=ranks,
                                                           output_suffix="_c"),
        "critical path": lambda: critical_path(t, rank),
    }
    found = {}
    for name, analysis in analyses.items():
        try:
            found[name] = analysis()
        except Exception as e:  # every one is of interest
            failed[f"HTA: {name}"] = f"{type(e).__name__}: {e}"
    return found


def ranks(folder):
    """HTA's analyses of several ranks. It looks for stragglers among kernels of NCCL before 2.19,
    so the kernels get the names that they had then."""
    from hta.trace_analysis import TraceAnalysis
    older = tempfile.mkdtemp()
    for path in glob.glob(os.path.join(folder, "*.json.gz")):
        with gzip.open(path, "rt") as file, \
                gzip.open(os.path.join(older, os.path.basename(path)), "wt") as to:
            to.write(file.read().replace("ncclDevKernel_", "ncclKernel_"))
    t = TraceAnalysis(trace_dir=older, include_last_profiler_step=True)
    overlap = t.get_comm_comp_overlap(visualize=False)
    kernels = t.get_gpu_kernel_breakdown(visualize=False, num_kernels=100)[1]
    return {"ranks": sorted(t.t.get_all_traces()),
            "overlap": dict(zip((int(rank) for rank in overlap["rank"]),
                                overlap["comp_comm_overlap_pctg"])),
            "stragglers": [int(rank) for rank in t.get_potential_stragglers(num_candidates=1)],
            "communication_us": {int(row["rank"]): float(row["sum (us)"]) for _, row in
                                 kernels[kernels["kernel_type"] == "COMMUNICATION"].iterrows()}}


def critical_path(t, rank):
    graph, is_done = t.critical_path_analysis(rank=rank, annotation="ProfilerStep", instance_id=1)
    return {"done": is_done, **json.loads(graph.summary().to_json())}


def plugin(folder):
    from torch_tb_profiler.profiler import data, trace
    # the plugin's last version knows this category, the one on PyPI does not
    trace.EventTypeMap["cuda_runtime"] = trace.EventTypes.RUNTIME
    found = []
    for path in sorted(glob.glob(os.path.join(folder, "*.pt.trace.json.gz"))):
        d = data.RunProfileData.parse("worker", None, path, tempfile.mkdtemp())
        d.process()
        d.analyze()
        kernels = d.kernel_stat.reset_index()
        found.append({
            "steps": d.steps_names,
            "costs": [list(step.costs) for step in d.steps_costs],
            "kernels": {row["name"]: [int(row["count"]), float(row["sum"])]
                        for _, row in kernels.iterrows()},
            "operators": {op.name: [op.calls, op.device_duration]
                          for op in d.op_list_groupby_name},
            "utilization": d.gpu_metrics_parser.gpu_utilization[0],
            "memory": len(d.memory_snapshot.memory_records) if d.memory_snapshot else 0,
        })
    return found


def main():
    folder, failed = sys.argv[1], {}
    if sys.argv[2:] == ["--ranks"]:
        print(json.dumps(ranks(folder)))
        return
    if sys.argv[2:] == ["--hta"]:
        print(json.dumps({"hta": hta(folder, failed), "failed": failed}))
        return
    result = {"hta": hta(folder, failed), "plugin": plugin(folder), "failed": failed}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
