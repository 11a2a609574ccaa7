# Installs PyTorch's CUDA wheel in a separate virtual environment, for `make test-torch` and `make
# bench-torch`. No other goal installs it.

.PHONY: torch-venv
torch-venv: ## the virtual environment that test-torch uses (5.4 GB)
	$(Q)test/torch/setup.sh $(BUILD)/torch-venv

.PHONY: bench-torch
bench-torch: torch-venv ## what profrun costs a PyTorch loop (simulated GPU)
	$(Q)$(SUBMAKE) all $(BUILD)/test/torch/cupti_alone.so $(BUILD)/test/torch/unhooked.so
	$(Q)python3 test/torch/bench.py
	$(Q)python3 test/torch/residue.py

$(BUILD)/test/torch/%.so: test/torch/%.c
	@echo "  LD    $@"
	$(Q)mkdir -p $(@D) && $(CC) $(CFLAGS) -D_GNU_SOURCE= -fPIC -shared \
		-isystem $(CUDA_INCLUDE) $< -o $@
