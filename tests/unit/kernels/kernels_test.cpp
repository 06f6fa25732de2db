// SPDX-License-Identifier: Apache-2.0
// Every kernel against kernels/reference.h, in float, half and bfloat16. Sizes are odd: smaller and larger than what a
// block, a warp or a tile takes.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "kernels/generate.h"
#include "kernels/reference.h"
#include "tests/unit/kernels/fixture.h"

namespace tidemark::kernels {
namespace {

using reference::Numbers;

class Kernels : public testing::TestWithParam<Type> {
 protected:
  Type type = GetParam();
  Tensor tensor(const Numbers& values) const { return {type, values}; }
  Tensor empty(std::size_t n) const { return {type, n}; }
  static std::vector<float> floats(const Numbers& values) { return {values.begin(), values.end()}; }
};

TEST_P(Kernels, ActivationsAndTheirSlopes) {
  std::size_t const n = 10007;
  Numbers const x = draw(n, 1, 4), dy = draw(n, 2);
  for (Activation const kind : {Activation::Relu, Activation::Gelu, Activation::Sigmoid, Activation::Tanh}) {
    Tensor const in = tensor(x), out = empty(n), d = tensor(dy), dx = empty(n);
    activation_forward(nullptr, type, kind, in.get(), out.get(), n);
    Numbers expected(n), slopes(n);
    for (std::size_t i = 0; i < n; ++i) expected[i] = reference::activation(kind, x[i]);
    expect_close(type, out.read(), expected);
    activation_backward(nullptr, type, kind, kind == Activation::Gelu ? in.get() : out.get(), d.get(), dx.get(), n);
    Numbers const got = dx.read(), kept = out.read();
    for (std::size_t i = 0; i < n; ++i) {
      // From a rounded output the slope is that of the rounded output.
      double const slope = kind == Activation::Sigmoid ? kept[i] * (1 - kept[i])
                           : kind == Activation::Tanh  ? 1 - kept[i] * kept[i]
                                                       : reference::activation_slope(kind, x[i]);
      ASSERT_NEAR(got[i], dy[i] * slope, tolerance(type, dy[i] * slope) + 1e-6) << i << " x " << x[i];
    }
    activation_forward(nullptr, type, kind, in.get(), in.get(), n);
    EXPECT_EQ(in.read(), out.read()) << "in place";
  }
}

TEST_P(Kernels, SumsAndBiases) {
  std::size_t const n = 5001;
  Numbers const a = draw(n, 1), b = draw(n, 2);
  Tensor const x = tensor(a), y = tensor(b), sum = empty(n);
  add(nullptr, type, x.get(), y.get(), sum.get(), n);
  Numbers expected(n);
  for (std::size_t i = 0; i < n; ++i) expected[i] = a[i] + b[i];
  expect_close(type, sum.read(), expected);
  for (ChannelShape const shape : {ChannelShape{7, 45, 1}, ChannelShape{3, 5, 67}, ChannelShape{1, 1, 9}}) {
    std::size_t const size = shape.outer * shape.channels * shape.inner;
    Numbers const values = draw(size, 3), bias = draw(shape.channels, 4);
    Tensor const t = tensor(values);
    Block const device_bias(floats(bias));
    add_bias(nullptr, type, t.get(), device_bias.as<float>(), shape);
    expect_close(type, t.read(), reference::add_bias(values, bias, shape));
  }
}

TEST_P(Kernels, SumsToChannelsInChunksAndOnTop) {
  for (ChannelShape const shape : {ChannelShape{37, 300, 1}, ChannelShape{6, 5, 77}}) {
    Numbers const x = draw(shape.outer * shape.channels * shape.inner, 5);
    Tensor const t = tensor(x);
    Numbers const expected = reference::sum_to_channels(x, shape);
    for (std::size_t const chunk : {std::size_t{0}, std::size_t{1}, std::size_t{4}}) {
      Tensor const out(Type::F32, Numbers(shape.channels, 3.0));
      sum_to_channels(nullptr, type, t.get(), out.floats(), {.shape = shape, .chunk = chunk});
      Numbers const first = out.read();
      for (std::size_t c = 0; c < shape.channels; ++c) EXPECT_NEAR(first[c], expected[c], 2e-4);
      sum_to_channels(nullptr, type, t.get(), out.floats(), {.shape = shape, .chunk = chunk, .accumulate = true});
      for (std::size_t c = 0; c < shape.channels; ++c) EXPECT_NEAR(out.read()[c], 2 * expected[c], 4e-4);
    }
  }
}

TEST_P(Kernels, DropoutKeepsAShareAndScalesIt) {
  std::size_t const n = 20011;
  Tensor const x = tensor(Numbers(n, 1.5)), y = empty(n), half = empty(n / 2), dx = empty(n);
  Block const mask(n), half_mask(n / 2);
  Dropout const dropout{.rate = 0.25f, .random = {.seed = 3, .purpose = 9, .step = 2}};
  dropout_forward(nullptr, type, dropout, x.get(), y.get(), mask.as<std::uint8_t>(), n);
  auto const kept = mask.read<std::uint8_t>();
  double const share = std::accumulate(kept.begin(), kept.end(), 0.0) / static_cast<double>(n);
  EXPECT_NEAR(share, 0.75, 0.02);
  Numbers const got = y.read();
  for (std::size_t i = 0; i < n; ++i) ASSERT_NEAR(got[i], kept[i] ? 2.0 : 0.0, 1e-6);
  dropout_backward(nullptr, type, 0.25f, mask.as<std::uint8_t>(), x.get(), dx.get(), n);
  EXPECT_EQ(dx.read(), got);
  // The second half of a batch by itself has the second half of the mask.
  Dropout second = dropout;
  second.first = n - n / 2;
  dropout_forward(nullptr, type, second, x.get(), half.get(), half_mask.as<std::uint8_t>(), n / 2);
  auto const part = half_mask.read<std::uint8_t>();
  EXPECT_TRUE(std::equal(part.begin(), part.end(), kept.end() - static_cast<std::ptrdiff_t>(n / 2)));
}

TEST_P(Kernels, CrossEntropy) {
  Rows const shape{.rows = 13, .width = 77};
  Numbers const logits = draw(shape.rows * shape.width, 6, 5);
  std::vector<std::int32_t> targets(shape.rows);
  for (std::size_t r = 0; r < shape.rows; ++r) targets[r] = r == 4 ? -1 : static_cast<std::int32_t>(r * 5);
  Tensor const x = tensor(logits), dx = empty(logits.size()), p(Type::F32, logits.size()),
               losses(Type::F32, shape.rows);
  Block const device_targets(targets);
  cross_entropy_forward(nullptr, type, x.get(), device_targets.as<std::int32_t>(), p.floats(), losses.floats(), shape);
  auto const expected = reference::cross_entropy(logits, targets, shape);
  expect_close(Type::F32, p.read(), expected.probabilities);
  expect_close(Type::F32, losses.read(), expected.losses);
  cross_entropy_backward(nullptr, type, p.floats(), device_targets.as<std::int32_t>(), dx.get(), shape, 0.5f);
  Numbers gradient = expected.probabilities;
  for (std::size_t r = 0; r < shape.rows; ++r)
    for (std::size_t c = 0; c < shape.width; ++c) {
      double& g = gradient[r * shape.width + c];
      g = targets[r] < 0 ? 0 : 0.5 * (g - (static_cast<std::int32_t>(c) == targets[r]));
    }
  expect_close(type, dx.read(), gradient);
}

TEST_P(Kernels, MaskLoss) {
  Rows const shape{.rows = 3, .width = 201};
  Numbers const logits = draw(shape.rows * shape.width, 7, 3);
  std::vector<std::uint8_t> targets(logits.size());
  for (std::size_t i = 0; i < targets.size(); ++i) targets[i] = i % 3 == 0;
  Tensor const x = tensor(logits), p(Type::F32, logits.size()), sums(Type::F32, 2 * shape.rows),
               losses(Type::F32, shape.rows);
  Block const device_targets(targets);
  mask_loss_forward(nullptr, type, x.get(), device_targets.as<std::uint8_t>(), p.floats(), sums.floats(),
                    losses.floats(), shape);
  auto const expected = reference::mask_loss(logits, targets, shape);
  expect_close(Type::F32, p.read(), expected.probabilities);
  Numbers const got = losses.read();
  for (std::size_t r = 0; r < shape.rows; ++r) EXPECT_NEAR(got[r], expected.losses[r], 1e-5);
}

std::vector<std::size_t> places(const ChannelShape& s, std::size_t groups, bool by_sample, bool by_channel) {
  std::vector<std::size_t> of;
  for (std::size_t o = 0; o < s.outer; ++o)
    for (std::size_t c = 0; c < s.channels; ++c)
      for (std::size_t i = 0; i < s.inner; ++i)
        of.push_back(by_sample ? o * groups + c / (s.channels / groups) : by_channel ? c : o);
  return of;
}

TEST_P(Kernels, Normalizations) {
  ChannelShape const s{.outer = 5, .channels = 12, .inner = 35}, rows{.outer = 9, .channels = 70};
  Numbers const gamma = draw(s.channels, 8), beta = draw(s.channels, 9);
  Numbers const x = draw(s.outer * s.channels * s.inner, 10, 3);
  Block const g(floats(gamma)), b(floats(beta));
  Affine const affine{.gamma = g.as<float>(), .beta = b.as<float>()};
  auto const channel = places(s, 1, false, true);
  auto const check = [&](const std::vector<std::size_t>& group, auto run) {
    auto const expected = reference::normalize(x, group, channel, gamma, beta);
    Tensor const in = tensor(x), out = empty(x.size()), mean(Type::F32, expected.mean.size()),
                 inverse(Type::F32, expected.mean.size());
    run(in, out, Moments{.mean = mean.floats(), .inverse = inverse.floats()});
    Numbers const got = out.read(), m = mean.read(), v = inverse.read();
    for (std::size_t i = 0; i < x.size(); ++i)
      EXPECT_NEAR(got[i], expected.y[i], tolerance(type, expected.y[i]) + 4e-6);
    for (std::size_t k = 0; k < m.size(); ++k) {
      EXPECT_NEAR(m[k], expected.mean[k], 1e-6);
      EXPECT_NEAR(v[k], 1 / std::sqrt(expected.variance[k] + 1e-5), 1e-5);
    }
    return expected;
  };
  Tensor const running_mean(Type::F32, Numbers(12, 0.0)), running_variance(Type::F32, Numbers(12, 1.0));
  Running const running{.mean = running_mean.floats(), .variance = running_variance.floats()};
  auto const batch = check(channel, [&](const Tensor& in, const Tensor& out, Moments kept) {
    batch_norm_forward(nullptr, type, s, in.get(), affine, kept, running, out.get());
  });
  double const unbiased = 5 * 35 / (5 * 35 - 1.0);
  for (std::size_t c = 0; c < 12; ++c) {
    EXPECT_NEAR(running_mean.read()[c], 0.1 * batch.mean[c], 1e-6);
    EXPECT_NEAR(running_variance.read()[c], 0.9 + 0.1 * batch.variance[c] * unbiased, 1e-5);
  }
  check(places(s, 4, true, false), [&](const Tensor& in, const Tensor& out, Moments kept) {
    group_norm_forward(nullptr, type, {.shape = s, .groups = 4}, in.get(), affine, kept, out.get());
  });
  Numbers const wide = draw(rows.outer * rows.channels, 11), wide_gamma = draw(70, 12), wide_beta = draw(70, 13);
  auto const expected =
      reference::normalize(wide, places(rows, 1, false, false), places(rows, 1, false, true), wide_gamma, wide_beta);
  Tensor const in = tensor(wide), out = empty(wide.size()), mean(Type::F32, 9), inverse(Type::F32, 9);
  Block const wg(floats(wide_gamma)), wb(floats(wide_beta));
  layer_norm_forward(nullptr, type, rows, in.get(), {.gamma = wg.as<float>(), .beta = wb.as<float>()},
                     {.mean = mean.floats(), .inverse = inverse.floats()}, out.get());
  Numbers const got = out.read();
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], expected.y[i], tolerance(type, expected.y[i]) + 4e-6);
}

