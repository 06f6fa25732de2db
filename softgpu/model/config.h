// SPDX-License-Identifier: Apache-2.0
// What the environment says about the device. Read once, before the first device call; a value that cannot be read
// stops cuInit with one line that names the variable.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "softgpu/profiles/profiles.h"

namespace tidemark::softgpu {

enum class Schedule : std::uint8_t { Eager, Late, Random };
enum class ClockKind : std::uint8_t { Real, Simulated };
enum class RunMode : std::uint8_t { Auto, Execute, DryRun };

// Calls that can be made slow. A fault names one of them or a whole group; any other word would be a fault that never
// happens.
enum class SlowCall : std::uint8_t {
  MemAlloc,
  MemAllocPitch,
  MemAllocAsync,
  MemCreate,
  MemFree,
  MemFreeAsync,
  MemUnmap,
  LaunchKernel,
  GraphLaunch,
  Memcpy,
  StreamSynchronize,
  EventSynchronize,
  CtxSynchronize
};
struct SlowCallName {
  const char* group;
  const char* name;
};
SlowCallName name_of(SlowCall call);

// One entry of SOFTGPU_FAULT.
struct Fault {
  enum class Kind : std::uint8_t { OomAt, OomAbove, LaunchAt, EccAt, EarlyFrom, Slow };
  Kind kind;
  std::uint64_t value = 0;  // which call (from 1), how many bytes, or nanoseconds
  std::string call;         // Slow: a group or a name of SlowCallName
};

struct Config {
  const Profile* profile = nullptr;
  Bytes memory;                         // SOFTGPU_MEMORY
  Bytes context_overhead;               // SOFTGPU_CONTEXT
  int device_count = 1;                 // SOFTGPU_DEVICES
  int driver_version = 13000;           // SOFTGPU_DRIVER_VERSION
  int workers = 1;                      // SOFTGPU_WORKERS
  RunMode run_mode = RunMode::Auto;     // SOFTGPU_DRY_RUN
  std::string kernel_libraries;         // SOFTGPU_KERNELS, ':' between files
  Schedule schedule = Schedule::Eager;  // SOFTGPU_SCHEDULE
  std::uint64_t seed = 0;
  ClockKind clock = ClockKind::Real;  // SOFTGPU_CLOCK
  std::uint64_t item_ns = 1000;       // simulated clock: what an item costs
  std::uint64_t kernel_ns = 0;        // SOFTGPU_KERNEL_TIME
  bool kernel_time_set = false;
  bool check = false;         // SOFTGPU_CHECK
  std::vector<Fault> faults;  // SOFTGPU_FAULT
  std::string share;          // SOFTGPU_SHARE
  bool quiet = false;         // SOFTGPU_QUIET
  Bytes dry_copy_limit;       // SOFTGPU_DRY_COPY: larger copies store nothing in dry run

  std::string device_name() const;
};

Result<Config> read_config();
Result<std::vector<Fault>> parse_faults(std::string_view text);
struct ScheduleChoice {
  Schedule schedule;
  std::uint64_t seed;
};
Result<ScheduleChoice> parse_schedule(std::string_view text);

}  // namespace tidemark::softgpu
