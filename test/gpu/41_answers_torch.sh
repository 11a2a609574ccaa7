#!/bin/sh
# The programs in PyTorch of the answer-key suite: 40_answers.py.
cd "$(dirname "$0")/../.." || exit 1
if [ "${PROFRUN_GPU:-}" = 1 ] &&
	! python3 -c 'import torch, sys; sys.exit(not torch.cuda.is_available())' 2>/dev/null; then
	echo "skip answers: this python3 has no PyTorch that sees a GPU"
	exit 0
fi
exec python3 test/gpu/40_answers.py --tier torch
