# Code that several unit tests share: every file of this folder that is not itself a test.
UNIT_HELPER_OBJ := $(patsubst %.c,$(BUILD)/obj/tool/%.o, \
	$(filter-out test/unit/test_%.c,$(wildcard test/unit/*.c)))
UNIT_EXTRA = $(BUILD)/obj/libunit.a
$(BUILD)/obj/libunit.a: $(UNIT_HELPER_OBJ)
$(UNIT): $(BUILD)/obj/libunit.a
-include $(UNIT_HELPER_OBJ:.o=.d)

# Shared objects in which the tests of frames look up names: one is complete, one is without .symtab
# and debug information, one is without a build-id.
SHAPES := $(BUILD)/test/unit/shapes.so $(BUILD)/test/unit/shapes_stripped.so \
	$(BUILD)/test/unit/shapes_no_id.so
$(addprefix $(BUILD)/test/unit/test_,frames frames_python functions): | $(SHAPES)
$(SHAPES): test/unit/shapes.cpp
	$(call say,CXX,$@)
	$(Q)mkdir -p $(@D) && g++ -std=c++17 -O2 -g $(SHAPES_FLAGS) -fvisibility=hidden \
		-shared -fPIC $< -o $@
$(BUILD)/test/unit/shapes.so: SHAPES_FLAGS := -Wl,--build-id
$(BUILD)/test/unit/shapes_stripped.so: SHAPES_FLAGS := -Wl,--build-id -s
$(BUILD)/test/unit/shapes_no_id.so: SHAPES_FLAGS := -Wl,--build-id=none

# Shared objects for the unwinder's tests and benchmark. Several are built from the same source, so
# that each function occurs in the process several times. They have no frame pointers, like the
# packages of distributions.
CHAIN := $(BUILD)/test/unit/chain
CHAIN_OBJECTS := $(CHAIN)/libchain0.so $(CHAIN)/libchain1.so $(CHAIN)/libchain2.so \
	$(CHAIN)/libchain3.so $(CHAIN)/libchain_O0.so $(CHAIN)/libchain_bp.so
SWAP_OBJECTS := $(CHAIN)/libswap_small.so $(CHAIN)/libswap_large.so
$(CHAIN_OBJECTS): test/unit/chain/chain.c test/unit/chain/chain.h
$(SWAP_OBJECTS): test/unit/chain/swap.c test/unit/chain/chain.h
$(CHAIN)/libswap_large.so: CHAIN_FLAGS := -DROOM_BYTES=88
$(CHAIN)/libswap_small.so: CHAIN_FLAGS := -DROOM_BYTES=24
$(CHAIN)/libchain_O0.so: CHAIN_FLAGS := -O0 -fno-omit-frame-pointer
$(CHAIN)/libchain_bp.so: CHAIN_FLAGS := -fno-omit-frame-pointer
$(CHAIN_OBJECTS) $(SWAP_OBJECTS):
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(CFLAGS) -fomit-frame-pointer -fPIC -shared $(CHAIN_FLAGS) \
		-I. -D_GNU_SOURCE= $< -o $@
$(addprefix $(BUILD)/test/unit/test_preload_unwind,_places _other) \
		$(BUILD)/test/unit/test_preload_unwind: | \
		$(CHAIN_OBJECTS) $(SWAP_OBJECTS)

# Objects whose loops test_flow_machine.c and test_flow_runs.c check. Their relocations say where
# they call what. Other compilers than this machine's have a folder each, if they are there.
FLOW := $(BUILD)/test/unit/flow
FLOW_NAMES := O0.so O1.so O2.so O3.so Os.so no-pic-O0.so no-pic-O2.so unroll-O2.so unroll-O3.so
FLOW_OBJECTS := $(addprefix $(FLOW)/,$(FLOW_NAMES))
FLOW_OTHERS := $(foreach c,gcc-13 gcc-14 gcc-15 clang clang-19,$(if $(shell command -v $(c)), \
	$(addprefix $(FLOW)/$(c)/,$(FLOW_NAMES))))
FLOW_AARCH64 := $(if $(shell command -v aarch64-linux-gnu-gcc), \
	$(addprefix $(FLOW)/aarch64-,O0.so O1.so O2.so O3.so unroll-O2.so))
$(FLOW_OBJECTS): FLOW_CC := gcc
$(FLOW_OTHERS): FLOW_CC = $(notdir $(@D))
$(FLOW_AARCH64): FLOW_CC := aarch64-linux-gnu-gcc
flow_level = $(lastword $(subst -, ,$(basename $(@F))))
# Without -fPIC, tables have addresses in place of offsets. Such code cannot be in a shared object.
flow_kind = $(if $(filter no-pic-%,$(@F)),-fno-pic -no-pie -static -Wl$(comma)-e$(comma)nested \
	-Wl$(comma)--unresolved-symbols=ignore-all,-fPIC -shared) \
	$(if $(findstring unroll,$(@F)),-funroll-loops) -Wno-unused-command-line-argument
$(FLOW_OBJECTS) $(FLOW_OTHERS) $(FLOW_AARCH64): test/unit/flow/shapes.c
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(FLOW_CC) -$(flow_level) $(flow_kind) -fvisibility=hidden \
		-nostdlib -Wl,--emit-relocs $< -o $@
# the objects call functions of the test
$(BUILD)/test/unit/test_flow_runs: override LDFLAGS += -rdynamic
$(addprefix $(BUILD)/test/unit/test_flow_,machine runs): | \
	$(FLOW_OBJECTS) $(FLOW_OTHERS) $(FLOW_AARCH64)

# Objects in which test_no_return.c finds the calls that never return. Each has another form of
# calls: stubs of the linker with and without endbr64, no stubs, and those of aarch64.
STOPS := $(addprefix $(FLOW)/stops-,lazy.so now.so cet.so no-plt.so O0.so)
STOPS_AARCH64 := $(if $(shell command -v aarch64-linux-gnu-gcc), \
	$(addprefix $(FLOW)/stops-aarch64,.so -no-plt.so))
$(STOPS): STOPS_CC := g++
$(STOPS_AARCH64): STOPS_CC := aarch64-linux-gnu-gcc
$(FLOW)/stops-lazy.so: STOPS_FLAGS := -Wl,-z,lazy
$(FLOW)/stops-now.so: STOPS_FLAGS := -Wl,-z,now
$(FLOW)/stops-cet.so: STOPS_FLAGS := -fcf-protection -Wl,-z,ibtplt
$(FLOW)/stops-no-plt.so $(FLOW)/stops-aarch64-no-plt.so: STOPS_FLAGS := -fno-plt
$(FLOW)/stops-O0.so: STOPS_FLAGS := -O0
$(STOPS) $(STOPS_AARCH64): test/unit/flow/stops.c
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(STOPS_CC) -O2 -fPIC -shared -fvisibility=hidden -nostdlib \
		$(STOPS_FLAGS) $< -o $@
$(BUILD)/test/unit/test_no_return: | $(STOPS) $(STOPS_AARCH64)

# Objects whose handlers of exceptions test_landing_pads.c finds.
THROWS := $(addprefix $(FLOW)/throws-,O0.so O2.so Os.so \
	$(if $(shell command -v clang++),clang.so) \
	$(if $(shell command -v aarch64-linux-gnu-g++),aarch64.so))
$(THROWS): THROWS_CC := g++ -O2
$(FLOW)/throws-O0.so: THROWS_CC := g++ -O0
$(FLOW)/throws-Os.so: THROWS_CC := g++ -Os
$(FLOW)/throws-clang.so: THROWS_CC := clang++ -O2
$(FLOW)/throws-aarch64.so: THROWS_CC := aarch64-linux-gnu-g++ -O2
$(THROWS): test/unit/flow/throws.cpp
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(THROWS_CC) -fPIC -shared -nostdlib $< -o $@
$(BUILD)/test/unit/test_landing_pads: | $(THROWS)
