# `make help` lists the goals. Objects go to build/obj, products to build/.
#   V=1 shows whole commands, QUIET=1 none, WERROR=1 turns warnings into errors,
#   SAN=address,undefined builds with sanitizers into build/san-address-undefined.
# A fragment (test/*/NAME.mk) adds its products as prerequisites of sim, prog or bench-programs. A
# fragment may use $(BUILD) $(CC) $(CFLAGS) $(LDFLAGS) $(CUDA_HOME) $(CUDA_INCLUDE) $(Q), and
# $(NVCC), which may be empty.

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
need_cuda = $(if $(CUDA_HOME),,$(error no CUDA headers: run `make setup` or set CUDA_HOME))

CFLAGS ?= -O2 -g
override CFLAGS += -std=gnu11 -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
	-Wvla -fvisibility=hidden $(if $(WERROR),-Werror)
override CFLAGS += $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer)
override LDFLAGS += $(if $(SAN),-fsanitize=$(SAN))
CPPFLAGS_ALL = -D_GNU_SOURCE= -I. -I$(BUILD)/gen -isystem $(CUDA_INCLUDE) -MMD -MP $(CPPFLAGS)

# core/runtime is built into the library and into the tool; the rest of core/ only into the tool.
LIB_SRC := $(wildcard preload/*.c core/runtime/*.c)
CORE_SRC := $(wildcard core/*/*.c core/*/*/*.c)
EXPORT_SRC := $(wildcard export/*.c)
UNIT_SRC := $(wildcard test/unit/test_*.c)

LIB_OBJ := $(LIB_SRC:%.c=$(BUILD)/obj/lib/%.o)
# The tool links the library's objects of core/runtime, so that these are compiled only once.
CORE_OBJ := $(patsubst %.c,$(BUILD)/obj/tool/%.o,$(filter-out core/runtime/%,$(CORE_SRC))) \
	$(patsubst %.c,$(BUILD)/obj/lib/%.o,$(filter core/runtime/%,$(CORE_SRC)))
EXPORT_OBJ := $(EXPORT_SRC:%.c=$(BUILD)/obj/tool/%.o)
UNIT := $(UNIT_SRC:test/unit/%.c=$(BUILD)/test/unit/%)
LIB := $(BUILD)/libprofrun.so
TOOL := $(BUILD)/profrun

# initial-exec, because a hook may run before its thread can allocate thread-local storage. The
# library needs only libc (scripts/check-so).
LIB_CFLAGS := -fPIC -ftls-model=initial-exec
# Generates prefetchw, which prefetches a cache line for writing. A processor without this
# instruction treats it as a nop.
LIB_CFLAGS += $(if $(filter x86_64-%,$(shell $(CC) -dumpmachine)),-mprfchw)
# Functions of libc that the library calls and that are cancellation points. preload/uncancelled.c
# replaces them.
UNCANCELLED := open close read write pwrite fallocate nanosleep
# Functions whose newest version is newer than glibc 2.28. preload/old_glibc.c replaces them.
NEWER := fstat stat gettid dlopen dlerror dladdr dladdr1 $(addprefix pthread_,sigmask once create \
	getattr_np attr_getstack key_create setspecific mutex_timedlock)
# -Bsymbolic-functions: addresses in the tables are those of the library's own wrappers, also if a
# library that is preloaded before defines the same names.
# A sanitizer replaces these functions, too, and must see the calls.
WRAPPED := $(patsubst %,-Wl$(comma)--wrap=%,$(UNCANCELLED) $(if $(SAN),,$(NEWER)))
LIB_LDFLAGS := $(WRAPPED) -shared -Wl,-soname,libprofrun.so \
	-Wl,-Bsymbolic-functions \
	-Wl,-z,nodelete -Wl,-z,now -Wl,--exclude-libs,ALL -Wl,--as-needed \
	$(if $(SAN),,-Wl$(comma)-z$(comma)defs) -Wl,--version-script=preload/profrun.map
# The tool links libstdc++.a for its demangler alone, which needs no C++ runtime.
# core/util/demangle.c says why it does not link libstdc++.so.
TOOL_LIBS := -ljansson -lz -ldw -lelf -lcapstone -l:libstdc++.a -lpthread -lm

.PHONY: all lib tool sim share prog unit bench-programs tests help
all: lib tool sim share ## build libprofrun.so, profrun and the simulated GPU
lib: $(LIB) $(BUILD)/hooks.txt $(BUILD)/libraries.txt
tool: $(TOOL)
share: $(BUILD)/share/stamp
unit: $(UNIT)
tests: all prog unit
sim prog bench-programs:

include test/unit/unit.mk
include test/sim/sim.mk test/prog/prog.mk test/bench/bench.mk test/torch/torch.mk
include test/steps/steps.mk test/answers/answers.mk test/fuzz/fuzz.mk

# Objects depend on FLAGS_FILE, which is rewritten only when the flags change. So a change of flags
# rebuilds everything.
FLAGS_NOW := $(CC) $(CFLAGS) $(CPPFLAGS) $(LDFLAGS) $(CUDA_INCLUDE)
FLAGS_FILE := $(BUILD)/obj/flags
ifneq ($(strip $(FLAGS_NOW)),$(strip $(file <$(FLAGS_FILE))))
$(shell mkdir -p $(BUILD)/obj)
$(file >$(FLAGS_FILE),$(FLAGS_NOW))
endif

# Changes with each commit, so it is a flag of one file only.
BUILD_ID := $(shell scripts/build-id)
ifneq ($(BUILD_ID),$(strip $(file <$(BUILD)/gen/build-id)))
$(shell mkdir -p $(BUILD)/gen)
$(file >$(BUILD)/gen/build-id,$(BUILD_ID))
endif
$(BUILD)/obj/tool/export/version.o: $(BUILD)/gen/build-id
$(BUILD)/obj/tool/export/version.o: CPPFLAGS_ALL += -DPROFRUN_BUILD='"$(BUILD_ID)"'

$(BUILD)/obj/lib/%.o: %.c $(FLAGS_FILE)
	$(need_cuda)$(call say,CC,$< (library))
	$(Q)mkdir -p $(@D) && $(CC) $(CFLAGS) $(LIB_CFLAGS) $(CPPFLAGS_ALL) -c $< -o $@

# Always optimized, because a wrapper must jump to the real function. If the wrapper called the
# function, the wrapper itself would be the function's caller.
WRAPPERS := $(addprefix $(BUILD)/obj/lib/preload/,hooks.o lookup_doors.o libs.o blocks.o)
$(WRAPPERS): LIB_CFLAGS += -O2 -foptimize-sibling-calls
# A launch's sizes arrive in registers, are stored one by one, and are then copied. A copy as one
# vector would wait for those stores, which takes 5 ns.
$(BUILD)/obj/lib/preload/hooks.o: LIB_CFLAGS += -fno-tree-slp-vectorize
# Variable tracking takes a fifth of the compile time of hooks.c, the slowest file, and serves
# debuggers only.
$(BUILD)/obj/lib/preload/hooks.o: LIB_CFLAGS += -fno-var-tracking

# The unwinder reads the frames of other functions, with what AddressSanitizer puts between their
# variables.
$(addprefix $(BUILD)/obj/lib/preload/,unwind_walk.o unwind_memo.o): \
	LIB_CFLAGS += $(if $(SAN),-fno-sanitize=address)

# The runtime of a sanitizer calls the library's dlsym before the runtime itself is ready.
$(addprefix $(BUILD)/obj/lib/preload/,lookup.o lookup_dlsym.o lookup_doors.o lookup_objects.o \
	libc_find.o): LIB_CFLAGS += $(if $(SAN),-fno-sanitize=all)

$(BUILD)/obj/tool/%.o: %.c $(FLAGS_FILE)
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D) && $(CC) $(CFLAGS) $(CPPFLAGS_ALL) -c $< -o $@

# The style and the script of report.html as texts in C. export/html_assets.h declares them.
HTML_SCRIPT := $(sort $(wildcard export/html/*.js))
html_text = printf 'const char $(1)[] =\n' && \
	sed -e 's/[\\"]/\\&/g' -e 's/^[[:blank:]]*/"/' -e 's/$$/\\n"/' $(2) && echo ';'
$(BUILD)/gen/html_assets.c: export/html/report.css $(HTML_SCRIPT) Makefile
	$(call say,GEN,$@)
	$(Q)mkdir -p $(@D) && { $(call html_text,html_style,$<) && \
		$(call html_text,html_script,$(HTML_SCRIPT)); } >$@
$(BUILD)/gen/html_assets.o: $(BUILD)/gen/html_assets.c $(FLAGS_FILE)
	$(Q)$(CC) $(CFLAGS) -c $< -o $@

$(BUILD)/libprofrun.so: $(LIB_OBJ) preload/profrun.map
	$(call say,LD,$@)
	$(Q)# replace the library, because a running program may have mapped the old one
	$(Q)$(CC) $(LIB_LDFLAGS) $(LDFLAGS) $(LIB_OBJ) -o $@.part && mv -f $@.part $@

# GCC's shared runtimes of AddressSanitizer and UBSan disagree about where reports go. Linked
# statically, they are one.
SAN_STATIC := $(if $(findstring clang,$(CC)),,$(if $(findstring address,$(SAN)),-static-libasan) \
	$(if $(findstring undefined,$(SAN)),-static-libubsan))
$(BUILD)/profrun: $(EXPORT_OBJ) $(BUILD)/gen/html_assets.o $(BUILD)/obj/libcore.a
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS) $(SAN_STATIC) $^ $(TOOL_LIBS) -o $@

