// SPDX-License-Identifier: Apache-2.0
// Who holds the device's memory at this moment: the live blocks added up by layer, by kind and by phase.
#pragma once
#include <array>
#include <cstdint>

#include "trace/format/words.h"

namespace tidemark::interpose {

struct LayerSum {
  std::uint32_t path = 0;
  std::uint64_t live_bytes = 0;
  std::uint64_t blocks = 0;
};

struct Owners {
  static constexpr std::size_t kTop = 6;
  std::array<LayerSum, kTop> layers{};  // largest first; the rest is in `other_layers_bytes`
  std::uint64_t other_layers_bytes = 0;
  std::array<std::uint64_t, trace::kKindNames.size()> kinds{};
  std::array<std::uint64_t, trace::kPhaseNames.size()> phases{};
  std::uint64_t live_bytes = 0;
  std::uint64_t largest_bytes = 0;  // of one block
};

// Of one device. Walks the registry once, in memory of its own.
Owners find_owners(std::uint8_t device);

}  // namespace tidemark::interpose
