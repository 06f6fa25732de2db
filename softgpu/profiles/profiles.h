// SPDX-License-Identifier: Apache-2.0
// The cards that softgpu can stand in for: public data-sheet facts, and the capacity that the driver reports on Linux
// (less than the box says: ECC and firmware take their share first).
#pragma once
#include <span>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"

namespace tidemark::softgpu {

struct Profile {
  std::string_view name;
  std::string_view card;
  Bytes memory;
  int compute_major, compute_minor;
  int sm_count;
  int clock_mhz;
  int memory_clock_mhz;
  int bus_width_bits;
  Bytes l2_cache;
  Bytes shared_per_sm;
  Bytes shared_per_block_optin;
  int threads_per_sm;
  int blocks_per_sm;

  // CUDA 13 begins at compute capability 7.5: older cards give their capacity, not their architecture.
  bool capacity_only() const { return compute_major * 10 + compute_minor < 75; }
};

inline constexpr std::string_view kDefaultProfile = "a100-80g";

std::span<const Profile> profiles();
// Unknown names are an error that lists the known ones.
Result<const Profile*> find_profile(std::string_view name);

}  // namespace tidemark::softgpu
