// SPDX-License-Identifier: Apache-2.0
#include "interpose/watch/cupti_audit.h"

#include <stdio.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "interpose/watch/cupti_records.h"

namespace tidemark::interpose {
namespace {

// More of a kind that CUPTI never tells are only counted.
constexpr std::size_t kMostDoubtful = std::size_t{1} << 16;

constexpr std::uint64_t mix(std::uint64_t h, std::uint64_t word) {
  h = (h ^ word) * 0x9fb21c651e98df25;
  return h ^ h >> 32;
}

// Whether CUPTI may tell blocks of a class at all.
bool in_sight(trace::Class c) {
  return c != trace::Class::Physical && c != trace::Class::Reservation && c != trace::Class::Graph &&
         c != trace::Class::Tensor;
}

Doubt doubt_of(trace::Class c) {
  switch (c) {
    case trace::Class::Registered: return Doubt::Registered;
    case trace::Class::Mapping: return Doubt::Mapping;
    case trace::Class::Imported: return Doubt::Imported;
    default: return Doubt::None;
  }
}

std::uint8_t row_of(trace::Class c, std::uint8_t device) {
  bool const host = c == trace::Class::Managed || c == trace::Class::Pinned || c == trace::Class::Registered;
  return host ? Audit::kHost : static_cast<std::uint8_t>(device % Audit::kDevices);
}

std::uint8_t row_of(const MemoryRecord& r) {
  bool const on_device =
      r.memory_kind == CUPTI_ACTIVITY_MEMORY_KIND_DEVICE || r.memory_kind == CUPTI_ACTIVITY_MEMORY_KIND_ARRAY;
  return on_device ? static_cast<std::uint8_t>(r.device % Audit::kDevices) : Audit::kHost;
}

}  // namespace

// A release is known by its address alone: its size and place are those of the block.
std::uint64_t Audit::key(const Operation& o) {
  std::uint64_t h = mix(o.released ? 2 : 1, o.address);
  if (!o.released) h = mix(mix(h, o.size_bytes), o.row);
  return h | 1;  // never 0
}

void Audit::agree(const Operation& o) {
  if (o.released) {
    ++releases_;
    return;
  }
  Row& row = rows_[o.row];
  ++row.agreeing;
  row.agreeing_bytes += o.size_bytes;
}

void Audit::add(const Operation& operation, Side side, Side other) {
  std::scoped_lock const guard(lock_);
  std::uint64_t const k = key(operation);
  bool const mine = side == &Waiting::ours;
  if (Waiting* const found = waiting_.find(k)) {
    if (found->*other == 0) {
      ++(found->*side);
      found->operation.correlation = mine ? found->operation.correlation : operation.correlation;
      return;
    }
    agree(operation);
    Doubt const doubt = mine ? operation.doubt : found->operation.doubt;
    told_[static_cast<std::size_t>(doubt)] = true;
    if (--(found->*other) != 0) return;
    if (!mine && doubt != Doubt::None) --doubtful_;
    waiting_.erase(k);
    return;
  }
  bool const doubtful = mine && operation.doubt != Doubt::None;
  if (doubtful && doubtful_ >= kMostDoubtful) {
    ++unseen_;
    return;
  }
  Waiting* const fresh = waiting_.size() < kMostWaiting ? waiting_.insert(k) : nullptr;
  if (fresh == nullptr) {
    overflowed_ = true;
    return;
  }
  fresh->operation = operation;
  fresh->*side = 1;
  if (doubtful) ++doubtful_;
}

void Audit::ours(const AuditedBlock& block, bool released) {
  if (!in_sight(block.block_class)) return;
  std::uint8_t const row = row_of(block.block_class, block.device);
  if (block.block_class == trace::Class::Array) {
    std::scoped_lock const guard(lock_);
    (released ? ended_arrays_ : arrays_)[row].ours.add(block.size_bytes);
    return;
  }
  Doubt const doubt = doubt_of(block.block_class);
  add({.address = block.address,
       .size_bytes = block.size_bytes,
       .row = row,
       .released = released,
       .doubt = doubt != Doubt::None ? doubt : block.doubt},
      &Waiting::ours, &Waiting::cupti);
}

void Audit::told(const MemoryRecord& r) {
  bool const released = r.operation == CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE;
  std::uint8_t const row = row_of(r);
  switch (r.memory_kind) {
    case CUPTI_ACTIVITY_MEMORY_KIND_DEVICE_STATIC:
    case CUPTI_ACTIVITY_MEMORY_KIND_MANAGED_STATIC: {
      std::scoped_lock const guard(lock_);
      if (!released) static_bytes_ += r.size_bytes;
      return;
    }
    case CUPTI_ACTIVITY_MEMORY_KIND_ARRAY: {
      std::scoped_lock const guard(lock_);
      (released ? ended_arrays_ : arrays_)[row].cupti.add(r.size_bytes);
      return;
    }
    default: break;
  }
  add({.address = r.address,
       .size_bytes = r.size_bytes,
       .correlation = r.correlation,
       .row = row,
       .released = released},
      &Waiting::cupti, &Waiting::ours);
}

void Audit::forgive_graphs(const Launches& launches) {
  if (!launches.saw_graph()) return;
  std::scoped_lock const guard(lock_);
  for (;;) {
    // A few at a time: the map may not be changed while it is looked through.
    std::array<std::uint64_t, 64> keys;
    std::size_t count = 0;
    waiting_.for_each([&](std::uint64_t k, const Waiting& w) {
      if (count == keys.size() || w.cupti == 0 || !launches.is_graph(w.operation.correlation)) return;
      keys[count++] = k;
      graph_operations_ += w.cupti;
    });
    for (std::size_t i = 0; i < count; ++i) waiting_.erase(keys[i]);
    if (count < keys.size()) return;
  }
}

std::string Audit::describe(const Waiting& w) {
  Operation const& o = w.operation;
  char place[32], text[160];
  if (o.row == kHost)
    snprintf(place, sizeof place, "host memory");
  else
    snprintf(place, sizeof place, "device %u", o.row);
  snprintf(text, sizeof text, "%s alone: %u %s of %llu bytes at 0x%llx, %s", w.ours != 0 ? "the account" : "CUPTI",
           w.ours + w.cupti, o.released ? "release" : "allocation", static_cast<unsigned long long>(o.size_bytes),
           static_cast<unsigned long long>(o.address), place);
  return text;
}

void Audit::note(Verdict& verdict, std::string sample) {
  if (verdict.sample_count < kSamples) verdict.samples[verdict.sample_count++] = std::move(sample);
}

void Audit::judge(Verdict& v, const Waiting& w) const {
  Operation const& o = w.operation;
  bool const expected =
      o.doubt == Doubt::None || (o.doubt != Doubt::Before && told_[static_cast<std::size_t>(o.doubt)]);
  if (w.ours != 0 && !expected) {
    v.unseen += w.ours;
    return;
  }
  std::uint64_t const count = w.ours + w.cupti;
  note(v, describe(w));
  if (o.released) {
    v.releases += count;
    return;
  }
  Row& row = v.rows[o.row];
  row.allocations += count;
  (w.ours != 0 ? row.ours_alone_bytes : row.cupti_alone_bytes) += count * o.size_bytes;
}

void Audit::judge_arrays(Verdict& v, std::size_t row) const {
  Arrays const &made = arrays_[row], &ended = ended_arrays_[row];
  if (made.cupti.count + ended.cupti.count == 0) {
    v.unseen += made.ours.count + ended.ours.count;
    return;
  }
  auto const differ = [&](const Arrays& a, const char* what) {
    if (a.ours.bytes == a.cupti.bytes) return false;
    note(v, "arrays on device " + std::to_string(row) + ": " + what + " " + std::to_string(a.ours.bytes) +
                " bytes by the account, " + std::to_string(a.cupti.bytes) + " by CUPTI");
    return true;
  };
  bool const made_differ = differ(made, "allocated"), ended_differ = differ(ended, "released");
  // Counted as the account has them.
  std::uint64_t const count = std::max<std::uint64_t>(made.ours.count, made_differ ? 1 : 0);
  Row& r = v.rows[row];
  r.allocations += count;
  r.agreeing += made_differ ? 0 : count;
  r.agreeing_bytes += std::min(made.ours.bytes, made.cupti.bytes);
  r.ours_alone_bytes += made.ours.bytes - std::min(made.ours.bytes, made.cupti.bytes);
  r.cupti_alone_bytes += made.cupti.bytes - std::min(made.ours.bytes, made.cupti.bytes);
  v.releases += std::max<std::uint64_t>(ended.ours.count, ended_differ ? 1 : 0);
  v.releases_agreeing += ended_differ ? 0 : ended.ours.count;
}

Audit::Verdict Audit::verdict() {
  std::scoped_lock const guard(lock_);
  Verdict v{.rows = rows_,
            .releases = releases_,
            .releases_agreeing = releases_,
            .unseen = unseen_,
            .static_bytes = static_bytes_,
            .graph_operations = graph_operations_,
            .overflowed = overflowed_};
  for (Row& row : v.rows) row.allocations = row.agreeing;
  waiting_.for_each([&](std::uint64_t, const Waiting& w) { judge(v, w); });
  for (std::size_t row = 0; row < kDevices; ++row) judge_arrays(v, row);
  return v;
}

Audit::Row Audit::Verdict::total() const {
  Row sum;
  for (Row const& row : rows) {
    sum.allocations += row.allocations;
    sum.agreeing += row.agreeing;
    sum.agreeing_bytes += row.agreeing_bytes;
    sum.ours_alone_bytes += row.ours_alone_bytes;
    sum.cupti_alone_bytes += row.cupti_alone_bytes;
  }
  return sum;
}

}  // namespace tidemark::interpose
