#!/bin/sh
# What a hooked launch costs in each state of the library, and what preloading costs a process
# without CUDA.
# usage: hook_bench.sh BUILD
# shellcheck source=test/bench/common.sh
. "$(dirname "$0")/common.sh"
bench=$build/test/bench/hook_bench

state() { # name, budget, settings..., [-- arguments]
	name=$1 budget=$2
	shift 2
	settings=
	while [ $# -gt 0 ] && [ "$1" != -- ]; do settings="$settings $1"; shift; done
	[ $# -gt 0 ] && shift
	# The median of three runs, each with its own journal: the kernel may be writing back pages.
	for _ in 1 2 3; do
		# shellcheck disable=SC2086 # settings are words
		run $settings LD_PRELOAD="$library" "$bench" "$name" "$budget" "$@"
	done | sort -t'|' -k1.52,1.58n | sed -n 2p
}

printf '%-34s %7s %7s %7s %7s %7s\n' 'cudaLaunchKernel (ns a call)' bare hooked added budget ratio
state 'disarmed' 15 PROF_SCHEDULE=off
state 'disarmed, steps counted' 18 PROF_OPENING=off \
	PROF_SCHEDULE=skip_first=1000000000,active=1 -- lock
state 'learning steps' 60 PROF_OPENING=off \
	PROF_SCHEDULE=skip_first=1000000000,active=1
state 'active, no stack, no GPU timing' 60 PROF_SCHEDULE=always PROF_CUPTI=off PROF_STEP=graph
"$build/test/bench/startup_bench" "$library"
