// SPDX-License-Identifier: Apache-2.0
// CUPTI as a library that may be there: found by its name at run time, asked for its version, subscribed to. Nothing
// else of the interposer is used here, so that a question about this machine can be answered without a program.
//
// One thread at a time. Opening it takes milliseconds; it is never closed: its threads and handlers stay.
#pragma once
#include <cupti.h>

#include <cstdint>

namespace tidemark::interpose {

// The functions that are used; those of the second group are absent in older versions.
struct CuptiFunctions {
  decltype(&::cuptiGetVersion) get_version = nullptr;
  decltype(&::cuptiSubscribe) subscribe = nullptr;
  decltype(&::cuptiUnsubscribe) unsubscribe = nullptr;
  decltype(&::cuptiActivityRegisterCallbacks) register_callbacks = nullptr;
  decltype(&::cuptiActivityEnable) enable = nullptr;
  decltype(&::cuptiActivityFlushAll) flush_all = nullptr;
  decltype(&::cuptiActivityGetNextRecord) next_record = nullptr;
  decltype(&::cuptiGetTimestamp) timestamp = nullptr;
  decltype(&::cuptiActivityPushExternalCorrelationId) push_external = nullptr;
  decltype(&::cuptiActivityPopExternalCorrelationId) pop_external = nullptr;

  decltype(&::cuptiSubscribe_v2) subscribe_v2 = nullptr;
  decltype(&::cuptiGetResultString) result_string = nullptr;
  decltype(&::cuptiActivitySetAttribute) set_attribute = nullptr;
  decltype(&::cuptiActivityGetNumDroppedRecords) dropped = nullptr;
  decltype(&::cuptiActivityEnableDriverApi) enable_driver_call = nullptr;
  decltype(&::cuptiActivityEnableRuntimeApi) enable_runtime_call = nullptr;
};

class CuptiLibrary {
 public:
  constexpr CuptiLibrary() = default;

  // Politely: not where a tool is announced in the environment, or the program has brought a CUPTI of its own. Only one
  // client can use it, and a profiler that the program starts later would be the one to suffer.
  enum class Manners : std::uint8_t { Plain, Polite };
  bool open(Manners manners = Manners::Plain);
  // Takes the place of the one client. False also when somebody else has it.
  bool subscribe();
  void unsubscribe();
  // Says that what was asked next was refused.
  void refused(const char* what, CUptiResult result);

  // "on", or in a few words why not.
  const char* why() const { return why_; }
  std::uint32_t version() const { return version_; }
  // The file that was opened; empty when that is not known.
  const char* path() const;
  const CuptiFunctions& functions() const { return functions_; }
  const char* name_of(CUptiResult result) const;

 private:
  void* find(Manners manners);
  bool look_up(void* library);
  bool know_version();
  bool busy(const char* holder);

  CuptiFunctions functions_;
  CUpti_SubscriberHandle subscriber_ = nullptr;
  std::uint32_t version_ = 0;
  char why_[256] = "not opened";
};

}  // namespace tidemark::interpose
