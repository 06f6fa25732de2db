// SPDX-License-Identifier: Apache-2.0
#include "base/cache_options.h"

#include <bit>

#include "base/env.h"

namespace tidemark {
namespace {

constexpr std::uint64_t kShortestIdle = 1'000'000;

// The variable's value by `parse`, or `otherwise` where it is not set.
template <class T, class Parse>
Result<T> read(const char* name, T otherwise, Parse parse) {
  auto const text = env_text(name);
  if (!text) return otherwise;
  auto const parsed = parse(*text);
  if (parsed.ok()) return T(*parsed);
  return Error{parsed.error().code, std::string(name) + ": " + parsed.error().what, parsed.error().hint};
}

}  // namespace

Result<Bytes> parse_rounding(std::string_view text) {
  TIDEMARK_TRY(Bytes const size, parse_bytes(text));
  if (std::has_single_bit(size.n) && size >= CacheOptions::kSmallestRounding && size <= CacheOptions::kLargestRounding)
    return size;
  return Error{Errc::InvalidArgument, "sizes cannot be rounded to multiples of '" + std::string(text) + "'",
               "a power of two from " + format_bytes(CacheOptions::kSmallestRounding) + " to " +
                   format_bytes(CacheOptions::kLargestRounding) + ": 4KiB, 64KiB, 2MiB"};
}

Result<Bytes> parse_cap(std::string_view text) {
  return parse_bytes(text);
}

Result<std::uint64_t> parse_trim_after_ns(std::string_view text) {
  TIDEMARK_TRY(std::uint64_t const ns, parse_duration_ns(text));
  if (ns >= kShortestIdle) return ns;
  return Error{Errc::InvalidArgument, "too short a time: '" + std::string(text) + "'",
               "a millisecond or more, with its unit: 500ms, 30s"};
}

Result<CacheOptions> CacheOptions::from_environment() {
  CacheOptions options;
  TIDEMARK_TRY(options.rounding, read<Bytes>("TIDEMARK_ROUND", options.rounding, parse_rounding));
  TIDEMARK_TRY(options.cap, read<std::optional<Bytes>>("TIDEMARK_CACHE_CAP", {}, parse_cap));
  TIDEMARK_TRY(options.trim_after_ns, read<std::uint64_t>("TIDEMARK_TRIM_AFTER", 0, parse_trim_after_ns));
  TIDEMARK_TRY(options.poison, env_flag("TIDEMARK_POISON", false));
  TIDEMARK_TRY(options.check_frees, env_flag("TIDEMARK_CHECK_FREES", false));
  TIDEMARK_TRY(options.whole_blocks, env_flag("TIDEMARK_WHOLE_BLOCKS", false));
  return options;
}

}  // namespace tidemark
