// SPDX-License-Identifier: Apache-2.0
// How NVTX finds us: each module with a copy of NVTX opens the library that NVTX_INJECTION64_PATH names at its first
// NVTX call, and hands it its table of functions. All copies share our functions and one stack per thread.
#include <atomic>

#include "base/env.h"
#include "interpose/process/shield.h"
#include "interpose/scope/nvtx_chain.h"
#include "interpose/scope/nvtx_ranges.h"
#include "interpose/scope/nvtx_text.h"

using namespace tidemark::interpose;

namespace {

// The other tool's functions, the same for all modules.
struct Chained {
#define TIDEMARK_NVTX(module, name) std::atomic<nvtx##name##_impl_fntype> name{nullptr};
#include "interpose/scope/nvtx_functions.inc"
#undef TIDEMARK_NVTX
};
constinit Chained chained;
constinit std::atomic<nvtxRangeId_t> next_range{1};

template <class F>
F chain(const std::atomic<F>& function) {
  return function.load(std::memory_order_acquire);
}

// ---- ranges of one thread

// The depth is what a tool would answer with; without one NVTX says that nobody counts, and so it stays.
int NVTX_API on_RangePushA(const char* message) {
  push_nvtx_range({}, message == nullptr ? std::string_view() : message);
  auto const next = chain(chained.RangePushA);
  return next == nullptr ? NVTX_NO_PUSH_POP_TRACKING : next(message);
}
int NVTX_API on_RangePushW(const wchar_t* message) {
  push_nvtx_range({}, NvtxText(message).view());
  auto const next = chain(chained.RangePushW);
  return next == nullptr ? NVTX_NO_PUSH_POP_TRACKING : next(message);
}
int NVTX_API on_RangePushEx(const nvtxEventAttributes_t* event) {
  push_nvtx_range({}, NvtxText(event).view());
  auto const next = chain(chained.RangePushEx);
  return next == nullptr ? NVTX_NO_PUSH_POP_TRACKING : next(event);
}
int NVTX_API on_RangePop() {
  pop_nvtx_range({});
  auto const next = chain(chained.RangePop);
  return next == nullptr ? NVTX_NO_PUSH_POP_TRACKING : next();
}
int NVTX_API on_DomainRangePushEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  push_nvtx_range(nvtx_domain(domain), NvtxText(event).view());
  auto const next = chain(chained.DomainRangePushEx);
  return next == nullptr ? NVTX_NO_PUSH_POP_TRACKING : next(domain, event);
}
int NVTX_API on_DomainRangePop(nvtxDomainHandle_t domain) {
  pop_nvtx_range({.id = reinterpret_cast<std::uint64_t>(domain)});
  auto const next = chain(chained.DomainRangePop);
  return next == nullptr ? NVTX_NO_PUSH_POP_TRACKING : next(domain);
}

// ---- ranges of the process

template <class F, class... A>
nvtxRangeId_t start(const std::atomic<F>& function, NvtxDomain domain, std::string_view message, A... arguments) {
  auto const next = chain(function);
  nvtxRangeId_t const id = next == nullptr ? next_range.fetch_add(1, std::memory_order_relaxed) : next(arguments...);
  start_nvtx_range(id, domain, message);
  return id;
}
nvtxRangeId_t NVTX_API on_RangeStartA(const char* message) {
  return start(chained.RangeStartA, {}, message == nullptr ? std::string_view() : message, message);
}
nvtxRangeId_t NVTX_API on_RangeStartW(const wchar_t* message) {
  return start(chained.RangeStartW, {}, NvtxText(message).view(), message);
}
nvtxRangeId_t NVTX_API on_RangeStartEx(const nvtxEventAttributes_t* event) {
  return start(chained.RangeStartEx, {}, NvtxText(event).view(), event);
}
void NVTX_API on_RangeEnd(nvtxRangeId_t id) {
  end_nvtx_range(id);
  if (auto const next = chain(chained.RangeEnd)) next(id);
}
nvtxRangeId_t NVTX_API on_DomainRangeStartEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  return start(chained.DomainRangeStartEx, nvtx_domain(domain), NvtxText(event).view(), domain, event);
}
void NVTX_API on_DomainRangeEnd(nvtxDomainHandle_t domain, nvtxRangeId_t id) {
  end_nvtx_range(id);
  if (auto const next = chain(chained.DomainRangeEnd)) next(domain, id);
}

// ---- strings and domains

