// SPDX-License-Identifier: Apache-2.0
#include "interpose/hooks/physical.h"

#include <mutex>

#include "base/address_map.h"
#include "base/spin_lock.h"
#include "interpose/record/devices.h"

namespace tidemark::interpose {
namespace {

using trace::Space;

struct Holds {
  std::uint32_t handles = 0, mappings = 0;
};
constinit AddressMap<Holds> holds;
constinit SpinLock lock;

std::uint32_t& count(Holds& h, Holder holder) {
  return holder == Holder::Handle ? h.handles : h.mappings;
}

}  // namespace

void hold(const Allocation& made) {
  std::scoped_lock const guard(lock);
  Holds* const fresh = holds.insert(made.address);
  if (fresh == nullptr) return recorder().count_loss(trace::Loss::Failed);
  *fresh = {.handles = 1};
}

void add_hold(std::uint64_t block, Holder holder) {
  std::scoped_lock const guard(lock);
  if (Holds* const found = holds.find(block)) ++count(*found, holder);
}

Dropped drop_hold(std::uint64_t block, Holder holder) {
  {
    std::scoped_lock const guard(lock);
    Holds* const found = holds.find(block);
    if (found == nullptr || count(*found, holder) == 0) return {};
    if (--count(*found, holder); found->handles != 0 || found->mappings != 0) return {block, holder, {}};
    holds.erase(block);
  }
  Leaving const leaving = recorder().leave(Space::Physical, block);
  // One that lies on the host, or is somebody else's, is on no device's bill and in no space of its own.
  return {block, holder, leaving.known ? leaving : recorder().leave(Space::Memory, block)};
}

void let_go(const Dropped& dropped) {
  recorder().left(dropped.leaving);
  if (dropped.leaving.known) devices().sample(dropped.leaving.block.device);
}

void restore_hold(const Dropped& dropped) {
  recorder().stayed(dropped.leaving);
  if (dropped.holder == Holder::None) return;
  std::scoped_lock const guard(lock);
  if (Holds* const found = holds.insert(dropped.block)) ++count(*found, dropped.holder);
}

}  // namespace tidemark::interpose
