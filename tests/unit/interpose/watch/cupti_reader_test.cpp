// SPDX-License-Identifier: Apache-2.0
// Buffers in, kernels and an audit's facts out.
#include "interpose/watch/cupti_reader.h"

#include <sys/mman.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <random>
#include <string>

#include "interpose/watch/cupti_name.h"
#include "interpose/watch/cupti_report.h"
#include "tests/unit/interpose/watch/made_buffer.h"

namespace tidemark::interpose {
namespace {

using trace::Phase;

struct Output final : CuptiReader::Output {
  struct Written {
    trace::Kernel kernel;
    std::uint64_t start_ticks;
  };
  std::vector<Written> kernels;
  void kernel(const trace::Kernel& kernel, std::uint64_t start_ticks) override {
    kernels.push_back({kernel, start_ticks});
  }
  std::uint32_t name(std::uint64_t address) override { return address == 0 ? 0 : 42; }
};

class ReaderTest : public testing::Test {
 protected:
  ReaderTest() {
    EXPECT_TRUE(reader.start(output, audit, {.process = 77, .ticks_per_ns = 2}));
    reader.clock().add(1'000'000, 5'000'000);
  }
  void read(MadeBuffer& buffer) { reader.read(buffer.bytes(), buffer.next()); }
  CuptiEnd end() { return {.counts = reader.counts(), .verdict = audit.verdict()}; }
  std::map<std::string, std::string> facts() {
    Facts const all = cupti_facts(end());
    return {all.begin(), all.end()};
  }

