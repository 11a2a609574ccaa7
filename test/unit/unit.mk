# What several unit programs share: every file here that is not a program itself.
UNIT_HELPER_OBJ := $(patsubst %.c,$(BUILD)/obj/tool/%.o,$(filter-out test/unit/test_%.c,$(wildcard test/unit/*.c)))
UNIT_EXTRA = $(BUILD)/obj/libunit.a
$(BUILD)/obj/libunit.a: $(UNIT_HELPER_OBJ)
$(UNIT): $(BUILD)/obj/libunit.a
-include $(UNIT_HELPER_OBJ:.o=.d)

# What test_frames looks names up in: with everything, without .symtab and debug information, without a build-id.
SHAPES := $(BUILD)/test/unit/shapes.so $(BUILD)/test/unit/shapes_stripped.so $(BUILD)/test/unit/shapes_no_id.so
$(BUILD)/test/unit/test_frames: | $(SHAPES)
$(SHAPES): test/unit/shapes.cpp
	$(call say,CXX,$@)
	$(Q)mkdir -p $(@D) && g++ -std=c++17 -O2 -g $(SHAPES_FLAGS) -fvisibility=hidden -shared -fPIC $< -o $@
$(BUILD)/test/unit/shapes.so: SHAPES_FLAGS := -Wl,--build-id
$(BUILD)/test/unit/shapes_stripped.so: SHAPES_FLAGS := -Wl,--build-id -s
$(BUILD)/test/unit/shapes_no_id.so: SHAPES_FLAGS := -Wl,--build-id=none
