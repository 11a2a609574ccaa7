# Step learning: the tool that prints how it does (make steps), and what its unit test shares with it.
STEPS_OBJ := $(BUILD)/obj/tool/test/steps/steps.o $(BUILD)/obj/tool/test/steps/sequence.o
STEPS_FILES ?= $(wildcard test/steps/data/*.tsv.gz)

steps-tool: $(BUILD)/test/steps/steps
$(BUILD)/test/steps/steps: $(STEPS_OBJ) $(BUILD)/obj/libcore.a
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(LDFLAGS) $^ -lz -o $@

STEPS_UNIT := $(BUILD)/test/unit/test_levels $(BUILD)/test/unit/test_levels_recorded
$(STEPS_UNIT): UNIT_EXTRA += $(BUILD)/obj/tool/test/steps/sequence.o
$(STEPS_UNIT): $(BUILD)/obj/tool/test/steps/sequence.o

.PHONY: steps
steps: steps-tool ## how step learning does on recorded programs (STEPS_FILES=...)
	$(Q)$(BUILD)/test/steps/steps $(STEPS_FILES)
	$(Q)$(BUILD)/test/steps/steps --no-names $(STEPS_FILES)

-include $(STEPS_OBJ:.o=.d)
