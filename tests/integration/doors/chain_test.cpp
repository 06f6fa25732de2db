// SPDX-License-Identifier: Apache-2.0
// A program linked to the driver, with us alone and with another tool preloaded before us or behind us.
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#undef __CUDA_API_VERSION_INTERNAL

#include "tests/integration/doors/process.h"

namespace tidemark::doors {
namespace {

std::string order() {
  const char* const text = std::getenv("DOORS_OTHER_TOOL");
  return text == nullptr ? "" : text;
}
// How often the other tool was called; 0 without one.
int& other_calls() {
  static int none = 0;
  auto* const found = static_cast<int*>(plain_dlsym(RTLD_DEFAULT, "other_tool_calls"));
  return found == nullptr ? none : *found;
}

class Chain : public testing::Test {
 protected:
  void SetUp() override {
    driver_.forget();
    other_calls() = 0;
  }
  int calls() const {
    FakeCall last{};
    return driver_.calls(last);
  }
  Fake driver_{"libcuda.so.1"};
};

TEST_F(Chain, ACallGoesThroughWhoeverIsFirstAndArrivesOnce) {
  for (int i = 1; i <= 5; ++i) {
    EXPECT_EQ(cuMemFreeHost(nullptr), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamSynchronize(nullptr), CUDA_SUCCESS);
    EXPECT_EQ(calls(), 2 * i);
    // Behind us the other tool is not asked: what is real is taken from the driver itself.
    EXPECT_EQ(other_calls(), order() == "before" ? 2 * i : 0);
  }
}

TEST_F(Chain, DlsymFindsWhatAPlainCallReaches) {
  auto const found = reinterpret_cast<decltype(&cuMemFreeHost)>(dlsym(RTLD_DEFAULT, "cuMemFreeHost"));
  EXPECT_EQ(found(nullptr), CUDA_SUCCESS);
  EXPECT_EQ(calls(), 1);
  EXPECT_EQ(other_calls(), order() == "before" ? 1 : 0);
}

TEST_F(Chain, TheOtherToolFindsTheNextOfEveryName) {
  if (order().empty()) GTEST_SKIP() << "there is no other tool";
  auto const next_of = reinterpret_cast<void* (*)(const char*)>(plain_dlsym(RTLD_DEFAULT, "other_tool_finds_next"));
  EXPECT_TRUE(is_hook(next_of("cuMemFreeHost")));
  EXPECT_EQ(next_of("cuInit"), driver_.own("cuInit"));
  EXPECT_NE(next_of("malloc"), nullptr);
  EXPECT_EQ(next_of("other_tool_finds_next"), nullptr);
}

}  // namespace
}  // namespace tidemark::doors
