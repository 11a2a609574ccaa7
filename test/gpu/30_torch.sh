#!/bin/sh
# PyTorch on the GPU: the training script under profrun, against its own output and against
# torch.profiler's trace of the same steps (kernels equal, GPU time within 1 %).
cd "$(dirname "$0")/../.." || exit 1
if ! python3 -c 'import torch, sys; sys.exit(not torch.cuda.is_available())' 2>/dev/null; then
	echo "skip torch: this python3 has no PyTorch that sees a GPU"
	exit 0
fi
if python3 test/torch/test_torch.py; then
	echo "ok torch"
else
	echo "not ok torch: see above"
	exit 1
fi
