// SPDX-License-Identifier: Apache-2.0
// The observer of this shared library, and what a generated front does while there is one. Each library has a slot of
// its own: libcupti fills them all. Threads: any.
#pragma once
#include <atomic>

#include "softgpu/interface/observe.h"

namespace tidemark::softgpu {

inline constinit std::atomic<const SoftgpuObserver*> observer_slot{nullptr};

inline const SoftgpuObserver* observer() {
  return observer_slot.load(std::memory_order_acquire);
}

// The destructor also runs when a thread is cancelled inside of the call: enter and exit always come in pairs.
class ObservedCall {
 public:
  ObservedCall(const SoftgpuObserver& who, SoftgpuCall& call) : who_(who), call_(call) { who_.enter(&call_); }
  ~ObservedCall() { who_.exit(&call_); }
  ObservedCall(const ObservedCall&) = delete;
  ObservedCall& operator=(const ObservedCall&) = delete;

 private:
  const SoftgpuObserver& who_;
  SoftgpuCall& call_;
};

template <class F>
auto observed(SoftgpuCall& call, F implementation) {
  const SoftgpuObserver* const who = observer();
  if (who == nullptr) return implementation();  // it left a moment ago
  decltype(implementation()) result{};
  ObservedCall const scope(*who, call);
  result = implementation();
  call.result = &result;
  return result;
}

}  // namespace tidemark::softgpu
