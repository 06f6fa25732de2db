// SPDX-License-Identifier: Apache-2.0
// The driver API alone: loads code from files and from memory, as modules and as libraries; looks names up; launches.
//   module_driver FILE.ptx FILE.cubin FILE.fatbin
#include <cuda.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

namespace {

void check(CUresult result, const char* call, int line) {
  if (result == CUDA_SUCCESS) return;
  const char* name = "?";
  cuGetErrorName(result, &name);
  std::fprintf(stderr, "module_driver.cpp:%d: %s: %s\n", line, call, name);
  std::exit(1);
}
#define CU(...) check((__VA_ARGS__), #__VA_ARGS__, __LINE__)
#define REQUIRE(...) (static_cast<bool>(__VA_ARGS__) ? void() : check(CUDA_ERROR_UNKNOWN, #__VA_ARGS__, __LINE__))

void launch(CUfunction scale, CUdeviceptr data, int n) {
  void* arguments[] = {&data, &n};
  CU(cuLaunchKernel(scale, static_cast<unsigned>(n + 127) / 128, 1, 1, 128, 1, 1, 0, nullptr, arguments, nullptr));
  struct {
    CUdeviceptr data;
    int n;
  } packed{data, n};
  std::size_t bytes = sizeof packed;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
  CU(cuLaunchKernel(scale, 1, 1, 1, 128, 1, 1, 0, nullptr, nullptr, extra));
  CU(cuCtxSynchronize());
}

void use_module(CUmodule module, CUdeviceptr data, int n) {
  CUfunction scale = nullptr, missing = nullptr;
  CUdeviceptr factor = 0;
  std::size_t bytes = 0;
  int threads = 0, shared = 0;
  CU(cuModuleGetFunction(&scale, module, "scale"));
  REQUIRE(cuModuleGetFunction(&missing, module, "no_such_kernel") == CUDA_ERROR_NOT_FOUND);
  CU(cuModuleGetGlobal(&factor, &bytes, module, "factor"));
  REQUIRE(bytes == 4 * sizeof(float));
  CU(cuFuncGetAttribute(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, scale));
  CU(cuFuncGetAttribute(&shared, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, scale));
  std::printf("scale: at most %d threads, %d bytes of shared memory\n", threads, shared);
  REQUIRE(threads == 128 && shared == 512);
  launch(scale, data, n);
  CU(cuModuleUnload(module));
}

void use_library(CUlibrary library, CUdeviceptr data, int n) {
  CUkernel scale = nullptr;
  CUdeviceptr launches = 0;
  std::size_t bytes = 0;
  unsigned count = 0;
  CU(cuLibraryGetKernel(&scale, library, "scale"));
  CU(cuLibraryGetKernelCount(&count, library));
  REQUIRE(count == 2);
  CU(cuLibraryGetGlobal(&launches, &bytes, library, "launches"));
  REQUIRE(bytes == sizeof(int));
  launch(reinterpret_cast<CUfunction>(scale), data, n);
  CU(cuLibraryUnload(library));
}

CUjitInputType kind_of(const std::string& path) {
  if (path.ends_with(".ptx")) return CU_JIT_INPUT_PTX;
  return path.ends_with(".cubin") ? CU_JIT_INPUT_CUBIN : CU_JIT_INPUT_FATBINARY;
}

// The linker makes an image out of the file; it belongs to the linker and goes with it.
void use_linked(const char* path, CUdeviceptr data, int n) {
  CUlinkState linker = nullptr;
  CUmodule module = nullptr;
  void* image = nullptr;
  std::size_t bytes = 0;
  CU(cuLinkCreate(0, nullptr, nullptr, &linker));
  CU(cuLinkAddFile(linker, kind_of(path), path, 0, nullptr, nullptr));
  CU(cuLinkComplete(linker, &image, &bytes));
  REQUIRE(image != nullptr && bytes > 0);
  CU(cuModuleLoadData(&module, image));
  CU(cuLinkDestroy(linker));
  use_module(module, data, n);
}

}  // namespace

int main(int argc, char** argv) {
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUdeviceptr data = 0;
  int const n = 1000;
  CU(cuInit(0));
  CU(cuDeviceGet(&device, 0));
  CU(cuDevicePrimaryCtxRetain(&context, device));
  CU(cuCtxSetCurrent(context));
  CU(cuMemAlloc(&data, n * sizeof(float)));
  CU(cuMemsetD32(data, 0x3f800000, n));
  for (int i = 1; i < argc; ++i) {
    std::printf("%s\n", argv[i]);
    CUmodule module = nullptr;
    CUlibrary library = nullptr;
    CU(cuModuleLoad(&module, argv[i]));
    use_module(module, data, n);
    std::ifstream file(argv[i], std::ios::binary);
    std::string const image{std::istreambuf_iterator<char>(file), {}};
    CU(cuModuleLoadData(&module, image.c_str()));
    use_module(module, data, n);
    CU(cuLibraryLoadData(&library, image.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0));
    use_library(library, data, n);
    use_linked(argv[i], data, n);
  }
  CU(cuMemFree(data));
  CU(cuDevicePrimaryCtxRelease(device));
  return 0;
}
