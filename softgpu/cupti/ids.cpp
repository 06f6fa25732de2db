// SPDX-License-Identifier: Apache-2.0
#include "softgpu/cupti/ids.h"

#include "softgpu/cupti/device.h"
#include "softgpu/cupti/thread.h"

namespace tidemark::softgpu::cupti {

std::uint32_t id_of(CUcontext context) {
  Quiet const quiet;
  unsigned long long id = 0;
  return device()->context_id(context, &id) == CUDA_SUCCESS ? static_cast<std::uint32_t>(id) : CUPTI_INVALID_CONTEXT_ID;
}

std::uint32_t current_context_id() {
  std::uint64_t id = 0;
  return device()->current_context(&id, nullptr) != nullptr ? static_cast<std::uint32_t>(id) : CUPTI_INVALID_CONTEXT_ID;
}

StreamIds ids_of(CUstream stream, bool per_thread) {
  Quiet const quiet;
  if (stream == nullptr && per_thread) stream = CU_STREAM_PER_THREAD;
  unsigned long long id = 0;
  CUcontext context = nullptr;
  if (device()->stream_id(stream, &id) != CUDA_SUCCESS) return {};
  if (device()->stream_context(stream, &context) != CUDA_SUCCESS) return {};
  return {static_cast<std::uint32_t>(id), id_of(context)};
}

}  // namespace tidemark::softgpu::cupti

using namespace tidemark::softgpu::cupti;

namespace {

bool is_unusable() {
  return is_forked() || device() == nullptr;
}

CUptiResult stream_id(CUcontext context, CUstream stream, bool per_thread, std::uint32_t* out) {
  if (is_unusable()) return CUPTI_ERROR_NOT_INITIALIZED;
  if (out == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  StreamIds const ids = ids_of(stream, per_thread);
  bool const elsewhere = context != nullptr && id_of(context) != ids.context;
  if (ids.stream == CUPTI_INVALID_STREAM_ID || elsewhere) return CUPTI_ERROR_INVALID_STREAM;
  *out = ids.stream;
  return CUPTI_SUCCESS;
}

CUptiResult check_device(CUdevice ordinal) {
  if (is_unusable()) return CUPTI_ERROR_NOT_INITIALIZED;
  Quiet const quiet;
  int count = 0;
  if (device()->device_count(&count) != CUDA_SUCCESS) return CUPTI_ERROR_NOT_INITIALIZED;
  return ordinal >= 0 && ordinal < count ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_DEVICE;
}

}  // namespace

CUptiResult CUPTIAPI cuptiGetContextId(CUcontext context, uint32_t* out) {
  if (is_unusable()) return answer(CUPTI_ERROR_NOT_INITIALIZED);
  if (out == nullptr) return answer(CUPTI_ERROR_INVALID_PARAMETER);
  std::uint32_t const id = context != nullptr ? id_of(context) : CUPTI_INVALID_CONTEXT_ID;
  if (id == CUPTI_INVALID_CONTEXT_ID) return answer(CUPTI_ERROR_INVALID_CONTEXT);
  *out = id;
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiGetStreamId(CUcontext context, CUstream stream, uint32_t* out) {
  return answer(stream_id(context, stream, false, out));
}

CUptiResult CUPTIAPI cuptiGetStreamIdEx(CUcontext context, CUstream stream, uint8_t per_thread, uint32_t* out) {
  return answer(stream_id(context, stream, per_thread != 0, out));
}

CUptiResult CUPTIAPI cuptiGetDeviceId(CUcontext context, uint32_t* out) {
  if (is_unusable()) return answer(CUPTI_ERROR_NOT_INITIALIZED);
  if (out == nullptr) return answer(CUPTI_ERROR_INVALID_PARAMETER);
  Quiet const quiet;
  CUdevice ordinal = 0;
  if (device()->context_device(&ordinal, context) != CUDA_SUCCESS) return answer(CUPTI_ERROR_INVALID_DEVICE);
  *out = static_cast<std::uint32_t>(ordinal);
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiComputeCapabilitySupported(int major, int minor, int* support) {
  if (support == nullptr) return answer(CUPTI_ERROR_INVALID_PARAMETER);
  *support = major > 7 || (major == 7 && minor >= 5);  // CUDA 13 begins there
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiDeviceSupported(CUdevice ordinal, int* support) {
  if (support == nullptr) return answer(CUPTI_ERROR_INVALID_PARAMETER);
  CUptiResult const result = check_device(ordinal);
  if (result == CUPTI_SUCCESS) *support = 1;
  return answer(result);
}

CUptiResult CUPTIAPI cuptiDeviceVirtualizationMode(CUdevice ordinal, CUpti_DeviceVirtualizationMode* mode) {
  if (mode == nullptr) return answer(CUPTI_ERROR_INVALID_PARAMETER);
  CUptiResult const result = check_device(ordinal);
  if (result == CUPTI_SUCCESS) *mode = CUPTI_DEVICE_VIRTUALIZATION_MODE_NONE;
  return answer(result);
}
