// SPDX-License-Identifier: Apache-2.0
#include "samples/trainer/op.h"

#include "samples/trainer/ops/rules.h"

namespace tidemark::trainer {

const Rules& rules_of(const Node& node) {
  switch (node.op) {
    case Op::Linear: return kLinearRules;
    case Op::Relu: return kReluRules;
    case Op::Gelu: return kGeluRules;
    case Op::Sigmoid: return kSigmoidRules;
    case Op::Tanh: return kTanhRules;
    case Op::Add: return kAddRules;
    case Op::Dropout: return kDropoutRules;
    case Op::CrossEntropy: return kCrossEntropyRules;
    case Op::MaskLoss: return kMaskLossRules;
    case Op::Projection: return kProjectionRules;
    case Op::Convolution: return kConvolutionRules;
    case Op::BatchNorm: return kBatchNormRules;
    case Op::GroupNorm: return kGroupNormRules;
    case Op::LayerNorm: return kLayerNormRules;
    case Op::MaxPool: return kMaxPoolRules;
    case Op::MeanPool: return kMeanPoolRules;
    case Op::Upsample: return kUpsampleRules;
    case Op::Concat: return kConcatRules;
    case Op::Shortcut: return kShortcutRules;
    case Op::Embed: return kEmbedRules;
    case Op::Attention: return node.attributes.efficient ? kEfficientAttentionRules : kAttentionRules;
    case Op::Lstm: return kLstmRules;
    case Op::Gru: return kGruRules;
    case Op::LastMoment: return kLastMomentRules;
    case Op::ChunkedCrossEntropy: return kChunkedCrossEntropyRules;
  }
  return kLinearRules;
}

}  // namespace tidemark::trainer
