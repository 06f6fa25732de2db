// SPDX-License-Identifier: Apache-2.0
#include "interpose/stack/stacks.h"

#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <thread>

#include "tests/unit/interpose/stack/fixture.h"
#include "tests/unit/interpose/stack/shapes.h"

namespace tidemark::interpose {
namespace {

using trace::StackEnd;

class EveryShape : public StackTest, public testing::WithParamInterface<const Shapes*> {
 protected:
  const Shapes& shapes_ = *GetParam();
};

TEST_P(EveryShape, IsWalkedAsTheCompilersUnwinderWalksIt) {
  for (int round = 0; round < 2; ++round) {  // with rules learnt, with rules known
    shapes_.plain(look);
    expect_same("plain");
    shapes_.large(look);
    expect_same("large");
    shapes_.aligned(look);
    expect_same("aligned");
    for (std::size_t const bytes : {16, 5000, 100'000}) {
      shapes_.variable(look, bytes);
      expect_same("variable");
      shapes_.aligned_variable(look, bytes);
      expect_same("aligned, variable");
    }
    shapes_.many_registers(look);
    expect_same("many registers");
    shapes_.through_library(look);
    expect_same("through the C library");
    shapes_.while_thrown(look);
    expect_same("while an exception is handled");
    shapes_.deep(look, 50);
    expect_same("deep");
  }
}

TEST_P(EveryShape, DeepRecursionIsCutAndMarked) {
  shapes_.deep(look, 10'000);
  expect_same("very deep");
  EXPECT_EQ(read().names().stack_end(id_), StackEnd::Cut);
}

TEST_P(EveryShape, AThreadEndsWithItsFirstFunction) {
  std::thread([this] { shapes_.aligned(look); }).join();
  expect_same("in a thread");
}

INSTANTIATE_TEST_SUITE_P(Compiled, EveryShape, testing::Values(&kShapesO0, &kShapesO2, &kShapesO2FramePointer),
                         [](const auto& shapes) {
                           return shapes.param == &kShapesO0   ? "O0"
                                  : shapes.param == &kShapesO2 ? "O2"
                                                               : "O2FramePointer";
                         });

class Stack : public StackTest {};

TEST_F(Stack, OneCallSiteIsOneNumberAndAnotherIsAnother) {
  std::uint32_t same[3] = {}, other = 0;
  for (std::uint32_t& id : same) {
    kShapesO2.plain(look);
    id = id_;
  }
  kShapesO2.plain(look);
  other = id_;
  EXPECT_NE(same[0], 0u);
  EXPECT_EQ(same[0], same[1]);
  EXPECT_EQ(same[0], same[2]);
  EXPECT_NE(same[0], other);
}

TEST_F(Stack, EveryFrameLiesInAnObjectOfTheTrace) {
  kShapesO2.through_library(look);
  trace::Trace const trace = read();
  std::string all;
  for (std::uint64_t const address : trace.names().stack(id_)) {
    const trace::CodeObject* const object = trace.names().object_at(id_, address);
    ASSERT_NE(object, nullptr) << std::hex << address;
    Dl_info info{};
    ASSERT_NE(dladdr(reinterpret_cast<void*>(address - 1), &info), 0);
    EXPECT_EQ(object->begin, reinterpret_cast<std::uintptr_t>(info.dli_fbase));
    EXPECT_EQ(object->path.front(), '/') << object->path;
    EXPECT_EQ(object->build_id.size(), 20u) << object->path;
    all += object->path + "\n";
  }
  EXPECT_NE(all.find("libc.so.6"), std::string::npos) << all;
  EXPECT_NE(all.find("tidemark_interpose_stack_tests"), std::string::npos) << all;
  EXPECT_LT(trace.names().objects().size(), 6u) << "only what is on stacks";
}

TEST_F(Stack, FramesOfTheObjectThatIsOursAreLeftOut) {
  Stacks stacks;
  ASSERT_TRUE(stacks.start(file_, reinterpret_cast<const void*>(&kShapesO2)).ok());
  Addresses const found = frames(stacks.here(names_));
  ASSERT_FALSE(found.empty());
  for (std::uint64_t const address : found) {
    Dl_info info{};
    ASSERT_NE(dladdr(reinterpret_cast<void*>(address - 1), &info), 0);
    EXPECT_EQ(std::string(info.dli_fname).find("tidemark_interpose_stack_tests"), std::string::npos) << info.dli_fname;
  }
}

}  // namespace
}  // namespace tidemark::interpose
