// SPDX-License-Identifier: Apache-2.0
// What a user may ask of the caching allocator, as `tidemark run` and the environment write it. The launcher checks by
// the same rules that the library reads by. A value that cannot be is an error with the way out in its hint.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"

namespace tidemark {

struct CacheOptions {
  static constexpr Bytes kSmallestRounding{512}, kLargestRounding{64 << 20};

  Bytes rounding = kSmallestRounding;  // sizes become multiples of it
  std::optional<Bytes> cap;            // free memory is kept up to here; none: all of it
  std::uint64_t trim_after_ns = 0;     // without a call for so long, free memory goes back; 0: it is kept
  bool poison = false;                 // freed memory is filled
  bool check_frees = false;            // uses are followed, to find frees that come too early
  bool whole_blocks = false;           // nothing is served: every block is the driver's own

  // Whether something was asked for that only served memory can follow.
  bool about_served_memory() const {
    return rounding != kSmallestRounding || cap.has_value() || trim_after_ns != 0 || poison || check_frees;
  }

  // TIDEMARK_ROUND, _CACHE_CAP, _TRIM_AFTER, _POISON, _CHECK_FREES, _WHOLE_BLOCKS.
  static Result<CacheOptions> from_environment();
};

// A power of two from 512 B to 64 MiB.
Result<Bytes> parse_rounding(std::string_view text);
Result<Bytes> parse_cap(std::string_view text);
// A millisecond or more.
Result<std::uint64_t> parse_trim_after_ns(std::string_view text);

}  // namespace tidemark
