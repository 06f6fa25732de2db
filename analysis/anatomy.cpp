// SPDX-License-Identifier: Apache-2.0
#include "analysis/anatomy.h"

#include <algorithm>
#include <array>
#include <tuple>

namespace tidemark::analysis {
namespace {

class Sums : public Observer {
 public:
  explicit Sums(const History& h)
      : history_(h),
        layers(h.layers.size()),
        steps(h.steps.size() + 1),
        stacks(h.stacks.size()),
        kind_of_(h.blocks.size(), kGone) {}

  void enter(const Block& b, trace::Kind kind, Why) override {
    change(b, kind, 1);
    kind_of_[index(b)] = static_cast<std::uint8_t>(kind);
  }
  void leave(const Block& b, trace::Kind kind, Why) override {
    change(b, kind, ~std::uint64_t{0});
    kind_of_[index(b)] = kGone;
  }

  const History& history_;
  std::array<Row, 256> kinds, phases;
  std::vector<Row> layers, steps, stacks;
  std::uint64_t given_bytes = 0, inferred_bytes = 0;

  // Calls f(number of the block, its kind) for everything that is alive.
  template <class F>
  void for_each_alive(F f) const {
    for (std::uint32_t i = 0; i < kind_of_.size(); ++i)
      if (kind_of_[i] != kGone) f(i, static_cast<trace::Kind>(kind_of_[i]));
  }

 private:
  static constexpr std::uint8_t kGone = 255;

  std::size_t index(const Block& b) const { return static_cast<std::size_t>(&b - history_.blocks.data()); }
  // `sign` is 1 or, in the arithmetic of unsigned numbers, -1.
  void change(const Block& b, trace::Kind kind, std::uint64_t sign) {
    std::uint64_t const live = sign * rounded_bytes(b);
    for (Row* const row : {&kinds[static_cast<std::uint8_t>(kind)], &phases[static_cast<std::uint8_t>(b.phase)],
                           &layers[b.layer], &steps[b.step == kNoStep ? 0 : b.step + 1], &stacks[b.stack]}) {
      row->live_bytes += live;
      row->requested_bytes += sign * b.size_bytes;
      row->blocks += sign;
      if (kind == trace::Kind::Activation) row->activation_bytes += live;
    }
    if (b.kind_source == KindSource::Given) given_bytes += live;
    if (b.kind_source == KindSource::Inferred) inferred_bytes += live;
  }

  std::vector<std::uint8_t> kind_of_;  // by block
};

// The rows that something is in, largest first. Names may be the same for several: they are one row.
template <class Rows, class Name>
std::vector<Row> present(const Rows& rows, Name name) {
  std::map<std::string, Row> by_name;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].blocks == 0) continue;
    Row& sum = by_name[name(i)];
    sum.live_bytes += rows[i].live_bytes;
    sum.requested_bytes += rows[i].requested_bytes;
    sum.activation_bytes += rows[i].activation_bytes;
    sum.blocks += rows[i].blocks;
    sum.stack = rows[i].stack;
  }
  std::vector<Row> sorted;
  for (auto& [text, row] : by_name) {
    row.name = text;
    sorted.push_back(std::move(row));
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Row& a, const Row& b) { return a.live_bytes > b.live_bytes; });
  return sorted;
}

std::optional<std::uint64_t> step_of(const History& h, std::uint32_t step) {
  return step == kNoStep ? std::nullopt : std::optional(h.steps[step].step);
}

std::vector<BlockRow> largest_blocks(const History& h, const Sums& sums, std::size_t count) {
  std::vector<std::pair<std::uint32_t, trace::Kind>> alive;
  sums.for_each_alive([&](std::uint32_t block, trace::Kind kind) { alive.emplace_back(block, kind); });
  auto const larger = [&](const auto& a, const auto& b) {
    return std::tuple(rounded_bytes(h.blocks[b.first]), a.first) <
           std::tuple(rounded_bytes(h.blocks[a.first]), b.first);
  };
  count = std::min(count, alive.size());
  std::partial_sort(alive.begin(), alive.begin() + static_cast<std::ptrdiff_t>(count), alive.end(), larger);
  std::vector<BlockRow> rows;
  for (std::size_t i = 0; i < count; ++i) {
    Block const& b = h.blocks[alive[i].first];
    rows.push_back({.address = b.address,
                    .live_bytes = rounded_bytes(b),
                    .requested_bytes = b.size_bytes,
                    .born_ns = b.born_ns,
                    .step = step_of(h, b.step),
                    .name = h.names[b.name],
                    .layer = h.layers[b.layer],
                    .kind = std::string(trace::name(alive[i].second)),
                    .phase = std::string(trace::name(b.phase)),
                    .device = b.device});
  }
  return rows;
}

// Step, phase and layer at an instant are those of the latest allocation.
void name_instant(const History& h, std::uint64_t at, Anatomy& a) {
  for (std::size_t i = h.steps.size(); i-- > 0;) {
    if (h.steps[i].at > at || h.steps[i].time_ns > a.time_ns) continue;
    a.step = h.steps[i].step;
    break;
  }
  a.phase = trace::name(trace::Phase::Other);
  a.layer = h.layers[0];
  for (std::uint64_t i = std::min<std::uint64_t>(at, h.changes.size()); i-- > 0;) {
    if (h.changes[i].freed) continue;
    Block const& b = h.blocks[h.changes[i].block];
    a.phase = trace::name(b.phase);
    a.layer = h.layers[b.layer];
    break;
  }
}

}  // namespace

Anatomy dissect(const History& h, const Selection& selection, const Baselines& baselines, Instant instant,
                std::size_t largest) {
  Sums sums(h);
  Observer* const observers[] = {&sums};
  Account const account = walk(h, selection, baselines, instant, observers).account;
  Anatomy a;
  a.time_ns = instant.time_ns;
  a.live_bytes = account.live_bytes;
  a.requested_bytes = account.requested_bytes;
  a.reserved_bytes = account.reserved_bytes;
  a.kind_given_bytes = sums.given_bytes;
  a.kind_inferred_bytes = sums.inferred_bytes;
  name_instant(h, instant.at, a);
  a.by_kind = present(sums.kinds, [](std::size_t i) { return std::string(trace::name(static_cast<trace::Kind>(i))); });
  a.by_phase =
      present(sums.phases, [](std::size_t i) { return std::string(trace::name(static_cast<trace::Phase>(i))); });
  a.by_layer = present(sums.layers, [&](std::size_t i) { return h.layers[i]; });
  a.by_step = present(sums.steps, [&](std::size_t i) {
    return i == 0 ? std::string("(before the first step)") : "step " + std::to_string(h.steps[i - 1].step);
  });
  for (std::size_t i = 0; i < sums.stacks.size(); ++i) sums.stacks[i].stack = h.stacks[i];
  a.by_stack = present(sums.stacks, [&](std::size_t i) {
    return i == 0 ? std::string("(no stack)") : "stack " + std::to_string(h.stacks[i]);
  });
  a.largest = largest_blocks(h, sums, largest);
  return a;
}

}  // namespace tidemark::analysis
