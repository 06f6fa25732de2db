// SPDX-License-Identifier: Apache-2.0
// One thread's open layers and phases. Before the first CUDA call there is no trace to name them in: the text is kept
// and gets its numbers once there is one.
//
// For its own thread only, except where said; lives in pages of its own, from the thread's first mark until the thread
// ends, and is used by another thread after that. Marks deeper than the stack is are counted, so that pops stay in
// step, and are taken as a part of the innermost one.
//
// Invariant: layers_[0..named_) have their numbers. A mark that is neither layer nor phase is a layer without a text.
#pragma once
#include <atomic>
#include <cstdint>
#include <string_view>

#include "trace/write/dictionary.h"
#include "trace/write/lane.h"

namespace tidemark::interpose {

// Whom a mark was set by; only he takes it away. Ranges of NVTX that are pushed belong to their domain, those that are
// started have a number of their own and may be ended by any thread.
struct MarkOwner {
  enum Kind : std::uint8_t { Api, Domain, Range };
  Kind kind = Api;
  std::uint64_t id = 0;
  friend bool operator==(const MarkOwner&, const MarkOwner&) = default;
};

class Marks {
 public:
  // The calling thread's; null when the system gives no memory.
  static Marks* mine();

  enum class What : std::uint8_t { Nothing, Layer, Phase };
  // The name may be empty: then it is only a place in the stack, until it is closed.
  void push_layer(std::string_view name, MarkOwner owner = {});
  void push_phase(trace::Phase phase, MarkOwner owner = {});
  // Of the API's own marks.
  void pop_layer() { close_layer({}); }
  void pop_phase() { close_phase({}); }
  // Closes the innermost mark of an owner, in turn or not: what was opened inside it stays open. What it was.
  What close(MarkOwner owner);

  // A range of this thread was ended by another one. Any thread may call this.
  void ended_elsewhere() { disturbed_.store(true, std::memory_order_release); }
  bool disturbed() const { return disturbed_.load(std::memory_order_relaxed); }
  // Closes what others have ended, of which still_open(id) is false; true when something was closed.
  template <class F>
  bool settle(F still_open) {
    disturbed_.exchange(false, std::memory_order_acquire);
    bool closed = false;
    for (std::size_t i = layers(); i > 0; --i)
      if (ended(layers_[i - 1].owner, still_open)) closed = remove_layer(i);
    for (std::size_t i = phases(); i > 0; --i)
      if (ended(phases_[i - 1].owner, still_open)) closed = remove_phase(i);
    return closed;
  }

  // Gives numbers to what has none yet, and the innermost one.
  std::uint32_t path(trace::Dictionary& names);
  trace::Phase phase() const;

 private:
  struct Layer {
    std::uint32_t path;      // 0: none, or not named yet
    std::uint32_t text_end;  // of the dotted name up to here
    std::uint64_t order;     // of opening, over layers and phases
    MarkOwner owner;
  };
  struct OpenPhase {
    trace::Phase phase;
    std::uint64_t order;
    MarkOwner owner;
  };
  static constexpr std::size_t kDepth = 256;
  static constexpr std::size_t kText = 8192;
  std::size_t layers() const { return depth_ < kDepth ? depth_ : kDepth; }
  std::size_t phases() const { return phase_depth_ < kDepth ? phase_depth_ : kDepth; }
  // The innermost layer or phase of an owner, counted from 1; 0 for none.
  std::size_t find_layer(MarkOwner owner) const;
  std::size_t find_phase(MarkOwner owner) const;
  bool close_layer(MarkOwner owner) { return remove_layer(find_layer(owner)); }
  bool close_phase(MarkOwner owner) { return remove_phase(find_phase(owner)); }
  bool remove_layer(std::size_t place);
  bool remove_phase(std::size_t place);
  template <class F>
  static bool ended(const MarkOwner& owner, F& still_open) {
    return owner.kind == MarkOwner::Range && !still_open(owner.id);
  }

  std::size_t depth_ = 0, named_ = 0, phase_depth_ = 0;
  std::uint64_t order_ = 0;
  std::atomic<bool> disturbed_{false};
  Marks* next_idle_ = nullptr;
  Layer layers_[kDepth];
  OpenPhase phases_[kDepth];
  char text_[kText];

  friend class IdleMarks;
};

}  // namespace tidemark::interpose
