# Builds the tool that prints how often step learning is right (`make steps`). Unit tests share some
# of its code.
STEPS_SHARED := $(patsubst %,$(BUILD)/obj/tool/test/steps/%.o,sequence program network noise \
	recorded kinds kinds_train kinds_other trial tally anchors)
STEPS_OBJ := $(BUILD)/obj/tool/test/steps/steps.o $(STEPS_SHARED)
STEPS_FILES ?= $(wildcard test/steps/data/*.tsv.gz)

steps-tool: $(BUILD)/test/steps/steps
$(BUILD)/test/steps/steps: $(STEPS_OBJ) $(BUILD)/obj/libcore.a
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(LDFLAGS) $^ -lz -lm -o $@

STEPS_UNIT := $(patsubst %,$(BUILD)/test/unit/%,test_levels test_levels_early test_levels_noise \
	test_levels_recorded test_levels_kinds)
$(STEPS_UNIT): UNIT_EXTRA += $(STEPS_SHARED)
$(STEPS_UNIT): $(STEPS_SHARED)

.PHONY: steps
steps: steps-tool ## how often step learning is right (STEPS_FILES=..., STEPS_ARGS="-k KIND -v")
	$(Q)$(BUILD)/test/steps/steps $(STEPS_ARGS) $(STEPS_FILES)

-include $(STEPS_OBJ:.o=.d)
