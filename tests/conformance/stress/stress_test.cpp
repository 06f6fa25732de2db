// SPDX-License-Identifier: Apache-2.0
// Eight threads at once, each with streams of its own on one device: allocation, copies, launches, events, pools. Every
// value that comes back is checked. CONFORMANCE_SECONDS says how long.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <random>
#include <thread>

#include "tests/conformance/support/device.h"
#include "tests/conformance/support/kernels.h"

namespace conformance {
namespace {

using Clock = std::chrono::steady_clock;

Clock::duration how_long() {
  const char* const text = std::getenv("CONFORMANCE_SECONDS");
  return std::chrono::milliseconds(static_cast<long>(1000 * (text != nullptr ? std::atof(text) : 2)));
}

class Worker {
 public:
  explicit Worker(unsigned seed) : random_(seed), stream_(seed % 2 == 0 ? cudaStreamDefault : cudaStreamNonBlocking) {}

  void run(Clock::time_point end) {
    while (Clock::now() < end && !testing::Test::HasFailure()) {
      switch (random_() % 5) {
        case 0: plain_memory(); break;
        case 1: pool_memory(); break;
        case 2: two_streams(); break;
        case 3: pinned_round_trip(); break;
        default: many_small(); break;
      }
      ++rounds_;
    }
  }
  std::uint64_t rounds() const { return rounds_; }

 private:
  std::size_t any_words() { return 1 + random_() % 5000; }
  std::uint32_t any_seed() { return static_cast<std::uint32_t>(random_() % 1000000); }

  // Reads on the worker's own stream: the legacy stream would wait for all others.
  void expect_words(const std::uint32_t* device, std::size_t n, std::uint32_t seed, std::uint32_t plus) {
    std::vector<std::uint32_t> host(n);
    EXPECT_OK(cudaMemcpyAsync(host.data(), device, n * 4, cudaMemcpyDeviceToHost, stream_));
    EXPECT_OK(cudaStreamSynchronize(stream_));
    if (!is_dry_run()) {
      EXPECT_EQ(0u, wrong_words(host, seed, plus));
    }
  }

  void plain_memory() {
    std::size_t const n = any_words();
    std::uint32_t const seed = any_seed();
    DeviceBytes const device(n * 4);
    EXPECT_OK(launch_fill(device.words(), n, seed, stream_));
    EXPECT_OK(launch_add(device.words(), n, 7, stream_));
    expect_words(device.words(), n, seed, 7);
  }

  void pool_memory() {
    std::size_t const n = any_words();
    std::uint32_t const seed = any_seed();
    std::uint32_t *a = nullptr, *b = nullptr;
    EXPECT_OK(cudaMallocAsync(&a, n * 4, stream_));
    EXPECT_OK(launch_fill(a, n, seed, stream_));
    EXPECT_OK(cudaMallocAsync(&b, n * 4, stream_));
    EXPECT_OK(launch_copy(b, a, n, stream_));
    EXPECT_OK(cudaFreeAsync(a, stream_));
    expect_words(b, n, seed, 0);
    EXPECT_OK(cudaFreeAsync(b, stream_));
  }

  void two_streams() {
    std::size_t const n = any_words();
    std::uint32_t const seed = any_seed();
    Stream const other(cudaStreamNonBlocking);
    Event const written(cudaEventDisableTiming);
    DeviceBytes const device(n * 4);
    EXPECT_OK(launch_fill(device.words(), n, seed, other));
    EXPECT_OK(cudaEventRecord(written, other));
    EXPECT_OK(cudaStreamWaitEvent(stream_, written, 0));
    EXPECT_OK(launch_add(device.words(), n, 1, stream_));
    expect_words(device.words(), n, seed, 1);
  }

  void pinned_round_trip() {
    std::size_t const n = any_words();
    std::uint32_t const seed = any_seed();
    PinnedBytes const in(n * 4), out(n * 4);
    DeviceBytes const device(n * 4);
    for (std::size_t i = 0; i < n; ++i) in.words()[i] = expected_word(seed, i);
    EXPECT_OK(cudaMemcpyAsync(device.get(), in.get(), n * 4, cudaMemcpyHostToDevice, stream_));
    EXPECT_OK(cudaMemcpyAsync(out.get(), device.get(), n * 4, cudaMemcpyDeviceToHost, stream_));
    EXPECT_OK(cudaStreamSynchronize(stream_));
    EXPECT_EQ(0u, wrong_words({out.words(), out.words() + n}, seed));
  }

  void many_small() {
    std::vector<void*> blocks(1 + random_() % 30);
    for (void*& p : blocks) EXPECT_OK(cudaMalloc(&p, 1 + random_() % 3000));
    std::shuffle(blocks.begin(), blocks.end(), random_);
    for (void* const p : blocks) EXPECT_OK(random_() % 2 == 0 ? cudaFree(p) : cudaFreeAsync(p, stream_));
  }

  std::mt19937 random_;
  Stream stream_;
  std::uint64_t rounds_ = 0;
};

TEST(Stress, EightThreadsKeepTheirValues) {
  ASSERT_OK(cudaDeviceSynchronize());
  std::size_t const before = memory_info().free_bytes;
  auto const end = Clock::now() + how_long();
  std::atomic<std::uint64_t> rounds{0};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 8; ++i)
    threads.emplace_back([&, i] {
      EXPECT_OK(cudaSetDevice(0));
      Worker worker(i + 1);
      worker.run(end);
      rounds += worker.rounds();
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_OK(cudaDeviceSynchronize());
  EXPECT_GE(rounds.load(), 8u);
  if (is_softgpu()) {
    EXPECT_EQ(before, memory_info().free_bytes);
  }
  std::printf("%llu rounds\n", static_cast<unsigned long long>(rounds.load()));
}

}  // namespace
}  // namespace conformance
