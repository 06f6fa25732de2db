// SPDX-License-Identifier: Apache-2.0
// The factor of the loss that lifts small gradients into fp16's range. Dynamic: half after an overflow, double after
// 2000 steps without one.
#pragma once
#include <algorithm>
#include <cstdint>

namespace tidemark::trainer {

class LossScale {
 public:
  LossScale(float start, bool dynamic) : value_(start), dynamic_(dynamic) {}
  float value() const { return value_; }
  void note(bool overflowed) {
    if (!dynamic_) return;
    if (overflowed) {
      value_ = std::max(value_ / 2, 1.0f);
      good_steps_ = 0;
    } else if (++good_steps_ == kStepsToGrow) {
      value_ = std::min(value_ * 2, 1e30f);
      good_steps_ = 0;
    }
  }
  static constexpr std::uint64_t kStepsToGrow = 2000;

 private:
  float value_;
  bool dynamic_;
  std::uint64_t good_steps_ = 0;
};

}  // namespace tidemark::trainer
