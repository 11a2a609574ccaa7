# Programs that the end-to-end tests run, in build/test/prog. They are linked with the simulated
# GPU's libraries, which have the sonames and symbol versions of the real ones. So the programs also
# run on a real GPU. Some programs are built only if nvcc exists.
PROG := $(BUILD)/test/prog
PROG_SIM12 := $(BUILD)/sim/libcudart.so.12
PROG_SIM13 := $(BUILD)/sim/libcudart.so.13

# Programs are built without the sanitizers, whose runtime would be loaded before libprofrun.so.
PROG_CC = $(CC) $(filter-out -fsanitize=%,$(CFLAGS)) $(CPPFLAGS_ALL) -MF $(BUILD)/obj/prog/$(@F).d
PROG_LINKED13 := every_runtime copies critical last_error fork ends order threads process spawn \
	loop nvtx stacks steady slots slots_forks fails interposed churn bus_error life_threads \
	life_processes life_signals life_unload odd_names
PROG_PLAIN := python_host every_driver driver_dlsym driver_getproc driver_rows local_main lookups \
	two_runtimes c10_main contexts
PROG_SHARED := local_extension.so half_13.so half_12.so nvtx_functions.so plugin_first.so \
	plugin_other.so leaving.so slots_at_exit.so slots_caller.so slots_other.so \
	interposer_next.so interposer_handle.so interposer_name.so life_unload.so
