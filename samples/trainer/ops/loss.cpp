// SPDX-License-Identifier: Apache-2.0
// Losses: the mean over the step's samples and, for sequences, moments. Inputs are what is judged and the targets.
#include "kernels/loss.h"

#include "samples/trainer/ops/rules.h"

namespace tidemark::trainer {
namespace {

// One row per target of cross-entropy; one per sample otherwise.
kernels::Rows target_rows(const Sizing& s) {
  const Shape& logits = s.input();
  std::size_t const per_sample = logits.rank == 2 ? logits.size[0] : 1;
  return {.rows = s.samples * per_sample, .width = logits.elements() / per_sample};
}
kernels::Rows sample_rows(const Sizing& s) {
  return {.rows = s.samples, .width = s.input().elements()};
}
float mean_over(const Call& call, std::size_t rows) {
  std::size_t const per_sample = rows / call.samples();
  return 1.0f / static_cast<float>(call.batch * per_sample);
}

std::vector<Extra> cross_entropy_extras(const Sizing& s) {
  kernels::Rows const rows = target_rows(s);
  return {{.size_bytes = rows.rows * rows.width * 4}, {.size_bytes = rows.rows * 4, .kept = false}};
}
void cross_entropy_forward(Call& call) {
  kernels::Rows const rows = target_rows(call.sizing);
  auto* const losses = static_cast<float*>(call.extra[1]);
  kernels::cross_entropy_forward(call.stream(), call.type(), call.in[0], static_cast<const std::int32_t*>(call.in[1]),
                                 static_cast<float*>(call.extra[0]), losses, rows);
  mean_of_losses(call, losses, rows.rows);
}
void cross_entropy_backward(Call& call) {
  kernels::Rows const rows = target_rows(call.sizing);
  kernels::cross_entropy_backward(call.stream(), call.type(), static_cast<const float*>(call.extra[0]),
                                  static_cast<const std::int32_t*>(call.in[1]), call.din[0], rows,
                                  mean_over(call, rows.rows) * call.loss_scale);
}

std::vector<Extra> mask_loss_extras(const Sizing& s) {
  kernels::Rows const rows = sample_rows(s);
  return {{.size_bytes = rows.rows * rows.width * 4},
          {.size_bytes = rows.rows * 8},
          {.size_bytes = rows.rows * 4, .kept = false}};
}
void mask_loss_forward(Call& call) {
  kernels::Rows const rows = sample_rows(call.sizing);
  auto* const losses = static_cast<float*>(call.extra[2]);
  kernels::mask_loss_forward(call.stream(), call.type(), call.in[0], static_cast<const std::uint8_t*>(call.in[1]),
                             static_cast<float*>(call.extra[0]), static_cast<float*>(call.extra[1]), losses, rows);
  mean_of_losses(call, losses, rows.rows);
}
void mask_loss_backward(Call& call) {
  kernels::Rows const rows = sample_rows(call.sizing);
  kernels::mask_loss_backward(call.stream(), call.type(), static_cast<const float*>(call.extra[0]),
                              static_cast<const float*>(call.extra[1]), static_cast<const std::uint8_t*>(call.in[1]),
                              call.din[0], rows, mean_over(call, rows.rows) * call.loss_scale);
}

kernels::Stream projection_stream(const Call& call) {
  return {.seed = call.seed, .purpose = kProjectionPurpose};
}
std::vector<Extra> projection_extras(const Sizing& s) {
  return {{.size_bytes = s.samples * 4, .kept = false}};
}
void projection_forward(Call& call) {
  kernels::Rows const rows = sample_rows(call.sizing);
  auto* const losses = static_cast<float*>(call.extra[0]);
  kernels::projection_forward(call.stream(), call.type(), call.in[0], losses, rows, projection_stream(call));
  mean_of_losses(call, losses, rows.rows);
}
void projection_backward(Call& call) {
  kernels::Rows const rows = sample_rows(call.sizing);
  kernels::projection_backward(call.stream(), call.type(), call.din[0], rows, projection_stream(call),
                               mean_over(call, rows.rows) * call.loss_scale);
}

}  // namespace

void mean_of_losses(Call& call, const float* losses, std::size_t rows) {
  auto* const out = static_cast<float*>(call.out);
  if (call.naive_sums) return kernels::total_naive(call.stream(), losses, rows, mean_over(call, rows), out);
  kernels::total(call.stream(), losses, rows, mean_over(call, rows), out);
}

const Rules kCrossEntropyRules{.name = "cross-entropy",
                               .keeps_input = {false, true},
                               .extras = cross_entropy_extras,
                               .forward = cross_entropy_forward,
                               .backward = cross_entropy_backward};
const Rules kMaskLossRules{.name = "mask-loss",
                           .keeps_input = {false, true},
                           .extras = mask_loss_extras,
                           .forward = mask_loss_forward,
                           .backward = mask_loss_backward};
const Rules kProjectionRules{
    .name = "projection", .extras = projection_extras, .forward = projection_forward, .backward = projection_backward};

}  // namespace tidemark::trainer
