// SPDX-License-Identifier: Apache-2.0
#include "trace/symbols/symbols.h"

#include <dlfcn.h>

#include <fstream>

#include "interpose/stack/stacks.h"
#include "tests/unit/trace/fixture.h"

namespace tidemark::trace {
namespace {

using Call = void (*)();

class SymbolsTest : public testing::Test {
 protected:
  SymbolsTest() {
    EXPECT_TRUE(names_.start(file_));
    EXPECT_TRUE(stacks_->start(file_, nullptr).ok());
    current = this;
  }

  // Opens a library with the chain of chain.cpp in it and takes a stack at its end.
  void run(const std::string& path) {
    void* const library = dlopen(path.c_str(), RTLD_NOW);
    ASSERT_NE(library, nullptr) << dlerror();
    auto const run = reinterpret_cast<void (*)(Call)>(dlsym(library, "chain_run"));
    lines_ = static_cast<const int*>(dlsym(library, "chain_lines"));
    run([] { current->id_ = current->stacks_->here(current->names_); });
  }
  // The frames of a library, innermost first.
  std::vector<SymbolFrame> frames_of(const std::string& path) {
    Trace const trace = read_back(file_.path());
    std::vector<SymbolFrame> frames = Symbols(trace.names()).resolve(id_);
    std::erase_if(frames, [&](const SymbolFrame& f) { return f.object != path; });
    return frames;
  }
  std::vector<std::string> texts_of(const std::string& path) {
    std::vector<std::string> all;
    std::vector<SymbolFrame> frames = frames_of(path);
    for (SymbolFrame& frame : frames) {
      frame.file = frame.file.substr(frame.file.rfind('/') + 1);  // the folder depends on how the compiler was called
      all.push_back(text(frame));
    }
    return all;
  }
  std::string at(int i) const { return " at chain.cpp:" + std::to_string(lines_[i]); }
  // A copy with a build id of its own, so that files can be changed.
  std::string copy_of(const char* library) const {
    std::string to = folder_.file("libcopy.so");
    std::filesystem::copy_file(library, to, std::filesystem::copy_options::overwrite_existing);
    return to;
  }

