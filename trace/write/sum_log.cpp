// SPDX-License-Identifier: Apache-2.0
#include "trace/write/sum_log.h"

#include <algorithm>
#include <array>

namespace tidemark::trace {
namespace {

constexpr std::size_t kLargestRecord = kSlots<StepSum>;
// What an event takes that is kept with its context, or with its time alone.
constexpr std::size_t kFailureSlots = kSlots<Resume> + kSlots<Failure>;
constexpr std::size_t kUseSlots = kSlots<TimeBase> + kSlots<DeviceUse>;
constexpr unsigned kAllSteps = 64;  // as a width

using Uses = std::array<Kept<DeviceUse>, Fold::kUses>;

std::size_t count_of(std::span<const Kept<DeviceUse>> uses) {
  return static_cast<std::size_t>(std::count_if(uses.begin(), uses.end(), [](auto const& u) { return u.ticks != 0; }));
}

unsigned width_of(const SumRow& row) {
  return row.record().width;
}
unsigned width_of(const StepRow& row) {
  return row.sum.width;
}
SumRow widened(const SumRow& row, unsigned width) {
  Sum sum = row.record();
  sum.width = width;
  sum.step = first_of_steps(sum.step, width);
  return SumRow::of(sum);
}
StepRow widened(StepRow row, unsigned width) {
  row.sum.width = width;
  row.group = first_of_steps(row.sum.first, width);
  return row;
}
void add_up(SumRow& into, const SumRow& row) {
  into.add(row);
}
void add_up(StepRow& into, const StepRow& row) {
  merge(into.sum, row.sum);
}

// All rows as wide as the widest, and from there two by two until there are no more than `most`.
template <class Row>
void widen_to(RowTable<Row>& table, std::size_t most) {
  unsigned width = 0;
  for (Row const& row : table.rows()) width = std::max(width, width_of(row));
  for (; width <= kAllSteps; ++width) {
    RowTable<Row> wider(table.size());
    if (!wider) return;
    for (Row const& row : table.rows()) {
      Row const wide = widened(row, width);
      if (auto const [found, fresh] = wider.find_or_add(wide); !fresh) add_up(*found, wide);
    }
    table = std::move(wider);
    if (table.size() <= most) return;
  }
}

}  // namespace

// Everything that is in the log, each key once.
struct SumLog::Rewritten {
  RowTable<SumRow> sums;
  RowTable<StepRow> steps;
  Uses uses{};
  std::array<Kept<Failure>, Fold::kMostFailures> failures{};
  std::size_t failure_count = 0;

  std::size_t slots() const {
    return sums.size() * kSlots<Sum> + steps.size() * kSlots<StepSum> + count_of(uses) * kUseSlots +
           failure_count * kFailureSlots + kSlots<Folded>;
  }
  void read(Chunk chunk);

