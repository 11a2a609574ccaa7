#!/bin/sh
# What a child of a shell costs that never uses CUDA: the CPU time of bash and 500 children that run
# /bin/true, with the library, with an empty preloaded library, and without, by turns.
# usage: child_bench.sh BUILD
# shellcheck source=test/bench/common.sh
. "$(dirname "$0")/common.sh"
here=$(cd "$(dirname "$0")" && pwd)
echo | cc -shared -fPIC -x c - -o "$out/empty.so"
python3 "$here/child_bench.py" 21 "$library" "$out/empty.so"
