"""Compares two traces, or two reports."""
import json
import re

from trace import Trace

CLOCK_NS = 10  # each reading of a journal measures the ratio of ticks to nanoseconds again
SHORTEST_WORK_NS = 1000  # of the GPU work in the tests
RATES = ("_per_s", "tflops", "GB/s")  # computed from durations, by names of arguments and fields


def track_names(trace):
    """Returns {track: its name and those of the tracks around it}."""
    def path(track):
        found = trace.tracks.get(track)
        return () if not found else path(found.parent) + (found.name or str(found.tid),)
    return {track: path(track) for track in trace.tracks}


def contents(path):
    """Returns everything a trace shows, by time: (what, where, name, arguments), times."""
    trace = Trace(path)
    names = track_names(trace)
    rows = []
    for s in trace.slices:
        rows.append((("slice", names[s.track], s.name, tuple(sorted(map(str, s.args.items())))),
                     (s.time, s.end)))
    for i in trace.instants:
        rows.append((("instant", names[i.track], i.name, ()), (i.time,)))
    for c in trace.counters:
        rows.append((("counter", names[c.track], "", (str(c.value),)), (c.time,)))
    for (_, out), (_, into) in zip(sorted(trace.flows_out, key=lambda f: (f[0], f[1].time)),
                                   sorted(trace.flows_in, key=lambda f: (f[0], f[1].time))):
        rows.append((("flow", out.name, into.name, ()), (out.time, into.time)))
    return sorted(rows, key=lambda row: (row[1][0], row[0]))


def rates(key):
    """Returns the key without the arguments computed from durations, which differ by the clock."""
    what, where, name, args = key
    return what, where, name, tuple(
        a for a in args if not any(word in a for word in (*RATES, "gpu_us")))


def trace_differences(ours, theirs, most=5, ignored=()):
    """Returns the first differences as texts. `ignored`: ends of tracks' names."""
    def compared(path):
        return [row for row in contents(path)
                if not any(name.endswith(end) for end in ignored for name in row[0][1])]
    a, b = compared(ours), compared(theirs)
    found = [] if len(a) == len(b) else [f"{len(a)} and {len(b)} entries"]
    a.sort(key=lambda row: (rates(row[0]), row[1]))
    b.sort(key=lambda row: (rates(row[0]), row[1]))
    for (key, times), (other, others) in zip(a, b):
        if rates(key) != rates(other):
            found.append(f"{key} is {other}")
        elif any(abs(x - y) > CLOCK_NS for x, y in zip(times, others)):
            found.append(f"{key}: {times} is {others}")
    return found[:most]


def in_one_order(rows):
    """Sorts a list's rows by all but their times: rows of equal time may be in either order."""
    def names(row):
        if not isinstance(row, dict):
            return ""
        return json.dumps({k: v for k, v in row.items() if not isinstance(v, float)},
                          sort_keys=True)
    return sorted(rows, key=names) if all(isinstance(row, dict) for row in rows) else rows


def text_differences(ours, theirs, where):
    """Compares the words, and the numbers as those of a report."""
    number = r"\d+(?:\.\d+)?"
    if re.sub(number, "", ours) != re.sub(number, "", theirs):
        return [f"{where}: {ours!r} is {theirs!r}"]
    return report_differences([float(x) for x in re.findall(number, ours)],
                              [float(x) for x in re.findall(number, theirs)], where)


def report_differences(ours, theirs, where="", most=5):
    """Returns the first differences as texts. Numbers may differ by the clock's calibration."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        found = [f"{where}: only one has {key}" for key in ours.keys() ^ theirs.keys()]
        for key in ours.keys() & theirs.keys():
            found += report_differences(ours[key], theirs[key], f"{where}.{key}", most)
        return found[:most]
    if isinstance(ours, list) and isinstance(theirs, list):
        found = ([] if len(ours) == len(theirs)
                 else [f"{where}: {len(ours)} and {len(theirs)} entries"])
        for i, (a, b) in enumerate(zip(in_one_order(ours), in_one_order(theirs))):
            found += report_differences(a, b, f"{where}[{i}]", most)
        return found[:most]
    if (isinstance(ours, (int, float)) and isinstance(theirs, (int, float))
            and not isinstance(ours, bool)):
        is_rate = any(where.endswith(word) for word in RATES)
        # A time per step is the sum of up to twenty gaps, and each may differ by 0.1 us. Limits of
        # intervals are those of single steps: on a busy machine they differed by up to 0.11 %,
        # and shares of idle time by 0.03 points.
        relative = 2 * CLOCK_NS / SHORTEST_WORK_NS if is_rate else 3e-3
        least = 0.1 if where.endswith("pct") else 2e-3
        return ([] if abs(ours - theirs) <= least + relative * abs(ours)
                else [f"{where}: {ours} is {theirs}"])
    if isinstance(ours, str) and isinstance(theirs, str) and ours != theirs:
        return text_differences(ours, theirs, where)
    return [] if ours == theirs else [f"{where}: {ours!r} is {theirs!r}"]
