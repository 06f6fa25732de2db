// SPDX-License-Identifier: Apache-2.0
// A linear layer and the cross-entropy of what it makes, some rows of logits at a time. Nothing of them is kept: the
// backward pass makes each chunk's logits once more, and turns them into their gradient in place.
#include "kernels/loss.h"
#include "samples/trainer/ops/linear.h"
#include "samples/trainer/ops/rules.h"

namespace tidemark::trainer {
namespace {

struct Head {
  std::size_t moments = 1, width = 0, classes = 0, rows_at_once = 0;
};
Head head_of(const Sizing& s) {
  const Shape& x = s.input();
  std::size_t const moments = x.rank == 2 ? x.size[0] : 1, together = s.chunk == 0 ? s.samples : s.chunk;
  return {.moments = moments,
          .width = x.elements() / moments,
          .classes = s.node.attributes.classes,
          .rows_at_once = std::min(s.node.attributes.row_chunk, together * moments)};
}
std::size_t aligned(std::size_t bytes) {
  return (bytes + 255) / 256 * 256;
}

std::vector<Extra> extras(const Sizing& s) {
  return {{.size_bytes = s.samples * head_of(s).moments * 4, .kept = false}};
}
// Logits in float.
std::size_t forward_workspace(const Sizing& s) {
  Head const h = head_of(s);
  return h.rows_at_once * h.classes * 4;
}
// Beside them losses that nobody reads, and in 16 bits the gradient.
std::size_t backward_workspace(const Sizing& s) {
  Head const h = head_of(s);
  return aligned(forward_workspace(s)) + aligned(h.rows_at_once * 4) +
         (s.type == Type::F32 ? 0 : h.rows_at_once * h.classes * kernels::type_bytes(s.type));
}

// f(first row, rows): no chunk reaches from one chunk of samples into the next.
template <class F>
void each_rows(const Call& call, const Head& h, F f) {
  each_chunk(call, [&](std::size_t sample, std::size_t samples) {
    std::size_t const end = (sample + samples) * h.moments;
    for (std::size_t first = sample * h.moments; first < end; first += h.rows_at_once)
      f(first, std::min(h.rows_at_once, end - first));
  });
}

struct Judging {
  float* logits = nullptr;  // probabilities afterwards
  const std::int32_t* targets = nullptr;
  float* losses = nullptr;
};
void judge(Call& call, const Head& h, std::size_t first, std::size_t rows, const Judging& j) {
  multiply_rows(call, {rows, h.width, h.classes}, at(call, call.in[0], first * h.width), j.logits, Type::F32);
  if (call.parameter[1] != nullptr)
    kernels::add_bias(call.stream(), Type::F32, j.logits, call.parameter[1], {.outer = rows, .channels = h.classes});
  kernels::cross_entropy_forward(call.stream(), Type::F32, j.logits, j.targets, j.logits, j.losses,
                                 {.rows = rows, .width = h.classes});
}

void forward(Call& call) {
  Head const h = head_of(call.sizing);
  auto* const losses = static_cast<float*>(call.extra[0]);
  auto* const logits = static_cast<float*>(call.workspace);
  const auto* const targets = static_cast<const std::int32_t*>(call.in[1]);
  each_rows(call, h, [&](std::size_t first, std::size_t rows) {
    judge(call, h, first, rows, {.logits = logits, .targets = targets + first, .losses = losses + first});
  });
  mean_of_losses(call, losses, call.samples() * h.moments);
}

void backward(Call& call) {
  Head const h = head_of(call.sizing);
  auto* const base = static_cast<std::byte*>(call.workspace);
  auto* const logits = reinterpret_cast<float*>(base);
  auto* const losses = reinterpret_cast<float*>(base + aligned(forward_workspace(call.sizing)));
  void* const dlogits = call.type() == Type::F32
                            ? static_cast<void*>(logits)
                            : static_cast<void*>(reinterpret_cast<std::byte*>(losses) + aligned(h.rows_at_once * 4));
  const auto* const all_targets = static_cast<const std::int32_t*>(call.in[1]);
  float const scale = call.loss_scale / static_cast<float>(call.batch * h.moments);
  bool add = call.accumulate[0], add_bias = call.accumulate[1];
  each_rows(call, h, [&](std::size_t first, std::size_t rows) {
    const std::int32_t* const targets = all_targets + first;
    judge(call, h, first, rows, {.logits = logits, .targets = targets, .losses = losses});
    kernels::cross_entropy_backward(call.stream(), call.type(), logits, targets, dlogits,
                                    {.rows = rows, .width = h.classes}, scale);
    LinearRows const shape{rows, h.width, h.classes};
    multiply_to_input(call, shape, dlogits, at(call, call.din[0], first * h.width));
    multiply_to_weight(call, shape, dlogits, at(call, call.in[0], first * h.width), add);
    if (call.dparameter[1] != nullptr)
      kernels::sum_to_channels(call.stream(), call.type(), dlogits, call.dparameter[1],
                               {.shape = {.outer = rows, .channels = h.classes}, .accumulate = add_bias});
    add = add_bias = true;
  });
}

}  // namespace

const Rules kChunkedCrossEntropyRules{.name = "chunked cross-entropy",
                                      .keeps_input = {true, true},
                                      .extras = extras,
                                      .forward_workspace = forward_workspace,
                                      .backward_workspace = backward_workspace,
                                      .forward = forward,
                                      .backward = backward};

}  // namespace tidemark::trainer
