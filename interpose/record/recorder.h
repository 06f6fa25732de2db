// SPDX-License-Identifier: Apache-2.0
// From what a hook has seen to records in the trace, and the account that goes with them.
//
// Any thread; every call comes through the shield and only while recording(). An allocation is stamped after the real
// call, a free before it: afterwards another thread may already own the address.
//
// Equations, at any instant without a call under way:
//   totals.live_bytes = sum over live device blocks of their size rounded up to 512
//   totals.allocations - totals.frees = number of live blocks of every class
#pragma once
#include <atomic>
#include <cstdint>

#include "interpose/process/options.h"
#include "interpose/record/lanes.h"
#include "interpose/record/registry.h"
#include "trace/write/dictionary.h"
#include "trace/write/file.h"
#include "trace/write/ring.h"

namespace tidemark::interpose {

inline constexpr std::uint64_t kLiveStep = 512;

struct Allocation {
  std::uint64_t address = 0;
  std::uint64_t size_bytes = 0;
  trace::Class block_class = trace::Class::Device;
  std::uint8_t device = 0;
  std::uint64_t context = 0;
  std::uint64_t stream = 0;     // a handle; 0 for none
  std::uint64_t parent = 0;     // the block that this one is a view of
  bool is_handle = false;       // `address` is a number of the driver's
  std::uint8_t generation = 0;  // of a served block
};

// A block on its way out: taken from the account before the real call, put back if that fails.
struct Leaving {
  bool known = false;
  std::uint64_t address = 0;
  std::uint64_t ticks = 0;
  Owned block;
};

// What a ring's checkpoints list.
class ListedBlocks final : public trace::LiveBlocks {
 public:
  explicit constexpr ListedBlocks(Registry& registry) : registry_(registry) {}
  void list(trace::CheckpointWriter& to) override;

 private:
  Registry& registry_;
};

class Recorder {
 public:
  constexpr Recorder() = default;

  // Once. The file's directory entry is all that a failure leaves behind.
  Result<void> start(const Options& options, trace::Mode mode);

  void allocated(const Allocation& a);
  Leaving leave(trace::Space space, std::uint64_t address);
  void left(const Leaving& leaving, std::uint64_t stream = 0);
  void stayed(const Leaving& leaving);
  // A context has ended, and with it all blocks for which belongs(block) is true and that were there at that time: the
  // one before the real call, since afterwards another thread may own an address, and a new context the handle of the
  // one that ended.
  template <class Belongs>
  void context_ended(std::uint64_t ticks, Belongs belongs) {
    end_blocks(
        ticks, [](const Owned& block, void* data) { return (*static_cast<Belongs*>(data))(block); }, &belongs);
  }

  // The driver made a block and it was given back at once: the program never had it.
  void undone(const Allocation& a);

  void tag(std::uint64_t address, trace::Kind kind, std::string_view name);
  void enter_layer();
  void leave_layer();
  void phase_changed();
  void step(std::uint64_t number);
  // The layer, phase or step of this thread may be another one: so is that of its launches.
  void scope_changed();

  // What the device has given, by so much more (or, modulo 2^64, less) than before.
  void reserved_changed(std::uint64_t by);
  void device_use(const trace::DeviceUse& use);
  void failure(trace::Failure failure, std::string_view text);
  void cache_use(const trace::CacheUse& use, const trace::CacheCounts& counts);
  void pin(const trace::Pin& pin);
  void late_free(const trace::LateFree& free);
  void kernel(const trace::Kernel& kernel, std::uint64_t start_ticks);
  void count_loss(trace::Loss why) { file_.count_loss(why); }

  // Live blocks of memory that the host sees while the device works: pinned, registered, managed.
  std::uint64_t host_visible_blocks() const { return host_visible_.load(std::memory_order_relaxed); }

  trace::Dictionary& names() { return names_; }
  trace::File& file() { return file_; }
  Registry& registry() { return registry_; }

 private:
  // The calling thread's lane with its step, phase and layer up to date; null when there is none.
  trace::Lane* lane();
  void count_in(const Owned& block);
  void count_out(const Owned& block);
  void passed_by(std::uint64_t address, const Owned& block, std::uint64_t ticks);
  void end_blocks(std::uint64_t ticks, bool (*belongs)(const Owned&, void*), void* data);
  void record_free(trace::Lane& lane, std::uint64_t address, const Owned& block, std::uint64_t ticks);
  Result<void> create_file(const Options& options, trace::Mode mode);

  trace::File file_;
  trace::Dictionary names_;
  Lanes lanes_;
  Registry registry_;
  ListedBlocks listed_{registry_};
  std::atomic<std::uint64_t> step_{trace::kNoStep};
  std::atomic<std::uint64_t> host_visible_{0};
};

Recorder& recorder();

}  // namespace tidemark::interpose