 private:
  Context context_;
  std::uint64_t ticks_ = 0;
};

void SumLog::Rewritten::read(Chunk chunk) {
  for_each_record(chunk.begin(), chunk.end(), [this](const Slot* at, unsigned) {
    switch (tag_of(at->first)) {
      case Tag::Sum: {
        SumRow const row = SumRow::of(decode<Sum>(at));
        if (auto const [found, fresh] = sums.find_or_add(row); !fresh) found->add(row);
        return;
      }
      case Tag::StepSum: {
        auto const sum = decode<StepSum>(at);
        StepRow const row{.sum = sum, .group = first_of_steps(sum.first, sum.width)};
        if (auto const [found, fresh] = steps.find_or_add(row); !fresh) merge(found->sum, sum);
        return;
      }
      case Tag::Resume: {
        auto const r = decode<Resume>(at);
        context_ = r.context;
        ticks_ = r.base_ticks;
        return;
      }
      case Tag::TimeBase: ticks_ = decode<TimeBase>(at).ticks; return;
      case Tag::Failure:
        if (failure_count < failures.size()) failures[failure_count++] = {ticks_, context_, decode<Failure>(at)};
        return;
      case Tag::DeviceUse: {
        auto const r = decode<DeviceUse>(at);
        Kept<DeviceUse>& place = uses[Fold::place_of(r)];
        if (ticks_ >= place.ticks) place = {ticks_, {}, r};
        return;
      }
      default: return;
    }
  });
}

// Space for so many slots, whatever the records' lengths: what is begun can be ended.
bool SumLog::prepare(Row& row, std::size_t slots) {
  // A record that does not fit goes to the next chunk as a whole.
  auto const usable = [](std::size_t free) { return free > kLargestRecord ? free - kLargestRecord : 0; };
  std::size_t space = row.spare * usable(kChunkSlots);
  if (row.current) space += usable(static_cast<std::size_t>(row.current.end() - row.at));
  for (; space < slots; space += usable(kChunkSlots)) {
    Chunk const chunk = file_.claim();
    if (!chunk) return false;
    file_.publish(chunk, {.kind = ChunkKind::Sums, .part_of = row.number});
    row.chunks.push(file_.places(), chunk.index);
    ++row.spare;
    if (row.current) continue;
    row.current = chunk;
    row.at = chunk.begin();
    --row.spare;
  }
  return true;
}

template <class R>
void SumLog::put(Row& row, const R& record) {
  if (static_cast<std::size_t>(row.current.end() - row.at) < kSlots<R>) {
    row.current = file_.places().after(row.current);
    row.at = row.current.begin();
    --row.spare;
  }
  std::uint64_t words[sizeof(R) / 8];
  std::memcpy(words, &record, sizeof(R));
  auto* const out = reinterpret_cast<std::uint64_t*>(row.at);
  for (std::size_t i = 1; i < sizeof(R) / 8; ++i) out[i] = words[i];
  std::atomic_ref(out[0]).store(words[0], std::memory_order_release);
  row.at += kSlots<R>;
}

void SumLog::put_kept(Row& row, const Kept<DeviceUse>& use) {
  put(row, TimeBase{.ticks = use.ticks});
  DeviceUse record = use.record;
  record.time = 0;
  put(row, record);
}

void SumLog::put_kept(Row& row, const Kept<Failure>& failure) {
  put(row, Resume{.base_ticks = failure.ticks, .context = failure.context});
  Failure record = failure.record;
  record.time = 0;
  put(row, record);
}

void SumLog::end_group(Row& row, Chunk folded) {
  put(row, Folded{.chunk = folded.index, .sequence = folded ? folded.header->sequence : 0});
}

void SumLog::begin() {
  if (row_.chunks.size() >= most_chunks_) rewrite();
  if (row_.number != 0) return;
  // The first row of chunks begins to count while it is empty.
  row_.number = 1;
  std::atomic_ref(file_.header().ring.sums).store(1, std::memory_order_release);
}

bool SumLog::add(Fold& fold, Chunk folded) {
  begin();
  std::size_t const slots = fold.sums().size() * kSlots<Sum> + fold.steps().size() * kSlots<StepSum> +
                            count_of(fold.uses()) * kUseSlots + fold.failures().size() * kFailureSlots + kSlots<Folded>;
  if (!prepare(row_, slots)) return false;
  for (SumRow const& row : fold.sums())
    if (!row.nothing()) put(row_, row.record());
  for (StepRow const& row : fold.steps()) put(row_, row.sum);
  for (auto const& use : fold.uses())
    if (use.ticks != 0) put_kept(row_, use);
  for (auto const& failure : fold.failures()) put_kept(row_, failure);
  end_group(row_, folded);
  return true;
}

bool SumLog::add(const StepSum& row) {
  begin();
  if (!prepare(row_, kSlots<StepSum> + kSlots<Folded>)) return false;
  put(row_, row);
  end_group(row_, {});
  return true;
}

// Nothing is written between groups while this goes on: every row in the log counts.
bool SumLog::gather(Rewritten& into) {
  std::size_t sums = 0, steps = 0;
  row_.chunks.for_each(file_.places(), [&](Chunk chunk) {
    for_each_record(chunk.begin(), chunk.end(), [&](const Slot* at, unsigned) {
      sums += tag_of(at->first) == Tag::Sum;
      steps += tag_of(at->first) == Tag::StepSum;
    });
  });
  into.sums = RowTable<SumRow>(sums);
  into.steps = RowTable<StepRow>(steps);
  if (!into.sums || !into.steps) return false;
  row_.chunks.for_each(file_.places(), [&](Chunk chunk) { into.read(chunk); });
  return true;
}

// A quarter of the space for layers and kinds, a quarter for steps, and half of it is free again.
void SumLog::thin(Rewritten& rows) const {
  std::size_t const quarter = most_chunks_ * kChunkSlots / 4;
  widen_to(rows.sums, quarter / kSlots<Sum>);
  widen_to(rows.steps, quarter / kSlots<StepSum>);
}

bool SumLog::write(Row& row, Rewritten& rows) {
  if (!prepare(row, rows.slots())) return false;
  for (SumRow const& sum : rows.sums.rows())
    if (!sum.nothing()) put(row, sum.record());
  for (StepRow const& step : rows.steps.rows()) put(row, step.sum);
  for (auto const& use : rows.uses)
    if (use.ticks != 0) put_kept(row, use);
  for (std::size_t i = 0; i < rows.failure_count; ++i) put_kept(row, rows.failures[i]);
  end_group(row, {});
  return true;
}

// Where there is no memory or no space for it, the log goes on as it is.
void SumLog::rewrite() {
  Reserved const memory = Reserved::map(sizeof(Rewritten));
  if (!memory) return;
  auto& rows = *new (memory.data()) Rewritten;
  Row fresh{.number = row_.number + 1};
  if (gather(rows)) {
    thin(rows);
    if (write(fresh, rows)) {
      std::atomic_ref(file_.header().ring.sums).store(fresh.number, std::memory_order_release);
      std::swap(row_, fresh);
      // More layers than the share was made for: they are as many as names, which have a share of their own.
      most_chunks_ = std::max(most_chunks_, 2 * row_.chunks.size());
    }
    give_back(fresh);
  }
  rows.~Rewritten();
}

void SumLog::give_back(Row& row) {
  while (Chunk const chunk = row.chunks.pop(file_.places())) file_.discard(chunk);
}

}  // namespace tidemark::trace
