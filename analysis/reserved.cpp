// SPDX-License-Identifier: Apache-2.0
#include "analysis/reserved.h"

#include <algorithm>

namespace tidemark::analysis {

Reserved::Reserved(const History& history, const Selection& selection, const Baselines& baselines)
    : selection_(selection), baselines_(baselines) {
  for (DeviceSample const& s : history.samples)
    if (s.source == trace::DeviceUse::Driver && s.process_bytes != 0) devices_[s.device].told = true;
}

void Reserved::update(Device& d) {
  sum_ -= d.reserved;
  d.reserved = std::max({d.live, d.held, d.given});
  sum_ += d.reserved;
}

// Unsigned numbers take a negative one as it is meant.
void Reserved::change(const Block& b, std::uint64_t bytes) {
  if (!selection_.on_device(b.device)) return;
  Device& d = devices_[b.device];
  if (counts_in_live(b)) d.live += bytes;
  if (trace::on_device(b.block_class)) d.held += bytes;
  update(d);
}

void Reserved::sample(const DeviceSample& s) {
  if (s.source != trace::DeviceUse::Driver || !selection_.on_device(s.device)) return;
  Device& d = devices_[s.device];
  auto const& baseline = baselines_[s.device];
  if (!d.told && !baseline) return;
  source_ = ReservedSource::Driver;
  used_sum_ += s.used_bytes - d.used;
  d.used = s.used_bytes;
  d.given = d.told ? s.process_bytes : s.used_bytes > *baseline ? s.used_bytes - *baseline : 0;
  update(d);
}

}  // namespace tidemark::analysis