Windows windows(std::size_t size, std::size_t stride, std::size_t pad) {
  Windows w{.channels = 3, .height = 11, .width = 9, .size = size, .stride = stride, .pad = pad};
  w.out_height = (w.height + 2 * pad - size) / stride + 1;
  w.out_width = (w.width + 2 * pad - size) / stride + 1;
  return w;
}

// The windows' matrix times the weights is the convolution; in tiles of rows as in one.
TEST_P(Kernels, WindowsAsColumnsGiveTheConvolution) {
  for (Windows const& w : {windows(3, 1, 1), windows(3, 2, 1), windows(1, 2, 0), windows(5, 3, 4), windows(7, 2, 3)}) {
    std::size_t const samples = 2, out_channels = 2, out = w.out_height * w.out_width;
    Numbers const x = draw(samples * w.channels * w.height * w.width, 14);
    Numbers const weights = draw(out_channels * w.elements(), 15);
    Tensor const pixels = tensor(x), columns = empty(samples * w.elements() * out);
    windows_to_columns(nullptr, type, w, {.samples = samples, .first_row = 0, .rows = w.out_height}, pixels.get(),
                       columns.get());
    Numbers const matrix = columns.read();
    Numbers result(samples * out_channels * out);
    for (std::size_t s = 0; s < samples; ++s)
      for (std::size_t k = 0; k < out_channels; ++k)
        for (std::size_t e = 0; e < w.elements(); ++e)
          for (std::size_t i = 0; i < out; ++i)
            result[(s * out_channels + k) * out + i] +=
                weights[k * w.elements() + e] * matrix[(s * w.elements() + e) * out + i];
    expect_close(Type::F32, result, reference::convolve(w, samples, x, weights, out_channels));
    Tensor const tile = empty(w.elements() * w.out_width);
    windows_to_columns(nullptr, type, w, {.samples = 1, .first_row = 1, .rows = 1}, pixels.get(), tile.get());
    Numbers const row = tile.read();
    for (std::size_t e = 0; e < w.elements(); ++e)
      for (std::size_t c = 0; c < w.out_width; ++c)
        ASSERT_EQ(row[e * w.out_width + c], matrix[e * out + w.out_width + c]);
  }
}

