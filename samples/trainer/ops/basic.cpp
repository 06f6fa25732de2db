// SPDX-License-Identifier: Apache-2.0
// Linear layers, activations, sums, dropout.
#include "kernels/elementwise.h"
#include "kernels/loss.h"
#include "samples/trainer/ops/linear.h"
#include "samples/trainer/ops/rules.h"

namespace tidemark::trainer {
namespace {

// A sequence's moments are rows of their own; a picture is one row.
struct LinearShape {
  std::size_t rows_per_sample = 1, in = 0, out = 0;
};
LinearShape linear_shape(const Call& call) {
  const Shape& x = call.sizing.input();
  return {.rows_per_sample = x.rank == 2 ? x.size[0] : 1,
          .in = x.rank == 2 ? x.size[1] : x.elements(),
          .out = call.sizing.output().channels()};
}

// weight: [out][in]; bias: [out], if there is one.
void linear_forward(Call& call) {
  LinearShape const s = linear_shape(call);
  each_chunk(call, [&](std::size_t sample, std::size_t samples) {
    std::size_t const first = sample * s.rows_per_sample;
    multiply_rows(call, {samples * s.rows_per_sample, s.in, s.out}, at(call, call.in[0], first * s.in),
                  at(call, call.out, first * s.out), call.type());
  });
  if (call.parameter[1] != nullptr)
    kernels::add_bias(call.stream(), call.type(), call.out, call.parameter[1],
                      {.outer = call.samples() * s.rows_per_sample, .channels = s.out});
}

void linear_backward(Call& call) {
  LinearShape const s = linear_shape(call);
  bool add = call.accumulate[0];
  each_chunk(call, [&](std::size_t sample, std::size_t samples) {
    std::size_t const first = sample * s.rows_per_sample;
    LinearRows const rows{samples * s.rows_per_sample, s.in, s.out};
    const void* const dy = at(call, call.dout, first * s.out);
    if (call.din[0] != nullptr) multiply_to_input(call, rows, dy, at(call, call.din[0], first * s.in));
    multiply_to_weight(call, rows, dy, at(call, call.in[0], first * s.in), add);
    add = true;
  });
  if (call.dparameter[1] != nullptr)
    kernels::sum_to_channels(call.stream(), call.type(), call.dout, call.dparameter[1],
                             {.shape = {.outer = call.samples() * s.rows_per_sample, .channels = s.out},
                              .chunk = call.chunk() * s.rows_per_sample,
                              .accumulate = call.accumulate[1]});
}

template <kernels::Activation kKind>
void activation_forward(Call& call) {
  kernels::activation_forward(call.stream(), call.type(), kKind, call.in[0], call.out,
                              elements(call, call.sizing.output()));
}
template <kernels::Activation kKind>
void activation_backward(Call& call) {
  const void* const kept = kKind == kernels::Activation::Gelu ? call.in[0] : call.out;
  kernels::activation_backward(call.stream(), call.type(), kKind, kept, call.dout, call.din[0],
                               elements(call, call.sizing.output()));
}

void add_forward(Call& call) {
  kernels::add(call.stream(), call.type(), call.in[0], call.in[1], call.out, elements(call, call.sizing.output()));
}

std::vector<Extra> dropout_extras(const Sizing& s) {
  return {{.size_bytes = s.samples * s.output().elements()}};
}
void dropout_forward(Call& call) {
  const Shape& shape = call.sizing.output();
  float const rate = call.node().attributes.rate;
  // In evaluation nothing is dropped, and the mask says so.
  kernels::Dropout const dropout{.rate = call.training ? rate : 0.0f,
                                 .random = {.seed = call.seed,
                                            .purpose = kNodePurpose + node_number(call),
                                            .step = static_cast<std::uint32_t>(call.step)},
                                 .first = call.first_sample * shape.elements()};
  kernels::dropout_forward(call.stream(), call.type(), dropout, call.in[0], call.out,
                           static_cast<std::uint8_t*>(call.extra[0]), elements(call, shape));
}
void dropout_backward(Call& call) {
  kernels::dropout_backward(call.stream(), call.type(), call.training ? call.node().attributes.rate : 0.0f,
                            static_cast<const std::uint8_t*>(call.extra[0]), call.dout, call.din[0],
                            elements(call, call.sizing.output()));
}

template <kernels::Activation kKind>
constexpr Rules activation_rules(const char* name) {
  constexpr bool kFromInput = kKind == kernels::Activation::Gelu;
  return {.name = name,
          .keeps_input = {kFromInput, false},
          .keeps_output = !kFromInput,
          .in_place = !kFromInput,
          .forward = activation_forward<kKind>,
          .backward = activation_backward<kKind>};
}

}  // namespace

const Rules kLinearRules{
    .name = "linear", .keeps_input = {true, false}, .forward = linear_forward, .backward = linear_backward};
const Rules kReluRules = activation_rules<kernels::Activation::Relu>("relu");
const Rules kGeluRules = activation_rules<kernels::Activation::Gelu>("gelu");
const Rules kSigmoidRules = activation_rules<kernels::Activation::Sigmoid>("sigmoid");
const Rules kTanhRules = activation_rules<kernels::Activation::Tanh>("tanh");
const Rules kAddRules{.name = "add", .in_place = true, .passes_gradient = true, .forward = add_forward};
const Rules kDropoutRules{.name = "dropout",
                          .in_place = true,
                          .extras = dropout_extras,
                          .forward = dropout_forward,
                          .backward = dropout_backward};

}  // namespace tidemark::trainer
