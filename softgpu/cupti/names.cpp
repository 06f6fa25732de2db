// SPDX-License-Identifier: Apache-2.0
// Names, versions, attributes, the end; and what every refused entry point says.
#include <atomic>
#include <cstring>
#include <string>

#include "base/log.h"
#include "softgpu/cupti/buffers.h"
#include "softgpu/cupti/clock.h"
#include "softgpu/cupti/device.h"
#include "softgpu/cupti/selection.h"

namespace tidemark::softgpu::cupti {
namespace {

struct Name {
  std::uint32_t id;
  const char* name;
};

constexpr Name kDriverNames[] = {
#define SOFTGPU_DRIVER_ID(id, name) {id, #name},
#define SOFTGPU_RUNTIME_ID(id, name)
#include <cupti_ids.inc>
#undef SOFTGPU_DRIVER_ID
#undef SOFTGPU_RUNTIME_ID
};

constexpr Name kRuntimeNames[] = {
#define SOFTGPU_DRIVER_ID(id, name)
#define SOFTGPU_RUNTIME_ID(id, name) {id, #name},
#include <cupti_ids.inc>
#undef SOFTGPU_DRIVER_ID
#undef SOFTGPU_RUNTIME_ID
};

template <std::size_t N>
const char* find(const Name (&names)[N], std::uint32_t id) {
  for (Name const& name : names)
    if (name.id == id) return name.name;
  return nullptr;
}

struct ResultName {
  CUptiResult result;
  const char* name;
};

constexpr ResultName kResults[] = {
#define SOFTGPU_CUPTI_RESULT(result) {result, #result},
#include <cupti_results.inc>
#undef SOFTGPU_CUPTI_RESULT
};

const char* name_of(CUptiResult result) {
  for (ResultName const& r : kResults)
    if (r.result == result) return r.name;
  return nullptr;
}

// Sizes and counts of buffers that a card's driver would need. Here they are kept, and change nothing.
struct Attribute {
  CUpti_ActivityAttribute attribute;
  std::size_t bytes;
  std::size_t documented;
  std::atomic<std::size_t> value{documented};
};

constinit Attribute attributes[] = {
    {CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, sizeof(std::size_t), 3200000},
    {CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE_CDP, sizeof(std::size_t), 8388608},
    {CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT, sizeof(std::size_t), 250},
    {CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, sizeof(std::uint8_t), 0},
    {CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE, sizeof(std::size_t), 3},
    {CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED, sizeof(std::uint8_t), 0},
    {CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, sizeof(std::uint8_t), 0},
    {CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE_DEVICE_GRAPHS, sizeof(std::size_t), 16777216},
};

CUptiResult find_attribute(CUpti_ActivityAttribute wanted, const std::size_t* size, const void* value,
                           Attribute** out) {
  if (size == nullptr || value == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  for (Attribute& a : attributes) {
    if (a.attribute != wanted) continue;
    *out = &a;
    return *size >= a.bytes ? CUPTI_SUCCESS : CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT;
  }
  return CUPTI_ERROR_INVALID_PARAMETER;
}

void reset_attributes() {
  for (Attribute& a : attributes) a.value.store(a.documented);
}

}  // namespace
}  // namespace tidemark::softgpu::cupti

using namespace tidemark::softgpu::cupti;

// The generated stubs answer with this.
extern "C" int softgpu_cupti_not_supported(const char* name) {
  tidemark::say_once(name, "softgpu", std::string(name) + " is not supported");
  return answer(CUPTI_ERROR_NOT_SUPPORTED);
}

// Not declared by any header; a tool that loads this library for NVTX is told that it does not take part.
extern "C" __attribute__((visibility("default"))) int cuptiNvtxInitialize(void*) {
  return 0;
}
extern "C" __attribute__((visibility("default"))) int cuptiNvtxInitialize2(void*) {
  return 0;
}
extern "C" __attribute__((visibility("default"))) int cuptiNvtxExtensionInitialize(void*) {
  return 0;
}

CUptiResult CUPTIAPI cuptiGetVersion(uint32_t* version) {
  if (version == nullptr) return answer(CUPTI_ERROR_INVALID_PARAMETER);
  *version = CUPTI_API_VERSION;
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiGetResultString(CUptiResult result, const char** text) {
  if (text == nullptr) return answer(CUPTI_ERROR_INVALID_PARAMETER);
  *text = name_of(result);
  return answer(*text != nullptr ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER);
}

CUptiResult CUPTIAPI cuptiGetErrorMessage(CUptiResult result, const char** text) {
  return cuptiGetResultString(result, text);
}

CUptiResult CUPTIAPI cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t id, const char** name) {
  if (name == nullptr) return answer(CUPTI_ERROR_INVALID_PARAMETER);
  *name = domain == CUPTI_CB_DOMAIN_DRIVER_API    ? find(kDriverNames, id)
          : domain == CUPTI_CB_DOMAIN_RUNTIME_API ? find(kRuntimeNames, id)
                                                  : nullptr;
  return answer(*name != nullptr ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER);
}

CUptiResult CUPTIAPI cuptiActivityGetAttribute(CUpti_ActivityAttribute wanted, size_t* size, void* value) {
  Attribute* found = nullptr;
  if (CUptiResult const wrong = find_attribute(wanted, size, value, &found); wrong != CUPTI_SUCCESS)
    return answer(wrong);
  *size = found->bytes;
  std::size_t const kept = found->value.load();
  std::memcpy(value, &kept, found->bytes);
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivitySetAttribute(CUpti_ActivityAttribute wanted, size_t* size, void* value) {
  Attribute* found = nullptr;
  if (CUptiResult const wrong = find_attribute(wanted, size, value, &found); wrong != CUPTI_SUCCESS)
    return answer(wrong);
  std::size_t given = 0;
  std::memcpy(&given, value, found->bytes);
  found->value.store(given);
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivityConfigureUnifiedMemoryCounter(CUpti_ActivityUnifiedMemoryCounterConfig*, uint32_t) {
  (void)softgpu_cupti_not_supported("cuptiActivityConfigureUnifiedMemoryCounter");
  return answer(CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED_ON_DEVICE);
}

// Documented for CUDA 13: always this.
CUptiResult CUPTIAPI cuptiActivityConfigurePCSampling(CUcontext, CUpti_ActivityPCSamplingConfig*) {
  return answer(CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED);
}

// Detaches: no callbacks, no records, buffers go back. A client may begin again afterwards.
CUptiResult CUPTIAPI cuptiFinalize(void) {
  if (is_forked()) return answer(CUPTI_ERROR_NOT_INITIALIZED);
  unsubscribe_all();
  deselect_activity();
  update_observer();
  forget_buffers();
  forget_client_clock();
  reset_attributes();
  return CUPTI_SUCCESS;
}