# What the wheel contains, for machines without profrun's dependencies: a tool that is linked
# statically, libunwind, and libraries without debug information. The list of archives is for their
# licences.
PORTABLE := $(BUILD)/portable
PORTABLE_OBJ := $(BUILD)/obj/tool/export/portable/no_libraries.o
$(PORTABLE)/profrun: $(BUILD)/obj/tool/export/main.o $(PORTABLE_OBJ) \
		$(BUILD)/obj/libexport.a $(BUILD)/obj/libcore.a
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) -static -s -Wl,-t $(LDFLAGS) \
		$(addprefix -Wl$(comma)--wrap=,dlopen dlsym dlclose dlerror getpwuid) $^ \
		$(TOOL_LIBS) -llzma -lbz2 -lsqlite3 -lm -o $@ >$(PORTABLE)/inputs.txt
$(PORTABLE)/libprofrun.so: $(LIB)
	$(Q)mkdir -p $(@D) && strip --strip-debug -o $@ $<
.PHONY: portable
portable: $(PORTABLE)/stamp
$(PORTABLE)/stamp: $(PORTABLE)/profrun $(PORTABLE)/libprofrun.so $(SIM_LIBRARIES) \
		$(BUILD)/share/stamp
	$(Q)scripts/portable-libunwind $(PORTABLE)
	$(Q)ln -sfn ../sim ../share $(PORTABLE) && touch $@

