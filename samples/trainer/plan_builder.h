// SPDX-License-Identifier: Apache-2.0
// Makes the list of instructions: a training step gone through on paper, with a count of references for each buffer.
// Where a count falls to zero, the list gets a Free. Inside of samples/trainer alone; see plan.h for what it makes.
#pragma once
#include <string>
#include <unordered_map>
#include <vector>

#include "samples/trainer/plan.h"

namespace tidemark::trainer {

struct NodeRange {
  std::size_t first = 0, last = 0;  // half-open
};

class PlanBuilder {
 public:
  PlanBuilder(const Graph& graph, const Fixed& fixed, const Choices& choices, std::size_t samples);

  void clear_gradients();
  void begin_part(std::size_t part, bool variables_from_before);
  // The forward pass in segments: all but the last drop what backward will need; the last keeps it, if `keep_last`.
  void forward(const std::vector<NodeRange>& segments, bool keep_last);
  // Of the same segments, the last first; each but the last is computed once more.
  void backward(const std::vector<NodeRange>& segments);
  void optimize();
  void end_step();
  // For an evaluation: what was kept is let go, or leaks with the loss that holds it.
  void drop_kept(bool leak);
  Plan finish() &&;

  void set_phase(Phase phase) { phase_ = phase; }

 private:
  // What a node's backward will read; each with a reference.
  struct Kept {
    std::array<BufferId, kMaxInputs> in{kNoBuffer, kNoBuffer};
    BufferId out = kNoBuffer;
    std::array<BufferId, kMaxExtras> extra{kNoBuffer, kNoBuffer, kNoBuffer};
  };
  struct NewBuffer {
    std::size_t size_bytes = 0;
    int kind = 0;
    const char* name = "";
  };

  void emit(Instruction instruction);
  BufferId make(const NewBuffer& buffer);
  void retain(BufferId buffer);
  void release(BufferId& buffer);
  std::uint32_t layer(const std::string& name);
  std::size_t bytes_of(ValueId value) const { return graph_.values[value].bytes(samples_, choices_.type); }
  Sizing sizing(const Node& node) const {
    return {.graph = graph_, .node = node, .samples = samples_, .type = choices_.type, .chunk = choices_.chunk};
  }

  void count_readers(NodeRange range);
  void run_forward(std::size_t node, bool keep, bool again);
  BufferId output_buffer(const Node& node, const Rules& rules);
  void keep_inputs(const Node& node, const Rules& rules, Kept& kept);
  void assign(Variable variable, BufferId buffer);
  void note_output(const Node& node);
  void recompute(NodeRange segment, std::size_t index);
  std::vector<bool> needed_again(NodeRange segment) const;
  void run_backward(std::size_t node);
  BufferId gradient_buffer(ParameterId parameter, bool& accumulate);
  void gather_gradients(ParameterId parameter);
  void contribute(ValueId value, BufferId gradient);
  void release(Kept& kept);
  void step_finished(const Node& node);
  void step(ParameterId parameter);
  void step_all_at_once();

  const Graph& graph_;
  const Fixed& fixed_;
  Choices choices_;
  std::size_t samples_;
  Plan plan_;
  Phase phase_ = Phase::Forward;
  std::uint32_t layer_ = 0;
  std::uint32_t part_ = 0;
  bool from_before_ = false;  // variables may hold what the step before left in them
  std::unordered_map<std::string, std::uint32_t> layer_numbers_;

  std::vector<std::size_t> references_;  // of each buffer
  std::vector<BufferId> value_;          // where each value is now
  std::vector<std::size_t> readers_;     // forward ops that will still read it
  std::vector<Kept> kept_;               // of each node
  // Per segment, what it reads from before it.
  std::vector<std::vector<std::pair<ValueId, BufferId>>> checkpoints_;
  std::vector<BufferId> gradient_;  // of values
  std::vector<BufferId> parameter_gradient_;
  // With a pinned order, a parameter that several nodes read has a gradient for each of them, summed at the end of the
  // step: in one buffer, parts of a batch would take turns where the whole batch does not.
  std::vector<std::vector<BufferId>> more_gradients_;
  std::vector<std::size_t> uses_;           // nodes that read a parameter
  std::vector<std::size_t> contributions_;  // still to come to a parameter's gradient
  std::array<BufferId, kVariables> variable_{kNoBuffer, kNoBuffer, kNoBuffer, kNoBuffer};
  std::array<bool, kVariables> assigned_{};  // in this step
};

// The forward pass as one segment, or cut for Checkpoint::Sqrt.
std::vector<NodeRange> segments_of(const Graph& graph, Checkpoint checkpoint);

}  // namespace tidemark::trainer
