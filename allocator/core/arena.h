// SPDX-License-Identifier: Apache-2.0
// The general arena of one context: finds room for blocks in holes, moves whole frames to where room is needed, asks
// the pool for more. Thread-safe; its lock is never held while the driver is called.
//
// Invariants (check() proves them all):
//   each zone's records cover it; no two neighbours could be merged;
//   every frame under a block or a hole shows a piece, no frame under an Unmapped record does;
//   a domain's index holds exactly its holes; the pointer table finds exactly the blocks.
#pragma once
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "allocator/core/futex_lock.h"
#include "allocator/core/page_pool.h"
#include "allocator/core/pointer_table.h"
#include "allocator/core/record.h"
#include "allocator/core/size_index.h"
#include "allocator/core/tiling.h"

namespace tidemark::allocator {

struct ArenaOptions {
  std::uint64_t capacity_bytes = 0;  // the most that may ever be live: decides how much address space is reserved
  bool stitch = true;                // whole free frames move before new ones are made
  std::array<std::uint64_t, 2> larger_pieces_from_bytes = {8ull << 30, 32ull << 30};  // 8 MiB, 32 MiB pieces
};

struct Want {
  DomainId domain{};
  Granules granules = 0;
  Lifetime lifetime = Lifetime::Unknown;
  bool anywhere = false;  // also in what a lease has left behind
};

struct GrowthLimit {
  std::uint64_t frames = ~0ull;   // most frames that may be reserved
  std::uint64_t sole_passed = 0;  // holes of everybody with stamps up to here may lose their frames
  bool stitch = true;
  bool rob_plan = false;  // also frames of a plan's region that are free at the moment
  bool grow = true;       // new frames may be made; only leases ask for less
};

struct ArenaUse {
  std::uint64_t reserved_bytes = 0;  // taken from the driver, stock included
  std::uint64_t stock_bytes = 0;
  std::uint64_t hole_bytes = 0;
  std::uint64_t largest_hole_bytes = 0;
  std::uint64_t holes = 0;
  std::uint64_t moved_frames = 0;  // stitched so far
  std::uint64_t whole_bytes = 0;   // blocks of the driver's own, beside the reserved ones
  std::uint64_t lost_bytes = 0;    // frames that the driver did not unmap
};

class Arena {
 public:
  Arena(Upstream& upstream, const ArenaOptions& options);
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  Status start();

  // A Live block out of a hole of the domain or of everybody; null: nothing fits.
  Record* take(const Want& want);
  // The same after mapping frames: stock, frames of holes, new ones. Calls the driver.
  Status grow(const Want& want, const GrowthLimit& limit, Record** block);
  // A block at this place of the plan's region. NotReady: some of it is in use.
  Status take_planned(Granules place, const Want& want, const GrowthLimit& limit, Record** block);
  // While a plan is in use, its region's free frames stay where they are unless memory is short.
  void keep_planned(bool keep);
  // A block (Cached, Pending or Held, of this thread) becomes a hole.
  void release(Record& block, DomainId domain, std::uint64_t stamp);
  // Holes of a domain whose stamp its stream has passed are everybody's from now on.
  void promote(DomainId domain, std::uint64_t passed);
  // A block out of another domain's hole. The caller has put that stream's work before the taker's.
  Record* take_from(DomainId from, const Want& want);
  // Gives whole free frames back to the driver, at least `bytes` if there are so many. Returns the bytes given.
  std::uint64_t trim(std::uint64_t bytes, const GrowthLimit& limit);

  // --- leases: stretches of memory whose holder says what is in use there (lease.h): of the plan's zone, whole frames
  // that come and go; and, anywhere, holes in frames that others hold on to, which stay as they are ---
  struct Leased {
    Record* range = nullptr;       // Busy
    Granules height = 0;           // no plan is higher; the holder's to set
    std::vector<Record*> places;   // beside the tiling, in the order of their offsets; those not Idle share no byte
    std::vector<FrameRun> moving;  // frames on their way; those that are stuck stay here
    std::vector<Piece> stuck;
  };
  // At least so many granules of address space that work of the domain may use, with what is mapped there. Null: none.
  Leased* lease(const Want& want, const GrowthLimit& limit);
  struct Stretch {
    Granules offset = 0;
    Granules granules = 0;
    Granules least = 0;  // blocks that begin there must be as large, or their pointers would not be found
    Granules room = 0;   // of address space behind it, without memory
  };
  // Holes that work of the domain may use, without whole pieces, which could move; the largest first.
  std::vector<Stretch> stretches(const Want& want, const GrowthLimit& limit) const;
  // One of them, or a part, with so much of the address space behind it. Null: it is not free any more.
  Leased* lease(const Stretch& stretch, DomainId domain, const GrowthLimit& limit);
  struct Place {
    Granules offset = 0;  // from the beginning of the lease
    Granules granules = 0;
    Record* record = nullptr;
  };
  // The places of a lease, in the order of offsets: each that has no record gets one, Idle; those that are gone are
  // dropped. False: no records are left, and nothing is changed.
  struct Change {
    Leased* lease = nullptr;
    std::vector<Place> wanted = {};
    std::vector<Record*> gone = {};
  };
  bool change_places(std::span<Change> changes);
  // The record is the one that is found at its address from now on. Under the holder's lock, without the arena's.
  void turn_to(Record& place) { pointers_.turn_to(place); }
  // Frames under [begin, end) of the lease. Calls the driver. NotReady: some of them are on their way already.
  Status map_leased(Leased& lease, Granules begin, Granules end, const GrowthLimit& limit);
  bool lacks_frames(const Leased& lease, Granules begin, Granules end) const;
  // Frames above this, all places and all blocks go back to the driver. The caller knows that no work uses them.
  std::uint64_t trim_lease(Leased& lease, Granules above);
  // Blocks, all that are not Idle in the order of their offsets, live on in the tiling; the rest becomes holes of this
  // domain with this stamp.
  void end_lease(Leased& lease, std::span<Record* const> blocks, DomainId domain, std::uint64_t stamp);

