#!/bin/sh
# Measures what CUPTI costs by what it records, and what cost remains afterwards (cupti_cost.cu).
# Checks whether a program survives CUPTI's removal (cupti_finalize.cu).
cd "$(dirname "$0")/../.." || exit 1
cuda=$(scripts/cuda-home) || exit 1
mkdir -p build/test/gpu
if ! [ -x "$cuda/bin/nvcc" ]; then
	echo "skip cupti_cost: no nvcc in $cuda"
	exit 0
fi
cupti=$(dirname "$(find -L "$cuda" -name 'libcupti.so*' ! -path '*stubs*' | head -n 1)")
status=0
for program in cupti_cost cupti_finalize; do
	if ! "$cuda/bin/nvcc" -O2 -std=c++17 -cudart shared -o build/test/gpu/$program \
		test/gpu/$program.cu -I"$cuda/extras/CUPTI/include" -L"$cupti" -lcupti; then
		echo "not ok $program: it does not build"
		status=1
	elif LD_LIBRARY_PATH="$cupti:$cuda/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" \
		build/test/gpu/$program; then
		echo "ok $program"
	else
		echo "not ok $program: it failed"
		status=1
	fi
done
exit $status
