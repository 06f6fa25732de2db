// SPDX-License-Identifier: Apache-2.0
#include "softgpu/model/linear_memory.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "base/bytes.h"

namespace tidemark::softgpu {
namespace {

using namespace tidemark::literals;

struct Card {
  std::unique_ptr<Ledger> ledger;
  std::unique_ptr<LinearMemory> memory;
  explicit Card(Bytes capacity) {
    ledger = std::move(*Ledger::open(capacity, "", 0));
    memory = std::move(*LinearMemory::create(capacity.n, *ledger));
  }
  std::uint64_t used() { return ledger->usage().used_bytes; }
};

TEST(LinearMemory, SmallBlocksShareAGranuleAndGiveItBackWhenTheLastIsFreed) {
  Card card(64_MiB);
  auto const a = *card.memory->allocate(1), b = *card.memory->allocate((1_MiB).n);
  EXPECT_EQ(card.used(), kGranule);
  EXPECT_EQ(a % kUnit, 0u);
  card.memory->free(a);
  EXPECT_EQ(card.used(), kGranule);
  card.memory->free(b);
  EXPECT_EQ(card.used(), 0u);
}

TEST(LinearMemory, LargeBlocksAreChargedInWholeGranulesAndAlignedToThem) {
  Card card(64_MiB);
  auto const a = *card.memory->allocate((1_MiB).n + 1);
  EXPECT_EQ(a % kGranule, 0u);
  EXPECT_EQ(card.used(), kGranule);
  auto const b = *card.memory->allocate((5_MiB).n);
  EXPECT_EQ(card.used(), kGranule * 4);
  card.memory->free(a);
  card.memory->free(b);
  EXPECT_EQ(card.used(), 0u);
}

TEST(LinearMemory, TheCapacityIsHandedOutToTheLastGranuleWhateverWasFreedBefore) {
  Card card(64_MiB);
  std::vector<std::uintptr_t> blocks;
  for (int i = 0; i < 32; ++i) blocks.push_back(*card.memory->allocate(kGranule));
  EXPECT_FALSE(card.memory->allocate(kGranule));
  EXPECT_FALSE(card.memory->allocate(1));
  // Every other one: on a card pages are remapped, so 32 MiB fit although no hole is larger than 2 MiB.
  for (std::size_t i = 0; i < blocks.size(); i += 2) card.memory->free(blocks[i]);
  EXPECT_TRUE(card.memory->allocate((32_MiB).n));
}

TEST(LinearMemory, HugeRequestsFailWithoutACharge) {
  Card card(64_MiB);
  for (std::uint64_t const bytes :
       {(65_MiB).n, std::uint64_t{1} << 40, ~std::uint64_t{0}, ~std::uint64_t{0} - kGranule})
    EXPECT_FALSE(card.memory->allocate(bytes));
  EXPECT_EQ(card.used(), 0u);
}

TEST(LinearMemory, FindAnswersForInteriorAddressesOnly) {
  Card card(64_MiB);
  auto const small = *card.memory->allocate(1000), large = *card.memory->allocate((6_MiB).n);
  EXPECT_EQ(card.memory->find(small + 999)->address, small);
  EXPECT_EQ(card.memory->find(small + 1023)->bytes, 1024u);
  EXPECT_EQ(card.memory->find(large + (6_MiB).n - 1)->address, large);
  EXPECT_FALSE(card.memory->find(large + (6_MiB).n));
  EXPECT_FALSE(card.memory->find(0));
  EXPECT_FALSE(card.memory->find(~std::uintptr_t{0}));
}

TEST(LinearMemory, MemoryIsReadableAndWritableToTheLastByte) {
  Card card(64_MiB);
  for (std::uint64_t const bytes : {std::uint64_t{1}, (1_MiB).n, (7_MiB).n}) {
    auto const p = *card.memory->allocate(bytes);
    auto* const c = reinterpret_cast<char*>(p);
    c[0] = 1;
    c[bytes - 1] = 2;
    EXPECT_EQ(c[bytes - 1], 2);
    card.memory->free(p);
  }
}

TEST(LinearMemory, ChargeIsTheSumOverGranulesUnderRandomUse) {
  Card card(256_MiB);
  std::mt19937 random(7);
  std::map<std::uintptr_t, std::uint64_t> live;
  card.memory->note_touched();
  for (int step = 0; step < 20000; ++step) {
    if (live.empty() || random() % 2 == 0) {
      std::uint64_t const bytes = 1 + random() % (random() % 4 == 0 ? (9_MiB).n : (300_KiB).n);
      if (auto const p = card.memory->allocate(bytes)) live[*p] = bytes;
    } else {
      auto it = live.begin();
      std::advance(it, static_cast<long>(random() % live.size()));
      card.memory->free(it->first);
      live.erase(it);
    }
    if (step % 500 != 0) continue;
    std::uint64_t large = 0;
    std::map<std::uintptr_t, int> slabs;
    for (auto const& [p, bytes] : live) {
      if (bytes > kSmallLimit) {
        large += round_up(bytes, kGranule);
      } else {
        slabs[p / kGranule] = 1;
      }
    }
    ASSERT_EQ(card.used(), large + slabs.size() * kGranule);
  }
}

}  // namespace
}  // namespace tidemark::softgpu
