// SPDX-License-Identifier: Apache-2.0
// A history drawn with so many points. Each point stands for an equal share of the time and shows the largest value
// within it, so that no peak is lost however few they are.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "analysis/summary.h"
#include "analysis/walk.h"

namespace tidemark::analysis {

inline constexpr std::size_t kMostPoints = 4096;

// Which share of the time an instant falls into. Shares differ by a nanosecond at most, and the last one ends with the
// trace.
class Shares {
 public:
  Shares(std::uint64_t end_ns, std::size_t count) : Shares(0, end_ns, count) {}
  Shares(std::uint64_t begin_ns, std::uint64_t end_ns, std::size_t count)
      : count_(count), begin_ns_(begin_ns), span_ns_(std::min(std::max(end_ns, begin_ns) - begin_ns, kNever - 1) + 1) {}
  std::size_t count() const { return count_; }
  std::size_t of(std::uint64_t time_ns) const {
    std::uint64_t const since_ns = std::max(time_ns, begin_ns_) - begin_ns_;
    return std::min(static_cast<std::size_t>(Wide{since_ns} * count_ / span_ns_), count_ - 1);
  }
  std::uint64_t begin_ns(std::size_t share) const {
    return begin_ns_ + static_cast<std::uint64_t>((Wide{share} * span_ns_ + count_ - 1) / count_);
  }

 private:
  using Wide = unsigned __int128;
  std::size_t count_;
  std::uint64_t begin_ns_, span_ns_;
};

class Timeline : public Observer {
 public:
  explicit Timeline(Shares shares) : shares_(shares) {}
  void settled(const Account& account) override;
  // Once, after the walk.
  std::vector<TimelinePoint> finish();

 private:
  void reach(std::size_t share);

  Shares shares_;
  std::vector<TimelinePoint> points_;
  TimelinePoint last_;
};

// Bytes of activations that each of some layers keeps.
class LayerTimelines : public Observer {
 public:
  // `layers`: by their number in History::layers; the others are passed over.
  LayerTimelines(Shares shares, const std::vector<std::uint32_t>& layers, std::size_t all_layers);
  void enter(const Block& b, trace::Kind kind, Why) override { change(b, kind, rounded_bytes(b)); }
  void leave(const Block& b, trace::Kind kind, Why) override { change(b, kind, -rounded_bytes(b)); }
  void settled(const Account& account) override;
  // In the order of the layers that were asked for. Once, after the walk.
  std::vector<Points> finish();

 private:
  struct Line {
    std::uint64_t bytes = 0;
    std::uint64_t settled_bytes = 0;
    bool changed = false;
    Points points;
  };
  void change(const Block& b, trace::Kind kind, std::uint64_t bytes);
  void reach(Line& line, std::size_t share) const;

  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  Shares shares_;
  std::vector<std::uint32_t> line_of_;  // by layer
  std::vector<Line> lines_;
  std::vector<std::uint32_t> changed_;  // lines, since the account was settled
};

}  // namespace tidemark::analysis
