// SPDX-License-Identifier: Apache-2.0
// The capacity among a card's properties, as callers of CUDA 12's runtime get it: in two structures, at one place.
#include <cstring>

#include "tests/integration/doors/process.h"

namespace tidemark::doors {
namespace {

constexpr std::size_t kCapacityAt = 288;
constexpr std::uint64_t kGiB = 1 << 30;

int answer(void* out, int) {
  std::uint64_t const capacity = 4 * kGiB;
  std::memcpy(static_cast<char*>(out) + kCapacityAt, &capacity, sizeof capacity);
  return 0;
}

TEST(LimitRuntime12, BothFormsOfThePropertiesAreCorrected) {
  Fake const runtime("libcudart.so.12"), driver("libcuda.so.1");
  for (const char* const name : {"cudaGetDeviceProperties", "cudaGetDeviceProperties_v2"}) {
    auto const replaced = runtime.replace(name, &answer);
    for (void* const way : {dlsym(runtime.handle(), name), exported(name, "libcudart.so.12")}) {
      ASSERT_TRUE(is_hook(way)) << name;
      unsigned char properties[1100] = {};
      EXPECT_EQ(reinterpret_cast<int (*)(void*, int)>(way)(properties, 0), 0);
      std::uint64_t capacity = 0;
      std::memcpy(&capacity, properties + kCapacityAt, sizeof capacity);
      EXPECT_EQ(capacity, kGiB) << name;
    }
  }
}

}  // namespace
}  // namespace tidemark::doors
