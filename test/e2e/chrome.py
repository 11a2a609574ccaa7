"""A reader of the Chrome format (Trace Event Format), as scripts read it: Python's json alone."""
import gzip
import json
from decimal import Decimal

from journal import Record


def ns(us):
    """Microseconds, as written, in nanoseconds; they must come out whole."""
    value = us * 1000
    assert value == int(value), us
    return int(value)


class ChromeTrace:
    """slices, instants, counters, flows of one file; times in nanoseconds of CLOCK_MONOTONIC."""

    def __init__(self, path):
        with gzip.open(path, "rt", encoding="utf-8") as file:
            self.json = json.load(file, parse_float=Decimal)
        self.events = self.json["traceEvents"]
        self.threads = {e["tid"]: e["args"]["name"] for e in self.of("M")
                        if e["name"] == "thread_name"}
        self.slices = [Record(name=e["name"], category=e["cat"], time=ns(e["ts"]),
                              end=ns(e["ts"]) + ns(e["dur"]), args=e.get("args", {}))
                       for e in self.of("X")]
        self.instants = [Record(name=e["name"], time=ns(e["ts"])) for e in self.of("i")]
        self.counters = [Record(name=e["name"], time=ns(e["ts"]), value=value)
                         for e in self.of("C") for value in e["args"].values()]
        self.flows_out = {e["id"]: ns(e["ts"]) for e in self.of("s")}
        self.flows_in = {e["id"]: ns(e["ts"]) for e in self.of("f")}

    def of(self, phase):
        return [e for e in self.events if e["ph"] == phase]
