// SPDX-License-Identifier: Apache-2.0
// What the client asked for: kinds of activity, API functions to record, callbacks. Read on every observed call and
// event, so plain atomics; while nothing is selected nobody observes. Threads: any.
#pragma once
#include <array>
#include <atomic>

#include "softgpu/cupti/api.h"

struct CUpti_Subscriber_st {
  CUpti_CallbackFunc callback = nullptr;
  void* userdata = nullptr;
  char name[64] = "CUPTI";
};

namespace tidemark::softgpu::cupti {

using Switches = std::atomic<bool>;

// Activity. context: id of the context it happened in; settings made for that context win.
bool is_wanted(CUpti_ActivityKind kind, std::uint64_t context = 0);
// Kernels come as one of two kinds; INVALID: not wanted.
CUpti_ActivityKind wanted_kernel_kind(std::uint64_t context);
// domain: CUPTI_CB_DOMAIN_DRIVER_API or CUPTI_CB_DOMAIN_RUNTIME_API.
bool is_api_wanted(std::uint32_t domain, std::uint32_t id);
bool wants_latency_timestamps();
bool wants_allocation_source();
bool wants_unfinished_queries();
void deselect_activity();
bool is_any_activity_selected();

// Callbacks. The subscriber, if it wants this one, else null.
CUpti_Subscriber_st* wanted_by(CUpti_CallbackDomain domain, std::uint32_t id);
void unsubscribe_all();
bool is_any_callback_selected();

// After a change of any of these: observe, or no longer.
void update_observer();

}  // namespace tidemark::softgpu::cupti
