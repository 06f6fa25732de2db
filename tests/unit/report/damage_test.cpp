// SPDX-License-Identifier: Apache-2.0
// Damaged traces on the whole way to a report: an error or a partial result, whose sums still agree.
#include <fstream>
#include <random>

#include "analysis/report/json.h"
#include "analysis/report/text.h"
#include "base/env.h"
#include "tests/support/sample_traces.h"
#include "tests/unit/analysis/fixture.h"

namespace tidemark::analysis::report {
namespace {

void report_on(const std::string& path) {
  auto const trace = trace::Trace::open(path);
  if (!trace.ok()) {
    EXPECT_FALSE(trace.error().what.empty());
    return;
  }
  auto const s =
      summarize(*trace, {.at_ns = 20'000'000, .timeline_points = 32, .layer_timelines = true, .largest_blocks = 3});
  ASSERT_TRUE(s.ok());
  for (Anatomy const* a : {&s->peak, &*s->at}) {
    for (auto const* rows : {&a->by_kind, &a->by_layer, &a->by_phase, &a->by_step, &a->by_stack})
      EXPECT_EQ(sum(*rows), a->live_bytes);
    EXPECT_LE(a->requested_bytes, a->live_bytes);
    EXPECT_LE(a->live_bytes, a->reserved_bytes);
  }
  EXPECT_LE(s->peak.reserved_bytes, s->peak_reserved_bytes);
  EXPECT_LE(s->end_live_bytes, s->peak.live_bytes);
  EXPECT_FALSE(text_report(*s, {.by = By::Stack}).empty());
  EXPECT_FALSE(text_report(*s, {}).empty());
  EXPECT_FALSE(json_report(*s, {.by = By::Step, .timeline = true}).empty());
}

// Damage goes where something is written.
std::string damaged(std::string bytes, std::mt19937_64& random) {
  if (random() % 3 == 0) bytes.resize(random() % bytes.size());
  for (std::uint64_t flips = random() % 6; flips > 0 && !bytes.empty(); --flips) {
    std::size_t const chunk = random() % (bytes.size() / trace::kChunkBytes + 1) * trace::kChunkBytes;
    std::size_t const at = chunk + random() % (random() % 4 == 0 ? 256 : 20'000);
    if (at < bytes.size()) bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
  }
  return bytes;
}

TEST(Damage, TruncatedAndFlippedTracesGiveAReportOrAnError) {
  auto const rounds = env_count("TIDEMARK_DAMAGED_TRACES", 400);
  ASSERT_TRUE(rounds.ok());
  std::vector<std::string> wholes;
  for (auto const& s : trace::samples()) wholes.push_back(s.make().bytes());
  trace::Folder const folder;
  std::string const path = folder.file("a.tide");
  for (std::uint64_t round = 0; round < *rounds; ++round) {
    std::mt19937_64 random(round);
    SCOPED_TRACE("round " + std::to_string(round));
    std::string const bytes = damaged(wholes[round % wholes.size()], random);
    std::ofstream(path, std::ios::binary | std::ios::trunc)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    ASSERT_NO_FATAL_FAILURE(report_on(path));
  }
}

}  // namespace
}  // namespace tidemark::analysis::report
