#!/bin/sh
# What the wrapper of a library's function costs in each state of the library: median ns per call,
# over the bare call in the same run.
# usage: libs_bench.sh BUILD
set -e
build=$(cd "$1" && pwd)
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

state() { # name, settings...
	name=$1
	shift
	env "$@" PROF_OUT="$out/run" PROF_BUFFER_MB=1024 PROF_LOG=error PROF_CUPTI=off \
		LD_PRELOAD="$build/libprofrun.so" "$build/test/bench/libs_bench" "$name"
	rm -rf "$out/run"
}

printf '%-20s %-10s %7s %7s %7s\n' 'library call' state bare wrapped added
state disarmed PROF_SCHEDULE=off
state 'off' PROF_SCHEDULE=always PROF_STEP=graph PROF_NCCL=off PROF_BLAS=off
state recorded PROF_SCHEDULE=always PROF_STEP=graph
