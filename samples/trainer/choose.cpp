// SPDX-License-Identifier: Apache-2.0
#include "samples/trainer/choose.h"

#include <algorithm>
#include <optional>

#include "base/bytes.h"
#include "samples/trainer/chain.h"

namespace tidemark::trainer {
namespace {

constexpr std::size_t kSlots = 600;
constexpr std::uint64_t kSteps = 300;  // of work that count as different, in one forward pass

struct Weighed {
  Schedule schedule;
  std::uint64_t peak_bytes = 0, recomputed_flops = 0;
};

class Chooser {
 public:
  Chooser(const Graph& graph, const Fixed& fixed, const Choices& choices)
      : graph_(graph), fixed_(fixed), choices_(choices) {
    for (bool const selective : {false, true}) {
      if (selective && !choices.selective) continue;
      consider(segmented_schedule(graph, {{0, graph.nodes.size()}}, selective));
      segmented_ = considered_.size();
      consider(segmented_schedule(graph, sqrt_segments(graph), selective));
      propose(selective);
    }
  }

  Weighed optimal() const {
    Weighed best = considered_[segmented_];
    for (const Weighed& w : considered_) {
      if (w.recomputed_flops > considered_[segmented_].recomputed_flops || w.peak_bytes > best.peak_bytes) continue;
      if (w.peak_bytes < best.peak_bytes || w.recomputed_flops < best.recomputed_flops) best = w;
    }
    return best;
  }

  std::optional<Weighed> within(std::uint64_t budget) const {
    std::optional<Weighed> best;
    for (const Weighed& w : considered_)
      if (w.peak_bytes <= budget && (!best || w.recomputed_flops < best->recomputed_flops)) best = w;
    return best;
  }

  std::uint64_t least_peak() const {
    std::uint64_t least = considered_.front().peak_bytes;
    for (const Weighed& w : considered_) least = std::min(least, w.peak_bytes);
    return least;
  }

 private:
  void consider(Schedule schedule) {
    Plan const plan = plan_training(graph_, fixed_, choices_, schedule);
    considered_.push_back({.schedule = std::move(schedule),
                           .peak_bytes = peak_live_bytes(plan),
                           .recomputed_flops = plan.recomputed_flops});
  }
  // The solver's schedules from much memory to little. Of those whose work is nearly the same, the one with the least.
  void propose(bool selective) {
    Choices choices = choices_;
    choices.selective = selective;
    GraphChain chain(graph_, choices, stages_of(graph_));
    chain.set_slots(kSlots);
    CheckpointSolver const solver(chain, kSlots);
    auto const least = solver.work(kSlots);
    if (!least) return;
    auto const step_of = [&](std::size_t m) { return (*solver.work(m) - *least) * kSteps / *least; };
    for (std::size_t m = kSlots + 1; m-- > 0 && solver.work(m);)
      if (m == 0 || !solver.work(m - 1) || step_of(m - 1) != step_of(m)) consider(chain.schedule(solver.moves(m)));
  }

  const Graph& graph_;
  const Fixed& fixed_;
  const Choices& choices_;
  std::vector<Weighed> considered_;
  std::size_t segmented_ = 0;  // sqrt(N)
};

}  // namespace

Result<Schedule> choose_schedule(const Graph& graph, const Fixed& fixed, const Choices& choices) {
  if (choices.checkpoint == Checkpoint::None)
    return segmented_schedule(graph, {{0, graph.nodes.size()}}, choices.selective);
  if (choices.checkpoint == Checkpoint::Sqrt) return segmented_schedule(graph, sqrt_segments(graph), choices.selective);
  Chooser const chooser(graph, fixed, choices);
  if (choices.checkpoint == Checkpoint::Optimal) return chooser.optimal().schedule;
  if (auto best = chooser.within(choices.budget_bytes)) return std::move(best->schedule);
  std::uint64_t const least = chooser.least_peak();
  return Error{Errc::LimitExceeded,
               "--checkpoint budget:" + std::to_string(choices.budget_bytes) +
                   " is less than this training can do with: " + std::to_string(least) + " bytes (" +
                   format_bytes({least}) + ")",
               "budget:" + std::to_string(least) + ", a smaller --batch, or --accumulate"};
}

}  // namespace tidemark::trainer
