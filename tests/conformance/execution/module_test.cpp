// SPDX-License-Identifier: Apache-2.0
// Modules and libraries: code that a program loads by itself, here from PTX text.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

#include "tests/conformance/support/device.h"
#include "tests/conformance/support/kernels.h"

namespace conformance {
namespace {

// ptx_fill(p, n, value): p[i] = value for i < n. Its CPU body is in kernels_body.h.
constexpr const char* kPtx = R"(
.version 7.0
.target sm_75
.address_size 64
// A variable, and a kernel in a comment: .visible .entry not_there()
.visible .global .align 4 .u32 ptx_words[6] = {1, 2, 3, 4, 5, 6};
.visible .entry ptx_fill(.param .u64 p, .param .u32 n, .param .u32 value)
{
  .reg .pred %done;
  .reg .b32 %r<8>;
  .reg .b64 %rd<4>;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.s32 %r4, %r1, %r2, %r3;
  ld.param.u32 %r5, [n];
  setp.ge.u32 %done, %r4, %r5;
  @%done bra finish;
  ld.param.u64 %rd1, [p];
  cvta.to.global.u64 %rd1, %rd1;
  mul.wide.u32 %rd2, %r4, 4;
  add.s64 %rd3, %rd1, %rd2;
  ld.param.u32 %r6, [value];
  st.global.u32 [%rd3], %r6;
finish:
  ret;
}
)";

class Module : public Conformance {};

void check_fill(CUfunction function, std::uint32_t value) {
  std::uint32_t n = 50;
  DeviceBytes const device(60 * 4);
  ASSERT_OK(cudaMemset(device.get(), 0, 240));
  CUdeviceptr p = device.address();
  void* arguments[] = {&p, &n, &value};
  ASSERT_OK(cuLaunchKernel(function, 2, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr));
  std::vector<std::uint32_t> words(60), expected(60);
  ASSERT_OK(cudaMemcpy(words.data(), device.get(), 240, cudaMemcpyDeviceToHost));
  std::fill_n(expected.begin(), 50, value);
  if (!is_dry_run()) {
    EXPECT_EQ(expected, words);
  }
}

TEST_F(Module, LoadsTextAndRunsItsKernel) {
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  ASSERT_OK(cuModuleLoadData(&module, kPtx));
  ASSERT_OK(cuModuleGetFunction(&function, module, "ptx_fill"));
  check_fill(function, 0xabcdef01);
  EXPECT_CUDA(CUDA_ERROR_NOT_FOUND, cuModuleGetFunction(&function, module, "no_such_kernel"));
  EXPECT_CUDA(CUDA_ERROR_NOT_FOUND, cuModuleGetFunction(&function, module, "not_there"));
  unsigned count = 0;
  EXPECT_OK(cuModuleGetFunctionCount(&count, module));
  EXPECT_EQ(1u, count);
  EXPECT_OK(cuModuleUnload(module));
}

TEST_F(Module, LoadsFromAFile) {
  std::string const path = testing::TempDir() + "/conformance_module.ptx";
  std::ofstream(path) << kPtx;
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  ASSERT_OK(cuModuleLoad(&module, path.c_str()));
  ASSERT_OK(cuModuleGetFunction(&function, module, "ptx_fill"));
  check_fill(function, 5);
  EXPECT_OK(cuModuleUnload(module));
  std::remove(path.c_str());
  EXPECT_CUDA(CUDA_ERROR_FILE_NOT_FOUND, cuModuleLoad(&module, path.c_str()));
}

TEST_F(Module, HasGlobals) {
  CUmodule module = nullptr;
  ASSERT_OK(cuModuleLoadData(&module, kPtx));
  CUdeviceptr address = 0;
  std::size_t bytes = 0;
  EXPECT_OK(cuModuleGetGlobal(&address, &bytes, module, "ptx_words"));
  EXPECT_NE(0u, address);
  EXPECT_EQ(24u, bytes);
  EXPECT_OK(cuMemsetD32(address, 9, 6));
  std::uint32_t last = 0;
  EXPECT_OK(cuMemcpyDtoH(&last, address + 20, 4));
  EXPECT_EQ(9u, last);
  // "One of the parameters dptr or bytes (not both) can be NULL in which case it is ignored."
  EXPECT_OK(cuModuleGetGlobal(nullptr, &bytes, module, "ptx_words"));
  EXPECT_CUDA(CUDA_ERROR_NOT_FOUND, cuModuleGetGlobal(&address, &bytes, module, "nothing"));
  EXPECT_OK(cuModuleUnload(module));
}

TEST_F(Module, ItsGlobalsAreNotTheProgramsToFree) {
  CUmodule module = nullptr;
  CUdeviceptr address = 0;
  ASSERT_OK(cuModuleLoadData(&module, kPtx));
  ASSERT_OK(cuModuleGetGlobal(&address, nullptr, module, "ptx_words"));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemFree(address));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemFreeAsync(address, nullptr));
  EXPECT_OK(cuMemsetD8(address, 1, 4));
  EXPECT_OK(cuModuleUnload(module));
}

