// SPDX-License-Identifier: Apache-2.0
// Ours with a plan: the rounds of a script are recorded as they are served; when one has repeated, it is laid out and
// from the next round on served from its layout.
#pragma once
#include <unordered_map>

#include "allocator/core/plan/replay_source.h"
#include "allocator/core/plan/recorder.h"
#include "bench/allocator/tidemark_peer.h"

namespace tidemark::bench {

class PlannedPeer : public TidemarkPeer {
 public:
  PlannedPeer(Device& device, double budget_seconds) : TidemarkPeer(device), budget_seconds_(budget_seconds) {}
  std::uint64_t allocate(std::uint64_t bytes, Caller who) {
    std::uint64_t const address = TidemarkPeer::allocate(bytes, who);
    if (!is_planned_ && address != 0)
      numbers_[address] = recorder_.on_alloc(plan::event_of(domains_[who.stream], allocator::to_granules(bytes)));
    return address;
  }
  void free(std::uint64_t address, Caller who) {
    forget(address);
    TidemarkPeer::free(address, who);
  }
  void free_used(std::uint64_t address, Caller who, std::uint32_t others) {
    forget(address);
    TidemarkPeer::free_used(address, who, others);
  }
  void end_of_round() {
    if (is_planned_ || !recorder_.ready()) return;
    plan::Recorded const recorded = recorder_.take(allocator::kGranuleBytes);
    auto const layout = plan::plan_circular(recorded.iteration, {.budget_seconds = budget_seconds_});
    if (!layout.ok()) return;
    planning_seconds_ = layout->seconds;
    replay_.add(std::make_shared<plan::ServingPlan>(recorded, *layout));
    allocator_->use_plan(source_);
    is_planned_ = true;
  }
  double planning_seconds() const { return planning_seconds_; }

 private:
  void forget(std::uint64_t address) {
    if (is_planned_) return;
    if (auto const found = numbers_.find(address); found != numbers_.end()) {
      recorder_.on_free(found->second);
      numbers_.erase(found);
    }
  }
  double budget_seconds_;
  plan::Recorder recorder_;
  plan::Replay replay_;
  plan::ReplaySource source_{replay_};
  std::unordered_map<std::uint64_t, std::uint64_t> numbers_;
  bool is_planned_ = false;
  double planning_seconds_ = 0;
};

}  // namespace tidemark::bench
