#!/bin/sh
# What CUPTI costs by what it is asked to record, and what it leaves behind: cupti_cost.cu.
cd "$(dirname "$0")/../.." || exit 1
cuda=$(scripts/cuda-home) || exit 1
mkdir -p build/test/gpu
if ! [ -x "$cuda/bin/nvcc" ]; then
	echo "skip cupti_cost: no nvcc in $cuda"
	exit 0
fi
cupti=$(dirname "$(find -L "$cuda" -name 'libcupti.so*' ! -path '*stubs*' | head -n 1)")
if ! "$cuda/bin/nvcc" -O2 -std=c++17 -cudart shared -o build/test/gpu/cupti_cost test/gpu/cupti_cost.cu \
	-I"$cuda/extras/CUPTI/include" -L"$cupti" -lcupti; then
	echo "not ok cupti_cost: it does not build"
	exit 1
fi
if LD_LIBRARY_PATH="$cupti:$cuda/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" build/test/gpu/cupti_cost; then
	echo "ok cupti_cost"
else
	echo "not ok cupti_cost: it failed"
	exit 1
fi
