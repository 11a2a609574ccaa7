#!/bin/sh
# What `profrun report` takes for a recording of a million events.
# usage: report_bench.sh BUILD
exec "$1/test/bench/report_bench" "$1"
