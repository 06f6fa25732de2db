// SPDX-License-Identifier: Apache-2.0
#include "interpose/watch/cupti_library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

namespace tidemark::interpose {
namespace {

// Newest first. Their records begin alike: within a major version fields are only appended.
constexpr const char* kNames[] = {"libcupti.so.13", "libcupti.so.12"};

// Versions count up to 12.9 and are MMmmpp from 13.0 on. What comes after may mean something else by the same names.
bool known_version(std::uint32_t version) {
  return (version >= 19 && version < 100) || (version >= 130000 && version < 140000);
}

template <class F>
bool take(void* library, const char* name, F& out) {
  out = reinterpret_cast<F>(dlsym(library, name));
  return out != nullptr;
}

// A subscriber has to have one. No callbacks are enabled: what is wanted comes as records.
void CUPTIAPI no_callback(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}

}  // namespace

void* CuptiLibrary::find(Manners manners) {
  if (manners == Manners::Polite && getenv("CUDA_INJECTION64_PATH") != nullptr) {
    snprintf(why_, sizeof why_, "off: CUDA_INJECTION64_PATH names another tool");
    return nullptr;
  }
  // One that is here already is the program's, and the one whose buffers its own calls fill.
  for (const char* const name : kNames) {
    void* const here = dlopen(name, RTLD_NOLOAD | RTLD_LAZY);
    if (here == nullptr) continue;
    if (manners == Manners::Plain) return here;
    dlclose(here);
    snprintf(why_, sizeof why_, "off: the program has brought %s itself", name);
    return nullptr;
  }
  for (const char* const name : kNames)
    if (void* const found = dlopen(name, RTLD_LAZY | RTLD_LOCAL)) return found;
  const char* const last = dlerror();
  snprintf(why_, sizeof why_, "no libcupti: neither %s nor %s can be opened: %s", kNames[0], kNames[1],
           last != nullptr ? last : "unknown");
  return nullptr;
}

bool CuptiLibrary::look_up(void* library) {
  CuptiFunctions& f = functions_;
  take(library, "cuptiSubscribe_v2", f.subscribe_v2);
  take(library, "cuptiGetResultString", f.result_string);
  take(library, "cuptiActivitySetAttribute", f.set_attribute);
  take(library, "cuptiActivityGetNumDroppedRecords", f.dropped);
  take(library, "cuptiActivityEnableDriverApi", f.enable_driver_call);
  take(library, "cuptiActivityEnableRuntimeApi", f.enable_runtime_call);
  return take(library, "cuptiGetVersion", f.get_version) && take(library, "cuptiSubscribe", f.subscribe) &&
         take(library, "cuptiUnsubscribe", f.unsubscribe) &&
         take(library, "cuptiActivityRegisterCallbacks", f.register_callbacks) &&
         take(library, "cuptiActivityEnable", f.enable) && take(library, "cuptiActivityFlushAll", f.flush_all) &&
         take(library, "cuptiActivityGetNextRecord", f.next_record) &&
         take(library, "cuptiGetTimestamp", f.timestamp) &&
         take(library, "cuptiActivityPushExternalCorrelationId", f.push_external) &&
         take(library, "cuptiActivityPopExternalCorrelationId", f.pop_external);
}

bool CuptiLibrary::know_version() {
  CUptiResult const result = functions_.get_version(&version_);
  if (result != CUPTI_SUCCESS) {
    refused("cuptiGetVersion", result);
    return false;
  }
  if (known_version(version_)) return true;
  snprintf(why_, sizeof why_, "refused: its version %u is not known here", version_);
  return false;
}

bool CuptiLibrary::open(Manners manners) {
  void* const library = find(manners);
  if (library == nullptr) return false;
  if (!look_up(library)) {
    snprintf(why_, sizeof why_, "refused: libcupti lacks functions");
    return false;
  }
  return know_version();
}

bool CuptiLibrary::busy(const char* holder) {
  snprintf(why_, sizeof why_, "busy: held by %s", holder[0] != '\0' ? holder : "another client without a name");
  return false;
}

bool CuptiLibrary::subscribe() {
  char holder[CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN + 1] = {};
  CUptiResult result = CUPTI_SUCCESS;
  if (functions_.subscribe_v2 != nullptr) {
    CUpti_SubscriberParams params{.structSize = CUpti_SubscriberParams_STRUCT_SIZE,
                                  .subscriberName = "tidemark",
                                  .oldSubscriberName = holder,
                                  .oldSubscriberSize = sizeof holder - 1};
    result = functions_.subscribe_v2(&subscriber_, no_callback, nullptr, &params);
  } else {
    result = functions_.subscribe(&subscriber_, no_callback, nullptr);
  }
  if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) return busy(holder);
  if (result != CUPTI_SUCCESS) {
    refused("cuptiSubscribe", result);
    return false;
  }
  snprintf(why_, sizeof why_, "on");
  return true;
}

void CuptiLibrary::unsubscribe() {
  if (subscriber_ != nullptr) functions_.unsubscribe(subscriber_);
  subscriber_ = nullptr;
}

const char* CuptiLibrary::name_of(CUptiResult result) const {
  const char* text = nullptr;
  bool const known = functions_.result_string != nullptr && functions_.result_string(result, &text) == CUPTI_SUCCESS;
  return known && text != nullptr ? text : "an unknown error";
}

void CuptiLibrary::refused(const char* what, CUptiResult result) {
  snprintf(why_, sizeof why_, "refused: %s: %s (%d)", what, name_of(result), static_cast<int>(result));
}

const char* CuptiLibrary::path() const {
  Dl_info info{};
  bool const found =
      functions_.get_version != nullptr && dladdr(reinterpret_cast<void*>(functions_.get_version), &info) != 0;
  return found && info.dli_fname != nullptr ? info.dli_fname : "";
}

}  // namespace tidemark::interpose