# Man pages and shell completions, from the tables of the tool.
$(BUILD)/share/stamp: $(TOOL) scripts/gen-man scripts/gen-completion scripts/tables.py CHANGELOG.md
	$(call say,GEN,$(@D))
	$(Q)rm -rf $(@D) && scripts/gen-man $(TOOL) $(@D)/man && \
		scripts/gen-completion $(TOOL) $(@D) && touch $@

# The symbol, entry point and category of each row of preload/hooks.def as text, for scripts and
# tests.
$(BUILD)/hooks.txt: preload/hooks.def
	$(call say,GEN,$@)
	$(Q)mkdir -p $(@D) && printf '%s\n' \
		'#define HOOK(ret, symbol, name, version, twin, door, check, category, ...) \
		hook_row symbol door category' \
		'#include "preload/hooks.def"' | $(CC) -E -P -I. -x c - | \
		grep -o 'hook_row [A-Za-z0-9_]* [A-Z]* [A-Z]*' | cut -d' ' -f2- >$@

# The symbol, family and facts of each row of preload/libs.def as text.
$(BUILD)/libraries.txt: preload/libs.def
	$(call say,GEN,$@)
	$(Q)mkdir -p $(@D) && printf '%s\n' \
		'#define LIBRARY(symbol, family, facts, ...) library_row symbol family facts' \
		'#include "preload/libs.def"' | $(CC) -E -P -I. -x c - | \
		grep -o 'library_row [A-Za-z0-9_]* [A-Z]* [A-Z_]*' | cut -d' ' -f2- >$@

