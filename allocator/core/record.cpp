// SPDX-License-Identifier: Apache-2.0
#include "allocator/core/record.h"

namespace tidemark::allocator {

Record* RecordTable::make() {
  std::uint32_t id = free_;
  if (id != 0)
    free_ = at(id).right;
  else if (next_ < kCapacity)
    id = next_++;
  else
    return nullptr;
  ++in_use_;
  Record& r = at(id);
  // Field by field: a reader with a stale pointer may look at address and state meanwhile.
  r.offset = r.granules = 0;
  r.before = r.after = r.left = r.right = 0;
  r.stamp = 0;
  r.slack_bytes = r.used = r.capture = 0;
  r.domain = DomainId::Shared;
  r.generation = 0;
  r.lifetime = Lifetime::Unknown;
  r.whole = r.planned = false;
  r.leased.store(false, std::memory_order_relaxed);
  return &r;
}

void RecordTable::drop(Record& record) {
  record.address.store(0, std::memory_order_relaxed);
  record.state.store(State::None, std::memory_order_relaxed);
  record.right = free_;
  free_ = id(record);
  --in_use_;
}

}  // namespace tidemark::allocator
