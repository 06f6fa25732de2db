// SPDX-License-Identifier: Apache-2.0
// A trace is untrusted input.
#include <fstream>
#include <random>

#include "tests/unit/trace/fixture.h"

namespace tidemark::trace {
namespace {

std::string sample_trace(const std::string& path) {
  File& file = make_file(path);
  Dictionary names;
  EXPECT_TRUE(names.start(file));
  names.fact("program.command", "./train");
  Lane lane;
  lane.start(file, 1);
  for (std::uint64_t i = 1; i <= 500; ++i) {
    lane.enter(names.path(0, "layer" + std::to_string(i % 7)));
    lane.alloc({.address = i << 9, .size_bytes = i});
    lane.alloc({.address = i, .size_bytes = i});
    names.object({.begin = i << 12, .end = (i + 2) << 12, .build_id = "0123", .path = "/lib/a.so"});
    std::vector<std::uint64_t> const frames{i, i + 1};
    lane.stack(names.stack({.frames = frames}));
    lane.free({.address = i << 9});
    lane.leave(0);
  }
  file.close(FileState::Closed);
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Whatever is in the file, reading it ends, and says how much it found.
void read_all(const std::string& path) {
  auto const trace = Trace::open(path);
  if (!trace.ok()) {
    EXPECT_FALSE(trace.error().what.empty());
    return;
  }
  auto const events = all_events(*trace);
  EXPECT_LE(events.size(), trace->event_chunks() * kChunkSlots);
  for (auto const& e : events) trace->names().path(e.context.scope);
}

TEST(Damage, OtherFilesAreRefusedWithAReason) {
  Folder const folder;
  std::ofstream(folder.file("empty"));
  std::ofstream(folder.file("text")) << std::string(100'000, 'a');
  for (const char* name : {"empty", "text", "missing"}) {
    auto const trace = Trace::open(folder.file(name));
    ASSERT_FALSE(trace.ok()) << name;
    EXPECT_NE(trace.error().what.find(name), std::string::npos);
    EXPECT_FALSE(trace.error().hint.empty());
  }
  EXPECT_FALSE(Trace::open(folder.file("")).ok()) << "a folder";
}

TEST(Damage, ALaterVersionIsNamed) {
  Folder const folder;
  std::string bytes = sample_trace(folder.file("a.tide"));
  bytes[8] = 9;
  std::ofstream(folder.file("b.tide"), std::ios::binary) << bytes;
  auto const trace = Trace::open(folder.file("b.tide"));
  ASSERT_FALSE(trace.ok());
  EXPECT_EQ(trace.error().code, Errc::Unsupported);
}

TEST(Damage, TruncatedAndFlippedTracesAreReadAsFarAsTheyGo) {
  Folder const folder;
  std::string const whole = sample_trace(folder.file("a.tide"));
  const char* const given = std::getenv("TIDEMARK_TEST_DAMAGES");
  int const rounds = given == nullptr ? 2000 : std::atoi(given);
  std::mt19937_64 random(20);
  for (int round = 0; round < rounds; ++round) {
    std::string bytes = whole;
    if (round % 3 == 0) bytes.resize(random() % bytes.size());
    // Most of a chunk is empty; damage goes where the records are.
    for (int flips = round % 5; flips > 0 && !bytes.empty(); --flips) {
      std::size_t const chunk = random() % (whole.size() / kChunkBytes) * kChunkBytes;
      std::size_t const at = std::min(chunk + random() % 20'000, bytes.size() - 1);
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
    }
    std::ofstream(folder.file("b.tide"), std::ios::binary | std::ios::trunc) << bytes;
    read_all(folder.file("b.tide"));
  }
}

}  // namespace
}  // namespace tidemark::trace