// <columns(x), y> = <x, pixels(y)>, for the whole and for tiles one after the other.
TEST_P(Kernels, ColumnsBackToWindowsIsTheTranspose) {
  for (Windows const& w : {windows(3, 1, 1), windows(3, 2, 1), windows(1, 2, 0), windows(5, 3, 4)}) {
    std::size_t const samples = 2, out = w.out_height * w.out_width, in = w.channels * w.height * w.width;
    Numbers const x = draw(samples * in, 16), y = draw(samples * w.elements() * out, 17);
    Tensor const pixels = tensor(x), columns = empty(y.size()), back = tensor(y), gathered = empty(x.size());
    windows_to_columns(nullptr, type, w, {.samples = samples, .rows = w.out_height}, pixels.get(), columns.get());
    columns_to_windows(nullptr, type, w, {.samples = samples, .rows = w.out_height}, back.get(), gathered.get());
    Numbers const a = columns.read(), b = gathered.read();
    double const left = std::inner_product(a.begin(), a.end(), y.begin(), 0.0);
    double const right = std::inner_product(x.begin(), x.end(), b.begin(), 0.0);
    EXPECT_NEAR(left, right, type == Type::F32 ? 1e-3 : type == Type::F16 ? 0.3 : 2.0);
    // Row by row, of one sample.
    Tensor const sum = empty(in);
    for (std::size_t r = 0; r < w.out_height; ++r) {
      Numbers part;
      for (std::size_t e = 0; e < w.elements(); ++e)
        for (std::size_t c = 0; c < w.out_width; ++c) part.push_back(y[e * out + r * w.out_width + c]);
      Tensor const one = tensor(part);
      columns_to_windows(nullptr, type, w, {.samples = 1, .first_row = r, .rows = 1}, one.get(), sum.get());
    }
    Numbers const summed = sum.read();
    for (std::size_t i = 0; i < in; ++i)
      ASSERT_NEAR(summed[i], b[i], type == Type::F32 ? 1e-5 : 12 * tolerance(type, std::abs(b[i]) + 8));
  }
}

