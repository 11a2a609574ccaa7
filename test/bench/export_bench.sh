#!/bin/sh
# How fast journals become traces: a step of a million launches and their kernels.
# usage: export_bench.sh BUILD
exec "$1/test/bench/export_bench"
