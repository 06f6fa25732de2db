// SPDX-License-Identifier: Apache-2.0
#include "analysis/timeline.h"

namespace tidemark::analysis {

// Shares that nothing happens in begin and end with what was before them.
void Timeline::reach(std::size_t share) {
  while (points_.size() <= share) {
    last_.time_ns = shares_.begin_ns(points_.size());
    points_.push_back(last_);
  }
}

void Timeline::settled(const Account& a) {
  reach(shares_.of(a.time_ns));
  TimelinePoint& point = points_.back();
  std::uint64_t const reserved_bytes = std::max(point.reserved_bytes, a.reserved_bytes);
  last_ = {a.time_ns, a.live_bytes, a.requested_bytes, a.reserved_bytes};
  if (a.live_bytes > point.live_bytes) point = last_;
  point.reserved_bytes = reserved_bytes;
}

std::vector<TimelinePoint> Timeline::finish() {
  reach(shares_.count() - 1);
  return std::move(points_);
}

LayerTimelines::LayerTimelines(Shares shares, const std::vector<std::uint32_t>& layers, std::size_t all_layers)
    : shares_(shares), line_of_(all_layers, kNone), lines_(layers.size()) {
  for (std::uint32_t i = 0; i < layers.size(); ++i) line_of_[layers[i]] = i;
}

void LayerTimelines::change(const Block& b, trace::Kind kind, std::uint64_t bytes) {
  std::uint32_t const line = line_of_[b.layer];
  if (line == kNone || kind != trace::Kind::Activation) return;
  lines_[line].bytes += bytes;
  if (!lines_[line].changed) changed_.push_back(line);
  lines_[line].changed = true;
}

void LayerTimelines::reach(Line& line, std::size_t share) const {
  while (line.points.size() <= share)
    line.points.emplace_back(shares_.begin_ns(line.points.size()), line.settled_bytes);
}

void LayerTimelines::settled(const Account& a) {
  for (std::uint32_t const i : changed_) {
    Line& line = lines_[i];
    reach(line, shares_.of(a.time_ns));
    if (line.bytes > line.points.back().second) line.points.back() = {a.time_ns, line.bytes};
    line.settled_bytes = line.bytes;
    line.changed = false;
  }
  changed_.clear();
}

std::vector<Points> LayerTimelines::finish() {
  std::vector<Points> all;
  for (Line& line : lines_) {
    reach(line, shares_.count() - 1);
    all.push_back(std::move(line.points));
  }
  return all;
}

}  // namespace tidemark::analysis
