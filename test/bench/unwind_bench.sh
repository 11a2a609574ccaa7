#!/bin/sh
# What a native stack costs, beside libunwind's and glibc's own ways, and what a C++ exception costs with the unwinder at work.
# usage: unwind_bench.sh BUILD
set -e
build=$(cd "$1" && pwd)
"$build/test/bench/unwind_bench" "$build/test/unit/chain"