TEST_P(Kernels, PoolingAndChangesOfSize) {
  std::size_t const samples = 2;
  for (Windows const& w : {windows(2, 2, 0), windows(3, 2, 1)}) {
    Numbers const x = draw(samples * w.channels * w.height * w.width, 18);
    std::size_t const out = samples * w.channels * w.out_height * w.out_width;
    Tensor const in = tensor(x), y = empty(out), dx = empty(x.size());
    Block const which(out * 4);
    max_pool_forward(nullptr, type, w, samples, in.get(), y.get(), which.as<std::int32_t>());
    EXPECT_EQ(y.read(), reference::max_pool(w, samples, x));
    auto const place = which.read<std::int32_t>();
    Numbers const dy = draw(out, 19);
    Tensor const d = tensor(dy);
    max_pool_backward(nullptr, type, w, samples, which.as<std::int32_t>(), d.get(), dx.get());
    Numbers expected(x.size());
    for (std::size_t i = 0; i < out; ++i) {
      std::size_t const plane = i / (w.out_height * w.out_width);
      expected[plane * w.height * w.width + static_cast<std::size_t>(place[i])] += dy[i];
    }
    expect_close(type, dx.read(), expected);
  }
  Numbers const x = draw(6 * 5 * 7, 20);
  Tensor const in = tensor(x), large = empty(4 * x.size()), means = empty(6);
  upsample_forward(nullptr, type, 6, 5, 7, in.get(), large.get());
  expect_close(type, large.read(), reference::upsample(6, 5, 7, x));
  mean_of_planes(nullptr, type, 6, 35, in.get(), means.get());
  Numbers expected(6);
  for (std::size_t i = 0; i < x.size(); ++i) expected[i / 35] += x[i] / 35;
  expect_close(type, means.read(), expected);
}

