// SPDX-License-Identifier: Apache-2.0
// Memory is freed while work that uses it is still queued, and asked for again at once: each owner fills its block and
// looks, later in the same stream, whether what it wrote is still there. Nobody waits in between. The checker is not
// needed: a block that is handed out too early is overwritten by its next owner.
//
// CONFORMANCE_PLANTED=1: something lies about when work is done, and overwritten blocks must be found.
#include <cstdlib>
#include <cstring>
#include <optional>
#include <random>

#include "tests/conformance/support/device.h"
#include "tests/conformance/support/kernels.h"

namespace conformance {
namespace {

bool is_planted() {
  const char* const planted = std::getenv("CONFORMANCE_PLANTED");
  return planted != nullptr && std::strcmp(planted, "1") == 0;
}

struct Owner {
  std::uint32_t* words = nullptr;
  std::size_t count = 0;
  std::uint32_t seed = 0;
  cudaStream_t stream = nullptr;
  bool in_order = false;  // a pool's: only a free in order, or one after all work, may take it
};

class Reuse : public Conformance {
 protected:
  void SetUp() override {
    Conformance::SetUp();
    wrong_.emplace(512);
    EXPECT_OK(cudaMemset(wrong_->get(), 0, 512));
  }
  void TearDown() override {
    std::uint32_t wrong = 0;
    EXPECT_OK(cudaMemcpy(&wrong, wrong_->get(), sizeof wrong, cudaMemcpyDeviceToHost));
    wrong_.reset();
    Conformance::TearDown();
    if (is_planted())
      planted_found_ += wrong;
    else
      EXPECT_EQ(0u, wrong) << "words that another owner wrote";
  }
  static void TearDownTestSuite() {
    if (is_planted()) {
      EXPECT_LT(0u, planted_found_);
    }
  }

  Owner begin(std::size_t count, cudaStream_t stream, bool in_order) {
    Owner owner{.count = count, .seed = ++seeds_, .stream = stream, .in_order = in_order};
    if (in_order)
      EXPECT_OK(cudaMallocAsync(&owner.words, count * 4, stream));
    else
      EXPECT_OK(cudaMalloc(&owner.words, count * 4));
    EXPECT_OK(launch_fill(owner.words, count, owner.seed, stream));
    return owner;
  }
  void end(const Owner& owner, bool in_order) {
    EXPECT_OK(launch_count_wrong(owner.words, owner.count, owner.seed, wrong_->words(), owner.stream));
    if (in_order || owner.in_order)
      EXPECT_OK(cudaFreeAsync(owner.words, owner.stream));
    else
      EXPECT_OK(cudaFree(owner.words));
  }
  // Rounds of allocations and frees in these streams, by chance.
  void walk(const std::vector<cudaStream_t>& streams, bool ordered, int rounds) {
    std::mt19937 random(20260211);
    std::vector<Owner> owners;
    for (int i = 0; i < rounds; ++i) {
      if (owners.size() < 6 || (owners.size() < 20 && random() % 2 == 0)) {
        std::size_t const count = std::size_t{128} << random() % 6;
        owners.push_back(begin(count, streams[random() % streams.size()], ordered && random() % 2 == 0));
      } else {
        std::size_t const at = random() % owners.size();
        Owner const owner = owners[at];
        owners.erase(owners.begin() + static_cast<std::ptrdiff_t>(at));
        end(owner, ordered && random() % 2 == 0);
      }
    }
    for (Owner const& owner : owners) end(owner, false);
  }

  static inline std::uint64_t planted_found_ = 0;
  std::optional<DeviceBytes> wrong_;
  std::uint32_t seeds_ = 0;
};

TEST_F(Reuse, InTheDefaultStream) {
  NEEDS_VALUES();
  walk({nullptr}, false, 1500);
  walk({nullptr}, true, 1500);
}

TEST_F(Reuse, AcrossStreams) {
  NEEDS_VALUES();
  Stream const a(cudaStreamNonBlocking), b(cudaStreamNonBlocking), c;
  walk({a, b, c}, false, 1500);
  walk({a, b, c, nullptr}, true, 1500);
  EXPECT_OK(cudaDeviceSynchronize());
}

TEST_F(Reuse, InStreamsThatComeAndGo) {
  NEEDS_VALUES();
  for (int round = 0; round < 20; ++round) {
    Stream const a(cudaStreamNonBlocking), b;
    walk({a, b}, true, 100);
  }
  EXPECT_OK(cudaDeviceSynchronize());
}

TEST_F(Reuse, ByAStreamThatIsNewWhenWorkIsUnderWay) {
  NEEDS_VALUES();
  Owner const first = begin(1 << 16, nullptr, false);
  end(first, false);
  Stream const fresh(cudaStreamNonBlocking);
  Owner const second = begin(1 << 16, fresh, false);
  Owner const third = begin(1 << 16, nullptr, false);
  end(second, false);
  end(third, false);
  EXPECT_OK(cudaDeviceSynchronize());
}

}  // namespace
}  // namespace conformance
