#!/bin/sh
# What CUDA graphs cost: 10,000 captured calls in 50 graphs, and each launch of a graph afterwards.
# usage: graph_bench.sh BUILD
# shellcheck source=test/bench/common.sh
. "$(dirname "$0")/common.sh"

state() { # name, budget, settings..., -- [lock]
	name=$1 budget=$2
	shift 2
	settings=
	while [ "$1" != -- ]; do settings="$settings $1"; shift; done
	shift
	# shellcheck disable=SC2086 # settings are words
	run $settings LD_PRELOAD="$library" "$build/test/bench/graph_bench" "$name" "$budget" "$@"
}

late=skip_first=1000000000,active=1
printf '%-34s %7s %7s %7s %7s %9s %7s\n' 'cudaGraphLaunch (ns a call)' bare hooked added budget \
	'a capture' 'KB'
state 'disarmed' 15 PROF_SCHEDULE=off --
state 'disarmed, steps counted' 60 PROF_OPENING=off PROF_SCHEDULE=$late -- lock
state 'steps by time' 60 PROF_OPENING=off PROF_STEP=time:100000 PROF_SCHEDULE=$late --
echo 'KB: room in the journal for 10,000 captured calls and their stacks. If steps are known, as in'
echo 'the last row, the budget is 1,000. While steps are being learned, all calls are recorded.'
