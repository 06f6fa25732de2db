// SPDX-License-Identifier: Apache-2.0
// Random programs, written into a ring and into a trace that keeps everything, event for event with the same stamps.
#pragma once
#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <random>

#include "tests/unit/trace/fixture.h"
#include "trace/read/sums.h"
#include "trace/write/ring.h"

namespace tidemark::trace {

struct ModelBlock {
  std::uint64_t address = 0, size_bytes = 0, ticks = 0, step = kNoStep;
  std::uint32_t path = 0, name = 0;
  Class block_class = Class::Device;
  std::uint8_t device = 0;
  Phase phase = Phase::Other;
  Kind kind = Kind::Other;

  Live live() const {
    return {.block_class = static_cast<std::uint64_t>(block_class),
            .phase = static_cast<std::uint64_t>(phase),
            .kind = static_cast<std::uint64_t>(kind),
            .device = device,
            .address = address,
            .size_bytes = size_bytes,
            .ticks = ticks,
            .step = step,
            .path = path,
            .name = name};
  }
  auto operator<=>(const ModelBlock&) const = default;
};

// What is alive, as the interposer's registry has it: stamps are taken under the lock of the address.
class Model : public LiveBlocks {
 public:
  void insert(ModelBlock& block, const Clock& clock) {
    Shard& s = shard(block.address);
    std::scoped_lock const guard(s.lock);
    block.ticks = clock.now_ordered();
    s.at[block.address] = block;
  }
  std::uint64_t put_back(const ModelBlock& block, const Clock& clock) {
    Shard& s = shard(block.address);
    std::scoped_lock const guard(s.lock);
    s.at[block.address] = block;
    return clock.now_ordered();
  }
  // Any block of a shard, and when it was taken out.
  bool take(std::uint64_t random, ModelBlock& out, std::uint64_t& ticks, const Clock& clock) {
    Shard& s = shards_[random % kShards];
    std::scoped_lock const guard(s.lock);
    if (s.at.empty()) return false;
    auto found = s.at.lower_bound(random);
    if (found == s.at.end()) found = s.at.begin();
    out = found->second;
    ticks = clock.now_ordered();
    s.at.erase(found);
    return true;
  }
  // The block as it was before.
  bool set_kind(std::uint64_t address, Kind kind, ModelBlock& before) {
    Shard& s = shard(address);
    std::scoped_lock const guard(s.lock);
    auto const found = s.at.find(address);
    if (found == s.at.end()) return false;
    before = found->second;
    found->second.kind = kind;
    return true;
  }
  void list(CheckpointWriter& to) override {
    std::size_t count = 0;
    for (Shard& s : shards_) {
      std::scoped_lock const guard(s.lock);
      count += s.at.size();
    }
    to.prepare(count);
    for (Shard& s : shards_) {
      std::scoped_lock const guard(s.lock);
      for (auto const& [address, block] : s.at) to.block(block.live());
    }
    ++checkpoints;
  }
  std::vector<ModelBlock> all() const {
    std::vector<ModelBlock> found;
    for (Shard const& s : shards_)
      for (auto const& [address, block] : s.at) found.push_back(block);
    std::sort(found.begin(), found.end());
    return found;
  }

  std::atomic<std::uint64_t> live_bytes{0}, step{kNoStep};
  std::atomic<int> checkpoints{0};
  std::atomic<std::size_t> blocks{0};

 private:
  static constexpr std::size_t kShards = 8;
  struct Shard {
    std::mutex lock;
    std::map<std::uint64_t, ModelBlock> at;
  };
  Shard& shard(std::uint64_t address) { return shards_[(address >> 12) % kShards]; }
  std::array<Shard, kShards> shards_;
};

inline File& make_ring(const std::string& path, std::uint64_t bytes, LiveBlocks& blocks) {
  static auto& kept = *new std::vector<File*>;
  File& file = *kept.emplace_back(new File);
  auto const made = file.create({.path = path, .ring_bytes = bytes, .live_blocks = &blocks});
  EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().what);
  return file;
}

// A ring, and the trace that it has to agree with; either may be left out.
struct Pair {
  Model& model;
  File* ring = nullptr;
  File* whole = nullptr;
  std::vector<std::uint32_t> paths = {0, 2, 4, 6, 8, 10};
};

// One thread of a random program.
class Actor {
 public:
  static constexpr std::size_t kMostBlocks = 2000;

  Actor(Pair pair, std::uint32_t number, std::uint64_t seed) : pair_(pair), number_(number), random_(seed) {
    for_each_lane([&](Lane& lane, File& file) { lane.start(file, number); });
  }

  void run(std::size_t operations) {
    for (std::size_t i = 0; i < operations; ++i) act();
  }
  void act() {
    std::uint64_t const r = random_() % 1000;
    if (r < 480) return allocate();
    if (r < 900) return release();
    if (r < 930) return label();
    if (r < 960) return scope();
    if (r < 975) return phase();
    if (r < 985) return device();
    if (r < 990) return use();
    if (r < 992) return fail();
    if (r < 994) return failed_release();
    if (number_ == 1) step(pair_.model.step + 1);
  }

