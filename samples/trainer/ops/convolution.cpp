// SPDX-License-Identifier: Apache-2.0
// Convolutions as matrix products over windows. The windows of a picture are [channels * size^2][pixels out]: too many
// bytes to hold for a batch, so they are made for as many samples, or rows of one, as the workspace takes. A window of
// one pixel needs none: there the picture itself is the matrix.
#include <algorithm>

#include "kernels/elementwise.h"
#include "kernels/image.h"
#include "kernels/loss.h"
#include "samples/trainer/ops/rules.h"

namespace tidemark::trainer {
namespace {

kernels::Windows windows_of(const Sizing& s) {
  const Shape &in = s.input(), &out = s.output();
  const Attributes& a = s.node.attributes;
  return {.channels = in.size[0],
          .height = in.size[1],
          .width = in.size[2],
          .size = a.size,
          .stride = a.stride,
          .pad = a.pad,
          .out_height = out.size[1],
          .out_width = out.size[2]};
}
bool is_pointwise(const Sizing& s) {
  const Attributes& a = s.node.attributes;
  return a.size == 1 && a.stride == 1 && a.pad == 0;
}

// Whole pictures where one fits the limit, else rows of one. Weights' gradients are summed sample by sample and row
// tile by row tile, so that their order is the same for any batch.
struct Tiling {
  std::size_t samples = 1, rows = 1;
};
Tiling tiling_of(const Sizing& s) {
  kernels::Windows const w = windows_of(s);
  std::size_t const together = s.chunk == 0 ? s.samples : std::min(s.chunk, s.samples);
  if (is_pointwise(s)) return {.samples = together, .rows = w.out_height};
  std::size_t const row = w.elements() * w.out_width * kernels::type_bytes(s.type);
  std::size_t const rows = std::clamp<std::size_t>(kWorkspaceLimit / row, 1, w.out_height);
  if (rows < w.out_height) return {.samples = 1, .rows = rows};
  return {.samples = std::clamp<std::size_t>(kWorkspaceLimit / (row * w.out_height), 1, together),
          .rows = w.out_height};
}
std::size_t convolution_workspace(const Sizing& s) {
  if (is_pointwise(s)) return 0;
  kernels::Windows const w = windows_of(s);
  Tiling const tiling = tiling_of(s);
  return tiling.samples * w.elements() * tiling.rows * w.out_width * kernels::type_bytes(s.type);
}

// f(first sample, tile)
template <class F>
void each_tile(const Sizing& s, F f) {
  Tiling const tiling = tiling_of(s);
  std::size_t const height = s.output().size[1];
  for (std::size_t sample = 0; sample < s.samples; sample += tiling.samples)
    for (std::size_t row = 0; row < height; row += tiling.rows)
      f(sample, kernels::WindowTile{.samples = std::min(tiling.samples, s.samples - sample),
                                    .first_row = row,
                                    .rows = std::min(tiling.rows, height - row)});
}

// weight: [out][channels * size^2]; bias: [out], if there is one.
void convolution_forward(Call& call) {
  const Sizing& s = call.sizing;
  kernels::Windows const w = windows_of(s);
  std::size_t const in = s.input().elements(), out = s.output().elements(), channels = s.output().size[0];
  std::size_t const plane = w.out_height * w.out_width, depth = w.elements();
  each_tile(s, [&](std::size_t sample, const kernels::WindowTile& tile) {
    std::size_t const pixels = tile.rows * w.out_width;
    const void* columns = at(call, call.in[0], sample * in);
    if (!is_pointwise(s)) {
      kernels::windows_to_columns(call.stream(), call.type(), w, tile, columns, call.workspace);
      columns = call.workspace;
    }
    call.device.multiply({.rows = channels,
                          .columns = pixels,
                          .depth = depth,
                          .a = call.weight[0],
                          .b = columns,
                          .c = at(call, call.out, sample * out + tile.first_row * w.out_width),
                          .lda = depth,
                          .ldb = pixels,
                          .ldc = plane,
                          .type = call.type(),
                          .result_type = call.type(),
                          .count = tile.samples,
                          .stride_b = depth * pixels,
                          .stride_c = out});
  });
  if (call.parameter[1] != nullptr)
    kernels::add_bias(call.stream(), call.type(), call.out, call.parameter[1],
                      {.outer = s.samples, .channels = channels, .inner = plane});
}

// Of pointwise convolutions a tile is whole pictures, whose pixels are neighbours.
void weight_gradient(Call& call, std::size_t sample, const kernels::WindowTile& tile, const void* columns, bool& add) {
  const Sizing& s = call.sizing;
  kernels::Windows const w = windows_of(s);
  std::size_t const out = s.output().elements(), pixels = tile.rows * w.out_width, depth = w.elements();
  for (std::size_t i = 0; i < tile.samples; ++i) {
    call.device.multiply({.rows = s.output().size[0],
                          .columns = depth,
                          .depth = pixels,
                          .a = at(call, call.dout, (sample + i) * out + tile.first_row * w.out_width),
                          .b = at(call, columns, i * depth * pixels),
                          .c = call.dparameter[0],
                          .lda = w.out_height * w.out_width,
                          .ldb = pixels,
                          .ldc = depth,
                          .transpose_b = true,
                          .beta = add ? 1.0f : 0.0f,
                          .type = call.type()});
    add = true;
  }
}
void input_gradient(Call& call, std::size_t sample, const kernels::WindowTile& tile) {
  const Sizing& s = call.sizing;
  kernels::Windows const w = windows_of(s);
  std::size_t const out = s.output().elements(), pixels = tile.rows * w.out_width, depth = w.elements();
  void* const din = at(call, call.din[0], sample * s.input().elements());
  call.device.multiply({.rows = depth,
                        .columns = pixels,
                        .depth = s.output().size[0],
                        .a = call.weight[0],
                        .b = at(call, call.dout, sample * out + tile.first_row * w.out_width),
                        .c = is_pointwise(s) ? din : call.workspace,
                        .lda = depth,
                        .ldb = w.out_height * w.out_width,
                        .ldc = pixels,
                        .transpose_a = true,
                        .type = call.type(),
                        .result_type = call.type(),
                        .count = tile.samples,
                        .stride_b = out,
                        .stride_c = depth * pixels});
  if (!is_pointwise(s)) kernels::columns_to_windows(call.stream(), call.type(), w, tile, call.workspace, din);
}

void convolution_backward(Call& call) {
  const Sizing& s = call.sizing;
  kernels::Windows const w = windows_of(s);
  bool add = call.accumulate[0];
  each_tile(s, [&](std::size_t sample, const kernels::WindowTile& tile) {
    const void* columns = at(call, call.in[0], sample * s.input().elements());
    if (!is_pointwise(s)) {
      kernels::windows_to_columns(call.stream(), call.type(), w, tile, columns, call.workspace);
      columns = call.workspace;
    }
    weight_gradient(call, sample, tile, columns, add);
    if (call.din[0] != nullptr) input_gradient(call, sample, tile);
  });
  if (call.dparameter[1] != nullptr)
    kernels::sum_to_channels(
        call.stream(), call.type(), call.dout, call.dparameter[1],
        {.shape = {.outer = s.samples, .channels = s.output().size[0], .inner = w.out_height * w.out_width},
         .chunk = s.chunk,
         .accumulate = call.accumulate[1]});
}

}  // namespace

const Rules kConvolutionRules{.name = "conv",
                              .keeps_input = {true, false},
                              .forward_workspace = convolution_workspace,
                              .backward_workspace = convolution_workspace,
                              .forward = convolution_forward,
                              .backward = convolution_backward};

}  // namespace tidemark::trainer
