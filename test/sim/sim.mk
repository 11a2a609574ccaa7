# The simulated GPU: libcuda.so.1, libcudart.so.{12,13}, libcupti.so.{12,13}, libnvidia-ml.so.1 and
# libprofsim_libs.so in build/sim. The Makefile sets BUILD, CC, CFLAGS, LDFLAGS, CUDA_INCLUDE, NVCC
# and Q.

SIM := $(BUILD)/sim
SIM_OBJ := $(BUILD)/obj/sim
SIM_GEN := $(BUILD)/gen/sim
SIM_PYTHON ?= python3

# -fno-strict-aliasing: generated code reads the runtime's arguments as driver types of the same
# layout. -O1 -g0 halves the compile time; speed and debug information are not needed here.
SIM_CFLAGS := $(if $(SAN),,-O1 -g0 -include scripts/old_glibc.h) -fPIC -fno-strict-aliasing \
	-D_GNU_SOURCE= -I. -I$(SIM_GEN) -isystem $(CUDA_INCLUDE) -MMD -MP
# No debug information, as in NVIDIA's libraries: the lines of these libraries must not look like
# the user's lines.
SIM_LDFLAGS := $(if $(SAN),,-Wl$(comma)--strip-debug) -shared -Wl,-Bsymbolic -Wl,-z,now \
	$(if $(SAN),,-Wl$(comma)-z$(comma)defs)

# Before glibc 2.34, functions of scripts/old_glibc.h are in these libraries.
SIM_LDLIBS := -Wl,--push-state,--no-as-needed -l:libpthread.so.0 -l:libdl.so.2 -l:librt.so.1 \
	-Wl,--pop-state

SIM_COMMON := sim_common sim_errors
SIM_ENGINE := $(patsubst test/sim/%.c,%,$(wildcard test/sim/engine_*.c))
SIM_RT := $(patsubst test/sim/%.c,%,$(wildcard test/sim/rt_*.c))
SIM_CUPTI := $(patsubst test/sim/%.c,%,$(wildcard test/sim/cupti_*.c))
SIM_LIBS := $(patsubst test/sim/%.c,%,$(wildcard test/sim/libs_*.c))
SIM_LIBRARIES := $(SIM)/libcuda.so.1 $(SIM)/libcudart.so.13 $(SIM)/libcudart.so.12 \
	$(SIM)/libcupti.so.13 $(SIM)/libcupti.so.12 $(SIM)/libprofsim_libs.so \
	$(SIM)/libnvidia-ml.so.1

.PHONY: sim
sim: $(SIM_LIBRARIES)