# A unit test links archives, so that it contains only the modules that it uses. A test called
# test_preload_* also links the library's objects.
$(BUILD)/obj/libcore.a: $(CORE_OBJ)
$(BUILD)/obj/libexport.a: $(filter-out %/main.o,$(EXPORT_OBJ)) $(BUILD)/gen/html_assets.o
# The runtime of a sanitizer calls dlsym before the library can answer. So in a unit test that is
# built with a sanitizer, the library's dlsym has another name.
OWN_DLSYM := $(BUILD)/obj/lib/preload/lookup_dlsym.o
UNIT_DLSYM := $(if $(SAN),$(BUILD)/obj/lib/renamed/lookup_dlsym.o,$(OWN_DLSYM))
$(BUILD)/obj/lib/renamed/lookup_dlsym.o: $(OWN_DLSYM)
	$(Q)mkdir -p $(@D) && objcopy --redefine-sym dlsym=own_dlsym \
		--redefine-sym dlvsym=own_dlvsym $< $@
$(BUILD)/obj/libpreload.a: $(UNIT_DLSYM) \
	$(filter-out $(OWN_DLSYM),$(filter $(BUILD)/obj/lib/preload/%,$(LIB_OBJ)))
$(BUILD)/obj/%.a:
	$(call say,AR,$@)
	$(Q)mkdir -p $(@D) && rm -f $@ && ar rcs $@ $^

UNIT_ARCHIVES := $(BUILD)/obj/libexport.a $(BUILD)/obj/libcore.a
$(BUILD)/test/unit/test_preload_%: UNIT_EXTRA += $(BUILD)/obj/libpreload.a
$(filter $(BUILD)/test/unit/test_preload_%,$(UNIT)): $(BUILD)/obj/libpreload.a
$(BUILD)/test/unit/%: $(BUILD)/obj/tool/test/unit/%.o $(UNIT_ARCHIVES)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(LDFLAGS) $< \
		-Wl,--start-group $(UNIT_EXTRA) $(UNIT_ARCHIVES) -Wl,--end-group \
		-lcmocka $(TOOL_LIBS) -ldl -o $@
.SECONDARY: $(UNIT_SRC:%.c=$(BUILD)/obj/tool/%.o)

UNIT_OBJ := $(UNIT_SRC:%.c=$(BUILD)/obj/tool/%.o)
-include $(patsubst %.o,%.d,$(LIB_OBJ) $(CORE_OBJ) $(EXPORT_OBJ) $(UNIT_OBJ))

# Goals for users. A goal that may install something starts a second make for the build, because
# make looks for headers and compilers only when it starts.
SUBMAKE = $(MAKE) --no-print-directory $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc))
.PHONY: setup demo test test-torch bench bench-peers soak torture check check-san check-san-e2e \
	install uninstall dist wheel deb clean
setup: ## install what building and testing need
	$(Q)scripts/setup

demo: ## profile an example training loop, on the simulated GPU where there is no other
	$(Q)scripts/setup
	@echo "Building profrun and the simulated GPU (V=1 shows the commands)"
	$(Q)$(SUBMAKE) $(if $(V),,QUIET=1) lib tool sim
	$(Q)scripts/demo

TEST_AGAIN := 0
test: ## build and run all tests (TEST_AGAIN=N: up to N that failed once more, alone)
	$(Q)scripts/setup test
	@echo "Building profrun and its tests (V=1 shows the commands)"
	$(Q)$(SUBMAKE) $(if $(V),,QUIET=1) tests
	$(Q)$(SUBMAKE) $(if $(V),,QUIET=1) portable || echo "the tests of the wheel are skipped"
	$(Q)python3 test/run.py --again $(TEST_AGAIN)