  // A block that is the driver's own. The caller frees it.
  Status take_whole(std::uint64_t bytes, Record** block);
  Status drop_whole(Record& block);

  Record* find(std::uint64_t address) const { return pointers_.find(address); }
  // The block in which an address lies, of those that are not the driver's own; null: none. Takes the lock.
  Record* holding(std::uint64_t address) const;
  // Tells the driver again who may use what is mapped.
  Status renew_access();
  bool contains(std::uint64_t address) const { return pointers_.contains(address); }
  RecordTable& records() { return records_; }
  PagePool& pool() { return pool_; }
  const PagePool& pool() const { return pool_; }

  ArenaUse use() const;
  // What the driver has given, without a lock.
  std::uint64_t taken_bytes() const {
    return pool_.reserved_frames() * kFrameBytes + whole_granules_.load(std::memory_order_relaxed) * kGranuleBytes;
  }
  // What is on its way back to the driver is for that moment neither free nor ours: who adds the two up looks again
  // while there is some, and when there was some in between.
  struct Returns {
    std::uint32_t begun = 0;
    bool under_way = false;
    bool operator==(const Returns&) const = default;
  };
  Returns returns() const {
    std::uint32_t const ended = returns_ended_.load(std::memory_order_acquire);
    std::uint32_t const begun = returns_begun_.load(std::memory_order_acquire);
    return {.begun = begun, .under_way = begun != ended};
  }
  // Bytes of whole pieces that trim() would give back if every free block were a hole that streams have passed.
  std::uint64_t returnable_bytes() const;
  // Whether a whole free frame waits for the sole stream.
  bool has_unpassed_frames(std::uint64_t sole_passed) const;
  bool has_holes_of(DomainId domain) const;
  // Calls f(const Record&) for every record of every zone in address order, under the lock: f must not call back.
  template <class F>
  void for_each(F f) const {
    std::lock_guard const guard(lock_);
    for (const Zone& zone : zones_)
      for (const Record* r = zone.tiling.first(); r != nullptr; r = zone.tiling.after(*r)) {
        f(*r);
        if (const Leased* const lease = lease_at(*r))
          for (const Record* const block : blocks_of(*lease)) f(*block);
      }
  }
  // Empty, or the invariant that is broken. Slow: for tests and dev builds.
  std::string check() const;

 private:
  struct Zone {
    explicit Zone(RecordTable& records) : tiling(records) {}
    Tiling tiling;
    std::vector<std::unique_ptr<SizeIndex>> holes;  // by domain; made when first needed
    std::uint32_t unmapped = 0;                     // list by `left`, `right`
  };
  struct Spot {
    Record* first = nullptr;  // the record that holds `start`; null: no place
    Granules start = 0;
    std::uint64_t frames = ~0ull;  // to be mapped
    Granules rest = 0;             // of the free run around it
  };
  struct Filling {  // one piece on its way to frames of the target
    PieceId id = 0;
    Piece piece;
    Frame at = 0;
    bool created = false;  // by this growth: not in the books yet
    bool mapped = false;
    bool spare = false;  // not for the target: into stock
  };
  struct Growth {
    Want want;
    Granules start = 0;
    Zone* zone = nullptr;
    Record* target = nullptr;          // Busy over all frames that are involved
    std::vector<Record*> robbed;       // Busy ranges that lose their pieces
    std::vector<PieceId> stolen;       // the pieces that were there
    std::vector<Piece> stolen_pieces;  // copies of them, for calls without the lock
    std::vector<bool> unmapped;        // by stolen piece: the driver has taken it from there
    std::vector<Filling> fillings;
  };

