#!/bin/sh
# What NVTX ranges cost the application in each state of the library.
# usage: nvtx_bench.sh BUILD
set -e
build=$(cd "$1" && pwd)
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
bench=$build/test/bench/nvtx_bench

state() { # name, settings...
	name=$1
	shift
	env "$@" PROF_OUT="$out/run" PROF_BUFFER_MB=1024 PROF_LOG=error \
		LD_PRELOAD="$build/libprofrun.so" "$bench" "$name"
	rm -rf "$out/run"
}

printf '%-34s %7s\n' 'nvtxRangePushA + nvtxRangePop' 'ns'
state 'without an injection' -u NVTX_INJECTION64_PATH
state 'disarmed' NVTX_INJECTION64_PATH="$build/libprofrun.so" PROF_SCHEDULE=off
state 'recorded' NVTX_INJECTION64_PATH="$build/libprofrun.so" PROF_SCHEDULE=always \
	PROF_STEP=time:100000 PROF_CUPTI=off
