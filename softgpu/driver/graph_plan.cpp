// SPDX-License-Identifier: Apache-2.0
// From a snapshot to the order and the lanes of a launch, and to the physical memory that its allocations need.
#include <algorithm>
#include <deque>
#include <list>

#include "base/bytes.h"
#include "softgpu/driver/graph_exec.h"
#include "softgpu/driver/graph_memory.h"

namespace tidemark::softgpu {
namespace {

// Independent nodes beyond these queue behind one another, as on a card with its limited number of hardware queues.
constexpr std::size_t kMostLanes = 128;

// By insertion where edges allow. Shorter than the graph: there is a cycle.
std::vector<std::size_t> topological_order(const ExecGraph& graph) {
  std::size_t const n = graph.nodes.size();
  std::vector<std::size_t> missing(n), order;
  std::vector<std::vector<std::size_t>> dependents(n);
  for (std::size_t i = 0; i < n; ++i) {
    missing[i] = graph.nodes[i].dependencies.size();
    for (std::size_t const d : graph.nodes[i].dependencies) dependents[d].push_back(i);
  }
  std::deque<std::size_t> ready;
  for (std::size_t i = 0; i < n; ++i)
    if (missing[i] == 0) ready.push_back(i);
  while (!ready.empty()) {
    std::size_t const i = ready.front();
    ready.pop_front();
    order.push_back(i);
    for (std::size_t const d : dependents[i])
      if (--missing[d] == 0) ready.push_back(d);
  }
  return order;
}

const ExecNode* outside_of(const ExecGraph& graph, const std::vector<std::size_t>& order) {
  std::vector<bool> placed(graph.nodes.size());
  for (std::size_t const i : order) placed[i] = true;
  return &graph.nodes[static_cast<std::size_t>(std::find(placed.begin(), placed.end(), false) - placed.begin())];
}

class Unfolder {
 public:
  explicit Unfolder(std::vector<Step>& steps) : steps_(steps) {}
  const ExecNode* in_cycle = nullptr;

  // `entry`: the step before all of them, for a child graph. The answer: steps that nothing in the graph follows.
  std::vector<std::size_t> unfold(ExecGraph& graph, const std::size_t* entry) {
    auto const order = topological_order(graph);
    if (order.size() != graph.nodes.size()) {
      in_cycle = outside_of(graph, order);
      return {};
    }
    std::vector<std::size_t> step_of(graph.nodes.size());
    std::vector<bool> followed(graph.nodes.size());
    for (std::size_t const i : order) {
      ExecNode& node = graph.nodes[i];
      std::vector<std::size_t> before;
      for (std::size_t const d : node.dependencies) {
        before.push_back(step_of[d]);
        followed[d] = true;
      }
      if (before.empty() && entry != nullptr) before.push_back(*entry);
      step_of[i] = node.child == nullptr ? add(&node, std::move(before)) : unfold_child(*node.child, std::move(before));
      if (in_cycle != nullptr) return {};
    }
    std::vector<std::size_t> exits;
    for (std::size_t i = 0; i < graph.nodes.size(); ++i)
      if (!followed[i]) exits.push_back(step_of[i]);
    return exits;
  }

 private:
  std::size_t add(ExecNode* node, std::vector<std::size_t> before) {
    steps_.push_back({.node = node, .dependencies = std::move(before)});
    return steps_.size() - 1;
  }
  std::size_t unfold_child(ExecGraph& child, std::vector<std::size_t> before) {
    std::size_t const begin = add(nullptr, std::move(before));
    std::vector<std::size_t> exits = unfold(child, &begin);
    if (exits.empty()) exits.push_back(begin);
    return add(nullptr, std::move(exits));
  }

  std::vector<Step>& steps_;
};

// A step continues the lane of something it depends on if that is the lane's end: no order is added to the graph's own.
void assign_lanes(Plan& plan) {
  std::vector<std::size_t> end;
  auto const fits = [&](std::size_t lane, CUcontext context) {
    return context == nullptr || plan.lanes[lane] == nullptr || plan.lanes[lane] == context;
  };
  std::size_t next = 0;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    Step& step = plan.steps[i];
    CUcontext const context = step.node != nullptr ? step.node->body.context : nullptr;
    auto const follows = [&](std::size_t d) {
      return end[plan.steps[d].lane] == d && fits(plan.steps[d].lane, context);
    };
    auto const found = std::find_if(step.dependencies.begin(), step.dependencies.end(), follows);
    std::size_t lane = end.size();
    if (found != step.dependencies.end()) {
      lane = plan.steps[*found].lane;
    } else if (lane >= kMostLanes) {
      for (std::size_t tries = 0; tries < kMostLanes && lane == end.size(); ++tries, ++next)
        if (fits(next % kMostLanes, context)) lane = next % kMostLanes;
    }
    if (lane == end.size()) {
      end.push_back(i);
      plan.lanes.push_back(nullptr);
    }
    if (plan.lanes[lane] == nullptr) plan.lanes[lane] = context;
    step.lane = lane;
    end[lane] = i;
  }
}

// For each step, which of the free nodes come before it.
class FreesBefore {
 public:
  FreesBefore(const Plan& plan, std::size_t frees) : words_((frees + 63) / 64), bits_(plan.steps.size() * words_) {}
  void add(std::size_t step, std::size_t bit) { row(step)[bit / 64] |= std::uint64_t{1} << (bit % 64); }
  void inherit(std::size_t step, std::size_t from) {
    for (std::size_t w = 0; w < words_; ++w) row(step)[w] |= row(from)[w];
  }
  bool has(std::size_t step, std::size_t bit) { return (row(step)[bit / 64] >> (bit % 64) & 1) != 0; }

