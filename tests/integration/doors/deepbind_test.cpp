// SPDX-License-Identifier: Apache-2.0
// A program that knows nothing of CUDA opens a plugin with RTLD_DEEPBIND: what it looks up, it finds in its own
// libraries first. Only the second door reaches it; with the first it runs untouched.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/integration/doors/own_trace.h"

namespace tidemark::doors {
namespace {

bool second_door() {
  return std::getenv("DOORS_SONAME") != nullptr;
}

void try_plugin(int flags, bool seen) {
  void* const plugin = dlopen(DOORS_PLUGIN, flags);
  ASSERT_NE(plugin, nullptr) << dlerror();
  auto const take = reinterpret_cast<unsigned long long (*)(std::size_t, int)>(dlsym(plugin, "plugin_take"));
  auto const give_back = reinterpret_cast<int (*)(unsigned long long, int)>(dlsym(plugin, "plugin_give_back"));
  for (int const by_driver : {0, 1}) {
    unsigned long long const block = take(70'000, by_driver);
    ASSERT_NE(block, 0u);
    if (seen) {
      OwnTrace const own = read_own_trace();
      ASSERT_NE(own.find(trace::Space::Memory, block), nullptr);
      EXPECT_EQ(own.live.size(), 1u);
    }
    EXPECT_EQ(give_back(block, by_driver), 0);
    if (seen) {
      OwnTrace const own = read_own_trace();
      EXPECT_TRUE(own.live.empty());
      EXPECT_EQ(own.trouble, "");
    }
  }
  if (seen) {
    EXPECT_EQ(read_own_trace().totals.allocations, 2u);
  }
}

TEST(DeepBind, APluginWithItsOwnScope) {
  try_plugin(RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND, second_door());
}

}  // namespace
}  // namespace tidemark::doors
