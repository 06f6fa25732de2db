// SPDX-License-Identifier: Apache-2.0
#include "interpose/watch/cupti_records.h"

#include <cstddef>

#include "tests/unit/interpose/watch/made_buffer.h"

namespace tidemark::interpose {
namespace {

struct Sink {
  std::vector<MemoryRecord> memory;
  std::vector<KernelRecord> kernels;
  std::vector<CallRecord> calls;
  std::vector<ExternalRecord> external;
  void on(const MemoryRecord& r) { memory.push_back(r); }
  void on(const KernelRecord& r) { kernels.push_back(r); }
  void on(const CallRecord& r) { calls.push_back(r); }
  void on(const ExternalRecord& r) { external.push_back(r); }
};

// The rule that reading rests on: whatever version wrote a record, what is read stands at the same place.
template <class Vendor>
class MemoryVersions : public testing::Test {};
using AllMemory = testing::Types<CUpti_ActivityMemory2, CUpti_ActivityMemory3, CUpti_ActivityMemory4>;
TYPED_TEST_SUITE(MemoryVersions, AllMemory);

TYPED_TEST(MemoryVersions, BeginAlike) {
  EXPECT_EQ(offsetof(TypeParam, kind), offsetof(MemoryRecord, kind));
  EXPECT_EQ(offsetof(TypeParam, memoryOperationType), offsetof(MemoryRecord, operation));
  EXPECT_EQ(offsetof(TypeParam, memoryKind), offsetof(MemoryRecord, memory_kind));
  EXPECT_EQ(offsetof(TypeParam, correlationId), offsetof(MemoryRecord, correlation));
  EXPECT_EQ(offsetof(TypeParam, address), offsetof(MemoryRecord, address));
  EXPECT_EQ(offsetof(TypeParam, bytes), offsetof(MemoryRecord, size_bytes));
  EXPECT_EQ(offsetof(TypeParam, timestamp), offsetof(MemoryRecord, time_ns));
  EXPECT_EQ(offsetof(TypeParam, PC), offsetof(MemoryRecord, caller));
  EXPECT_EQ(offsetof(TypeParam, processId), offsetof(MemoryRecord, process));
  EXPECT_EQ(offsetof(TypeParam, deviceId), offsetof(MemoryRecord, device));
  EXPECT_EQ(offsetof(TypeParam, contextId), offsetof(MemoryRecord, context));
  EXPECT_EQ(offsetof(TypeParam, streamId), offsetof(MemoryRecord, stream));
  EXPECT_GE(sizeof(TypeParam), sizeof(MemoryRecord));
}

TYPED_TEST(MemoryVersions, AreReadAlike) {
  MadeBuffer buffer;
  buffer.add(allocation_of<TypeParam>(0x1000, 4096, 2)).add(allocation_of<TypeParam>(0x2000, 8));
  Sink sink;
  Walked const walked = walk_records(buffer.bytes(), buffer.next(), sink);
  EXPECT_EQ(walked.records, 2u);
  EXPECT_EQ(walked.odd, 0u);
  EXPECT_FALSE(walked.broken);
  ASSERT_EQ(sink.memory.size(), 2u);
  EXPECT_EQ(sink.memory[0].address, 0x1000u);
  EXPECT_EQ(sink.memory[0].size_bytes, 4096u);
  EXPECT_EQ(sink.memory[0].device, 2u);
  EXPECT_EQ(sink.memory[1].address, 0x2000u);
  EXPECT_EQ(sink.memory[1].process, 77u);
}

template <class Vendor>
class KernelVersions : public testing::Test {};
using AllKernels =
    testing::Types<CUpti_ActivityKernel4, CUpti_ActivityKernel5, CUpti_ActivityKernel6, CUpti_ActivityKernel7,
                   CUpti_ActivityKernel8, CUpti_ActivityKernel9, CUpti_ActivityKernel10>;
TYPED_TEST_SUITE(KernelVersions, AllKernels);

TYPED_TEST(KernelVersions, BeginAlike) {
  EXPECT_EQ(offsetof(TypeParam, kind), offsetof(KernelRecord, kind));
  EXPECT_EQ(offsetof(TypeParam, start), offsetof(KernelRecord, start_ns));
  EXPECT_EQ(offsetof(TypeParam, end), offsetof(KernelRecord, end_ns));
  EXPECT_EQ(offsetof(TypeParam, deviceId), offsetof(KernelRecord, device));
  EXPECT_EQ(offsetof(TypeParam, contextId), offsetof(KernelRecord, context));
  EXPECT_EQ(offsetof(TypeParam, streamId), offsetof(KernelRecord, stream));
  EXPECT_EQ(offsetof(TypeParam, correlationId), offsetof(KernelRecord, correlation));
  EXPECT_EQ(offsetof(TypeParam, gridId), offsetof(KernelRecord, grid));
  EXPECT_EQ(offsetof(TypeParam, name), offsetof(KernelRecord, name));
  EXPECT_GE(sizeof(TypeParam), sizeof(KernelRecord));
}

TYPED_TEST(KernelVersions, AreReadAlike) {
  MadeBuffer buffer;
  buffer.add(kernel_of<TypeParam>(8, 100, 250));
  Sink sink;
  walk_records(buffer.bytes(), buffer.next(), sink);
  ASSERT_EQ(sink.kernels.size(), 1u);
  KernelRecord const& k = sink.kernels[0];
  EXPECT_EQ(k.start_ns, 100u);
  EXPECT_EQ(k.end_ns, 250u);
  EXPECT_EQ(k.device, 3u);
  EXPECT_EQ(k.stream, 14u);
  EXPECT_EQ(k.correlation, 8u);
  EXPECT_STREQ(reinterpret_cast<const char*>(k.name), "kernel");
}

TEST(CuptiRecords, CallsAndExternalIdsAreTheVendors) {
  EXPECT_EQ(sizeof(CUpti_ActivityAPI), sizeof(CallRecord));
  EXPECT_EQ(offsetof(CUpti_ActivityAPI, cbid), offsetof(CallRecord, call));
  EXPECT_EQ(offsetof(CUpti_ActivityAPI, correlationId), offsetof(CallRecord, correlation));
  EXPECT_EQ(sizeof(CUpti_ActivityExternalCorrelation), sizeof(ExternalRecord));
  EXPECT_EQ(offsetof(CUpti_ActivityExternalCorrelation, externalKind), offsetof(ExternalRecord, external_kind));
  EXPECT_EQ(offsetof(CUpti_ActivityExternalCorrelation, externalId), offsetof(ExternalRecord, id));
  EXPECT_EQ(offsetof(CUpti_ActivityExternalCorrelation, correlationId), offsetof(ExternalRecord, correlation));
}

TEST(CuptiRecords, AnEmptyBufferIsNone) {
  MadeBuffer buffer;
  Sink sink;
  Walked const walked = walk_records(buffer.bytes(), buffer.next(), sink);
  EXPECT_EQ(walked.records, 0u);
  EXPECT_FALSE(walked.broken);
}

TEST(CuptiRecords, KindsThatNobodyAskedForAreSteppedOver) {
  MadeBuffer buffer;
  CUpti_ActivityMemcpy6 copy{};
  copy.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  std::uint64_t unknown[5] = {0x7777};
  buffer.add(copy).add(call_of(4)).add(unknown).add(external_of(4, 9, CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0));
  Sink sink;
  Walked const walked = walk_records(buffer.bytes(), buffer.next(), sink);
  EXPECT_EQ(walked.records, 4u);
  EXPECT_EQ(walked.odd, 2u);
  ASSERT_EQ(sink.calls.size(), 1u);
  ASSERT_EQ(sink.external.size(), 1u);
  EXPECT_EQ(sink.external[0].id, 9u);
}

TEST(CuptiRecords, ACutRecordIsCountedAndNotRead) {
  constexpr std::size_t kWhole = sizeof(CUpti_ActivityMemory4);
  for (std::size_t cut = 1; cut < kWhole; ++cut) {
    MadeBuffer buffer;
    buffer.add(allocation_of<CUpti_ActivityMemory4>(0x1000, 1))
        .add(allocation_of<CUpti_ActivityMemory4>(0x2000, 2))
        .cut(cut);
    Sink sink;
    Walked const walked = walk_records(buffer.bytes(), buffer.next(), sink);
    bool const enough = kWhole - cut >= sizeof(MemoryRecord);
    EXPECT_EQ(sink.memory.size(), enough ? 2u : 1u) << cut;
    EXPECT_EQ(walked.odd, enough ? 0u : 1u) << cut;
  }
}

TEST(CuptiRecords, AnIteratorThatLeadsAstrayIsNotFollowed) {
  MadeBuffer buffer;
  for (int i = 0; i < 4; ++i) buffer.add(call_of(4));
  auto const bytes = buffer.bytes();
  auto const from = [&](std::ptrdiff_t first, std::ptrdiff_t second) {
    int asked = 0;
    auto const next = [&](std::uint8_t* begin, std::size_t, CUpti_Activity** record) {
      *record = reinterpret_cast<CUpti_Activity*>(begin + (asked++ == 0 ? first : second));
      return CUPTI_SUCCESS;
    };
    Sink sink;
    Walked const walked = walk_records(bytes, next, sink);
    EXPECT_LE(asked, 2);
    EXPECT_TRUE(walked.broken);
    return walked.records;
  };
  auto const size = static_cast<std::ptrdiff_t>(bytes.size());
  EXPECT_EQ(from(-8, 0), 0u) << "before the buffer";
  EXPECT_EQ(from(size, 0), 0u) << "behind it";
  EXPECT_EQ(from(0, 0), 1u) << "on the spot";
  EXPECT_EQ(from(40, 0), 1u) << "back";
  EXPECT_EQ(from(0, size + 8), 1u) << "out";
}

TEST(CuptiRecords, AnErrorOfTheIteratorEndsTheBuffer) {
  MadeBuffer buffer;
  buffer.add(call_of(4));
  auto const next = [](std::uint8_t* begin, std::size_t, CUpti_Activity** record) {
    if (*record != nullptr) return CUPTI_ERROR_INVALID_KIND;
    *record = reinterpret_cast<CUpti_Activity*>(begin);
    return CUPTI_SUCCESS;
  };
  Sink sink;
  Walked const walked = walk_records(buffer.bytes(), next, sink);
  EXPECT_EQ(sink.calls.size(), 1u);
  EXPECT_TRUE(walked.broken);
}

}  // namespace
}  // namespace tidemark::interpose
