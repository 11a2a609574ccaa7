# What several unit programs share: every file here that is not a program itself.
UNIT_HELPER_OBJ := $(patsubst %.c,$(BUILD)/obj/tool/%.o,$(filter-out test/unit/test_%.c,$(wildcard test/unit/*.c)))
UNIT_EXTRA = $(BUILD)/obj/libunit.a
$(BUILD)/obj/libunit.a: $(UNIT_HELPER_OBJ)
$(UNIT): $(BUILD)/obj/libunit.a
-include $(UNIT_HELPER_OBJ:.o=.d)
