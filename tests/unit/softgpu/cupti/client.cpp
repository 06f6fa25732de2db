// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/softgpu/cupti/client.h"

#include <cstdlib>
#include <cstring>
#include <memory>

namespace tidemark::softgpu::cupti_test {
namespace {

std::mutex mutex;
Records records;

template <class Record>
Record copy(const CUpti_Activity* record) {
  Record out;
  std::memcpy(static_cast<void*>(&out), record, sizeof out);
  return out;
}

void keep(const CUpti_Activity* r) {
  records.order.push_back(r->kind);
  switch (r->kind) {
    case CUPTI_ACTIVITY_KIND_MEMORY2: records.memory.push_back(copy<CUpti_ActivityMemory4>(r)); return;
    case CUPTI_ACTIVITY_KIND_MEMORY_POOL: records.pools.push_back(copy<CUpti_ActivityMemoryPool3>(r)); return;
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: records.kernels.push_back(copy<CUpti_ActivityKernel10>(r)); return;
    case CUPTI_ACTIVITY_KIND_MEMCPY: records.copies.push_back(copy<CUpti_ActivityMemcpy6>(r)); return;
    case CUPTI_ACTIVITY_KIND_MEMCPY2: records.peer_copies.push_back(copy<CUpti_ActivityMemcpyPtoP4>(r)); return;
    case CUPTI_ACTIVITY_KIND_MEMSET: records.sets.push_back(copy<CUpti_ActivityMemset4>(r)); return;
    case CUPTI_ACTIVITY_KIND_DRIVER: records.driver.push_back(copy<CUpti_ActivityAPI>(r)); return;
    case CUPTI_ACTIVITY_KIND_RUNTIME: records.runtime.push_back(copy<CUpti_ActivityAPI>(r)); return;
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
      records.external.push_back(copy<CUpti_ActivityExternalCorrelation>(r));
      return;
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
      records.synchronizations.push_back(copy<CUpti_ActivitySynchronization2>(r));
      return;
    case CUPTI_ACTIVITY_KIND_CUDA_EVENT: records.events.push_back(copy<CUpti_ActivityCudaEvent2>(r)); return;
    case CUPTI_ACTIVITY_KIND_DEVICE: records.devices.push_back(copy<CUpti_ActivityDevice5>(r)); return;
    case CUPTI_ACTIVITY_KIND_CONTEXT: records.contexts.push_back(copy<CUpti_ActivityContext3>(r)); return;
    case CUPTI_ACTIVITY_KIND_STREAM: records.streams.push_back(copy<CUpti_ActivityStream>(r)); return;
    default: ADD_FAILURE() << "a record of kind " << r->kind; return;
  }
}

}  // namespace

Buffers CuptiTest::buffers;

namespace {

// The fixture's buffers, for the two functions that CUPTI calls.
Buffers* current = nullptr;

void CUPTIAPI request(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) {
  ++current->requested;
  if (current->on_request) current->on_request();
  *buffer = current->refuses ? nullptr : static_cast<std::uint8_t*>(std::aligned_alloc(8, current->bytes));
  *size = current->refuses ? 0 : current->bytes;
  *most_records = current->most_records;
}

void CUPTIAPI complete(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t size,
                       std::size_t valid) {
  ++current->completed;
  EXPECT_EQ(context, nullptr);
  EXPECT_EQ(stream, 0u);
  EXPECT_LE(valid, size);
  if (current->on_complete) current->on_complete();
  {
    std::lock_guard const lock(mutex);
    CUpti_Activity* record = nullptr;
    CUptiResult status = CUPTI_SUCCESS;
    while ((status = cuptiActivityGetNextRecord(buffer, valid, &record)) == CUPTI_SUCCESS) keep(record);
    EXPECT_EQ(status, CUPTI_ERROR_MAX_LIMIT_REACHED);
  }
  std::free(buffer);
}

}  // namespace

void CuptiTest::SetUp() {
  current = &buffers;
  buffers.bytes = 64 << 10;
  buffers.most_records = 0;
  buffers.refuses = false;
  buffers.on_request = buffers.on_complete = nullptr;
  buffers.requested = buffers.completed = 0;
  records = {};
  CU(cuInit(0));
  CU(cuDevicePrimaryCtxRetain(&context, 0));
  CU(cuCtxSetCurrent(context));
  OK(cuptiActivityRegisterCallbacks(request, complete));
}

void CuptiTest::TearDown() {
  if (module != nullptr) {
    CU(cuModuleUnload(module));
  }
  OK(cuptiFinalize());
  CU(cuDevicePrimaryCtxRelease(0));
  size_t dropped = 0;
  OK(cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped));
}

void CuptiTest::enable(std::initializer_list<CUpti_ActivityKind> kinds) {
  for (CUpti_ActivityKind const kind : kinds) EXPECT_EQ(cuptiActivityEnable(kind), CUPTI_SUCCESS) << kind;
}

Records CuptiTest::flush() {
  EXPECT_EQ(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED), CUPTI_SUCCESS);
  std::lock_guard const lock(mutex);
  return std::exchange(records, {});
}

std::string CuptiTest::name(CUpti_CallbackDomain domain, std::uint32_t id) {
  const char* text = nullptr;
  EXPECT_EQ(cuptiGetCallbackName(domain, id, &text), CUPTI_SUCCESS);
  return text != nullptr ? text : "";
}

const CUpti_ActivityAPI* CuptiTest::find_call(const std::vector<CUpti_ActivityAPI>& calls, std::uint32_t correlation,
                                              const std::string& function) {
  const CUpti_ActivityAPI* found = nullptr;
  for (CUpti_ActivityAPI const& call : calls) {
    auto const domain =
        call.kind == CUPTI_ACTIVITY_KIND_DRIVER ? CUPTI_CB_DOMAIN_DRIVER_API : CUPTI_CB_DOMAIN_RUNTIME_API;
    if (call.correlationId != correlation || name(domain, call.cbid) != function) continue;
    if (found != nullptr) return nullptr;
    found = &call;
  }
  return found;
}

CUfunction CuptiTest::function(const char* wanted) {
  static constexpr const char* kPtx = R"(
.version 9.0
.target sm_75
.address_size 64
.global .align 4 .b8 table[4096];
.visible .entry _ZN4test4fillEPjjm(.param .u64 a, .param .u32 b, .param .u64 c)
{
  ret;
}
.visible .entry _ZN4test7nothingEv()
{
  ret;
}
)";
  if (module == nullptr) {
    EXPECT_EQ(cuModuleLoadData(&module, kPtx), CUDA_SUCCESS);
  }
  CUfunction found = nullptr;
  EXPECT_EQ(cuModuleGetFunction(&found, module, wanted), CUDA_SUCCESS) << wanted;
  return found;
}

}  // namespace tidemark::softgpu::cupti_test
