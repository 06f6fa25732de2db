// SPDX-License-Identifier: Apache-2.0
// The runtime over a fake driver: what it asks the driver for, and the rules that are its own.
#define __CUDA_API_VERSION_INTERNAL
#define CUDA_ENABLE_DEPRECATED
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <fatbinary_section.h>
#include <gtest/gtest.h>
#include <runtime_launch.h>  // generated

#include <algorithm>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/unit/softgpu/runtime/fake_driver.h"

namespace {

FakeDriver& fake() {
  static FakeDriver& driver = reinterpret_cast<FakeDriverFn>(dlsym(dlopen("libcuda.so.1", RTLD_NOW), "fake_driver"))();
  return driver;
}

// Each test starts with a bound context, no last error and an empty notebook.
class Runtime : public testing::Test {
 protected:
  void SetUp() override {
    fake().results.clear();
    ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
    ASSERT_EQ(cudaFree(nullptr), cudaSuccess);
    (void)cudaGetLastError();
    fake().calls.clear();
  }
  bool called(const std::string& name) const {
    return std::find(fake().calls.begin(), fake().calls.end(), name) != fake().calls.end();
  }
};

std::vector<FakeRequest> expected_requests() {
  std::vector<FakeRequest> wanted;
  auto const number = [](std::string_view twin) { return std::stoi(std::string(twin)); };
#define SOFTGPU_DRIVER(name, version) wanted.push_back({#name, version, CU_GET_PROC_ADDRESS_DEFAULT});
#define SOFTGPU_DRIVER_STREAM(name, version, twin)                       \
  wanted.push_back({#name, version, CU_GET_PROC_ADDRESS_LEGACY_STREAM}); \
  wanted.push_back({#name, number(#twin), CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM});
#include "softgpu/runtime/driver_functions.inc"
#undef SOFTGPU_DRIVER
#undef SOFTGPU_DRIVER_STREAM
  std::sort(wanted.begin(), wanted.end());
  return wanted;
}

}  // namespace

#ifndef TIDEMARK_SANITIZED
namespace {
std::vector<std::string>& names_taken_by_dlsym() {
  static auto& names = *new std::vector<std::string>;
  return names;
}
}  // namespace

// Stands before the C library's, so that the runtime's look-ups can be seen. Sanitizers want to stand there themselves.
extern "C" __attribute__((visibility("default"))) void* dlsym(void* handle, const char* name) noexcept {
  using Dlsym = void* (*)(void*, const char*);
  static auto const next = [] {
    for (const char* version : {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5"})
      if (void* const found = dlvsym(RTLD_NEXT, "dlsym", version)) return reinterpret_cast<Dlsym>(found);
    return Dlsym{nullptr};
  }();
  std::string_view const text = name;
  if (text.starts_with("cu") || text.starts_with("softgpu")) names_taken_by_dlsym().emplace_back(name);
  return next(handle, name);
}

TEST_F(Runtime, TakesNothingButGetProcAddressByDlsym) {
  for (std::string const& name : names_taken_by_dlsym())
    EXPECT_TRUE(name == "cuGetProcAddress_v2" || name.starts_with("softgpu_")) << name;
  EXPECT_EQ(std::count(names_taken_by_dlsym().begin(), names_taken_by_dlsym().end(), "cuGetProcAddress_v2"), 1);
}
#endif

TEST_F(Runtime, AsksForEveryFunctionWithVersionAndStreamFlag) {
  std::vector<FakeRequest> asked = fake().requests;
  std::sort(asked.begin(), asked.end());
  EXPECT_EQ(asked, expected_requests());
  EXPECT_GT(asked.size(), 300U);
}

TEST_F(Runtime, TwinsUseThePerThreadFunctions) {
  EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize_ptsz(nullptr), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
  EXPECT_EQ(fake().calls,
            (std::vector<std::string>{"cuStreamSynchronize", "cuStreamSynchronize/ptsz", "cuStreamSynchronize"}));
}

TEST_F(Runtime, DriverErrorsKeepTheirNumberOrBecomeUnknown) {
  struct Case {
    CUresult driver;
    cudaError_t runtime;
  };
  for (Case const& c :
       {Case{CUDA_ERROR_OUT_OF_MEMORY, cudaErrorMemoryAllocation},
        Case{CUDA_ERROR_INVALID_VALUE, cudaErrorInvalidValue},
        Case{CUDA_ERROR_NOT_INITIALIZED, cudaErrorInitializationError},
        Case{CUDA_ERROR_DEINITIALIZED, cudaErrorCudartUnloading},
        Case{CUDA_ERROR_INVALID_CONTEXT, cudaErrorDeviceUninitialized},
        Case{CUDA_ERROR_INVALID_HANDLE, cudaErrorInvalidResourceHandle},
        Case{CUDA_ERROR_NOT_FOUND, cudaErrorSymbolNotFound}, Case{CUDA_ERROR_NOT_SUPPORTED, cudaErrorNotSupported},
        Case{CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cudaErrorStreamCaptureUnsupported},
        Case{CUDA_ERROR_CONTEXT_ALREADY_CURRENT, cudaErrorUnknown},
        Case{static_cast<CUresult>(1000), cudaErrorUnknown}}) {
    fake().results["cuMemAlloc"] = c.driver;
    void* pointer = nullptr;
    EXPECT_EQ(cudaMalloc(&pointer, 1), c.runtime) << c.driver;
    EXPECT_EQ(cudaGetLastError(), c.runtime) << c.driver;
  }
}

TEST_F(Runtime, LastErrorStaysUntilFetched) {
  void* pointer = nullptr;
  fake().results["cuMemAlloc"] = CUDA_ERROR_OUT_OF_MEMORY;
  EXPECT_EQ(cudaMalloc(&pointer, 1), cudaErrorMemoryAllocation);
  fake().results.clear();
  EXPECT_EQ(cudaMalloc(&pointer, 1), cudaSuccess);
  EXPECT_EQ(cudaPeekAtLastError(), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaPeekAtLastError(), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST_F(Runtime, LastErrorBelongsToItsThread) {
  EXPECT_EQ(cudaMalloc(nullptr, 1), cudaErrorInvalidValue);
  std::thread([] { EXPECT_EQ(cudaGetLastError(), cudaSuccess); }).join();
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
}

TEST_F(Runtime, NotReadyIsALastErrorToo) {
  fake().results["cuStreamQuery"] = CUDA_ERROR_NOT_READY;
  EXPECT_EQ(cudaStreamQuery(nullptr), cudaErrorNotReady);
  EXPECT_EQ(cudaGetLastError(), cudaErrorNotReady);
}

TEST_F(Runtime, StickyErrorsStayUntilTheDeviceIsReset) {
  fake().results["cuStreamSynchronize"] = CUDA_ERROR_ILLEGAL_ADDRESS;
  EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaGetLastError(), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaGetLastError(), cudaErrorIllegalAddress);
  fake().results.clear();
  EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
  EXPECT_EQ(cudaGetLastError(), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST_F(Runtime, EveryErrorHasNameAndText) {
  EXPECT_STREQ(cudaGetErrorName(cudaErrorMemoryAllocation), "cudaErrorMemoryAllocation");
  EXPECT_STREQ(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory");
  EXPECT_STREQ(cudaGetErrorString(cudaSuccess), "no error");
  EXPECT_STREQ(cudaGetErrorName(static_cast<cudaError_t>(9999)), "unrecognized error code");
  EXPECT_STREQ(cudaGetErrorString(static_cast<cudaError_t>(9999)), "unrecognized error code");
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST_F(Runtime, DeviceBelongsToItsThread) {
  EXPECT_EQ(cudaSetDevice(1), cudaSuccess);
  int device = -1;
  std::thread([&] { EXPECT_EQ(cudaGetDevice(&device), cudaSuccess); }).join();
  EXPECT_EQ(device, 0);
  EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);
  EXPECT_EQ(device, 1);
  EXPECT_EQ(cudaSetDevice(2), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaSetDevice(-1), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);
  EXPECT_EQ(device, 1);
}

TEST_F(Runtime, AThreadsFirstUseBindsTheContext) {
  std::thread([this] {
    EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
    EXPECT_TRUE(called("cuCtxSetCurrent"));
  }).join();
  fake().calls.clear();
  EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
  EXPECT_FALSE(called("cuCtxSetCurrent"));
}

TEST_F(Runtime, ResetReleasesAndTheNextCallBindsAgain) {
  EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
  EXPECT_TRUE(called("cuDevicePrimaryCtxReset"));
  EXPECT_TRUE(called("cuDevicePrimaryCtxRelease"));
  fake().calls.clear();
  EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
  EXPECT_EQ(fake().calls,
            (std::vector<std::string>{"cuDevicePrimaryCtxRetain", "cuCtxSetCurrent", "cuStreamSynchronize"}));
}

TEST_F(Runtime, ResetReachesOtherThreads) {
  std::thread([] {
    EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
    std::thread([] { EXPECT_EQ(cudaDeviceReset(), cudaSuccess); }).join();
    fake().calls.clear();
    EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
    EXPECT_EQ(fake().calls.front(), "cuDevicePrimaryCtxRetain");
  }).join();
}

TEST_F(Runtime, MissingFunctionIsNotSupported) {
  testing::internal::CaptureStderr();
  size_t bytes = 0;
  cudaLogIterator iterator{};
  EXPECT_EQ(cudaLogsDumpToMemory(&iterator, nullptr, &bytes, 0), cudaErrorNotSupported);
  EXPECT_EQ(cudaLogsDumpToMemory(&iterator, nullptr, &bytes, 0), cudaErrorNotSupported);
  std::string const said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("cuLogsDumpToMemory"), std::string::npos);
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1);
}

TEST_F(Runtime, UnwrittenEntryPointIsNotSupportedAndNamedOnce) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(cudaDestroyTextureObject(0), cudaErrorNotSupported);
  EXPECT_EQ(cudaDestroyTextureObject(0), cudaErrorNotSupported);
  EXPECT_EQ(cudaGetLastError(), cudaErrorNotSupported);
  std::string const said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("cudaDestroyTextureObject"), std::string::npos);
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1);
}

TEST_F(Runtime, ExportTablesAreRefused) {
  const void* table = &table;
  cudaUUID_t id{};
  EXPECT_EQ(cudaGetExportTable(&table, &id), cudaErrorNotSupported);
  EXPECT_EQ(table, nullptr);
}

TEST_F(Runtime, AllocatingNothingGivesNull) {
  void* pointer = &pointer;
  EXPECT_EQ(cudaMalloc(&pointer, 0), cudaSuccess);
  EXPECT_EQ(pointer, nullptr);
  size_t pitch = 7;
  pointer = &pointer;
  EXPECT_EQ(cudaMallocPitch(&pointer, &pitch, 0, 4), cudaSuccess);
  EXPECT_EQ(pointer, nullptr);
  EXPECT_FALSE(called("cuMemAlloc"));
  EXPECT_EQ(cudaFreeHost(nullptr), cudaSuccess);
  EXPECT_EQ(cudaFreeArray(nullptr), cudaSuccess);
}

TEST_F(Runtime, CopiesCheckTheirDirection) {
  char a[8] = {}, b[8] = {};
  EXPECT_EQ(cudaMemcpy(a, b, 8, static_cast<cudaMemcpyKind>(5)), cudaErrorInvalidMemcpyDirection);
  EXPECT_EQ(cudaMemcpy(a, b, 0, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT_FALSE(called("cuMemcpyHtoD"));
  EXPECT_EQ(cudaMemcpy(a, b, 8, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT_TRUE(called("cuMemcpyHtoD"));
  EXPECT_EQ(cudaMemcpy_ptds(a, b, 8, cudaMemcpyDefault), cudaSuccess);
  EXPECT_TRUE(called("cuMemcpy/ptsz"));
  auto const array = reinterpret_cast<cudaArray_t>(a);
  EXPECT_EQ(cudaMemcpy2DToArray(array, 0, 0, b, 8, 8, 1, cudaMemcpyDeviceToHost), cudaErrorInvalidMemcpyDirection);
  EXPECT_EQ(cudaMemcpy2D(a, 4, b, 8, 8, 2, cudaMemcpyDefault), cudaErrorInvalidPitchValue);
}

TEST_F(Runtime, BoxesCountInElementsWhereAnArrayTakesPart) {
  float host[64] = {};
  cudaMemcpy3DParms p{};
  p.srcPtr = {host, 64, 64, 4};
  p.srcPos = {4, 1, 0};
  p.dstArray = reinterpret_cast<cudaArray_t>(host);  // of float2, says the fake
  p.dstPos = {2, 1, 0};
  p.extent = {3, 2, 1};
  p.kind = cudaMemcpyHostToDevice;
  ASSERT_EQ(cudaMemcpy3D(&p), cudaSuccess);
  CUDA_MEMCPY3D const& copy = fake().last_copy;
  EXPECT_EQ(copy.WidthInBytes, 3 * sizeof(float) * 2);
  EXPECT_EQ(copy.srcXInBytes, 4U);
  EXPECT_EQ(copy.dstXInBytes, 2 * sizeof(float) * 2);
  EXPECT_EQ(copy.srcMemoryType, CU_MEMORYTYPE_HOST);
  EXPECT_EQ(copy.dstMemoryType, CU_MEMORYTYPE_ARRAY);
  p.dstPtr.ptr = host;  // an array and a pointer at one end
  EXPECT_EQ(cudaMemcpy3D(&p), cudaErrorInvalidValue);
}

TEST_F(Runtime, OldArrayCopiesRunOnOverRowEnds) {
  char host[128] = {};
  auto const array = reinterpret_cast<cudaArray_t>(host);  // 8 x 4 of float2: rows of 64 bytes
  EXPECT_EQ(cudaMemcpyToArray(array, 48, 1, host, 80, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT_EQ(std::count(fake().calls.begin(), fake().calls.end(), "cuMemcpy2DUnaligned"), 2);
  EXPECT_EQ(fake().last_rows.dstY, 2U);
  EXPECT_EQ(fake().last_rows.WidthInBytes, 64U);
  EXPECT_EQ(fake().last_rows.srcHost, host + 16);
}

TEST_F(Runtime, PropertiesComeFromAttributes) {
  cudaDeviceProp p;
  ASSERT_EQ(cudaGetDeviceProperties(&p, 0), cudaSuccess);
  EXPECT_STREQ(p.name, "fake");
  EXPECT_EQ(p.totalGlobalMem, size_t{80} << 30);
  EXPECT_EQ(p.major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  EXPECT_EQ(p.maxGridSize[2], CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z);
  EXPECT_EQ(p.sharedMemPerBlock, static_cast<size_t>(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK));
  EXPECT_EQ(cudaGetDeviceProperties(&p, 9), cudaErrorInvalidDevice);
}

TEST_F(Runtime, UnknownPointersAreUnregisteredHostMemory) {
  int here = 0;
  cudaPointerAttributes a;
  fake().memory_type = 0;
  ASSERT_EQ(cudaPointerGetAttributes(&a, &here), cudaSuccess);
  EXPECT_EQ(a.type, cudaMemoryTypeUnregistered);
  EXPECT_EQ(a.device, cudaInvalidDeviceId);
  EXPECT_EQ(a.hostPointer, &here);
  fake().memory_type = CU_MEMORYTYPE_DEVICE;
  ASSERT_EQ(cudaPointerGetAttributes(&a, &here), cudaSuccess);
  EXPECT_EQ(a.type, cudaMemoryTypeDevice);
  EXPECT_EQ(a.device, 1);
  EXPECT_EQ(a.devicePointer, &here);
}

namespace {
const unsigned long long image[4] = {};
__fatBinC_Wrapper_t wrapper = {0x466243b1, 1, image, nullptr};
void stub_of_kernel() {}
void stub_of_absent() {}
int shadow = 0;
}  // namespace

TEST_F(Runtime, RegisteredKernelsAndVariablesAreLoadedAtFirstUse) {
  void** const handle = __cudaRegisterFatBinary(&wrapper);
  auto const stub = reinterpret_cast<const char*>(&stub_of_kernel);
  auto const absent = reinterpret_cast<const char*>(&stub_of_absent);
  __cudaRegisterFunction(handle, stub, nullptr, "_Z6kernelv", -1, nullptr, nullptr, nullptr, nullptr, nullptr);
  __cudaRegisterFunction(handle, absent, nullptr, "absent", -1, nullptr, nullptr, nullptr, nullptr, nullptr);
  __cudaRegisterVar(handle, reinterpret_cast<char*>(&shadow), nullptr, "shadow", 0, 16, 0, 0);
  __cudaRegisterFatBinaryEnd(handle);
  EXPECT_TRUE(fake().loaded_images.empty());

  EXPECT_EQ(cudaLaunchKernel(stub, dim3(3, 2, 1), dim3(32), nullptr, 7, nullptr), cudaSuccess);
  EXPECT_EQ(fake().loaded_images, (std::vector<const void*>{image}));
  ASSERT_EQ(fake().descriptions.size(), 3U);
  EXPECT_EQ(fake().descriptions[0].name, "_Z6kernelv");
  EXPECT_EQ(fake().descriptions[2].kind, "variable");
  EXPECT_EQ(fake().descriptions[2].bytes, 16U);
  EXPECT_EQ(fake().last_launch.gridDimX, 3U);
  EXPECT_EQ(fake().last_launch.gridDimY, 2U);
  EXPECT_EQ(fake().last_launch.sharedMemBytes, 7U);

  cudaKernel_t kernel = nullptr;
  EXPECT_EQ(cudaGetKernel(&kernel, stub), cudaSuccess);
  EXPECT_EQ(cudaLaunchKernel(kernel, dim3(1), dim3(1), nullptr, 0, nullptr), cudaSuccess);  // a handle will do as well
  EXPECT_EQ(fake().last_function, kernel);
  EXPECT_EQ(cudaLaunchKernel(absent, dim3(1), dim3(1), nullptr, 0, nullptr), cudaErrorInvalidDeviceFunction);
  EXPECT_EQ(cudaLaunchKernel(&shadow, dim3(1), dim3(1), nullptr, 0, nullptr), cudaErrorInvalidDeviceFunction);
  EXPECT_EQ(cudaLaunchKernel(stub, dim3(0), dim3(1), nullptr, 0, nullptr), cudaErrorInvalidConfiguration);
  EXPECT_EQ(cudaLaunchKernel(stub, dim3(1), dim3(1025), nullptr, 0, nullptr), cudaErrorInvalidConfiguration);

  size_t bytes = 0;
  EXPECT_EQ(cudaGetSymbolSize(&bytes, &shadow), cudaSuccess);
  EXPECT_EQ(bytes, 16U);
  char data[16] = {};
  EXPECT_EQ(cudaMemcpyToSymbol(&shadow, data, 8, 8, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT_EQ(cudaMemcpyToSymbol(&shadow, data, 8, 9, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpyToSymbol(&shadow, data, 8, 0, cudaMemcpyDeviceToHost), cudaErrorInvalidMemcpyDirection);
  EXPECT_EQ(cudaMemcpyToSymbol(&bytes, data, 8, 0, cudaMemcpyHostToDevice), cudaErrorInvalidSymbol);

  __cudaUnregisterFatBinary(handle);
  EXPECT_TRUE(called("cuLibraryUnload"));
  EXPECT_EQ(cudaLaunchKernel(stub, dim3(1), dim3(1), nullptr, 0, nullptr), cudaErrorInvalidDeviceFunction);
}

TEST_F(Runtime, CallConfigurationsNest) {
  dim3 grid, block;
  size_t shared = 0;
  cudaStream_t stream = nullptr;
  EXPECT_EQ(__cudaPopCallConfiguration(&grid, &block, &shared, &stream), cudaErrorMissingConfiguration);
  EXPECT_EQ(__cudaPushCallConfiguration(dim3(1), dim3(2), 3, cudaStreamPerThread), 0U);
  EXPECT_EQ(__cudaPushCallConfiguration(dim3(4), dim3(5), 6, nullptr), 0U);
  EXPECT_EQ(__cudaPopCallConfiguration(&grid, &block, &shared, &stream), cudaSuccess);
  EXPECT_EQ(grid.x, 4U);
  EXPECT_EQ(__cudaPopCallConfiguration(&grid, &block, &shared, &stream), cudaSuccess);
  EXPECT_EQ(block.x, 2U);
  EXPECT_EQ(shared, 3U);
  EXPECT_EQ(stream, cudaStreamPerThread);
}

TEST_F(Runtime, EntryPointsOfTheDriver) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult status{};
  std::size_t const before = fake().requests.size();
  // The fake answers this one through cuGetProcAddress itself, which it lists as a plain function: only the call
  // counts.
  EXPECT_EQ(cudaGetDriverEntryPointByVersion("cuMemAlloc", &function, 3020, cudaEnableDefault, &status), cudaSuccess);
  EXPECT_TRUE(called("cuGetProcAddress"));
  EXPECT_EQ(fake().requests.size(), before);
  EXPECT_EQ(cudaGetDriverEntryPoint(nullptr, &function, 0, &status), cudaErrorInvalidValue);
}
