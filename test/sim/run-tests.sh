#!/bin/sh
# Tests of the simulated GPU: lines "ok NAME" and "not ok NAME: why"; exit status 1 if any failed.
# usage: run-tests.sh      (after make sim; BUILD names another build folder)
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
build=${BUILD:-$root/build}
case $build in /*) ;; *) build=$root/$build ;; esac
sim=$build/sim
bin=$build/sim/test
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LD_LIBRARY_PATH="$sim${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
unset LD_PRELOAD
failed=0

# Runs a program whose own lines are the result; a death is a failure too.
run() {
	"$@" || failed=1
}

check() { # NAME CONDITION...
	name=$1
	shift
	if "$@" >"$work/out" 2>&1; then
		echo "ok $name"
	else
		echo "not ok $name: $(tail -n 1 "$work/out")"
		failed=1
	fi
}

says() { # PATTERN COMMAND...: the command's output has the pattern
	pattern=$1
	shift
	"$@" >"$work/said" 2>&1
	grep -q "$pattern" "$work/said" || { cat "$work/said"; return 1; }
}

exports_are() { # LIBRARY LIST
	nm -D --defined-only "$sim/$1" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' |
		LC_ALL=C sort >"$work/exports"
	cmp "$work/exports" "$here/exports/$2"
}

check "libcuda exports what the real one does" exports_are libcuda.so.1 cuda.txt
for major in 12 13; do
	check "libcudart.so.$major exports what the real one does" \
		exports_are libcudart.so.$major cudart$major.txt
	check "libcupti.so.$major exports what the real one does" \
		exports_are libcupti.so.$major cupti$major.txt
done

run "$bin/time"
PROFSIM_MEMORY_MB=64 run "$bin/data"
for mode in records clock flush worker refuse subscriber; do
	run "$bin/records" $mode
done
for mode in graphs ids copies; do
	run "$bin/finalize" $mode
done
PROFSIM_CUPTI=busy run "$bin/records" busy
PROFSIM_CUPTI=missing run "$bin/records" missing
PROFSIM_CUPTI=drop:3 run "$bin/records" drop

PROFSIM_TRUTH=$work/truth "$bin/truth" >"$work/records" || failed=1
python3 "$here/tests/compare.py" "$work/truth" <"$work/records" || failed=1
run "$bin/both"
PROFSIM_TRUTH=$work/truth_libs PROFSIM_KERNEL_TIMES=dgrad=40.5,cusolver=300 run "$bin/libs"
PROFSIM_DEVICES=2 run python3 "$here/tests/ctypes_run.py" 2
PROFSIM_TRUTH=$work/truth_conditions PROFSIM_WHILE=4 run "$bin/conditions"
run "$bin/pools"
run "$bin/graph_ids" 13000 0 1 2 3 4 exec
PROFSIM_DRIVER=13.1 run "$bin/graph_ids" 13010 0 1 2 3 4 own
PROFSIM_GRAPH_IDS=from-1,bodies-apart run "$bin/graph_ids" 13000 1 2 3 4 5 own
PROFSIM_GRAPH_IDS=gaps run "$bin/graph_ids" 13000 0 1 2 5 6 exec
PROFSIM_GRAPH_IDS=shuffled run "$bin/graph_ids" 13000 3 2 1 0 7 exec
for program in nvcc images thrust; do
	[ ! -x "$bin/$program" ] || run "$bin/$program"
done
if [ -x "$bin/static" ]; then
	check "a CUDA runtime of its own is named" \
		says "test/static has a CUDA runtime of its own" "$bin/static"
	check "and what it needs" says "nvcc -cudart shared" "$bin/static"
fi
if [ -x "$bin/images" ]; then
	PROFSIM_CC=6.1 run "$bin/images" other
	check "the GPU for which there is code is named" says "PROFSIM_CC=8.0 simulates" \
		env PROFSIM_CC=6.1 "$bin/images" other
fi

check "a planted failure happens" env PROFSIM_FAIL=cudaMalloc:1:2 sh -c "! '$bin/both' >/dev/null"
check "at its call only" env PROFSIM_FAIL=cudaMalloc:2:cudaErrorMemoryAllocation "$bin/both"
check "a bad failure is named" says "PROFSIM_FAIL: nonsense is not API:N:ERROR" \
	env PROFSIM_FAIL=nonsense "$bin/both"
check "a bad number is named" says "PROFSIM_KERNEL_US=ten is not a number" \
	env PROFSIM_KERNEL_US=ten "$bin/both"
check "bad times are named" says "PROFSIM_KERNEL_TIMES=gemm is not TEXT=US" \
	env PROFSIM_KERNEL_TIMES=gemm "$bin/both"
check "bad results are named" says "PROFSIM_KERNEL_RESULTS=1 is not TEXT=N" \
	env PROFSIM_KERNEL_RESULTS=1 "$bin/both"
check "a number's odd size is named" says "PROFSIM_KERNEL_RESULTS=a=1:3 is not TEXT=N" \
	env PROFSIM_KERNEL_RESULTS=a=1:3 "$bin/both"
check "unknown ids are named" says "PROFSIM_GRAPH_IDS=gaps,from-2 is unknown" \
	env PROFSIM_GRAPH_IDS=gaps,from-2 "$bin/both"
check "an unknown setting is named" says "unknown setting PROFSIM_KERNELUS" \
	env PROFSIM_KERNELUS=1 "$bin/both"
check "no device" says "gave 100" env PROFSIM_DEVICES=0 "$bin/truth"
exit $failed
