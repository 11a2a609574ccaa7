# PyTorch's CUDA wheel in a virtual environment of its own, for `make test-torch`. Not part of any other goal.

.PHONY: torch-venv
torch-venv: ## the virtual environment that test-torch uses (5.4 GB)
	$(Q)test/torch/setup.sh $(BUILD)/torch-venv

.PHONY: bench-torch
bench-torch: torch-venv ## what profrun costs a PyTorch loop (simulated GPU)
	$(Q)$(SUBMAKE) all $(BUILD)/test/torch/cupti_alone.so
	$(Q)python3 test/torch/bench.py
	$(Q)python3 test/torch/residue.py

$(BUILD)/test/torch/cupti_alone.so: test/torch/cupti_alone.c
	@echo "  LD    $@"
	$(Q)mkdir -p $(@D) && $(CC) $(CFLAGS) -fPIC -shared -isystem $(CUDA_INCLUDE) $< -o $@