  // In the order of their addresses.
  static constexpr std::size_t kSmallZone = 0;
  static constexpr std::size_t kPlanZone = 1;
  static constexpr std::size_t kLargeZone = 2;
  // Splitting must never fail halfway through a change: the last records are not for new blocks.
  static constexpr std::uint32_t kSpareRecords = 4096;
  Zone& zone_of(Granules offset) {
    return zones_[offset < zones_[kPlanZone].tiling.begin()    ? kSmallZone
                  : offset < zones_[kLargeZone].tiling.begin() ? kPlanZone
                                                               : kLargeZone];
  }
  Zone& zone_for(Granules granules) { return zones_[granules > kSmallGranules ? kLargeZone : kSmallZone]; }
  SizeIndex& index(Zone& zone, DomainId domain);
  static const SizeIndex* index_or_null(const Zone& zone, DomainId domain);
  const Zone& zone_of(Granules offset) const { return const_cast<Arena*>(this)->zone_of(offset); }

  // holes.cpp: records change state; under the lock
  void make_hole(Zone& zone, Record& r, DomainId domain, std::uint64_t stamp);
  void make_unmapped(Zone& zone, Record& r);
  void take_out(Zone& zone, Record& r);  // Hole or Unmapped -> Busy
  Record* isolate(Zone& zone, Record& r, Granules begin,
                  Granules end);  // Busy over [begin, end); the rests stay as r was
  Record* take_hole(Zone& zone, Record& hole, const Want& want);
  Record* deliver(Record& busy, const Want& want);  // Busy -> Live
  void settle(Zone& zone, Record& busy);            // a Busy range becomes holes and Unmapped ranges, as its frames are
  void settle_but(Zone& zone, Record& busy, const std::vector<Piece>& stuck);

  // growth_place.cpp, growth.cpp
  bool usable(const Record& r, const Want& want, const GrowthLimit& limit) const;
  Spot best_place(Zone& zone, const Want& want, const GrowthLimit& limit) const;
  Spot best_segment_place(const Zone& zone, const Want& want) const;
  void weigh_run(const Zone& zone, Record& first, const Want& want, const GrowthLimit& limit, Spot& best) const;
  std::uint64_t frames_to_map(const Zone& zone, const Record& first, Granules start, Granules granules) const;
  bool begin(const Want& want, const GrowthLimit& limit, Growth& growth);
  void surround(Growth& growth, const Spot& spot);
  void plan_fillings(Growth& growth, const GrowthLimit& limit);
  void plan_fillings(Growth& growth, Frame first, Frame last, const GrowthLimit& limit);
  void steal(Growth& growth, Frame frames, Frame at_most, const GrowthLimit& limit);
  Status carry_out(Growth& growth, const GrowthLimit& limit);
  Status map_fillings(Growth& growth);
  std::vector<Piece> book(Growth& growth, Status status);
  Record* finish(Growth& growth, Status status);
  Frame new_piece_frames(Frame at_most) const;

  // leased.cpp
  Record* hole_around(const Stretch& stretch, DomainId domain, const GrowthLimit& limit);
  const Leased* lease_at(const Record& range) const;  // null: it is none
  static Record* holding(const Leased& lease, Granules offset);
  static std::vector<const Record*> blocks_of(const Leased& lease);  // in the order of their offsets
  FrameRun frames_under(const Leased& lease, Granules begin, Granules end) const;
  std::uint64_t lacking(const FrameRun& run) const;              // frames without a piece
  std::uint64_t movable_frames(const GrowthLimit& limit) const;  // in stock and under holes
  std::string check_leases() const;

  // trim.cpp
  struct Loot {  // whole pieces inside a hole
    Record* hole = nullptr;
    Frame first = 0;
    Frame last = 0;     // half-open
    Granules rest = 0;  // what stays of the hole
  };
  Loot loot_of(Record& hole) const;
  std::uint64_t whole_frames(Granules begin, Granules end) const;
  std::uint64_t whole_mapped_frames(Granules begin, Granules end) const;
  std::vector<Loot> all_loot(const GrowthLimit& limit) const;  // in the order in which it is best taken
  Record* rob(Record& hole, Frame first, Frame last, std::vector<PieceId>& pieces);

  ArenaOptions options_;
  mutable FutexLock lock_;
  RecordTable records_;
  PagePool pool_;
  PointerTable pointers_;
  std::array<Zone, 3> zones_;
  std::vector<std::unique_ptr<Leased>> leases_;
  bool keeps_planned_ = false;
  bool large_among_small_ = false;  // blocks of a lease may have lived on in the zone of small ones
  std::uint32_t tick_ = 0;
  std::uint64_t moved_frames_ = 0;
  std::atomic<std::uint32_t> returns_begun_{0}, returns_ended_{0};
  std::uint64_t lost_frames_ = 0;
  std::atomic<std::uint64_t> whole_granules_{0};  // changed under the lock
};

}  // namespace tidemark::allocator
