// SPDX-License-Identifier: Apache-2.0
#include "interpose/oom/owners.h"

#include <algorithm>

#include "base/address_map.h"
#include "base/bytes.h"
#include "interpose/record/recorder.h"

namespace tidemark::interpose {
namespace {

struct Sum {
  std::uint64_t live_bytes = 0, blocks = 0;
};

// Sorted in as if there were one place more, whose tenant leaves.
void consider(Owners& owners, LayerSum candidate) {
  for (LayerSum& place : owners.layers)
    if (candidate.live_bytes > place.live_bytes) std::swap(place, candidate);
  owners.other_layers_bytes += candidate.live_bytes;
}

}  // namespace

Owners find_owners(std::uint8_t device) {
  Owners owners;
  AddressMap<Sum> layers;
  recorder().registry().for_each([&](std::uint64_t, const Owned& block) {
    if (block.device != device || !trace::on_device(block.block_class)) return;
    std::uint64_t const live = round_up(block.size_bytes, kLiveStep);
    owners.live_bytes += live;
    owners.largest_bytes = std::max(owners.largest_bytes, live);
    owners.kinds[static_cast<std::size_t>(block.kind)] += live;
    owners.phases[static_cast<std::size_t>(block.phase)] += live;
    // Numbers of layers begin at 1; 0, for none, cannot be a key.
    Sum* const sum = layers.insert(std::uint64_t{block.path} + 1);
    if (sum == nullptr) return;
    sum->live_bytes += live;
    ++sum->blocks;
  });
  layers.for_each([&](std::uint64_t key, const Sum& sum) {
    consider(owners, {.path = static_cast<std::uint32_t>(key - 1), .live_bytes = sum.live_bytes, .blocks = sum.blocks});
  });
  layers.release();
  return owners;
}

}  // namespace tidemark::interpose
