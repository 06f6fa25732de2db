// SPDX-License-Identifier: Apache-2.0
#include "trace/write/lane.h"

namespace tidemark::trace {
namespace {

// A gap between two layers that is worth a record of its own, in ticks: some tens of microseconds on any machine.
constexpr std::uint64_t kWorthwhileGap = 1 << 17;

bool short_address(std::uint64_t address) {
  return address % (1u << kAddressShift) == 0 && address < kShortAddressLimit;
}

}  // namespace

class Lane::Busy {
 public:
  explicit Busy(Lane& lane) : lane_(lane), entered_(!lane.busy_.load(std::memory_order_relaxed)) {
    if (entered_) {
      lane_.busy_.store(true, std::memory_order_relaxed);
      std::atomic_signal_fence(std::memory_order_seq_cst);
    } else {
      lane_.file_->count_loss(Loss::Reentered);
    }
  }
  ~Busy() {
    if (!entered_) return;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    lane_.busy_.store(false, std::memory_order_relaxed);
  }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;
  explicit operator bool() const { return entered_; }

 private:
  Lane& lane_;
  bool entered_;
};

void Lane::start(File& file, std::uint32_t thread) {
  file_ = &file;
  context_ = {.thread = thread};
  left_ticks_ = 0;
  if (at_ == nullptr || !room(kSlots<Resume>)) {
    // The first record takes a chunk, with this context at its head; however short it is, it is not put into this one.
    at_ = end_;
    return;
  }
  base_ticks_ = file.clock().now();
  put(Resume{.base_ticks = base_ticks_, .context = context_});
}

bool Lane::next_chunk() {
  chunk_ = file_->take_events(context_, chunk_);
  if (!chunk_) {
    at_ = end_ = nullptr;
    return false;
  }
  at_ = chunk_.begin();
  end_ = chunk_.end();
  base_ticks_ = chunk_.header->base_ticks;
  return true;
}

// One slot stays free, for a time base before the record.
inline bool Lane::room(std::size_t slots) {
  return static_cast<std::size_t>(end_ - at_) > slots;
}

// A reader, or a program's end at any instant, sees the record whole or not at all.
template <class R>
inline void Lane::put(const R& record) {
  std::uint64_t words[sizeof(R) / 8];
  std::memcpy(words, &record, sizeof(R));
  auto* const out = reinterpret_cast<std::uint64_t*>(at_);
  for (std::size_t i = 1; i < sizeof(R) / 8; ++i) out[i] = words[i];
  std::atomic_ref(out[0]).store(words[0], std::memory_order_release);
  at_ += kSlots<R>;
}

template <class R>
inline void Lane::put_timed(R record, std::uint64_t ticks) {
  if (!room(kSlots<R>) && !next_chunk()) {
    file_->count_loss(Loss::NoSpace);
    return;
  }
  std::uint64_t delta = ticks - base_ticks_;
  // Also for a stamp from before the base: a new chunk's base is later than what was stamped before it was taken.
  if (delta >= kTimeLimit) {
    put(TimeBase{.ticks = ticks});
    base_ticks_ = ticks;
    delta = 0;
  }
  record.time = delta;
  put(record);
}

template <class R>
void Lane::timed(R record, std::uint64_t ticks) {
  Busy const busy(*this);
  if (!busy) return;
  if (left_ticks_ != 0) flush_scope();
  put_timed(record, ticks);
}

template <class R, class Field>
void Lane::change(Field& field, std::uint32_t id) {
  if (field == id) return;
  Busy const busy(*this);
  if (!busy) return;
  field = static_cast<Field>(id);
  // A new chunk has the change in its head already.
  if (room(1)) put(R{.id = id});
}

void Lane::alloc_at(const Block& b, std::uint64_t ticks) {
  auto const block_class = static_cast<std::uint64_t>(b.block_class);
  if (short_address(b.address) && b.size_bytes < kShortSizeLimit && b.parent == 0) {
    timed(Alloc{.block_class = block_class,
                .generation = b.generation,
                .size_high = b.size_bytes >> 24,
                .address_256 = b.address >> kAddressShift,
                .size_low = b.size_bytes & 0xffffff},
          ticks);
  } else {
    timed(AllocLong{.block_class = block_class,
                    .generation = b.generation,
                    .address = b.address,
                    .size_bytes = b.size_bytes,
                    .parent = b.parent},
          ticks);
  }
}

void Lane::free_at(const Block& b, std::uint64_t ticks) {
  auto const block_class = static_cast<std::uint64_t>(b.block_class);
  if (short_address(b.address)) {
    timed(Free{.block_class = block_class, .generation = b.generation, .address_256 = b.address >> kAddressShift},
          ticks);
  } else {
    timed(FreeLong{.block_class = block_class, .generation = b.generation, .address = b.address}, ticks);
  }
}

void Lane::label(std::uint64_t address, Kind kind, std::uint32_t name) {
  if (!short_address(address)) return;  // of blocks that programs get from CUDA none is
  timed(Label{.kind = static_cast<std::uint64_t>(kind),
              .name_high = name >> 24,
              .address_256 = address >> kAddressShift,
              .name_low = name & 0xffffff},
        file_->clock().now());
}

void Lane::relabel(const Relabel& relabel) {
  timed(relabel, file_->clock().now());
}

// Its own time is that of its allocation; when it was seen is the base that stands before it.
void Lane::still_live_at(const Live& block, std::uint64_t ticks) {
  Busy const busy(*this);
  if (!busy) return;
  if (!room(kSlots<Live>) && !next_chunk()) return file_->count_loss(Loss::NoSpace);
  std::atomic_ref(chunk_.header->has_live).store(1, std::memory_order_release);
  put(TimeBase{.ticks = ticks});
  base_ticks_ = ticks;
  put(block);
}

void Lane::device_use(const DeviceUse& use) {
  timed(use, file_->clock().now());
}
void Lane::failure(const Failure& failure) {
  timed(failure, file_->clock().now());
}

void Lane::cache_use(const CacheUse& use, const CacheCounts& counts) {
  std::uint64_t const now = file_->clock().now();
  timed(use, now);
  timed(counts, now);
}
void Lane::pin(const Pin& pin) {
  timed(pin, file_->clock().now());
}

void Lane::late_free(const LateFree& free) {
  timed(free, file_->clock().now());
}

void Lane::kernel_at(const Kernel& kernel, std::uint64_t start_ticks) {
  timed(kernel, start_ticks);
}

void Lane::stream(std::uint32_t id) {
  change<Stream>(context_.stream, id);
}
void Lane::stack(std::uint32_t id) {
  change<Stack>(context_.stack, id);
}
void Lane::device(std::uint8_t id) {
  change<Device>(context_.device, id);
}

void Lane::write_scope(std::uint32_t path, std::uint64_t ticks) {
  left_ticks_ = 0;
  context_.scope = path;
  put_timed(Scope{.path = path}, ticks);
}

void Lane::flush_scope() {
  write_scope(outside_, left_ticks_);
}

void Lane::enter_at(std::uint32_t path, std::uint64_t ticks) {
  Busy const busy(*this);
  if (!busy) return;
  if (left_ticks_ != 0 && ticks - left_ticks_ > kWorthwhileGap) flush_scope();
  write_scope(path, ticks);
}

void Lane::leave_at(std::uint32_t path_outside, std::uint64_t ticks) {
  Busy const busy(*this);
  if (!busy) return;
  outside_ = path_outside;
  if (left_ticks_ == 0) left_ticks_ = ticks;
}

void Lane::phase(Phase p) {
  if (context_.phase == static_cast<std::uint8_t>(p)) return;
  context_.phase = static_cast<std::uint8_t>(p);
  timed(PhaseStart{.phase = static_cast<std::uint64_t>(p)}, file_->clock().now());
}

void Lane::step(std::uint64_t s) {
  context_.step = s;
  context_.stepped = 1;
  timed(Step{.step = s}, file_->clock().now());
}

}  // namespace tidemark::trace
