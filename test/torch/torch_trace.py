"""What torch.profiler's own trace (Kineto's JSON) says of the GPU's work."""
import bisect
import collections
import json

Work = collections.namedtuple("Work", "name us bytes launched_us")


class Kineto:
    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            self.events = [e for e in json.load(file)["traceEvents"] if e.get("ph") == "X"]
        self.launches = {e["args"]["correlation"]: e for e in self.events
                         if e.get("cat") in ("cuda_runtime", "cuda_driver")
                         and "correlation" in e.get("args", {})}
        self.steps = sorted((e["ts"], e["ts"] + e["dur"]) for e in self.events
                            if str(e.get("name", "")).startswith("ProfilerStep#")
                            and e.get("cat") == "user_annotation")

    def work(self, category):
        """In the order of the launches."""
        found = [Work(e["name"], e["dur"], e["args"].get("bytes"),
                      self.launches[e["args"]["correlation"]]["ts"]) for e in self.events
                 if e.get("cat") == category
                 and e.get("args", {}).get("correlation") in self.launches]
        return sorted(found, key=lambda work: work.launched_us)

    def by_step(self, category):
        """Returns a list of works for each whole step. The first step began before the profiler,
        the last one has no end."""
        works = self.work(category)
        at = [work.launched_us for work in works]
        return [works[bisect.bisect_left(at, begin):bisect.bisect_left(at, end)]
                for begin, end in self.steps[1:-1]]
