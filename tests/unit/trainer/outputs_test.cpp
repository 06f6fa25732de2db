// SPDX-License-Identifier: Apache-2.0
#include "samples/trainer/outputs.h"

#include <gtest/gtest.h>

#include "tests/unit/trainer/fixture.h"

namespace tidemark::trainer {
namespace {

TEST(Outputs, OfAnMlpAreItsWidths) {
  ModuleOutputs const outputs = count_outputs(model("mlp", "tiny", {}));
  EXPECT_EQ(outputs.modules, 7u * 512 + 10);
  EXPECT_EQ(outputs.activations, 7u * 512);
}

// Convolutions and norms 22 227 968, the pools 200 704 + 2 048, the head 1 000, projections among the first.
TEST(Outputs, OfResnet50AreWhatTheArticleCounts) {
  ModuleOutputs const outputs = count_outputs(model("resnet", "50", {}));
  EXPECT_EQ(outputs.modules, 22'431'720u);
  EXPECT_EQ(outputs.modules - 200'704 - 2'048 - 1'000, 2u * 11'113'984);
  EXPECT_EQ(outputs.activations, 9'608'704u);
}

}  // namespace
}  // namespace tidemark::trainer
