// SPDX-License-Identifier: Apache-2.0
// A trace applied event by event: what is live after each, and whether that can be.
#pragma once
#include <array>
#include <map>
#include <string>
#include <vector>

#include "trace/read/trace.h"

namespace tidemark::test {

// All threads' events in the order of their stamps. Among equal stamps a free comes first: it is stamped before the
// real call, an allocation after it.
std::vector<trace::Event> ordered_events(const trace::Trace& trace);

class Replay {
 public:
  struct Sum {
    std::uint64_t blocks = 0, bytes = 0;
    bool operator==(const Sum&) const = default;
  };

  void apply(const trace::Event& event);

  // Live blocks of a class on a device, of a class, of all.
  Sum live(trace::Class block_class, std::uint8_t device) const;
  Sum live(trace::Class block_class) const;
  Sum live() const;
  // As the header counts them: of the device's classes, each rounded up to 512.
  std::uint64_t live_on_device_bytes() const { return on_device_bytes_; }
  std::uint64_t allocations() const { return allocations_; }
  std::uint64_t frees() const { return frees_; }
  // What the blocks have taken of a device, as the driver said last.
  std::uint64_t reserved_bytes(std::uint8_t device) const;
  std::uint64_t reserved_bytes() const;
  std::uint64_t peak_live_on_device_bytes() const { return peak_bytes_; }
  // What cannot be: an address live twice in one space, a free of what is not live.
  const std::vector<std::string>& impossible() const { return impossible_; }

 private:
  struct Block {
    std::uint64_t bytes;
    trace::Class block_class;
    std::uint8_t device;
  };
  using Account = std::pair<trace::Class, std::uint8_t>;
  void complain(const char* what, const trace::Event& event);

  std::map<Account, Sum> live_;
  std::array<std::map<std::uint64_t, Block>, trace::kSpaceCount> blocks_;
  std::map<std::uint8_t, std::uint64_t> reserved_;
  std::uint64_t on_device_bytes_ = 0, peak_bytes_ = 0, allocations_ = 0, frees_ = 0;
  std::vector<std::string> impossible_;
};

Replay replay(const trace::Trace& trace);

}  // namespace tidemark::test