TEST_P(Kernels, EmbeddingsAddWordAndPlace) {
  Embedding const e{.samples = 3, .length = 5, .width = 70};
  Numbers const table = draw(11 * 70, 21), positions = draw(5 * 70, 22), dy = draw(15 * 70, 23);
  std::vector<std::int32_t> tokens(15);
  for (std::size_t i = 0; i < 15; ++i) tokens[i] = static_cast<std::int32_t>(i * i % 11);
  Block const device_tokens(tokens);
  Tensor const words = tensor(table), places_ = tensor(positions), y = empty(dy.size()), d = tensor(dy),
               dwords(Type::F32, Numbers(table.size())), dplaces(Type::F32, Numbers(positions.size()));
  embed_forward(nullptr, type, e, device_tokens.as<std::int32_t>(), words.get(), places_.get(), y.get());
  Numbers expected(dy.size()), word_gradient(table.size()), place_gradient(positions.size());
  for (std::size_t i = 0; i < dy.size(); ++i) {
    std::size_t const row = i / 70, word = static_cast<std::size_t>(tokens[row]) * 70 + i % 70;
    expected[i] = table[word] + positions[row % 5 * 70 + i % 70];
    word_gradient[word] += dy[i];
    place_gradient[row % 5 * 70 + i % 70] += dy[i];
  }
  expect_close(type, y.read(), expected);
  embed_backward(nullptr, type, e, device_tokens.as<std::int32_t>(), d.get(), dwords.floats(), dplaces.floats());
  expect_close(Type::F32, dwords.read(), word_gradient);
  expect_close(Type::F32, dplaces.read(), place_gradient);
}

