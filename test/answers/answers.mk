# The answer-key suite: builds its C++ programs and adds `make answers`. The programs are built with
# debug information (-g), from which profrun takes files and lines.
ANSWERS := $(BUILD)/test/answers
ANSWERS_SRC := $(wildcard test/answers/programs/*.cpp test/answers/unseen/*.cpp)
ANSWERS_BIN := $(notdir $(ANSWERS_SRC:%.cpp=%))
ANSWERS_TIER ?= plain,torch

vpath %.cpp test/answers/programs test/answers/unseen
prog: $(ANSWERS_BIN:%=$(ANSWERS)/%)
$(ANSWERS)/%: %.cpp test/answers/kit.h $(BUILD)/sim/libcudart.so.13
	$(call say,CXX,$<)
	$(Q)mkdir -p $(@D) && $(CXX) -std=c++17 -O2 -g -Wall -Wextra -isystem $(CUDA_INCLUDE) \
		-Itest/answers $< $(BUILD)/sim/libcudart.so.13 -lpthread -o $@

.PHONY: answers
answers: ## programs with planted causes: is the report right? (ANSWERS_TIER=plain without PyTorch)
	$(Q)scripts/setup
	$(Q)$(SUBMAKE) all prog
	$(Q)status=0; for set in '' --unseen; do \
		python3 test/answers/run.py --tier $(ANSWERS_TIER) $$set || status=1; \
	done; exit $$status