template <class Handle>
Handle keep(std::string_view text, Handle theirs) {
  void* kept = theirs;
  shield([&] { kept = nvtx_texts().add(text, theirs); });
  return static_cast<Handle>(kept);
}
nvtxStringHandle_t NVTX_API on_DomainRegisterStringA(nvtxDomainHandle_t domain, const char* text) {
  auto const next = chain(chained.DomainRegisterStringA);
  return keep(text == nullptr ? "" : text, next == nullptr ? nullptr : next(domain, text));
}
nvtxStringHandle_t NVTX_API on_DomainRegisterStringW(nvtxDomainHandle_t domain, const wchar_t* text) {
  auto const next = chain(chained.DomainRegisterStringW);
  return keep(NvtxText(text).view(), next == nullptr ? nullptr : next(domain, text));
}
nvtxDomainHandle_t NVTX_API on_DomainCreateA(const char* name) {
  auto const next = chain(chained.DomainCreateA);
  return keep(name == nullptr ? "" : name, next == nullptr ? nullptr : next(name));
}
nvtxDomainHandle_t NVTX_API on_DomainCreateW(const wchar_t* name) {
  auto const next = chain(chained.DomainCreateW);
  return keep(NvtxText(name).view(), next == nullptr ? nullptr : next(name));
}

// ---- a module's table

struct Table {
  NvtxFunctionTable functions = nullptr;
  unsigned int size = 0;
  explicit Table(const NvtxExportTableCallbacks& callbacks, NvtxCallbackModule module) {
    if (callbacks.GetModuleFunctionTable(module, &functions, &size) == 0) size = 0;
  }
  NvtxFunctionPointer* place(unsigned int id) const { return id < size ? functions[id] : nullptr; }
};

// Puts ours into its place. What the other tool has put there is called after us; a tool that has other functions for
// every module cannot be, and keeps its place.
template <class F>
void install(NvtxFunctionPointer* place, NvtxFunctionPointer before, bool has_chain, std::atomic<F>& next, F ours) {
  if (place == nullptr) return;
  F const theirs = has_chain && *place != before ? reinterpret_cast<F>(*place) : nullptr;
  F known = nullptr;
  if (theirs != nullptr && !next.compare_exchange_strong(known, theirs, std::memory_order_acq_rel) && known != theirs)
    return;
  *place = reinterpret_cast<NvtxFunctionPointer>(ours);
}

bool wanted() {
  bool on = true;
  shield([&] {
    auto const flag = tidemark::env_flag("TIDEMARK_NVTX", true);
    on = !flag.ok() || *flag;
  });
  return on;
}

int take_over(NvtxGetExportTableFunc_t get_table, const NvtxExportTableCallbacks& callbacks) {
  Table const table_CORE(callbacks, NVTX_CB_MODULE_CORE), table_CORE2(callbacks, NVTX_CB_MODULE_CORE2);
  NvtxFunctionPointer before[64] = {};
  std::size_t i = 0;
#define TIDEMARK_NVTX(module, name)                                                       \
  {                                                                                       \
    NvtxFunctionPointer* const place = table_##module.place(NVTX_CBID_##module##_##name); \
    before[i++] = place == nullptr ? nullptr : *place;                                    \
  }
#include "interpose/scope/nvtx_functions.inc"
#undef TIDEMARK_NVTX
  bool const has_chain = chain_nvtx(get_table);
  if (!wanted()) return has_chain ? 1 : 0;
  i = 0;
#define TIDEMARK_NVTX(module, name)                                                                            \
  install<nvtx##name##_impl_fntype>(table_##module.place(NVTX_CBID_##module##_##name), before[i++], has_chain, \
                                    chained.name, &on_##name);
#include "interpose/scope/nvtx_functions.inc"
#undef TIDEMARK_NVTX
  return 1;
}

}  // namespace

#define TIDEMARK_EXPORT extern "C" __attribute__((visibility("default")))

// Called once for each module; 0 says that there is nobody to listen.
TIDEMARK_EXPORT int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table) {
  if (get_table == nullptr) return 0;
  auto const* const callbacks = static_cast<const NvtxExportTableCallbacks*>(get_table(NVTX_ETID_CALLBACKS));
  if (callbacks == nullptr || callbacks->struct_size < sizeof *callbacks) return 0;
  auto const* const version = static_cast<const NvtxExportTableVersionInfo*>(get_table(NVTX_ETID_VERSIONINFO));
  if (version != nullptr && version->struct_size >= sizeof *version) version->SetInjectionNvtxVersion(NVTX_VERSION);
  return take_over(get_table, *callbacks);
}

TIDEMARK_EXPORT int InitializeInjectionNvtxExtension(void* module) {
  return chain_nvtx_extension(module);
}
