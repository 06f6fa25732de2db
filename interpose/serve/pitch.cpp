// SPDX-License-Identifier: Apache-2.0
#include "interpose/serve/pitch.h"

#include <mutex>

#include "base/address_map.h"
#include "base/spin_lock.h"

namespace tidemark::interpose::serve {
namespace {

struct Learnt {
  Row row;
  std::size_t pitch_bytes = 0;
};
constinit SpinLock lock;
constinit AddressMap<Learnt> pitches;

std::uint64_t key_of(const Row& row) {
  std::uint64_t const mixed = (row.width_bytes * 0x9e3779b97f4a7c15 ^ row.element_bytes) + row.device;
  return mixed == 0 ? 1 : mixed;
}

}  // namespace

std::size_t known_pitch(const Row& row) {
  std::scoped_lock const guard(lock);
  Learnt const* const found = pitches.find(key_of(row));
  return found != nullptr && found->row == row ? found->pitch_bytes : 0;
}

void learn_pitch(const Row& row, std::size_t pitch_bytes) {
  std::scoped_lock const guard(lock);
  if (Learnt* const place = pitches.insert(key_of(row))) *place = {row, pitch_bytes};
}

}  // namespace tidemark::interpose::serve
