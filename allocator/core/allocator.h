// SPDX-License-Identifier: Apache-2.0
// The caching allocator of one context: what a program's cudaMalloc and cudaFree, cudaMallocAsync and cudaFreeAsync
// become.
//
// Any thread may call anything at any time. A call that finds a block in the thread's magazine takes no lock and writes
// no line that another thread writes. No lock is held while the driver is called. Invariants: a block is in exactly one
// place (program, magazine, cache, batch, capture, arena); memory is handed out only where streams.h says that it is
// free; reserved <= limit.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "allocator/core/arena.h"
#include "allocator/core/exact_cache.h"
#include "allocator/core/pending_frees.h"
#include "allocator/core/pilot.h"
#include "allocator/core/plan_source.h"
#include "allocator/core/statistics.h"
#include "allocator/core/streams.h"
#include "allocator/core/thread_cache.h"

namespace tidemark::allocator {

struct Options {
  std::uint64_t limit_bytes = 0;     // most that is reserved; 0: as much as the driver gives
  std::uint64_t capacity_bytes = 0;  // of the device
  bool stitch = true;                // move whole free frames before making new ones
  bool insert_waits = true;          // a stream may be made to wait for another one's memory
  bool sub_allocate = true;          // false: every block is the driver's own (for checkers that look at block bounds)
  bool wait_at_second = false;      // the first stream ends its work before a second begins (for checkers that are told
                                    // of blocks, and cannot be told in whose order everybody's are)
  unsigned magazine_permille = 10;  // of the limit, in all magazines together
  bool plan = true;                 // find the program's loop and lay its memory out
  double plan_search_seconds = 30;  // for a better layout than the first, on a thread of its own; 0: the first will do
  std::uint64_t plan_search_looks = 0;  // the same in work (plan/stop.h), so that a run can be repeated exactly
  bool plan_in_foreground = false;  // no thread: an allocation makes the layout, so that a run can be repeated exactly
  std::uint64_t plan_from_bytes = 16 << 20;  // reserved: below, there is nothing to gain
  std::array<std::uint64_t, 2> larger_pieces_from_bytes = ArenaOptions{}.larger_pieces_from_bytes;
  std::uint64_t round_bytes = kGranuleBytes;  // sizes are multiples of it: a power of two, 512 B to 64 MiB
  std::uint64_t cache_cap_bytes = kNoCap;     // what is kept free at most; see keep_to_cap()
  bool poison = false;                        // what is freed is filled with kPoison, in order; then no plan is made
  static constexpr std::uint64_t kNoCap = ~0ull;
};

struct Request {
  std::uint64_t bytes = 0;
  DomainId domain = DomainId::Shared;  // Shared: the cudaMalloc family; else the stream in whose order it is allocated
  Lifetime lifetime = Lifetime::Unknown;
  bool whole = false;  // a block of the driver's own: memory that other processes will open
};

// NotLive: freed before, or never handed out. Refused: the driver would not take its own block back, which lives on.
enum class Freed : std::uint8_t { Yes, NotOurs, NotLive, Refused };

class Allocator {
 public:
  // Null: the driver gives no address space, or there are too many allocators.
  static std::unique_ptr<Allocator> make(Upstream& upstream, const Options& options);
  Allocator(const Allocator&) = delete;
  Allocator& operator=(const Allocator&) = delete;
  // Calls no driver: its memory ends with the context. No other thread may be inside.
  ~Allocator();

