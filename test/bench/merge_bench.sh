#!/bin/sh
# How long `profrun merge` takes for 1,000 ranks, and how much memory.
# usage: merge_bench.sh BUILD
exec python3 "$(dirname "$0")/merge_bench.py" "$1"
