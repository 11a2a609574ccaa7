"""Compares CUPTI's records (stdin) with the engine's own account: the same operations, streams,
times, correlation ids.

usage: compare.py TRUTH <RECORDS
"""
import sys

SLACK_NS = 1000  # two readings of the clock, interpolated


def rows(lines):
    for line in lines:
        kind, name, stream, start, end, correlation = line.split()[:6]
        if kind != "host":
            yield ("copy" if kind.startswith("memcpy") else kind, name, int(stream),
                   int(correlation), int(start), int(end))


with open(sys.argv[1]) as f:
    truth = sorted(rows(f))
seen = sorted(rows(sys.stdin))
bad = ""
if len(truth) != len(seen) or len(truth) < 300:
    bad = "%d records of %d operations" % (len(seen), len(truth))
for a, b in zip(truth, seen):
    if not bad and (a[:4] != b[:4] or abs(a[4] - b[4]) > SLACK_NS or abs(a[5] - b[5]) > SLACK_NS):
        bad = "%s is not %s" % (b, a)
print("not ok records match the engine's account: " + bad if bad
      else "ok records match the engine's account")
streams = {}
for kind, name, stream, correlation, start, end in sorted(truth, key=lambda r: r[4]):
    if start < streams.get(stream, 0):
        bad = "stream %d overlaps itself at %d" % (stream, start)
    streams[stream] = end
print("not ok a stream's operations never overlap: " + bad if bad
      else "ok a stream's operations never overlap")
sys.exit(bool(bad))