  Status allocate(const Request& request, std::uint64_t* address) {
    if (request.bytes > kLargestBytes) [[unlikely]]
      return Status::OutOfMemory;
    Granules const granules = granules_of(request.bytes);
    ThreadCache* const thread = own_cache();
    if (thread != nullptr && !request.whole && thread->enter()) [[likely]] {
      if (Record* const block = allocate_from_magazine(*thread, request, granules, kCapture | kPlan | kSeen))
          [[likely]] {
        *address = block->address.load(std::memory_order_relaxed);
        thread->leave();
        if (thread->counts.allocations.load(std::memory_order_relaxed) % kRest == 0) [[unlikely]]
          rest(kRest);
        return Status::Ok;
      }
      thread->leave();
    }
    if ((mode_.load(std::memory_order_relaxed) & kSeen) != 0 && request.bytes != 0)
      return allocate_seen(request, address);
    return allocate_behind(request, address);
  }
  // The block is free for everybody when every stream that is busy now has passed this point.
  Freed free(std::uint64_t address) { return free_in(address, DomainId::Shared); }
  // The block is free for work in this stream from now on, for others when it has passed.
  Freed free_in(std::uint64_t address, DomainId domain) {
    Record* const block = arena_.find(address);
    if (block == nullptr) return Freed::NotOurs;
    State live = State::Live;
    if (!block->state.compare_exchange_strong(live, State::Cached, std::memory_order_acq_rel)) return Freed::NotLive;
    if (block->planned && free_leased(*block, domain)) return Freed::Yes;
    ThreadCache* const thread = own_cache();
    if (thread != nullptr && thread->enter()) [[likely]] {
      bool const kept = free_into_magazine(*thread, *block, domain);
      thread->leave();
      if (kept) [[likely]]
        return Freed::Yes;
    }
    return free_behind(*block, domain);
  }

  // --- streams (streams.cpp tells the rules) ---
  DomainId add_stream(StreamHandle handle) { return streams_.add(handle); }
  void remove_stream(DomainId stream);   // before the driver destroys it
  void stream_is_gone(DomainId stream);  // it has ended with its context, and its work with it
  void own_stream_is_gone();             // the same for the allocator's own, if it has one
  void before_submission(DomainId stream) {
    if (!streams_.is_used(stream)) [[unlikely]]
      use_first_time(stream);
    streams_.begin_submission(stream);
  }
  // On the same thread, before it calls anything else here.
  void after_submission(DomainId stream) { streams_.confirm_submission(stream); }
  // Before work that may wait for the host: nobody waits for it here, but as the driver's own free would have, and no
  // stream that comes later is put behind it for what was freed before.
  void host_may_hold_work() {
    if ((mode_.load(std::memory_order_acquire) & kMulti) == 0 || !host_holds_.load(std::memory_order_relaxed))
      expect_held_work();
  }
  // A client may submit work without our seeing it.
  void expect_unseen_submissions();
  Streams& streams() { return streams_; }
  // The only stream that was used so far, in whose order everything is; Shared: there is none, or there are several.
  DomainId only_stream() const {
    return (mode_.load(std::memory_order_acquire) & kMulti) == 0 ? sole_.load(std::memory_order_acquire)
                                                                 : DomainId::Shared;
  }

  // --- graph capture ---
  using CaptureId = std::uint32_t;
  CaptureId begin_capture();
  void end_capture(CaptureId capture);
  void graphs_are_gone(CaptureId capture);  // every graph made from this capture, and their instances

  // --- plan ---
  // At a cut: from now on places come from the plan first. It stays the caller's and must outlast drop_plan().
  void use_plan(PlanSource& plan);
  void drop_plan();        // blocks at its places live on
  void give_up_solving();  // no plan is searched for any more: the process is about to end
  // Plans of the allocator's own (Options::plan) need no call. A program that tells where its steps begin is understood
  // sooner.
  void mark_step();

  // --- pressure ---
  // Returns memory to the driver for somebody else, waiting for streams if it must and may; the bytes given.
  enum class Patience : std::uint8_t { Waits, Never };
  std::uint64_t give_back(std::uint64_t bytes, Patience patience = Patience::Waits);
  // Without waiting: what no stream can be using any more, each asked how far it is.
  std::uint64_t give_back_idle(std::uint64_t bytes);
  // The driver's free memory and what give_back would add.
  Status memory_info(DeviceMemory* memory);
  // Finished frees become usable. Cheap when nothing is pending.
  bool harvest();
  // All magazines and caches into the arena.
  void merge_everything();
  // Who may use the memory has changed: the driver is told for all that is mapped.
  Status renew_access();

