// SPDX-License-Identifier: Apache-2.0
#include <random>
#include <thread>

#include "tests/unit/trace/fixture.h"

namespace tidemark::trace {
namespace {

class DictionaryTest : public testing::Test {
 protected:
  DictionaryTest() { EXPECT_TRUE(names_.start(file_)); }

  Folder folder_;
  File& file_ = make_file(folder_.file("a.tide"));
  Dictionary names_;
};

TEST_F(DictionaryTest, ANameIsWrittenOnce) {
  auto const a = names_.string("conv1"), b = names_.string("conv2");
  EXPECT_NE(a, 0u);
  EXPECT_NE(a, b);
  EXPECT_EQ(names_.string(std::string("conv") + "1"), a);
  Trace const trace = read_back(file_.path());
  EXPECT_EQ(trace.names().string(a), "conv1");
  EXPECT_EQ(trace.names().string(b), "conv2");
  EXPECT_EQ(trace.names().string(999), "");
}

TEST_F(DictionaryTest, LayersAreDotted) {
  auto const encoder = names_.path(0, "encoder"), third = names_.path(encoder, "3"),
             attention = names_.path(third, "attn");
  EXPECT_EQ(names_.path(third, "attn"), attention);
  EXPECT_NE(names_.path(encoder, "attn"), attention);
  EXPECT_EQ(read_back(file_.path()).names().path(attention), "encoder.3.attn");
}

TEST_F(DictionaryTest, StacksAndStreamsComeBack) {
  std::vector<std::uint64_t> const frames{1, 2, ~0ull}, shorter{1, 2};
  auto const a = names_.stack({.frames = frames}), b = names_.stack({.frames = shorter});
  EXPECT_NE(a, b);
  EXPECT_EQ(names_.stack({.frames = frames}), a);
  auto const s = names_.stream(0xabc, 1, 0), t = names_.stream(0xabc, 2, 0);
  EXPECT_NE(s, t);
  EXPECT_EQ(names_.stream(0xabc, 1, 0), s);
  Trace const trace = read_back(file_.path());
  EXPECT_EQ(trace.names().stack(a), frames);
  EXPECT_EQ(trace.names().stack(b), shorter);
  EXPECT_EQ(trace.names().stream_handle(t), 0xabcu);
}

TEST_F(DictionaryTest, HowAStackEndsAndWhichCodeItIsOfMakeItAnother) {
  std::vector<std::uint64_t> const frames{1, 2, 3};
  auto const whole = names_.stack({.frames = frames}), cut = names_.stack({.frames = frames, .end = StackEnd::Cut}),
             later = names_.stack({.frames = frames, .replaced = 1});
  EXPECT_NE(whole, cut);
  EXPECT_NE(whole, later);
  EXPECT_EQ(names_.stack({.frames = frames, .end = StackEnd::Cut}), cut);
  Trace const trace = read_back(file_.path());
  EXPECT_EQ(trace.names().stack_end(whole), StackEnd::Whole);
  EXPECT_EQ(trace.names().stack_end(cut), StackEnd::Cut);
  EXPECT_EQ(trace.names().stack(cut), frames);
}

TEST_F(DictionaryTest, AnAddressBelongsToTheObjectThatWasThereThen) {
  std::vector<std::uint64_t> const frames{0x1080, 0x2000, 0x5000};
  EXPECT_NE(names_.object({.begin = 0x1000, .end = 0x2000, .bias = 0x800, .ticks = 7, .build_id = "abc", .path = "/a"}),
            0u);
  auto const before = names_.stack({.frames = frames});
  names_.object({.begin = 0x1000, .end = 0x3000, .path = "/b"});
  auto const after = names_.stack({.frames = frames, .replaced = 1});
  Trace const trace = read_back(file_.path());
  auto const path_at = [&](std::uint32_t stack, std::uint64_t address) {
    const CodeObject* const object = trace.names().object_at(stack, address);
    return object == nullptr ? "" : object->path;
  };
  EXPECT_EQ(path_at(before, 0x1080), "/a");
  EXPECT_EQ(path_at(before, 0x2000), "/a") << "a call may be the last instruction";
  EXPECT_EQ(path_at(before, 0x2001), "");
  EXPECT_EQ(path_at(after, 0x1080), "/b");
  EXPECT_EQ(path_at(after, 0x5000), "");
  ASSERT_EQ(trace.names().objects().size(), 2u);
  CodeObject const& first = trace.names().objects()[0];
  EXPECT_EQ(first.bias, 0x800u);
  EXPECT_EQ(first.ticks, 7u);
  EXPECT_EQ(first.build_id, "abc");
}

TEST_F(DictionaryTest, AnObjectsLongPathIsCut) {
  std::string const path = "/" + std::string(10'000, 'p');
  names_.object({.begin = 1, .end = 2, .build_id = std::string(20, 'i'), .path = path});
  auto const after = names_.string("still readable");
  Trace const trace = read_back(file_.path());
  ASSERT_EQ(trace.names().objects().size(), 1u);
  std::string const& kept = trace.names().objects()[0].path;
  EXPECT_GT(kept.size(), 4000u);
  EXPECT_TRUE(path.starts_with(kept));
  EXPECT_EQ(trace.names().string(after), "still readable");
}

TEST_F(DictionaryTest, FactsMayBeLong) {
  std::string const long_text(50'000, 'x');
  names_.fact("program.command", "./train");
  names_.fact("empty", "");
  names_.fact("long", long_text + "end");
  names_.fact("program.command", "./train --batch 8");
  Trace const trace = read_back(file_.path());
  EXPECT_EQ(trace.names().fact("program.command"), "./train --batch 8");
  EXPECT_EQ(trace.names().fact("empty"), "");
  EXPECT_EQ(trace.names().fact("long"), long_text + "end");
  EXPECT_EQ(trace.names().facts().size(), 3u);
}

TEST_F(DictionaryTest, LongNamesAreCut) {
  std::string const name(10'000, 'n');
  auto const id = names_.string(name);
  EXPECT_EQ(names_.string(name), id);
  EXPECT_EQ(read_back(file_.path()).names().string(id), name.substr(0, kLongestText));
}

TEST_F(DictionaryTest, ThreadsAgreeOnNumbers) {
  constexpr int kThreads = 4, kNames = 5000;
  std::vector<std::vector<std::uint32_t>> ids(kThreads, std::vector<std::uint32_t>(kNames));
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < kNames; ++i) {
        int const n = (i * 7919 + t * 1237) % kNames;
        ids[static_cast<std::size_t>(t)][static_cast<std::size_t>(n)] = names_.path(0, "layer." + std::to_string(n));
      }
    });
  for (auto& t : threads) t.join();
  for (int t = 1; t < kThreads; ++t) EXPECT_EQ(ids[static_cast<std::size_t>(t)], ids[0]);
  Trace const trace = read_back(file_.path());
  for (std::size_t n = 0; n < kNames; ++n) ASSERT_EQ(trace.names().path(ids[0][n]), "layer." + std::to_string(n));
}

}  // namespace
}  // namespace tidemark::trace
