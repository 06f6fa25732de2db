// SPDX-License-Identifier: Apache-2.0
// The account of blocks, compared with what CUPTI says the driver allocated and released.
//
// Both sides tell the same operations, each in its own time: ours when a call has come back, CUPTI's when a buffer is
// full. So an operation waits here until the other side has told it too. What still waits at the end was told by one
// side alone. Any thread; memory of its own.
//
// Not everything is told twice. CUPTI knows addresses, so physical blocks and reservations are out of its sight. Some
// kinds of operations it may tell or not, by its version: as long as it has told none of a kind, ours alone are no
// difference. Variables of modules and memory of graphs are told by CUPTI alone, and counted apart. Arrays have handles
// here and addresses there, and one with levels is one block here and many there: their sums are compared.
//
// Equation, for each device and for host memory: allocations = agreeing + ours alone + CUPTI's alone.
#pragma once
#include <array>
#include <cstdint>
#include <string>

#include "base/address_map.h"
#include "base/spin_lock.h"
#include "interpose/watch/cupti_launches.h"
#include "trace/format/words.h"

namespace tidemark::interpose {

struct MemoryRecord;

// Why CUPTI need not tell an operation.
enum class Doubt : std::uint8_t {
  None,
  Before,   // a block from before it was asked, or one that has no address: it is never missed
  Context,  // a block that went with its context
  Registered,
  Mapping,
  Imported,
};
inline constexpr std::size_t kDoubtCount = 6;

// An operation of ours.
struct AuditedBlock {
  std::uint64_t address = 0;
  std::uint64_t size_bytes = 0;  // 0 with a release: not known
  trace::Class block_class = trace::Class::Device;
  std::uint8_t device = 0;
  Doubt doubt = Doubt::None;  // that of its class goes before
};

class Audit {
 public:
  static constexpr std::size_t kDevices = 64;
  static constexpr std::size_t kHost = kDevices;  // the row of memory that lies on no device
  static constexpr std::size_t kSamples = 8;
  static constexpr std::size_t kMostWaiting = std::size_t{1} << 20;

  constexpr Audit() = default;

  void allocated(const AuditedBlock& block) { ours(block, false); }
  void released(const AuditedBlock& block) { ours(block, true); }
  void told(const MemoryRecord& record);
  // What came of launching graphs has no call of its own: it is taken off the list of what waits.
  void forgive_graphs(const Launches& launches);

  struct Row {
    std::uint64_t allocations = 0, agreeing = 0;
    std::uint64_t agreeing_bytes = 0;
    std::uint64_t ours_alone_bytes = 0;   // allocations that CUPTI did not tell
    std::uint64_t cupti_alone_bytes = 0;  // and those that it alone told
  };
  struct Verdict {
    std::array<Row, kDevices + 1> rows{};
    std::uint64_t releases = 0, releases_agreeing = 0;
    std::uint64_t unseen = 0;        // ours, of the kinds that CUPTI does not tell
    std::uint64_t static_bytes = 0;  // variables of modules
    std::uint64_t graph_operations = 0;
    bool overflowed = false;  // too much waited: what came later was not compared
    std::array<std::string, kSamples> samples;
    std::size_t sample_count = 0;

    Row total() const;
    std::uint64_t unmatched() const {
      Row const sum = total();
      return sum.allocations - sum.agreeing + releases - releases_agreeing;
    }
  };
  Verdict verdict();

 private:
  struct Operation {
    std::uint64_t address = 0, size_bytes = 0;
    std::uint32_t correlation = 0;
    std::uint8_t row = 0;
    bool released = false;
    Doubt doubt = Doubt::None;
  };
  struct Waiting {
    Operation operation;
    std::uint32_t ours = 0, cupti = 0;
  };
  using Side = std::uint32_t Waiting::*;
  struct Sum {
    std::uint64_t count = 0, bytes = 0;
    void add(std::uint64_t size_bytes) { ++count, bytes += size_bytes; }
  };
  struct Arrays {
    Sum ours, cupti;
  };
  static std::uint64_t key(const Operation& operation);
  static std::string describe(const Waiting& waiting);
  static void note(Verdict& verdict, std::string sample);
  void judge(Verdict& verdict, const Waiting& waiting) const;
  void judge_arrays(Verdict& verdict, std::size_t row) const;
  void ours(const AuditedBlock& block, bool released);
  void add(const Operation& operation, Side side, Side other);
  void agree(const Operation& operation);

  SpinLock lock_;
  AddressMap<Waiting> waiting_;
  std::array<Row, kDevices + 1> rows_{};
  std::array<Arrays, kDevices> arrays_{}, ended_arrays_{};
  std::uint64_t releases_ = 0, unseen_ = 0, static_bytes_ = 0, graph_operations_ = 0;
  std::array<bool, kDoubtCount> told_{};  // CUPTI does tell them
  std::size_t doubtful_ = 0;              // of ours, waiting
  bool overflowed_ = false;
};

}  // namespace tidemark::interpose
