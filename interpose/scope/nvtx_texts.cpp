// SPDX-License-Identifier: Apache-2.0
#include "interpose/scope/nvtx_texts.h"

#include <algorithm>
#include <mutex>

#include "base/reserved.h"

namespace tidemark::interpose {

// With the lock held.
NvtxTexts::Entry* NvtxTexts::make(std::string_view text) {
  char* memory = memory_.load(std::memory_order_relaxed);
  if (memory == nullptr) {
    memory = reinterpret_cast<char*>(Reserved::map(kBytes).release());
    memory_.store(memory, std::memory_order_release);
  }
  text = text.substr(0, kLongest);
  std::size_t const used = used_.load(std::memory_order_relaxed),
                    bytes = (sizeof(Entry) + text.size() + alignof(Entry) - 1) / alignof(Entry) * alignof(Entry);
  if (memory == nullptr || bytes > kBytes - used) return nullptr;
  auto* const entry = reinterpret_cast<Entry*>(memory + used);
  entry->mark = kMark + reinterpret_cast<std::uintptr_t>(entry);
  entry->bytes = text.size();
  std::copy(text.begin(), text.end(), entry->text());
  used_.store(used + bytes, std::memory_order_release);
  return entry;
}

NvtxTexts::Entry* NvtxTexts::entry_at(const void* address) const {
  auto const at = reinterpret_cast<std::uintptr_t>(address),
             begin = reinterpret_cast<std::uintptr_t>(memory_.load(std::memory_order_acquire));
  std::size_t const used = used_.load(std::memory_order_acquire);
  if (begin == 0 || at < begin || at - begin >= used || used - (at - begin) < sizeof(Entry) || at % alignof(Entry) != 0)
    return nullptr;
  auto* const entry = reinterpret_cast<Entry*>(at);
  return entry->mark == kMark + at ? entry : nullptr;
}

void* NvtxTexts::add(std::string_view text, void* handle) {
  std::scoped_lock const guard(lock_);
  Entry* const entry = make(text);
  if (handle == nullptr || entry == nullptr) return handle == nullptr ? entry : handle;
  if (Entry** const place = foreign_.insert(reinterpret_cast<std::uintptr_t>(handle))) *place = entry;
  return handle;
}

bool NvtxTexts::find(const void* handle, std::string_view& text) {
  Entry* entry = entry_at(handle);
  if (entry == nullptr && handle != nullptr) {
    std::scoped_lock const guard(lock_);
    Entry** const found = foreign_.find(reinterpret_cast<std::uintptr_t>(handle));
    if (found != nullptr) entry = *found;
  }
  if (entry == nullptr) return false;
  text = {entry->text(), entry->bytes};
  return true;
}

}  // namespace tidemark::interpose