 private:
  std::uint64_t* row(std::size_t step) { return bits_.data() + step * words_; }
  std::size_t words_;
  std::vector<std::uint64_t> bits_;
};

constexpr std::size_t kTaken = ~std::size_t{0};

// A piece of the physical memory, in the order of addresses: taken, or free since a certain free node.
struct Piece {
  std::uint64_t bytes;
  std::size_t freed_by;
};

// One device's part of the plan: first fit among the pieces whose free node comes before the allocation.
class Layout {
 public:
  void allocate(const GraphAllocation* who, std::uint64_t bytes, FreesBefore& frees, std::size_t step) {
    auto const usable = [&](const Piece& p) { return p.freed_by != kTaken && frees.has(step, p.freed_by); };
    for (auto first = pieces_.begin(); first != pieces_.end(); ++first) {
      std::uint64_t room = 0;
      auto last = first;
      while (last != pieces_.end() && room < bytes && usable(*last)) room += (last++)->bytes;
      if (room < bytes) continue;
      auto at = pieces_.erase(first, std::prev(last));
      // What is left of the last piece stays free.
      std::uint64_t const rest = room - bytes;
      at->bytes = rest;
      if (rest == 0) at = pieces_.erase(at);
      where_[who] = pieces_.insert(at, {bytes, kTaken});
      return;
    }
    // Beyond the end, but for what is free right before it.
    std::uint64_t room = 0;
    while (!pieces_.empty() && usable(pieces_.back())) {
      room += pieces_.back().bytes;
      pieces_.pop_back();
    }
    where_[who] = pieces_.insert(pieces_.end(), {bytes, kTaken});
    total_ += bytes - room;
  }
  void free(const GraphAllocation* who, std::size_t bit) {
    if (auto const found = where_.find(who); found != where_.end()) found->second->freed_by = bit;
  }
  std::uint64_t bytes() const { return round_up(total_, kGranule); }

 private:
  std::list<Piece> pieces_;
  std::map<const GraphAllocation*, std::list<Piece>::iterator> where_;
  std::uint64_t total_ = 0;
};

void plan_memory(Plan& plan) {
  std::size_t frees = 0;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    ExecNode const* const node = plan.steps[i].node;
    if (node == nullptr || !is_memory(node->body.work)) continue;
    plan.memory.push_back(i);
    if (std::holds_alternative<FreeWork>(node->body.work)) ++frees;
  }
  if (plan.memory.empty()) return;
  FreesBefore before(plan, frees);
  std::map<int, Layout> layouts;
  std::size_t bit = 0;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    Step const& step = plan.steps[i];
    for (std::size_t const d : step.dependencies) before.inherit(i, d);
    if (step.node == nullptr) continue;
    if (auto const* const alloc = std::get_if<AllocWork>(&step.node->body.work)) {
      Block const& block = *alloc->allocation->block;
      layouts[block.device].allocate(alloc->allocation.get(), block.rounded, before, i);
    } else if (auto const* const free = std::get_if<FreeWork>(&step.node->body.work)) {
      layouts[free->allocation->block->device].free(free->allocation.get(), bit);
      before.add(i, bit++);
    }
  }
  for (auto const& [device, layout] : layouts)
    if (layout.bytes() != 0) plan.backing[device] = layout.bytes();
}

}  // namespace

Planned make_plan(ExecGraph& graph) {
  Planned made;
  Unfolder unfolder(made.plan.steps);
  unfolder.unfold(graph, nullptr);
  made.in_cycle = unfolder.in_cycle;
  if (made.in_cycle != nullptr) return made;
  assign_lanes(made.plan);
  plan_memory(made.plan);
  return made;
}

}  // namespace tidemark::softgpu
