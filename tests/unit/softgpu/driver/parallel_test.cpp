// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "softgpu/interface/softgpu.h"

namespace {

TEST(Parallel, EveryIndexIsVisitedOnce) {
  for (std::uint64_t count : {0u, 1u, 7u, 1000u, 100'000u})
    for (std::uint64_t grain : {0u, 1u, 64u, 1'000'000u})
      for (int threads : {1, 2, 5}) {
        std::vector<std::atomic<int>> visits(count);
        softgpu_parallel(
            threads, count, grain,
            [](void* state, std::uint64_t first, std::uint64_t last) {
              auto& all = *static_cast<std::vector<std::atomic<int>>*>(state);
              for (std::uint64_t i = first; i < last; ++i) ++all[i];
            },
            &visits);
        for (auto const& visited : visits) ASSERT_EQ(1, visited);
      }
}

}  // namespace