  void allocate() {
    if (pair_.model.blocks >= kMostBlocks) return release();
    ++pair_.model.blocks;
    ModelBlock block{.address = fresh_address(), .size_bytes = 1 + random_() % 100'000};
    if (random_() % 8 == 0) block.block_class = Class::Pinned;
    if (random_() % 64 == 0) block.size_bytes <<= 26;
    update_step();
    Context const& context = pair_.ring != nullptr ? ring_.context() : whole_.context();
    block.path = path_;
    block.step = step_of(context);
    block.phase = static_cast<Phase>(context.phase);
    block.device = context.device;
    pair_.model.insert(block, clock());
    if (on_device(block.block_class)) count(live_bytes_of(block.size_bytes), block.size_bytes);
    for_each_lane([&](Lane& lane, File&) {
      lane.alloc_at({.address = block.address, .size_bytes = block.size_bytes, .block_class = block.block_class},
                    block.ticks);
    });
  }

  void release() {
    update_step();  // first: each lane has a stamp of its own for it
    ModelBlock block;
    std::uint64_t ticks = 0;
    if (!pair_.model.take(random_(), block, ticks, clock())) return;
    --pair_.model.blocks;
    if (on_device(block.block_class)) count(0 - live_bytes_of(block.size_bytes), 0 - block.size_bytes);
    for_each_lane(
        [&](Lane& lane, File&) { lane.free_at({.address = block.address, .block_class = block.block_class}, ticks); });
    addresses_.push_back(block.address);
  }

  void failed_release() {
    ModelBlock block;
    std::uint64_t ticks = 0;
    if (!pair_.model.take(random_(), block, ticks, clock())) return;
    for (int i = 0; i < 300; ++i) act_small();  // meanwhile checkpoints are taken
    std::uint64_t const now = pair_.model.put_back(block, clock());
    if (pair_.ring != nullptr) ring_.still_live_at(block.live(), now);
  }

  void label() {
    ModelBlock block;
    if (!pick(block)) return;
    auto const kind = static_cast<Kind>(random_() % kKindNames.size());
    if (!pair_.model.set_kind(block.address, kind, block)) return;
    for_each_lane([&](Lane& lane, File&) {
      lane.relabel({.block_class = static_cast<std::uint64_t>(block.block_class),
                    .kind = static_cast<std::uint64_t>(kind),
                    .kind_before = static_cast<std::uint64_t>(block.kind),
                    .address = block.address,
                    .size_bytes = block.size_bytes,
                    .path = block.path,
                    .step = block.step,
                    .phase = static_cast<std::uint64_t>(block.phase),
                    .device = block.device});
    });
  }

  void scope() {
    path_ = pair_.paths[random_() % pair_.paths.size()];
    std::uint64_t const now = clock().now();
    for_each_lane([&](Lane& lane, File&) { lane.enter_at(path_, now); });
  }
  void phase() {
    auto const phase = static_cast<Phase>(random_() % kPhaseNames.size());
    for_each_lane([&](Lane& lane, File&) { lane.phase(phase); });
  }
  void device() {
    auto const device = static_cast<std::uint8_t>(random_() % 3);
    for_each_lane([&](Lane& lane, File&) { lane.device(device); });
  }
  void use() {
    DeviceUse const use{.device = random_() % 3, .used_bytes = random_() % 1'000'000, .total_bytes = 1 << 30};
    for_each_lane([&](Lane& lane, File&) { lane.device_use(use); });
  }
  void fail() {
    Failure const failure{.device = random_() % 3, .error = 2, .size_bytes = random_() % 1'000'000};
    for_each_lane([&](Lane& lane, File&) { lane.failure(failure); });
  }
  void step(std::uint64_t number) {
    pair_.model.step = number;
    if (pair_.ring != nullptr) pair_.ring->ring()->follow_step(pair_.model.step);
    update_step();
  }
  void set_path(std::uint32_t path) {
    path_ = path;
    for_each_lane([&](Lane& lane, File&) { lane.enter(path); });
  }

 private:
  template <class F>
  void for_each_lane(F f) {
    if (pair_.ring != nullptr) f(ring_, *pair_.ring);
    if (pair_.whole != nullptr) f(whole_, *pair_.whole);
  }
  const Clock& clock() const { return (pair_.ring != nullptr ? pair_.ring : pair_.whole)->clock(); }
  void update_step() {
    std::uint64_t const now = pair_.model.step;
    for_each_lane([&](Lane& lane, File&) {
      if (step_of(lane.context()) != now) lane.step(now);
    });
  }
  void act_small() {
    if (random_() % 2 == 0)
      allocate();
    else
      release();
  }
  bool pick(ModelBlock& block) {
    if (recent_.empty()) return false;
    block.address = recent_[random_() % recent_.size()];
    return true;
  }
  void count(std::uint64_t live, std::uint64_t requested) {
    std::uint64_t const now = pair_.model.live_bytes += live;
    if (pair_.ring == nullptr) return;
    FileHeader& h = pair_.ring->header();
    std::atomic_ref peak(h.ring.step_peak_live_bytes);
    for (std::uint64_t before = peak; before < now && now < 1ull << 62;)
      if (peak.compare_exchange_weak(before, now)) break;
    std::atomic_ref(h.ring.requested_bytes) += requested;
    std::atomic_ref(h.totals.live_bytes) += live;
  }
  std::uint64_t fresh_address() {
    std::uint64_t address = 0;
    if (!addresses_.empty() && random_() % 4 != 0) {
      std::swap(addresses_[random_() % addresses_.size()], addresses_.back());
      address = addresses_.back();
      addresses_.pop_back();
    } else {
      address = std::uint64_t{number_} << 40 | ++made_ << 12;
    }
    recent_[made_ % recent_.size()] = address;
    return address;
  }

  Pair pair_;
  std::uint32_t number_;
  std::mt19937_64 random_;
  Lane ring_, whole_;
  std::uint32_t path_ = 0;
  std::vector<std::uint64_t> addresses_;
  std::array<std::uint64_t, 64> recent_{};
  std::uint64_t made_ = 0;
};

}  // namespace tidemark::trace
