// SPDX-License-Identifier: Apache-2.0
// What the devices have given: live bytes, what is cached, and the driver's rounding.
//
// A driver's record says what is taken of a device by everybody, and what of it the program's blocks have taken; where
// it leaves out the second, that is what goes beyond the baseline, what was taken before the program's first
// allocation. Without either the blocks themselves are all that is known, and `source()` says so. Invariant: reserved
// >= live, on each device and so in sum.
#pragma once
#include <array>
#include <cstdint>
#include <optional>

#include "analysis/filter.h"

namespace tidemark::analysis {

// Bytes for each device, where they are known: what was taken of it before the program began.
using Baselines = std::array<std::optional<std::uint64_t>, 256>;

enum class ReservedSource : std::uint8_t { Live, Driver };

class Reserved {
 public:
  Reserved(const History& history, const Selection& selection, const Baselines& baselines);

  void born(const Block& b) { change(b, rounded_bytes(b)); }
  void died(const Block& b) { change(b, -rounded_bytes(b)); }
  void sample(const DeviceSample& s);
  std::uint64_t bytes() const { return sum_; }
  // Taken of the devices by everybody; 0 before the driver has said anything.
  std::uint64_t device_used_bytes() const { return used_sum_; }
  ReservedSource source() const { return source_; }

 private:
  struct Device {
    std::uint64_t live = 0;   // blocks that count
    std::uint64_t held = 0;   // blocks from the driver, those that hold tensors included
    std::uint64_t given = 0;  // by the driver's word
    std::uint64_t reserved = 0;
    std::uint64_t used = 0;
    bool told = false;  // its records tell the process's own bytes: 0 is 0
  };
  void change(const Block& b, std::uint64_t bytes);
  void update(Device& d);

  const Selection& selection_;
  const Baselines& baselines_;
  std::array<Device, 256> devices_{};
  std::uint64_t sum_ = 0, used_sum_ = 0;
  ReservedSource source_ = ReservedSource::Live;
};

}  // namespace tidemark::analysis
