// SPDX-License-Identifier: Apache-2.0
#include "samples/trainer/checkpoint_solver.h"

#include <algorithm>
#include <limits>

namespace tidemark::trainer {
namespace {

constexpr std::uint64_t kImpossible = std::numeric_limits<std::uint64_t>::max();

}  // namespace

CheckpointSolver::CheckpointSolver(const ChainCosts& costs, std::size_t slots)
    : stages_(costs.stages()), tapings_(costs.tapings()), slots_(slots) {
  std::size_t regions = 0;
  for (std::size_t s = 0; s < stages_; ++s) {
    row_.push_back(regions);
    regions += stages_ - s;
  }
  cells_.assign(regions * (slots_ + 1), {.work = kImpossible, .choice = 0});
  held_.resize(regions);
  for (std::size_t length = 1; length <= stages_; ++length)
    for (std::size_t s = 0; s + length <= stages_; ++s) solve(costs, s, s + length - 1);
}

// Each choice in turn, for all memories at once: `least` is where it becomes possible.
void CheckpointSolver::solve(const ChainCosts& costs, std::size_t s, std::size_t t) {
  std::size_t const region = row_[s] + t - s;
  Cell* const out = &cells_[region * (slots_ + 1)];
  auto& held = held_[region];
  auto const offer = [&](std::size_t m, std::uint64_t work, std::uint32_t choice) {
    if (work < out[m].work) out[m] = {.work = work, .choice = choice};
  };
  for (std::size_t taping = 0; taping < tapings_; ++taping) {
    auto const choice = static_cast<std::uint32_t>(taping);
    std::uint64_t const work = costs.tape_work(s, taping);
    std::size_t const needed = costs.needed_to_tape(s, t, taping), hold = s == t ? 0 : costs.held_by_tape(s, t, taping);
    held.push_back(hold);
    for (std::size_t m = std::max(needed, hold); m <= slots_; ++m) {
      if (s == t) {
        offer(m, work, choice);
        continue;
      }
      std::uint64_t const rest = cell(s + 1, t, m - hold).work;
      if (rest != kImpossible) offer(m, work + rest, choice);
    }
  }
  std::uint64_t run = 0;
  for (std::size_t j = s + 1; j <= t; ++j) {
    run += costs.run_work(j - 1);
    auto const choice = static_cast<std::uint32_t>(tapings_ + j - s);
    std::size_t const needed = costs.needed_to_run(s, j, t), hold = costs.held_by_run(s, j, t);
    held.push_back(hold);
    for (std::size_t m = std::max(needed, hold); m <= slots_; ++m) {
      std::uint64_t const right = cell(j, t, m - hold).work, left = cell(s, j - 1, m).work;
      if (right != kImpossible && left != kImpossible) offer(m, run + right + left, choice);
    }
  }
}

std::optional<std::uint64_t> CheckpointSolver::work(std::size_t slots) const {
  std::uint64_t const work = cell(0, stages_ - 1, std::min(slots, slots_)).work;
  return work == kImpossible ? std::nullopt : std::optional(work);
}

void CheckpointSolver::append(std::vector<Move>& moves, std::size_t s, std::size_t t, std::size_t m) const {
  std::size_t const choice = cell(s, t, m).choice;
  const auto& held = held_[row_[s] + t - s];
  if (choice < tapings_) {
    moves.push_back({.what = Move::What::Tape, .stage = s, .taping = choice});
    if (s < t) append(moves, s + 1, t, m - held[choice]);
    moves.push_back({.what = Move::What::Backward, .stage = s, .taping = choice});
    return;
  }
  std::size_t const j = s + choice - tapings_;
  for (std::size_t i = s; i < j; ++i) moves.push_back({.what = Move::What::Run, .stage = i});
  append(moves, j, t, m - held[choice - 1]);
  append(moves, s, j - 1, m);
}

std::vector<Move> CheckpointSolver::moves(std::size_t slots) const {
  std::vector<Move> moves;
  if (work(slots)) append(moves, 0, stages_ - 1, std::min(slots, slots_));
  return moves;
}

}  // namespace tidemark::trainer