  static inline SymbolsTest* current = nullptr;
  Folder folder_;
  File& file_ = make_file(folder_.file("a.tide"));
  Dictionary names_;
  std::unique_ptr<interpose::Stacks> stacks_ = std::make_unique<interpose::Stacks>();
  std::uint32_t id_ = 0;
  const int* lines_ = nullptr;
};

TEST_F(SymbolsTest, AKnownChainIsNamedWithItsLines) {
  for (const char* const library : {CHAIN_O0, CHAIN_O2, CHAIN_O2_FRAME_POINTER}) {
    run(library);
    std::vector<std::string> const expected{
        "chain::(anonymous namespace)::inlined" + at(0),
        "chain::(anonymous namespace)::middle(void (*)())" + at(1),
        "chain::Box<int>::open(int, void (*)())" + at(2),
        "chain_run" + at(3),
    };
    EXPECT_EQ(texts_of(library), expected) << library;
    auto const frames = frames_of(library);
    ASSERT_EQ(frames.size(), 4u);
    EXPECT_TRUE(frames[0].inlined);
    EXPECT_FALSE(frames[1].inlined);
    EXPECT_EQ(frames[0].offset, frames[1].offset);
  }
}

TEST_F(SymbolsTest, AProgramsOwnFunctionsAreNamed) {
  run(CHAIN_O2);
  std::string all;
  Trace const trace = read_back(file_.path());
  for (SymbolFrame const& frame : Symbols(trace.names()).resolve(id_)) all += text(frame) + "\n";
  EXPECT_NE(all.find("SymbolsTest_AProgramsOwnFunctionsAreNamed_Test::TestBody() at "), std::string::npos) << all;
  EXPECT_NE(all.find("symbols_test.cpp:"), std::string::npos) << all;
  EXPECT_NE(all.find("\nmain"), std::string::npos) << all;
}

TEST_F(SymbolsTest, AStrippedLibraryGivesItsNameAndAddresses) {
  run(CHAIN_STRIPPED);
  auto const frames = frames_of(CHAIN_STRIPPED);
  ASSERT_EQ(frames.size(), 3u) << "what was inlined cannot be told";
  EXPECT_EQ(frames[0].missing, NoSymbol::Stripped);
  std::string const name = std::string(CHAIN_STRIPPED).substr(std::string(CHAIN_STRIPPED).rfind('/') + 1);
  EXPECT_TRUE(text(frames[0]).starts_with(name + "+0x")) << text(frames[0]);
  EXPECT_TRUE(text(frames[0]).ends_with(" (no symbols)")) << text(frames[0]);
  EXPECT_EQ(frames[2].function, "chain_run") << "it is exported";
  EXPECT_EQ(text(frames[2]), "chain_run in " + name);
}

TEST_F(SymbolsTest, AFileThatHasChangedGivesNoNames) {
  std::string const path = copy_of(CHAIN_O2);
  run(path);
  ASSERT_EQ(frames_of(path).size(), 4u);
  std::filesystem::remove(path);
  copy_of(CHAIN_O0);
  auto const frames = frames_of(path);
  ASSERT_EQ(frames.size(), 3u);
  for (SymbolFrame const& frame : frames) {
    EXPECT_EQ(frame.missing, NoSymbol::FileChanged);
    EXPECT_NE(text(frame).find("libcopy.so+0x"), std::string::npos) << text(frame);
    EXPECT_NE(text(frame).find("(no symbols: the file has changed)"), std::string::npos) << text(frame);
  }
  std::ofstream(path, std::ios::trunc) << "not a program";
  EXPECT_EQ(frames_of(path).at(0).missing, NoSymbol::FileChanged);
}

TEST_F(SymbolsTest, AFileThatIsGoneGivesNoNames) {
  std::string const path = copy_of(CHAIN_O2);
  run(path);
  std::filesystem::remove(path);
  EXPECT_EQ(frames_of(path).at(0).missing, NoSymbol::FileGone);
  EXPECT_NE(texts_of(path).at(0).find("(no symbols: the file is gone)"), std::string::npos);
}

TEST_F(SymbolsTest, WhatATraceCallsAFileIsOnlyOpenedIfItIsOne) {
  std::string const pipe = folder_.file("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::vector<std::uint64_t> const frames{0x1100, 0x2100, 0x3100, 0x4100, 0x5100};
  names_.object({.begin = 0x1000, .end = 0x2000, .path = pipe});
  names_.object({.begin = 0x2000, .end = 0x3000, .path = "/dev/zero"});
  names_.object({.begin = 0x3000, .end = 0x4000, .path = "/"});
  names_.object({.begin = 0x4000, .end = 0x5000, .path = "libx.so"});
  id_ = names_.stack({.frames = frames});
  Trace const trace = read_back(file_.path());
  auto const found = Symbols(trace.names()).resolve(id_);
  ASSERT_EQ(found.size(), 5u);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(found[i].missing, NoSymbol::FileGone) << found[i].object;
  EXPECT_EQ(found[4].missing, NoSymbol::NoObject);
  EXPECT_EQ(text(found[4]), "0x5100 (code made at run time)");
}

// Addresses and biases from a damaged trace lead anywhere.
TEST_F(SymbolsTest, AddressesMayBeNonsense) {
  run(CHAIN_O2);
  Trace const before = read_back(file_.path());
  std::string build_id;
  for (CodeObject const& object : before.names().objects())
    if (object.path == CHAIN_O2) build_id = object.build_id;
  std::vector<std::uint64_t> frames;
  for (std::uint64_t at = 1; at != 0; at *= 2) frames.push_back(at);
  frames.push_back(~std::uint64_t{0});
  for (std::uint64_t const bias : {std::uint64_t{0}, std::uint64_t{1} << 40, ~std::uint64_t{0}}) {
    names_.object({.begin = 0, .end = ~std::uint64_t{0}, .bias = bias, .build_id = build_id, .path = CHAIN_O2});
    id_ = names_.stack({.frames = frames, .replaced = static_cast<std::uint32_t>(bias >> 50) + 1});
    Trace const trace = read_back(file_.path());
    EXPECT_GE(Symbols(trace.names()).resolve(id_).size(), frames.size());
  }
}

}  // namespace
}  // namespace tidemark::trace