  Output output;
  std::unique_ptr<Audit> const own_audit_ = std::make_unique<Audit>();
  std::unique_ptr<CuptiReader> const own_reader_ = std::make_unique<CuptiReader>();
  Audit& audit = *own_audit_;
  CuptiReader& reader = *own_reader_;
};

TEST_F(ReaderTest, AKernelBecomesARecordWithItsScope) {
  LaunchScope const scope{.path = 5, .phase = Phase::Backward, .step = 12};
  MadeBuffer buffer;
  buffer
      .add(external_of(8, 999, CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0))  // another client's
      .add(external_of(8, scope.packed(), kScopeKind))
      .add(call_of(8))
      .add(kernel_of<CUpti_ActivityKernel10>(8, 1'000'100, 1'000'350));
  read(buffer);
  reader.end_round(false);
  ASSERT_EQ(output.kernels.size(), 1u);
  trace::Kernel const& k = output.kernels[0].kernel;
  EXPECT_EQ(output.kernels[0].start_ticks, 5'000'200u);
  EXPECT_EQ(k.duration_ns, 250u);
  EXPECT_EQ(k.name, 42u);
  EXPECT_EQ(k.path, 5u);
  EXPECT_EQ(k.phase, static_cast<std::uint64_t>(Phase::Backward));
  EXPECT_EQ(k.step, 12u);
  EXPECT_EQ(k.device, 3u);
  EXPECT_EQ(k.stream, 14u);
  EXPECT_EQ(k.unscoped, 0u);
}

TEST_F(ReaderTest, KernelsWithoutTimesAreCountedOnly) {
  MadeBuffer buffer;
  buffer.add(call_of(8))
      .add(kernel_of<CUpti_ActivityKernel10>(8, 0, 0))
      .add(kernel_of<CUpti_ActivityKernel10>(8, 500, 0));
  read(buffer);
  reader.end_round(true);
  EXPECT_TRUE(output.kernels.empty());
  EXPECT_EQ(facts()["cupti.kernels.unfinished"], "2");
}

TEST_F(ReaderTest, AnEndlessKernelSaturates) {
  MadeBuffer buffer;
  buffer.add(call_of(8)).add(kernel_of<CUpti_ActivityKernel10>(8, 1, ~std::uint64_t{0}));
  read(buffer);
  ASSERT_EQ(output.kernels.size(), 1u);
  EXPECT_EQ(output.kernels[0].kernel.duration_ns, trace::Kernel::kLongest);
}

TEST_F(ReaderTest, AKernelWhoseLaunchWasNotSeenSaysSo) {
  MadeBuffer buffer;
  buffer.add(kernel_of<CUpti_ActivityKernel10>(8, 1, 2));
  read(buffer);
  reader.end_round(true);
  ASSERT_EQ(output.kernels.size(), 1u);
  EXPECT_EQ(output.kernels[0].kernel.unscoped, 1u);
  EXPECT_EQ(facts()["cupti.kernels.unscoped"], "1");
}

TEST_F(ReaderTest, MemoryGoesToTheAuditWithinItsTime) {
  reader.audit_from(1000);
  reader.audit_until(2000);
  MadeBuffer buffer;
  for (std::uint64_t const time : {999u, 1000u, 2000u, 2001u}) {
    auto record = allocation_of<CUpti_ActivityMemory4>(0x1000 * time, 8);
    record.timestamp = time;
    buffer.add(record);
  }
  read(buffer);
  EXPECT_EQ(audit.verdict().total().allocations, 2u);
}

TEST_F(ReaderTest, MemoryOfAnotherProcessIsAnotherLayout) {
  auto record = allocation_of<CUpti_ActivityMemory4>(0x1000, 8);
  record.processId = 78;
  MadeBuffer buffer;
  buffer.add(record);
  record.processId = 77;
  record.memoryOperationType = static_cast<CUpti_ActivityMemoryOperationType>(9);
  buffer.add(record);
  read(buffer);
  EXPECT_EQ(audit.verdict().unmatched(), 0u);
  EXPECT_EQ(facts()["cupti.audit"], "incomplete: 2 records were not understood");
}

TEST_F(ReaderTest, MemoryOfAGraphIsNoDifference) {
  MadeBuffer buffer;
  buffer.add(allocation_of<CUpti_ActivityMemory4>(0x1000, 8)).add(call_of(5, CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch));
  read(buffer);
  reader.end_round(false);
  EXPECT_EQ(facts()["cupti.audit"], "agrees");
  EXPECT_EQ(facts()["cupti.audit.graph_operations"], "1");
}

TEST_F(ReaderTest, FactsSayHowManyAgree) {
  for (std::uint64_t i = 1; i <= 3; ++i) audit.allocated({.address = i << 12, .size_bytes = 100 * i});
  MadeBuffer buffer;
  for (std::uint64_t i = 1; i <= 2; ++i) buffer.add(allocation_of<CUpti_ActivityMemory4>(i << 12, 100 * i));
  buffer.add(allocation_of<CUpti_ActivityMemory4>(9 << 12, 50, 1));
  read(buffer);
  auto f = facts();
  EXPECT_EQ(f["cupti.audit"], "differs");
  EXPECT_EQ(f["cupti.audit.allocations"], "4");
  EXPECT_EQ(f["cupti.audit.agreeing"], "2");
  EXPECT_EQ(f["cupti.audit.bytes"], "350");
  EXPECT_EQ(f["cupti.audit.difference_bytes"], "-250");
  EXPECT_EQ(f["cupti.audit.unmatched"], "2");
  EXPECT_EQ(f["cupti.audit.device.0.allocations"], "3");
  EXPECT_EQ(f["cupti.audit.device.0.difference_bytes"], "-300");
  EXPECT_EQ(f["cupti.audit.device.1.difference_bytes"], "50");
  EXPECT_EQ(f.count("cupti.audit.host.allocations"), 0u);
  EXPECT_EQ(f["cupti.audit.samples"].front(), '[');
}

TEST_F(ReaderTest, WhatMakesAnAuditIncompleteIsNamed) {
  CuptiEnd e = end();
  EXPECT_EQ(audit_word(e), "agrees");
  e.verdict.overflowed = true;
  EXPECT_EQ(audit_word(e), "incomplete: too many operations waited for their counterparts");
  e.lost_bytes = 12;
  EXPECT_EQ(audit_word(e), "incomplete: 12 bytes of records came too fast");
  e.dropped_records = 3;
  EXPECT_EQ(audit_word(e), "incomplete: CUPTI dropped 3 records");
  e.flush_failed = "CUPTI_ERROR_UNKNOWN";
  EXPECT_EQ(audit_word(e), "incomplete: CUPTI did not hand its records over: CUPTI_ERROR_UNKNOWN");
  e.audit_refused = "refused: CUPTI_ERROR_INVALID_KIND";
  EXPECT_EQ(audit_word(e), "refused: CUPTI_ERROR_INVALID_KIND");
}

// Any bytes, walked with strides of any length.
TEST_F(ReaderTest, BuffersMayHoldAnything) {
  std::mt19937_64 random(1);
  std::vector<std::uint8_t> bytes(4096);
  for (int round = 0; round < 2000; ++round) {
    for (auto& b : bytes) b = static_cast<std::uint8_t>(random() % 4 == 0 ? random() : 0);
    for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8)
      if (random() % 3 == 0) bytes[at] = static_cast<std::uint8_t>(random() % 2 == 0 ? 49 : 10), bytes[at + 1] = 0;
    auto const next = [&](std::uint8_t* begin, std::size_t, CUpti_Activity** record) {
      auto* const last = *record == nullptr ? begin : reinterpret_cast<std::uint8_t*>(*record);
      *record = reinterpret_cast<CUpti_Activity*>(last + random() % 240);
      return random() % 50 == 0 ? CUPTI_ERROR_INVALID_KIND : CUPTI_SUCCESS;
    };
    reader.read(std::span(bytes).first(random() % bytes.size()), next);
    reader.end_round(false);
  }
  reader.end_round(true);
  EXPECT_GT(reader.counts().records, 0u);
  EXPECT_GT(reader.counts().broken_buffers, 0u);
}

TEST(CuptiNames, AreReadUpToTheirEnd) {
  char out[32];
  EXPECT_EQ(copy_text(reinterpret_cast<std::uint64_t>("kernel"), out), "kernel");
  EXPECT_EQ(copy_text(reinterpret_cast<std::uint64_t>(""), out), "");
  EXPECT_EQ(copy_text(reinterpret_cast<std::uint64_t>("a name that is longer than there is room for it"), out),
            "a name that is longer than there");
}

// Both sides of the edge of what is mapped.
TEST(CuptiNames, ThatAreGoneAreNothing) {
  std::size_t const page = 4096;
  auto* const pages =
      static_cast<char*>(mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(pages, MAP_FAILED);
  std::memset(pages, 'x', 2 * page);
  std::memcpy(pages + page - 3, "abc\0", 4);
  std::memcpy(pages + page - 8, "abc\0", 4);
  char out[64];
  auto const at = [&](std::size_t offset) { return reinterpret_cast<std::uint64_t>(pages) + offset; };
  EXPECT_EQ(copy_text(at(page - 3), out), "abc") << "over the edge of a page";
  munmap(pages + page, page);
  EXPECT_EQ(copy_text(at(page - 8), out), "abc");
  EXPECT_EQ(copy_text(at(page - 3), out), std::nullopt) << "its end is gone";
  EXPECT_EQ(copy_text(at(page), out), std::nullopt);
  EXPECT_EQ(copy_text(0, out), std::nullopt);
  EXPECT_EQ(copy_text(8, out), std::nullopt);
  EXPECT_EQ(copy_text(~std::uint64_t{0}, out), std::nullopt);
  munmap(pages, page);
}

}  // namespace
}  // namespace tidemark::interpose
