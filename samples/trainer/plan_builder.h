// SPDX-License-Identifier: Apache-2.0
// Makes the list of instructions: a step's schedule gone through on paper, with a count of readers for all that a pass
// has made, and of references for each buffer. Where a count falls to zero, the list gets a Free. Inside of
// samples/trainer alone; see plan.h for what it makes.
#pragma once
#include <string>
#include <unordered_map>
#include <vector>

#include "samples/trainer/plan.h"
#include "samples/trainer/schedule.h"

namespace tidemark::trainer {

class PlanBuilder {
 public:
  PlanBuilder(const Graph& graph, const Fixed& fixed, const Choices& choices, std::size_t samples);

  void clear_gradients();
  void begin_part(std::size_t part, bool variables_from_before);
  // The passes of a part, in this order. Phases change where backward passes begin.
  void run(const Schedule& schedule);
  void optimize();
  void end_step();
  Plan finish() &&;

  void set_phase(Phase phase) { phase_ = phase; }

 private:
  // What a forward pass has made, and how many passes will still read it. Buffers are held until nobody will.
  struct Made {
    BufferId out = kNoBuffer;
    std::array<BufferId, kMaxExtras> extra{kNoBuffer, kNoBuffer, kNoBuffer};
    std::size_t output_readers = 0, extras_readers = 0;
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

  // Where the pass finds its node's input.
  Made& made_by(const Reading& reading, const Node& node, std::size_t input);
  void read_output(Made& made);
  void run_forward(std::size_t number, const Pass& pass, const Reading& reading);
  void run_backward(const Pass& pass, const Reading& reading);
  void drop(const Pass& pass, const Reading& reading);
  BufferId output_buffer(const Node& node, const Made& first_input);
  void assign(Variable variable, BufferId buffer);
  void note_output(const Node& node, Made& made);
  void let_go(BufferId& buffer);
  void read_kept(const Node& node, const Reading& reading);
  BufferId gradient_buffer(ParameterId parameter, bool& accumulate);
  void gather_gradients(ParameterId parameter);
  void contribute(ValueId value, BufferId gradient);
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
  bool dropping_ = false;     // an evaluation has come to its end
  bool from_before_ = false;  // variables may hold what the step before left in them
  std::unordered_map<std::string, std::uint32_t> layer_numbers_;

  std::vector<std::size_t> references_;  // of each buffer
  std::vector<Made> drawn_;              // input and targets, by value
  std::vector<Made> made_;               // by pass
  std::vector<BufferId> gradient_;       // of values
  std::vector<BufferId> parameter_gradient_;
  // With a pinned order, a parameter that several nodes read has a gradient for each of them, summed at the end of the
  // step: in one buffer, parts of a batch would take turns where the whole batch does not.
  std::vector<std::vector<BufferId>> more_gradients_;
  std::vector<std::size_t> uses_;           // nodes that read a parameter
  std::vector<std::size_t> contributions_;  // still to come to a parameter's gradient
  std::array<BufferId, kVariables> variable_{kNoBuffer, kNoBuffer, kNoBuffer, kNoBuffer};
  std::array<bool, kVariables> assigned_{};  // in this step
};

}  // namespace tidemark::trainer
