// SPDX-License-Identifier: Apache-2.0
#include "cli/run/cache_flags.h"

#include "base/cache_options.h"
#include "cli/arguments.h"

namespace tidemark::cli {
namespace {

template <class Parse>
Result<void> check(const char* option, const std::string& text, Parse parse) {
  if (text.empty()) return {};
  auto const parsed = parse(text);
  if (parsed.ok()) return {};
  return Error{Errc::InvalidArgument, std::string(option) + ": " + parsed.error().what, parsed.error().hint};
}

}  // namespace

void declare(Arguments& a, CacheFlags& f) {
  a.option(f.round, {"--round", "SIZE", "cache: sizes are multiples of this power of two (default 512)"});
  a.option(f.cache_cap, {"--cache-cap", "SIZE", "cache: keep at most this much free memory (default: all of it)"});
  a.option(f.trim_after, {"--trim-after", "TIME",
                          "cache: give free memory back when nothing was asked for or freed for so long: 30s"});
  a.flag(f.poison, "--poison", "cache: fill memory when it is freed, so that late readers show: every float is a NaN");
  a.flag(f.check_frees, "--check-frees", "cache: report memory that is freed while another stream may still use it");
  a.flag(f.whole_blocks, "--whole-blocks",
         "serve nothing: every block is one of the driver's own, as compute-sanitizer needs it");
}

Result<void> check(const CacheFlags& f, const std::string& mode) {
  for (auto const& checked : {check("--round", f.round, parse_rounding), check("--cache-cap", f.cache_cap, parse_cap),
                              check("--trim-after", f.trim_after, parse_trim_after_ns)})
    if (!checked.ok()) return checked.error();
  bool const served = !f.round.empty() || !f.cache_cap.empty() || !f.trim_after.empty() || f.poison || f.check_frees;
  if (!served || (mode != "observe" && !f.whole_blocks)) return {};
  return Error{Errc::InvalidArgument,
               "--round, --cache-cap, --trim-after, --poison and --check-frees are about served memory",
               f.whole_blocks ? "with --whole-blocks none is served: leave it out" : "choose --mode cache"};
}

}  // namespace tidemark::cli
