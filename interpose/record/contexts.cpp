// SPDX-License-Identifier: Apache-2.0
#include "interpose/record/contexts.h"

#include <mutex>

namespace tidemark::interpose {
namespace {

constinit Contexts the_contexts, the_green_contexts;

}  // namespace

Contexts& contexts() {
  return the_contexts;
}
Contexts& green_contexts() {
  return the_green_contexts;
}

bool Contexts::made(std::uint64_t handle, const MadeContext& context) {
  std::scoped_lock const guard(lock_);
  MadeContext* const place = made_.insert(handle);
  if (place != nullptr) *place = context;
  return place != nullptr;
}

std::optional<MadeContext> Contexts::ended(std::uint64_t handle) {
  std::scoped_lock const guard(lock_);
  MadeContext const* const found = made_.find(handle);
  if (found == nullptr) return std::nullopt;
  MadeContext const context = *found;
  made_.erase(handle);
  return context;
}

bool Contexts::is_made(std::uint64_t handle) {
  std::scoped_lock const guard(lock_);
  return made_.find(handle) != nullptr;
}

std::uint64_t Contexts::any(std::uint8_t device) {
  std::scoped_lock const guard(lock_);
  std::uint64_t found = 0;
  made_.for_each([&](std::uint64_t handle, const MadeContext& context) {
    if (context.device == device) found = handle;
  });
  return found;
}

std::size_t Contexts::count(std::uint8_t device) {
  std::scoped_lock const guard(lock_);
  std::size_t found = 0;
  made_.for_each([&](std::uint64_t, const MadeContext& context) { found += context.device == device ? 1 : 0; });
  return found;
}

}  // namespace tidemark::interpose