TEST_F(Module, RefusesBadArguments) {
  CUmodule module = nullptr;
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuModuleLoadData(nullptr, kPtx));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuModuleLoadData(&module, nullptr));
  EXPECT_NE(CUDA_SUCCESS, cuModuleLoadData(&module, "this is no code at all, but text it is"));
  if (is_softgpu()) {
    int on_stack = 0;
    CUfunction function = nullptr;
    EXPECT_CUDA(CUDA_ERROR_INVALID_HANDLE,
                cuModuleGetFunction(&function, reinterpret_cast<CUmodule>(&on_stack), "ptx_fill"));
    EXPECT_CUDA(CUDA_ERROR_INVALID_HANDLE, cuModuleUnload(reinterpret_cast<CUmodule>(&on_stack)));
  }
}

TEST_F(Module, UnloadingWaitsForItsKernels) {
  NEEDS_VALUES();
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  DeviceBytes const device(400);
  ASSERT_OK(cuModuleLoadData(&module, kPtx));
  ASSERT_OK(cuModuleGetFunction(&function, module, "ptx_fill"));
  CUdeviceptr p = device.address();
  std::uint32_t n = 100, value = 3;
  void* arguments[] = {&p, &n, &value};
  ASSERT_OK(cuLaunchKernel(function, 4, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr));
  ASSERT_OK(cuModuleUnload(module));
  ASSERT_OK(cudaDeviceSynchronize());
  std::uint32_t last = 0;
  ASSERT_OK(cuMemcpyDtoH(&last, p + 396, 4));
  EXPECT_EQ(3u, last);
}

TEST_F(Module, LibrariesGiveKernels) {
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  CUfunction function = nullptr;
  ASSERT_OK(cuLibraryLoadData(&library, kPtx, nullptr, nullptr, 0, nullptr, nullptr, 0));
  ASSERT_OK(cuLibraryGetKernel(&kernel, library, "ptx_fill"));
  check_fill(reinterpret_cast<CUfunction>(kernel), 17);
  ASSERT_OK(cuKernelGetFunction(&function, kernel));
  check_fill(function, 18);
  const char* name = nullptr;
  EXPECT_OK(cuKernelGetName(&name, kernel));
  EXPECT_STREQ("ptx_fill", name);
  unsigned count = 0;
  EXPECT_OK(cuLibraryGetKernelCount(&count, library));
  EXPECT_EQ(1u, count);
  CUkernel listed = nullptr;
  EXPECT_OK(cuLibraryEnumerateKernels(&listed, 1, library));
  EXPECT_EQ(kernel, listed);
  EXPECT_CUDA(CUDA_ERROR_NOT_FOUND, cuLibraryGetKernel(&kernel, library, "no_such_kernel"));
  CUmodule module = nullptr;
  ASSERT_OK(cuLibraryGetModule(&module, library));
  // "Attempting to unload a module which was obtained from the Library Management API such as cuLibraryGetModule will
  // return CUDA_ERROR_NOT_PERMITTED."
  EXPECT_CUDA(CUDA_ERROR_NOT_PERMITTED, cuModuleUnload(module));
  EXPECT_OK(cuLibraryUnload(library));
}

TEST_F(Module, RuntimeLibraries) {
  NEEDS_VALUES();
  cudaLibrary_t library = nullptr;
  cudaKernel_t kernel = nullptr;
  ASSERT_OK(cudaLibraryLoadData(&library, kPtx, nullptr, nullptr, 0, nullptr, nullptr, 0));
  ASSERT_OK(cudaLibraryGetKernel(&kernel, library, "ptx_fill"));
  DeviceBytes const device(128);
  void* p = device.get();
  std::uint32_t n = 32, value = 4;
  void* arguments[] = {&p, &n, &value};
  ASSERT_OK(cudaLaunchKernel(reinterpret_cast<void*>(kernel), dim3(1), dim3(32), arguments, 0, nullptr));
  std::uint32_t last = 0;
  ASSERT_OK(cudaMemcpy(&last, device.get() + 124, 4, cudaMemcpyDeviceToHost));
  EXPECT_EQ(4u, last);
  EXPECT_OK(cudaLibraryUnload(library));
}

}  // namespace
}  // namespace conformance