  struct Block {
    std::uint64_t address = 0;
    std::uint64_t requested_bytes = 0;
    std::uint64_t rounded_bytes = 0;
    std::uint8_t generation = 0;
  };
  // A live block that begins at this address. For the thread that owns it: another may free it meanwhile.
  bool describe(std::uint64_t address, Block* block) const;
  // A live block in which this address lies.
  bool describe_around(std::uint64_t address, Block* block) const;
  Statistics statistics() const;
  std::uint64_t magazine_bytes();  // in all threads; stops them for a moment
  OutOfMemory last_failure() const;
  Arena& arena() { return arena_; }
  const Arena& arena() const { return arena_; }
  std::string check() const;  // empty, or the invariant that is broken

 private:
  Allocator(Upstream& upstream, const Options& options);
  static constexpr std::uint32_t kMulti = 1;       // more than one stream was used
  static constexpr std::uint32_t kCapture = 2;     // a capture is going on
  static constexpr std::uint32_t kPlan = 4;        // places come from a given plan first
  static constexpr std::uint32_t kSeen = 8;        // the pilot sees every allocation
  static constexpr std::uint32_t kRecord = 16;     // and every free
  static constexpr std::uint32_t kFill = 32;       // what is freed is filled first
  static constexpr std::uint64_t kRest = 1 << 14;  // allocations of a thread, after which a pilot at rest is asked

  ThreadCache* own_cache() const {
    const ThreadSlot& slot = t_slots[slot_];
    return slot.serial == serial_ ? slot.cache : nullptr;
  }
  // Of a free while one stream's order is everybody's. Where the last such free stands, a second stream begins.
  std::uint64_t stamp_single(std::uint64_t& latest) const {
    latest = std::max(latest, streams_.stamp(sole_.load(std::memory_order_relaxed)));
    return latest;
  }
  static void count(std::atomic<std::uint64_t>& counter, std::uint64_t n) {
    counter.store(counter.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);  // one writer
  }
  // While a single stream is used, its order is everybody's.
  static DomainId effective(DomainId domain, std::uint32_t mode) {
    return (mode & kMulti) != 0 ? domain : DomainId::Shared;
  }

  Granules granules_of(std::uint64_t bytes) const { return (to_granules(bytes) + round_mask_) & ~round_mask_; }

  void hand_out(Record& block, std::uint64_t requested_bytes) {
    block.slack_bytes = static_cast<std::uint32_t>(to_bytes(block.granules) - requested_bytes);
    block.generation = static_cast<std::uint8_t>(block.generation == 255 ? 1 : block.generation + 1);
    block.left = 0;
    block.state.store(State::Live, std::memory_order_release);
  }
  [[gnu::always_inline]] Record* allocate_from_magazine(ThreadCache& thread, const Request& request, Granules granules,
                                                        std::uint32_t unless) {
    std::uint32_t const mode = mode_.load(std::memory_order_relaxed);
    if ((mode & unless) != 0) return nullptr;
    Record* const block = thread.pop(Magazine::key_of(effective(request.domain, mode), granules));
    if (block == nullptr) return nullptr;
    hand_out(*block, request.bytes);
    count_allocation(thread.counts, *block);
    return block;
  }
  [[gnu::always_inline]] bool free_into_magazine(ThreadCache& thread, Record& block, DomainId domain) {
    std::uint32_t const mode = mode_.load(std::memory_order_relaxed);
    if ((mode & (kCapture | kRecord | kFill)) != 0 || block.capture != 0 || block.whole || block.planned) return false;
    if ((mode & kMulti) == 0)
      block.stamp = stamp_single(thread.latest_stamp);
    else if (domain != DomainId::Shared)
      block.stamp = streams_.stamp(domain);
    else
      return false;
    block.domain = effective(domain, mode);
    if (!thread.push(Magazine::key_of(block.domain, block.granules), block)) return false;
    count_free(thread.counts, block);
    return true;
  }
  static void count_allocation(ThreadCounts& counts, const Record& block) {
    count(counts.allocations, 1);
    count(counts.live_granules, block.granules);
    count(counts.slack_bytes, block.slack_bytes);
  }
  static void count_free(ThreadCounts& counts, Granules granules, std::uint32_t slack_bytes) {
    count(counts.frees, 1);
    count(counts.live_granules, 0ull - granules);
    count(counts.slack_bytes, 0ull - slack_bytes);
  }
  static void count_free(ThreadCounts& counts, const Record& block) {
    count_free(counts, block.granules, block.slack_bytes);
  }