TEST_P(Kernels, AttentionRows) {
  for (bool const causal : {false, true}) {
    Attention const a{.rows = 18, .length = 9, .causal = causal};
    Numbers const x = draw(18 * 9, 24);
    Tensor const scores = tensor(x);
    attention_softmax(nullptr, type, a, scores.get());
    Numbers expected;
    for (std::size_t r = 0; r < 18; ++r) {
      std::size_t const n = causal ? r % 9 + 1 : 9;
      auto const begin = x.begin() + static_cast<std::ptrdiff_t>(r * 9);
      Numbers p = reference::softmax({begin, begin + static_cast<std::ptrdiff_t>(n)});
      p.resize(9);
      expected.insert(expected.end(), p.begin(), p.end());
    }
    expect_close(type, scores.read(), expected);
  }
}

TEST_P(Kernels, RecurrentCells) {
  std::size_t const s = 3, h = 37;
  Numbers const sums = draw(s * 4 * h, 25), before = draw(s * h, 26), state = draw(s * 3 * h, 27);
  Block const zeros(std::vector<float>(4 * h, 0.0f)), from_state(floats(state));
  Cell const cell{.samples = s, .width = h, .gate_stride = 4 * h, .state_stride = h};
  Tensor const gates = tensor(sums), cell_before = tensor(before), after = empty(s * h), hidden = empty(s * h);
  lstm_forward(nullptr, type, cell,
               {.gates = gates.get(),
                .bias_input = zeros.as<float>(),
                .bias_state = zeros.as<float>(),
                .cell_before = cell_before.get(),
                .cell = after.get(),
                .hidden = hidden.get()});
  Tensor const gru_gates = tensor(sums), gru_hidden = empty(s * h);
  gru_forward(nullptr, type, cell,
              {.gates = gru_gates.get(),
               .from_state = from_state.as<float>(),
               .bias_input = zeros.as<float>(),
               .bias_state = zeros.as<float>(),
               .hidden_before = cell_before.get(),
               .hidden = gru_hidden.get()});
  Numbers cells, lstm, gru;
  auto const part = [](const Numbers& from, std::size_t first, std::size_t n) {
    auto const at = from.begin() + static_cast<std::ptrdiff_t>(first);
    return Numbers(at, at + static_cast<std::ptrdiff_t>(n));
  };
  for (std::size_t i = 0; i < s; ++i) {
    auto const next = reference::lstm_cell(part(sums, i * 4 * h, 4 * h), part(before, i * h, h));
    cells.insert(cells.end(), next.cell.begin(), next.cell.end());
    lstm.insert(lstm.end(), next.hidden.begin(), next.hidden.end());
    Numbers input = part(sums, i * 4 * h + h, 2 * h), n = part(sums, i * 4 * h, h);  // n, r, z -> r, z, n
    input.insert(input.end(), n.begin(), n.end());
    Numbers const one = reference::gru_cell(input, part(state, i * 3 * h, 3 * h), part(before, i * h, h));
    gru.insert(gru.end(), one.begin(), one.end());
  }
  expect_close(type, after.read(), cells);
  expect_close(type, hidden.read(), lstm);
  expect_close(type, gru_hidden.read(), gru);
}