$(SIM_GEN)/stamp: test/sim/gen.py test/sim/gen_libs.py test/sim/rt_forward.def \
		test/sim/rt_twelve.h $(wildcard test/sim/*.c) $(wildcard test/sim/exports/*.txt) \
		$(CUDA_INCLUDE)/cuda.h
	$(call say,GEN,$(SIM_GEN))
	$(Q)mkdir -p $(SIM_GEN) && \
		$(SIM_PYTHON) test/sim/gen.py $(SIM_GEN) $(CUDA_INCLUDE) "$(CC)" && touch $@

# One rule for each library's objects, because the runtime and CUPTI are built once for each CUDA
# version.
define sim_objects
$(SIM_OBJ)/$(1)/%.o: test/sim/%.c $(SIM_GEN)/stamp $(BUILD)/obj/flags
	$$(call say,CC,$$<)
	$$(Q)mkdir -p $$(@D) && $$(CC) $$(CFLAGS) $(SIM_CFLAGS) $(2) -c $$< -o $$@
$(SIM_OBJ)/$(1)/%.o: $(SIM_GEN)/stamp $(BUILD)/obj/flags
	$$(call say,CC,$(SIM_GEN)/$$*.c)
	$$(Q)mkdir -p $$(@D) && $$(CC) $$(CFLAGS) $(SIM_CFLAGS) $(2) -c $(SIM_GEN)/$$*.c -o $$@
endef
$(eval $(call sim_objects,cuda,))
$(eval $(call sim_objects,cudart13,-DSIM_CUDART=13))
$(eval $(call sim_objects,cudart12,-DSIM_CUDART=12))
$(eval $(call sim_objects,cupti13,-DSIM_CUPTI=13))
$(eval $(call sim_objects,cupti12,-DSIM_CUPTI=12))

$(SIM)/libcuda.so.1: $(patsubst %,$(SIM_OBJ)/cuda/%.o,$(SIM_COMMON) $(SIM_ENGINE) driver_wrappers)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(SIM_LDFLAGS) $(LDFLAGS) -Wl,-soname,$(@F) $^ \
		$(SIM_LDLIBS) -o $@

$(SIM)/libcudart.so.%:
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(SIM_LDFLAGS) $(LDFLAGS) -Wl,-soname,$(@F) \
		-Wl,--version-script=$(SIM_GEN)/$(@F).map $(filter %.o,$^) $(SIM_LDLIBS) -o $@
$(SIM)/libcudart.so.13: $(patsubst %,$(SIM_OBJ)/cudart13/%.o, \
		$(SIM_COMMON) $(SIM_RT) rt_forward runtime13_wrappers)
$(SIM)/libcudart.so.12: $(patsubst %,$(SIM_OBJ)/cudart12/%.o, \
		$(SIM_COMMON) $(SIM_RT) rt_forward runtime12_wrappers)

$(SIM)/libcupti.so.%:
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(SIM_LDFLAGS) $(LDFLAGS) -Wl,-soname,$(@F) \
		-Wl,--version-script=$(SIM_GEN)/$(@F).map $(filter %.o,$^) $(SIM_LDLIBS) -o $@
$(SIM)/libcupti.so.13: $(patsubst %,$(SIM_OBJ)/cupti13/%.o, \
		$(SIM_COMMON) $(SIM_CUPTI) cupti13_wrappers)
$(SIM)/libcupti.so.12: $(patsubst %,$(SIM_OBJ)/cupti12/%.o, \
		$(SIM_COMMON) $(SIM_CUPTI) cupti12_wrappers)

# Preloaded under its own name, which no real library has. PyTorch's versioned references bind to
# this library because it has no symbol versions.
$(SIM)/libprofsim_libs.so: $(patsubst %,$(SIM_OBJ)/cuda/%.o, \
		$(SIM_COMMON) $(SIM_LIBS) libs_stubs)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(SIM_LDFLAGS) $(LDFLAGS) -Wl,-soname,$(@F) $^ \
		$(SIM_LDLIBS) -o $@

$(SIM)/libnvidia-ml.so.1: $(patsubst %,$(SIM_OBJ)/cuda/%.o,$(SIM_COMMON) nvml)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(SIM_LDFLAGS) $(LDFLAGS) -Wl,-soname,$(@F) $^ \
		$(SIM_LDLIBS) -o $@

# Tests of the simulated libraries (run-tests.sh). They are linked with these libraries as a program
# is with the real ones.
SIM_TEST_LIBS := $(SIM)/libcudart.so.13 $(SIM)/libcupti.so.13 $(SIM)/libcuda.so.1
SIM_TESTS := $(patsubst test/sim/tests/%.c,$(SIM)/test/%,$(wildcard test/sim/tests/*.c)) \
	$(if $(NVCC),$(addprefix $(SIM)/test/,nvcc static thrust images images.cubin \
		images_80.cubin images.ptx images.fatbin))
.PHONY: sim-tests
tests: sim-tests
sim-tests: sim $(SIM_TESTS)
$(SIM)/test/%: test/sim/tests/%.c test/sim/tests/check.h $(SIM_TEST_LIBS) $(BUILD)/obj/flags
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(CFLAGS) -D_GNU_SOURCE= -I. -isystem $(CUDA_INCLUDE) $< \
		-Wl,--as-needed $(SIM_TEST_LIBS) $(LDFLAGS) -lpthread -ldl -o $@
$(SIM)/test/nvcc: test/sim/tests/nvcc.cu test/sim/tests/check.h $(SIM)/libcudart.so.13
	$(call say,NVCC,$@)
	$(Q)mkdir -p $(@D) && $(NVCC) -cudart shared -I. $< -o $@

$(SIM)/test/static: test/sim/tests/nvcc.cu test/sim/tests/check.h
	$(call say,NVCC,$@)
	$(Q)mkdir -p $(@D) && $(NVCC) -cudart static -I. $< -o $@
$(SIM)/test/thrust: test/sim/tests/thrust.cu test/sim/tests/check.h $(SIM)/libcudart.so.13
	$(call say,NVCC,$@)
	$(Q)mkdir -p $(@D) && $(NVCC) -cudart shared -I. $< -o $@
$(SIM)/test/images: test/sim/tests/images.cu test/sim/tests/check.h $(SIM)/libcudart.so.13
	$(call say,NVCC,$@)
	$(Q)mkdir -p $(@D) && $(NVCC) -cudart shared -I. -gencode arch=compute_80,code=compute_80 \
		-gencode arch=compute_75,code=sm_75 $< -Xlinker $(SIM)/libcuda.so.1 -o $@
$(SIM)/test/images.cubin: test/sim/tests/images_device.cu
	$(call say,NVCC,$@)
	$(Q)mkdir -p $(@D) && $(NVCC) -cubin -gencode arch=compute_80,code=sm_90 $< -o $@
$(SIM)/test/images_80.cubin: test/sim/tests/images_device.cu
	$(call say,NVCC,$@)
	$(Q)mkdir -p $(@D) && $(NVCC) -cubin -arch=sm_80 $< -o $@
$(SIM)/test/images.ptx: test/sim/tests/images_device.cu
	$(call say,NVCC,$@)
	$(Q)mkdir -p $(@D) && $(NVCC) -ptx -arch=compute_75 $< -o $@
$(SIM)/test/images.fatbin: test/sim/tests/images_device.cu
	$(call say,NVCC,$@)
	$(Q)mkdir -p $(@D) && $(NVCC) -fatbin -gencode arch=compute_75,code=compute_75 \
		-gencode arch=compute_80,code=sm_80 $< -o $@

-include $(wildcard $(SIM_OBJ)/*/*.d)
