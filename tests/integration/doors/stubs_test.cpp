// SPDX-License-Identifier: Apache-2.0
// A program linked to a framework that exports CUDA's names itself. The calls arrive, once, whether or not the
// framework has opened the libraries yet.
#include "tests/integration/doors/process.h"

extern "C" {
int cuMemAlloc_v2(void* out, std::size_t bytes);
int cuMemFree_v2(std::size_t block);
int cuStreamSynchronize(void* stream);
int cudaMalloc(void* out, std::size_t bytes);
int cudaDeviceSynchronize();
}

namespace tidemark::doors {
namespace {

int calls_of(const char* library, const char* symbol) {
  FakeCall last{};
  int const calls = Fake(library).calls(last);
  EXPECT_STREQ(last.symbol, symbol);
  Fake(library).forget();
  return calls;
}
bool is_loaded(const char* library) {
  return dlopen(library, RTLD_NOW | RTLD_NOLOAD) != nullptr;
}

// These run in this order, in one process.
TEST(Stubs, TheFirstCallLoadsTheDriverAndArrivesOnce) {
  ASSERT_FALSE(is_loaded("libcuda.so.1"));
  EXPECT_EQ(cuStreamSynchronize(nullptr), 0);
  ASSERT_TRUE(is_loaded("libcuda.so.1"));
  EXPECT_EQ(calls_of("libcuda.so.1", "cuStreamSynchronize"), 1);
}

TEST(Stubs, LaterCallsArriveOnce) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(cuStreamSynchronize(nullptr), 0);
    EXPECT_EQ(calls_of("libcuda.so.1", "cuStreamSynchronize"), 1);
  }
}

TEST(Stubs, TheFirstCallOfARuntimeThatIsNotThereYet) {
  ASSERT_FALSE(is_loaded("libcudart.so.13"));
  EXPECT_EQ(cudaDeviceSynchronize(), 0);
  EXPECT_EQ(calls_of("libcudart.so.13", "cudaDeviceSynchronize"), 1);
  void* block = nullptr;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(cudaMalloc(&block, 1), 0);
    EXPECT_EQ(calls_of("libcudart.so.13", "cudaMalloc"), 1);
  }
}

}  // namespace
}  // namespace tidemark::doors
