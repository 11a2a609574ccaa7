# The fuzzers: libFuzzer comes with clang. `make fuzz` builds everything once more, with clang's
# coverage and sanitizers, into build/fuzz.
FUZZ_SAN := fuzzer-no-link,address,undefined
# Clang reports NULL + 0, the address of the first item of an empty array. It is harmless on all
# compilers, and C2y allows it.
FUZZ_CPPFLAGS := -fno-sanitize=pointer-overflow -fno-sanitize-recover=all
FUZZ_OBJ := $(patsubst %.c,$(BUILD)/obj/tool/%.o,$(wildcard test/fuzz/*.c))
SECONDS ?= 60

# Goal of the second make, which compiles with clang.
$(BUILD)/fuzz: $(FUZZ_OBJ) $(BUILD)/obj/libexport.a $(BUILD)/obj/libcore.a
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS) -fsanitize=fuzzer $(FUZZ_OBJ) -Wl,--start-group \
		$(BUILD)/obj/libexport.a $(BUILD)/obj/libcore.a -Wl,--end-group $(TOOL_LIBS) -o $@
-include $(FUZZ_OBJ:.o=.d)

.PHONY: fuzz
fuzz: ## fuzz the readers of journals, settings and code for SECONDS=60
	$(Q)scripts/setup fuzz
	$(Q)$(SUBMAKE) CC=clang BUILD=build/fuzz SAN=$(FUZZ_SAN) CFLAGS='-O1 -g' \
		CPPFLAGS='$(FUZZ_CPPFLAGS)' build/fuzz/fuzz
	$(Q)test/fuzz/run.sh $(SECONDS)