  struct Held {
    Record* block;
    DomainId domain;
  };
  struct Capture {
    CaptureId id = 0;
    std::uint64_t blocks = 0;  // handed out during it and not let go again
    bool running = true;
    bool has_graphs = true;
  };

  // allocator.cpp: behind the magazines
  Status allocate_behind(const Request& request, std::uint64_t* address);
  Freed free_behind(Record& block, DomainId domain);
  void keep(Record& block, DomainId domain);  // in a magazine if there is room, else in the domain's cache
  void put_in_cache(Record& block);           // of block.domain
  void free_shared_or_wait(Record& block);
  ExactCache& cache(DomainId domain);
  Record* pop_cached(DomainId domain, Granules granules);
  void refill(DomainId domain, Granules granules, std::span<Record*> blocks);
  void count_behind(const Record& block, bool allocation);
  Freed free_whole(Record& block);
  static bool is_live(const Record* record, Block* block);

  // threads.cpp
  struct LiveSums {
    std::uint64_t granules = 0, slack_bytes = 0, allocations = 0, frees = 0;
  };
  LiveSums live_sums() const;
  ThreadCache* attach_thread();
  static void leave_thread(void* slots);
  void detach_thread(ThreadCache& thread);
  template <class F>
  void stop_threads(F f);
  void empty(ThreadCache& thread);
  void empty_magazines();
  bool empty_own_magazines();  // false: there was nothing in them
  // Returns when no thread is in a section that it entered before; the latest stamp of what they freed in a single
  // stream's order.
  std::uint64_t pass_threads();

  // search.cpp: one step each; null: nothing found
  Record* search(const Want& want);
  Record* reuse(const Want& want);
  bool is_growing();
  Record* harvest_and_take(const Want& want);
  bool harvest(bool close_batch);
  Record* merge_and_take(const Want& want);
  Record* take_finished_of_others(const Want& want);
  Record* take_from_own_magazines(const Want& want);
  Record* extend(const Want& want);
  Record* extend(const Want& want, bool rob_plan);
  Record* rob_plan_and_take(const Want& want);
  Record* take_from_magazines(const Want& want);
  Record* take_behind_a_wait(const Want& want);
  Record* wait_and_take(const Want& want);
  Record* synchronize_and_take(const Want& want);
  void wait_for_frames();
  // For a plan nobody waits who could be the one to let the stream go on.
  bool may_wait() const { return !host_holds_.load(std::memory_order_relaxed); }
  bool may_mark(DomainId stream) const;
  bool wait_for_some();
  bool wait_for_all();
  void merge_cache(DomainId domain);
  void remember_failure(const Want& want);

  // keeping.cpp
  void keep_to_cap();
  std::uint64_t give_back_passed(std::uint64_t bytes, bool close_batch);  // what streams are known to have passed
  std::uint64_t cached_bytes() const;
  DomainId fill(Record& block, DomainId domain);
  bool order_own_stream(DomainId own);
  bool submit_fill(const Record& block, DomainId stream);
  DomainId own_stream();

  // planned.cpp
  bool allocate_planned(const Request& request, std::uint64_t* address);
  void free_planned(Record& block, DomainId domain);
  void free_passed_plan(Record& block);

