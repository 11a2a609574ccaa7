// Images of device code: which code the driver takes, sizes of variables, names that do not exist,
// the linker. Built with PTX for 8.0 and machine code for 7.5, so that a GPU of 9.0 compiles the
// PTX; images.cubin, .ptx and .fatbin are images_device.cu.
#include "test/sim/tests/check.h"

#include <cuda.h>

#include <string>

__global__ void empty() {}

static std::string folder;

static CUresult load(CUmodule *module, const char *name)
{
	return cuModuleLoad(module, (folder + "/" + name).c_str());
}

static void check_module(const char *name, int ptx_version, bool is_text)
{
	CUmodule module;
	CUfunction function;
	CUdeviceptr address;
	size_t bytes = 0;
	int version = 0;
	NEED(load(&module, name));
	NEED(cuModuleGetGlobal(&address, &bytes, module, "large"));
	check(bytes == 20000, "images: a large variable", "%s: %zu bytes", name, bytes);
	NEED(cuMemsetD8(address, 1, bytes));
	NEED(cuModuleGetGlobal(&address, &bytes, module, "table"));
	check(bytes == 1600, "images: constant memory, vectors", "%s: %zu bytes", name, bytes);
	NEED(cuModuleGetFunction(&function, module, "kernel"));
	NEED(cuFuncGetAttribute(&version, CU_FUNC_ATTRIBUTE_PTX_VERSION, function));
	check(version == ptx_version, "images: the version of the PTX", "%s: %d", name, version);
	check(cuModuleGetGlobal(&address, &bytes, module, "none") == CUDA_ERROR_NOT_FOUND &&
		      (is_text ||
		       cuModuleGetFunction(&function, module, "none") == CUDA_ERROR_NOT_FOUND),
	      "images: what a module lacks is not found", "%s", name);
	NEED(cuModuleUnload(module));
}

static void check_link()
{
	static const char ptx[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
				  "// .global .b8 comment[7];\n"
				  ".extern .global .align 4 .b32 elsewhere[3];\n"
				  ".visible .global .align 16 .v4 .f32 own[10] = {1, 2};\n"
				  ".global .u64 one, two[2];\n"
				  ".visible .entry linked(.param .u64 p)\n{\n{ret;}\n}\n";
	CUlinkState state;
	CUmodule module;
	CUfunction function;
	CUdeviceptr address;
	char log[64] = "not empty";
	CUjit_option option = CU_JIT_ERROR_LOG_BUFFER;
	void *value = log, *cubin;
	size_t bytes = 0, own = 0, two = 0;
	NEED(cuLinkCreate(1, &option, &value, &state));
	check(!*log, "images: the linker's log is empty", "%s", log);
	check(cuLinkAddData(state, CU_JIT_INPUT_PTX, (void *)"nonsense", 9, "bad", 0, NULL, NULL) ==
		      CUDA_ERROR_INVALID_PTX,
	      "images: text that is no PTX", "was taken");
	NEED(cuLinkAddData(state, CU_JIT_INPUT_PTX, (void *)ptx, sizeof(ptx), "good", 0, NULL,
			   NULL));
	NEED(cuLinkAddFile(state, CU_JIT_INPUT_CUBIN, (folder + "/images.cubin").c_str(), 0, NULL,
			   NULL));
	NEED(cuLinkComplete(state, &cubin, &bytes));
	NEED(cuModuleLoadData(&module, cubin));
	NEED(cuLinkDestroy(state));
	NEED(cuModuleGetGlobal(&address, &own, module, "own"));
	NEED(cuModuleGetGlobal(&address, &two, module, "two"));
	check(own == 160 && two == 16, "images: variables of linked PTX", "%zu, %zu bytes", own,
	      two);
	NEED(cuModuleGetFunction(&function, module, "linked"));
	NEED(cuModuleGetFunction(&function, module, "kernel"));
	NEED(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
	check(cuModuleGetGlobal(&address, &bytes, module, "elsewhere") == CUDA_ERROR_NOT_FOUND &&
		      cuModuleGetGlobal(&address, &bytes, module, "comment") ==
			      CUDA_ERROR_NOT_FOUND,
	      "images: only what is defined", "more was found");
}

int main(int, char **arguments)
{
	cudaFuncAttributes attributes;
	CUmodule module;
	folder = arguments[0];
	folder.erase(folder.rfind('/'));
	NEED(cudaFree(0));
	if (arguments[1]) { // PROFSIM_CC is another GPU
		cudaError_t error = cudaFuncGetAttributes(&attributes, empty);
		check(error == cudaErrorNoKernelImageForDevice, "images: code for another GPU",
		      "%d", (int)error);
		return check_failed;
	}
	NEED(cudaFuncGetAttributes(&attributes, empty));
	check(attributes.ptxVersion == 80 && attributes.binaryVersion == 90,
	      "images: the driver compiles PTX for its GPU", "%d, %d", attributes.ptxVersion,
	      attributes.binaryVersion);
	check_module("images.cubin", 80, false);
	check_module("images.ptx", 75, true);
	check_module("images.fatbin", 75, false);
	check(load(&module, "images_80.cubin") == CUDA_ERROR_NO_BINARY_FOR_GPU,
	      "images: machine code for another GPU", "was taken");
	check_link();
	return check_failed;
}
