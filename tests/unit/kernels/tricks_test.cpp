// SPDX-License-Identifier: Apache-2.0
// Kernels of the memory-saving forms, against kernels/reference.h: attention in tiles, Adafactor, losses in place, sums
// in half.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/reference.h"
#include "tests/unit/kernels/fixture.h"

namespace tidemark::kernels {
namespace {

using reference::Numbers;

class Tricks : public testing::TestWithParam<Type> {
 protected:
  Type type = GetParam();
};

// A tile in the middle of the rows of three heads: probabilities, the logarithms beside them, and the probabilities
// once more from scores and logarithms.
TEST_P(Tricks, AttentionInTiles) {
  for (bool const causal : {false, true}) {
    AttentionTile const tile{
        .heads = 3, .rows = 5, .first_row = 7, .length = causal ? 12u : 17u, .log_stride = 17, .causal = causal};
    Numbers const x = draw(3 * 5 * tile.length, 50, 6);
    Tensor const scores(type, x), again(type, x), logs(Type::F32, Numbers(3 * 17, -1.0));
    attention_tile_softmax(nullptr, type, tile, scores.get(), logs.floats());
    Numbers expected, expected_logs(3 * 17, -1.0);
    for (std::size_t row = 0; row < 15; ++row) {
      std::size_t const n = causal ? 7 + row % 5 + 1 : tile.length;
      auto const begin = x.begin() + static_cast<std::ptrdiff_t>(row * tile.length);
      Numbers const part(begin, begin + static_cast<std::ptrdiff_t>(n));
      Numbers p = reference::softmax(part);
      double sum = 0;
      for (double const s : part) sum += std::exp(s);
      expected_logs[row / 5 * 17 + 7 + row % 5] = std::log(sum);
      p.resize(tile.length);
      expected.insert(expected.end(), p.begin(), p.end());
    }
    expect_close(type, scores.read(), expected);
    expect_close(Type::F32, logs.read(), expected_logs);
    attention_tile_again(nullptr, type, tile, again.get(), logs.floats());
    expect_close(type, again.read(), expected);
  }
}

TEST_P(Tricks, RowsThatLieApartAreRounded) {
  Numbers const x = draw(7 * 20, 51);
  Tensor const from(Type::F32, x), to(type, Numbers(7 * 30, 3.0));
  narrow_rows(nullptr, type, {.rows = 7, .width = 11, .from_stride = 20, .to_stride = 30}, from.floats(), to.get());
  Numbers const got = to.read();
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i], i % 30 < 11 ? x[i / 30 * 20 + i % 30] : 3.0) << i;
}

INSTANTIATE_TEST_SUITE_P(
    Types, Tricks, testing::Values(Type::F32, Type::F16, Type::BF16), [](const testing::TestParamInfo<Type>& one) {
      return std::string(one.param == Type::F32 ? "float" : one.param == Type::F16 ? "half" : "bf16");
    });

TEST(Losses, ProbabilitiesMayTakeTheLogitsPlace) {
  Rows const shape{.rows = 9, .width = 41};
  Numbers const logits = draw(shape.rows * shape.width, 52, 5);
  std::vector<std::int32_t> targets(shape.rows);
  for (std::size_t r = 0; r < shape.rows; ++r) targets[r] = static_cast<std::int32_t>(r * 4);
  Tensor const x(Type::F32, logits), losses(Type::F32, shape.rows);
  Block const device_targets(targets);
  cross_entropy_forward(nullptr, Type::F32, x.get(), device_targets.as<std::int32_t>(), x.floats(), losses.floats(),
                        shape);
  auto const expected = reference::cross_entropy(logits, targets, shape);
  expect_close(Type::F32, x.read(), expected.probabilities);
  expect_close(Type::F32, losses.read(), expected.losses);
  cross_entropy_backward(nullptr, Type::F32, x.floats(), device_targets.as<std::int32_t>(), x.get(), shape, 1.0f);
  Numbers gradient = expected.probabilities;
  for (std::size_t r = 0; r < shape.rows; ++r) gradient[r * shape.width + r * 4] -= 1;
  expect_close(Type::F32, x.read(), gradient);
}

