// SPDX-License-Identifier: Apache-2.0
// Every op's rules, by file.
#pragma once
#include <algorithm>
#include <cstddef>

#include "samples/trainer/op.h"

namespace tidemark::trainer {

// basic.cpp
extern const Rules kLinearRules, kReluRules, kGeluRules, kSigmoidRules, kTanhRules, kAddRules, kDropoutRules;
// convolution.cpp
extern const Rules kConvolutionRules;
// image.cpp
extern const Rules kMaxPoolRules, kMeanPoolRules, kUpsampleRules, kConcatRules, kShortcutRules;
// chunked_loss.cpp
extern const Rules kChunkedCrossEntropyRules;
// loss.cpp
extern const Rules kCrossEntropyRules, kMaskLossRules, kProjectionRules;
// normalization.cpp
extern const Rules kBatchNormRules, kGroupNormRules, kLayerNormRules;
// recurrent.cpp
extern const Rules kLstmRules, kGruRules;
// attention_efficient.cpp
extern const Rules kEfficientAttentionRules;
// sequence.cpp
extern const Rules kEmbedRules, kAttentionRules, kLastMomentRules;

// The loss: what this call's rows give to the mean over the step's.
void mean_of_losses(Call& call, const float* losses, std::size_t rows);

// Purposes of random streams (kernels/philox.h): the data's are below.
inline constexpr std::uint32_t kParameterPurpose = 1000, kNodePurpose = 1u << 20, kProjectionPurpose = 100;

// The node's place in its graph.
inline std::uint32_t node_number(const Call& call) {
  return static_cast<std::uint32_t>(&call.node() - call.sizing.graph.nodes.data());
}
inline std::size_t elements(const Call& call, const Shape& shape) {
  return call.samples() * shape.elements();
}
// An address so many activations further.
inline void* at(const Call& call, void* base, std::size_t elements_before) {
  return static_cast<std::byte*>(base) + elements_before * kernels::type_bytes(call.type());
}
inline const void* at(const Call& call, const void* base, std::size_t elements_before) {
  return static_cast<const std::byte*>(base) + elements_before * kernels::type_bytes(call.type());
}
// f(first sample, samples) for each chunk, ascending.
template <class F>
void each_chunk(const Call& call, F f) {
  std::size_t const chunk = call.chunk() == 0 ? call.samples() : call.chunk();
  for (std::size_t first = 0; first < call.samples(); first += chunk) f(first, std::min(chunk, call.samples() - first));
}

}  // namespace tidemark::trainer