TORCH_TIERS := torch,torch-timed
test-torch: ## PyTorch on the simulated GPU (downloads its CUDA wheel once)
	$(Q)scripts/setup
	$(Q)$(SUBMAKE) all $(BUILD)/test/unit/test_schedule
	$(Q)test/torch/setup.sh || { [ $$? = 77 ] && exit 0; exit 1; }; \
		python3 test/run.py --again $(TEST_AGAIN) --tier $(TORCH_TIERS)

bench: ## print the benchmarks
	$(Q)scripts/setup
	$(Q)$(SUBMAKE) all prog bench-programs
	$(Q)status=0; \
		for bench in test/bench/*_bench.sh; do sh $$bench $(BUILD) || status=1; done; \
		exit $$status

bench-peers: ## compare with HTA on the largest trace below TRACES, or on a generated one
	$(Q)scripts/setup
	$(Q)$(SUBMAKE) all bench-programs
	$(Q)scripts/setup readers
	$(Q)python3 test/bench/peers_bench.py $(BUILD) $(TRACES)

STEPS ?= 3000000
soak: ## run STEPS steps and check that memory, files and disk do not grow
	$(Q)scripts/setup
	$(Q)$(SUBMAKE) all prog
	$(Q)python3 test/bench/soak.py $(STEPS)

SEED ?= $(shell date +%s)
torture: ## kills, odd processes, full disks, hostile names, at random: SEED=N SHORT=1 (15 minutes)
	$(Q)scripts/setup
	$(Q)scripts/setup torture || echo "setup: the cases without these packages are named below"
	$(Q)$(SUBMAKE) $(if $(V),,QUIET=1) all prog
	$(Q)python3 test/torture/run.py --seed $(SEED) $(if $(SHORT),--short)

check: ## format, layers, words, static analysis, exported names, documents
	$(Q)scripts/setup check
	$(Q)$(SUBMAKE) all prog
	$(Q)scripts/check

check-san: ## unit tests and threaded programs under sanitizers and valgrind
	$(Q)scripts/setup check
	$(Q)scripts/check-san

check-san-e2e: ## end-to-end tests with AddressSanitizer and UBSan in the tool
	$(Q)scripts/setup check
	$(Q)scripts/check-san e2e

install: all ## install to $(DESTDIR)$(PREFIX)
	$(Q)scripts/install '$(BUILD)' '$(DESTDIR)$(PREFIX)'

uninstall: ## remove what `make install` put to $(DESTDIR)$(PREFIX)
	$(Q)scripts/uninstall '$(DESTDIR)$(PREFIX)'

VERSION = $(shell sed -n 's/.*PROFRUN_VERSION "\(.*\)"/\1/p' core/runtime/version.h)
dist: ## write dist/profrun-VERSION.tar.gz, the source of the last commit
	$(Q)mkdir -p dist && git archive --format=tar --prefix=profrun-$(VERSION)/ HEAD | \
		gzip -9n >dist/profrun-$(VERSION).tar.gz
	@ls -l dist/profrun-$(VERSION).tar.gz

wheel: ## write dist/profrun-VERSION-py3-none-manylinux_2_28_x86_64.whl
	$(Q)scripts/setup package
	$(Q)$(SUBMAKE) $(if $(V),,QUIET=1) portable
	$(Q)scripts/wheel $(PORTABLE) dist

deb: dist ## write dist/profrun_VERSION_amd64.deb
	$(Q)scripts/setup package
	$(Q)scripts/deb $(VERSION)

clean: ## remove what was built, keep downloads (build/cuda, build/*-venv)
	$(Q)[ ! -d build ] || \
		find build -mindepth 1 -maxdepth 1 ! -name cuda ! -name '*-venv*' -exec rm -rf {} +

help: ## this list
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1\t/p' $(filter %Makefile %.mk,$(MAKEFILE_LIST)) | \
		while IFS='	' read -r goal text; do \
			printf '  %-14s %s\n' "$$goal" "$$text"; \
		done