INSTANTIATE_TEST_SUITE_P(
    Types, Kernels, testing::Values(Type::F32, Type::F16, Type::BF16), [](const testing::TestParamInfo<Type>& one) {
      return std::string(one.param == Type::F32 ? "fp32" : one.param == Type::F16 ? "fp16" : "bf16");
    });

TEST(Optimizers, AdamInOnePassAndInThree) {
  std::size_t const n = 5003;
  auto const w = draw(n, 30), g = draw(n, 31);
  for (bool const decoupled : {false, true}) {
    Adam adam{.step = {.rate = 0.01f, .weight_decay = 0.1f, .scale = 0.5f}, .decoupled = decoupled};
    Tensor const one(Type::F32, w), three(Type::F32, w), gradient(Type::F32, g), divisor(Type::F32, n);
    Tensor const m1(Type::F32, Numbers(n)), v1(Type::F32, Numbers(n)), m3(Type::F32, Numbers(n)),
        v3(Type::F32, Numbers(n));
    std::vector<reference::Moment> expected(n);
    for (std::size_t i = 0; i < n; ++i) expected[i].weight = w[i];
    for (int t = 1; t <= 3; ++t) {
      adam.correction1 = 1 - std::pow(adam.beta1, static_cast<float>(t));
      adam.correction2 = 1 - std::pow(adam.beta2, static_cast<float>(t));
      adam_step(nullptr, adam, one.floats(), gradient.floats(), m1.floats(), v1.floats(), n);
      adam_moments(nullptr, adam, three.floats(), gradient.floats(), m3.floats(), v3.floats(), n);
      adam_denominator(nullptr, adam, v3.floats(), divisor.floats(), n);
      adam_apply(nullptr, adam, three.floats(), m3.floats(), divisor.floats(), n);
      for (std::size_t i = 0; i < n; ++i) expected[i] = reference::adam(adam, expected[i], g[i]);
    }
    Numbers const got = one.read();
    EXPECT_EQ(got, three.read());
    for (std::size_t i = 0; i < n; ++i) ASSERT_NEAR(got[i], expected[i].weight, 2e-5);
  }
}

// The first step is exact: it computes with what the states become before they are rounded. Later ones differ by a part
// of the rate, since a byte holds a root to half a step of 127 (or of 255).
TEST(Optimizers, AdamWithStatesOfAByteStaysNear) {
  std::size_t const n = 1003;
  auto const w = draw(n, 40);
  Adam adam{.step = {.rate = 0.01f}};
  Tensor const exact(Type::F32, w), small(Type::F32, w), m(Type::F32, Numbers(n)), v(Type::F32, Numbers(n));
  Block const small_m(std::vector<std::uint8_t>(small_state_bytes(n))),
      small_v(std::vector<std::uint8_t>(small_state_bytes(n)));
  EXPECT_EQ(small_state_bytes(n), 4 * 4 + n);
  for (int t = 1; t <= 5; ++t) {
    Tensor const g(Type::F32, draw(n, 41 + static_cast<unsigned>(t)));
    adam.correction1 = 1 - std::pow(adam.beta1, static_cast<float>(t));
    adam.correction2 = 1 - std::pow(adam.beta2, static_cast<float>(t));
    adam_step(nullptr, adam, exact.floats(), g.floats(), m.floats(), v.floats(), n);
    adam_small_step(nullptr, adam, small.floats(), g.floats(), small_m.get(), small_v.get(), n);
    Numbers const a = exact.read(), b = small.read();
    double worst = 0;
    for (std::size_t i = 0; i < n; ++i) worst = std::max(worst, std::abs(a[i] - b[i]));
    EXPECT_LE(worst, t == 1 ? 1e-7 : 0.01 * 0.25 * t) << "step " << t;
  }
}

