#!/bin/sh
# What Python's frames cost a call: ns at 2 to 101 frames, for the read in every call, and for
# resolving, which is needed once per stack.
# usage: python_bench.sh BUILD
build=$(cd "$1" && pwd) || exit 1
here=$(cd "$(dirname "$0")" && pwd)
library=$build/test/prog/python_frames.so
status=0
printf '\n%-10s%-43s%s\n' '' 'read (budget 40 at 21, 75 at 41 frames)' 'read and resolve'
printf '%-10s%8s%8s%8s%8s%8s   %8s%8s%8s%8s%8s  ns\n' CPython 2 11 21 41 101 2 11 21 41 101
for python in "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.*/bin/python3 /usr/bin/python3; do
	[ -x "$python" ] || continue
	"$python" -c 'import sys; sys.exit(sys.version_info < (3, 8))' || continue
	"$python" "$here/python_bench.py" "$library" || status=1
done
exit $status
