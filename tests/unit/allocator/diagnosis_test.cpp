// SPDX-License-Identifier: Apache-2.0
#include "allocator/core/diagnosis.h"

#include <map>
#include <random>

#include "tests/unit/allocator/fixture.h"

namespace tidemark::allocator {
namespace {

TEST_F(ArenaTest, WithoutHolesNothingIsPinned) {
  grow(2_MiB);
  get(2_MiB);
  EXPECT_TRUE(find_pins(arena, 10).empty());
}

TEST_F(ArenaTest, ASmallBlockBetweenTwoHolesIsNamedWithWhatMovingItWouldGive) {
  Record* const a = grow(3_MiB);
  Record* const small = get(1_MiB + 512_B);  // over the end of the second frame
  Record* const b = get(4_MiB - 512_B);
  Record* const end = get(2_MiB);
  ASSERT_NE(end, nullptr);
  free(a);
  free(b);
  std::vector<Pin> const pins = find_pins(arena, 10);
  ASSERT_EQ(pins.size(), 2u);
  EXPECT_EQ(pins[0].address, address(small));
  EXPECT_EQ(pins[0].before_bytes, 3u << 20);
  EXPECT_EQ(pins[0].after_bytes, (4u << 20) - 512);
  EXPECT_EQ(pins[0].hole_bytes(), 8u << 20);
  EXPECT_EQ(pins[0].given_back_bytes, 4u << 20) << "frames [2, 6) MiB";
  EXPECT_EQ(find_pins(arena, 1).size(), 1u);
}

// A plain reference: every granule is written down, and what a block costs is counted by taking it away.
enum class What : std::uint8_t { Nothing, Free, Live };

class Picture {
 public:
  explicit Picture(const Arena& arena) {
    arena.for_each([&](const Record& r) {
      State const state = r.state.load();
      bool const free = state == State::Hole || state == State::Cached || state == State::Pending;
      bool const live = state == State::Live || state == State::Held;
      granules_.resize(r.end(), What::Nothing);
      pieces_.resize(granules_.size() / kFrameGranules + 1);
      if (!free && !live) return;
      std::fill_n(granules_.begin() + r.offset, r.granules, free ? What::Free : What::Live);
      for (Granules g = r.offset; g < r.end(); ++g)
        pieces_[g / kFrameGranules] = arena.pool().shown(g / kFrameGranules);
      if (live) blocks_.push_back({r.offset, r.end(), r.address.load()});
    });
  }
  // (before, after, given back) in bytes by address, for every block with something free beside it.
  std::map<std::uint64_t, std::array<std::uint64_t, 3>> pins() {
    std::map<std::uint64_t, std::array<std::uint64_t, 3>> all;
    for (const Block& block : blocks_) {
      Granules begin = block.begin, end = block.end;
      while (begin > 0 && granules_[begin - 1] == What::Free) --begin;
      while (end < granules_.size() && granules_[end] == What::Free) ++end;
      if (begin == block.begin && end == block.end) continue;
      std::uint64_t const now = free_frames(begin, end);
      std::fill(granules_.begin() + block.begin, granules_.begin() + block.end, What::Free);
      std::uint64_t const then = free_frames(begin, end);
      std::fill(granules_.begin() + block.begin, granules_.begin() + block.end, What::Live);
      all[block.address] = {to_bytes(block.begin - begin), to_bytes(end - block.end), (then - now) * kFrameBytes};
    }
    return all;
  }

 private:
  struct Block {
    Granules begin, end;
    std::uint64_t address;
  };
  // Frames of pieces of which every granule is free, as far as they reach into a range.
  std::uint64_t free_frames(Granules begin, Granules end) const {
    std::map<PieceId, bool> whole;
    for (Frame f = begin / kFrameGranules; f <= (end - 1) / kFrameGranules; ++f) whole[pieces_[f]] = true;
    std::map<PieceId, std::uint64_t> frames;
    for (Frame f = 0; f < pieces_.size(); ++f) {
      if (pieces_[f] == 0 || !whole.contains(pieces_[f])) continue;
      ++frames[pieces_[f]];
      for (Granules g = f * kFrameGranules; g < (f + 1) * kFrameGranules; ++g)
        if (granules_[g] != What::Free) whole[pieces_[f]] = false;
    }
    std::uint64_t sum = 0;
    for (auto const& [piece, n] : frames) sum += whole[piece] ? n : 0;
    return sum;
  }

  std::vector<What> granules_;
  std::vector<PieceId> pieces_;
  std::vector<Block> blocks_;
};

struct Drawn {
  bool can_map = true;
  std::array<std::uint64_t, 2> larger_pieces_from_bytes = {8ull << 30, 32ull << 30};
};
class PinsAgainstReference : public testing::TestWithParam<Drawn> {};

TEST_P(PinsAgainstReference, EveryBlockCostsWhatTakingItAwayGives) {
  for (std::uint32_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    tests::FakeUpstream driver({.capacity_bytes = 64 << 20, .can_map = GetParam().can_map});
    Arena arena(driver, {.capacity_bytes = 64 << 20, .larger_pieces_from_bytes = GetParam().larger_pieces_from_bytes});
    ASSERT_EQ(arena.start(), Status::Ok);
    std::vector<Record*> live;
    for (int i = 0; i < 300; ++i) {
      if (random() % 5 < 3 || live.empty()) {
        Want const want{.granules = 1 + static_cast<Granules>(random() % (random() % 3 == 0 ? 9000 : 900))};
        Record* block = arena.take(want);
        if (block == nullptr && arena.grow(want, {}, &block) != Status::Ok) continue;
        live.push_back(block);
      } else {
        std::swap(live[random() % live.size()], live.back());
        arena.release(*live.back(), DomainId::Shared, 0);
        live.pop_back();
      }
      if (i % 60 != 59) continue;
      auto const expected = Picture(arena).pins();
      std::vector<Pin> const pins = find_pins(arena, ~std::size_t{0});
      ASSERT_EQ(pins.size(), expected.size());
      for (std::size_t k = 0; k < pins.size(); ++k) {
        std::array<std::uint64_t, 3> const told{pins[k].before_bytes, pins[k].after_bytes, pins[k].given_back_bytes};
        ASSERT_TRUE(expected.contains(pins[k].address));
        EXPECT_EQ(told, expected.at(pins[k].address));
        if (k == 0) continue;
        auto const gain = [](const Pin& p) {
          return static_cast<std::int64_t>(p.given_back_bytes) - static_cast<std::int64_t>(p.block_bytes);
        };
        EXPECT_GE(gain(pins[k - 1]), gain(pins[k])) << "the one that costs most comes first";
      }
    }
    EXPECT_EQ(arena.check(), "");
  }
}

INSTANTIATE_TEST_SUITE_P(Pieces, PinsAgainstReference,
                         testing::Values(Drawn{}, Drawn{.larger_pieces_from_bytes = {8 << 20, 24 << 20}},
                                         Drawn{.can_map = false}));

}  // namespace
}  // namespace tidemark::allocator
