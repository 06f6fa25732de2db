// SPDX-License-Identifier: Apache-2.0
// Which stages of a chain to keep and which to compute again, so that a training step takes the least work within a
// given memory: dynamic programming over regions of the chain and memory. It knows no graph and no tensor, only costs.
//
// A region [s, t] is entered with its inputs held, and is left when its stages have been done backwards. Either stage s
// is taped (all its backward pass reads is kept) and [s + 1, t] follows before its backward pass; or s .. j - 1 run
// without keeping anything but what [j, t] reads, [j, t] is done, and then [s, j - 1] from its inputs. What is held
// stays held until its region is done: within such schedules the result is optimal (tests/unit/trainer/solver_test.cpp
// tries all of them). Memory is counted in slots of the caller's size.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace tidemark::trainer {

// All sizes in slots; memory that a region's inputs take is charged outside of it.
class ChainCosts {
 public:
  virtual ~ChainCosts() = default;
  virtual std::size_t stages() const = 0;
  virtual std::size_t tapings() const = 0;  // ways to tape a stage
  // Of a forward pass that keeps nothing; of a taping, and what its backward pass does again.
  virtual std::uint64_t run_work(std::size_t s) const = 0;
  virtual std::uint64_t tape_work(std::size_t s, std::size_t taping) const = 0;
  // Held while [j, t] is done: what it reads of s .. j - 1. Held while [s + 1, t] is done: what taping s keeps.
  virtual std::size_t held_by_run(std::size_t s, std::size_t j, std::size_t t) const = 0;
  virtual std::size_t held_by_tape(std::size_t s, std::size_t t, std::size_t taping) const = 0;
  // The least memory for s .. j - 1 to run; for s to be taped, and for its backward pass.
  virtual std::size_t needed_to_run(std::size_t s, std::size_t j, std::size_t t) const = 0;
  virtual std::size_t needed_to_tape(std::size_t s, std::size_t t, std::size_t taping) const = 0;
};

struct Move {
  enum class What : std::uint8_t { Run, Tape, Backward };
  What what{};
  std::size_t stage = 0;
  std::size_t taping = 0;  // of Tape and Backward
  bool operator==(const Move&) const = default;
};

class CheckpointSolver {
 public:
  // Solves for all memories from 0 to `slots`. Time: stages^3 * slots / 6.
  CheckpointSolver(const ChainCosts& costs, std::size_t slots);
  // Work of all forward passes, those done again among them; nothing where the memory does not do.
  std::optional<std::uint64_t> work(std::size_t slots) const;
  std::vector<Move> moves(std::size_t slots) const;
  std::size_t slots() const { return slots_; }

 private:
  struct Cell {
    std::uint64_t work;
    std::uint32_t choice;  // a taping, or tapings + (j - s)
  };
  const Cell& cell(std::size_t s, std::size_t t, std::size_t m) const {
    return cells_[(row_[s] + t - s) * (slots_ + 1) + m];
  }
  void solve(const ChainCosts& costs, std::size_t s, std::size_t t);
  void append(std::vector<Move>& moves, std::size_t s, std::size_t t, std::size_t m) const;

  std::size_t stages_, tapings_, slots_;
  std::vector<std::size_t> row_;
  std::vector<Cell> cells_;
  // What the moves need to know of the costs: held by each choice of a region, in the choices' order.
  std::vector<std::vector<std::size_t>> held_;
};

}  // namespace tidemark::trainer
