// SPDX-License-Identifier: Apache-2.0
// Who holds how much of one device's capacity. Alone in memory, or (SOFTGPU_SHARE) a page in shared memory that several
// processes charge: then "other processes" is real, and what a killed process held comes back.
//
// Equation: used = sum of the slots' bytes <= capacity. A slot is its process's to write, under the page's robust lock;
// a slot whose process is gone (pid and start time) is swept when space runs short or somebody asks.
// Thread-safe.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace tidemark::softgpu {

class Ledger {
 public:
  struct Usage {
    std::uint64_t capacity_bytes;
    std::uint64_t used_bytes;     // all processes
    std::uint64_t process_bytes;  // this one
  };
  struct Process {
    std::int32_t pid;
    std::uint64_t used_bytes;
  };

  // share: empty = private to the process; else the name under which processes meet.
  static Result<std::unique_ptr<Ledger>> open(Bytes capacity, const std::string& share, int device);
  virtual ~Ledger() = default;

  // False, and nothing charged, when the capacity does not have it.
  virtual bool charge(std::uint64_t bytes) = 0;
  virtual void release(std::uint64_t bytes) = 0;
  virtual Usage usage() = 0;
  virtual std::vector<Process> processes() = 0;
  // The process ends: what it holds is given back now instead of being swept later. Afterwards nothing can be charged.
  virtual void leave() {}
};

}  // namespace tidemark::softgpu
