// SPDX-License-Identifier: Apache-2.0
// Embeddings, attention, the last moment of a sequence.
#include "kernels/sequence.h"

#include "samples/trainer/ops/heads.h"
#include "samples/trainer/ops/rules.h"

namespace tidemark::trainer {
namespace {

kernels::Embedding sequence_shape(const Sizing& s, const Shape& shape) {
  return {.samples = s.samples, .length = shape.size[0], .width = shape.size[1]};
}

// parameters: the table [words][width] and the positions [time][width].
void embed_forward(Call& call) {
  kernels::embed_forward(call.stream(), call.type(), sequence_shape(call.sizing, call.sizing.output()),
                         static_cast<const std::int32_t*>(call.in[0]), call.weight[0], call.weight[1], call.out);
}
void embed_backward(Call& call) {
  for (std::size_t i = 0; i < 2; ++i)
    if (!call.accumulate[i])
      call.device.clear(call.dparameter[i], call.sizing.graph.parameters[call.node().parameters[i]].elements * 4);
  kernels::embed_backward(call.stream(), call.type(), sequence_shape(call.sizing, call.sizing.output()),
                          static_cast<const std::int32_t*>(call.in[0]), call.dout, call.dparameter[0],
                          call.dparameter[1]);
}

// Products go sample by sample, heads together.
std::vector<Extra> attention_extras(const Sizing& s) {
  return {{.size_bytes = s.samples * heads_of(s).scores() * kernels::type_bytes(s.type)}};
}

void attention_forward(Call& call) {
  Heads const h = heads_of(call.sizing);
  std::size_t const row = 3 * h.width, square = h.length * h.length;
  for (std::size_t s = 0; s < call.samples(); ++s) {
    void* const qkv = at(call, call.in[0], s * h.length * row);
    call.device.multiply({.rows = h.length,
                          .columns = h.length,
                          .depth = h.part,
                          .a = qkv,
                          .b = at(call, qkv, h.width),
                          .c = at(call, call.extra[0], s * h.scores()),
                          .lda = row,
                          .ldb = row,
                          .ldc = h.length,
                          .transpose_b = true,
                          .alpha = score_scale(h),
                          .type = call.type(),
                          .result_type = call.type(),
                          .count = h.heads,
                          .stride_a = h.part,
                          .stride_b = h.part,
                          .stride_c = square});
  }
  kernels::attention_softmax(
      call.stream(), call.type(),
      {.rows = call.samples() * h.heads * h.length, .length = h.length, .causal = call.node().attributes.causal},
      call.extra[0]);
  for (std::size_t s = 0; s < call.samples(); ++s) {
    const void* probabilities = at(call, call.extra[0], s * h.scores());
    if (drops_scores(call)) {
      kernels::dropout_again(call.stream(), call.type(), dropout_of_scores(call, s), probabilities, call.workspace,
                             h.scores());
      probabilities = call.workspace;
    }
    call.device.multiply({.rows = h.length,
                          .columns = h.part,
                          .depth = h.length,
                          .a = probabilities,
                          .b = at(call, call.in[0], s * h.length * row + 2 * h.width),
                          .c = at(call, call.out, s * h.length * h.width),
                          .lda = h.length,
                          .ldb = row,
                          .ldc = h.width,
                          .type = call.type(),
                          .result_type = call.type(),
                          .count = h.heads,
                          .stride_a = square,
                          .stride_b = h.part,
                          .stride_c = h.part});
  }
}

// With dropout: one sample's probabilities that are left.
std::size_t attention_forward_workspace(const Sizing& s) {
  return s.node.attributes.rate > 0 ? heads_of(s).scores() * kernels::type_bytes(s.type) : 0;
}

// The gradient of all samples' scores.
std::size_t attention_workspace(const Sizing& s) {
  return s.samples * heads_of(s).scores() * kernels::type_bytes(s.type);
}

void attention_backward(Call& call) {
  Heads const h = heads_of(call.sizing);
  std::size_t const row = 3 * h.width, square = h.length * h.length;
  Product const base{.type = call.type(), .result_type = call.type(), .count = h.heads};
  for (std::size_t s = 0; s < call.samples(); ++s) {
    const void* const dout = at(call, call.dout, s * h.length * h.width);
    void* const scores = at(call, call.workspace, s * h.scores());
    const void* probabilities = at(call, call.extra[0], s * h.scores());
    if (drops_scores(call)) {
      kernels::dropout_again(call.stream(), call.type(), dropout_of_scores(call, s), probabilities, scores, h.scores());
      probabilities = scores;
    }
    Product to_values = base;  // dV = P' dO
    to_values.rows = to_values.depth = h.length, to_values.columns = h.part;
    to_values.a = probabilities, to_values.lda = h.length, to_values.stride_a = square;
    to_values.transpose_a = true;
    to_values.b = dout, to_values.ldb = h.width, to_values.stride_b = h.part;
    to_values.c = at(call, call.din[0], s * h.length * row + 2 * h.width);
    to_values.ldc = row, to_values.stride_c = h.part;
    call.device.multiply(to_values);
    Product to_scores = base;  // dP = dO V'
    to_scores.rows = to_scores.columns = h.length, to_scores.depth = h.part;
    to_scores.a = dout, to_scores.lda = h.width, to_scores.stride_a = h.part;
    to_scores.b = at(call, call.in[0], s * h.length * row + 2 * h.width);
    to_scores.ldb = row, to_scores.stride_b = h.part, to_scores.transpose_b = true;
    to_scores.c = scores, to_scores.ldc = h.length, to_scores.stride_c = square;
    call.device.multiply(to_scores);
    if (drops_scores(call))
      kernels::dropout_again(call.stream(), call.type(), dropout_of_scores(call, s), scores, scores, h.scores());
  }
  kernels::attention_softmax_backward(
      call.stream(), call.type(),
      {.rows = call.samples() * h.heads * h.length, .length = h.length, .causal = call.node().attributes.causal},
      call.extra[0], call.workspace, score_scale(h));
  for (std::size_t s = 0; s < call.samples(); ++s) {
    std::size_t const begin = s * h.length * row;
    Product to_input = base;  // dQ = dS K, then dK = dS' Q
    to_input.rows = to_input.depth = h.length, to_input.columns = h.part;
    to_input.a = at(call, call.workspace, s * h.scores()), to_input.lda = h.length, to_input.stride_a = square;
    to_input.ldb = to_input.ldc = row, to_input.stride_b = to_input.stride_c = h.part;
    to_input.b = at(call, call.in[0], begin + h.width), to_input.c = at(call, call.din[0], begin);
    call.device.multiply(to_input);
    to_input.transpose_a = true;
    to_input.b = at(call, call.in[0], begin), to_input.c = at(call, call.din[0], begin + h.width);
    call.device.multiply(to_input);
  }
}

void last_moment_forward(Call& call) {
  kernels::last_moment(call.stream(), call.type(), sequence_shape(call.sizing, call.sizing.input()), call.in[0],
                       call.out);
}
void last_moment_backward(Call& call) {
  kernels::last_moment_backward(call.stream(), call.type(), sequence_shape(call.sizing, call.sizing.input()), call.dout,
                                call.din[0]);
}

}  // namespace

const Rules kEmbedRules{
    .name = "embed", .keeps_input = {true, false}, .forward = embed_forward, .backward = embed_backward};
const Rules kAttentionRules{.name = "attention",
                            .keeps_input = {true, false},
                            .extras = attention_extras,
                            .forward_workspace = attention_forward_workspace,
                            .backward_workspace = attention_workspace,
                            .forward = attention_forward,
                            .backward = attention_backward};
const Rules kLastMomentRules{.name = "last", .forward = last_moment_forward, .backward = last_moment_backward};

}  // namespace tidemark::trainer
