#!/bin/sh
# What NVTX ranges cost the application in each state of the library.
# usage: nvtx_bench.sh BUILD
# shellcheck source=test/bench/common.sh
. "$(dirname "$0")/common.sh"

state() { # name, settings...
	name=$1
	shift
	run "$@" LD_PRELOAD="$library" "$build/test/bench/nvtx_bench" "$name"
}

printf '%-34s %7s\n' 'nvtxRangePushA + nvtxRangePop' 'ns'
state 'without an injection' -u NVTX_INJECTION64_PATH
state 'disarmed' NVTX_INJECTION64_PATH="$library" PROF_SCHEDULE=off
state 'recorded' NVTX_INJECTION64_PATH="$library" PROF_SCHEDULE=always PROF_STEP=time:100000 \
	PROF_CUPTI=off
