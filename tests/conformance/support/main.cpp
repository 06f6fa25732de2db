// SPDX-License-Identifier: Apache-2.0
// A child for a death test begins anew instead of continuing a fork: a CUDA context does not survive one.
#include <gtest/gtest.h>

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  return RUN_ALL_TESTS();
}
