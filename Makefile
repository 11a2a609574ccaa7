# profrun's only Makefile: `make help` lists the goals. Objects go to build/obj, products to build/.
#   V=1 shows whole commands, QUIET=1 none, WERROR=1 makes warnings errors,
#   SAN=address,undefined builds into build/san-address-undefined.
# A fragment (test/*/NAME.mk) adds what it builds as prerequisites of sim, prog or bench-programs; it may use
# $(BUILD) $(CC) $(CFLAGS) $(LDFLAGS) $(CUDA_HOME) $(CUDA_INCLUDE) $(NVCC) (empty where there is none) and $(Q).

MAKEFLAGS += --no-builtin-rules
SHELL := /bin/sh
.DELETE_ON_ERROR:
.SUFFIXES:
.DEFAULT_GOAL := all

comma := ,
BUILD := build$(if $(SAN),/san-$(subst $(comma),-,$(SAN)))
PREFIX ?= /usr/local
ifeq ($(origin CC),default)
CC := gcc
endif
Q := $(if $(V),,@)
say = $(if $(V)$(QUIET),,@printf '  %-5s %s\n' '$(1)' '$(2)')

CUDA_HOME := $(shell scripts/cuda-home 2>/dev/null)
CUDA_INCLUDE := $(CUDA_HOME)/include
NVCC := $(wildcard $(CUDA_HOME)/bin/nvcc)
need_cuda = $(if $(CUDA_HOME),,$(error no CUDA headers found: `make setup` fetches them, or set CUDA_HOME))

CFLAGS ?= -O2 -g
override CFLAGS += -std=gnu11 -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla \
	-fvisibility=hidden $(if $(WERROR),-Werror)
override CFLAGS += $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer)
override LDFLAGS += $(if $(SAN),-fsanitize=$(SAN))
CPPFLAGS_ALL = -D_GNU_SOURCE= -I. -I$(BUILD)/gen -isystem $(CUDA_INCLUDE) -MMD -MP $(CPPFLAGS)

