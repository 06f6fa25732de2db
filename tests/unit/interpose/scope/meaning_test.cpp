// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "interpose/scope/nvtx_meaning.h"

namespace tidemark::interpose {
namespace {

using trace::Phase;

std::string in_words(std::string_view message) {
  NvtxMeaning const m = nvtx_meaning(message);
  switch (m.what) {
    case NvtxMeaning::Layer: return "layer " + std::string(m.layer);
    case NvtxMeaning::Phase: return "phase " + std::string(name(m.phase));
    case NvtxMeaning::Step: return "step " + std::to_string(m.step);
    default: return "nothing";
  }
}

struct Case {
  const char *message, *meaning;
};

TEST(NvtxMeaning, IsReadFromTheMessage) {
  constexpr Case kCases[] = {
      // What programs mark: layers, whatever they are called.
      {"conv1", "layer conv1"},
      {"encoder.3.attn", "layer encoder.3.attn"},
      {"Encoder block 7", "layer Encoder block 7"},
      {"Trainer::run", "layer Trainer::run"},
      {"copy to device", "layer copy to device"},
      {"résumé", "layer résumé"},
      {"", "nothing"},
      // The usual words for phases.
      {"forward", "phase forward"},
      {"Forward", "phase forward"},
      {"FORWARD PASS", "phase forward"},
      {"forward_step", "phase forward"},
      {"backward()", "phase backward"},
      {"bwd", "phase backward"},
      {"optimizer", "phase optimizer"},
      {"Optimizer Step", "phase optimizer"},
      {"optimizer.step()", "phase optimizer"},
      {"opt.step()", "phase optimizer"},
      {"eval", "phase eval"},
      {"validation", "phase eval"},
      {"setup", "phase setup"},
      // And what only begins like one.
      {"forward_hook", "layer forward_hook"},
      {"forward conv1", "layer forward conv1"},
      {"forwarding", "layer forwarding"},
      {"backward() twice", "layer backward() twice"},
      {"optimizer.", "layer optimizer."},
      {"optical flow", "layer optical flow"},
      {"other", "layer other"},
      // Numbers that count.
      {"iteration 17", "step 17"},
      {"iter17", "step 17"},
      {"Step #17", "step 17"},
      {"step_17/1000", "step 17"},
      {"train_step 3", "step 3"},
      {"iteration=0", "step 0"},
      {"epoch 3", "nothing"},
      {"Batch 12/50", "nothing"},
      {"micro-batch 2", "nothing"},
      {"step", "layer step"},
      {"steps 3", "layer steps 3"},
      {"step 3 of 7", "layer step 3 of 7"},
      {"batchnorm1", "layer batchnorm1"},
      {"batch_norm.1", "layer batch_norm.1"},
      {"iteration 99999999999999999999999999", "layer iteration 99999999999999999999999999"},
      // What PyTorch itself marks.
      {"ProfilerStep#12", "step 12"},
      {"aten::addmm, op_id = 7, seq = 3, sizes = [[], [4, 4]]", "nothing"},
      {"aten::empty", "nothing"},
      {"AddmmBackward0, seq = 3", "nothing"},
      {"AddmmBackward0", "layer AddmmBackward0"},
      {"autograd::engine::evaluate_function: AddmmBackward0, op_id = 9", "phase backward"},
      {"Optimizer.step#SGD.step", "phase optimizer"},
      {"Optimizer.step#SGD.step, op_id = 4", "phase optimizer"},
      {"Optimizer.zero_grad#SGD.zero_grad", "phase optimizer"},
      {"enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "nothing"},
      {"nccl:all_reduce", "nothing"},
      // A block that the program named, with what PyTorch adds.
      {"attention, op_id = 12", "layer attention"},
      {"forward, op_id = 12", "phase forward"},
      {"a, b", "layer a, b"},
      {"a, b, seq = 4", "layer a, b"},
  };
  for (Case const& c : kCases) EXPECT_EQ(in_words(c.message), c.meaning) << c.message;
}

TEST(NvtxMeaning, SomeDomainsAreLibraries) {
  EXPECT_TRUE(nvtx_domain_is_a_librarys("CCCL"));
  EXPECT_TRUE(nvtx_domain_is_a_librarys("cuDNN"));
  EXPECT_FALSE(nvtx_domain_is_a_librarys("NCCL")) << "what it allocates is its own, and worth a name";
  EXPECT_FALSE(nvtx_domain_is_a_librarys("my model"));
  EXPECT_FALSE(nvtx_domain_is_a_librarys(""));
}

}  // namespace
}  // namespace tidemark::interpose
