// SPDX-License-Identifier: Apache-2.0
// Batch, group and layer normalisation. Parameters: gamma and beta, one of each per channel.
#include "kernels/normalize.h"

#include "samples/trainer/ops/rules.h"

namespace tidemark::trainer {
namespace {

// Channels of a picture, or the features of anything else.
kernels::ChannelShape channel_shape(const Sizing& s) {
  const Shape& x = s.input();
  return {.outer = s.samples * x.elements() / x.channels() / (x.rank == 3 ? x.size[1] * x.size[2] : 1),
          .channels = x.channels(),
          .inner = x.rank == 3 ? x.size[1] * x.size[2] : 1};
}
kernels::Affine affine_of(const Call& call) {
  return {.gamma = call.parameter[0], .beta = call.parameter[1]};
}
kernels::Moments moments_of(const Call& call) {
  return {.mean = static_cast<float*>(call.extra[0]), .inverse = static_cast<float*>(call.extra[1])};
}
kernels::AffineGradient gradient_of(const Call& call, std::size_t rows_per_sample) {
  return {.gamma = call.dparameter[0],
          .beta = call.dparameter[1],
          .accumulate = call.accumulate[0],
          .chunk = call.chunk() * rows_per_sample};
}
std::vector<Extra> two_of(std::size_t count) {
  return {{.size_bytes = count * 4}, {.size_bytes = count * 4}};
}

std::vector<Extra> batch_norm_extras(const Sizing& s) {
  return two_of(s.input().channels());
}
void batch_norm_forward(Call& call) {
  kernels::Running running{.mean = call.statistic[0], .variance = call.statistic[1]};
  if (!call.training)
    return kernels::batch_norm_evaluate(call.stream(), call.type(), channel_shape(call.sizing), call.in[0],
                                        affine_of(call), running, call.out);
  if (!call.update_statistics) running = {};
  kernels::batch_norm_forward(call.stream(), call.type(), channel_shape(call.sizing), call.in[0], affine_of(call),
                              moments_of(call), running, call.out);
}
void batch_norm_backward(Call& call) {
  kernels::batch_norm_backward(call.stream(), call.type(), channel_shape(call.sizing), call.in[0], call.dout,
                               affine_of(call), moments_of(call), gradient_of(call, 1), call.din[0]);
}

kernels::GroupShape group_shape(const Sizing& s) {
  return {.shape = channel_shape(s), .groups = s.node.attributes.groups};
}
std::vector<Extra> group_norm_extras(const Sizing& s) {
  return two_of(channel_shape(s).outer * s.node.attributes.groups);
}
void group_norm_forward(Call& call) {
  kernels::group_norm_forward(call.stream(), call.type(), group_shape(call.sizing), call.in[0], affine_of(call),
                              moments_of(call), call.out);
}
void group_norm_backward(Call& call) {
  kernels::GroupShape const shape = group_shape(call.sizing);
  kernels::group_norm_backward(call.stream(), call.type(), shape, call.in[0], call.dout, affine_of(call),
                               moments_of(call), call.din[0]);
  kernels::group_norm_parameters(call.stream(), call.type(), shape, call.in[0], call.dout, moments_of(call),
                                 gradient_of(call, shape.shape.outer / call.samples()));
}

std::vector<Extra> layer_norm_extras(const Sizing& s) {
  return two_of(channel_shape(s).outer);
}
void layer_norm_forward(Call& call) {
  kernels::layer_norm_forward(call.stream(), call.type(), channel_shape(call.sizing), call.in[0], affine_of(call),
                              moments_of(call), call.out);
}
void layer_norm_backward(Call& call) {
  kernels::ChannelShape const shape = channel_shape(call.sizing);
  kernels::layer_norm_backward(call.stream(), call.type(), shape, call.in[0], call.dout, affine_of(call),
                               moments_of(call), call.din[0]);
  kernels::layer_norm_parameters(call.stream(), call.type(), shape, call.in[0], call.dout, moments_of(call),
                                 gradient_of(call, shape.outer / call.samples()));
}

}  // namespace

const Rules kBatchNormRules{.name = "batchnorm",
                            .keeps_input = {true, false},
                            .extras = batch_norm_extras,
                            .forward = batch_norm_forward,
                            .backward = batch_norm_backward};
const Rules kGroupNormRules{.name = "groupnorm",
                            .keeps_input = {true, false},
                            .extras = group_norm_extras,
                            .forward = group_norm_forward,
                            .backward = group_norm_backward};
const Rules kLayerNormRules{.name = "layernorm",
                            .keeps_input = {true, false},
                            .extras = layer_norm_extras,
                            .forward = layer_norm_forward,
                            .backward = layer_norm_backward};

}  // namespace tidemark::trainer
