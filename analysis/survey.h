// SPDX-License-Identifier: Apache-2.0
// What is collected on one walk: the peak, and the peaks of layers, steps and classes.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "analysis/summary.h"
#include "analysis/walk.h"

namespace tidemark::analysis {

class PeakFinder : public Observer {
 public:
  void enter(const Block& b, trace::Kind, Why why) override;
  void leave(const Block& b, trace::Kind, Why why) override;
  void settled(const Account& a) override;

  // The first instant of the largest live bytes; its reserved bytes are the largest while it lasted.
  const Account& peak() const { return peak_; }
  std::uint64_t requested_bytes() const { return requested_; }
  std::uint64_t reserved_bytes() const { return reserved_; }
  const Totals& totals() const { return totals_; }
  // Blocks at the end.
  std::uint64_t alive() const { return totals_.allocations + found_ - totals_.frees; }

 private:
  Account peak_;
  std::uint64_t requested_ = 0, reserved_ = 0, found_ = 0;
  Totals totals_;
};

class LayerPeaks : public Observer {
 public:
  struct Layer {
    std::uint64_t live = 0, peak_live = 0;
    std::uint64_t activation = 0, peak_activation = 0;
    std::uint64_t allocations = 0;
  };
  explicit LayerPeaks(std::size_t count) : layers_(count) {}
  void enter(const Block& b, trace::Kind kind, Why why) override;
  void leave(const Block& b, trace::Kind kind, Why why) override;
  const std::vector<Layer>& layers() const { return layers_; }

 private:
  std::vector<Layer> layers_;
};

class StepPeaks : public Observer {
 public:
  struct Step {
    Account peak;
    std::uint64_t end_live = 0;
    std::uint64_t allocations = 0;
  };
  explicit StepPeaks(std::size_t count) { steps_.reserve(count); }
  void enter(const Block& b, trace::Kind, Why why) override {
    if (b.step < steps_.size() && why != Why::Found) ++steps_[b.step].allocations;
  }
  void leave(const Block& b, trace::Kind, Why why) override {
    if (b.step < steps_.size() && why == Why::Renamed) --steps_[b.step].allocations;
  }
  void step_begins(const Account& a, std::uint32_t) override;
  void settled(const Account& a) override;
  // One for each of History::steps.
  const std::vector<Step>& steps() const { return steps_; }

 private:
  std::vector<Step> steps_;
};

class DevicePeaks : public Observer {
 public:
  void enter(const Block& b, trace::Kind, Why) override {
    Device& d = devices_[b.device];
    d.live += rounded_bytes(b);
    d.peak = std::max(d.peak, d.live);
  }
  void leave(const Block& b, trace::Kind, Why) override { devices_[b.device].live -= rounded_bytes(b); }
  std::uint64_t peak_bytes(std::size_t device) const { return devices_[device].peak; }

 private:
  struct Device {
    std::uint64_t live = 0, peak = 0;
  };
  std::array<Device, 256> devices_{};
};

// Every class that occurs, host memory and views included, on the devices that are selected.
std::vector<ClassRow> class_rows(const History& history, const Selection& selection);

}  // namespace tidemark::analysis
