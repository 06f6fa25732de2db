// SPDX-License-Identifier: Apache-2.0
#include "analysis/report/caches.h"

#include <fmt/core.h>

#include <algorithm>

#include "analysis/report/table.h"
#include "analysis/report/words.h"

namespace tidemark::analysis::report {
namespace {

std::string held_text(const CacheMoment& m) {
  return bytes_text(m.live_bytes) + " live, " + bytes_text(m.cached_bytes()) + " cached, " +
         bytes_text(m.reserved_bytes) + " reserved, " + bytes_text(m.rounding_bytes()) + " lost to rounding";
}

std::string done_text(const CacheSummary& c) {
  std::string text = count_text(c.waits_avoided, "wait", "waits") + " avoided";
  std::uint64_t const asked = c.plan_hits + c.plan_misses;
  if (asked != 0)
    text += ", " + percent_text(c.plan_hits, asked) + " of " + count_text(asked) + " places planned ahead";
  if (c.given_back_bytes != 0) text += ", " + bytes_text(c.given_back_bytes) + " given back to the driver";
  return text;
}

void write_culprits(Page& page, const CacheSummary& c) {
  if (c.culprits.empty()) return;
  page.heading("Blocks that keep free memory apart",
               "at " + instant_text(*c.culprits_time_ns) + ", largest free range " + bytes_text(c.largest_hole_bytes));
  Table table(page, {{"block", false}, {"live"}, {"free before"}, {"free behind"}, {"would give"}});
  std::size_t const shown = std::min(c.culprits.size(), page.options().top);
  for (std::size_t i = 0; i < shown; ++i) {
    Culprit const& b = c.culprits[i];
    std::string name = b.layer.empty() || b.layer == "(unscoped)" ? fmt::format("{:#x}", b.address) : clean(b.layer);
    if (!b.name.empty()) name += " " + clean(b.name);
    table.row({name, b.live_bytes == 0 ? "-" : bytes_text(b.live_bytes), bytes_text(b.before_bytes),
               bytes_text(b.after_bytes), bytes_text(b.given_back_bytes)});
  }
  table.print();
}

}  // namespace

void write_late_frees(Page& page, const Summary& s) {
  if (s.late_frees.empty()) return;
  page.heading("Freed while in use elsewhere", count_text(s.late_frees.size(), "free", "frees") +
                                                   " of memory that work of another stream may still use");
  Table table(page, {{"freed in", false}, {"used in", false}, {"by", false}, {"block"}, {"at"}});
  std::size_t const shown = std::min(s.late_frees.size(), page.options().top);
  for (std::size_t i = 0; i < shown; ++i) {
    LateFreeRow const& f = s.late_frees[i];
    table.row(
        {clean(f.freed_layer), clean(f.used_layer), f.used_by, bytes_text(f.requested_bytes), instant_text(f.time_ns)});
  }
  table.print();
}

void write_caches(Page& page, const Summary& s) {
  if (!s.cache) return;
  page.heading("Cache", done_text(*s.cache));
  page.line("  at the peak  " + held_text(s.cache->at_peak), 15);
  page.line("  at the end   " + held_text(s.cache->at_end), 15);
  write_culprits(page, *s.cache);
}

}  // namespace tidemark::analysis::report
