// SPDX-License-Identifier: Apache-2.0
// A graph as the solver's chain (checkpoint_solver.h): nodes in stages, and what stages take. Where more than one value
// crosses from a stage to the next (the skips of a U-Net), each is counted where it is made, not once per crossing.
#pragma once
#include <vector>

#include "samples/trainer/checkpoint_solver.h"
#include "samples/trainer/plan.h"

namespace tidemark::trainer {

// Cuts lie where one value crosses, and between the table's rows. Small neighbours are joined until there are few
// enough for the solver.
inline constexpr std::size_t kMaxStages = 64;
std::vector<NodeRange> stages_of(const Graph& graph, std::size_t at_most = kMaxStages);

class GraphChain final : public ChainCosts {
 public:
  GraphChain(const Graph& graph, const Choices& choices, std::vector<NodeRange> stages);
  // Sizes are given in slots from here on: about `slots` of them hold everything.
  void set_slots(std::size_t slots);
  Schedule schedule(const std::vector<Move>& moves) const;

  std::size_t stages() const override { return stages_.size(); }
  std::size_t tapings() const override { return choices_.selective ? 2 : 1; }
  std::uint64_t run_work(std::size_t s) const override { return costs_[s].run_work; }
  std::uint64_t tape_work(std::size_t s, std::size_t taping) const override { return costs_[s].taping[taping].work; }
  std::size_t held_by_run(std::size_t s, std::size_t j, std::size_t t) const override;
  std::size_t held_by_tape(std::size_t s, std::size_t t, std::size_t taping) const override;
  std::size_t needed_to_run(std::size_t s, std::size_t j, std::size_t t) const override;
  std::size_t needed_to_tape(std::size_t s, std::size_t t, std::size_t taping) const override;

 private:
  // What a taping keeps and takes, beyond what came from earlier stages.
  struct Taping {
    std::vector<bool> kept;  // by value
    std::uint64_t kept_bytes = 0, forward_bytes = 0, backward_bytes = 0, work = 0;
  };
  struct StageCosts {
    std::uint64_t run_work = 0, run_bytes = 0;
    std::vector<Taping> taping;
  };
  class Rehearsal;

  std::uint64_t bytes_of(ValueId value) const;
  void find_readers();
  void find_crossings();
  std::uint64_t crossing(std::size_t s, std::size_t j, std::size_t t) const;

  const Graph& graph_;
  Choices choices_;
  std::size_t samples_;
  std::vector<NodeRange> stages_;
  std::vector<std::size_t> stage_of_;              // by node
  std::vector<std::size_t> made_in_;               // by value
  std::vector<std::vector<std::size_t>> read_in_;  // by value: stages, ascending
  std::vector<StageCosts> costs_;
  std::vector<std::uint64_t> crossings_;            // [j][t][s]
  std::vector<std::uint64_t> value_gradients_;      // live while stage t's backward pass begins
  std::vector<std::uint64_t> parameter_gradients_;  // of the stages behind t
  std::uint64_t slot_bytes_ = 1;
};

}  // namespace tidemark::trainer
