// SPDX-License-Identifier: Apache-2.0
// What the environment asks for (DESIGN §5). Read once, at the first CUDA call.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/cache_options.h"
#include "base/result.h"
#include "trace/format/layout.h"

namespace tidemark::interpose {

// Only one client can use CUPTI, and it costs time at every launch: it is used where that is asked for, or, politely,
// where nobody else seems to want it.
enum class CuptiUse : std::uint8_t { Off, On, Auto };

// Auto: cache, and observe where somebody else caches or memory is shared with other processes.
enum class ModeChoice : std::uint8_t { Auto, Cache, Observe };
// Whether a free waits for the device, as the driver's does. Auto: while the host could see the difference.
enum class FreeChoice : std::uint8_t { Auto, Strict, Lazy };

struct Options {
  std::string out = "tidemark-%p.tide";
  ModeChoice mode = ModeChoice::Auto;
  FreeChoice free = FreeChoice::Auto;
  std::uint64_t limit_bytes = 0;  // 0: the card's own
  std::uint64_t ring_bytes = 0;   // 0: everything is kept
  bool stacks = false;
  CacheOptions cache;
  CuptiUse cupti = CuptiUse::Off;
  bool summary = true;  // the line at the program's end; the launcher prints its own
  std::string run;      // the same for all processes of one launch; empty without a launcher
  std::string list;     // a file for the launcher, to which the trace's place is appended

  static Result<Options> from_environment();
};
// What the environment asks for before anything else is read; Observe where that cannot be read, or nothing is to be
// served.
ModeChoice mode_in_environment();

// TIDEMARK_… that mean something to somebody. One that is misspelt would be a setting that silently is not there.
std::span<const std::string_view> known_variables();

// The pattern with %p for the process, %r for its rank and %% for a per cent sign.
std::string expand_path(const std::string& pattern, std::uint32_t pid);
// "run.tide" and 7 give "run-7.tide": for a process that finds its name taken.
std::string with_suffix(const std::string& path, std::uint64_t number);

}  // namespace tidemark::interpose
