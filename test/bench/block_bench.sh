#!/bin/sh
# What PyTorch's memory reports cost the application in each state of the library.
# usage: block_bench.sh BUILD
# shellcheck source=test/bench/common.sh
. "$(dirname "$0")/common.sh"

state() { # name, settings...
	name=$1
	shift
	run "$@" PROF_STEP=time:100000 PROF_CUPTI=off "$build/test/bench/block_bench" "$name"
}

printf '%-34s %7s %7s\n' 'a memory report (half are frees)' 'ns' 'cold ns'
state 'bare'
state 'PROF_MEMORY=off' LD_PRELOAD="$library" PROF_SCHEDULE=always PROF_MEMORY=off
state 'nothing ever recorded' LD_PRELOAD="$library" PROF_SCHEDULE=off
state 'disarmed: the table' LD_PRELOAD="$library" PROF_OPENING=off \
	PROF_SCHEDULE=skip_first=1000000000,active=1
state 'recorded, no stacks' LD_PRELOAD="$library" PROF_SCHEDULE=always PROF_STACKS=none
state 'recorded, stacks of 33 frames' LD_PRELOAD="$library" PROF_SCHEDULE=always
