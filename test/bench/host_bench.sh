#!/bin/sh
# What host samples cost: the CPU time of a launch-bound loop's thread, recorded with samples and
# without, by turns; and the CPU time of the sampling thread.
# usage: host_bench.sh BUILD
. "$(dirname "$0")/common.sh"
here=$(cd "$(dirname "$0")" && pwd)
loop() {
	run LD_PRELOAD="$library" LD_LIBRARY_PATH="$build/sim" PROFSIM_LAUNCH_US=1 \
		PROFSIM_KERNEL_US=1 PROF_SCHEDULE=always PROF_STEP=sync "$@" \
		python3 "$here/host_bench.py" 3000
}
for _ in 1 2 3 4 5 6 7 8 9; do
	loop PROF_HOST=off >>"$out/without"
	loop PROF_HOST=1000 >>"$out/with"
done
paste "$out/without" "$out/with" | awk '
	{ ratio[NR] = $3 / $1; without += $1; core += $4 }
	END {
		n = asort_(ratio, NR)
		printf "\nhost samples, 1000 Hz: CPU time of a step %.1f us without, with them " \
		       "%.4f times as much (budget 1.01; %.4f to %.4f);\n" \
		       "the sampling thread %.1f %% of a core (budget 3)\n",
		       without / NR, ratio[int((NR + 1) / 2)], ratio[1], ratio[NR], core / NR
		exit ratio[int((NR + 1) / 2)] > 1.01 || core / NR > 3
	}
	function asort_(a, n,    i, j, t) {
		for (i = 2; i <= n; i++)
			for (j = i; j > 1 && a[j - 1] > a[j]; j--) {
				t = a[j]; a[j] = a[j - 1]; a[j - 1] = t
			}
		return n
	}'