// What fp16 does to a sum that is kept in it: beyond 65504 it is infinite; in float the mean is 1.
TEST(Losses, SumsInHalfOverflow) {
  Tensor const out(Type::F32, 1);
  auto const mean = [&](auto total, std::size_t n, double value) {
    Tensor const values(Type::F32, Numbers(n, value));
    total(nullptr, values.floats(), n, 1.0f / static_cast<float>(n), out.floats());
    return out.read()[0];
  };
  EXPECT_EQ(mean(total_naive, 4096, 1.0), 1.0);
  EXPECT_EQ(mean(total_naive, 70000, 1.0), std::numeric_limits<double>::infinity());
  EXPECT_NEAR(mean(total, 70000, 1.0), 1.0, 1e-6);
  // Below it is only rounded.
  EXPECT_NEAR(mean(total_naive, 65535, 0.5), 0.5 * 65536 / 65535, 1e-6);
}

TEST(Optimizers, AdafactorFollowsItsReference) {
  for (std::size_t const rows : {std::size_t{1}, std::size_t{37}}) {
    std::size_t const columns = 71, n = rows * columns;
    Adafactor f{.step = {.rate = 0.01f, .weight_decay = 0.1f, .scale = 0.5f}, .rows = rows, .columns = columns};
    Numbers w = draw(n, 53), row_state(rows == 1 ? 0 : rows), column_state(columns);
    Tensor const weight(Type::F32, w), r(Type::F32, Numbers(rows)), c(Type::F32, Numbers(columns));
    Block const scratch(adafactor_scratch_bytes(rows, columns));
    for (int t = 1; t <= 4; ++t) {
      Numbers const g = draw(n, 54 + static_cast<unsigned>(t), t == 2 ? 20 : 1);
      Tensor const gradient(Type::F32, g);
      f.keep = 1 - std::pow(static_cast<float>(t), -0.8f);
      adafactor_step(nullptr, f, weight.floats(), gradient.floats(),
                     {.rows = rows == 1 ? nullptr : r.floats(), .columns = c.floats(), .scratch = scratch.as<float>()});
      w = reference::adafactor(f, w, g, row_state, column_state);
      Numbers const got = weight.read(), columns_now = c.read();
      for (std::size_t i = 0; i < n; ++i) ASSERT_NEAR(got[i], w[i], 2e-6) << rows << " rows, step " << t << ", " << i;
      for (std::size_t i = 0; i < columns; ++i) ASSERT_NEAR(columns_now[i], column_state[i], 1e-4 * column_state[i]);
    }
  }
}

// Nothing changes where the step is skipped, and a gradient of 0 leaves weights alone instead of dividing by 0.
TEST(Optimizers, AdafactorSkipsAndSurvivesZeros) {
  std::size_t const rows = 3, columns = 5, n = rows * columns;
  Block const flag(std::vector<std::int32_t>{1}), scratch(adafactor_scratch_bytes(rows, columns));
  Tensor const w(Type::F32, Numbers(n, 1.0)), g(Type::F32, Numbers(n, 2.0)), zeros(Type::F32, Numbers(n)),
      r(Type::F32, Numbers(rows)), c(Type::F32, Numbers(columns));
  Adafactor f{.step = {.rate = 0.1f, .skip = flag.as<std::int32_t>()}, .rows = rows, .columns = columns};
  AdafactorState const state{.rows = r.floats(), .columns = c.floats(), .scratch = scratch.as<float>()};
  adafactor_step(nullptr, f, w.floats(), g.floats(), state);
  EXPECT_EQ(w.read(), Numbers(n, 1.0));
  EXPECT_EQ(r.read(), Numbers(rows));
  EXPECT_EQ(c.read(), Numbers(columns));
  f.step.skip = nullptr;
  adafactor_step(nullptr, f, w.floats(), zeros.floats(), state);
  EXPECT_EQ(w.read(), Numbers(n, 1.0));
}

}  // namespace
}  // namespace tidemark::kernels