  // piloted.cpp, chores.cpp; what takes a Loop is under the pilot's lock, and a guard that is given is let go meanwhile
  Status allocate_seen(const Request& request, std::uint64_t* address);
  Record* serve(DomainId domain, const Request& request, Granules granules);
  bool take_place(std::unique_lock<FutexLock>& guard, Loop& loop, const plan::Replay::Step& step);
  Record* map_place(std::unique_lock<FutexLock>& guard, Loop& loop, Record& block, const Request& request,
                    bool carried);
  bool open_lease(Loop& loop);
  bool end_lease(Loop& loop);           // false: frames are on their way to it
  void end_leases(bool only_lost);      // takes the lock
  bool has_leases();                    // takes the lock
  void leave_loop_of(DomainId stream);  // takes the lock
  void on_lost(Loop& loop);
  void look_around();
  bool release_leased(Record& block, DomainId domain);  // takes the lock
  bool free_leased(Record& block, DomainId domain);     // takes the lock
  void record_free(const Record& block);                // takes the lock
  void tend(std::unique_lock<FutexLock>& guard, Loop& loop, Chore chore);
  void begin_solving(std::unique_lock<FutexLock>& guard, Loop& loop);
  enum class Worth : std::uint8_t { No, PerhapsLater, Yes };
  Worth worth_of(Loop& loop, std::uint64_t planned_live_bytes) const;  // without the lock, while it is tended
  void adopt(std::unique_lock<FutexLock>& guard, Loop& loop);
  void search_better(std::unique_lock<FutexLock>& guard, Loop& loop);
  void improve(std::unique_lock<FutexLock>& guard, Loop& loop);
  bool are_free(std::vector<plan::Strip> strips, const plan::Strip& lead, DomainId domain) const;
  GrowthLimit now_passed() const;
  bool has_room_to_switch(std::uint64_t carried_bytes) const;
  void take_up(Loop& loop, const std::shared_ptr<const plan::ServingPlan>& plan, bool at_cut);
  void trim_beside(std::unique_lock<FutexLock>& guard, Loop& loop);
  void gather_frames();
  void set_pilot_mode();
  void start_pilot();                    // takes the lock
  void rest(std::uint64_t allocations);  // takes the lock

  // order.cpp, capture.cpp (these under capture_lock_: capture_of, is_capturing, let_go)
  void use_first_time(DomainId stream);
  void become_multi();
  void end_single_order();
  void mark_sole();
  void expect_held_work();
  void merge_ended(DomainId stream);
  void hold(Record& block, DomainId domain);
  void join_capture(Record& block);
  Capture* capture_of(CaptureId id);
  bool is_capturing() const;
  std::vector<Held> let_go();

  Options options_;
  std::uint64_t limit_frames_ = ~0ull;
  Granules round_mask_ = 0;
  std::size_t slot_ = 0;
  std::uint64_t serial_ = 0;
  std::atomic<std::uint32_t> mode_{0};
  std::atomic<DomainId> sole_{DomainId::Shared};  // the first stream that was used
  std::atomic<bool> host_holds_{false};
  Arena arena_;
  Streams streams_;
  PendingFrees pending_;
  ThreadShared shared_;

  mutable FutexLock caches_lock_;  // for making one
  ReservedArray<std::atomic<ExactCache*>> caches_;
  mutable FutexLock threads_lock_;
  ThreadCache* threads_ = nullptr;
  ThreadCounts behind_;  // sums of threads that are gone and of calls without a cache; under counts_lock_
  mutable FutexLock counts_lock_;

  FutexLock order_lock_;           // one first use at a time
  std::uint64_t switched_at_ = 0;  // the first stream's stamp at the last free in its order, when others came
  // The latest of such stamps: of threads that are gone, under threads_lock_; of frees into the shared cache, under its
  // lock; of places of plans, under the pilot's.
  std::uint64_t gone_stamp_ = 0, shared_stamp_ = 0, leased_stamp_ = 0;
  mutable FutexLock capture_lock_;
  std::vector<Held> held_;
  std::vector<Capture> captures_;  // known as long as they run, have graphs or blocks
  CaptureId next_capture_ = 1;

  FutexLock plan_lock_;
  PlanSource* plan_ = nullptr;
  std::atomic<std::uint64_t> plan_hits_{0}, plan_misses_{0};

  mutable Pilot pilot_;
  std::atomic<bool> pilot_started_{false};
  std::atomic<bool> lost_leases_{false};  // there may be some

  std::uint64_t cap_bytes_ = Options::kNoCap;  // of what is behind the magazines
  std::atomic<bool> is_trimming_{false};
  std::atomic<std::uint64_t> trim_above_{0}, over_cap_{0};
  std::atomic<std::uint64_t> given_back_bytes_{0}, filled_bytes_{0};
  FutexLock own_stream_lock_;
  std::atomic<DomainId> own_stream_{DomainId::Shared};

  mutable FutexLock failure_lock_;
  OutOfMemory failure_;
  std::atomic<std::uint64_t> misses_{0}, last_extension_{0};
  std::atomic<std::uint64_t> failures_{0}, extensions_{0}, inserted_waits_{0};
};

}  // namespace tidemark::allocator
