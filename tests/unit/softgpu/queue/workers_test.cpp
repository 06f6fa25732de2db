// SPDX-License-Identifier: Apache-2.0
#include "softgpu/queue/workers.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace tidemark::softgpu {
namespace {

TEST(Workers, EveryIndexIsVisitedOnce) {
  for (std::uint64_t const count : {0u, 1u, 7u, 1000u, 100'003u})
    for (int const workers : {1, 2, 5}) {
      std::vector<std::atomic<int>> seen(count);
      parallel_for(count, 3, workers, [&](std::uint64_t first, std::uint64_t last) {
        for (auto i = first; i < last; ++i) ++seen[i];
      });
      for (auto const& n : seen) ASSERT_EQ(n, 1);
    }
}

TEST(Workers, ManyCallersAtOnce) {
  std::atomic<std::uint64_t> sum{0};
  std::vector<std::thread> callers;
  for (int t = 0; t < 6; ++t)
    callers.emplace_back([&] {
      for (int i = 0; i < 50; ++i)
        parallel_for(1000, 1, 4, [&](std::uint64_t first, std::uint64_t last) { sum += last - first; });
    });
  for (auto& t : callers) t.join();
  EXPECT_EQ(sum, 6u * 50u * 1000u);
}

}  // namespace
}  // namespace tidemark::softgpu
