#!/bin/sh
# What the wrapper of a library's function costs in each state of the library: median ns per call,
# over the bare call in the same run.
# usage: libs_bench.sh BUILD
# shellcheck source=test/bench/common.sh
. "$(dirname "$0")/common.sh"

state() { # name, settings...
	name=$1
	shift
	run "$@" PROF_CUPTI=off LD_PRELOAD="$library" "$build/test/bench/libs_bench" "$name"
}

printf '%-20s %-10s %7s %7s %7s\n' 'library call' state bare wrapped added
state disarmed PROF_SCHEDULE=off
state 'off' PROF_SCHEDULE=always PROF_STEP=graph PROF_NCCL=off PROF_BLAS=off
state recorded PROF_SCHEDULE=always PROF_STEP=graph