PROG_NVCC := $(if $(NVCC),shared legacy per_thread)
PROG_GRAPHS := $(if $(NVCC),$(patsubst test/graphs/%.cu,graphs/%,$(wildcard test/graphs/*.cu)))
PROG_CASES := $(if $(NVCC),$(patsubst test/cases/%.cu,case_%,$(wildcard test/cases/*.cu)) \
	case_O2/exceptions case_O2/endless \
	case_O2/ends_of_inner_loops case_O2/unrolled)

# Programs of test/steps/fresh whose loops test_loops.py finds in optimized code: fresh/LEVEL/NAME
PROG_FRESH := $(if $(NVCC),$(addprefix fresh/O2/,sensor_ring graph_decode) \
	$(addprefix fresh/O3/,sensor_ring multigrid) \
	$(addprefix fresh/O2g/,sensor_ring lbm_cavity cg_heat nbody_graph replicas))

PROG_ALL := $(if $(NVCC),together graph_nodes regions_O1 regions_O2 regions_O3) \
	$(PROG_LINKED13) $(PROG_PLAIN) $(PROG_SHARED) every_runtime12 \
	own_profiler slots_now $(PROG_NVCC) $(PROG_CASES) $(PROG_FRESH) $(PROG_GRAPHS)
prog: $(PROG_ALL:%=$(PROG)/%)
prog_build = $(Q)mkdir -p $(@D) $(BUILD)/obj/prog && $(PROG_CC)

$(PROG_LINKED13:%=$(PROG)/%): $(PROG)/%: test/prog/%.c $(PROG_SIM13)
	$(call say,CC,$<)
	$(prog_build) $< $(PROG_SIM13) -ldl -lpthread -o $@

# The loader makes this program's slots, which hold the addresses of its imported functions,
# read-only. The compilers of some distributions link every program like this.
$(PROG)/slots_now: test/prog/slots.c $(PROG_SIM13)
	$(call say,CC,$<)
	$(prog_build) $< $(PROG_SIM13) -Wl,-z,now,-z,relro -o $@

$(PROG)/own_profiler: test/prog/own_profiler.c $(PROG_SIM13) $(BUILD)/sim/libcupti.so.13
	$(call say,CC,$<)
	$(prog_build) $< $(PROG_SIM13) $(BUILD)/sim/libcupti.so.13 -o $@

$(PROG)/every_runtime12: test/prog/every_runtime12.c $(PROG_SIM12)
	$(call say,CC,$<)
	$(prog_build) $< $(PROG_SIM12) -o $@

$(PROG_PLAIN:%=$(PROG)/%): $(PROG)/%: test/prog/%.c
	$(call say,CC,$<)
	$(prog_build) $< -ldl -lpthread -o $@

$(PROG)/local_extension.so: test/prog/local_extension.c $(PROG_SIM13)
	$(call say,CC,$<)
	$(prog_build) -shared -fPIC $< $(PROG_SIM13) -o $@

$(PROG)/nvtx_functions.so: test/prog/nvtx_functions.c
	$(call say,CC,$<)
	$(prog_build) -shared -fPIC $< -ldl -o $@

$(PROG)/slots_at_exit.so: test/prog/slots_at_exit.c
	$(call say,CC,$<)
	$(prog_build) -shared -fPIC $< -o $@

# slots_caller.so and slots_other.so request the same address, where the loader maps nothing else.
# So one can be loaded at the address from which the other was unloaded.
PROG_SAME_PLACE := -Wl,-Ttext-segment=0x2000000000
$(PROG)/slots_caller.so: test/prog/slots_caller.c $(PROG_SIM13)
	$(call say,CC,$<)
	$(prog_build) -shared -fPIC $(PROG_SAME_PLACE) $< $(PROG_SIM13) -o $@

$(PROG)/slots_other.so: test/prog/slots_caller.c
	$(call say,CC,$<)
	$(prog_build) -DBIG -shared -fPIC $(PROG_SAME_PLACE) $< -o $@

$(PROG)/interposer_handle.so: PROG_FORM := -DBY_HANDLE
$(PROG)/interposer_name.so: PROG_FORM := -DBY_NAME
$(PROG)/interposer_%.so: test/prog/interposer.c
	$(call say,CC,$@)
	$(prog_build) $(PROG_FORM) -shared -fPIC $< -ldl -o $@

$(PROG)/life_unload.so: test/prog/life_unload.c $(PROG_SIM13)
	$(call say,CC,$@)
	$(prog_build) -DPLUGIN -shared -fPIC $< $(PROG_SIM13) -o $@

$(PROG)/leaving.so: test/prog/leaving.c
	$(call say,CC,$<)
	$(prog_build) -shared -fPIC $< -lpthread -o $@

$(PROG)/plugin_%.so: test/prog/plugin.c $(PROG_SIM13)
	$(call say,CC,$<)
	$(prog_build) -DPLUGIN=plugin_$* -shared -fPIC $< $(PROG_SIM13) -o $@

$(PROG)/half_%.so: test/prog/half.c $(BUILD)/sim/libcudart.so.%
	$(call say,CC,$<)
	$(prog_build) -DHALF=$* -shared -fPIC $< $(BUILD)/sim/libcudart.so.$* -o $@

# -cudart shared, because nvcc links cudart statically by default. The flags below select the form
# of launches (see test/prog/launch.cu). __NV_LEGACY_LAUNCH is defined twice, because nvcc compiles
# the stub without the -D of its own command line.
$(PROG)/legacy: PROG_NVCC_FLAGS := -D__NV_LEGACY_LAUNCH -Xcompiler -D__NV_LEGACY_LAUNCH
$(PROG)/per_thread: PROG_NVCC_FLAGS := --default-stream per-thread
$(PROG_NVCC:%=$(PROG)/%): test/prog/launch.cu
	$(call say,NVCC,$@)
	$(Q)mkdir -p $(@D) && $(NVCC) -cudart shared -O2 -I. $(PROG_NVCC_FLAGS) $< -o $@

$(PROG)/case_contexts_migrate: PROG_CASE_LIBS := -lcuda
$(PROG)/case_%: test/cases/%.cu
	$(call say,NVCC,$<)
	$(Q)mkdir -p $(@D) && $(NVCC) -cudart shared -g -std=c++17 $< $(PROG_CASE_LIBS) -o $@

$(PROG)/case_O2/unrolled: PROG_CASE_FLAGS := -Xcompiler -funroll-loops
$(PROG)/case_O2/%: test/cases/%.cu
	$(call say,NVCC,$@)
	$(Q)mkdir -p $(@D) && $(NVCC) -cudart shared -g -O2 -std=c++17 $(PROG_CASE_FLAGS) $< -o $@

$(PROG)/graphs/%: test/graphs/%.cu test/graphs/known.h
	$(call say,NVCC,$@)
	$(Q)mkdir -p $(@D) && $(NVCC) -cudart shared -g -std=c++17 $< -o $@

$(PROG)/fresh/O2/%: PROG_NVCC_FLAGS := -O2
$(PROG)/fresh/O3/%: PROG_NVCC_FLAGS := -O3
$(PROG)/fresh/O2g/%: PROG_NVCC_FLAGS := -O2 -g
$(PROG_FRESH:%=$(PROG)/%): $(PROG)/fresh/%:
	$(call say,NVCC,$@)
	$(Q)mkdir -p $(@D) && $(NVCC) -cudart shared $(PROG_NVCC_FLAGS) -std=c++17 $< -o $@
$(foreach p,$(PROG_FRESH),$(eval $(PROG)/$(p): test/steps/fresh/$(notdir $(p)).cu))

$(PROG)/together: test/prog/together.cu
	$(call say,NVCC,$@)
	$(Q)mkdir -p $(@D) && $(NVCC) -cudart shared -O2 -std=c++17 $< -o $@

$(PROG)/graph_nodes: test/prog/graph_nodes.cu
	$(call say,NVCC,$@)
	$(Q)mkdir -p $(@D) && $(NVCC) -cudart shared -O1 -g -std=c++17 $< -o $@

$(PROG)/regions_%: test/prog/regions.cu test/prog/regions.h
	$(call say,NVCC,$@)
	$(Q)mkdir -p $(@D) && $(NVCC) -cudart shared -$* -g -std=c++17 -I. \
		-Xcompiler -fopenmp $< -o $@

# The part of the library that reads Python's frames, for ctypes. It needs no CUDA. A test wraps
# python_layout_choose() to damage the layout.
PYTHON_FRAMES_SRC := test/prog/python_frames.c $(wildcard preload/python*.c) preload/host_memory.c \
	$(patsubst %,core/%.c,runtime/journal runtime/journal_guard runtime/log runtime/clock \
		source/journal/pylines)
prog: $(PROG)/python_frames.so
$(PROG)/python_frames.so: $(PYTHON_FRAMES_SRC) \
		$(wildcard preload/python*.h preload/python*.def core/*/*.h)
	$(call say,CC,$<)
	$(prog_build) -shared -fPIC -ftls-model=initial-exec -Wl,--wrap=python_layout_choose \
		$(PYTHON_FRAMES_SRC) -ldl -lpthread -o $@

# Decodes bytecode. test/e2e/test_python_flow.py compares the result with Python's own.
prog: $(PROG)/python_flow
$(PROG)/python_flow: test/prog/python_flow.c core/flow/python_instructions.c \
		$(wildcard core/flow/python*.h core/flow/python*.def) core/flow/flow.h
	$(call say,CC,$<)
	$(prog_build) $(filter %.c,$^) -o $@

-include $(wildcard $(BUILD)/obj/prog/*.d)

# `libraries` is linked with the stand-ins for cuBLAS, cuDNN and NCCL; `libraries_none` is not.
prog: $(PROG)/libraries $(PROG)/libraries_none
$(PROG)/libraries: test/prog/libraries.c $(PROG_SIM13) $(BUILD)/sim/libprofsim_libs.so
	$(call say,CC,$@)
	$(prog_build) $< $(PROG_SIM13) -Wl,--no-as-needed $(BUILD)/sim/libprofsim_libs.so -ldl -o $@
$(PROG)/libraries_none: test/prog/libraries.c $(PROG_SIM13)
	$(call say,CC,$@)
	$(prog_build) $< $(PROG_SIM13) -ldl -o $@

PROG_CXX := throws life_objects alive_at_exit
prog: $(PROG_CXX:%=$(PROG)/%)
$(PROG_CXX:%=$(PROG)/%): $(PROG)/%: test/prog/%.cpp $(PROG_SIM13)
	$(call say,CXX,$<)
	$(Q)mkdir -p $(@D) && g++ -std=c++17 -O2 -g -isystem $(CUDA_INCLUDE) $< $(PROG_SIM13) \
		-ldl -lpthread -o $@

prog: $(PROG)/calls_back.so
$(PROG)/calls_back.so: test/prog/calls_back.cpp
	$(call say,CXX,$@)
	$(Q)mkdir -p $(@D) && g++ -std=c++17 -O2 -g -fPIC -shared $< -o $@

# Stand-ins for PyTorch's libc10.so, with the new and the old signature of PyTorch's memory reports.
# The mangled names of the two differ.
PROG_C10 := $(foreach old,new old,$(PROG)/c10_$(old)/libc10.so $(PROG)/c10_$(old)/user.so) \
	$(PROG)/c10_new/race.so
prog: $(PROG_C10)
$(PROG)/c10_new/%: PROG_C10_SIZE := unsigned long
$(PROG)/c10_old/%: PROG_C10_SIZE := long
PROG_C10_CXX = $(Q)mkdir -p $(@D) && g++ -std=c++17 -O2 -g -fPIC -shared -fvisibility=hidden \
	'-DSIZE=$(PROG_C10_SIZE)' -isystem $(CUDA_INCLUDE)
$(filter %/libc10.so,$(PROG_C10)): test/prog/c10.cpp
	$(call say,CXX,$@)
	$(PROG_C10_CXX) -Wl,-soname,libc10.so $< -o $@
$(filter %/user.so,$(PROG_C10)): %/user.so: test/prog/c10_user.cpp %/libc10.so $(PROG_SIM13)
	$(call say,CXX,$@)
	$(PROG_C10_CXX) $< $(@D)/libc10.so $(PROG_SIM13) '-Wl,-rpath,$$ORIGIN' -o $@
$(PROG)/c10_new/race.so: test/prog/c10_race.cpp $(PROG)/c10_new/libc10.so $(PROG_SIM13)
	$(call say,CXX,$@)
	$(PROG_C10_CXX) $< $(@D)/libc10.so $(PROG_SIM13) '-Wl,-rpath,$$ORIGIN' -lpthread -o $@

# Without optimization, frames need bp; with it, they do not.
PROG_HOST_NATIVE := $(addprefix $(PROG)/host_native_,O0 O2)
prog: $(PROG_HOST_NATIVE)
$(PROG_HOST_NATIVE): $(PROG)/host_native_%: test/prog/host_native.cpp $(PROG_SIM13)
	$(call say,CXX,$@)
	$(Q)mkdir -p $(@D) && g++ -std=c++17 -$* -g -isystem $(CUDA_INCLUDE) $< $(PROG_SIM13) \
		-lpthread -o $@

prog: $(PROG)/host_extension.so
$(PROG)/host_extension.so: test/prog/host_extension.c
	$(call say,CC,$@)
	$(prog_build) -shared -fPIC $< -o $@
