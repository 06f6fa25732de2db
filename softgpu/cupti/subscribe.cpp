// SPDX-License-Identifier: Apache-2.0
// The subscriber and the callbacks that it has enabled.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <vector>

#include "base/log.h"
#include "softgpu/cupti/device.h"
#include "softgpu/cupti/events.h"
#include "softgpu/cupti/selection.h"

namespace tidemark::softgpu::cupti {
namespace {

// NVTX is not here: its calls reach a tool by injection, not through the driver. STATE is: nothing goes wrong in it.
constexpr std::array kDomains = {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_CB_DOMAIN_RESOURCE,
                                 CUPTI_CB_DOMAIN_SYNCHRONIZE, CUPTI_CB_DOMAIN_STATE};
constexpr std::size_t kMostIds = CUPTI_DRIVER_TRACE_CBID_SIZE;
static_assert(kMostIds >= CUPTI_RUNTIME_TRACE_CBID_SIZE);

constinit std::array<std::array<Switches, kMostIds>, CUPTI_CB_DOMAIN_SIZE> enabled{};
constinit std::atomic<CUpti_Subscriber_st*> subscriber{nullptr};

std::size_t ids_of(CUpti_CallbackDomain domain) {
  switch (domain) {
    case CUPTI_CB_DOMAIN_DRIVER_API: return CUPTI_DRIVER_TRACE_CBID_SIZE;
    case CUPTI_CB_DOMAIN_RUNTIME_API: return CUPTI_RUNTIME_TRACE_CBID_SIZE;
    case CUPTI_CB_DOMAIN_RESOURCE: return CUPTI_CBID_RESOURCE_SIZE;
    case CUPTI_CB_DOMAIN_SYNCHRONIZE: return CUPTI_CBID_SYNCHRONIZE_SIZE;
    case CUPTI_CB_DOMAIN_STATE: return CUPTI_CBID_STATE_SIZE;
    default: return 0;
  }
}

void set_domain(CUpti_CallbackDomain domain, bool on) {
  for (std::size_t id = 1; id < ids_of(domain); ++id) enabled[domain][id].store(on);
}

CUptiResult check(CUpti_SubscriberHandle handle, CUpti_CallbackDomain domain) {
  if (is_forked() || device() == nullptr) return CUPTI_ERROR_NOT_INITIALIZED;
  if (handle == nullptr || handle != subscriber.load()) return CUPTI_ERROR_INVALID_PARAMETER;
  if (domain == CUPTI_CB_DOMAIN_NVTX) say_once("cupti nvtx", "softgpu", "CUPTI callbacks for NVTX are not supported");
  return ids_of(domain) != 0 ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

void tell_holder(CUpti_SubscriberParams* params) {
  CUpti_Subscriber_st const* const holder = subscriber.load();
  if (params == nullptr || params->oldSubscriberName == nullptr || params->oldSubscriberSize == 0 || holder == nullptr)
    return;
  std::snprintf(params->oldSubscriberName, params->oldSubscriberSize, "%s", holder->name);
}

// Not freed when it leaves: a callback of another thread may be under way. There are few in a process's life.
void keep(CUpti_Subscriber_st* made) {
  static auto& mutex = *new std::mutex;
  static auto& all = *new std::vector<CUpti_Subscriber_st*>;
  std::lock_guard const lock(mutex);
  all.push_back(made);
}

CUptiResult subscribe(CUpti_SubscriberHandle* handle, CUpti_CallbackFunc callback, void* userdata,
                      CUpti_SubscriberParams* params) {
  if (handle == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  if (params != nullptr && params->structSize < CUpti_SubscriberParams_STRUCT_SIZE)
    return CUPTI_ERROR_INVALID_PARAMETER;
  if (is_forked() || device() == nullptr) return CUPTI_ERROR_NOT_INITIALIZED;
  auto* const made = new CUpti_Subscriber_st{.callback = callback, .userdata = userdata};
  if (params != nullptr && params->subscriberName != nullptr)
    std::snprintf(made->name, sizeof made->name, "CUPTI for %.*s", CUPTI_SUBSCRIBER_NAME_MAX_LEN,
                  params->subscriberName);
  CUpti_Subscriber_st* nobody = nullptr;
  if (!subscriber.compare_exchange_strong(nobody, made)) {
    delete made;
    tell_holder(params);
    return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  }
  keep(made);
  *handle = made;
  return CUPTI_SUCCESS;
}

}  // namespace

CUpti_Subscriber_st* wanted_by(CUpti_CallbackDomain domain, std::uint32_t id) {
  if (id >= kMostIds || !enabled[domain][id].load(std::memory_order_relaxed)) return nullptr;
  return subscriber.load(std::memory_order_acquire);
}

void unsubscribe_all() {
  for (CUpti_CallbackDomain const domain : kDomains) set_domain(domain, false);
  subscriber.store(nullptr);
}

bool is_any_callback_selected() {
  if (subscriber.load() == nullptr) return false;
  return std::any_of(enabled.begin(), enabled.end(), [](auto const& domain) {
    return std::any_of(domain.begin(), domain.end(), [](const Switches& on) { return on.load(); });
  });
}

void update_observer() {
  // Two threads may change the selection at once: whoever comes last sees both changes.
  for (;;) {
    bool const any = is_any_activity_selected() || is_any_callback_selected();
    set_observer(any ? &kObserver : nullptr);
    if (any == (is_any_activity_selected() || is_any_callback_selected())) return;
  }
}

}  // namespace tidemark::softgpu::cupti

using namespace tidemark::softgpu::cupti;

CUptiResult CUPTIAPI cuptiSupportedDomains(size_t* count, CUpti_DomainTable* table) {
  if (count == nullptr || table == nullptr) return answer(CUPTI_ERROR_INVALID_PARAMETER);
  static std::array domains = kDomains;  // the interface is not const
  *count = domains.size();
  *table = domains.data();
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiSubscribe(CUpti_SubscriberHandle* handle, CUpti_CallbackFunc callback, void* userdata) {
  return answer(subscribe(handle, callback, userdata, nullptr));
}

CUptiResult CUPTIAPI cuptiSubscribe_v2(CUpti_SubscriberHandle* handle, CUpti_CallbackFunc callback, void* userdata,
                                       CUpti_SubscriberParams* params) {
  return answer(subscribe(handle, callback, userdata, params));
}

CUptiResult CUPTIAPI cuptiUnsubscribe(CUpti_SubscriberHandle handle) {
  if (is_forked()) return answer(CUPTI_ERROR_NOT_INITIALIZED);
  if (handle == nullptr || handle != subscriber.load()) return answer(CUPTI_ERROR_INVALID_PARAMETER);
  unsubscribe_all();
  update_observer();
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiGetCallbackState(uint32_t* enable, CUpti_SubscriberHandle handle, CUpti_CallbackDomain domain,
                                           CUpti_CallbackId id) {
  if (CUptiResult const wrong = check(handle, domain); wrong != CUPTI_SUCCESS) return answer(wrong);
  if (enable == nullptr || id == 0 || id >= ids_of(domain)) return answer(CUPTI_ERROR_INVALID_PARAMETER);
  *enable = enabled[domain][id].load();
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle handle, CUpti_CallbackDomain domain,
                                         CUpti_CallbackId id) {
  if (CUptiResult const wrong = check(handle, domain); wrong != CUPTI_SUCCESS) return answer(wrong);
  if (id == 0 || id >= ids_of(domain)) return answer(CUPTI_ERROR_INVALID_PARAMETER);
  enabled[domain][id].store(enable != 0);
  update_observer();
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle handle, CUpti_CallbackDomain domain) {
  if (CUptiResult const wrong = check(handle, domain); wrong != CUPTI_SUCCESS) return answer(wrong);
  set_domain(domain, enable != 0);
  update_observer();
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiEnableAllDomains(uint32_t enable, CUpti_SubscriberHandle handle) {
  if (CUptiResult const wrong = check(handle, kDomains[0]); wrong != CUPTI_SUCCESS) return answer(wrong);
  for (CUpti_CallbackDomain const domain : kDomains) set_domain(domain, enable != 0);
  update_observer();
  return CUPTI_SUCCESS;
}
