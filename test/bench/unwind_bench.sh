#!/bin/sh
# What a native stack costs, compared with libunwind's and glibc's ways, and what a C++ exception
# costs with the unwinder in the process.
# usage: unwind_bench.sh BUILD
# shellcheck source=test/bench/common.sh
. "$(dirname "$0")/common.sh"
"$build/test/bench/unwind_bench" "$build/test/unit/chain"

# Runs alternate, so that a slower minute of the machine slows both; the median of each counts.
thrown() { # settings...
	env LD_LIBRARY_PATH="$build/sim" "$@" "$build/test/prog/throws" 20000 | cut -d' ' -f3
	rm -rf "$out/run"
}
for _ in 1 2 3 4 5; do
	thrown >>"$out/bare"
	thrown LD_PRELOAD="$library" PROF_OUT="$out/run" PROF_LOG=warn \
		PROF_SCHEDULE=always PROF_CUPTI=off PROF_STEP=graph PROF_STACKS=all >>"$out/with"
done
middle() { sort -n "$1" | sed -n 3p; }
bare=$(middle "$out/bare") with=$(middle "$out/with")
printf 'C++ throw and catch through 20 frames: bare %s ns, ' "$bare"
printf 'with stacks recorded %s ns, ratio %s (budget 1.1)\n' \
	"$with" "$(awk "BEGIN { printf \"%.3f\", $with / $bare }")"
