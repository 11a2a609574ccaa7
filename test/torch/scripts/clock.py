"""The scripts' own clock: prints how many steps there were and how long one took, as JSON in the
last line of stdout."""
import json
import statistics
import time

WARM = 5


def steps(n, **more):
    """Yields the steps' numbers. `more` are functions that are called after the warm-up and at the
    end; their results are reported as growth per step."""
    marks = []
    for i in range(n):
        if i == WARM:
            before = {name: ask() for name, ask in more.items()}
        marks.append(time.perf_counter())
        yield i
    grown = {name: (ask() - before[name]) / (n - WARM) for name, ask in more.items()}
    each_ms = [(end - begin) * 1e3 for begin, end in zip(marks[WARM:], marks[WARM + 1:])]
    print(json.dumps({"steps": n, "median_ms": statistics.median(each_ms), "least_ms": min(each_ms),
                      "mean_ms": statistics.mean(each_ms),
                      **grown}), flush=True)
