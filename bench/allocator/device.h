// SPDX-License-Identifier: Apache-2.0
// The software device as all peers see it: one context, streams, and the device's own answer to what is taken of it.
// One per process; threads call use_context() first.
#pragma once
#include <cuda.h>

#include <cstdint>
#include <vector>

namespace tidemark::bench {

// Who asks: the number of a thread, and of a stream of the device.
struct Caller {
  unsigned thread = 0;
  unsigned stream = 0;
};

class Device {
 public:
  explicit Device(unsigned streams);
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  void use_context() const;  // on a thread that has none yet
  CUcontext context() const { return context_; }
  CUstream stream(unsigned n) const { return streams_[n]; }
  unsigned streams() const { return static_cast<unsigned>(streams_.size()); }
  std::uint64_t capacity_bytes() const { return capacity_bytes_; }
  // Taken of the device since it was made, whoever took it and whatever for.
  std::uint64_t reserved_bytes() const;

  // Work in a stream that writes to a block.
  void submit(unsigned stream, std::uint64_t address) const;
  // What the later stream is given from now on waits for what the earlier one has.
  void put_before(unsigned earlier, unsigned later);
  void synchronize() const;

  // Calls of the driver that take, give or map memory, or deal with events, since count_calls(). Counting slows calls
  // down: not together with timing.
  struct Calls {
    std::uint64_t memory = 0;
    std::uint64_t events = 0;
  };
  static void count_calls();
  static Calls calls();

 private:
  CUcontext context_ = nullptr;
  std::vector<CUstream> streams_;
  CUevent order_ = nullptr;
  std::uint64_t capacity_bytes_ = 0;
  std::uint64_t before_bytes_ = 0;
};

// Ends the program with the driver's own name for the error.
void check(CUresult result, const char* what);

}  // namespace tidemark::bench
