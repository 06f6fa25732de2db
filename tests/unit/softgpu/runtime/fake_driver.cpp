// SPDX-License-Identifier: Apache-2.0
#define __CUDA_API_VERSION_INTERNAL
#include "tests/unit/softgpu/runtime/fake_driver.h"

#include <cstdlib>
#include <cstring>
#include <deque>
#include <string_view>

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT FakeDriver& fake_driver() {
  static FakeDriver& fake = *new FakeDriver;
  return fake;
}

namespace {

CUresult answer(const std::string& name) {
  FakeDriver& fake = fake_driver();
  fake.calls.push_back(name);
  std::string const plain = name.substr(0, name.find('/'));
  auto const wanted = fake.results.find(plain);
  return wanted == fake.results.end() ? CUDA_SUCCESS : wanted->second;
}

thread_local CUcontext current = nullptr;
char contexts[2][16];
char libraries[16], kernels[16];
constinit unsigned char device_memory[64] = {};

CUcontext context_of(CUdevice device) {
  return reinterpret_cast<CUcontext>(contexts[device]);
}

CUresult init(unsigned) {
  return answer("cuInit");
}
CUresult version(int* out) {
  return *out = 13000, answer("cuDriverGetVersion");
}
CUresult count(int* out) {
  return *out = 2, answer("cuDeviceGetCount");
}
CUresult get_current(CUcontext* out) {
  return *out = current, CUDA_SUCCESS;
}
CUresult set_current(CUcontext context) {
  return current = context, answer("cuCtxSetCurrent");
}
CUresult get_device(CUdevice* out) {
  return *out = current == context_of(1) ? 1 : 0, CUDA_SUCCESS;
}
CUresult retain(CUcontext* out, CUdevice device) {
  CUresult const result = answer("cuDevicePrimaryCtxRetain");
  if (result == CUDA_SUCCESS) *out = context_of(device);
  return result;
}
CUresult alloc(CUdeviceptr* out, size_t) {
  *out = reinterpret_cast<CUdeviceptr>(device_memory);
  return answer("cuMemAlloc");
}
CUresult load(CUlibrary* out, const void* image, CUjit_option*, void**, unsigned, CUlibraryOption*, void**, unsigned) {
  fake_driver().loaded_images.push_back(image);
  *out = reinterpret_cast<CUlibrary>(libraries);
  return answer("cuLibraryLoadData");
}
CUresult kernel(CUkernel* out, CUlibrary, const char* name) {
  *out = reinterpret_cast<CUkernel>(kernels);
  return std::strcmp(name, "absent") == 0 ? CUDA_ERROR_NOT_FOUND : answer("cuLibraryGetKernel");
}
CUresult global(CUdeviceptr* out, size_t* bytes, CUlibrary, const char*) {
  *out = reinterpret_cast<CUdeviceptr>(device_memory);
  *bytes = 16;
  return answer("cuLibraryGetGlobal");
}
CUresult launch(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                unsigned shared, CUstream stream, void**, void**) {
  fake_driver().last_function = function;
  fake_driver().last_launch = {gx, gy, gz, bx, by, bz, shared, stream, nullptr, 0};
  return answer("cuLaunchKernel");
}
CUresult copy_3d(const CUDA_MEMCPY3D* copy) {
  return fake_driver().last_copy = *copy, answer("cuMemcpy3D");
}
CUresult copy_2d(const CUDA_MEMCPY2D* copy) {
  return fake_driver().last_rows = *copy, answer("cuMemcpy2DUnaligned");
}
CUresult shape(CUDA_ARRAY3D_DESCRIPTOR* out, CUarray) {
  *out = {8, 4, 0, CU_AD_FORMAT_FLOAT, 2, 0};
  return answer("cuArray3DGetDescriptor");
}
CUresult device_name(char* name, int length, CUdevice) {
  return std::strncpy(name, "fake", length), CUDA_SUCCESS;
}
CUresult total_memory(size_t* bytes, CUdevice) {
  return *bytes = size_t{80} << 30, CUDA_SUCCESS;
}
CUresult attribute(int* value, CUdevice_attribute which, CUdevice) {
  *value = static_cast<int>(which);  // each field of cudaDeviceProp can be told from the others
  return which == CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
CUresult pointer_attributes(unsigned, CUpointer_attribute*, void** data, CUdeviceptr pointer) {
  *static_cast<unsigned*>(data[0]) = fake_driver().memory_type;
  *static_cast<unsigned*>(data[1]) = 0;
  *static_cast<int*>(data[2]) = 1;
  *static_cast<CUdeviceptr*>(data[3]) = pointer;
  *static_cast<void**>(data[4]) = nullptr;
  return answer("cuPointerGetAttributes");
}

// A function of any name: counts its call. One instance per slot, because a C function has no data of its own.
constexpr int kSlots = 512;
std::deque<std::string>& slot_names() {
  static auto& names = *new std::deque<std::string>;
  return names;
}
template <int slot>
CUresult generic() {
  return answer(slot_names()[slot]);
}
template <int... slots>
void* generic_at(int wanted, std::integer_sequence<int, slots...>) {
  static void* const all[] = {reinterpret_cast<void*>(&generic<slots>)...};
  return all[wanted];
}

void* find(const std::string& name) {
  static const std::map<std::string, void*> written = {
      {"cuInit", reinterpret_cast<void*>(&init)},
      {"cuDriverGetVersion", reinterpret_cast<void*>(&version)},
      {"cuDeviceGetCount", reinterpret_cast<void*>(&count)},
      {"cuCtxGetCurrent", reinterpret_cast<void*>(&get_current)},
      {"cuCtxSetCurrent", reinterpret_cast<void*>(&set_current)},
      {"cuCtxGetDevice", reinterpret_cast<void*>(&get_device)},
      {"cuDevicePrimaryCtxRetain", reinterpret_cast<void*>(&retain)},
      {"cuMemAlloc", reinterpret_cast<void*>(&alloc)},
      {"cuLibraryLoadData", reinterpret_cast<void*>(&load)},
      {"cuLibraryGetKernel", reinterpret_cast<void*>(&kernel)},
      {"cuLibraryGetGlobal", reinterpret_cast<void*>(&global)},
      {"cuLaunchKernel", reinterpret_cast<void*>(&launch)},
      {"cuMemcpy3D", reinterpret_cast<void*>(&copy_3d)},
      {"cuMemcpy2DUnaligned", reinterpret_cast<void*>(&copy_2d)},
      {"cuArray3DGetDescriptor", reinterpret_cast<void*>(&shape)},
      {"cuDeviceGetName", reinterpret_cast<void*>(&device_name)},
      {"cuDeviceTotalMem", reinterpret_cast<void*>(&total_memory)},
      {"cuDeviceGetAttribute", reinterpret_cast<void*>(&attribute)},
      {"cuPointerGetAttributes", reinterpret_cast<void*>(&pointer_attributes)},
  };
  if (auto const found = written.find(name); found != written.end()) return found->second;
  slot_names().push_back(name);
  return generic_at(static_cast<int>(slot_names().size()) - 1, std::make_integer_sequence<int, kSlots>{});
}

bool is_left_out(std::string_view name) {
  const char* const list = std::getenv("FAKE_DRIVER_WITHOUT");
  std::string const all = "," + std::string(list != nullptr ? list : "") + ",";
  return all.find("," + std::string(name) + ",") != std::string::npos;
}

}  // namespace

EXPORT CUresult cuGetProcAddress_v2(const char* symbol, void** address, int version, cuuint64_t flags,
                                    CUdriverProcAddressQueryResult* status) {
  fake_driver().requests.push_back({symbol, version, flags});
  bool const per_thread = flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  bool const absent = is_left_out(symbol);
  *address = absent ? nullptr : find(std::string(symbol) + (per_thread ? "/ptsz" : ""));
  *status = absent ? CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND : CU_GET_PROC_ADDRESS_SUCCESS;
  return absent ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
}

EXPORT void softgpu_describe_image(const void* image, const char* kind, const char* name, size_t bytes) {
  fake_driver().descriptions.push_back({image, kind, name, bytes});
}
