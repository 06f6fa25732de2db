// SPDX-License-Identifier: Apache-2.0
// What CUPTI tells, put in its places: memory to the audit, kernels with the scope of their launch to the trace.
//
// One thread reads. Buffers are untrusted: what is not understood is counted.
#pragma once
#include <atomic>
#include <cstdint>
#include <span>

#include "interpose/watch/cupti_audit.h"
#include "interpose/watch/cupti_launches.h"
#include "interpose/watch/cupti_records.h"
#include "trace/format/record.h"

namespace tidemark::interpose {

// Of CUPTI's three kinds that are a client's own, the one that profilers leave alone.
inline constexpr CUpti_ExternalCorrelationKind kScopeKind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2;

// Calls that bring kernels about, by callback id.
std::span<const std::uint32_t> launching_driver_calls();
std::span<const std::uint32_t> launching_runtime_calls();

class CuptiReader {
 public:
  // Where what was read goes.
  class Output {
   public:
    virtual void kernel(const trace::Kernel& kernel, std::uint64_t start_ticks) = 0;
    // The String of a name that should stand at this address; 0 when it cannot be read.
    virtual std::uint32_t name(std::uint64_t address) = 0;
    // Whether memory at an address is the allocator's: what it takes of the driver is no operation of the program's.
    virtual bool is_ours(std::uint64_t /*address*/) { return false; }

   protected:
    ~Output() = default;
  };
  struct Begin {
    std::uint32_t process = 0;
    double ticks_per_ns = 1;
  };
  struct Counts {
    std::uint64_t records = 0;
    std::uint64_t odd = 0;             // not understood
    std::uint64_t broken_buffers = 0;  // with an end that could not be read
    std::uint64_t kernels = 0;
    std::uint64_t unscoped = 0;    // of these, launched out of our sight
    std::uint64_t unfinished = 0;  // without times: no kernels of the trace
  };

  constexpr CuptiReader() = default;
  // False when the system gives no memory.
  bool start(Output& output, Audit& audit, const Begin& begin);

  // Memory operations of before and after are not audited: only CUPTI tells them. By its clock; any thread.
  void audit_from(std::uint64_t ns) { from_ns_.store(ns, std::memory_order_relaxed); }
  void audit_until(std::uint64_t ns) { until_ns_.store(ns, std::memory_order_relaxed); }

  CuptiClock& clock() { return clock_; }
  const Counts& counts() const { return counts_; }

  template <class Next>
  void read(std::span<std::uint8_t> buffer, Next next) {
    Walked const walked = walk_records(buffer, next, *this);
    counts_.records += walked.records;
    counts_.odd += walked.odd;
    counts_.broken_buffers += walked.broken ? 1 : 0;
  }
  // After all buffers that there were.
  void end_round(bool last);

  // The records, as walk_records delivers them.
  void on(const MemoryRecord& record);
  void on(const KernelRecord& record);
  void on(const CallRecord& record);
  void on(const ExternalRecord& record);

 private:
  void write(const KernelRun& run, const LaunchScope* scope);

  Output* output_ = nullptr;
  Audit* audit_ = nullptr;
  Begin begin_;
  std::atomic<std::uint64_t> from_ns_{0}, until_ns_{~std::uint64_t{0}};
  CuptiClock clock_;
  Launches launches_;
  Counts counts_;
};

}  // namespace tidemark::interpose
