# The benchmarks, which `make bench` runs. Each compares a figure with its budget, and with the call
# without profrun in the same run.
BENCH := $(BUILD)/test/bench
BENCH_CC = $(CC) $(CFLAGS) -D_GNU_SOURCE= -I. -isystem $(CUDA_INCLUDE)
bench-programs: $(BENCH)/libstack_bench.so $(BENCH)/hook_bench $(BENCH)/cold_bench \
	$(BENCH)/startup_bench $(BENCH)/export_bench $(BENCH)/report_bench $(BENCH)/nvtx_bench \
	$(BENCH)/steps_bench $(BENCH)/thread_bench

$(BENCH)/libcudart.so.13: test/bench/stub_cudart.c test/bench/stub.map test/bench/stub_capture.h
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(CFLAGS) -fPIC -shared -I. -isystem $(CUDA_INCLUDE) $< -o $@ \
		-Wl,-soname,libcudart.so.13 -Wl,--version-script=test/bench/stub.map

$(BENCH)/hook_bench: test/bench/hook_bench.c test/bench/bench.h $(BENCH)/libcudart.so.13 \
		core/runtime/record.h core/runtime/token.h
	$(call say,LD,$@)
	$(Q)$(BENCH_CC) $< -o $@ -L$(@D) -l:libcudart.so.13 -Wl,-rpath,'$$ORIGIN'

$(BENCH)/thread_bench: test/bench/thread_bench.c test/bench/bench.h $(BENCH)/libcudart.so.13
	$(call say,LD,$@)
	$(Q)$(BENCH_CC) $< -o $@ -L$(@D) -l:libcudart.so.13 -lpthread -Wl,-rpath,'$$ORIGIN'

bench-programs: $(BENCH)/graph_bench
$(BENCH)/libcuda.so.1: test/bench/stub_driver.c test/bench/stub_capture.h $(BENCH)/libcudart.so.13
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) -fPIC -shared -I. -isystem $(CUDA_INCLUDE) $< -o $@ \
		-Wl,-soname,libcuda.so.1 -L$(@D) -l:libcudart.so.13
$(BENCH)/graph_bench: test/bench/graph_bench.c test/bench/bench.h $(BENCH)/libcuda.so.1
	$(call say,LD,$@)
	$(Q)$(BENCH_CC) $< -o $@ -L$(@D) -l:libcudart.so.13 -Wl,--no-as-needed -l:libcuda.so.1 \
		-Wl,-rpath,'$$ORIGIN'

$(BENCH)/cold_bench: test/bench/cold_bench.c test/bench/bench.h test/bench/cold.h \
		$(BENCH)/libcudart.so.13
	$(call say,LD,$@)
	$(Q)$(BENCH_CC) $< -o $@ -L$(@D) -l:libcudart.so.13 -Wl,-rpath,'$$ORIGIN'

$(BENCH)/libstack_bench.so: test/bench/stack_bench.c test/bench/bench.h $(BENCH)/libcudart.so.13
	$(call say,LD,$@)
	$(Q)$(BENCH_CC) -fPIC -shared $< -o $@ -L$(@D) -l:libcudart.so.13 -Wl,-rpath,'$$ORIGIN'

$(BENCH)/nvtx_bench: test/bench/nvtx_bench.c test/bench/bench.h $(BENCH)/libcudart.so.13
	$(call say,LD,$@)
	$(Q)$(BENCH_CC) $< -o $@ -L$(@D) -l:libcudart.so.13 -ldl -Wl,-rpath,'$$ORIGIN'

bench-programs: $(BENCH)/block_bench
$(BENCH)/block_bench: test/bench/block_bench.c test/bench/bench.h test/bench/cold.h \
		$(BENCH)/libcudart.so.13 $(BUILD)/test/prog/c10_new/libc10.so
	$(call say,LD,$@)
	$(Q)$(BENCH_CC) $< -o $@ -L$(@D) -l:libcudart.so.13 $(BUILD)/test/prog/c10_new/libc10.so \
		-Wl,-rpath,'$$ORIGIN:$$ORIGIN/../prog/c10_new'

bench-programs: $(BENCH)/libs_bench
$(BENCH)/libbench_libraries.so: test/bench/stub_libraries.c test/bench/stub_libraries.h
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(CFLAGS) -fPIC -shared -I. $< -o $@ -Wl,-soname,$(@F)
$(BENCH)/libs_bench: test/bench/libs_bench.c test/bench/bench.h $(BENCH)/libbench_libraries.so \
		$(BENCH)/libcudart.so.13
	$(call say,LD,$@)
	$(Q)$(BENCH_CC) $< -o $@ -L$(@D) -l:libcudart.so.13 -l:libbench_libraries.so \
		-Wl,-rpath,'$$ORIGIN'

$(BENCH)/startup_bench: test/bench/startup_bench.c test/bench/bench.h
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(CFLAGS) -D_GNU_SOURCE= -I. $< -o $@

# The archives are named by path, because make reads this file before the Makefile sets variables
# for them.
EXPORT_BENCH_ARCHIVES := $(BUILD)/obj/libunit.a $(BUILD)/obj/libexport.a $(BUILD)/obj/libcore.a
EXPORT_BENCHES := $(BENCH)/export_bench $(BENCH)/report_bench $(BENCH)/steps_bench
$(EXPORT_BENCHES): $(BENCH)/%: $(BUILD)/obj/tool/test/bench/%.o $(EXPORT_BENCH_ARCHIVES)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(LDFLAGS) $< -Wl,--start-group $(EXPORT_BENCH_ARCHIVES) \
		-Wl,--end-group $(TOOL_LIBS) -o $@
-include $(BUILD)/obj/tool/test/bench/export_bench.d $(BUILD)/obj/tool/test/bench/report_bench.d \
	$(BUILD)/obj/tool/test/bench/steps_bench.d

UNWIND_BENCH_ARCHIVES := $(BUILD)/obj/libpreload.a $(BUILD)/obj/libcore.a
bench-programs: $(BENCH)/unwind_bench
$(BENCH)/unwind_bench: $(BUILD)/obj/tool/test/bench/unwind_bench.o $(UNWIND_BENCH_ARCHIVES) | \
		$(CHAIN_OBJECTS)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(LDFLAGS) $< -Wl,--start-group $(UNWIND_BENCH_ARCHIVES) \
		-Wl,--end-group $(TOOL_LIBS) -ldl -o $@
-include $(BUILD)/obj/tool/test/bench/unwind_bench.d
