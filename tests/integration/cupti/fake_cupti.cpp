// SPDX-License-Identifier: Apache-2.0
// A libcupti.so.13 that fails as FAKE_CUPTI says:
//   errors      everything but its version
//   version     it is of a version that nobody knows
//   busy        somebody else is subscribed
//   no_kinds    it subscribes and then knows no kind of activity
//   no_memory   the same of memory alone
//   garbage     its buffers hold anything, and its iterator leads anywhere
//   hangs       it never comes back from a flush
// Built with FAKE_LACKS_FLUSH it lacks a function.
#include <cupti.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

bool plays(const char* part) {
  const char* const given = std::getenv("FAKE_CUPTI");
  return given != nullptr && std::strcmp(given, part) == 0;
}

CUpti_BuffersCallbackRequestFunc give = nullptr;
CUpti_BuffersCallbackCompleteFunc take = nullptr;

std::uint32_t next_random() {
  static std::uint32_t state = 1;
  return state = state * 1664525 + 1013904223;
}

void deliver_garbage() {
  for (int i = 0; i < 40; ++i) {
    std::uint8_t* buffer = nullptr;
    std::size_t size = 0, most = 0;
    give(&buffer, &size, &most);
    if (buffer == nullptr) return;
    for (std::size_t at = 0; at + 4 <= size; at += 4) {
      // Mostly kinds that are read, at every place where one may begin.
      constexpr std::uint32_t kKinds[] = {CUPTI_ACTIVITY_KIND_MEMORY2, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                          CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION};
      std::uint32_t const word = next_random() % 4 != 0 ? kKinds[next_random() / 4 % 4] : next_random();
      std::memcpy(buffer + at, &word, sizeof word);
    }
    take(nullptr, 0, buffer, size, i % 3 == 0 ? size * 2 : size - next_random() % 64);
  }
  take(nullptr, 0, reinterpret_cast<std::uint8_t*>(std::size_t{4096}), 1, 1);  // none of the client's
}

CUptiResult answer() {
  return plays("errors") ? CUPTI_ERROR_UNKNOWN : CUPTI_SUCCESS;
}

}  // namespace

#define FAKE extern "C" __attribute__((visibility("default"))) CUptiResult CUPTIAPI

FAKE cuptiGetVersion(std::uint32_t* version) {
  *version = plays("version") ? 990000 : 130001;
  return CUPTI_SUCCESS;
}
FAKE cuptiSubscribe(CUpti_SubscriberHandle*, CUpti_CallbackFunc, void*) {
  return answer();
}
FAKE cuptiSubscribe_v2(CUpti_SubscriberHandle* handle, CUpti_CallbackFunc callback, void* data,
                       CUpti_SubscriberParams* params) {
  if (!plays("busy")) return cuptiSubscribe(handle, callback, data);
  std::snprintf(params->oldSubscriberName, params->oldSubscriberSize, "Nsight Systems");
  return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
}
FAKE cuptiUnsubscribe(CUpti_SubscriberHandle) {
  return answer();
}
FAKE cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                    CUpti_BuffersCallbackCompleteFunc complete) {
  give = request;
  take = complete;
  return answer();
}
FAKE cuptiActivityEnable(CUpti_ActivityKind kind) {
  if (plays("no_kinds") || (plays("no_memory") && kind == CUPTI_ACTIVITY_KIND_MEMORY2)) return CUPTI_ERROR_INVALID_KIND;
  return answer();
}
FAKE cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t bytes, CUpti_Activity** record) {
  if (!plays("garbage") || next_random() % 100 == 0) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  if (next_random() % 500 == 0) return CUPTI_ERROR_INVALID_KIND;
  auto* const last = *record == nullptr ? buffer : reinterpret_cast<std::uint8_t*>(*record);
  std::uint8_t* const next =
      next_random() % 200 == 0 ? buffer + next_random() % (2 * bytes) - bytes / 2 : last + next_random() % 256;
  *record = reinterpret_cast<CUpti_Activity*>(next);
  return CUPTI_SUCCESS;
}
FAKE cuptiGetTimestamp(std::uint64_t* time) {
  *time = plays("garbage") ? next_random() : 1'000'000;
  return answer();
}
FAKE cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind, std::uint64_t) {
  return answer();
}
FAKE cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind, std::uint64_t*) {
  return answer();
}
#ifdef FAKE_LACKS_FLUSH
#define cuptiActivityFlushAll cuptiOfAnotherName
#endif
FAKE cuptiActivityFlushAll(std::uint32_t) {
  if (plays("garbage")) deliver_garbage();
  while (plays("hangs")) pause();
  return answer();
}
