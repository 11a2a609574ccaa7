#!/bin/sh
# What a recorded launch costs with its stack, over the bare launch.
# usage: stack_bench.sh BUILD
# shellcheck source=test/bench/common.sh
. "$(dirname "$0")/common.sh"
here=$(dirname "$0")

printf '%-22s %6s %6s %9s %9s\n' 'recorded launch, ns' python native repeated changed
for stacks in none all; do
	run PROF_BUFFER_MB=4096 PROF_LOG=warn PROF_SCHEDULE=always PROF_CUPTI=off \
		PROF_STEP=graph PROF_STACKS=$stacks \
		LD_PRELOAD="$library" LD_LIBRARY_PATH="$build/test/bench" \
		python3 "$here/stack_bench.py" "$build/test/bench/libstack_bench.so" \
		"PROF_STACKS=$stacks"
done
echo "budget with both stacks, 30 to 60 native and 20 Python frames: 200 repeated, 500 changed"
