// SPDX-License-Identifier: Apache-2.0
// An allocator over a simulated device, with a program's calls as a test wants to write them.
#pragma once
#include <gtest/gtest.h>

#include <memory>

#include "allocator/core/allocator.h"
#include "tests/support/simulated_device.h"

namespace tidemark::allocator {

using namespace literals;
using tests::Schedule;

struct AllocatorTest : testing::Test {
  explicit AllocatorTest(const tests::FakeOptions& fake = {.capacity_bytes = 1ull << 30}, Options options = {},
                         Schedule schedule = Schedule::Late)
      : device(fake, schedule) {
    options.capacity_bytes = fake.capacity_bytes;
    allocator = Allocator::make(device, options);
  }
  ~AllocatorTest() override {
    device.run_everything();
    EXPECT_EQ(allocator->check(), "");
    EXPECT_EQ(device.corruptions(), 0u);
    EXPECT_TRUE(device.violations().empty()) << device.violations().front();
  }
  struct Stream {
    StreamHandle handle;
    DomainId domain;
  };
  Stream make_stream() {
    StreamHandle const handle = device.make_stream();
    return {handle, allocator->add_stream(handle)};
  }
  // As the hooks do: ask, submit, count.
  void work(const Stream& stream, std::uint64_t address, std::uint64_t bytes, std::uint64_t owner) {
    allocator->before_submission(stream.domain);
    device.stamp(stream.handle, address, bytes, owner);
    device.verify(stream.handle, address, bytes, owner);
    allocator->after_submission(stream.domain);
  }
  std::uint64_t allocate(Bytes size, DomainId domain = DomainId::Shared) {
    std::uint64_t address = 0;
    return allocator->allocate({.bytes = size.n, .domain = domain}, &address) == Status::Ok ? address : 0;
  }
  Statistics statistics() const { return allocator->statistics(); }

  tests::SimulatedDevice device;
  std::unique_ptr<Allocator> allocator;
};

}  // namespace tidemark::allocator