TEST(Optimizers, StepsAreSkippedWhereTheFlagIsSet) {
  std::size_t const n = 100;
  Tensor const w(Type::F32, Numbers(n, 1.0)), g(Type::F32, Numbers(n, 2.0)), v(Type::F32, Numbers(n, 0.5));
  Block const flag(std::vector<std::int32_t>{0});
  Step const step{.rate = 0.25f, .skip = flag.as<std::int32_t>()};
  sgd_step(nullptr, step, w.floats(), g.floats(), n);
  EXPECT_EQ(w.read(), Numbers(n, 0.5));
  momentum_step(nullptr, step, 0.5f, w.floats(), g.floats(), v.floats(), n);
  EXPECT_EQ(v.read(), Numbers(n, 2.25));
  EXPECT_EQ(w.read(), Numbers(n, 0.5 - 0.25 * 2.25));
  flag_not_finite(nullptr, w.floats(), n, flag.as<std::int32_t>());
  EXPECT_EQ(flag.read<std::int32_t>()[0], 0);
  for (double const bad : {std::numeric_limits<double>::infinity(), std::nan("")}) {
    Numbers values(n, 1.0);
    values[71] = bad;
    Tensor const t(Type::F32, values);
    must(cudaMemset(flag.get(), 0, 4));
    flag_not_finite(nullptr, t.floats(), n, flag.as<std::int32_t>());
    EXPECT_EQ(flag.read<std::int32_t>()[0], 1);
  }
  sgd_step(nullptr, step, w.floats(), g.floats(), n);
  EXPECT_EQ(w.read(), Numbers(n, 0.5 - 0.25 * 2.25)) << "the flag is set";
}

// ---- drawn numbers
// ---------------------------------------------------------------------------------------------------

TEST(Drawn, HaveTheAskedMoments) {
  std::size_t const n = 100003;
  Tensor const uniform(Type::F32, n), normal(Type::F32, n);
  fill_uniform(nullptr, uniform.floats(), n, 0.5f, {.seed = 1, .purpose = 2});
  fill_normal(nullptr, normal.floats(), n, 0.5f, {.seed = 1, .purpose = 3});
  for (auto const& [tensor, variance] : {std::pair{&uniform, 0.25 / 3}, std::pair{&normal, 0.25}}) {
    Numbers const x = tensor->read();
    double const mean = std::accumulate(x.begin(), x.end(), 0.0) / n;
    double const squares = std::inner_product(x.begin(), x.end(), x.begin(), 0.0) / n;
    EXPECT_NEAR(mean, 0, 0.01);
    EXPECT_NEAR(squares, variance, 0.01);
  }
}

TEST(Drawn, ASampleIsKnownByItsNumber) {
  Picture const picture{.channels = 3, .height = 6, .width = 7, .classes = 5};
  std::size_t const size = 3 * 6 * 7;
  Tensor const all(Type::F32, 8 * size), half(Type::F32, 4 * size);
  draw_pictures(nullptr, Type::F32, {.first = 100, .count = 8, .seed = 4}, picture, all.get());
  draw_pictures(nullptr, Type::F32, {.first = 104, .count = 4, .seed = 4}, picture, half.get());
  Numbers const a = all.read(), b = half.read();
  EXPECT_TRUE(std::equal(b.begin(), b.end(), a.begin() + static_cast<std::ptrdiff_t>(4 * size)));
  Block const text(8 * 6 * 4), next(8 * 6 * 4);
  draw_text(nullptr, {.first = 0, .count = 8, .seed = 4}, {.length = 6, .vocabulary = 9}, text.as<std::int32_t>(),
            next.as<std::int32_t>());
  auto const inputs = text.read<std::int32_t>(), targets = next.read<std::int32_t>();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    EXPECT_TRUE(inputs[i] >= 0 && inputs[i] < 9);
    if (i % 6 == 5) continue;
    EXPECT_EQ(targets[i], inputs[i + 1]);
  }
}

}  // namespace
}  // namespace tidemark::kernels
