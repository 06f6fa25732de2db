// SPDX-License-Identifier: Apache-2.0
#include "interpose/watch/cupti_launches.h"

#include <algorithm>

namespace tidemark::interpose {

bool Launches::start() {
  calls_ = reinterpret_cast<Call*>(Reserved::map(kRemembered * sizeof(Call)).release());
  waiting_ = reinterpret_cast<Waiting*>(Reserved::map(kWaiting * sizeof(Waiting)).release());
  return calls_ != nullptr && waiting_ != nullptr;
}

Launches::Call& Launches::meet(std::uint32_t correlation) {
  Call& call = place(correlation);
  if (call.correlation != correlation) call = {.scope = 0, .correlation = correlation, .of_graph = false};
  return call;
}

const Launches::Call* Launches::find(std::uint32_t correlation) const {
  Call const& call = place(correlation);
  return correlation != 0 && call.correlation == correlation ? &call : nullptr;
}

// The record of the scope stands before that of its call. A call without one was made outside of every scope.
void Launches::scoped(std::uint32_t correlation, LaunchScope scope) {
  meet(correlation).scope = scope.packed();
}

void Launches::called(std::uint32_t correlation, bool of_graph) {
  meet(correlation).of_graph |= of_graph;
  saw_graph_ |= of_graph;
}

bool Launches::is_graph(std::uint32_t correlation) const {
  Call const* const call = find(correlation);
  return call != nullptr && call->of_graph;
}

void CuptiClock::add(std::uint64_t cupti_ns, std::uint64_t ticks) {
  // Time that stands still or was set back makes no line.
  if (count_ != 0 && (cupti_ns <= newest(0).ns || ticks <= newest(0).ticks)) {
    if (cupti_ns < newest(0).ns)
      count_ = 0;
    else
      return;
  }
  pairs_[count_++ % kPairs] = {cupti_ns, ticks};
}

std::uint64_t CuptiClock::ticks(std::uint64_t cupti_ns) const {
  if (count_ == 0) return 0;
  // The pair at or before that time, and the one after it; beyond the newest and the oldest, the nearest line goes on.
  std::size_t const known = std::min(count_, kPairs);
  std::size_t age = 0;
  while (age + 1 < known && newest(age).ns > cupti_ns) ++age;
  if (known > 1 && age == 0) age = 1;
  Pair const& from = newest(age);
  double rate = ticks_per_ns_;
  if (known > 1 && age > 0) {
    Pair const& to = newest(age - 1);
    rate = static_cast<double>(to.ticks - from.ticks) / static_cast<double>(to.ns - from.ns);
  }
  bool const before = cupti_ns < from.ns;
  double const distance = rate * static_cast<double>(before ? from.ns - cupti_ns : cupti_ns - from.ns);
  constexpr double kFarthest = 9e18;
  auto const by = static_cast<std::uint64_t>(std::min(distance, kFarthest));
  if (before) return by < from.ticks ? from.ticks - by : 0;
  return by < ~from.ticks ? from.ticks + by : ~std::uint64_t{0};
}

}  // namespace tidemark::interpose
