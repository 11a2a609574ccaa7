#!/bin/sh
# How long the application's steps take at the end of a recorded window, with everything that is
# recorded by default, and with the collector.
# usage: window_bench.sh BUILD
# shellcheck source=test/bench/common.sh
. "$(dirname "$0")/common.sh"
here=$(cd "$(dirname "$0")" && pwd)
steps=4000 skip=100 wait=97 warmup=1 active=2
PROF_LOG=error PROFSIM_LAUNCH_US=1 PROF_STEP=sync PROF_OPENING=off "$build/profrun" run \
	--sim --quiet -o "$out/run" --schedule \
	skip_first=$skip,wait=$wait,warmup=$warmup,active=$active,repeat=0 -- \
	python3 "$here/window_bench.py" $steps $skip $wait $warmup $active 50 2
