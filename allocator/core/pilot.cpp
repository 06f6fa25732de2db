// SPDX-License-Identifier: Apache-2.0
#include "allocator/core/pilot.h"

#include <algorithm>

namespace tidemark::allocator {

Loop* Pilot::add(DomainId domain) {
  if (count_ == kMostLoops) {
    // A domain that is gone makes room.
    auto const idle = std::find_if(loops_.begin(), loops_.end(), [](const auto& l) {
      return !l->lease && !l->is_tended && !l->learner.is_recording() && l->replay.plans() == 0;
    });
    if (idle == loops_.end()) return nullptr;
    discard_solving(**idle);
    **idle = Loop(domain);  // in place: another thread may be about to look at it again
    return idle->get();
  }
  loops_[count_] = std::make_unique<Loop>(domain);
  return loops_[count_++].get();
}

std::uint32_t Pilot::index_of(const Loop& loop) const {
  std::uint32_t i = 0;
  while (loops_[i].get() != &loop) ++i;
  return i;
}

Chore Pilot::find_chore(Loop& loop) const {
  // What is being searched for is not needed any more.
  if (loop.solving && loop.adopted != nullptr && loop.has_iteration) return Chore::Discard;
  if (!loop.solving) {
    if (loop.has_iteration) return Chore::Solve;
    return loop.wants_trim && loop.is_at_cut() ? Chore::Trim : Chore::None;
  }
  Solving& solving = *loop.solving;
  Solving::Stage const stage = solving.stage();
  if (loop.adopted == nullptr) {
    if (stage == Solving::Stage::Begun) return solving.has_thread() ? Chore::None : Chore::Work;
    if (!solving.first().plan) return Chore::Discard;
    bool const now = !loop.learner.goes_on(solving.iteration()) ||
                     loop.learner.is_at(solving.iteration(), solving.first().layout.cut_block);
    return now ? Chore::Adopt : Chore::None;
  }
  if (stage == Solving::Stage::Ended && !solving.better().plan) return Chore::Discard;
  bool const current = loop.replay.current() != nullptr && &loop.replay.current()->plan() == loop.adopted;
  if (!current || !loop.is_at_cut() || loop.is_lost()) return Chore::None;
  if (stage == Solving::Stage::Ended) return Chore::Improve;
  if (loop.wants_trim) return Chore::Trim;
  return stage == Solving::Stage::HasFirst && loop.trimmed ? Chore::Search : Chore::None;
}

void Pilot::end_iteration(Loop& loop) {
  const plan::ServingPlan& plan = loop.replay.current()->plan();
  std::size_t const few = plan.iteration() / 16;
  bool const good = loop.occupied == 0 && loop.strays <= few;
  loop.good_iterations = good ? loop.good_iterations + 1 : 0;
  loop.bad_iterations = loop.occupied > few ? loop.bad_iterations + 1 : 0;
  loop.occupied = loop.strays = 0;
  // Every place has been used when iterations that take turns have all had theirs.
  std::size_t const turns = plan.entries() / plan.iteration();
  if (loop.lease && !loop.trimmed && loop.good_iterations >= turns) loop.wants_trim = true;
  if (loop.bad_iterations >= 3 && !loop.solving) {
    // Its lifetimes are not what they were when it was recorded.
    loop.bad_iterations = 0;
    if (loop.learner.is_recording())
      loop.learner.look_again();
    else
      loop.learner.start();
  }
}

std::uint32_t Pilot::record(Loop& loop, Granules granules) {
  std::uint32_t const number = loop.learner.on_alloc(granules);
  after_record(loop);
  return number == 0 ? 0 : number | index_of(loop) << kIndexShift;
}

void Pilot::record_free(std::uint32_t number, Granules granules) {
  std::uint32_t const index = number >> kIndexShift;
  if (index < count_ && loops_[index]->learner.is_recording())
    loops_[index]->learner.on_free(number & ((1u << kIndexShift) - 1), granules);
}

void Pilot::after_record(Loop& loop) {
  Learner& learner = loop.learner;
  if (!loop.has_iteration && learner.has_iteration()) {
    // One that is followed may be a loop within the program's: a longer one is another.
    bool const known = loop.good_iterations > 0 && learner.period() <= loop.replay.current()->plan().iteration();
    bool const undecided = loop.solving && (loop.adopted == nullptr || !loop.is_lost());
    if (undecided || known)
      learner.look_again();
    else
      loop.has_iteration = true;
  }
  if ((events_ & 255) != 0) return;
  bool const undecided = loop.has_iteration || (loop.solving && loop.adopted == nullptr);
  if (learner.is_settled() && !undecided) {
    stop_recording(loop, kFirstPause);
  } else if (learner.is_exhausted() && !undecided) {
    std::uint64_t const longer = std::min(std::max(2 * loop.pause, kFirstPause), kLongestPause);
    stop_recording(loop, longer);
    if (loop.is_lost() && !loop.lease) forget(loop);
  }
}

void Pilot::stop_recording(Loop& loop, std::uint64_t pause) {
  loop.learner.stop();
  loop.pause = pause;
  loop.rest = 0;
}

bool Pilot::on_rest(std::uint64_t allocations, std::uint64_t extensions) {
  bool began = false;
  for_each([&](Loop& loop) {
    if (loop.learner.is_recording() || loop.replay.plans() != 0) return;
    loop.rest += allocations;
    // What had nothing to gain has something only when memory was needed again.
    if (loop.rest < loop.pause || (loop.unworthy && loop.extensions == extensions)) return;
    loop.unworthy = false;
    loop.learner.start();
    began = true;
  });
  return began;
}

void Pilot::forget(Loop& loop) {
  discard_solving(loop);
  loop.replay = {};
  loop.has_iteration = loop.wants_trim = loop.trimmed = false;
  loop.missed = loop.strays = loop.occupied = loop.probation = 0;
  loop.good_iterations = loop.bad_iterations = 0;
}

void Pilot::discard_solving(Loop& loop) {
  std::erase_if(ending_, [](const auto& s) { return s->is_over(); });
  loop.adopted = nullptr;
  if (!loop.solving) return;
  counts.seconds += loop.solving->seconds();
  loop.solving->cancel();
  ending_.push_back(std::move(loop.solving));
}

bool Pilot::is_recording() const {
  return std::any_of(loops_.begin(), loops_.begin() + static_cast<std::ptrdiff_t>(count_),
                     [](const auto& l) { return l->learner.is_recording(); });
}

bool Pilot::has_plans() const {
  return std::any_of(loops_.begin(), loops_.begin() + static_cast<std::ptrdiff_t>(count_),
                     [](const auto& l) { return l->replay.plans() != 0; });
}

}  // namespace tidemark::allocator
