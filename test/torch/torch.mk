# PyTorch's CUDA wheel in a virtual environment of its own, for `make test-torch`. Not part of any other goal.

.PHONY: torch-venv
torch-venv: ## the virtual environment that test-torch uses (5.4 GB)
	$(Q)test/torch/setup.sh $(BUILD)/torch-venv

.PHONY: bench-torch
bench-torch: torch-venv ## what profrun costs a PyTorch loop (simulated GPU)
	$(Q)$(SUBMAKE) all
	$(Q)python3 test/torch/bench.py