# core/runtime may run inside the application; the rest of core/ belongs to the tool alone.
LIB_SRC := $(wildcard preload/*.c core/runtime/*.c)
CORE_SRC := $(wildcard core/*/*.c)
EXPORT_SRC := $(wildcard export/*.c)
UNIT_SRC := $(wildcard test/unit/test_*.c)

LIB_OBJ := $(LIB_SRC:%.c=$(BUILD)/obj/lib/%.o)
# The tool takes the library's objects of core/runtime: they are compiled once.
CORE_OBJ := $(patsubst %.c,$(BUILD)/obj/tool/%.o,$(filter-out core/runtime/%,$(CORE_SRC))) \
	$(patsubst %.c,$(BUILD)/obj/lib/%.o,$(filter core/runtime/%,$(CORE_SRC)))
EXPORT_OBJ := $(EXPORT_SRC:%.c=$(BUILD)/obj/tool/%.o)
UNIT := $(UNIT_SRC:test/unit/%.c=$(BUILD)/test/unit/%)
LIB := $(BUILD)/libprofrun.so
TOOL := $(BUILD)/profrun

# initial-exec: a hook may run before its thread could allocate TLS. The library needs nothing but libc (scripts/check-so).
LIB_CFLAGS := -fPIC -ftls-model=initial-exec
# to fetch a line for writing as such; a processor that cannot takes it for a nop
LIB_CFLAGS += $(if $(filter x86_64-%,$(shell $(CC) -dumpmachine)),-mprfchw)
# cancellation points of libc's that the library calls: preload/uncancelled.c takes their place
UNCANCELLED := open close read write pwrite fallocate nanosleep
LIB_LDFLAGS := $(UNCANCELLED:%=-Wl$(comma)--wrap=%) -shared -Wl,-soname,libprofrun.so -Wl,-z,nodelete -Wl,-z,now -Wl,--exclude-libs,ALL -Wl,--as-needed \
	$(if $(SAN),,-Wl$(comma)-z$(comma)defs) -Wl,--version-script=preload/profrun.map
TOOL_LIBS := -ljansson -lz -ldw -lelf -lstdc++ -lpthread -lm

.PHONY: all lib tool sim prog unit bench-programs tests help
all: lib tool sim ## build libprofrun.so, profrun and the simulated GPU
lib: $(LIB) $(BUILD)/hooks.txt $(BUILD)/libraries.txt
tool: $(TOOL)
unit: $(UNIT)
tests: all prog unit
sim prog bench-programs:

include test/unit/unit.mk
include test/sim/sim.mk test/prog/prog.mk test/bench/bench.mk test/torch/torch.mk test/steps/steps.mk test/answers/answers.mk

# Other flags than last time rebuild everything: the file changes only when its words do.
FLAGS_NOW := $(CC) $(CFLAGS) $(CPPFLAGS) $(LDFLAGS) $(CUDA_INCLUDE)
FLAGS_FILE := $(BUILD)/obj/flags
ifneq ($(strip $(FLAGS_NOW)),$(strip $(file <$(FLAGS_FILE))))
$(shell mkdir -p $(BUILD)/obj)
$(file >$(FLAGS_FILE),$(FLAGS_NOW))
endif

$(BUILD)/obj/lib/%.o: %.c $(FLAGS_FILE)
	$(need_cuda)$(call say,CC,$< (library))
	$(Q)mkdir -p $(@D) && $(CC) $(CFLAGS) $(LIB_CFLAGS) $(CPPFLAGS_ALL) -c $< -o $@

# Optimised whatever CFLAGS says: wrappers go on by jumps, and a call in a jump's place would make the wrapper its own function's caller.
$(addprefix $(BUILD)/obj/lib/preload/,hooks.o libs.o blocks.o): LIB_CFLAGS += -O2 -foptimize-sibling-calls
# A launch's sizes come in registers, are stored in parts and moved on: as one vector they would wait for those stores, 5 ns.
$(BUILD)/obj/lib/preload/hooks.o: LIB_CFLAGS += -fno-tree-slp-vectorize
# A fifth of the compile time of the slowest file; only a debugger misses it, in optimized code.
$(BUILD)/obj/lib/preload/hooks.o: LIB_CFLAGS += -fno-var-tracking

$(BUILD)/obj/tool/%.o: %.c $(FLAGS_FILE)
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D) && $(CC) $(CFLAGS) $(CPPFLAGS_ALL) -c $< -o $@

$(BUILD)/libprofrun.so: $(LIB_OBJ) preload/profrun.map
	$(call say,LD,$@)
	$(Q)$(CC) $(LIB_LDFLAGS) $(LDFLAGS) $(LIB_OBJ) -o $@.part && mv -f $@.part $@ # programs may be running with the one before

$(BUILD)/profrun: $(EXPORT_OBJ) $(BUILD)/obj/libcore.a
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS) $^ $(TOOL_LIBS) -o $@

# The table's symbols, doors and categories as text, for the scripts and tests that must see every row.
$(BUILD)/hooks.txt: preload/hooks.def
	$(call say,GEN,$@)
	$(Q)mkdir -p $(@D) && printf '%s\n' '#define HOOK(ret, symbol, name, version, twin, door, check, category, ...) \
		hook_row symbol door category' '#include "preload/hooks.def"' | $(CC) -E -P -I. -x c - | \
		grep -o 'hook_row [A-Za-z0-9_]* [A-Z]* [A-Z]*' | cut -d' ' -f2- >$@

# The same of the libraries' functions: symbol, family, facts.
$(BUILD)/libraries.txt: preload/libs.def
	$(call say,GEN,$@)
	$(Q)mkdir -p $(@D) && printf '%s\n' '#define LIBRARY(symbol, family, facts, ...) library_row symbol family facts' \
		'#include "preload/libs.def"' | $(CC) -E -P -I. -x c - | \
		grep -o 'library_row [A-Za-z0-9_]* [A-Z]* [A-Z_]*' | cut -d' ' -f2- >$@

# Archives let a unit program take just the modules that it names. Those called test_preload_* see the library's objects.
$(BUILD)/obj/libcore.a: $(CORE_OBJ)
$(BUILD)/obj/libexport.a: $(filter-out %/main.o,$(EXPORT_OBJ))
$(BUILD)/obj/libpreload.a: $(filter $(BUILD)/obj/lib/preload/%,$(LIB_OBJ))
$(BUILD)/obj/%.a:
	$(call say,AR,$@)
	$(Q)mkdir -p $(@D) && rm -f $@ && ar rcs $@ $^

UNIT_ARCHIVES := $(BUILD)/obj/libexport.a $(BUILD)/obj/libcore.a
$(BUILD)/test/unit/test_preload_%: UNIT_EXTRA += $(BUILD)/obj/libpreload.a
$(filter $(BUILD)/test/unit/test_preload_%,$(UNIT)): $(BUILD)/obj/libpreload.a
$(BUILD)/test/unit/%: $(BUILD)/obj/tool/test/unit/%.o $(UNIT_ARCHIVES)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(LDFLAGS) $< -Wl,--start-group $(UNIT_EXTRA) $(UNIT_ARCHIVES) -Wl,--end-group \
		-lcmocka $(TOOL_LIBS) -ldl -o $@
.SECONDARY: $(UNIT_SRC:%.c=$(BUILD)/obj/tool/%.o)

-include $(patsubst %.o,%.d,$(LIB_OBJ) $(CORE_OBJ) $(EXPORT_OBJ) $(UNIT_SRC:%.c=$(BUILD)/obj/tool/%.o))

# Goals that people type. Those that may have to install something first build in a second make, which then finds it.
SUBMAKE = $(MAKE) --no-print-directory $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc))
.PHONY: setup demo test test-torch bench soak check check-san install clean
setup: ## install what building and testing need
	$(Q)scripts/setup

demo: ## profile an example training loop, on the simulated GPU where there is no other
	$(Q)scripts/setup
	@echo "Building profrun and the simulated GPU (V=1 shows the commands)"
	$(Q)$(SUBMAKE) $(if $(V),,QUIET=1) lib tool sim-cuda
	$(Q)scripts/demo

test: ## build and run every test
	$(Q)scripts/setup test
	@echo "Building profrun and its tests (V=1 shows the commands)"
	$(Q)$(SUBMAKE) $(if $(V),,QUIET=1) tests
	$(Q)python3 test/run.py

TORCH_TIERS := torch,torch-timed
test-torch: ## PyTorch on the simulated GPU (downloads its CUDA wheel once)
	$(Q)scripts/setup
	$(Q)$(SUBMAKE) all $(BUILD)/test/unit/test_schedule
	$(Q)test/torch/setup.sh || { [ $$? = 77 ] && exit 0; exit 1; }; python3 test/run.py --tier $(TORCH_TIERS)

bench: ## print the benchmarks
	$(Q)scripts/setup
	$(Q)$(SUBMAKE) all prog bench-programs
	$(Q)status=0; for bench in test/bench/*_bench.sh; do sh $$bench $(BUILD) || status=1; done; exit $$status

STEPS ?= 3000000
soak: ## STEPS steps at speed: whether memory, files or disk grow
	$(Q)scripts/setup
	$(Q)$(SUBMAKE) all prog
	$(Q)python3 test/bench/soak.py $(STEPS)

check: ## format, layers, static analysis, exported names, documents that are generated
	$(Q)scripts/setup check
	$(Q)$(SUBMAKE) all prog
	$(Q)scripts/check

check-san: ## unit tests under sanitizers and valgrind
	$(Q)scripts/setup check
	$(Q)scripts/check-san

install: all ## install to $(DESTDIR)$(PREFIX)
	$(Q)scripts/install '$(BUILD)' '$(DESTDIR)$(PREFIX)'

clean: ## remove what was built; downloads (build/cuda, build/*-venv) stay
	$(Q)[ ! -d build ] || find build -mindepth 1 -maxdepth 1 ! -name cuda ! -name '*-venv*' -exec rm -rf {} +

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(filter %Makefile %.mk,$(MAKEFILE_LIST)) | while IFS='	' read -r goal text; do printf '  %-12s %s\n' "$$goal" "$$text"; done
