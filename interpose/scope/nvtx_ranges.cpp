// SPDX-License-Identifier: Apache-2.0
#include "interpose/scope/nvtx_ranges.h"

#include <atomic>
#include <mutex>

#include "base/address_map.h"
#include "base/spin_lock.h"
#include "interpose/process/shield.h"
#include "interpose/process/stage.h"
#include "interpose/record/recorder.h"
#include "interpose/record/thread.h"
#include "interpose/scope/nvtx_meaning.h"

namespace tidemark::interpose {
namespace {

// The started ranges that are open, with the marks of their threads.
class Started {
 public:
  constexpr Started() = default;

  bool insert(std::uint64_t id, Marks* owner) {
    std::scoped_lock const guard(lock_);
    Marks** const place = open_.insert(id);
    if (place != nullptr) *place = owner;
    return place != nullptr;
  }
  // Null when it is not open.
  Marks* take(std::uint64_t id) {
    std::scoped_lock const guard(lock_);
    Marks** const found = open_.find(id);
    if (found == nullptr) return nullptr;
    Marks* const owner = *found;
    open_.erase(id);
    return owner;
  }
  bool is_open(std::uint64_t id) {
    std::scoped_lock const guard(lock_);
    return open_.find(id) != nullptr;
  }

 private:
  SpinLock lock_;
  AddressMap<Marks*> open_;
};
constinit Started open_ranges;

constinit std::atomic<bool> steps_ignored{false};

void settle(Marks& marks) {
  if (!marks.disturbed() || !settle_nvtx_ranges(marks) || !recording()) return;
  recorder().leave_layer();
  recorder().phase_changed();
}

NvtxMeaning understand(NvtxDomain domain, std::string_view message) {
  if (domain.is_a_librarys) return {};
  NvtxMeaning const meaning = nvtx_meaning(message);
  if (meaning.what == NvtxMeaning::Step && !steps_ignored.load(std::memory_order_relaxed))
    recorder().step(meaning.step);
  return meaning;
}

void open(Marks& marks, MarkOwner owner, const NvtxMeaning& meaning) {
  settle(marks);
  if (meaning.what == NvtxMeaning::Phase) {
    marks.push_phase(meaning.phase, owner);
    if (recording()) recorder().phase_changed();
    return;
  }
  marks.push_layer(meaning.layer, owner);
  if (meaning.what == NvtxMeaning::Layer && recording()) recorder().enter_layer();
}

void close(Marks& marks, MarkOwner owner) {
  settle(marks);
  Marks::What const closed = marks.close(owner);
  if (!recording()) return;
  if (closed == Marks::What::Layer) recorder().leave_layer();
  if (closed == Marks::What::Phase) recorder().phase_changed();
}

}  // namespace

void ignore_nvtx_steps() {
  steps_ignored.store(true, std::memory_order_relaxed);
}

bool settle_nvtx_ranges(Marks& mine) {
  return mine.settle([](std::uint64_t id) { return open_ranges.is_open(id); });
}

void push_nvtx_range(NvtxDomain domain, std::string_view message) {
  NvtxMeaning const meaning = understand(domain, message);
  shield([&] {
    if (Marks* const marks = Marks::mine()) open(*marks, {MarkOwner::Domain, domain.id}, meaning);
  });
}

void pop_nvtx_range(NvtxDomain domain) {
  shield([&] {
    if (Marks* const marks = this_thread().marks) close(*marks, {MarkOwner::Domain, domain.id});
  });
}

void start_nvtx_range(std::uint64_t id, NvtxDomain domain, std::string_view message) {
  if (id == 0) return;
  NvtxMeaning const meaning = understand(domain, message);
  shield([&] {
    Marks* const marks = Marks::mine();
    if (marks != nullptr && open_ranges.insert(id, marks)) open(*marks, {MarkOwner::Range, id}, meaning);
  });
}

void end_nvtx_range(std::uint64_t id) {
  if (id == 0) return;
  shield([&] {
    Marks* const owner = open_ranges.take(id);
    if (owner == nullptr) return;
    if (owner == this_thread().marks)
      close(*owner, {MarkOwner::Range, id});
    else
      owner->ended_elsewhere();
  });
}

}  // namespace tidemark::interpose
